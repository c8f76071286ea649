/** Requests, facts and replies that the tests of this dialect share. */

import { fail } from 'node:assert/strict';
import { ANTHROPIC } from '../../../src/callers/anthropic/dialect.ts';
import type { ChatReply, ChatRequest } from '../../../src/core/chat.ts';
import type { AnswerFacts, DecodedRequest, Translation } from '../../../src/core/dialect.ts';
import { Failure } from '../../../src/core/failure.ts';

const ROUTE = ANTHROPIC.routes[0] ?? fail('no route');

export const HI = { role: 'user', content: 'Hi' };

export function decode(body: unknown): DecodedRequest {
  const decoded = ANTHROPIC.decodeRequest(Buffer.from(JSON.stringify(body)), ROUTE);
  return decoded instanceof Failure ? fail(decoded.message) : decoded;
}

/** What the body asks, of a provider that knows the model by the same name. */
export function translate(body: Readonly<Record<string, unknown>>): Translation {
  const translation = decode({ model: 'm', max_tokens: 100, ...body }).translate('m');
  return translation instanceof Failure ? fail(translation.message) : translation;
}

/** The chat of a body of these messages alone. */
export function chatOf(messages: readonly unknown[]): ChatRequest {
  return translate({ messages }).request;
}

/** Why the body is refused, as `kind: sentence`. */
export function refusal(body: Readonly<Record<string, unknown>>): string {
  const decoded = ANTHROPIC.decodeRequest(Buffer.from(JSON.stringify({ model: 'm', messages: [HI], ...body })), ROUTE);
  const outcome = decoded instanceof Failure ? decoded : decoded.translate('m');
  return outcome instanceof Failure ? `${outcome.kind}: ${outcome.message}` : fail('it is taken');
}

export const FACTS: AnswerFacts = {
  request: decode({ model: 'x/fake', messages: [HI] }),
  requestId: 'req-1',
  answerId: 'answer-1',
  provider: 'acme',
  servedModel: 'fake-2',
  createdAtS: 1_795_256_268,
};

export const BARE: ChatReply = { id: undefined, model: undefined, parts: [], thinking: '', stopReason: 'end_turn', usage: undefined };
