/** Answers in which a provider declined without a word: OpenAI's formats have a place for them in a good answer. */

import { replyText } from '../../core/chat.ts';
import type { ChatReply } from '../../core/chat.ts';

/** What a provider that declined without a word is taken to have said. */
export const REFUSAL = 'The request was declined.';

export function isWordlessRefusal(reply: ChatReply): boolean {
  return reply.stopReason === 'refusal' && replyText(reply) === '';
}
