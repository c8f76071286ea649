/** The keys of a provider: one variable, one variable of several, or variables that the routing file names. */

import type { Secret } from '../base/secret.ts';
import type { ProviderRow } from '../core/adapter.ts';
import type { Environment } from './environment.ts';
import { KEY_LIST, SECRET } from './setting-types.ts';

/** What a provider is given as keys. */
export type GivenKeys = {
  /** Where, for sentences. */
  readonly place: string;
  /** The variables that hold them. */
  readonly variables: readonly string[];
  /** Undefined when one is bad, which is then among the problems. */
  readonly keys: readonly Secret[] | undefined;
};

/** What the routing file says of a provider's keys. */
export type NamedKeys = {
  /** Where, for sentences: `GATEWAY_ROUTING_FILE: providers.openai.keys`. */
  readonly place: string;
  /** Names of variables; an empty one was none, which is among the problems. */
  readonly variables: readonly string[];
};

/** The variable that holds several keys: the plural of the one that holds one. Another one's variable, honoured in its place, has none. */
export function listVariableOf({ keyVariables: [first] }: ProviderRow): string | undefined {
  return first === undefined ? undefined : `${first}S`;
}

/** Undefined where the provider is given no key. */
export function readKeys(environment: Environment, row: ProviderRow, named: NamedKeys | undefined): GivenKeys | undefined {
  const list = listVariableOf(row);
  const isListed = list !== undefined && environment.isSet(list, KEY_LIST);
  const single = row.keyVariables.filter((variable) => environment.isSet(variable, SECRET));
  if (named !== undefined) {
    if (isListed) environment.problems.push(`${list}: is set together with ${named.place}; keep one`);
    warnIgnored(environment, single.filter((variable) => !named.variables.includes(variable)), `${named.place} names others`);
    return { ...named, keys: readNamed(environment, named) };
  }
  if (isListed) {
    const [first] = row.keyVariables;
    if (first !== undefined && single.includes(first)) environment.problems.push(`${list}: is set together with ${first}; keep one`);
    warnIgnored(environment, single.filter((variable) => variable !== first), `${list} is set`);
    return { place: list, variables: [list], keys: readList(environment, list) };
  }
  const [variable, ...others] = single;
  if (variable === undefined) return undefined;
  warnIgnored(environment, others, `${variable} is set`);
  const key = environment.read(variable, SECRET);
  return { place: variable, variables: [variable], keys: key && [key] };
}

function warnIgnored(environment: Environment, variables: readonly string[], reason: string): void {
  for (const variable of variables) environment.warnings.push(`${variable}: ignored, because ${reason}`);
}

function readList(environment: Environment, variable: string): readonly Secret[] | undefined {
  const keys = environment.read(variable, KEY_LIST);
  const same = keys && samePair(keys);
  if (same !== undefined) environment.problems.push(`${variable}: the entries ${same[0] + 1} and ${same[1] + 1} hold the same key`);
  return keys;
}

/** Each variable may stand there with `_FILE`, as it does in the environment. */
function readNamed(environment: Environment, { place, variables }: NamedKeys): readonly Secret[] | undefined {
  const plain = variables.map((variable) => variable.replace(/_FILE$/, ''));
  const keys = plain.map((variable, index) => {
    if (variable === '') return undefined;
    if (plain.indexOf(variable) < index) {
      environment.problems.push(`${place}[${index}]: ${variable} stands there twice`);
      return undefined;
    }
    if (environment.isSet(variable, SECRET)) return environment.read(variable, SECRET);
    environment.problems.push(`${place}[${index}]: ${variable} is not set`);
    return undefined;
  });
  const same = samePair(keys);
  if (same !== undefined) environment.problems.push(`${place}: ${plain[same[0]]} and ${plain[same[1]]} hold the same key`);
  return keys.every((key) => key !== undefined) ? keys : undefined;
}

/** Where the first key stands that comes twice, and where it comes again. */
export function samePair(keys: readonly (Secret | undefined)[]): readonly [number, number] | undefined {
  const places = new Map<string, number>();
  for (const [index, key] of keys.entries()) {
    if (key === undefined) continue;
    const first = places.get(key.reveal());
    if (first !== undefined) return [first, index];
    places.set(key.reveal(), index);
  }
  return undefined;
}
