/** What a client appends to its history, whole or put together from a stream, means the turn that was answered. */

import { deepEqual, fail } from 'node:assert/strict';
import test from 'node:test';
import { renderJson } from '../../../src/base/json/render.ts';
import { RawJson } from '../../../src/base/json/value.ts';
import { encodeMessage } from '../../../src/callers/anthropic/reply.ts';
import { MessageEvents } from '../../../src/callers/anthropic/stream.ts';
import type { AssistantPart, ChatReply } from '../../../src/core/chat.ts';
import type { Delta } from '../../../src/core/delta.ts';
import { assemble } from './message-client.ts';
import { BARE, FACTS, HI, translate } from './messages.ts';

const A = said('A');
const B = said('B');
const F = called('toolu_1');
const G = called('functions.g:1');

function said(text: string, state?: string): AssistantPart {
  return { type: 'text', text, state };
}

function called(id: string, state?: string): AssistantPart {
  return { type: 'tool_call', id, name: 'f', arguments: new RawJson('{"a":1}'), state };
}

function held(part: AssistantPart, number: number): AssistantPart {
  return { ...part, state: `openai-chat.acme.${Buffer.from(`{"n":${number}}`).toString('base64url')}` };
}

/** The turn that a client's history means, once the content was appended to it. */
function turnFrom(content: unknown): { readonly parts: unknown; readonly ignored: readonly string[] } {
  const history = JSON.parse(JSON.stringify([HI, { role: 'assistant', content }])) as readonly unknown[];
  const { request, ignored } = translate({ messages: history });
  return { parts: request.turns[1]?.parts, ignored };
}

function whole(reply: ChatReply): unknown {
  return (JSON.parse(renderJson(encodeMessage(reply, FACTS))) as { content: unknown }).content;
}

/** As providers stream it: reasoning, then texts and calls in their order, text in two pieces. */
function streamed(reply: ChatReply): unknown {
  const deltas: Delta[] = reply.thinking === '' ? [] : [{ type: 'thinking', text: reply.thinking }];
  for (const part of reply.parts) {
    if (part.type === 'tool_call') deltas.push({ type: 'tool_call', call: part });
    else deltas.push({ type: 'text', text: part.text.slice(0, 1) }, { type: 'text', text: part.text.slice(1) });
  }
  const frames = new MessageEvents(FACTS);
  const text = [...deltas, { type: 'done', reply } as const].map((delta) => frames.render(delta)).join('');
  return assemble(text)?.content ?? fail('it failed');
}

const TURNS: Readonly<Record<string, readonly AssistantPart[]>> = {
  'a text': [A],
  'a call': [F],
  'a call with a state': [held(F, 1)],
  'a text and a call': [A, F],
  'a text with a state and a call': [held(A, 1), F],
  'a text and a call with a state': [A, held(F, 1)],
  'states on everything': [held(A, 1), held(F, 2), held(G, 3)],
  'a state on the first of two calls': [held(F, 1), G],
  'a state on the second of two calls': [F, held(G, 1)],
  'a state without a part': [held(said(''), 1)],
  'a call and a state without a part': [F, held(said(''), 1)],
  'a state without a part before a call': [held(said(''), 1), F],
  'states without parts around calls': [held(said(''), 1), held(F, 2), held(said(''), 3), G, held(said(''), 4)],
};

for (const thinking of ['', 'Hm.']) {
  for (const [name, parts] of Object.entries(TURNS)) {
    test(`a turn of ${name}${thinking === '' ? '' : ', with reasoning'}, comes back as it was, whole and streamed`, () => {
      const reply = { ...BARE, parts, thinking };
      deepEqual(turnFrom(whole(reply)), { parts, ignored: [] });
      deepEqual(turnFrom(streamed(reply)), { parts, ignored: [] });
    });
  }
}

/** In a stream nobody knows where one text ends, nor what belongs to it, before its end; behind a last text it is left out. */
for (const [name, parts, whenStreamed] of [
  ['two texts', [A, B], [said('AB')]],
  ['a text with a state', [held(A, 1)], [A]],
  ['two texts, the second with a state', [A, held(B, 1)], [said('AB')]],
  ['two texts with states', [held(A, 1), held(B, 2)], [said('AB')]],
  ['two texts, the second with a state, and a call', [A, held(B, 1), F], [held(said('AB'), 1), F]],
  ['two texts with states and a call', [held(A, 1), held(B, 2), held(F, 3)], [held(said('AB'), 1), held(said(''), 2), held(F, 3)]],
  ['a text behind a call', [held(F, 1), held(A, 2)], [held(A, 2), held(F, 1)]],
] as readonly (readonly [string, readonly AssistantPart[], readonly AssistantPart[]])[]) {
  test(`a turn of ${name} comes back as it was when whole, as one text when streamed`, () => {
    const reply = { ...BARE, parts };
    deepEqual(turnFrom(whole(reply)).parts, parts);
    deepEqual(turnFrom(streamed(reply)).parts, whenStreamed);
  });
}

test('results name the calls by the ids that were shown', () => {
  const content = whole({ ...BARE, parts: [G] }) as readonly { readonly id: string }[];
  const result = { type: 'tool_result', tool_use_id: content[0]?.id, content: 'ok' };
  const { request } = translate({ messages: [HI, { role: 'assistant', content }, { role: 'user', content: [result] }] });
  deepEqual(request.turns[2]?.parts, [{ type: 'tool_result', toolCallId: 'functions.g:1', content: 'ok', isError: false }]);
});
