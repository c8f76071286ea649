/**
 * Where a provider's credentials come from when they are no key: roles, metadata servers, files of accounts. As plain data:
 * configured in one room, followed in another.
 */

import type { AwsCredentials } from '../base/aws/signature.ts';
import type { Secret } from '../base/secret.ts';

/** Where a bearer token comes from. Files are read again for each token: they rotate. */
export type TokenPlan =
  | { readonly source: 'entra client secret'; readonly tokenUrl: URL; readonly clientId: string; readonly scope: string; readonly clientSecret: Secret }
  | { readonly source: 'entra workload identity'; readonly tokenUrl: URL; readonly clientId: string; readonly scope: string; readonly tokenFile: string }
  /** `clientId` names one of several identities of a machine. */
  | { readonly source: 'azure managed identity'; readonly origin: URL; readonly resource: string; readonly clientId: string | undefined }
  | { readonly source: 'app service identity'; readonly endpoint: URL; readonly header: Secret; readonly resource: string; readonly clientId: string | undefined }
  | { readonly source: 'google credential file'; readonly path: string }
  | { readonly source: 'google metadata server'; readonly origin: URL };

/** Where keys of AWS come from, by which requests are signed. */
export type AwsPlan =
  | { readonly source: 'environment'; readonly credentials: AwsCredentials }
  | { readonly source: 'web identity'; readonly stsUrl: URL; readonly roleArn: string; readonly sessionName: string; readonly tokenFile: string }
  | { readonly source: 'shared files'; readonly credentialsPath: string; readonly configPath: string; readonly profile: string }
  | { readonly source: 'container'; readonly url: URL; readonly token: Secret | undefined; readonly tokenFile: string | undefined }
  | { readonly source: 'instance metadata'; readonly origin: URL };

export type CredentialPlan =
  | { readonly type: 'token'; readonly plan: TokenPlan }
  | { readonly type: 'signature'; readonly plan: AwsPlan; readonly region: string; readonly service: string };
