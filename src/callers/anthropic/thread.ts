/**
 * Threads of messages (Anthropic, beta `message-threads-2026-08-12`): a request may say only what is new, and name the answer
 * that it continues. Nothing is stored here, and what is stored at the provider may be another caller's.
 */

import { memberOf } from '../../base/json/member.ts';
import type { JsonObject } from '../../base/json/value.ts';
import { Failure } from '../../core/failure.ts';

/** Whether a request says only what is new. One that begins a thread says everything. */
export function continuesThread(source: JsonObject): boolean {
  const thread = source.entries.get('thread');
  return memberOf(thread, 'type') === 'continue' || typeof memberOf(thread, 'previous_message_id') === 'string';
}

/** The failure at which the vendor's SDK, by its code, sends the whole conversation instead. */
export function lostThread(): Failure {
  return new Failure('not_found', 'thread: no threads are stored here: send the whole conversation', { errorCode: 'thread_not_found' });
}
