/** The values of `reasoning_effort` that stand for each wish to think, as ladders that models have in common. */

import type { Effort, Thinking } from '../../core/chat.ts';

/** Undefined = the field is left out. */
export type EffortNames = Readonly<Record<Effort | 'off', string | undefined>>;

export const LOW_TO_HIGH: EffortNames = { off: 'low', low: 'low', medium: 'medium', high: 'high', max: 'high' };
export const NONE_TO_HIGH: EffortNames = { ...LOW_TO_HIGH, off: 'none' };
export const MINIMAL_TO_HIGH: EffortNames = { ...LOW_TO_HIGH, off: 'minimal' };
export const LOW_TO_XHIGH: EffortNames = { ...LOW_TO_HIGH, max: 'xhigh' };
export const NONE_TO_XHIGH: EffortNames = { ...LOW_TO_XHIGH, off: 'none' };
export const MEDIUM_TO_XHIGH: EffortNames = { ...LOW_TO_XHIGH, off: 'medium', low: 'medium' };
export const LOW_HIGH: EffortNames = { ...LOW_TO_HIGH, medium: 'high' };
export const LOW_HIGH_MAX: EffortNames = { ...LOW_HIGH, max: 'max' };
export const ONLY_MEDIUM: EffortNames = { off: 'medium', low: 'medium', medium: 'medium', high: 'medium', max: 'medium' };
export const ONLY_HIGH: EffortNames = { off: 'high', low: 'high', medium: 'high', high: 'high', max: 'high' };
export const NO_EFFORT: EffortNames = { off: undefined, low: undefined, medium: undefined, high: undefined, max: undefined };

/** The value for a wish. Whoever wants thinking without saying how much gets a medium effort. */
export function effortName(names: EffortNames, { enabled, effort }: Thinking): string | undefined {
  return names[enabled ? (effort ?? 'medium') : 'off'];
}
