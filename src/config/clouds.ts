/**
 * Clouds: providers that know other credentials than keys. Which variables they have, as the vendors' own SDKs read them, and what
 * comes of these.
 *
 * A key registers its cloud as everywhere, and wins. Everything else lies about on many machines, so it registers one only where
 * the operator lists that in GATEWAY_CLOUDS. Nothing is guessed: what is missing or contradicts itself is a problem.
 */

import type { AdapterSettings, CloudName, ProviderRow } from '../core/adapter.ts';
import type { CredentialPlan } from '../core/credential-plan.ts';
import { entraPlan, googlePlan, signaturePlan } from './cloud-credentials.ts';
import { awsSuffix, eitherOf, firstSet, ID, MODEL_NAMES, NAME, optional, PLACE_NAME, required } from './cloud-reading.ts';
import type { Reading } from './cloud-reading.ts';
import { BASE_URL, PATH } from './setting-types.ts';

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

/** The variables that say where a cloud is, besides that of its base URL. */
const OTHER_PLACES: Readonly<Record<CloudName, readonly string[]>> = {
  azure: ['AZURE_OPENAI_ENDPOINT'],
  foundry: ['ANTHROPIC_FOUNDRY_RESOURCE'],
  bedrock: [],
  'claude-aws': [],
  vertex: ['VERTEX_BASE_URL', 'ANTHROPIC_VERTEX_BASE_URL'],
};

/** Every variable that says where a provider is. */
export function placeVariablesOf({ baseUrlVariable, cloud }: ProviderRow): readonly string[] {
  return [baseUrlVariable, ...(cloud === undefined ? [] : OTHER_PLACES[cloud])];
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
  azure: (reading) => readMicrosoft(reading, azurePlace(reading), 'AZURE_MODELS'),
  foundry: (reading) => readMicrosoft(reading, foundryPlace(reading), 'FOUNDRY_MODELS'),
  bedrock: readBedrock,
  'claude-aws': readClaudeAws,
  vertex: readVertex,
};

/** An endpoint of Azure with the path of its v1 API, which the endpoint of a project has behind its own. */
function withV1(endpoint: URL): URL {
  const url = new URL(endpoint);
  url.pathname = `${url.pathname.replace(/\/+$/, '').replace(/\/openai(?:\/v1)?$/, '')}/openai/v1`;
  return url;
}

/** Where it is, as its base URL says. */
type Place = NonNullable<Reading['root']>;

/** The base URL, where it is given. */
function placeOf({ environment, row, root }: Reading): Place | undefined {
  const url = root === undefined ? optional(environment, row.baseUrlVariable, BASE_URL) : undefined;
  return url === undefined ? root : { root: url, place: row.baseUrlVariable };
}

/**
 * A base URL that stands by itself; of an endpoint of Microsoft's own, which has nothing without the path of an API, with that path:
 * of a resource, or of a project, as its portal shows them.
 */
function withPath({ root, place }: Place, completed: (endpoint: URL) => URL): Place {
  const isBare = /\.azure\.(?:com|us|cn)$/.test(root.hostname) && /^\/(?:openai|api\/projects\/[^/]+)?$/.test(root.pathname);
  return { root: isBare ? completed(root) : root, place };
}

/** Either of Microsoft's two. */
function readMicrosoft(reading: Reading, place: Place | undefined, modelsVariable: string): Cloud | undefined {
  const models = optional(reading.environment, modelsVariable, MODEL_NAMES);
  const credentials = reading.hasKey ? undefined : entraPlan(reading, place?.root.hostname ?? '');
  return place && { ...place, credentials, headers: undefined, settings: { models } };
}

function azurePlace(reading: Reading): Place | undefined {
  const { environment, row } = reading;
  const endpoint = 'AZURE_OPENAI_ENDPOINT';
  if (reading.root !== undefined) return withPath(reading.root, withV1);
  if (eitherOf(reading, row.baseUrlVariable, endpoint, BASE_URL) !== endpoint) return placeOf(reading);
  const given = environment.read(endpoint, BASE_URL);
  return given && { root: withV1(given), place: endpoint };
}

function foundryPlace(reading: Reading): Place | undefined {
  const { environment, row } = reading;
  const resource = 'ANTHROPIC_FOUNDRY_RESOURCE';
  if (reading.root !== undefined) return withPath(reading.root, (endpoint) => new URL('/anthropic', endpoint));
  if (eitherOf(reading, resource, row.baseUrlVariable, PATH) !== resource) return placeOf(reading);
  const name = environment.read(resource, NAME);
  return name === undefined ? undefined : { root: new URL(`https://${name}.services.ai.azure.com/anthropic`), place: resource };
}

function readRegion(reading: Reading): string | undefined {
  const { environment } = reading;
  return required(reading, firstSet(environment, PLACE_NAME, 'AWS_REGION', 'AWS_DEFAULT_REGION') ?? 'AWS_REGION', PLACE_NAME);
}

/** The region that an endpoint of AWS's own, a private one too, has in its name; it takes signatures for no other. */
function regionAt({ hostname }: URL): string | undefined {
  const [, region, domain] = /(?:^|\.)(?:bedrock-runtime(?:-fips)?|aws-external-anthropic)\.([a-z0-9-]+)\.(?:vpce\.)?([a-z0-9.-]+)$/.exec(hostname) ?? [];
  return region !== undefined && (domain === awsSuffix(region) || domain === 'api.aws') ? region : undefined;
}

function readBedrock(reading: Reading): Cloud | undefined {
  const { environment, row, hasKey } = reading;
  const region = readRegion(reading);
  const given = placeOf(reading);
  const models = optional(environment, 'BEDROCK_MODELS', MODEL_NAMES);
  if (region === undefined) return undefined;
  const place = given ?? { root: new URL(`https://bedrock-runtime.${region}.${awsSuffix(region)}`), place: row.baseUrlVariable };
  const credentials = hasKey ? undefined : signaturePlan(reading, region, { region: regionAt(place.root) ?? region, service: 'bedrock' });
  return { ...place, credentials, headers: undefined, settings: { models } };
}

function readClaudeAws(reading: Reading): Cloud | undefined {
  const { row, hasKey } = reading;
  const region = readRegion(reading);
  const workspace = reading.workspace ?? required(reading, 'ANTHROPIC_AWS_WORKSPACE_ID', ID);
  const given = placeOf(reading);
  if (region === undefined || workspace === undefined) return undefined;
  const place = given ?? { root: new URL(`https://aws-external-anthropic.${region}.api.aws`), place: row.baseUrlVariable };
  const credentials = hasKey ? undefined : signaturePlan(reading, region, { region: regionAt(place.root) ?? region, service: 'aws-external-anthropic' });
  return { ...place, credentials, headers: { 'anthropic-workspace-id': workspace }, settings: {} };
}

function readVertex(reading: Reading): Cloud | undefined {
  const { row, hasKey } = reading;
  if (hasKey) {
    const place = reading.root ?? vertexPlace(reading) ?? { root: new URL(row.defaultBaseUrl ?? ''), place: row.baseUrlVariable };
    return { ...place, credentials: undefined, headers: undefined, settings: {} };
  }
  const given = reading.root === undefined ? vertexPlace(reading) : vertexPlaceIn(reading, reading.root);
  // A path that makes no sense may have been meant to name them.
  if (reading.root !== undefined && given === undefined) return undefined;
  const id = given?.id ?? required(reading, 'GOOGLE_CLOUD_PROJECT', PLACE_NAME);
  const location = given?.location ?? required(reading, 'GOOGLE_CLOUD_LOCATION', PLACE_NAME);
  const credentials = googlePlan(reading);
  if (id === undefined || location === undefined || credentials === undefined) return undefined;
  const { root, place } = given ?? { root: new URL(`https://${vertexHost(location)}`), place: row.baseUrlVariable };
  return { root, place, credentials, headers: undefined, settings: { project: { id, location } } };
}

/** What a base URL may say besides of a place in Vertex. */
type VertexPlace = Place & { readonly id?: string | undefined; readonly location?: string | undefined };

/** The end of a path that names where in Vertex it leads to. */
const VERTEX_PATH = /(?:\/v1(?:beta1)?)?(?:\/projects\/([^/]+)\/locations\/([^/]+))?$/;

/** Of a base URL that stands by itself: the project and location of its path, or else the location in the name of a host of Google's. */
function vertexPlaceIn({ environment }: Reading, { root: url, place }: Place): VertexPlace | undefined {
  const root = new URL(url);
  const [said = '', id, location] = VERTEX_PATH.exec(url.pathname) ?? [];
  root.pathname = url.pathname.slice(0, url.pathname.length - said.length);
  if (!root.pathname.includes('/projects/') && [id, location].every((name) => name === undefined || PLACE_NAME.parse(name) !== undefined)) {
    return { root, place, id, location: location ?? locationAt(url) };
  }
  environment.problems.push(`${place}: expected a path that names a project to end in /v1/projects/PROJECT/locations/LOCATION`);
  return undefined;
}

/** The location that an endpoint of Google's own has in its name. */
function locationAt({ hostname }: URL): string | undefined {
  if (hostname === vertexHost('global')) return 'global';
  return /^(?:aiplatform\.([a-z0-9-]+)\.rep|([a-z0-9-]+)-aiplatform)\.googleapis\.com$/.exec(hostname)?.slice(1).find((name) => name !== undefined);
}

function vertexHost(location: string): string {
  if (location === 'global') return 'aiplatform.googleapis.com';
  return /^(us|eu)$/.test(location) ? `aiplatform.${location}.rep.googleapis.com` : `${location}-aiplatform.googleapis.com`;
}

/** The variables of several SDKs for one host. That of Anthropic's has the version in its path. */
function vertexPlace({ environment, row }: Reading): VertexPlace | undefined {
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
