/**
 * Clouds: providers that know other credentials than keys. Which variables they have, as the makers' own SDKs read them, and what
 * comes of these.
 *
 * A key registers its cloud as everywhere, and wins. Everything else lies about on many machines, so it registers one only where
 * the operator lists that in GATEWAY_CLOUDS. Nothing is guessed: what is missing or contradicts itself is a problem.
 */

import { parseSharedFiles } from '../base/aws/shared-files.ts';
import { parseGoogleCredentials } from '../base/google/credential-file.ts';
import { isLinkLocal } from '../base/link-local.ts';
import { isLoopback } from '../base/loopback.ts';
import { CLOUD_NAMES } from '../core/adapter.ts';
import type { AdapterSettings, CloudName, ProviderRow } from '../core/adapter.ts';
import type { AwsPlan, CredentialPlan, TokenPlan } from '../core/credential-plan.ts';
import type { ModelNames } from '../core/model-name.ts';
import { BASE_URL, PATH, SECRET } from './environment.ts';
import type { Environment, SettingType } from './environment.ts';

/** How a cloud is reached. */
export type Cloud = {
  /** Undefined where it has a key. */
  readonly credentials: CredentialPlan | undefined;
  readonly root: URL;
  /** The variable that says where it is, for sentences. */
  readonly place: string;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly settings: Pick<AdapterSettings, 'models' | 'project'>;
};

type Text = SettingType<string>;

function text(expects: string, pattern: RegExp): Text {
  return { name: 'text', expects, parse: (given) => (pattern.test(given) ? given : undefined), shown: 'always' };
}

/** Part of a host's name or of a path, so nothing that could end it. */
const NAME = text('letters, digits and "-"', /^[A-Za-z0-9][A-Za-z0-9-]{0,127}$/);
const ID = text('letters, digits, "-", "_" and "."', /^[\w.-]{1,128}$/);
const ARN = text('an ARN such as arn:aws:iam::123456789012:role/name', /^arn:[\w+=,.@:/-]{1,2048}$/);
const SESSION_NAME = text('2 to 64 letters, digits and "+=,.@-_"', /^[\w+=,.@-]{2,64}$/);
const PROFILE = text('the name of a profile', /^[^\r\n\]]{1,256}$/);
const WORD = text('a word', /^[\w-]{1,64}$/);
const RELATIVE_URI = text('a path', /^\/[\x21-\x7e]{0,2048}$/);

/** Where secrets go to be exchanged, so https, unless that is this machine. A bare host stands for https. */
const EXCHANGE_URL: SettingType<URL> = {
  ...BASE_URL,
  expects: 'an https URL without user name, password, query or fragment',
  parse(given) {
    const url = BASE_URL.parse(/^https?:\/\//i.test(given) ? given : `https://${given}`);
    return url?.protocol === 'https:' || (url !== undefined && isLoopback(url.hostname)) ? url : undefined;
  },
};
/** Where a metadata server is. A bare host stands for http. */
const METADATA_URL: SettingType<URL> = { ...BASE_URL, parse: (given) => BASE_URL.parse(/^https?:\/\//i.test(given) ? given : `http://${given}`) };
/** May have a query. */
const ENDPOINT_URL: SettingType<URL> = {
  ...BASE_URL,
  expects: 'an http or https URL',
  parse: (given) => (/^https?:\/\/[^\s]+$/i.test(given) && URL.canParse(given) ? new URL(given) : undefined),
};

/** `name=model,…` */
const MODEL_NAMES: SettingType<ModelNames> = {
  name: 'list',
  expects: 'name=model, more of them separated by commas',
  parse(given) {
    const entries = given.split(',').map((entry) => /^\s*([^\s=,]+)\s*=\s*([^\s=,]+)\s*$/.exec(entry));
    return entries.every((entry) => entry !== null) ? new Map(entries.map(([, name = '', model = '']) => [name, model])) : undefined;
  },
  shown: 'always',
};

const FLAG: SettingType<boolean> = { name: 'boolean', expects: 'true or false', parse: (given) => /^(true|1)$/i.test(given), shown: 'always' };

/** What reading one cloud takes. */
export type Reading = {
  readonly environment: Environment;
  readonly row: ProviderRow;
  readonly hasKey: boolean;
  /** Where it is, where that is said elsewhere than by variables. */
  readonly root: { readonly root: URL; readonly place: string } | undefined;
  /** Where that would be said, where the cloud is configured elsewhere than by variables. */
  readonly rootPlace: string | undefined;
  /** A file's text; throws where there is none. */
  readonly readFile: (path: string) => string;
};

/**
 * The cloud of a row, once it is known to be registered: by a key, or by the operator's list. Undefined where something is wrong,
 * which is then among the problems.
 */
export function readCloud(cloud: CloudName, reading: Reading): Cloud | undefined {
  const { problems } = reading.environment;
  const problemsBefore = problems.length;
  const found = READERS[cloud](reading);
  return problems.length > problemsBefore ? undefined : found;
}

/** The variables that concern a cloud. */
export const CLOUD_VARIABLES: Readonly<Record<CloudName, RegExp>> = {
  azure: /^(AZURE_|IDENTITY_)/,
  foundry: /^(AZURE_|IDENTITY_|ANTHROPIC_FOUNDRY_|FOUNDRY_)/,
  bedrock: /^(AWS_|BEDROCK_|HOME$|USERPROFILE$)/,
  'claude-aws': /^(AWS_|ANTHROPIC_AWS_|HOME$|USERPROFILE$)/,
  vertex: /^(GOOGLE_|VERTEX_|ANTHROPIC_VERTEX_|GCE_|METADATA_SERVER_|CLOUDSDK_CONFIG$|HOME$|USERPROFILE$)/,
};

const READERS: Readonly<Record<CloudName, (reading: Reading) => Cloud | undefined>> = {
  azure: readAzure,
  foundry: readFoundry,
  bedrock: readBedrock,
  'claude-aws': readClaudeAws,
  vertex: readVertex,
};

/** All that can be listed. */
export const CLOUDS: readonly string[] = CLOUD_NAMES;

/** The value; a problem where it is absent. */
function required<T>({ environment, row }: Reading, variable: string, type: SettingType<T>): T | undefined {
  if (!environment.isSet(variable, type)) environment.problems.push(`${variable}: required, because ${row.name} is configured`);
  return optional(environment, variable, type);
}

function optional<T>(environment: Environment, variable: string, type: SettingType<T>): T | undefined {
  return environment.isSet(variable, type) ? environment.read(variable, type) : undefined;
}

/** The first of some variables that is set. */
function firstSet(environment: Environment, type: SettingType<unknown>, ...variables: readonly string[]): string | undefined {
  return variables.find((variable) => environment.isSet(variable, type));
}

/** The one of two variables that is set: both would contradict each other, and neither says nothing. */
function eitherOf({ environment, row, rootPlace }: Reading, one: string, other: string, type: SettingType<unknown>): string | undefined {
  const [isOne, isOther] = [environment.isSet(one, type), environment.isSet(other, type)];
  if (isOne && isOther) environment.problems.push(`${one}, ${other}: both are set, expected only one of them`);
  else if (!isOne && !isOther) environment.problems.push(rootPlace === undefined ? `${one} or ${other}: required, because ${row.name} is configured` : `${rootPlace}: required`);
  return isOne === isOther ? undefined : isOne ? one : other;
}

function withPath(root: URL, path: string): URL {
  const url = new URL(root);
  if (url.pathname === '/') url.pathname = path;
  return url;
}

/** Where it is, as its base URL says. */
type Place = NonNullable<Reading['root']>;

/** The base URL, where it is given. */
function placeOf({ environment, row, root }: Reading): Place | undefined {
  const url = root === undefined ? optional(environment, row.baseUrlVariable, BASE_URL) : undefined;
  return url === undefined ? root : { root: url, place: row.baseUrlVariable };
}

function readAzure(reading: Reading): Cloud | undefined {
  const { environment, hasKey } = reading;
  const place = azurePlace(reading);
  const models = optional(environment, 'AZURE_MODELS', MODEL_NAMES);
  const credentials = hasKey ? undefined : entraPlan(reading);
  return place && { ...place, credentials, headers: undefined, settings: { models } };
}

function azurePlace(reading: Reading): Place | undefined {
  const { environment, row } = reading;
  const endpoint = 'AZURE_OPENAI_ENDPOINT';
  const place = reading.root === undefined ? eitherOf(reading, row.baseUrlVariable, endpoint, BASE_URL) : undefined;
  if (place !== endpoint) return placeOf(reading);
  const given = environment.read(endpoint, BASE_URL);
  return given && { root: withPath(given, '/openai/v1'), place: endpoint };
}

function readFoundry(reading: Reading): Cloud | undefined {
  const { environment, hasKey } = reading;
  const place = foundryPlace(reading);
  const models = optional(environment, 'FOUNDRY_MODELS', MODEL_NAMES);
  const credentials = hasKey ? undefined : entraPlan(reading);
  return place && { ...place, credentials, headers: undefined, settings: { models } };
}

function foundryPlace(reading: Reading): Place | undefined {
  const { environment, row } = reading;
  const resource = 'ANTHROPIC_FOUNDRY_RESOURCE';
  const place = reading.root === undefined ? eitherOf(reading, resource, row.baseUrlVariable, PATH) : undefined;
  if (place !== resource) return placeOf(reading);
  const name = environment.read(resource, NAME);
  return name === undefined ? undefined : { root: new URL(`https://${name}.services.ai.azure.com/anthropic`), place: resource };
}

const AZURE_RESOURCE = 'https://ai.azure.com';

/** Entra: a client's secret, a token of Kubernetes, or else the identity of the machine. */
function entraPlan(reading: Reading): CredentialPlan | undefined {
  const { environment } = reading;
  const hasSecret = environment.isSet('AZURE_CLIENT_SECRET', SECRET);
  if (!hasSecret && !environment.isSet('AZURE_FEDERATED_TOKEN_FILE', PATH)) return tokenPlan(identityPlan(reading));
  const tenantId = required(reading, 'AZURE_TENANT_ID', ID);
  const clientId = required(reading, 'AZURE_CLIENT_ID', ID);
  const authority = optional(environment, 'AZURE_AUTHORITY_HOST', EXCHANGE_URL) ?? new URL('https://login.microsoftonline.com');
  if (tenantId === undefined || clientId === undefined) return undefined;
  const common = { tokenUrl: new URL(`/${tenantId}/oauth2/v2.0/token`, authority), clientId, scope: `${AZURE_RESOURCE}/.default` };
  if (hasSecret) {
    const clientSecret = environment.read('AZURE_CLIENT_SECRET', SECRET);
    return clientSecret && { type: 'token', plan: { source: 'entra client secret', ...common, clientSecret } };
  }
  const tokenFile = environment.read('AZURE_FEDERATED_TOKEN_FILE', PATH);
  return tokenFile === undefined ? undefined : { type: 'token', plan: { source: 'entra workload identity', ...common, tokenFile } };
}

function tokenPlan(plan: TokenPlan | undefined): CredentialPlan | undefined {
  return plan && { type: 'token', plan };
}

function identityPlan({ environment, row }: Reading): TokenPlan | undefined {
  const clientId = optional(environment, 'AZURE_CLIENT_ID', ID);
  const common = { resource: AZURE_RESOURCE, clientId };
  if (environment.isSet('IDENTITY_ENDPOINT', ENDPOINT_URL) && environment.isSet('IDENTITY_HEADER', SECRET)) {
    const [endpoint, header] = [environment.read('IDENTITY_ENDPOINT', ENDPOINT_URL), environment.read('IDENTITY_HEADER', SECRET)];
    return endpoint === undefined || header === undefined ? undefined : { source: 'app service identity', endpoint, header, ...common };
  }
  if (optional(environment, 'AZURE_IMDS_DISABLED', FLAG) === true) {
    environment.problems.push(`AZURE_CLIENT_SECRET: required for ${row.name}, or AZURE_FEDERATED_TOKEN_FILE, since AZURE_IMDS_DISABLED rules a managed identity out`);
    return undefined;
  }
  const origin = optional(environment, 'AZURE_POD_IDENTITY_AUTHORITY_HOST', METADATA_URL) ?? new URL('http://169.254.169.254');
  return { source: 'azure managed identity', origin, ...common };
}

/** Of a partition of AWS, by how its regions begin. */
const AWS_SUFFIXES: readonly (readonly [RegExp, string])[] = [
  [/^cn-/, 'amazonaws.com.cn'],
  [/^eusc-/, 'amazonaws.eu'],
  [/^us-isob-/, 'sc2s.sgov.gov'],
  [/^us-iso-/, 'c2s.ic.gov'],
];

function awsSuffix(region: string): string {
  return AWS_SUFFIXES.find(([regions]) => regions.test(region))?.[1] ?? 'amazonaws.com';
}

function readRegion(reading: Reading): string | undefined {
  const { environment } = reading;
  return required(reading, firstSet(environment, NAME, 'AWS_REGION', 'AWS_DEFAULT_REGION') ?? 'AWS_REGION', NAME);
}

function readBedrock(reading: Reading): Cloud | undefined {
  const { environment, row, hasKey } = reading;
  const region = readRegion(reading);
  const given = placeOf(reading);
  const models = optional(environment, 'BEDROCK_MODELS', MODEL_NAMES);
  if (region === undefined) return undefined;
  const credentials = hasKey ? undefined : signaturePlan(reading, region, 'bedrock');
  const place = given ?? { root: new URL(`https://bedrock-runtime.${region}.${awsSuffix(region)}`), place: row.baseUrlVariable };
  return { ...place, credentials, headers: undefined, settings: { models } };
}

function readClaudeAws(reading: Reading): Cloud | undefined {
  const { row, hasKey } = reading;
  const region = readRegion(reading);
  const workspace = required(reading, 'ANTHROPIC_AWS_WORKSPACE_ID', ID);
  const given = placeOf(reading);
  if (region === undefined || workspace === undefined) return undefined;
  const credentials = hasKey ? undefined : signaturePlan(reading, region, 'aws-external-anthropic');
  const place = given ?? { root: new URL(`https://aws-external-anthropic.${region}.api.aws`), place: row.baseUrlVariable };
  return { ...place, credentials, headers: { 'anthropic-workspace-id': workspace }, settings: {} };
}

function signaturePlan(reading: Reading, region: string, service: string): CredentialPlan | undefined {
  const plan = awsPlan(reading, region);
  return plan && { type: 'signature', plan, region, service };
}

/** The sources in the order of AWS's own SDKs; the first that is there. */
function awsPlan(reading: Reading, region: string): AwsPlan | undefined {
  const { environment } = reading;
  if (environment.isSet('AWS_ACCESS_KEY_ID', SECRET) || environment.isSet('AWS_SECRET_ACCESS_KEY', SECRET)) return environmentPlan(reading);
  if (environment.isSet('AWS_WEB_IDENTITY_TOKEN_FILE', PATH)) return webIdentityPlan(reading, region);
  const files = sharedFilesPlan(reading);
  if (files !== 'absent') return files;
  if (firstSet(environment, PATH, 'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI', 'AWS_CONTAINER_CREDENTIALS_FULL_URI') !== undefined) return containerPlan(reading);
  if (optional(environment, 'AWS_EC2_METADATA_DISABLED', FLAG) === true) {
    environment.problems.push(`AWS_ACCESS_KEY_ID: required for ${reading.row.name}, or another source of credentials, since AWS_EC2_METADATA_DISABLED rules an instance's role out`);
    return undefined;
  }
  return { source: 'instance metadata', origin: optional(environment, 'AWS_EC2_METADATA_SERVICE_ENDPOINT', METADATA_URL) ?? new URL('http://169.254.169.254') };
}

function environmentPlan(reading: Reading): AwsPlan | undefined {
  const accessKeyId = required(reading, 'AWS_ACCESS_KEY_ID', SECRET);
  const secretAccessKey = required(reading, 'AWS_SECRET_ACCESS_KEY', SECRET);
  const sessionToken = optional(reading.environment, 'AWS_SESSION_TOKEN', SECRET);
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  return { source: 'environment', credentials: { accessKeyId: accessKeyId.reveal(), secretAccessKey, sessionToken } };
}

function webIdentityPlan(reading: Reading, region: string): AwsPlan | undefined {
  const { environment } = reading;
  const tokenFile = environment.read('AWS_WEB_IDENTITY_TOKEN_FILE', PATH);
  const roleArn = required(reading, 'AWS_ROLE_ARN', ARN);
  const sessionName = optional(environment, 'AWS_ROLE_SESSION_NAME', SESSION_NAME) ?? 'chat-completion-gateway';
  const stsUrl = optional(environment, 'AWS_ENDPOINT_URL_STS', EXCHANGE_URL) ?? new URL(`https://sts.${region}.${awsSuffix(region)}/`);
  return tokenFile === undefined || roleArn === undefined ? undefined : { source: 'web identity', stsUrl, roleArn, sessionName, tokenFile };
}

/** `absent`: nobody asked for a profile, and there is none with keys. */
function sharedFilesPlan({ environment, row, readFile }: Reading): AwsPlan | undefined | 'absent' {
  const home = homeOf(environment);
  const asked = optional(environment, 'AWS_PROFILE', PROFILE);
  const credentialsPath = optional(environment, 'AWS_SHARED_CREDENTIALS_FILE', PATH) ?? `${home}/.aws/credentials`;
  const configPath = optional(environment, 'AWS_CONFIG_FILE', PATH) ?? `${home}/.aws/config`;
  const profile = asked ?? 'default';
  const found = parseSharedFiles(textOf(readFile, credentialsPath), textOf(readFile, configPath), profile);
  if (typeof found !== 'string') return { source: 'shared files', credentialsPath, configPath, profile };
  if (asked === undefined && (found.startsWith('is in neither') || found.startsWith('has no '))) return 'absent';
  environment.problems.push(`AWS_PROFILE: the profile for ${row.name} ${found}`);
  return undefined;
}

/** No setting of the gateway's, so it is not noted as one. */
function homeOf(environment: Environment): string {
  return (environment.find('HOME', PATH) ?? environment.find('USERPROFILE', PATH))?.text ?? '';
}

/** Undefined where there is no such file. */
function textOf(readFile: (path: string) => string, path: string): string | undefined {
  try {
    return readFile(path);
  } catch {
    return undefined;
  }
}

function containerPlan(reading: Reading): AwsPlan | undefined {
  const { environment } = reading;
  const place = eitherOf({ ...reading, rootPlace: undefined }, 'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI', 'AWS_CONTAINER_CREDENTIALS_FULL_URI', PATH);
  if (place === undefined) return undefined;
  const relative = place.endsWith('RELATIVE_URI') ? environment.read(place, RELATIVE_URI) : undefined;
  const url = relative === undefined ? optional(environment, 'AWS_CONTAINER_CREDENTIALS_FULL_URI', ENDPOINT_URL) : new URL(`http://169.254.170.2${relative}`);
  const tokenFile = optional(environment, 'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE', PATH);
  const token = tokenFile === undefined ? optional(environment, 'AWS_CONTAINER_AUTHORIZATION_TOKEN', SECRET) : undefined;
  if (url === undefined) return undefined;
  if (url.protocol === 'http:' && !isLinkLocal(url.hostname)) {
    environment.problems.push(`${place}: expected https, or an address of this machine or its platform`);
    return undefined;
  }
  return { source: 'container', url, token, tokenFile };
}

function readVertex(reading: Reading): Cloud | undefined {
  const { environment, row, hasKey, readFile } = reading;
  const given = reading.root ?? vertexPlace(reading);
  if (hasKey) {
    const place = given ?? { root: new URL(row.defaultBaseUrl ?? ''), place: row.baseUrlVariable };
    return { ...place, credentials: undefined, headers: undefined, settings: {} };
  }
  const id = required(reading, 'GOOGLE_CLOUD_PROJECT', NAME);
  const location = required(reading, 'GOOGLE_CLOUD_LOCATION', NAME);
  const plan = googlePlan(environment, readFile, row);
  if (id === undefined || location === undefined || plan === undefined) return undefined;
  const place = given ?? { root: new URL(`https://${vertexHost(location)}`), place: row.baseUrlVariable };
  return { ...place, credentials: tokenPlan(plan), headers: undefined, settings: { project: { id, location } } };
}

function vertexHost(location: string): string {
  if (location === 'global') return 'aiplatform.googleapis.com';
  return /^(us|eu)$/.test(location) ? `aiplatform.${location}.rep.googleapis.com` : `${location}-aiplatform.googleapis.com`;
}

/** The variables of several SDKs for one host. That of Anthropic's has the version in its path. */
function vertexPlace({ environment, row }: Reading): Place | undefined {
  const set = [row.baseUrlVariable, 'VERTEX_BASE_URL', 'ANTHROPIC_VERTEX_BASE_URL'].filter((variable) => environment.isSet(variable, BASE_URL));
  const found = set.flatMap((place) => {
    const url = environment.read(place, BASE_URL);
    if (url === undefined) return [];
    const root = new URL(url);
    root.pathname = root.pathname.replace(/\/v1(?:beta1)?$/, '');
    return [{ root, place }];
  });
  const [first, ...others] = found;
  const other = others.find(({ root }) => root.href !== first?.root.href);
  if (first !== undefined && other !== undefined) environment.problems.push(`${other.place}: expected the same place as ${first.place}`);
  return first;
}

/** Application default credentials: the file that is named, or of gcloud, or else the metadata server. */
function googlePlan(environment: Environment, readFile: (path: string) => string, row: ProviderRow): TokenPlan | undefined {
  const named = optional(environment, 'GOOGLE_APPLICATION_CREDENTIALS', PATH);
  const folder = optional(environment, 'CLOUDSDK_CONFIG', PATH) ?? `${homeOf(environment)}/.config/gcloud`;
  const path = named ?? `${folder}/application_default_credentials.json`;
  const content = textOf(readFile, path);
  if (content !== undefined) {
    const credentials = parseGoogleCredentials(content);
    if (typeof credentials !== 'string') return { source: 'google credential file', path };
    environment.problems.push(`GOOGLE_APPLICATION_CREDENTIALS: the file for ${row.name} ${credentials}`);
    return undefined;
  }
  if (named !== undefined) {
    environment.problems.push('GOOGLE_APPLICATION_CREDENTIALS: the file cannot be read');
    return undefined;
  }
  if (optional(environment, 'METADATA_SERVER_DETECTION', WORD) === 'none') {
    environment.problems.push(`GOOGLE_APPLICATION_CREDENTIALS: required for ${row.name}, since METADATA_SERVER_DETECTION rules the metadata server out`);
    return undefined;
  }
  return { source: 'google metadata server', origin: optional(environment, 'GCE_METADATA_HOST', METADATA_URL) ?? new URL('http://169.254.169.254') };
}
