/**
 * The routing file: providers, routes and callers' rules in one strict JSON object, every problem with it at once.
 *
 * It names the variables that hold keys and holds none itself. What holds of it only together with the rest of the
 * configuration is for routing-rules.ts; an embedder's option of the same shape is read here too.
 */

import { FieldProblem, textItem } from '../base/fields.ts';
import type { Fields, Path } from '../base/fields.ts';
import { parseJson } from '../base/json/parse.ts';
import { plainJson, TOO_LONG } from '../base/json/plain.ts';
import { JsonArray, JsonObject, JsonProblem } from '../base/json/value.ts';
import type { JsonValue } from '../base/json/value.ts';
import { renderSize } from '../base/size.ts';
import { CALLER_LABEL, isCallerLabel } from '../core/caller.ts';
import { EFFORTS } from '../core/chat.ts';
import { ANY_CALLER, LIMIT_NAMES, OMITTABLE_FIELDS, PLAIN_TARGET } from '../core/route.ts';
import type { CallerRules, OmittableField, Route, Target, TargetDefaults } from '../core/route.ts';
import { ID } from './cloud-reading.ts';
import { Findings } from './findings.ts';
import type { Origin } from './findings.ts';
import { quoted } from './masking.ts';
import { CONCURRENT_MAX, LIMIT_MAX, ROUTE_NAME, TARGET_MODEL, TARGETS_MAX } from './routing-rules.ts';
import { BASE_URL, DURATION, KEYS_MAX, PROVIDER_NAME } from './setting-types.ts';
import type { Source } from './source.ts';

/** A hundred routes of eight targets are 100 KiB. */
const FILE_CHARS_MAX = 1024 * 1024;

const FILE_FIELDS = ['model_prefixes', 'providers', 'routes', 'callers'];
const PROVIDER_FIELDS = ['like', 'base_url', 'keys', 'workspace', 'concurrent'];
/** A program says the others where it says who its providers are. */
const PROVIDER_FIELDS_OF_OPTION = ['concurrent'];
const ROUTE_FIELDS = ['targets', 'spread', 'hedge_after'];
const TARGET_FIELDS = ['provider', 'model', 'defaults', 'omit', 'weight', 'concurrent', 'first_event_timeout', 'attempt_timeout'];
const DEFAULT_FIELDS = ['max_tokens', 'temperature', 'top_p', 'stop', 'thinking', 'provider_options'];
const CALLER_FIELDS = [...LIMIT_NAMES, 'allow'];

const WEIGHT_MAX = 1000;
/** Each request of the caller is held against all of them. */
const ALLOW_MAX = 1000;

/** Capital letters, which no provider's key is made of alone. */
const VARIABLE_NAME = /^[A-Z][A-Z0-9_]{0,127}$/;

/** What the file says of a provider. */
export type ProviderEntry = {
  /** The known provider whose API it has; undefined = its name says so. */
  readonly like: string | undefined;
  readonly baseUrl: URL | undefined;
  /** Names of variables, empty in place of what is none; undefined where the file says nothing of keys. */
  readonly keys: readonly string[] | undefined;
  /** Of Claude Platform on AWS; undefined = the one that its variable says. */
  readonly workspace: string | undefined;
  readonly concurrentMax: number | undefined;
};

/** The file's content, as far as it makes sense: an empty text stands in place of a provider, model or entry that does not. */
export type RoutingFile = {
  /** As it was read. */
  readonly text: string;
  readonly takesModelPrefixes: boolean | undefined;
  readonly providers: ReadonlyMap<string, ProviderEntry>;
  readonly routes: ReadonlyMap<string, Route>;
  readonly callers: ReadonlyMap<string, CallerRules>;
  readonly complaints: Findings;
};

/** The file that the setting `name` names; undefined when it cannot be read, or is no JSON object: then that is a problem. */
export function readRoutingFile(source: Source, name: string, path: string): RoutingFile | undefined {
  // Some editors write a byte order mark before what they save.
  const text = source.readFile(name, path)?.replace(/^\uFEFF/, '');
  return text === undefined ? undefined : decodeText(source, text, { prefix: `${name}: `, root: undefined }, PROVIDER_FIELDS);
}

/** The same of an embedder's option `name`. */
export function readRoutingOption(source: Source, name: string, value: unknown): RoutingFile | undefined {
  const root = { parent: undefined, key: name };
  try {
    const text = plainJson(value, FILE_CHARS_MAX, root);
    if (text !== TOO_LONG) return decodeText(source, text, { prefix: '', root }, PROVIDER_FIELDS_OF_OPTION);
    source.problems.push(`${name}: expected at most ${renderSize(FILE_CHARS_MAX)} as JSON`);
  } catch (thrown) {
    if (!(thrown instanceof FieldProblem)) throw thrown;
    // What is wrong with the whole has no path.
    source.problems.push(thrown.message.startsWith(name) ? thrown.message : `${name}: ${thrown.message}`);
  }
  return undefined;
}

function decodeText(source: Source, text: string, origin: Origin, providerFields: readonly string[]): RoutingFile | undefined {
  const findings = new Findings(source, origin);
  if (text.length > FILE_CHARS_MAX) {
    findings.problem(origin.root, `expected at most ${renderSize(FILE_CHARS_MAX)}`);
    return undefined;
  }
  const value = parseJson(text);
  if (value instanceof JsonProblem) {
    findings.problem(origin.root, `is not JSON: ${value.reason} (${positionOf(text, value.offset)})`);
    return undefined;
  }
  const fields = findings.open(value, origin.root, FILE_FIELDS);
  return fields && {
    text,
    takesModelPrefixes: findings.try(() => fields.boolean('model_prefixes')),
    providers: decodeProviders(findings, fields, providerFields),
    routes: decodeRoutes(findings, fields),
    callers: decodeCallers(findings, fields),
    complaints: findings,
  };
}

function positionOf(text: string, offset: number): string {
  const before = text.slice(0, offset);
  return `line ${before.split('\n').length}, column ${offset - before.lastIndexOf('\n')}`;
}

/** The objects of a field by their names, each decoded; those with a name that is none are looked at and left out. */
function namedObjects<T>(
  findings: Findings,
  file: Fields,
  field: string,
  { known, isName, expected }: { readonly known: readonly string[]; readonly isName: (name: string) => boolean; readonly expected: string },
  decode: (fields: Fields, name: string) => T,
): ReadonlyMap<string, T> {
  const found = new Map<string, T>();
  for (const [name, value] of findings.object(file, field)?.unread() ?? []) {
    const path = { parent: file.at(field), key: name };
    if (!isName(name)) findings.problem(path, `expected ${expected}`);
    const fields = findings.open(value, path, known);
    const decoded = fields && decode(fields, name);
    if (decoded !== undefined && isName(name)) found.set(name, decoded);
  }
  return found;
}

function decodeProviders(findings: Findings, file: Fields, known: readonly string[]): RoutingFile['providers'] {
  const isName = (name: string): boolean => PROVIDER_NAME.parse(name) !== undefined;
  return namedObjects(findings, file, 'providers', { known, isName, expected: `a name of ${PROVIDER_NAME.expects}` }, (fields) => ({
    like: findings.text(fields, 'like', PROVIDER_NAME),
    baseUrl: findings.text(fields, 'base_url', BASE_URL),
    keys: decodeKeys(findings, fields),
    workspace: findings.text(fields, 'workspace', ID),
    concurrentMax: findings.whole(fields, 'concurrent', CONCURRENT_MAX),
  }));
}

/** A text that is no name of a variable may be a key, and is not repeated. */
function decodeKeys(findings: Findings, fields: Fields): readonly string[] | undefined {
  const names = listOf(findings, fields, 'keys', (item, path) => {
    if (typeof item === 'string' && VARIABLE_NAME.test(item)) return item;
    throw new FieldProblem(path, 'expected the name of an environment variable, in capital letters');
  });
  if (names !== undefined && (names.length === 0 || names.length > KEYS_MAX)) {
    findings.problem(fields.at('keys'), `expected 1 to ${KEYS_MAX} names of variables, got ${names.length}`);
  }
  // Each is looked for among the others.
  return names?.slice(0, KEYS_MAX).map((name) => name ?? '');
}

function decodeRoutes(findings: Findings, file: Fields): RoutingFile['routes'] {
  const isName = (name: string): boolean => ROUTE_NAME.parse(name) !== undefined;
  return namedObjects(findings, file, 'routes', { known: ROUTE_FIELDS, isName, expected: ROUTE_NAME.expects }, (fields, name) => decodeRoute(findings, name, fields));
}

function decodeRoute(findings: Findings, name: string, fields: Fields): Route {
  const isSpread = findings.try(() => fields.boolean('spread')) ?? false;
  const hedgeAfterMs = findings.text(fields, 'hedge_after', DURATION);
  const items = fields.any('targets');
  const path = fields.at('targets');
  if (items === undefined) findings.problem(path, 'required');
  else if (!(items instanceof JsonArray)) findings.problem(path, 'expected an array');
  else if (items.items.length < 1 || items.items.length > TARGETS_MAX) findings.problem(path, `expected 1 to ${TARGETS_MAX} targets, got ${items.items.length}`);
  const targets = items instanceof JsonArray ? items.items.slice(0, TARGETS_MAX) : [];
  return { name, targets: targets.map((item, index) => decodeTarget(findings, item, { parent: path, key: index }, isSpread)), isSpread, hedgeAfterMs };
}

/** Stands in for what is no object. */
const NO_TARGET: Target = { provider: '', model: '', ...PLAIN_TARGET };

function decodeTarget(findings: Findings, item: JsonValue, path: Path, isSpread: boolean): Target {
  const fields = findings.open(item, path, TARGET_FIELDS);
  if (fields === undefined) return NO_TARGET;
  for (const name of ['provider', 'model']) if (!fields.has(name)) findings.problem(fields.at(name), 'required');
  const defaults = decodeDefaults(findings, fields);
  if (!isSpread && fields.has('weight')) findings.problem(fields.at('weight'), 'has no effect without spread');
  return {
    provider: findings.try(() => (fields.has('provider') ? fields.requiredText('provider') : undefined)) ?? '',
    model: findings.text(fields, 'model', TARGET_MODEL) ?? '',
    defaults,
    omit: decodeOmit(findings, fields),
    weight: findings.whole(fields, 'weight', WEIGHT_MAX) ?? 1,
    concurrentMax: findings.whole(fields, 'concurrent', CONCURRENT_MAX),
    firstEventTimeoutMs: findings.text(fields, 'first_event_timeout', DURATION),
    attemptTimeoutMs: findings.text(fields, 'attempt_timeout', DURATION),
  };
}

/** Undefined where nothing has a default, so that nothing has to be translated for it. */
function decodeDefaults(findings: Findings, target: Fields): TargetDefaults | undefined {
  const fields = findings.object(target, 'defaults', DEFAULT_FIELDS);
  if (fields === undefined || fields.unread().length === 0) return undefined;
  return {
    maxTokens: findings.whole(fields, 'max_tokens', Number.MAX_SAFE_INTEGER),
    temperature: findings.try(() => fields.finiteNumber('temperature')),
    topP: findings.try(() => fields.finiteNumber('top_p')),
    stop: listOf(findings, fields, 'stop', textItem)?.flatMap((text) => text ?? []),
    thinking: decodeThinking(findings, fields),
    providerOptions: decodeProviderOptions(findings, fields),
  };
}

function decodeThinking(findings: Findings, defaults: Fields): TargetDefaults['thinking'] {
  const fields = findings.object(defaults, 'thinking', ['enabled', 'effort']);
  if (fields === undefined) return undefined;
  const enabled = findings.try(() => fields.boolean('enabled'));
  if (!fields.has('enabled')) findings.problem(fields.at('enabled'), 'required');
  return { enabled: enabled ?? false, effort: findings.try(() => fields.oneOf('effort', EFFORTS)) };
}

/** What the gateway itself decides of a payload. */
const DECIDED: ReadonlyMap<string, string> = new Map([['stream', 'the endpoint decides that'], ['model', 'the target decides that']]);

function decodeProviderOptions(findings: Findings, defaults: Fields): JsonObject | undefined {
  const options = findings.try(() => defaults.opaqueObject('provider_options'));
  for (const [key, complaint] of DECIDED) {
    if (options?.entries.has(key) === true) findings.problem({ parent: defaults.at('provider_options'), key }, complaint);
  }
  return options;
}

function decodeOmit(findings: Findings, target: Fields): readonly OmittableField[] {
  const defaults = target.any('defaults');
  const omitted = listOf(findings, target, 'omit', (item, path) => {
    const text = textItem(item, path);
    const field = OMITTABLE_FIELDS.find((name) => name === text);
    if (field === undefined) {
      throw new FieldProblem(path, `expected one of ${OMITTABLE_FIELDS.join(', ')}, got ${quoted(text)}${findings.hint(text, OMITTABLE_FIELDS)}`);
    }
    if (defaults instanceof JsonObject && (defaults.entries.get(field) ?? null) !== null) throw new FieldProblem(path, `${field} has a default here; keep one`);
    return field;
  });
  return [...new Set(omitted?.flatMap((field) => field ?? []))];
}

function decodeCallers(findings: Findings, file: Fields): RoutingFile['callers'] {
  const isName = (name: string): boolean => name === ANY_CALLER || isCallerLabel(name);
  return namedObjects(findings, file, 'callers', { known: CALLER_FIELDS, isName, expected: `${CALLER_LABEL}, or *` }, (fields) => decodeRules(findings, fields));
}

function decodeRules(findings: Findings, fields: Fields): CallerRules {
  const isLimited = LIMIT_NAMES.some((name) => fields.has(name));
  const limits = {
    requestsPerMinute: findings.whole(fields, 'requests_per_minute', LIMIT_MAX),
    tokensPerMinute: findings.whole(fields, 'tokens_per_minute', LIMIT_MAX),
    tokensPerDay: findings.whole(fields, 'tokens_per_day', LIMIT_MAX),
    concurrent: findings.whole(fields, 'concurrent', CONCURRENT_MAX),
  };
  const allow = listOf(findings, fields, 'allow', textItem)?.map((entry) => entry ?? '');
  if (allow !== undefined && allow.length > ALLOW_MAX) findings.problem(fields.at('allow'), `expected at most ${ALLOW_MAX} entries, got ${allow.length}`);
  return { limits: isLimited ? limits : undefined, allow: allow?.slice(0, ALLOW_MAX) };
}

/** The items of an array, each decoded by itself: undefined where that failed. Undefined where there is no array. */
function listOf<T>(findings: Findings, fields: Fields, name: string, decode: (item: JsonValue, path: Path) => T): (T | undefined)[] | undefined {
  return findings.try(() => fields.list(name, (item, path) => findings.try(() => decode(item, path))));
}
