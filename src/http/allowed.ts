/** What a caller may ask for, in whichever way a request names it. */

import { renderPath } from '../base/fields.ts';
import { JsonArray, JsonObject } from '../base/json/value.ts';
import type { JsonValue } from '../base/json/value.ts';
import { ALLOW_ALL, matchesAllow } from '../core/allow.ts';
import type { DecodedRequest } from '../core/dialect.ts';
import { Failure } from '../core/failure.ts';
import { rulesOf, targetName } from '../core/route.ts';
import type { Routing } from '../core/route.ts';
import type { Exchange } from './exchange.ts';
import type { Choice } from './target.ts';

/** Longest piece of a model's name, which is the caller's own text, that a sentence repeats. */
const NAME_CHARS_MAX = 64;

/** Whether the caller with this label may ask for a route, or for `provider/model`. */
export function isAllowed(routing: Routing, caller: string, name: string): boolean {
  return matchesAllow(rulesOf(routing, caller)?.allow, name);
}

/** What of a request names models. */
type Naming = Pick<DecodedRequest, 'model' | 'providerOptions'> & Partial<Pick<DecodedRequest, 'source'>>;

/** The failure for a request that asks for what its caller may not have; undefined = it may. */
// hot: per request
export function notAllowed(routing: Routing, { caller, dialect }: Pick<Exchange, 'caller' | 'dialect'>, asked: Naming, choice: Choice): Failure | undefined {
  const allow = rulesOf(routing, caller)?.allow;
  if (allow === undefined || allow.includes(ALLOW_ALL)) return undefined;
  const { model, providerOptions, source } = asked;
  const { route, targets } = choice;
  const names = route === undefined ? targets.map((target) => targetName({ provider: target.provider.name, model: target.model })) : [route.name];
  if (!names.every((name) => matchesAllow(allow, name))) return notAvailable('model', model);
  const isRelayed = source !== undefined && targets.some(({ provider }) => provider.speaks.includes(dialect.name));
  const second = secondSelector(providerOptions, 'provider_options') ?? (isRelayed ? secondSelector(source) : undefined);
  if (second !== undefined) {
    return new Failure('bad_request', `${second}: not allowed to a caller with an allow list, which names its model in model alone`, { quotes: [second] });
  }
  for (const { field, name } of [...modelsOfPatch(providerOptions), ...(isRelayed ? modelsOfBody(source) : [])]) {
    const isFree = typeof name === 'string' && targets.every(({ provider }) => matchesAllow(allow, targetName({ provider: provider.name, model: name })));
    if (!isFree) return notAvailable(field, typeof name === 'string' ? name : model);
  }
  return undefined;
}

/** Where else a payload's own members would choose its model; a patch's `model` would, where a body's is the one that was asked for. */
function secondSelector(payload: JsonObject | undefined, patch?: 'provider_options'): string | undefined {
  for (const key of payload?.entries.keys() ?? []) {
    if (!NAMES_MODELS.test(key) && !LEAVES_CHOICE.has(key)) continue;
    if (patch !== undefined) return renderPath({ parent: { parent: undefined, key: patch }, key });
    if (key !== 'model') return renderPath({ parent: undefined, key });
  }
  return undefined;
}

/** Somewhere in a field a model is named; what is no text may be read as any. */
type Named = { readonly field: string; readonly name: JsonValue };

/** The models that a patch names beside the one that was asked for: those of tools, say. */
function modelsOfPatch(options: JsonObject | undefined): readonly Named[] {
  if (options === undefined) return [];
  const names: JsonValue[] = options.duplicateKey === undefined ? [] : [null];
  for (const [key, value] of options.entries) addField(key, value, names);
  return names.map((name) => ({ field: 'provider_options', name }));
}

/** The models that a body names beside its own: tools that only the provider runs have one. */
function modelsOfBody({ entries }: JsonObject): readonly Named[] {
  return [...entries].flatMap(([field, value]) => {
    const names: JsonValue[] = [];
    if (field !== 'model') addField(field, value, names);
    return names.map((name) => ({ field: renderPath({ parent: undefined, key: field }), name }));
  });
}

/** By what these say the provider itself chooses a model, of all that it has: it fills the place of a model's name (OpenRouter). */
const LEAVES_CHOICE: ReadonlySet<string> = new Set(['preset', 'route']);
/** What is said to the model, and notes: their members are the caller's own. */
const SAID: ReadonlySet<string> = new Set(['client_metadata', 'contents', 'input', 'instructions', 'messages', 'metadata', 'prediction', 'prompt', 'system']);
/** Members of schemas and tools that hold examples of values, or a schema whose own members are none of a request. */
const VALUES: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples', 'input_examples', 'input_schema', 'schema']);
/** The members that name models: by a text, or a list of texts. Vertex's routing has `modelName`. */
const NAMES_MODELS = /(?:^|_)(?:models?|model_?[nN]ame|fallbacks)$/;

/** Adds what a field of a payload names. */
function addField(field: string, value: JsonValue, names: JsonValue[]): void {
  if (!SAID.has(field)) addNamed(field, value, names);
}

/** Adds what a member names, at whatever depth. Of a key that comes twice, the provider may read the other value. */
function addNamed(key: string, value: JsonValue, names: JsonValue[]): void {
  if (VALUES.has(key)) return;
  const isName = NAMES_MODELS.test(key);
  if (isName && typeof value === 'string') names.push(value);
  if (value instanceof JsonArray) {
    for (const item of value.items) addNamed(isName && typeof item === 'string' ? key : '', item, names);
  } else if (value instanceof JsonObject) {
    if (value.duplicateKey !== undefined) names.push(null);
    for (const [inner, member] of value.entries) addNamed(inner, member, names);
  }
}

/** No other sentence for a name that exists than for one that does not. */
function notAvailable(field: string, name: string): Failure {
  const quote = JSON.stringify(name.slice(0, NAME_CHARS_MAX));
  return new Failure('not_found', `${field}: ${quote} is not available to this caller`, { quotes: [field, quote] });
}
