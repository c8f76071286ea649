/** How a gateway is told of each of the sandbox's clouds. */

import type { Sandbox } from '../../src/sandbox/index.ts';

export type Environment = (sandbox: Sandbox) => Record<string, string>;

/** Azure by a client's secret, which Entra turns into tokens. */
export const AZURE: Environment = ({ url, clouds }) => ({
  GATEWAY_CLOUDS: 'azure',
  AZURE_OPENAI_BASE_URL: `${url}/azure/openai/v1`,
  AZURE_AUTHORITY_HOST: url,
  AZURE_TENANT_ID: clouds.tenantId,
  AZURE_CLIENT_ID: clouds.clientId,
  AZURE_CLIENT_SECRET: clouds.clientSecret,
});

/** Claude on Foundry by the identity of the machine. */
export const FOUNDRY: Environment = ({ url }) => ({
  GATEWAY_CLOUDS: 'foundry',
  ANTHROPIC_FOUNDRY_BASE_URL: `${url}/foundry/anthropic`,
  AZURE_POD_IDENTITY_AUTHORITY_HOST: url,
});

/** Bedrock by keys of the environment. */
export const BEDROCK: Environment = ({ url, clouds }) => ({
  GATEWAY_CLOUDS: 'bedrock',
  AWS_ENDPOINT_URL_BEDROCK_RUNTIME: `${url}/bedrock`,
  AWS_REGION: clouds.region,
  AWS_ACCESS_KEY_ID: clouds.accessKeyId,
  AWS_SECRET_ACCESS_KEY: clouds.secretAccessKey,
});

/** Claude Platform on AWS by the role of an instance. */
export const CLAUDE_AWS: Environment = ({ url, clouds }) => ({
  GATEWAY_CLOUDS: 'claude-aws',
  ANTHROPIC_AWS_BASE_URL: `${url}/claude-aws`,
  ANTHROPIC_AWS_WORKSPACE_ID: 'wrkspc_01',
  AWS_REGION: clouds.region,
  AWS_EC2_METADATA_SERVICE_ENDPOINT: url,
});

/** Vertex by the metadata server. */
export const VERTEX: Environment = ({ url }) => ({
  GATEWAY_CLOUDS: 'vertex',
  GOOGLE_VERTEX_BASE_URL: `${url}/vertex`,
  GOOGLE_CLOUD_PROJECT: 'sandbox-project',
  GOOGLE_CLOUD_LOCATION: 'europe-west4',
  GCE_METADATA_HOST: url,
});

/** A way to a model of a cloud. */
export type CloudRoute = {
  /** For people. */
  readonly title: string;
  readonly provider: string;
  readonly environment: Environment;
  /** What the cloud calls a model of the sandbox. */
  readonly named: (name: string) => string;
  /** What a request looks like there, as the contract has it. */
  readonly form: 'plain' | 'gemini' | 'responses';
  /** Whether its streams are AWS's own. */
  readonly isBinary: boolean;
};

function route(title: string, provider: string, environment: Environment, rest: Partial<CloudRoute> = {}): CloudRoute {
  return { title, provider, environment, named: (name) => name, form: 'plain', isBinary: false, ...rest };
}

/** All of them. */
export const CLOUD_ROUTES: readonly CloudRoute[] = [
  route('azure', 'azure', AZURE),
  route('foundry', 'foundry', FOUNDRY),
  route('bedrock by InvokeModel', 'bedrock', BEDROCK, { named: (name) => `us.anthropic.${name}-v1:0`, isBinary: true }),
  route('bedrock by Messages', 'bedrock', BEDROCK, { named: (name) => `anthropic.${name}` }),
  route('bedrock by Chat Completions', 'bedrock', BEDROCK),
  route('claude-aws', 'claude-aws', CLAUDE_AWS),
  route('gemini on vertex', 'vertex', VERTEX, { form: 'gemini' }),
  route('claude on vertex', 'vertex', VERTEX, { named: (name) => `claude-${name}` }),
  route('publishers on vertex', 'vertex', VERTEX, { named: (name) => `xai/${name}` }),
];
