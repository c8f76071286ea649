/** Attempts that are signed as AWS wants it (Signature Version 4). */

import { signatureHeaders } from '../../base/aws/signature.ts';
import type { AwsCredentials, SigningScope } from '../../base/aws/signature.ts';
import type { Secret } from '../../base/secret.ts';
import type { CredentialPlan } from '../../core/credential-plan.ts';
import { Failure } from '../../core/failure.ts';
import { clockSkewMs } from './authorization.ts';
import type { AnswerHead, Authorization, Clock, CredentialReport, Grant, Outgoing } from './authorization.ts';
import type { Renewed } from './renewed.ts';

/** AWS accepts a clock that is off by up to five minutes. */
const SKEW_MS_MAX = 4 * 60 * 1000;

/** Headers that a signature covers: what says what the body is and to whom it goes. Whatever else there is a proxy may rewrite. */
const SIGNED_HEADER = /^(content-type|anthropic-.*|x-amzn?-.*)$/;

/** Refusals of a signature or its keys that may come as a bad request. */
const SIGNATURE_TYPE = /^(ExpiredToken|IncompleteSignature|InvalidSignature|MissingAuthenticationToken|RequestExpired|UnrecognizedClient)/;

/** Refusals that other keys do not mend. */
const FINAL_TYPE = /^(AccessDenied|ValidationException|ResourceNotFound|OptInRequired|SubscriptionRequired)/;

export class SignedAuthorization implements Authorization {
  readonly #source: string;
  readonly #credentials: Renewed<AwsCredentials>;
  readonly #scope: SigningScope;
  readonly #clock: Clock;
  /** How far the provider's clock is ahead, as far as it had to be known. */
  #skewMs = 0;
  /** What its provider refused, until there are others, or turn out to be none. */
  #dropped: AwsCredentials | undefined;

  constructor(source: string, credentials: Renewed<AwsCredentials>, scope: SigningScope, clock: Clock) {
    this.#source = source;
    this.#credentials = credentials;
    this.#scope = scope;
    this.#clock = clock;
  }

  // hot: per request
  grant(outgoing: Outgoing): Grant | Failure | Promise<Grant | Failure> {
    const credentials = this.#credentials.get(this.#dropped);
    return credentials instanceof Promise ? credentials.then((late) => this.#sign(late, outgoing)) : this.#sign(credentials, outgoing);
  }

  #sign(credentials: AwsCredentials | Failure, { method, host, path, headers: all, body = '' }: Outgoing): Grant | Failure {
    if (credentials instanceof Failure) return credentials;
    this.#dropped = undefined;
    const headers: Record<string, string> = { host };
    for (const name of Object.keys(all)) if (SIGNED_HEADER.test(name)) headers[name] = all[name] ?? '';
    const skewMs = this.#skewMs;
    const added = signatureHeaders({ method, path, headers, body }, credentials, this.#scope, this.#clock.wall() + skewMs);
    return { headers: added, refused: (answer) => this.#refused(credentials, skewMs, answer) };
  }

  /** A clock that is off is corrected by the provider's; keys that it does not know, or knows no more, are dropped. */
  #refused(credentials: AwsCredentials, usedSkewMs: number, { status, headers }: AnswerHead): boolean {
    const type = String(headers['x-amzn-errortype'] ?? '');
    if (status !== 401 && status !== 403 && !(status === 400 && SIGNATURE_TYPE.test(type))) return false;
    const skewMs = clockSkewMs(headers, this.#clock);
    if (skewMs !== undefined && Math.abs(skewMs - usedSkewMs) > SKEW_MS_MAX) {
      this.#skewMs = skewMs;
      return true;
    }
    if (FINAL_TYPE.test(type) || !this.#credentials.drop(credentials)) return false;
    this.#dropped = credentials;
    return true;
  }

  /** Signs for another region or service, whose clock is its own. */
  beside(other: CredentialPlan): Authorization {
    if (other.type !== 'signature') return this;
    const { region, service } = other;
    return new SignedAuthorization(this.#source, this.#credentials, { region, service }, this.#clock);
  }

  renewSoon(): void {
    this.#credentials.renewSoon();
  }

  report(): CredentialReport {
    return { source: this.#source, expiresInMs: this.#credentials.expiresInMs, clockSkewMs: this.#skewMs };
  }

  secrets(): readonly Secret[] {
    return this.#credentials.recent.flatMap(({ secretAccessKey, sessionToken }) => (sessionToken === undefined ? [secretAccessKey] : [secretAccessKey, sessionToken]));
  }
}
