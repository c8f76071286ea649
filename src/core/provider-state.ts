/**
 * `provider_state`: what a provider wants back on a later turn, carried by the caller unread.
 *
 * The string is `dialect.provider.` and then base64url of a JSON object. It lets the gateway keep no session: any
 * process can continue a loop that another began. It is not signed: a codec admits only the shapes that it writes
 * itself, and what they can put into a payload a caller could also send through `provider_options`. Except, where
 * there are several callers, the ids of what a provider's own tools stored: a real turn holds them, and nobody guesses them.
 */

import { isUtf8 } from 'node:buffer';
import type { JsonBudget } from '../base/json/limits.ts';
import { parseJson } from '../base/json/parse.ts';
import { renderJson } from '../base/json/render.ts';
import { JsonObject } from '../base/json/value.ts';
import type { JsonOutObject } from '../base/json/value.ts';
import { Failure } from './failure.ts';

const STATE = /^([a-z-]{1,32})\.([A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_-]*)$/;

/** The state string for what one provider said. The provider's name is as configured: `[A-Za-z0-9_-]{1,64}`. */
export function encodeState(dialect: string, provider: string, content: JsonOutObject): string {
  return `${dialect}.${provider}.${Buffer.from(renderJson(content)).toString('base64url')}`;
}

/** The provider that a state names as its maker; undefined for what is no state. */
export function stateProvider(state: string): string | undefined {
  return /^[a-z-]{1,32}\.([A-Za-z0-9_-]{1,64})\./.exec(state)?.[1];
}

/** A state that this gateway cannot have written. */
export const DAMAGED_STATE = Symbol('damaged provider_state');

/**
 * The content of a part's state: undefined when it has none, or another provider or dialect made it (it is then to be
 * ignored), DAMAGED_STATE when no gateway can have written it. The states of a request share one
 * budget: a body of 16 MiB could otherwise hold four million values in states and take a second.
 */
export function decodeState(
  dialect: string,
  provider: string,
  state: string | undefined,
  budget: JsonBudget,
): JsonObject | undefined | typeof DAMAGED_STATE {
  if (state === undefined) return undefined;
  const match = STATE.exec(state);
  if (match === null) return DAMAGED_STATE;
  const [, madeByDialect, madeByProvider, encoded = ''] = match;
  const bytes = Buffer.from(encoded, 'base64url');
  if (bytes.toString('base64url') !== encoded || !isUtf8(bytes)) return DAMAGED_STATE;
  const content = parseJson(bytes.toString(), budget);
  if (!(content instanceof JsonObject) || content.duplicateKey !== undefined) return DAMAGED_STATE;
  return madeByDialect === dialect && madeByProvider === provider ? content : undefined;
}

/** What a caller is told of a state that no gateway can have written, or not in that place; by the indexes of its turn and part. */
export function damagedState(turnIndex: number, partIndex: number): Failure {
  return new Failure(
    'bad_request',
    `messages[${turnIndex}].content[${partIndex}].provider_state: damaged, or not made by this gateway`,
  );
}
