/** What is said of a failure, to callers and in the log: bounded, and with every secret masked. */

import { bounded } from '../base/redact.ts';
import { sentenceOf } from '../core/failure-sentence.ts';
import type { Failure } from '../core/failure.ts';
import type { ServerParts } from './parts.ts';

/** Longest piece of a provider's prose that reaches a log line or, where allowed, a caller. */
const DETAIL_CHARS_MAX = 500;
/** Of longer prose only this much is searched for secrets: masking 64 KB takes 20 ms. */
const MASKED_CHARS_MAX = 8 * DETAIL_CHARS_MAX;

/** `redact` masks every secret there is. */
export function createSentences(redact: (text: string) => string, forwardsErrorMessages: boolean): Pick<ServerParts, 'presentable' | 'sentence' | 'redacted'> {
  const redacted = (text: string): string => bounded(redact(text.slice(0, MASKED_CHARS_MAX)), DETAIL_CHARS_MAX);
  const sentence = (failure: Failure): string => bounded(sentenceOf(failure, redact), DETAIL_CHARS_MAX);
  return {
    presentable: (failure) =>
      failure.with({
        message: sentence(failure) + (forwardsErrorMessages ? proseOf(failure, redacted) : ''),
        // Masked, it would tell an SDK nothing.
        errorCode: failure.errorCode !== undefined && redact(failure.errorCode) === failure.errorCode ? failure.errorCode : undefined,
      }),
    sentence,
    redacted,
  };
}

/** The provider's own words, masked and cut, to follow the sentence; none for a rejected credential. */
function proseOf({ kind, detail }: Failure, redacted: (text: string) => string): string {
  return detail === undefined || kind === 'auth' ? '' : `: ${redacted(detail)}`;
}
