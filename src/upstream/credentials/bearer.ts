/** Attempts that carry a token which expires. */

import type { Secret } from '../../base/secret.ts';
import { Failure } from '../../core/failure.ts';
import type { Authorization, CredentialReport, Grant } from './authorization.ts';
import type { Renewed } from './renewed.ts';
import type { Bearer } from './source.ts';

export class BearerAuthorization implements Authorization {
  readonly #source: string;
  readonly #bearer: Renewed<Bearer>;
  /** What the last token came to. */
  #last: { readonly bearer: Bearer; readonly grant: Grant } | undefined;
  /** What its provider refused, until there is another, or turns out to be none. */
  #dropped: Bearer | undefined;

  constructor(source: string, bearer: Renewed<Bearer>) {
    this.#source = source;
    this.#bearer = bearer;
  }

  // hot: per request
  grant(): Grant | Failure | Promise<Grant | Failure> {
    const bearer = this.#bearer.get(this.#dropped);
    return bearer instanceof Promise ? bearer.then((late) => this.#grantOf(late)) : this.#grantOf(bearer);
  }

  #grantOf(bearer: Bearer | Failure): Grant | Failure {
    if (bearer instanceof Failure) return bearer;
    this.#dropped = undefined;
    if (this.#last?.bearer === bearer) return this.#last.grant;
    const headers = { ...bearer.headers, authorization: `Bearer ${bearer.token.reveal()}` };
    const grant: Grant = { headers, refused: ({ status }) => status === 401 && this.#drop(bearer) };
    this.#last = { bearer, grant };
    return grant;
  }

  #drop(bearer: Bearer): boolean {
    if (!this.#bearer.drop(bearer)) return false;
    this.#dropped = bearer;
    return true;
  }

  /** A token is the same wherever it goes, but one provider may refuse what another takes. */
  beside(): Authorization {
    return new BearerAuthorization(this.#source, this.#bearer);
  }

  renewSoon(): void {
    this.#bearer.renewSoon();
  }

  report(): CredentialReport {
    return { source: this.#source, expiresInMs: this.#bearer.expiresInMs, clockSkewMs: 0 };
  }

  secrets(): readonly Secret[] {
    return this.#bearer.recent.map(({ token }) => token);
  }
}
