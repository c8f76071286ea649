/** What became of one exchange's calls, for its log line and its metrics. */

import type { Usage } from '../core/chat.ts';
import type { FailureKind } from '../core/failure.ts';

/** One attempt, of a request with a route or to a provider with several keys. */
export type Tried = {
  readonly provider: string;
  readonly model: string;
  /** `ended`: the exchange was over, or another target had answered meanwhile. */
  readonly outcome: 'success' | 'ended' | FailureKind;
};

/** A target that did not serve, though it comes before the one that did. */
export type PassedOver = {
  readonly provider: string;
  readonly model: string;
  /**
   * The kind of its failure, also of one that was found before any call (`unsupported`); `overtaken` where another was asked beside
   * it and answered first; or why it was not asked: out, all its keys cooling, at its `concurrent`.
   */
  readonly why: FailureKind | 'overtaken' | 'out' | 'cooling' | 'full';
};

const NOTHING_TRIED: readonly Tried[] = [];
const NOBODY_PASSED_OVER: readonly PassedOver[] = [];

/** What became of one exchange's calls; filled in as it goes, read by the log line at its end. */
export type CallRecord = {
  readonly requestId: string;
  /** Who serves, or was asked last. */
  provider: string | undefined;
  /** As the caller named it. */
  requestedModel: string | undefined;
  /** The route's name; undefined where the request has none. */
  modelRoute: string | undefined;
  /** What whoever serves was asked for, or was last; undefined before anybody was. */
  askedModel: string | undefined;
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
  /** The provider's body where it is an answer that was declined without a word. */
  declined: string | undefined;
  /** The key of the last attempt, by its number; undefined where its provider has one or none. */
  key: number | undefined;
  /** Each attempt in order; empty without a route and with one key. */
  tried: readonly Tried[];
  /** In the order in which they would have served; complete when the first event leaves, and at the end. */
  passedOver: readonly PassedOver[];
  /** Whether a tool loop's provider went before the operator's order. */
  isSticky: boolean;
  /** What became of the second target that was asked beside the first; undefined where none was. `refused`: for want of budget. */
  hedged: 'won' | 'lost' | 'refused' | undefined;
};

/** The record of an exchange that has called nobody yet. */
export function createCallRecord(requestId: string): CallRecord {
  return {
    requestId,
    provider: undefined,
    requestedModel: undefined,
    modelRoute: undefined,
    askedModel: undefined,
    servedModel: undefined,
    attempts: 0,
    upstreamMs: 0,
    waitedMs: 0,
    retryRefusal: undefined,
    firstDeltaMs: undefined,
    restMs: undefined,
    usage: undefined,
    declined: undefined,
    key: undefined,
    tried: NOTHING_TRIED,
    passedOver: NOBODY_PASSED_OVER,
    isSticky: false,
    hedged: undefined,
  };
}
