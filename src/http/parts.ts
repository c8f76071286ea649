/** What every exchange is served with. */

import type { IncomingMessage } from 'node:http';
import type { Log } from '../base/log.ts';
import type { Config } from '../config/config.ts';
import type { Provider } from '../core/adapter.ts';
import type { CallerDialect } from '../core/dialect.ts';
import type { Failure } from '../core/failure.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Limits } from '../limits/limiter.ts';
import type { Metrics } from '../metrics.ts';
import type { Admission } from './admission.ts';
import type { ModelLists } from './model-lists.ts';

/** What handlers work with. A reload makes new ones; an exchange keeps those it began with. */
export type ServerParts = {
  readonly config: Config;
  readonly providers: ReadonlyMap<string, Provider>;
  /** What callers may speak; the first answers what belongs to none of them. */
  readonly dialects: readonly [CallerDialect, ...CallerDialect[]];
  readonly gateway: Gateway;
  readonly modelLists: ModelLists;
  readonly metrics: Metrics;
  /** The text of a scrape, which other processes may have to be asked for; undefined = it cannot be had. */
  readonly metricsPage: () => string | Promise<string | undefined>;
  readonly admission: Admission;
  readonly limits: Limits;
  readonly log: Log;
  readonly isDraining: () => boolean;
  /**
   * The label of the caller that a request comes from, for those that no token names; undefined = it is refused. Handed in
   * by an embedder, so whatever it does is to be expected.
   */
  readonly authenticate: ((request: IncomingMessage) => unknown) | undefined;
  /** What limits and metrics know a caller by: labels that are not configured are one. */
  readonly callerLabel: (label: string) => string;
  /** The failure as a caller may see it: with the provider's prose where the operator allows it. */
  readonly presentable: (failure: Failure) => Failure;
  /** The failure's sentence for logs: what it quotes of others is masked, and its length bounded. */
  readonly sentence: (failure: Failure) => string;
  /** Masks every configured secret in what others wrote and cuts it to a length for logs. */
  readonly redacted: (text: string) => string;
};
