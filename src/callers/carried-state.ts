/**
 * `provider_state` in the formats of other makers: it rides where their clients bring something opaque back.
 *
 * Written as `gateway:` and one `owner=state` for each, separated by commas, which no maker's own signature can be:
 * those are base64. What is read is checked as strictly as in the gateway's own format.
 */

/** Whose state it is: the part that the place belongs to, or one of the turn's texts, in order. */
export type StateOwner = 'own' | 'text';

export type CarriedState = { readonly owner: StateOwner; readonly state: string };

const PREFIX = 'gateway:';
const ENTRY = /^(own|text)=([a-z-]{1,32}\.[A-Za-z0-9_-]{1,64}\.[A-Za-z0-9_-]*)$/;

/** A text that begins as the gateway's own and goes on as it never does. */
export const DAMAGED = Symbol('damaged carried state');

/** The text that carries these; undefined for none. */
export function carryStates(states: readonly CarriedState[]): string | undefined {
  if (states.length === 0) return undefined;
  return PREFIX + states.map(({ owner, state }) => `${owner}=${state}`).join(',');
}

/** What a text carries: undefined when it is not the gateway's own, DAMAGED when it only looks so. */
export function carriedStates(text: string): readonly CarriedState[] | undefined | typeof DAMAGED {
  if (!text.startsWith(PREFIX)) return undefined;
  const states: CarriedState[] = [];
  for (const entry of text.slice(PREFIX.length).split(',')) {
    const match = ENTRY.exec(entry);
    if (match === null) return DAMAGED;
    states.push({ owner: match[1] as StateOwner, state: match[2] ?? '' });
  }
  return states;
}
