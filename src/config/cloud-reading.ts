/** What reading the variables of a cloud takes: kinds of values that only clouds have, and questions about variables. */

import { isLoopback } from '../base/loopback.ts';
import { Secret } from '../base/secret.ts';
import type { ProviderRow } from '../core/adapter.ts';
import type { ModelNames } from '../core/model-name.ts';
import type { Environment } from './environment.ts';
import { BASE_URL, SECRET } from './setting-types.ts';
import type { SettingType } from './setting-types.ts';

type Text = SettingType<string>;

function text(expects: string, pattern: RegExp): Text {
  return { name: 'text', expects, parse: (given) => (pattern.test(given) ? given : undefined), shown: 'always' };
}

/** Part of a host's name or of a path, so nothing that could end it. */
export const NAME = text('letters, digits and "-"', /^[A-Za-z0-9][A-Za-z0-9-]{0,127}$/);
/** Of a region, a location or a project: in capitals it would be signed for, or asked at, as one that does not exist. */
export const PLACE_NAME = text('small letters, digits and "-"', /^[a-z0-9][a-z0-9-]{0,127}$/);
export const ID = text('letters, digits, "-", "_" and "."', /^[\w.-]{1,128}$/);
export const ARN = text('an ARN such as arn:aws:iam::123456789012:role/name', /^arn:[\w+=,.@:/-]{1,2048}$/);
export const SESSION_NAME = text('2 to 64 letters, digits and "+=,.@-_"', /^[\w+=,.@-]{2,64}$/);
export const PROFILE = text('the name of a profile', /^[^\r\n\]]{1,256}$/);
export const WORD = text('a word', /^[\w-]{1,64}$/);
/** Who knows where a container's keys are may have them: not shown. */
export const RELATIVE_URI: Text = { ...text('a path', /^\/[\x21-\x7e]{0,2048}$/), shown: 'never' };

/** A header by itself, with its scheme: `Basic abcd`. */
export const AUTHORIZATION: SettingType<Secret> = {
  ...SECRET,
  expects: '1 to 4000 printable ASCII characters',
  parse: (given) => (/^[\x20-\x7e]{1,4000}$/.test(given) ? new Secret(given) : undefined),
};

/** Where secrets go to be exchanged, so https, unless that is this machine. A bare host stands for https. */
export const EXCHANGE_URL: SettingType<URL> = {
  ...BASE_URL,
  expects: 'an https URL without user name, password, query or fragment',
  parse(given) {
    const url = BASE_URL.parse(/^https?:\/\//i.test(given) ? given : `https://${given}`);
    return url?.protocol === 'https:' || (url !== undefined && isLoopback(url.hostname)) ? url : undefined;
  },
};
/** Where a metadata server is. A bare host stands for http. */
export const METADATA_URL: SettingType<URL> = { ...BASE_URL, parse: (given) => BASE_URL.parse(/^https?:\/\//i.test(given) ? given : `http://${given}`) };
/** May have a query. */
export const ENDPOINT_URL: SettingType<URL> = {
  ...BASE_URL,
  expects: 'an http or https URL without user name or password',
  parse: (given) => (/^https?:\/\/[^\s/?#@]+(?:[/?#]\S*)?$/i.test(given) && URL.canParse(given) ? new URL(given) : undefined),
};

/** Likewise. */
export const CREDENTIALS_URL: SettingType<URL> = { ...ENDPOINT_URL, shown: 'never' };

/** `name=model,…` */
export const MODEL_NAMES: SettingType<ModelNames> = {
  name: 'list',
  expects: 'name=model, each name once, more of them separated by commas',
  parse(given) {
    const entries = given.split(',').map((entry) => /^\s*([^\s=,]+)\s*=\s*([^\s=,]+)\s*$/.exec(entry));
    if (!entries.every((entry) => entry !== null)) return undefined;
    const names = new Map(entries.map(([, name = '', model = '']) => [name, model]));
    return names.size === entries.length ? names : undefined;
  },
  shown: 'always',
};

export const FLAG: SettingType<boolean> = { name: 'boolean', expects: 'true or false', parse: (given) => /^(true|1)$/i.test(given), shown: 'always' };

/** What reading one cloud takes. */
export type Reading = {
  readonly environment: Environment;
  readonly row: ProviderRow;
  readonly hasKey: boolean;
  /** Where it is, where that is said elsewhere than by variables. */
  readonly root: { readonly root: URL; readonly place: string } | undefined;
  /** Where that would be said, where the cloud is configured elsewhere than by variables. */
  readonly rootPlace: string | undefined;
  /** Likewise, of what has workspaces. */
  readonly workspace?: string | undefined;
  /** A file's text; throws where there is none. */
  readonly readFile: (path: string) => string;
};

/** The value; a problem where it is absent. */
export function required<T>({ environment, row }: Reading, variable: string, type: SettingType<T>): T | undefined {
  if (!environment.isSet(variable, type)) environment.problems.push(`${variable}: required, because ${row.name} is configured`);
  return optional(environment, variable, type);
}

/** The value; undefined where it is absent. */
export function optional<T>(environment: Environment, variable: string, type: SettingType<T>): T | undefined {
  return environment.isSet(variable, type) ? environment.read(variable, type) : undefined;
}

/** The first of some variables that is set. */
export function firstSet(environment: Environment, type: SettingType<unknown>, ...variables: readonly string[]): string | undefined {
  return variables.find((variable) => environment.isSet(variable, type));
}

/** The one of two variables that is set: both would contradict each other, and neither says nothing. */
export function eitherOf({ environment, row, rootPlace }: Reading, one: string, other: string, type: SettingType<unknown>): string | undefined {
  const [isOne, isOther] = [environment.isSet(one, type), environment.isSet(other, type)];
  if (isOne && isOther) environment.problems.push(`${one}, ${other}: both are set, expected only one of them`);
  else if (!isOne && !isOther) environment.problems.push(rootPlace === undefined ? `${one} or ${other}: required, because ${row.name} is configured` : `${rootPlace}: required`);
  return isOne === isOther ? undefined : isOne ? one : other;
}

/** Of a partition of AWS, by how its regions begin. */
const AWS_SUFFIXES: readonly (readonly [RegExp, string])[] = [
  [/^cn-/, 'amazonaws.com.cn'],
  [/^eusc-/, 'amazonaws.eu'],
  [/^us-isob-/, 'sc2s.sgov.gov'],
  [/^us-isof-/, 'csp.hci.ic.gov'],
  [/^eu-isoe-/, 'cloud.adc-e.uk'],
  [/^us-iso-/, 'c2s.ic.gov'],
];

/** The domain of a region. */
export function awsSuffix(region: string): string {
  return AWS_SUFFIXES.find(([regions]) => regions.test(region))?.[1] ?? 'amazonaws.com';
}
