/** An environment as options, to be used as they are or spread into others. */

import type { CloudName, ProviderRow } from '../core/adapter.ts';
import { CLOUD_VARIABLES } from './clouds.ts';
import { loadConfig } from './config.ts';
import { Environment } from './environment.ts';
import { described, isRecord, notTexts, optionRows } from './option-source.ts';
import type { Options } from './option-source.ts';
import { COMPAT, STRUCTURED_OUTPUT } from './providers.ts';
import { readOnce } from './read-once.ts';
import type { RoutingFile } from './routing-file.ts';
import { placeOf } from './settings.ts';

/** The options that the environment comes to, or every problem with it at once, by variable. */
export function loadEnvironmentOptions(
  variables: Readonly<Record<string, string | undefined>>,
  rows: readonly ProviderRow[],
  compatRow: (name: string) => ProviderRow,
  readText: (path: string) => string,
): { readonly options: Options | undefined; readonly problems: readonly string[] } {
  if (!isRecord(variables)) return { options: undefined, problems: [`environment: expected an object of variables, got ${described(variables)}`] };
  const mistyped = notTexts(variables);
  if (mistyped.length > 0) return { options: undefined, problems: mistyped };
  // What was good when it was validated is what is handed on: a token that was empty at a second look would be none.
  const readFile = readOnce(readText);
  const { config, problems, routingFile, origins } = loadConfig(variables, rows, compatRow, readFile, { isEmbedded: true });
  if (config === undefined) return { options: undefined, problems };
  const environment = new Environment(variables, readFile);
  const options: Record<string, unknown> = {};
  for (const [name, row] of optionRows()) {
    const place = placeOf(environment, row);
    const found = place === undefined ? undefined : environment.find(place.variable, place.type);
    if (place === undefined || found === undefined) continue;
    const isPlain = place.type.takes === 'boolean' || (place.type.takes === 'number' && place.type.name === 'count');
    options[name] = isPlain ? place.type.parse(found.text) : found.text;
  }
  options['callers'] = veiled(Object.fromEntries(config.callers.map(({ label, token }) => [label, token.reveal()])), () => true);
  options['providers'] = Object.fromEntries(config.providers.map(({ name, keys, baseUrl }) => {
    const entry = routingFile?.providers.get(name);
    const compat = compatRow(name);
    // The compatible host that the variables register may have the name of a known provider.
    const known = origins.get(name)?.baseUrlPlace === compat.baseUrlVariable ? undefined : rows.find((row) => row.name === (entry?.like ?? name));
    const like = entry?.like ?? (known === undefined ? COMPAT : undefined);
    // Of the compatible hosts only the one that has a variable for it says what it holds answers to.
    const variable = entry?.like === COMPAT ? undefined : (known ?? compat).structuredOutputVariable;
    const held = variable === undefined ? undefined : environment.find(variable, STRUCTURED_OUTPUT)?.text;
    const cloud = known?.cloud && { ...environmentOf(variables, known.cloud), ...overridesOf(known, entry?.workspace) };
    const secrets = keys.map(({ secret }) => secret.reveal());
    const given = {
      ...(secrets.length > 1 ? { keys: secrets } : { key: secrets[0] }),
      baseUrl: cloud === undefined ? baseUrl.href : entry?.baseUrl?.href,
      like,
      structuredOutput: held,
      environment: cloud,
    };
    return [name, veiled(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)))];
  }));
  if (routingFile !== undefined) options['routing'] = routingOptionOf(routingFile);
  return { options: veiled(options), problems: environment.problems };
}

/** What of an environment concerns a cloud. */
function environmentOf(variables: Readonly<Record<string, string | undefined>>, cloud: CloudName): Options {
  return Object.fromEntries(Object.entries(variables).filter(([name, value]) => value !== undefined && CLOUD_VARIABLES[cloud].test(name)));
}

/** What its variables do not say of it: its keys, which stand beside them, if it has any, and a workspace of its own. */
function overridesOf({ keyVariables }: ProviderRow, workspace: string | undefined): Options {
  const absent = keyVariables.flatMap((variable) => ['', '_FILE', 'S', 'S_FILE'].map((end) => [variable + end, undefined] as const));
  return { ...Object.fromEntries(absent), ...(workspace === undefined ? {} : { ANTHROPIC_AWS_WORKSPACE_ID: workspace }) };
}

/** The file's content as an option: what it says of who the providers are stands among the providers. */
function routingOptionOf({ text, providers }: RoutingFile): Options {
  const bounded = [...providers].map(([name, { concurrentMax }]) => [name, { concurrent: concurrentMax }] as const);
  return { ...(JSON.parse(text) as Options), providers: Object.fromEntries(bounded) };
}

const SECRET_OPTIONS = ['environment', 'key', 'keys', 'metricsToken', 'httpsProxy', 'httpProxy', 'limitsUrl'];

/** The options, whose secrets do not show where Node prints them, nor where they were spread into others. */
function veiled(options: Options, isSecret = (name: string): boolean => SECRET_OPTIONS.includes(name)): Options {
  return {
    ...options,
    [Symbol.for('nodejs.util.inspect.custom')](this: Options): Options {
      return Object.fromEntries(Object.entries(this).map(([name, value]) => [name, isSecret(name) ? '[set]' : value]));
    },
  };
}
