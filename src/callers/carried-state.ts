/**
 * `provider_state` in the formats of other vendors: it rides where their clients bring something opaque back.
 *
 * Written as `gateway:` and one `owner=state` for each, separated by commas, which no vendor's own signature can be:
 * those are base64. What is read is checked as strictly as in the gateway's own format.
 */

import type { JsonBudget } from '../base/json/limits.ts';
import { isSilent } from '../core/chat.ts';
import type { AssistantPart } from '../core/chat.ts';

/**
 * Whose state it is: `own` = of the part that the place belongs to, in Messages and Responses a text, `text` = of one of the
 * turn's texts, in their order, `call` = of the next call, which is said since LiteLLM and AG2 move all reasoning to the front of
 * a turn, `empty` = of an empty text that stands here.
 */
export type StateOwner = 'own' | 'text' | 'call' | 'empty';

export type CarriedState = { readonly owner: StateOwner; readonly state: string };

const PREFIX = 'gateway:';
const ENTRY = /^(own|text|call|empty)=([a-z-]{1,32}\.[A-Za-z0-9_-]{1,64}\.[A-Za-z0-9_-]*)$/;

/** For a place that must not be empty: known for the gateway's own, without a state. */
export const NOTHING_CARRIED = PREFIX;

/** A text that begins as the gateway's own and goes on as it never does. */
export const DAMAGED = Symbol('damaged carried state');

/** The text that carries these. Never empty, so that it is known for the gateway's own wherever the history goes. */
export function carryStates(states: readonly CarriedState[]): string {
  return PREFIX + states.map(({ owner, state }) => `${owner}=${state}`).join(',');
}

/** The states of a turn's texts that say something, for where these were sent before it was known. */
export function textStates(parts: readonly AssistantPart[]): CarriedState[] {
  return parts.flatMap((part) => (part.type === 'text' && part.state !== undefined && !isSilent(part) ? [{ owner: 'text', state: part.state }] : []));
}

/** Whether a text is the gateway's own, or looks so. */
export function isCarriedText(text: unknown): boolean {
  return typeof text === 'string' && text.startsWith(PREFIX);
}

/** What a state takes from a budget: as many values as a part with one has in the gateway's own format. Reading 100,000 states takes 200 ms. */
const VALUES_PER_STATE = 4;

/**
 * What a text carries: undefined when it is not the gateway's own, DAMAGED when it only looks so or holds more states
 * than the budget has values left for, which the texts of a request share: 16 MiB could hold a million, in one JSON value.
 */
export function carriedStates(text: string, budget: JsonBudget): readonly CarriedState[] | undefined | typeof DAMAGED {
  if (!text.startsWith(PREFIX)) return undefined;
  if (text === NOTHING_CARRIED) return [];
  const states: CarriedState[] = [];
  const statesMax = Math.floor(budget.valuesLeft / VALUES_PER_STATE);
  const entries = text.slice(PREFIX.length).split(',', statesMax + 1);
  if (entries.length > statesMax) return DAMAGED;
  budget.valuesLeft -= entries.length * VALUES_PER_STATE;
  for (const entry of entries) {
    const match = ENTRY.exec(entry);
    if (match === null) return DAMAGED;
    states.push({ owner: match[1] as StateOwner, state: match[2] ?? '' });
  }
  return states;
}
