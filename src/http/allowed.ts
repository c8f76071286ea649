/** What a caller may ask for, in whichever way a request names it. */

import { JsonArray } from '../base/json/value.ts';
import type { JsonObject, JsonValue } from '../base/json/value.ts';
import { matchesAllow } from '../core/allow.ts';
import type { DecodedRequest } from '../core/dialect.ts';
import { Failure } from '../core/failure.ts';
import { rulesOf, targetName } from '../core/route.ts';
import type { Routing } from '../core/route.ts';
import type { Choice } from './target.ts';

/** Longest piece of a model's name, which is the caller's own text, that a sentence repeats. */
const NAME_CHARS_MAX = 64;

/** Whether the caller with this label may ask for a route, or for `provider/model`. */
export function isAllowed(routing: Routing, caller: string, name: string): boolean {
  return matchesAllow(rulesOf(routing, caller)?.allow, name);
}

/** The failure for a request that asks for what its caller may not have; undefined = it may. */
// hot: per request
export function notAllowed(routing: Routing, caller: string, { model, providerOptions }: Pick<DecodedRequest, 'model' | 'providerOptions'>, choice: Choice): Failure | undefined {
  const allow = rulesOf(routing, caller)?.allow;
  if (allow === undefined) return undefined;
  const { route, targets } = choice;
  const names = route === undefined ? targets.map((target) => targetName({ provider: target.provider.name, model: target.model })) : [route.name];
  if (!names.every((name) => matchesAllow(allow, name))) return notAvailable('model', model);
  for (const patched of patchedModels(providerOptions)) {
    const isFree = typeof patched === 'string' && targets.every(({ provider }) => matchesAllow(allow, targetName({ provider: provider.name, model: patched })));
    if (!isFree) return notAvailable('provider_options', typeof patched === 'string' ? patched : model);
  }
  return undefined;
}

/** The models that a patch puts in the place of what was asked for, or beside it: some hosts take a list to fall back on. */
function patchedModels(options: JsonObject | undefined): readonly JsonValue[] {
  if (options === undefined) return [];
  const { entries } = options;
  const models = entries.get('models');
  return [
    ...(entries.has('model') ? [entries.get('model') ?? null] : []),
    ...(models instanceof JsonArray ? models.items : entries.has('models') ? [models ?? null] : []),
  ];
}

/** No other sentence for a name that exists than for one that does not. */
export function notAvailable(field: string, name: string): Failure {
  const quote = JSON.stringify(name.slice(0, NAME_CHARS_MAX));
  return new Failure('not_found', `${field}: ${quote} is not available to this caller`, { quotes: [quote] });
}
