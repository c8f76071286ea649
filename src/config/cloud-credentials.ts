/** The credentials of a cloud other than keys: the first source that is present, in the order of the vendors' own SDKs. */

import { parseSharedFiles } from '../base/aws/shared-files.ts';
import type { SigningScope } from '../base/aws/signature.ts';
import { parseGoogleCredentials } from '../base/google/credential-file.ts';
import { isLoopback } from '../base/loopback.ts';
import type { AwsPlan, CredentialPlan, TokenPlan } from '../core/credential-plan.ts';
import { ARN, AUTHORIZATION, awsSuffix, CREDENTIALS_URL, eitherOf, ENDPOINT_URL, EXCHANGE_URL, firstSet, FLAG, ID, METADATA_URL, optional } from './cloud-reading.ts';
import { PROFILE, RELATIVE_URI, required, SESSION_NAME, WORD } from './cloud-reading.ts';
import type { Reading } from './cloud-reading.ts';
import type { Environment } from './environment.ts';
import { PATH, SECRET } from './setting-types.ts';

const AZURE_RESOURCE = 'https://ai.azure.com';

/** Whom the tokens of sovereign clouds are for, by the domains of their endpoints and of those who give them. */
const SOVEREIGN_RESOURCES: readonly (readonly [RegExp, string])[] = [
  [/\.(?:azure|microsoftonline)\.us$/, 'https://cognitiveservices.azure.us'],
  [/\.(?:azure|microsoftonline|chinacloudapi)\.cn$/, 'https://cognitiveservices.azure.cn'],
];

function resourceOf(...hosts: readonly string[]): string {
  return SOVEREIGN_RESOURCES.find(([domains]) => hosts.some((host) => domains.test(host)))?.[1] ?? AZURE_RESOURCE;
}

/** Entra: a client's secret, a token of Kubernetes, or else the identity of the machine; for the provider at `host`. */
export function entraPlan(reading: Reading, host: string): CredentialPlan | undefined {
  const { environment } = reading;
  const hasSecret = environment.isSet('AZURE_CLIENT_SECRET', SECRET);
  if (!hasSecret && !environment.isSet('AZURE_FEDERATED_TOKEN_FILE', PATH)) return tokenPlan(identityPlan(reading, resourceOf(host)));
  const tenantId = required(reading, 'AZURE_TENANT_ID', ID);
  const clientId = required(reading, 'AZURE_CLIENT_ID', ID);
  const authority = optional(environment, 'AZURE_AUTHORITY_HOST', EXCHANGE_URL) ?? new URL('https://login.microsoftonline.com');
  if (tenantId === undefined || clientId === undefined) return undefined;
  const common = { tokenUrl: new URL(`/${tenantId}/oauth2/v2.0/token`, authority), clientId, scope: `${resourceOf(host, authority.hostname)}/.default` };
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

function identityPlan({ environment, row }: Reading, resource: string): TokenPlan | undefined {
  // The machine would be asked in vain, or be somebody else than who is meant.
  if (environment.isSet('AZURE_CLIENT_CERTIFICATE_PATH', PATH)) {
    environment.problems.push(`AZURE_CLIENT_CERTIFICATE_PATH: is not supported for ${row.name}; AZURE_CLIENT_SECRET and AZURE_FEDERATED_TOKEN_FILE are`);
    return undefined;
  }
  const clientId = optional(environment, 'AZURE_CLIENT_ID', ID);
  const common = { resource, clientId };
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

/** Keys of AWS, given in a region, and whom what they sign is for. */
export function signaturePlan(reading: Reading, region: string, scope: SigningScope): CredentialPlan | undefined {
  const plan = awsPlan(reading, region);
  return plan && { type: 'signature', plan, ...scope };
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
  const isNamed = environment.isSet('AWS_SHARED_CREDENTIALS_FILE', PATH);
  const credentials = isNamed ? environment.readFile('AWS_SHARED_CREDENTIALS_FILE', credentialsPath) : textOf(readFile, credentialsPath);
  if (credentials === undefined && isNamed) return undefined;
  const config = textOf(readFile, configPath);
  if (credentials === undefined && config === undefined && asked !== undefined) {
    environment.problems.push(`AWS_PROFILE: neither of the files with the profile for ${row.name} can be read`);
    return undefined;
  }
  const found = parseSharedFiles(credentials, config, profile);
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
  const url = relative === undefined ? optional(environment, 'AWS_CONTAINER_CREDENTIALS_FULL_URI', CREDENTIALS_URL) : new URL(`http://169.254.170.2${relative}`);
  const tokenFile = optional(environment, 'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE', PATH);
  const token = tokenFile === undefined ? optional(environment, 'AWS_CONTAINER_AUTHORIZATION_TOKEN', AUTHORIZATION) : undefined;
  if (url === undefined) return undefined;
  if (url.protocol === 'http:' && !isContainerHost(url.hostname)) {
    environment.problems.push(`${place}: expected https, or an address of this machine or of ECS or EKS`);
    return undefined;
  }
  return { source: 'container', url, token, tokenFile };
}

/** Whom a container's keys may be asked of without TLS: this machine, and the agents of ECS and EKS at their fixed addresses. */
function isContainerHost(hostname: string): boolean {
  return isLoopback(hostname) || ['169.254.170.2', '169.254.170.23', '[fd00:ec2::23]'].includes(hostname);
}

/** Application default credentials: the file that is named, or of gcloud, or else the metadata server. */
export function googlePlan(reading: Reading): CredentialPlan | undefined {
  return tokenPlan(googleTokenPlan(reading));
}

function googleTokenPlan({ environment, row, readFile }: Reading): TokenPlan | undefined {
  const named = optional(environment, 'GOOGLE_APPLICATION_CREDENTIALS', PATH);
  const folder = optional(environment, 'CLOUDSDK_CONFIG', PATH) ?? `${homeOf(environment)}/.config/gcloud`;
  const path = named ?? `${folder}/application_default_credentials.json`;
  const content = named === undefined ? textOf(readFile, path) : environment.readFile('GOOGLE_APPLICATION_CREDENTIALS', path);
  if (content !== undefined) {
    const credentials = parseGoogleCredentials(content);
    if (typeof credentials !== 'string') return { source: 'google credential file', path };
    environment.problems.push(`GOOGLE_APPLICATION_CREDENTIALS: the file for ${row.name} ${credentials}`);
    return undefined;
  }
  if (named !== undefined) return undefined;
  if (optional(environment, 'METADATA_SERVER_DETECTION', WORD) === 'none') {
    environment.problems.push(`GOOGLE_APPLICATION_CREDENTIALS: required for ${row.name}, since METADATA_SERVER_DETECTION rules the metadata server out`);
    return undefined;
  }
  return { source: 'google metadata server', origin: optional(environment, 'GCE_METADATA_HOST', METADATA_URL) ?? new URL('http://169.254.169.254') };
}
