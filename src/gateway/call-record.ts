/** What became of one exchange's calls, for its log line and its metrics. */

import type { Usage } from '../core/chat.ts';

/** What became of one exchange's calls; filled in as it goes, read by the log line at its end. */
export type CallRecord = {
  readonly requestId: string;
  provider: string | undefined;
  /** As the caller named it. */
  requestedModel: string | undefined;
  /** As the provider named it. */
  servedModel: string | undefined;
  attempts: number;
  /** Time spent in attempts: waiting for the provider and, in a stream, for a slow caller. */
  upstreamMs: number;
  /** Time spent between attempts. */
  waitedMs: number;
  /** Why there was no further attempt, where the failure alone does not say it. */
  retryRefusal: string | undefined;
  /** From the first attempt's start to the first delta. */
  firstDeltaMs: number | undefined;
  /** From the first delta to the last, waits for a slow caller included. */
  restMs: number | undefined;
  usage: Usage | undefined;
  /** The provider's body where it declined. */
  declined: string | undefined;
};

/** The record of an exchange that has called nobody yet. */
export function createCallRecord(requestId: string): CallRecord {
  return {
    requestId,
    provider: undefined,
    requestedModel: undefined,
    servedModel: undefined,
    attempts: 0,
    upstreamMs: 0,
    waitedMs: 0,
    retryRefusal: undefined,
    firstDeltaMs: undefined,
    restMs: undefined,
    usage: undefined,
    declined: undefined,
  };
}
