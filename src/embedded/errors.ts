/** What the library throws. Everywhere else a failure is a value. */

import type { ErrorKind } from '../callers/native/wire.ts';

/** A chat, stream or list that failed, as an HTTP caller would be told. */
export class GatewayError extends Error {
  /** Said where an error is printed; the class itself has another name in the package. */
  static override readonly name = 'GatewayError';
  override readonly name = 'GatewayError';
  readonly kind: ErrorKind;
  /** The HTTP status of such a failure. */
  readonly status: number;
  /** How long to wait before another try, where that is known. */
  readonly retryAfterMs: number | undefined;
  /** As it stands in the log. */
  readonly requestId: string;

  /** The message is the gateway's own sentence. */
  constructor(message: string, facts: Pick<GatewayError, 'kind' | 'status' | 'retryAfterMs' | 'requestId'>) {
    super(message);
    this.kind = facts.kind;
    this.status = facts.status;
    this.retryAfterMs = facts.retryAfterMs;
    this.requestId = facts.requestId;
  }
}

/** Options or an environment that cannot work: everything that is wrong, a line each, none of which holds a secret. */
export class ConfigError extends Error {
  static override readonly name = 'ConfigError';
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}
