/** What a client that appends the output of an answer to its next request brings back. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderJson } from '../../../src/base/json/render.ts';
import { RawJson } from '../../../src/base/json/value.ts';
import { OPENAI_RESPONSES } from '../../../src/callers/openai-responses/dialect.ts';
import { encodeResponse } from '../../../src/callers/openai-responses/reply.ts';
import { ResponseEvents } from '../../../src/callers/openai-responses/stream.ts';
import { replyText, replyToolCalls } from '../../../src/core/chat.ts';
import type { AssistantPart, ChatReply, ToolCallPart } from '../../../src/core/chat.ts';
import type { StreamFrames } from '../../../src/core/dialect.ts';
import { createRandom } from '../../base/random.ts';
import { BARE_REPLY, eventsOf, FACTS, streamed, translated } from '../dialect-testing.ts';
import { randomDeltas, randomReply } from '../random-reply.ts';

type Item = Readonly<Record<string, unknown>>;

/** The assistant's parts of a request that holds these items. */
function replayed(items: readonly Item[]): readonly AssistantPart[] {
  const input = [{ role: 'user', content: 'Hi' }, ...items, { role: 'user', content: 'And now?' }];
  const { turns } = translated(OPENAI_RESPONSES, { model: 'm', input }).request;
  return turns.flatMap((turn) => (turn.role === 'assistant' ? turn.parts : []));
}

function outputOf(reply: ChatReply): readonly Item[] {
  return (JSON.parse(renderJson(encodeResponse(reply, FACTS))) as { output: readonly Item[] }).output;
}

function streamedOutput(stream: string): readonly Item[] {
  const last = JSON.parse(eventsOf(stream).at(-1)?.data ?? '') as { response: { output: readonly Item[] } };
  return last.response.output;
}

function framesOf(): StreamFrames {
  return new ResponseEvents(FACTS);
}

const text = (value: string, state?: string): AssistantPart => ({ type: 'text', text: value, state });
const call = (id: string, state?: string): ToolCallPart => ({ type: 'tool_call', id, name: 'weather', arguments: new RawJson('{"n":1.0}'), state });

const USUAL: Readonly<Record<string, readonly AssistantPart[]>> = {
  'a text': [text('A')],
  'a text with a state': [text('A', 'a.acme.AA')],
  'a call': [call('c')],
  'a call with a state': [call('c', 'a.acme.AA')],
  'a text and calls': [text('A', 'a.acme.AA'), call('c'), call('d', 'a.acme.BB')],
  'a text without a state and calls': [text('A'), call('c', 'a.acme.BB'), call('d')],
  'a text and a state of its own': [text('A'), text('', 'a.acme.AA')],
  'calls and a state of its own': [call('c', 'a.acme.BB'), text('', 'a.acme.AA')],
  'a state alone': [text('', 'a.acme.AA')],
  'a state before a call': [text('', 'a.acme.AA'), call('c', 'a.acme.BB')],
  'a state before a call without one': [text('', 'a.acme.AA'), call('c')],
};

for (const [what, parts] of Object.entries(USUAL)) {
  for (const thinking of ['', 'Hm.']) {
    test(`${what} ${thinking === '' ? '' : 'after thinking '}comes back as it was, whole and streamed`, () => {
      const reply: ChatReply = { ...BARE_REPLY, parts, thinking };
      assert.deepEqual(replayed(outputOf(reply)), parts);
      assert.deepEqual(replayed(streamedOutput(streamed(framesOf(), reply))), parts);
    });
  }
}

test('a client that keeps only the items of output_item.done brings back the same', () => {
  const reply: ChatReply = { ...BARE_REPLY, thinking: 'Hm.', parts: USUAL['a text and calls'] ?? [] };
  const stream = streamed(framesOf(), reply);
  const items = eventsOf(stream).flatMap(({ name, data }) => (name === 'response.output_item.done' ? [(JSON.parse(data) as { item: Item }).item] : []));
  assert.deepEqual(items, streamedOutput(stream));
});

test('a client that drops the ids, and those of its messages that are empty, brings back the same', () => {
  const parts = USUAL['a text and a state of its own'] ?? [];
  const items = outputOf({ ...BARE_REPLY, parts }).map(({ id: _, ...item }) => item);
  assert.deepEqual(replayed(items), parts);
});

test('any whole reply comes back as it was', () => {
  for (let seed = 0; seed < 2000; seed += 1) {
    const reply = { ...randomReply(createRandom(seed)), stopReason: 'end_turn' } as const;
    assert.deepEqual(replayed(outputOf(reply)), reply.parts, `seed ${seed}`);
  }
});

test('any streamed reply comes back with its text, its calls and all of its states', () => {
  for (let seed = 0; seed < 2000; seed += 1) {
    const random = createRandom(seed);
    const reply = { ...randomReply(random), stopReason: 'end_turn' } as const;
    const frames = framesOf();
    const output = streamedOutput(randomDeltas(random, reply).map((delta) => frames.render(delta)).join(''));
    const parts = replayed(output);
    const back: ChatReply = { ...reply, parts };
    assert.equal(replyText(back), replyText(reply), `seed ${seed}`);
    assert.deepEqual(replyToolCalls(back), replyToolCalls(reply), `seed ${seed}`);
    assert.deepEqual(statesOf(parts), statesOf(reply.parts), `seed ${seed}`);
  }
});

function statesOf(parts: readonly AssistantPart[]): readonly string[] {
  return parts.flatMap(({ state }) => state ?? []).sort();
}
