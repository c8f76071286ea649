/** The label by which a caller goes: in limits, metrics and log lines, never in a secret's place. */

const LABEL = /^[\w.-]{1,64}$/;

/** For sentences: what a label is. */
export const CALLER_LABEL = 'a label of up to 64 letters, digits, ".", "_" or "-"';

/** Who calls where nobody is named: with the one token that has no label, or from within. */
export const DEFAULT_CALLER = 'default';

export function isCallerLabel(text: string): boolean {
  return LABEL.test(text);
}
