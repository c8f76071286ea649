/** The tokens and keys that the clouds gave, and those that never change. */

import { createHash, generateKeyPairSync, randomUUID } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { keep } from '../../base/keep.ts';
import type { CloudIdentity } from '../cloud-identity.ts';

/** What is given for: a token for one is refused by the others. */
export type Audience = 'azure' | 'google' | 'google sts' | 'aws session';

export type KnownKeys = { readonly secretAccessKey: string; readonly sessionToken: string | undefined; readonly expiresAtMs: number };

/** The oldest are forgotten. */
const GIVEN_MAX = 1000;

export class Ledger implements CloudIdentity {
  readonly tenantId = '5a4d0b0c-0000-4000-8000-000000000001';
  readonly clientId = '5a4d0b0c-0000-4000-8000-000000000002';
  readonly clientSecret = 'client-secret-of-the-sandbox';
  readonly federatedToken = 'federated-token-of-the-sandbox';
  readonly accessKeyId = 'AKIASANDBOX000000000';
  readonly secretAccessKey = 'secret/access+key+of+the+sandbox';
  readonly region = 'us-east-1';
  readonly roleArn = 'arn:aws:iam::000000000000:role/sandbox';
  readonly platformToken = 'platform-token-of-the-sandbox';
  lifetimeS = 3600;
  isDown = false;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly #origin: () => string;
  readonly #tokens = new Map<string, { readonly audience: Audience; readonly expiresAtMs: number }>();
  readonly #keys = new Map<string, KnownKeys>();
  #account: { readonly file: string; readonly publicKey: KeyObject } | undefined;

  /** `origin`: where the sandbox is, once it is somewhere. */
  constructor(now: () => number, origin: () => string) {
    this.now = now;
    this.#origin = origin;
  }

  get serviceAccount(): string {
    return this.#serviceAccount().file;
  }

  get serviceAccountKey(): KeyObject {
    return this.#serviceAccount().publicKey;
  }

  /** Made when first asked for, which takes a while. */
  #serviceAccount(): { readonly file: string; readonly publicKey: KeyObject } {
    if (this.#account === undefined) {
      const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
      const file = JSON.stringify({
        type: 'service_account', project_id: 'sandbox-project', private_key_id: 'sandbox-key', client_email: 'gateway@sandbox-project.iam.gserviceaccount.com',
        private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }), token_uri: `${this.#origin()}/google/token`,
      });
      this.#account = { file, publicKey };
    }
    return this.#account;
  }

  get authorizedUser(): string {
    return JSON.stringify({
      type: 'authorized_user', client_id: this.clientId, client_secret: this.clientSecret, refresh_token: this.federatedToken,
      quota_project_id: 'sandbox-quota', token_uri: `${this.#origin()}/google/token`,
    });
  }

  externalAccount(tokenFile: string): string {
    const pool = '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/sandbox/providers/sandbox';
    return JSON.stringify({
      type: 'external_account', audience: pool, subject_token_type: 'urn:ietf:params:oauth:token-type:jwt', credential_source: { file: tokenFile },
      token_url: `${this.#origin()}/google/sts`, service_account_impersonation_url: `${this.#origin()}/google/impersonate`,
    });
  }

  giveToken(audience: Audience): string {
    const token = `sandbox.${audience.replaceAll(' ', '-')}.${randomUUID()}`;
    keep(this.#tokens, token, { audience, expiresAtMs: this.now() + this.lifetimeS * 1000 }, GIVEN_MAX);
    return token;
  }

  isToken(token: string | undefined, audience: Audience): boolean {
    const given = this.#tokens.get(token ?? '');
    return given?.audience === audience && this.now() < given.expiresAtMs;
  }

  /** Keys with a session, by the field names of AWS. */
  giveKeys(): { readonly AccessKeyId: string; readonly SecretAccessKey: string; readonly Token: string; readonly Expiration: string } {
    const secret = createHash('sha256').update(randomUUID()).digest('base64');
    const [id, token] = [`ASIA${randomUUID().replaceAll('-', '').slice(0, 16).toUpperCase()}`, `session/${randomUUID()}==`];
    // AWS says seconds, and never one too many.
    const expiresAtMs = Math.floor((this.now() + this.lifetimeS * 1000) / 1000) * 1000;
    keep(this.#keys, id, { secretAccessKey: secret, sessionToken: token, expiresAtMs }, GIVEN_MAX);
    return { AccessKeyId: id, SecretAccessKey: secret, Token: token, Expiration: new Date(expiresAtMs).toISOString().replace('.000Z', 'Z') };
  }

  keysOf(accessKeyId: string): KnownKeys | undefined {
    if (accessKeyId === this.accessKeyId) return { secretAccessKey: this.secretAccessKey, sessionToken: undefined, expiresAtMs: Infinity };
    return this.#keys.get(accessKeyId);
  }

  revoke(): void {
    this.#tokens.clear();
    this.#keys.clear();
  }

  reset(): void {
    this.revoke();
    this.lifetimeS = 3600;
    this.isDown = false;
  }
}
