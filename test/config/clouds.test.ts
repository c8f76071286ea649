/** Which variables register a cloud, what comes of them, and what is said of those that do not fit. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { loadConfig } from '../../src/config/config.ts';
import type { LoadedConfig } from '../../src/config/config.ts';
import { loadEnvironmentOptions } from '../../src/config/environment-options.ts';
import { loadOptions } from '../../src/config/options.ts';
import { withReloaded } from '../../src/config/reload.ts';
import { secretsOf } from '../../src/config/secrets.ts';
import { renderRouting } from '../../src/config/routing-table.ts';
import type { Provider } from '../../src/core/adapter.ts';
import { compatRow, PROVIDER_ROWS } from '../../src/providers/index.ts';
import { RSA_PEM } from '../base/google/keys.ts';

type Variables = Readonly<Record<string, string>>;

const SERVICE_ACCOUNT = JSON.stringify({ type: 'service_account', client_email: 'a@p.iam.gserviceaccount.com', private_key: RSA_PEM });
const KEYS = '[default]\naws_access_key_id = AKID\naws_secret_access_key = shared-secret\n';

function reader(files: Variables): (path: string) => string {
  return (path) => {
    const text = files[path];
    if (text === undefined) throw Object.assign(new Error('absent'), { code: 'ENOENT' });
    return text;
  };
}

function load(variables: Variables, files: Variables = {}): LoadedConfig {
  return loadConfig({ GATEWAY_AUTH_TOKEN: 'a-token-of-callers', ...variables }, PROVIDER_ROWS, compatRow, reader(files));
}

function providerWith(variables: Variables, files: Variables = {}): Provider {
  const { config, problems } = load(variables, files);
  assert.deepEqual(problems, []);
  const [provider, ...others] = config?.providers ?? [];
  assert.ok(provider !== undefined && others.length === 0);
  return provider;
}

function problemsWith(variables: Variables, files: Variables = {}): readonly string[] {
  return load(variables, files).problems;
}

/** The plan in words, its secrets left out. */
function planOf({ credentials }: Provider): unknown {
  return credentials === undefined ? undefined : JSON.parse(JSON.stringify(credentials));
}

const AZURE = { AZURE_OPENAI_ENDPOINT: 'https://res.openai.azure.com/' };
const ENTRA = { AZURE_TENANT_ID: 't1', AZURE_CLIENT_ID: 'c1' };
const AWS = { AWS_REGION: 'eu-west-1' };
const GOOGLE = { GOOGLE_CLOUD_PROJECT: 'p1', GOOGLE_CLOUD_LOCATION: 'europe-west4' };

test('a key registers a cloud, at the place that its other variables say', () => {
  const cases: readonly (readonly [Variables, string, string])[] = [
    [{ AZURE_OPENAI_API_KEY: 'k', ...AZURE }, 'azure', 'https://res.openai.azure.com/openai/v1'],
    [{ AZURE_OPENAI_API_KEY: 'k', AZURE_OPENAI_ENDPOINT: 'https://res.openai.azure.com/openai/v1/' }, 'azure', 'https://res.openai.azure.com/openai/v1'],
    [{ AZURE_OPENAI_API_KEY: 'k', AZURE_OPENAI_ENDPOINT: 'https://r.services.ai.azure.com/api/projects/p' }, 'azure', 'https://r.services.ai.azure.com/api/projects/p/openai/v1'],
    [{ AZURE_OPENAI_API_KEY: 'k', AZURE_OPENAI_BASE_URL: 'https://x.test/own' }, 'azure', 'https://x.test/own'],
    [{ ANTHROPIC_FOUNDRY_API_KEY: 'k', ANTHROPIC_FOUNDRY_RESOURCE: 'res' }, 'foundry', 'https://res.services.ai.azure.com/anthropic/v1'],
    [{ ANTHROPIC_FOUNDRY_API_KEY: 'k', ANTHROPIC_FOUNDRY_BASE_URL: 'https://x.test/anthropic' }, 'foundry', 'https://x.test/anthropic/v1'],
    [{ AWS_BEARER_TOKEN_BEDROCK: 'k', ...AWS }, 'bedrock', 'https://bedrock-runtime.eu-west-1.amazonaws.com/'],
    [{ AWS_BEARER_TOKEN_BEDROCK: 'k', AWS_DEFAULT_REGION: 'cn-north-1' }, 'bedrock', 'https://bedrock-runtime.cn-north-1.amazonaws.com.cn/'],
    [{ AWS_BEARER_TOKEN_BEDROCK: 'k', AWS_REGION: 'us-isof-south-1' }, 'bedrock', 'https://bedrock-runtime.us-isof-south-1.csp.hci.ic.gov/'],
    [{ AWS_BEARER_TOKEN_BEDROCK: 'k', AWS_REGION: 'eu-isoe-west-1' }, 'bedrock', 'https://bedrock-runtime.eu-isoe-west-1.cloud.adc-e.uk/'],
    [{ AWS_BEARER_TOKEN_BEDROCK: 'k', AWS_REGION: 'us-gov-west-1' }, 'bedrock', 'https://bedrock-runtime.us-gov-west-1.amazonaws.com/'],
    [{ AWS_BEARER_TOKEN_BEDROCK: 'k', ...AWS, AWS_ENDPOINT_URL_BEDROCK_RUNTIME: 'https://vpce.test' }, 'bedrock', 'https://vpce.test/'],
    [{ ANTHROPIC_AWS_API_KEY: 'k', ANTHROPIC_AWS_WORKSPACE_ID: 'w1', ...AWS }, 'claude-aws', 'https://aws-external-anthropic.eu-west-1.api.aws/v1'],
    [{ GOOGLE_VERTEX_API_KEY: 'k' }, 'vertex', 'https://aiplatform.googleapis.com/'],
    [{ GOOGLE_VERTEX_API_KEY: 'k', VERTEX_BASE_URL: 'https://x.test' }, 'vertex', 'https://x.test/'],
    [{ GOOGLE_VERTEX_API_KEY: 'k', ANTHROPIC_VERTEX_BASE_URL: 'https://x.test/v1beta1' }, 'vertex', 'https://x.test/'],
    [{ GOOGLE_VERTEX_API_KEY: 'k', VERTEX_BASE_URL: 'https://x.test', ANTHROPIC_VERTEX_BASE_URL: 'https://x.test/v1' }, 'vertex', 'https://x.test/'],
  ];
  for (const [variables, name, baseUrl] of cases) {
    const provider = providerWith(variables);
    assert.deepEqual([provider.name, provider.baseUrl.href], [name, baseUrl]);
    assert.equal(provider.keys.length, 1);
    assert.equal(provider.credentials, undefined);
  }
});

test('the models of deployments are what variables say', () => {
  const cases: readonly (readonly [variable: string, variables: Variables])[] = [
    ['AZURE_MODELS', { AZURE_OPENAI_API_KEY: 'k', ...AZURE }],
    ['FOUNDRY_MODELS', { ANTHROPIC_FOUNDRY_API_KEY: 'k', ANTHROPIC_FOUNDRY_RESOURCE: 'res' }],
    ['BEDROCK_MODELS', { AWS_BEARER_TOKEN_BEDROCK: 'k', ...AWS }],
  ];
  for (const [variable, variables] of cases) {
    assert.deepEqual([...(providerWith({ ...variables, [variable]: ' prod = gpt-5.6-luna,old=gpt-4o ' }).settings?.models ?? [])], [['prod', 'gpt-5.6-luna'], ['old', 'gpt-4o']]);
    for (const text of ['a', 'a=b,c', 'a=b,', '=b', 'a=', 'a=b=c', 'a b=c', 'a=b c', 'a=b,a=c', 'a=b,c=d, a = b']) {
      assert.deepEqual(problemsWith({ ...variables, [variable]: text }), [`${variable}: expected name=model, each name once, more of them separated by commas, got "${text}"`]);
    }
  }
});

test('nothing but a key registers a cloud that is not listed', () => {
  const lying = { OPENAI_API_KEY: 'k', ...AZURE, ...ENTRA, AZURE_CLIENT_SECRET: 's', ...AWS, AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 's', ...GOOGLE };
  assert.deepEqual(load(lying).config?.providers.map(({ name }) => name), ['openai']);
});

test('whoever has no key is told of GATEWAY_CLOUDS', () => {
  assert.deepEqual(problemsWith({ ...AWS, AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 's' }), [
    'ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY: no provider is configured; set one of these, or another that --help lists; roles and account files are used only for clouds that GATEWAY_CLOUDS lists',
  ]);
});

test('a key wins over other credentials, which is said', () => {
  const variables = { GATEWAY_CLOUDS: 'azure', AZURE_OPENAI_API_KEY: 'k', ...AZURE, ...ENTRA, AZURE_CLIENT_SECRET: 's' };
  assert.equal(providerWith(variables).credentials, undefined);
  assert.deepEqual(load(variables).warnings, ['GATEWAY_CLOUDS: azure is called by the key in AZURE_OPENAI_API_KEY, not by other credentials']);
});

test('a token of Entra is for the cloud whose endpoint is asked, or whose authority gives it', () => {
  const audience = (variables: Variables): string => {
    const { plan } = planOf(providerWith({ GATEWAY_CLOUDS: 'azure', ...variables })) as { plan: { scope?: string; resource?: string } };
    return plan.scope ?? `${plan.resource} of an identity`;
  };
  const secret = { ...ENTRA, AZURE_CLIENT_SECRET: 's' };
  const at = (host: string): Variables => ({ AZURE_OPENAI_ENDPOINT: `https://${host}` });
  assert.equal(audience({ ...secret, ...at('res.openai.azure.us') }), 'https://cognitiveservices.azure.us/.default');
  assert.equal(audience({ ...secret, ...at('res.openai.azure.cn') }), 'https://cognitiveservices.azure.cn/.default');
  assert.equal(audience(at('res.openai.azure.us')), 'https://cognitiveservices.azure.us of an identity');
  assert.equal(audience({ GATEWAY_CLOUDS: 'foundry', ANTHROPIC_FOUNDRY_BASE_URL: 'https://res.services.ai.azure.us/anthropic' }), 'https://cognitiveservices.azure.us of an identity');
  assert.equal(audience({ ...secret, ...at('proxy.example.us') }), 'https://ai.azure.com/.default');
  assert.equal(audience({ ...secret, ...at('proxy.example.us'), AZURE_AUTHORITY_HOST: 'login.microsoftonline.us' }), 'https://cognitiveservices.azure.us/.default');
  assert.equal(audience({ ...secret, ...at('proxy.example.cn'), AZURE_AUTHORITY_HOST: 'https://login.chinacloudapi.cn/' }), 'https://cognitiveservices.azure.cn/.default');
});

test('Entra has a client\'s secret, a federated token, App Service or the machine, in this order', () => {
  const plan = (variables: Variables): unknown => (planOf(providerWith({ GATEWAY_CLOUDS: 'azure', ...AZURE, ...variables })) as { plan: unknown }).plan;
  const tokenUrl = 'https://login.microsoftonline.com/t1/oauth2/v2.0/token';
  const scope = 'https://ai.azure.com/.default';
  const federated = { AZURE_FEDERATED_TOKEN_FILE: '/token' };
  const appService = { IDENTITY_ENDPOINT: 'http://127.0.0.1:41/msi/token', IDENTITY_HEADER: 'h' };
  assert.deepEqual(plan({ ...ENTRA, AZURE_CLIENT_SECRET: 's', ...federated }), { source: 'entra client secret', tokenUrl, clientId: 'c1', scope, clientSecret: '[set]' });
  assert.deepEqual(plan({ ...ENTRA, ...federated, ...appService }), { source: 'entra workload identity', tokenUrl, clientId: 'c1', scope, tokenFile: '/token' });
  assert.deepEqual(plan({ ...appService, IDENTITY_ENDPOINT: 'http://127.0.0.1:41/msi/token?a=1' }), { source: 'app service identity', endpoint: 'http://127.0.0.1:41/msi/token?a=1', header: '[set]', resource: 'https://ai.azure.com' });
  for (const half of Object.entries(appService)) assert.equal((plan(Object.fromEntries([half])) as { source: string }).source, 'azure managed identity');
  assert.deepEqual(plan({ AZURE_POD_IDENTITY_AUTHORITY_HOST: 'http://127.0.0.1:42' }), { source: 'azure managed identity', origin: 'http://127.0.0.1:42/', resource: 'https://ai.azure.com' });
  assert.deepEqual(plan({ AZURE_CLIENT_ID: 'c1' }), { source: 'azure managed identity', origin: 'http://169.254.169.254/', resource: 'https://ai.azure.com', clientId: 'c1' });
  assert.deepEqual((plan({ ...ENTRA, AZURE_CLIENT_SECRET: 's', AZURE_AUTHORITY_HOST: 'login.microsoftonline.us' }) as { tokenUrl: string }).tokenUrl, tokenUrl.replace('.com', '.us'));
});

test('AWS has the environment, a web identity, the shared files, a container or the instance, in this order', () => {
  const plan = (variables: Variables, files: Variables = {}): unknown => planOf(providerWith({ GATEWAY_CLOUDS: 'bedrock', ...AWS, HOME: '/home/me', ...variables }, files));
  const signed = (inner: object): object => ({ type: 'signature', plan: inner, region: 'eu-west-1', service: 'bedrock' });
  const files = { '/home/me/.aws/credentials': KEYS };
  const web = { AWS_WEB_IDENTITY_TOKEN_FILE: '/token', AWS_ROLE_ARN: 'arn:aws:iam::1:role/r' };
  const container = { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2/credentials/1' };
  assert.deepEqual(plan({ AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 's', AWS_SESSION_TOKEN: 'st', ...web }, files),
    signed({ source: 'environment', credentials: { accessKeyId: 'AKID', secretAccessKey: '[set]', sessionToken: '[set]' } }));
  assert.deepEqual(plan({ ...web, ...container }, files),
    signed({ source: 'web identity', stsUrl: 'https://sts.eu-west-1.amazonaws.com/', roleArn: 'arn:aws:iam::1:role/r', sessionName: 'chat-completion-gateway', tokenFile: '/token' }));
  const { plan: named } = plan({ ...web, AWS_ROLE_SESSION_NAME: 'me', AWS_ENDPOINT_URL_STS: 'sts.test' }) as { plan: { sessionName: string; stsUrl: string } };
  assert.deepEqual([named.sessionName, named.stsUrl], ['me', 'https://sts.test/']);
  const shared = { source: 'shared files', credentialsPath: '/home/me/.aws/credentials', configPath: '/home/me/.aws/config', profile: 'default' };
  assert.deepEqual(plan(container, files), signed(shared));
  assert.deepEqual(plan({ ...container, HOME: '', USERPROFILE: '/home/me' }, files), signed(shared));
  assert.deepEqual(plan({ AWS_PROFILE: 'own', AWS_SHARED_CREDENTIALS_FILE: '/c', AWS_CONFIG_FILE: '/f' }, { ...files, '/c': KEYS.replace('default', 'own') }),
    signed({ source: 'shared files', credentialsPath: '/c', configPath: '/f', profile: 'own' }));
  // A profile that nobody asked for need not hold keys.
  assert.deepEqual(plan({}, { '/home/me/.aws/config': '[default]\nregion = eu-west-1\n' }), signed({ source: 'instance metadata', origin: 'http://169.254.169.254/' }));
  assert.deepEqual(plan(container), signed({ source: 'container', url: 'http://169.254.170.2/v2/credentials/1' }));
  assert.deepEqual(plan({ AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://[fd00:ec2::23]/v1/credentials?a=1', AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: '/token' }),
    signed({ source: 'container', url: 'http://[fd00:ec2::23]/v1/credentials?a=1', tokenFile: '/token' }));
  assert.deepEqual(plan({ AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://169.254.170.23/v1/credentials' }), signed({ source: 'container', url: 'http://169.254.170.23/v1/credentials' }));
  assert.deepEqual(plan({ ...container, AWS_CONTAINER_AUTHORIZATION_TOKEN: 'Basic abcd' }), signed({ source: 'container', url: 'http://169.254.170.2/v2/credentials/1', token: '[set]' }));
  assert.deepEqual(plan({}), signed({ source: 'instance metadata', origin: 'http://169.254.169.254/' }));
  assert.deepEqual(plan({ AWS_EC2_METADATA_SERVICE_ENDPOINT: 'http://[fd00:ec2::254]' }), signed({ source: 'instance metadata', origin: 'http://[fd00:ec2::254]/' }));
});

test('where the keys of a container are is not shown', () => {
  for (const place of [{ AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2/credentials/canary' }, { AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://127.0.0.1:41/canary?a=1' }]) {
    const { config, effective } = load({ GATEWAY_CLOUDS: 'bedrock', ...AWS, ...place });
    assert.ok(config !== undefined);
    assert.equal(effective.find(({ variable }) => variable.startsWith('AWS_CONTAINER_'))?.value, '[set]');
    assert.doesNotMatch(JSON.stringify(effective), /canary/);
  }
  assert.doesNotMatch(problemsWith({ GATEWAY_CLOUDS: 'bedrock', ...AWS, AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: 'canary' }).join(), /canary/);
});

test('what goes to an endpoint of AWS is signed for the region that this has in its name', () => {
  const keys = { AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 's', ...AWS };
  const regionOf = (variables: Variables): string => (planOf(providerWith({ ...keys, ...variables })) as { region: string }).region;
  for (const [host, region] of [
    ['bedrock-runtime.us-east-1.amazonaws.com', 'us-east-1'],
    ['bedrock-runtime-fips.us-gov-west-1.amazonaws.com', 'us-gov-west-1'],
    ['bedrock-runtime.cn-north-1.amazonaws.com.cn', 'cn-north-1'],
    ['bedrock-runtime.us-iso-east-1.c2s.ic.gov', 'us-iso-east-1'],
    ['bedrock-runtime.eusc-de-east-1.amazonaws.eu', 'eusc-de-east-1'],
    ['bedrock-runtime.eu-isoe-west-1.cloud.adc-e.uk', 'eu-isoe-west-1'],
    ['bedrock-runtime.us-west-2.api.aws', 'us-west-2'],
    ['vpce-0a1b-2c3d.bedrock-runtime.us-east-2.vpce.amazonaws.com', 'us-east-2'],
    ['bedrock.internal.example.com', 'eu-west-1'],
    ['bedrock-runtime.us-east-1.example.com', 'eu-west-1'],
  ] as const) assert.equal(regionOf({ GATEWAY_CLOUDS: 'bedrock', AWS_ENDPOINT_URL_BEDROCK_RUNTIME: `https://${host}` }), region, host);
  const claude = { GATEWAY_CLOUDS: 'claude-aws', ANTHROPIC_AWS_WORKSPACE_ID: 'w1' };
  assert.equal(regionOf({ ...claude, ANTHROPIC_AWS_BASE_URL: 'https://aws-external-anthropic.us-east-1.api.aws' }), 'us-east-1');
  assert.equal(regionOf(claude), 'eu-west-1');
});

test('a profile of the shared files that was asked for has to be there, and to hold keys', () => {
  const variables = { GATEWAY_CLOUDS: 'bedrock', ...AWS, AWS_CONFIG_FILE: '/f' };
  assert.deepEqual(problemsWith({ ...variables, AWS_PROFILE: 'p' }), ['AWS_PROFILE: neither of the files with the profile for bedrock can be read']);
  assert.deepEqual(problemsWith({ ...variables, AWS_SHARED_CREDENTIALS_FILE: '/c' }), ['AWS_SHARED_CREDENTIALS_FILE: the file cannot be read (ENOENT)']);
  assert.deepEqual(problemsWith({ ...variables, AWS_PROFILE: 'p' }, { '/f': KEYS }), ['AWS_PROFILE: the profile for bedrock is in neither file']);
  const sso = { '/f': '[default]\nsso_session = s\n' };
  assert.deepEqual(problemsWith(variables, sso), ['AWS_PROFILE: the profile for bedrock has sso_session, which is not supported; only keys are']);
});

test('Google has the file that is named, that of gcloud, or the metadata server, in this order', () => {
  const plan = (variables: Variables, files: Variables = {}): unknown => planOf(providerWith({ GATEWAY_CLOUDS: 'vertex', ...GOOGLE, HOME: '/home/me', ...variables }, files));
  const own = '/home/me/.config/gcloud/application_default_credentials.json';
  assert.deepEqual(plan({ GOOGLE_APPLICATION_CREDENTIALS: '/sa' }, { '/sa': SERVICE_ACCOUNT, [own]: SERVICE_ACCOUNT }), { type: 'token', plan: { source: 'google credential file', path: '/sa' } });
  assert.deepEqual(plan({ CLOUDSDK_CONFIG: '/gcloud' }, { '/gcloud/application_default_credentials.json': SERVICE_ACCOUNT, [own]: SERVICE_ACCOUNT }),
    { type: 'token', plan: { source: 'google credential file', path: '/gcloud/application_default_credentials.json' } });
  assert.deepEqual(plan({}, { [own]: SERVICE_ACCOUNT }), { type: 'token', plan: { source: 'google credential file', path: own } });
  assert.deepEqual(plan({}), { type: 'token', plan: { source: 'google metadata server', origin: 'http://169.254.169.254/' } });
  assert.deepEqual(plan({ GCE_METADATA_HOST: 'metadata.google.internal' }), { type: 'token', plan: { source: 'google metadata server', origin: 'http://metadata.google.internal/' } });
});

test('Vertex is where its location is', () => {
  const host = (location: string): string => providerWith({ GATEWAY_CLOUDS: 'vertex', GOOGLE_CLOUD_PROJECT: 'p1', GOOGLE_CLOUD_LOCATION: location }).baseUrl.host;
  assert.deepEqual(['global', 'eu', 'us', 'us-central1'].map(host), ['aiplatform.googleapis.com', 'aiplatform.eu.rep.googleapis.com', 'aiplatform.us.rep.googleapis.com', 'us-central1-aiplatform.googleapis.com']);
});

test('what is missing, or contradicts itself, stops the start with a sentence', () => {
  const bedrock = { GATEWAY_CLOUDS: 'bedrock', ...AWS };
  const azure = { GATEWAY_CLOUDS: 'azure', ...AZURE };
  const vertex = { GATEWAY_CLOUDS: 'vertex', ...GOOGLE };
  const cases: readonly (readonly [Variables, readonly string[]])[] = [
    [{ GATEWAY_CLOUDS: 'aws', OPENAI_API_KEY: 'k' }, ['GATEWAY_CLOUDS: expected some of azure, foundry, bedrock, claude-aws, vertex, separated by commas, or none, got "aws"']],
    [{ AZURE_OPENAI_API_KEY: 'k' }, ['AZURE_OPENAI_BASE_URL or AZURE_OPENAI_ENDPOINT: required, because azure is configured']],
    [{ AZURE_OPENAI_API_KEY: 'k', ...AZURE, AZURE_OPENAI_BASE_URL: 'https://x.test' }, ['AZURE_OPENAI_BASE_URL, AZURE_OPENAI_ENDPOINT: both are set, expected only one of them']],
    [{ ...azure, AZURE_CLIENT_SECRET: 's', AZURE_TENANT_ID: 't1' }, ['AZURE_CLIENT_ID: required, because azure is configured']],
    [{ ...azure, AZURE_IMDS_DISABLED: 'true' }, ['AZURE_CLIENT_SECRET: required for azure, or AZURE_FEDERATED_TOKEN_FILE, since AZURE_IMDS_DISABLED rules a managed identity out']],
    [{ ...azure, ...ENTRA, AZURE_CLIENT_CERTIFICATE_PATH: '/cert.pem' }, ['AZURE_CLIENT_CERTIFICATE_PATH: is not supported for azure; AZURE_CLIENT_SECRET and AZURE_FEDERATED_TOKEN_FILE are']],
    [{ ...azure, AZURE_CLIENT_SECRET: 's', ...ENTRA, AZURE_TENANT_ID: 'a/b' }, ['AZURE_TENANT_ID: expected letters, digits, "-", "_" and ".", got "a/b"']],
    [{ ...azure, ...ENTRA, AZURE_CLIENT_SECRET: 's', AZURE_AUTHORITY_HOST: 'http://login.test' }, ['AZURE_AUTHORITY_HOST: expected an https URL without user name, password, query or fragment']],
    [{ ...azure, AZURE_MODELS: 'prod' }, ['AZURE_MODELS: expected name=model, each name once, more of them separated by commas, got "prod"']],
    [{ GATEWAY_CLOUDS: 'foundry', ANTHROPIC_FOUNDRY_RESOURCE: 'a.b' }, ['ANTHROPIC_FOUNDRY_RESOURCE: expected letters, digits and "-", got "a.b"']],
    [{ GATEWAY_CLOUDS: 'bedrock' }, ['AWS_REGION: required, because bedrock is configured']],
    [{ AWS_BEARER_TOKEN_BEDROCK: 'k' }, ['AWS_REGION: required, because bedrock is configured']],
    [{ ...bedrock, AWS_REGION: 'us-east-1.evil.test/' }, ['AWS_REGION: expected small letters, digits and "-", got "us-east-1.evil.test/"']],
    [{ ...bedrock, AWS_REGION: 'EU-CENTRAL-1' }, ['AWS_REGION: expected small letters, digits and "-", got "EU-CENTRAL-1"']],
    [{ ...bedrock, AWS_ACCESS_KEY_ID: 'AKID' }, ['AWS_SECRET_ACCESS_KEY: required, because bedrock is configured']],
    [{ ...bedrock, AWS_SECRET_ACCESS_KEY: 's' }, ['AWS_ACCESS_KEY_ID: required, because bedrock is configured']],
    [{ ...azure, IDENTITY_ENDPOINT: 'http://a:b:c', IDENTITY_HEADER: 'h' }, ['IDENTITY_ENDPOINT: expected an http or https URL without user name or password']],
    [{ ...bedrock, AWS_WEB_IDENTITY_TOKEN_FILE: '/token' }, ['AWS_ROLE_ARN: required, because bedrock is configured']],
    ...['http://10.0.0.1/x', 'http://169.254.169.254/x', 'http://[fd00:ec2::254]/x', 'http://metadata.google.internal/x', 'http://169.254.170.2.example.com/x'].map((url) =>
      [{ ...bedrock, AWS_CONTAINER_CREDENTIALS_FULL_URI: url }, ['AWS_CONTAINER_CREDENTIALS_FULL_URI: expected https, or an address of this machine or of ECS or EKS']] as const),
    [{ ...bedrock, AWS_CONTAINER_CREDENTIALS_FULL_URI: 'https://me:canary@x.test/' }, ['AWS_CONTAINER_CREDENTIALS_FULL_URI: expected an http or https URL without user name or password']],
    [{ ...bedrock, AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/x', AWS_CONTAINER_AUTHORIZATION_TOKEN: 'canary\r\nb: c' }, ['AWS_CONTAINER_AUTHORIZATION_TOKEN: expected 1 to 4000 printable ASCII characters']],
    [{ ...bedrock, AWS_EC2_METADATA_DISABLED: 'true' }, ["AWS_ACCESS_KEY_ID: required for bedrock, or another source of credentials, since AWS_EC2_METADATA_DISABLED rules an instance's role out"]],
    [{ GATEWAY_CLOUDS: 'claude-aws', ...AWS }, ['ANTHROPIC_AWS_WORKSPACE_ID: required, because claude-aws is configured']],
    [{ GATEWAY_CLOUDS: 'vertex', GOOGLE_CLOUD_PROJECT: 'p1' }, ['GOOGLE_CLOUD_LOCATION: required, because vertex is configured']],
    [{ ...vertex, GOOGLE_CLOUD_LOCATION: 'eu/../us' }, ['GOOGLE_CLOUD_LOCATION: expected small letters, digits and "-", got "eu/../us"']],
    [{ ...vertex, GOOGLE_CLOUD_LOCATION: 'EU' }, ['GOOGLE_CLOUD_LOCATION: expected small letters, digits and "-", got "EU"']],
    [{ ...vertex, GOOGLE_CLOUD_PROJECT: 'My-Project' }, ['GOOGLE_CLOUD_PROJECT: expected small letters, digits and "-", got "My-Project"']],
    [{ ...vertex, GOOGLE_APPLICATION_CREDENTIALS: '/absent' }, ['GOOGLE_APPLICATION_CREDENTIALS: the file cannot be read (ENOENT)']],
    [{ ...vertex, METADATA_SERVER_DETECTION: 'none' }, ['GOOGLE_APPLICATION_CREDENTIALS: required for vertex, since METADATA_SERVER_DETECTION rules the metadata server out']],
    [{ ...vertex, VERTEX_BASE_URL: 'https://a.test', ANTHROPIC_VERTEX_BASE_URL: 'https://b.test/v1' }, ['ANTHROPIC_VERTEX_BASE_URL: expected the same place as VERTEX_BASE_URL']],
  ];
  for (const [variables, problems] of cases) assert.deepEqual(problemsWith(variables), problems);
  const bad = problemsWith({ ...vertex, GOOGLE_APPLICATION_CREDENTIALS: '/sa' }, { '/sa': '{"type":"impersonated_service_account"}' });
  assert.deepEqual(bad, ['GOOGLE_APPLICATION_CREDENTIALS: the file for vertex has a type that is not supported; service_account, authorized_user and external_account are']);
});

test('what Claude Platform on AWS is told with every call is its workspace', () => {
  const variables = { ANTHROPIC_AWS_API_KEY: 'k', ANTHROPIC_AWS_WORKSPACE_ID: 'w1', ...AWS };
  assert.deepEqual(providerWith(variables).headers, { 'anthropic-workspace-id': 'w1' });
});

/** The variables and a routing file with these providers. */
function loadBeside(variables: Variables, providers: object, files: Variables = {}): LoadedConfig {
  return load({ GATEWAY_ROUTING_FILE: '/routing', ...variables }, { '/routing': JSON.stringify({ providers }), ...files });
}

test('a provider like a cloud that has no keys is called by the credentials of that cloud, at its own place', () => {
  const keys = { AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'canary', ...AWS };
  const secret = { ...ENTRA, AZURE_CLIENT_SECRET: 'canary', ...AZURE };
  const web = { ...AWS, AWS_WEB_IDENTITY_TOKEN_FILE: '/token', AWS_ROLE_ARN: 'arn:aws:iam::1:role/r' };
  const claude = { ...keys, ANTHROPIC_AWS_WORKSPACE_ID: 'w1' };
  const cases: readonly (readonly [variables: Variables, like: string, entry: object, seen: readonly unknown[]])[] = [
    [keys, 'bedrock', { base_url: 'https://bedrock-runtime.us-east-1.amazonaws.com' }, ['https://bedrock-runtime.us-east-1.amazonaws.com/', 'environment', 'us-east-1']],
    [keys, 'bedrock', { base_url: 'https://bedrock.internal.example.com' }, ['https://bedrock.internal.example.com/', 'environment', 'eu-west-1']],
    [{ ...keys, AWS_BEARER_TOKEN_BEDROCK: 'k' }, 'bedrock', { base_url: 'https://bedrock-runtime.us-east-1.amazonaws.com' }, ['https://bedrock-runtime.us-east-1.amazonaws.com/', 'environment', 'us-east-1']],
    [claude, 'claude-aws', { base_url: 'https://aws-external-anthropic.us-east-1.api.aws', workspace: 'w2' }, ['https://aws-external-anthropic.us-east-1.api.aws/v1', 'environment', 'us-east-1', 'w2']],
    [claude, 'claude-aws', { base_url: 'https://vpce.example.com' }, ['https://vpce.example.com/v1', 'environment', 'eu-west-1', 'w1']],
    [secret, 'azure', { base_url: 'https://second.openai.azure.com/openai/v1/' }, ['https://second.openai.azure.com/openai/v1', 'entra client secret', 'https://ai.azure.com/.default']],
    [secret, 'azure', { base_url: 'https://second.openai.azure.com' }, ['https://second.openai.azure.com/openai/v1', 'entra client secret', 'https://ai.azure.com/.default']],
    [{ ...secret, GATEWAY_CLOUDS: 'azure,foundry', ANTHROPIC_FOUNDRY_RESOURCE: 'res' }, 'foundry', { base_url: 'https://second.services.ai.azure.com/own/anthropic' }, ['https://second.services.ai.azure.com/own/anthropic/v1', 'entra client secret', 'https://ai.azure.com/.default']],
    [secret, 'azure', { base_url: 'https://second.openai.azure.us' }, ['https://second.openai.azure.us/openai/v1', 'entra client secret', 'https://cognitiveservices.azure.us/.default']],
    [secret, 'azure', { base_url: 'https://second.openai.azure.com/openai/' }, ['https://second.openai.azure.com/openai/v1', 'entra client secret', 'https://ai.azure.com/.default']],
    [secret, 'azure', { base_url: 'https://second.services.ai.azure.com/api/projects/p' }, ['https://second.services.ai.azure.com/api/projects/p/openai/v1', 'entra client secret', 'https://ai.azure.com/.default']],
    [secret, 'azure', { base_url: 'https://proxy.example.com/openai' }, ['https://proxy.example.com/openai', 'entra client secret', 'https://ai.azure.com/.default']],
    [secret, 'azure', { base_url: 'https://proxy.example.com' }, ['https://proxy.example.com/', 'entra client secret', 'https://ai.azure.com/.default']],
    [{ ...secret, ANTHROPIC_FOUNDRY_RESOURCE: 'res' }, 'foundry', { base_url: 'https://second.services.ai.azure.com/' }, ['https://second.services.ai.azure.com/anthropic/v1', 'entra client secret', 'https://ai.azure.com/.default']],
    [{ ...secret, ANTHROPIC_FOUNDRY_RESOURCE: 'res' }, 'foundry', { base_url: 'https://second.services.ai.azure.com/api/projects/p' }, ['https://second.services.ai.azure.com/anthropic/v1', 'entra client secret', 'https://ai.azure.com/.default']],
    [{ ...secret, ANTHROPIC_FOUNDRY_RESOURCE: 'res' }, 'foundry', { base_url: 'https://second.services.ai.azure.com/anthropic' }, ['https://second.services.ai.azure.com/anthropic/v1', 'entra client secret', 'https://ai.azure.com/.default']],
    ...([
      ['https://us-east5-aiplatform.googleapis.com', 'https://us-east5-aiplatform.googleapis.com/', 'p1', 'us-east5'],
      ['https://aiplatform.eu.rep.googleapis.com/v1', 'https://aiplatform.eu.rep.googleapis.com/', 'p1', 'eu'],
      ['https://aiplatform.googleapis.com', 'https://aiplatform.googleapis.com/', 'p1', 'global'],
      ['https://us-east5-aiplatform.googleapis.com/v1/projects/p2/locations/us-east5/', 'https://us-east5-aiplatform.googleapis.com/', 'p2', 'us-east5'],
      ['https://proxy.example.com/vertex/v1beta1/projects/p2/locations/eu', 'https://proxy.example.com/vertex', 'p2', 'eu'],
      ['https://proxy.example.com/vertex', 'https://proxy.example.com/vertex', 'p1', 'europe-west4'],
    ] as const).map(([base_url, root, id, location]) => [GOOGLE, 'vertex', { base_url }, [root, 'google metadata server', { id, location }]] as const),
  ];
  for (const [variables, like, entry, seen] of cases) {
    const loaded = loadBeside({ GATEWAY_CLOUDS: like, ...variables }, { second: { like, ...entry } });
    assert.deepEqual(loaded.problems, [], JSON.stringify(entry));
    const provider = loaded.config?.providers.find(({ name }) => name === 'second');
    const plan = planOf(provider as Provider) as { plan: { source: string; scope?: string }; region?: string };
    const rest = [plan.region, plan.plan.scope, provider?.settings?.project, provider?.headers?.['anthropic-workspace-id']].filter((item) => item !== undefined);
    assert.deepEqual([provider?.baseUrl.href, plan.plan.source, ...rest], seen);
    assert.equal(provider?.keys.length, 0);
    assert.doesNotMatch(inspect(loaded, { depth: 12 }), /canary/);
  }
  const sts = loadBeside({ GATEWAY_CLOUDS: 'bedrock', ...web }, { second: { like: 'bedrock', base_url: 'https://bedrock-runtime.us-east-1.amazonaws.com' } });
  const plans = sts.config?.providers.map((provider) => planOf(provider) as { plan: { stsUrl: string }; region: string });
  assert.deepEqual(plans?.map(({ plan, region }) => [plan.stsUrl, region]), [['https://sts.eu-west-1.amazonaws.com/', 'eu-west-1'], ['https://sts.eu-west-1.amazonaws.com/', 'us-east-1']]);
});

test('what a provider like a cloud lacks is said by its place in the file, and what the variables lack once', () => {
  const keys = { AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 's', ...AWS };
  const eu = { like: 'bedrock', base_url: 'https://bedrock-runtime.eu-west-1.amazonaws.com' };
  const place = 'GATEWAY_ROUTING_FILE: providers.second';
  const cases: readonly (readonly [Variables, object, readonly string[]])[] = [
    [{ OPENAI_API_KEY: 'k', ...keys }, eu, [`${place}.keys: required, unless GATEWAY_CLOUDS lists bedrock, by whose credentials it is then called`]],
    [{ OPENAI_API_KEY: 'k', GATEWAY_CLOUDS: 'vertex', ...GOOGLE, ...keys }, eu, [`${place}.keys: required, unless GATEWAY_CLOUDS lists bedrock, by whose credentials it is then called`]],
    [{ GATEWAY_CLOUDS: 'bedrock', ...keys }, { like: 'bedrock' }, [`${place}.base_url: required, because without keys of its own it would be the same as bedrock`]],
    [{ GATEWAY_CLOUDS: 'bedrock', ...keys }, { ...eu, workspace: 'w' }, [`${place}.workspace: has no effect, because it is not like claude-aws`]],
    [{ GATEWAY_CLOUDS: 'bedrock', ...keys }, { like: 'bedrock', base_url: 'https://u:p@x.test' }, [`${place}.base_url: expected an http or https URL without user name, password, query or fragment`]],
    [{ GATEWAY_CLOUDS: 'bedrock', ...keys }, { like: 5 }, [`${place}.like: expected a string, got a number`]],
    [{ GATEWAY_CLOUDS: 'bedrock', ...keys, AWS_REGION: '' }, eu, ['AWS_REGION: required, because bedrock is configured']],
    [{ GATEWAY_CLOUDS: 'bedrock', ...AWS, AWS_EC2_METADATA_DISABLED: 'true' }, eu, ["AWS_ACCESS_KEY_ID: required for bedrock, or another source of credentials, since AWS_EC2_METADATA_DISABLED rules an instance's role out"]],
    ...['/v1/projects/p2', '/v1/projects/p2/locations/eu/publishers/google', '/v1/projects/p_2/locations/eu', '/v1/projects/p2/locations/eu%2F'].map((path) =>
      [{ GATEWAY_CLOUDS: 'vertex', ...GOOGLE }, { like: 'vertex', base_url: `https://x.test${path}` }, [`${place}.base_url: expected a path that names a project to end in /v1/projects/PROJECT/locations/LOCATION`]] as const),
  ];
  for (const [variables, entry, problems] of cases) assert.deepEqual(loadBeside(variables, { second: entry }).problems, problems, JSON.stringify(entry));
  for (const [cloud, variables, places] of [
    ['azure', AZURE, ['AZURE_OPENAI_ENDPOINT']],
    ['foundry', { ANTHROPIC_FOUNDRY_RESOURCE: 'res' }, ['ANTHROPIC_FOUNDRY_RESOURCE']],
    ['vertex', { ...GOOGLE, GOOGLE_VERTEX_BASE_URL: 'https://a.test', ANTHROPIC_VERTEX_BASE_URL: 'https://a.test/v1' }, ['GOOGLE_VERTEX_BASE_URL', 'ANTHROPIC_VERTEX_BASE_URL']],
  ] as const) {
    const { problems } = loadBeside({ GATEWAY_CLOUDS: cloud, ...variables }, { [cloud]: { base_url: 'https://x.test/y' }, second: { like: cloud, base_url: 'https://second.test/y' } });
    assert.deepEqual(problems, places.map((place) => `${place}: is set together with GATEWAY_ROUTING_FILE: providers.${cloud}.base_url; keep one`));
  }
  const own = loadBeside({ GATEWAY_CLOUDS: 'claude-aws', ANTHROPIC_AWS_WORKSPACE_ID: 'w1', ...keys }, { 'claude-aws': { workspace: 'w2' } });
  assert.deepEqual(own.problems, ['GATEWAY_ROUTING_FILE: providers.claude-aws.workspace: allowed only for another region, which is a provider with like; set ANTHROPIC_AWS_WORKSPACE_ID']);
});

test('a provider like a cloud with keys of its own needs neither an address of its own nor GATEWAY_CLOUDS', () => {
  const second = { like: 'bedrock', keys: ['SECOND_KEY'] };
  for (const GATEWAY_CLOUDS of ['bedrock', 'none']) {
    const variables = { GATEWAY_CLOUDS, OPENAI_API_KEY: 'k', AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 's', SECOND_KEY: 'k2' };
    const { config, problems, warnings } = loadBeside({ ...variables, ...AWS }, { second });
    assert.deepEqual([problems, warnings], [[], []]);
    const provider = config?.providers.find(({ name }) => name === 'second');
    assert.deepEqual(provider?.keys.map(({ secret }) => secret.reveal()), ['k2']);
    assert.deepEqual([provider?.baseUrl.href, provider?.credentials], ['https://bedrock-runtime.eu-west-1.amazonaws.com/', undefined]);
  }
  const vertex = loadBeside({ OPENAI_API_KEY: 'k', SECOND_KEY: 'k2' }, { second: { ...second, like: 'vertex', base_url: 'https://x.test/own' } });
  assert.deepEqual(vertex.config?.providers.map(({ baseUrl }) => baseUrl.href), ['https://api.openai.com/v1', 'https://x.test/own']);
  assert.deepEqual(loadBeside({ OPENAI_API_KEY: 'k', SECOND_KEY: 'k2' }, { second }).problems, ['AWS_REGION: required, because second is configured']);
});

test('--check prints by what each provider of a cloud is called, and where', () => {
  const variables = { GATEWAY_CLOUDS: 'bedrock,vertex', ...AWS, AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'canary', ...GOOGLE };
  const { config } = loadBeside(variables, { 'bedrock-us': { like: 'bedrock', base_url: 'https://bedrock-runtime.us-east-1.amazonaws.com', concurrent: 9 } });
  assert.ok(config !== undefined);
  assert.equal(renderRouting(config), `
Providers
  bedrock      by environment, signed for eu-west-1   https://bedrock-runtime.eu-west-1.amazonaws.com/
  bedrock-us   by environment, signed for us-east-1   https://bedrock-runtime.us-east-1.amazonaws.com/, at most 9 at once
  vertex       by google metadata server              https://europe-west4-aiplatform.googleapis.com/ in europe-west4 of p1
`);
});

test('a secret in the place of something else is shown nowhere, be it of a cloud, of metrics, or the key of a provider that is configured wrongly', () => {
  const secret = 'Plain-secret-that-no-pattern-knows';
  const shown = (variables: Variables): string => {
    const { problems, warnings, effective } = load(variables);
    return [...problems, ...warnings, ...effective.map(({ value }) => value)].join(' ');
  };
  const cases: readonly (readonly [variables: Variables, seen: RegExp])[] = [
    [{ GATEWAY_CLOUDS: 'azure', ...AZURE, ...ENTRA, AZURE_CLIENT_SECRET: secret, AZURE_MODELS: secret }, /AZURE_MODELS: expected .+, got "\[key\]"/],
    [{ GATEWAY_CLOUDS: 'azure', ...AZURE, ...ENTRA, AZURE_CLIENT_ID: secret, AZURE_CLIENT_SECRET: secret }, / \[key\] /],
    [{ GATEWAY_CLOUDS: 'bedrock', AWS_REGION: `${secret}_`, AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: secret, GATEWAY_METRICS_TOKEN: `${secret}_` }, /AWS_REGION: expected .+, got "\[key\]"/],
    [{ OPENAI_API_KEYS: `b,${secret}`, GATEWAY_ALLOWED_ORIGINS: secret }, /GATEWAY_ALLOWED_ORIGINS: expected .+, got "\[key\]"/],
    [{ OPENAI_API_KEY: secret, OPENAI_BASE_URL: 'nowhere', GATEWAY_ALLOWED_ORIGINS: secret }, /GATEWAY_ALLOWED_ORIGINS: expected .+, got "\[key\]"/],
  ];
  for (const [variables, seen] of cases) {
    const text = shown(variables);
    assert.match(text, seen);
    assert.doesNotMatch(text, /Plain-secret/);
  }
});

test('the secrets of a cloud are known to be secrets, and swapped with the others', () => {
  const variables = { GATEWAY_CLOUDS: 'azure', ...AZURE, ...ENTRA, AZURE_CLIENT_SECRET: 'canary-one' };
  const [before, after] = [load(variables).config, load({ ...variables, AZURE_CLIENT_SECRET: 'canary-two' }).config];
  assert.ok(before !== undefined && after !== undefined);
  assert.equal(secretsOf(before).get('credentials of azure')?.reveal(), 'canary-one');
  assert.equal(secretsOf(withReloaded(before, after)).get('credentials of azure')?.reveal(), 'canary-two');
  assert.doesNotMatch(inspect(load(variables), { depth: 12 }), /canary/);
  const appService = load({ GATEWAY_CLOUDS: 'azure', ...AZURE, IDENTITY_ENDPOINT: 'http://127.0.0.1:41/msi/token', IDENTITY_HEADER: 'canary-three' }).config;
  const container = load({ GATEWAY_CLOUDS: 'bedrock', ...AWS, AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2/credentials/1', AWS_CONTAINER_AUTHORIZATION_TOKEN: 'canary-four' }).config;
  assert.equal(appService && secretsOf(appService).get('credentials of azure')?.reveal(), 'canary-three');
  assert.equal(container && secretsOf(container).get('credentials of bedrock')?.reveal(), 'canary-four');
});

const CALLERS = { callers: { test: 'a-token-of-callers' } };

test('an embedder gives a cloud its variables, and what is wrong is told by their path', () => {
  const loaded = loadOptions({ ...CALLERS, providers: { bedrock: { environment: { ...AWS, AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 's', HOME: undefined } } } }, PROVIDER_ROWS, compatRow, reader({}));
  assert.deepEqual(loaded.problems, []);
  assert.equal(loaded.config?.providers[0]?.credentials?.plan.source, 'environment');
  const problems = (providers: object): readonly string[] => loadOptions({ ...CALLERS, providers }, PROVIDER_ROWS, compatRow, reader({})).problems;
  for (const [given, keys] of [[{ AZURE_OPENAI_API_KEY: 'a' }, ['a']], [{ AZURE_OPENAI_API_KEYS: 'a,b' }, ['a', 'b']]] as const) {
    for (const options of [{ environment: { ...AZURE, ...given } }, { environment: { ...AZURE, AZURE_OPENAI_API_KEY: 'other' }, ...(keys.length > 1 ? { keys } : { key: keys[0] }) }]) {
      const { config } = loadOptions({ ...CALLERS, providers: { azure: options } }, PROVIDER_ROWS, compatRow, reader({}));
      assert.deepEqual(config?.providers.map((provider) => [provider.keys.map(({ secret }) => secret.reveal()), provider.credentials]), [[keys, undefined]]);
    }
  }
  assert.deepEqual(problems({ azure: { environment: { ...AZURE, AZURE_OPENAI_API_KEY: 'a', AZURE_OPENAI_API_KEYS: 'a,b' } } }), ['providers.azure.environment.AZURE_OPENAI_API_KEYS: is set together with AZURE_OPENAI_API_KEY; keep one']);
  assert.deepEqual(problems({ bedrock: { environment: {} } }), ['providers.bedrock.environment.AWS_REGION: required, because bedrock is configured']);
  assert.deepEqual(problems({ bedrock: { environment: { AWS_REGION: 5 } } }), ['providers.bedrock.environment.AWS_REGION: expected a text, got a number']);
  assert.deepEqual(problems({ openai: { environment: {} } }), ['providers.openai.environment: only of azure, foundry, bedrock, claude-aws, vertex']);
  assert.deepEqual(problems({ azure: { environment: 'x' } }), ['providers.azure.environment: expected an object of variables, got a string']);
});

test('an embedder says where another region is beside the variables of its cloud', () => {
  const environment = { ...AWS, AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 's', AWS_ENDPOINT_URL_BEDROCK_RUNTIME: 'https://bedrock-runtime.eu-west-1.amazonaws.com' };
  const load = (providers: object) => loadOptions({ ...CALLERS, providers }, PROVIDER_ROWS, compatRow, reader({}));
  const { config, problems } = load({ bedrock: { environment }, us: { like: 'bedrock', baseUrl: 'https://bedrock-runtime.us-east-1.amazonaws.com', environment } });
  assert.deepEqual(problems, []);
  assert.deepEqual(config?.providers.map((provider) => [provider.baseUrl.host, (planOf(provider) as { region: string }).region]), [
    ['bedrock-runtime.eu-west-1.amazonaws.com', 'eu-west-1'], ['bedrock-runtime.us-east-1.amazonaws.com', 'us-east-1'],
  ]);
  assert.deepEqual(load({ bedrock: { baseUrl: 'https://x.test', environment } }).problems, ['providers.bedrock.baseUrl: is set together with providers.bedrock.environment.AWS_ENDPOINT_URL_BEDROCK_RUNTIME; keep one']);
  assert.deepEqual(load({ azure: { baseUrl: 'https://x.test', environment: AZURE } }).problems, ['providers.azure.baseUrl: is set together with providers.azure.environment.AZURE_OPENAI_ENDPOINT; keep one']);
  assert.deepEqual(load({ v: { like: 'vertex', baseUrl: 'https://x.test/projects/p', environment: {} } }).problems, ['providers.v.baseUrl: expected a path that names a project to end in /v1/projects/PROJECT/locations/LOCATION']);
});

test('the options that an environment comes to have its further regions, by keys and by credentials, where they are', () => {
  const common = {
    GATEWAY_AUTH_TOKEN: 'a-token-of-callers', GATEWAY_ROUTING_FILE: '/routing', GATEWAY_CLOUDS: 'bedrock,claude-aws,vertex', ...GOOGLE, ...AWS,
    SECOND_KEY: 'canary-2', AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'canary-3', ANTHROPIC_AWS_WORKSPACE_ID: 'w1',
  };
  const providers = {
    'bedrock-2': { like: 'bedrock', base_url: 'https://bedrock-runtime.us-east-1.amazonaws.com' },
    'bedrock-3': { like: 'bedrock', base_url: 'https://bedrock-runtime.us-east-2.amazonaws.com', keys: ['SECOND_KEY'] },
    'claude-2': { like: 'claude-aws', base_url: 'https://aws-external-anthropic.us-east-1.api.aws', workspace: 'w2' },
    'vertex-2': { like: 'vertex', base_url: 'https://us-east5-aiplatform.googleapis.com/v1/projects/p2/locations/us-east5' },
  };
  const files = { '/routing': JSON.stringify({ providers }), '/key': 'canary-1' };
  const seen = (config: LoadedConfig['config']): unknown => config?.providers.map((provider) => [provider.name, provider.baseUrl.href, planOf(provider), provider.keys.length, provider.headers, provider.settings?.project]);
  for (const own of [{ AWS_BEARER_TOKEN_BEDROCK: 'canary-1' }, { AWS_BEARER_TOKEN_BEDROCK_FILE: '/key' }, { AWS_BEARER_TOKEN_BEDROCKS: 'canary-1,canary-4' }, { AWS_BEARER_TOKEN_BEDROCKS_FILE: '/key' }]) {
    const variables: Variables = { ...common, ...own };
    const { options, problems } = loadEnvironmentOptions(variables, PROVIDER_ROWS, compatRow, reader(files));
    assert.deepEqual(problems, []);
    assert.doesNotMatch(inspect(options, { depth: 9 }), /canary/);
    const loaded = loadOptions(options, PROVIDER_ROWS, compatRow, reader({}));
    assert.deepEqual(loaded.problems, []);
    assert.deepEqual(seen(loaded.config), seen(loadConfig(variables, PROVIDER_ROWS, compatRow, reader(files)).config));
  }
});

test('the options that an environment comes to register its clouds again, without showing a secret', () => {
  const environment = { GATEWAY_AUTH_TOKEN: 'a-token-of-callers', GATEWAY_CLOUDS: 'vertex,azure', ...GOOGLE, ...AZURE, ...ENTRA, AZURE_CLIENT_SECRET: 'canary', OTHER: 'x' };
  const { options, problems } = loadEnvironmentOptions(environment, PROVIDER_ROWS, compatRow, reader({}));
  assert.deepEqual(problems, []);
  assert.doesNotMatch(inspect(options, { depth: 9 }), /canary/);
  const { config } = loadOptions(options, PROVIDER_ROWS, compatRow, reader({}));
  // Each is given what concerns it, and nothing else of the environment.
  const { azure, vertex } = options?.['providers'] as Record<string, { environment: object }>;
  assert.deepEqual(Object.keys(azure?.environment ?? {}).filter((name) => environment[name as keyof typeof environment] !== undefined).sort(), [...Object.keys({ ...AZURE, ...ENTRA }), 'AZURE_CLIENT_SECRET'].sort());
  assert.deepEqual(Object.keys(vertex?.environment ?? {}).filter((name) => environment[name as keyof typeof environment] !== undefined).sort(), Object.keys(GOOGLE).sort());
  assert.deepEqual(config?.providers.map(({ name, credentials }) => [name, credentials?.plan.source]), [['azure', 'entra client secret'], ['vertex', 'google metadata server']]);
});
