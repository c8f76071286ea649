/** What the files of this folder have in common: how an attempt is authorised, and what the world looks like to a credential. */

import type { Secret } from '../../base/secret.ts';
import type { UpstreamHeaders } from '../../core/adapter.ts';
import type { CredentialPlan } from '../../core/credential-plan.ts';
import type { Failure } from '../../core/failure.ts';

/** One attempt as it goes over the wire. */
export type Outgoing = {
  readonly method: string;
  /** As in the Host header. */
  readonly host: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
};

/** What authorises an attempt. */
export type Grant = {
  /** What the attempt is sent with besides its own headers: for the request only, never for a log. */
  readonly headers: Readonly<Record<string, string>>;
  /** The provider answered with an error. True = what was wrong with its credential is mended, so that another may do better. */
  readonly refused: (answer: AnswerHead) => boolean;
};

/** The head of an answer. */
export type AnswerHead = { readonly status: number; readonly headers: UpstreamHeaders };

/** A provider's credentials, asked for each attempt: tokens expire, and a signature covers the bytes and the time. */
export interface Authorization {
  /**
   * At once while a credential is at hand. Failures: auth (whoever gives credentials refused), unknown (it could not be
   * reached, or made no sense).
   */
  grant(outgoing: Outgoing): Grant | Failure | Promise<Grant | Failure>;
  /** The same credential in the use of another provider, whose plan has the same source: what one renews serves both. */
  beside(other: CredentialPlan): Authorization;
  /** What the credential comes from may have changed: another is asked for beside the requests to come. */
  renewSoon(): void;
  report(): CredentialReport;
  /** What attempts carry that must not turn up in text, and by what they are signed. */
  secrets(): readonly Secret[];
}

/** For people. */
export type CredentialReport = {
  readonly source: string;
  /** Of what is at hand; undefined where nothing is, or it does not expire. */
  readonly expiresInMs: number | undefined;
  /** How far the other end's clock is ahead of this machine's, where it was corrected for. */
  readonly clockSkewMs: number;
};

/** The time. */
export type Clock = {
  /** Milliseconds of a clock that never jumps: for lifetimes. */
  readonly now: () => number;
  /** Milliseconds since 1970, as far as this machine knows: for signatures. */
  readonly wall: () => number;
};

/** A date beyond has no place in a signature. */
const DATE_MS_MAX = Date.UTC(9999, 0);

/** How far the clock of who answered is ahead of this machine's; undefined = it named no date that a clock could show. */
export function clockSkewMs(headers: UpstreamHeaders, clock: Clock): number | undefined {
  const { date } = headers;
  const dateMs = typeof date === 'string' ? Date.parse(date) : NaN;
  return dateMs >= 0 && dateMs <= DATE_MS_MAX ? dateMs - clock.wall() : undefined;
}
