/** What the tests of the dialects share: a body translated, the facts of an answer, a stream's frames taken apart. */

import assert from 'node:assert/strict';
import type { ChatReply } from '../../src/core/chat.ts';
import type { AnswerFacts, CallerDialect, DecodedRequest, StreamFrames, Translation } from '../../src/core/dialect.ts';
import { Failure } from '../../src/core/failure.ts';

export function decodedBy(dialect: CallerDialect, body: unknown): DecodedRequest | Failure {
  const [route] = dialect.routes;
  assert.ok(route !== undefined);
  return dialect.decodeRequest(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), route);
}

/** The translation of a body that must be a good one, as data. */
export function translated(dialect: CallerDialect, body: unknown): Omit<Translation, 'told'> {
  const { request, ignored } = translation(dialect, body);
  return { request, ignored };
}

/** A sentence about a good body, in its caller's words. */
export function told(dialect: CallerDialect, body: unknown, sentence: string): string {
  return translation(dialect, body).told?.(sentence) ?? sentence;
}

function translation(dialect: CallerDialect, body: unknown): Translation {
  const decoded = decodedBy(dialect, body);
  if (decoded instanceof Failure) throw new Error(decoded.message);
  const outcome = decoded.translate(decoded.model);
  if (outcome instanceof Failure) throw new Error(outcome.message);
  return outcome;
}

/** Why a body is refused, as `kind: sentence`. */
export function refusal(dialect: CallerDialect, body: unknown): string {
  const decoded = decodedBy(dialect, body);
  const outcome = decoded instanceof Failure ? decoded : decoded.translate(decoded.model);
  assert.ok(outcome instanceof Failure, 'the body was taken');
  return `${outcome.kind}: ${outcome.message}`;
}

/** A request of which nothing is known but its model. */
export function asked(model: string, wantsUsage = true): DecodedRequest {
  return {
    provider: undefined, model, isStream: true, wantsUsage, source: undefined, providerOptions: undefined,
    translate: () => new Failure('unsupported', 'not translated here'), head: () => ({ system: '', user: '' }), loopOwner: () => undefined,
  };
}

export const FACTS: AnswerFacts = {
  request: asked('asked-model'),
  requestId: 'r1',
  answerId: 'a1',
  provider: 'acme',
  servedModel: undefined,
  createdAtS: 1795257683,
};

export const BARE_REPLY: ChatReply = {
  id: undefined,
  model: undefined,
  parts: [],
  thinking: '',
  stopReason: 'end_turn',
  usage: undefined,
};

/** The deltas of a reply whose thinking comes first, in pieces of a few characters, and their frames. */
export function streamed(frames: StreamFrames, reply: ChatReply): string {
  let text = '';
  for (const piece of pieces(reply.thinking)) text += frames.render({ type: 'thinking', text: piece });
  for (const part of reply.parts) {
    if (part.type === 'tool_call') text += frames.render({ type: 'tool_call', call: part });
    else for (const piece of pieces(part.text)) text += frames.render({ type: 'text', text: piece });
  }
  return text + frames.render({ type: 'done', reply });
}

function pieces(text: string): readonly string[] {
  return text.match(/[^]{1,3}/g) ?? [];
}

export type Event = { readonly name: string | undefined; readonly data: string };

/** The events of a stream, each of the form `event:` (or none), one `data:`, a blank line. */
export function eventsOf(stream: string): readonly Event[] {
  assert.ok(stream === '' || stream.endsWith('\n\n'));
  return stream
    .split('\n\n')
    .slice(0, -1)
    .map((frame) => {
      const match = /^(?:event: (\S+)\n)?data: ([^\r\n]+)$/.exec(frame);
      assert.ok(match !== null, `not an event: ${frame}`);
      return { name: match[1], data: match[2] ?? '' };
    });
}

/** What every response object of Responses says of a request that says none of it. */
export const UNASKED_ECHO = {
  instructions: null,
  max_output_tokens: null,
  metadata: {},
  parallel_tool_calls: true,
  previous_response_id: null,
  temperature: null,
  tool_choice: 'auto',
  tools: [],
  top_p: null,
  truncation: 'disabled',
};
