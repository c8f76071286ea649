/** Who a gateway is to the sandbox's clouds: what it proves itself with, and for how long it is believed. */

/** What the clouds of a sandbox know, and what tests change of it. */
export type CloudIdentity = {
  /** Of Entra, as variables name them. */
  readonly tenantId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** What Kubernetes, or another platform, would put into a file: taken by Entra, AWS STS and Google's STS. */
  readonly federatedToken: string;
  /** Keys of AWS that never expire, and where they are good. */
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
  readonly roleArn: string;
  /** What the endpoints of containers and of App Service ask for. */
  readonly platformToken: string;
  /** Files of Google's application default credentials, as texts: of a service account, of a user, of a workload. */
  readonly serviceAccount: string;
  readonly authorizedUser: string;
  /** `tokenFile` holds the federated token. */
  externalAccount(tokenFile: string): string;
  /** How long tokens and keys live from now on; an hour at first. */
  lifetimeS: number;
  /** Whether endpoints and metadata servers answer 503. */
  isDown: boolean;
  /** Forgets every token and key that it gave. */
  revoke(): void;
};
