import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderJson } from '../../../src/base/json/render.ts';
import { RawJson } from '../../../src/base/json/value.ts';
import { OPENAI_CHAT } from '../../../src/callers/openai-chat/dialect.ts';
import { CompletionChunks, encodeCompletion } from '../../../src/callers/openai-chat/reply.ts';
import { replyText, replyToolCalls } from '../../../src/core/chat.ts';
import type { ChatReply, ToolCallPart } from '../../../src/core/chat.ts';
import type { Delta } from '../../../src/core/delta.ts';
import { Failure } from '../../../src/core/failure.ts';
import { createRandom } from '../../base/random.ts';
import { asked, BARE_REPLY, eventsOf, FACTS, streamed, translated } from '../dialect-testing.ts';
import { randomDeltas, randomReply } from '../random-reply.ts';

const CALL: ToolCallPart = { type: 'tool_call', id: 'call_1', name: 'weather', arguments: new RawJson('{"city":\n"Oslo"}'), state: 'a.acme.BB' };
const USAGE = { inputTokens: 5, outputTokens: 7, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 2 };

function chunksFor(wantsUsage: boolean): CompletionChunks {
  return new CompletionChunks({ ...FACTS, request: asked('asked-model', wantsUsage) });
}

function streamOf(wantsUsage: boolean, ...deltas: readonly Delta[]): string {
  const chunks = chunksFor(wantsUsage);
  return deltas.map((delta) => chunks.render(delta)).join('');
}

function done(reply: Partial<ChatReply>): Delta {
  return { type: 'done', reply: { ...BARE_REPLY, ...reply } };
}

const HEAD = 'data: {"id":"chatcmpl-a1","object":"chat.completion.chunk","created":1795257683,"model":"asked-model","choices":[';

function chunk(delta: string, finish = 'null', tail = ''): string {
  return `${HEAD}{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}]${tail}}\n\n`;
}

test('a stream of thinking, text and a call has the chunks of the Chat Completions form, in order', () => {
  const parts = [{ type: 'text', text: 'Hello', state: 'a.acme.AA' } as const, CALL];
  assert.equal(
    streamOf(
      false,
      { type: 'thinking', text: 'Hm.' },
      { type: 'text', text: 'Hel' },
      { type: 'text', text: 'lo' },
      { type: 'tool_call', call: CALL },
      done({ parts, thinking: 'Hm.', stopReason: 'tool_use', usage: USAGE }),
    ),
    chunk('{"role":"assistant","content":""}') +
      chunk('{"reasoning_content":"Hm."}') +
      chunk('{"content":"Hel"}') +
      chunk('{"content":"lo"}') +
      chunk(
        '{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\\"city\\":\\n\\"Oslo\\"}"},' +
          '"extra_content":{"google":{"thought_signature":"gateway:own=a.acme.BB,text=a.acme.AA"}}}]}',
      ) +
      chunk('{}', '"tool_calls"') +
      'data: [DONE]\n\n',
  );
});

test('a stream says its usage in a chunk without choices when it was asked to', () => {
  const noUsage = ',"usage":null';
  const usage = '{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"completion_tokens_details":{"reasoning_tokens":2}}';
  const start = chunk('{"role":"assistant","content":""}', 'null', noUsage) + chunk('{}', '"stop"', noUsage);
  assert.equal(streamOf(true, done({ usage: USAGE })), `${start}${HEAD}],"usage":${usage}}\n\ndata: [DONE]\n\n`);
  assert.equal(streamOf(true, done({})), `${start}data: [DONE]\n\n`);
});

test('parallel calls have indexes', () => {
  const stream = streamOf(false, done({ parts: [CALL, { ...CALL, id: 'call_2' }], stopReason: 'tool_use' }));
  assert.deepEqual([...stream.matchAll(/"tool_calls":\[\{"index":(\d),"id":"(\w+)"/g)].map(([, index, id]) => [index, id]), [['0', 'call_1'], ['1', 'call_2']]);
});

test('the states of a stream without calls come before its end', () => {
  const stream = streamOf(false, { type: 'text', text: 'A' }, done({ parts: [{ type: 'text', text: 'A', state: 'a.acme.AA' }] }));
  assert.ok(stream.endsWith(`${chunk('{"extra_content":{"google":{"thought_signature":"gateway:text=a.acme.AA"}}}')}${chunk('{}', '"stop"')}data: [DONE]\n\n`));
});

test('a stream of a refusal without a word says a refusal', () => {
  assert.equal(
    streamOf(false, done({ stopReason: 'refusal' })),
    `${chunk('{"role":"assistant","content":""}')}${chunk('{"refusal":"The request was declined."}')}${chunk('{}', '"stop"')}data: [DONE]\n\n`,
  );
});

test('a stream that fails ends with an error and no end of success', () => {
  const failure = new Failure('server', 'acme ended the stream');
  const error = 'data: {"error":{"message":"acme ended the stream","type":"api_error","param":null,"code":"provider_error"}}\n\n';
  assert.equal(streamOf(false, { type: 'failed', failure }), error);
  assert.equal(streamOf(false, { type: 'text', text: 'A' }, { type: 'failed', failure }), chunk('{"role":"assistant","content":""}') + chunk('{"content":"A"}') + error);
});

type Chunk = {
  readonly id: string;
  readonly object: string;
  readonly choices: readonly { readonly index: number; readonly delta: Readonly<Record<string, unknown>>; readonly finish_reason: string | null }[];
};

type Message = Readonly<Record<string, unknown>>;

/** Puts a stream's message together as the helper of an SDK does, which checks each chunk. */
function assembled(stream: string): Message {
  const events = eventsOf(stream);
  assert.equal(events.at(-1)?.data, '[DONE]');
  const message: Record<string, unknown> = {};
  let finish: string | null = null;
  for (const { name, data } of events.slice(0, -1)) {
    assert.equal(name, undefined);
    const { id, object, choices } = JSON.parse(data) as Chunk;
    assert.deepEqual([id, object], ['chatcmpl-a1', 'chat.completion.chunk']);
    for (const { index, delta, finish_reason } of choices) {
      assert.deepEqual([index, finish], [0, null]);
      finish = finish_reason;
      for (const [key, value] of Object.entries(delta)) {
        if (key === 'tool_calls') message[key] = [...((message[key] as readonly unknown[] | undefined) ?? []), ...(value as readonly unknown[])];
        else message[key] = typeof value === 'string' ? `${(message[key] as string | undefined) ?? ''}${value}` : value;
      }
    }
  }
  assert.ok(finish !== null);
  assert.equal(message['role'], 'assistant');
  return message;
}

function replayed(message: Message): ChatReply {
  const { turns } = translated(OPENAI_CHAT, { model: 'm', messages: [{ role: 'user', content: 'Hi' }, message] }).request;
  const turn = turns[1];
  assert.ok(turn?.role === 'assistant');
  return { ...BARE_REPLY, parts: turn.parts };
}

test('a reply comes back as it was, whole and streamed', () => {
  const parts = [{ type: 'text', text: 'A', state: 'a.acme.AA' } as const, CALL, { ...CALL, id: 'call_2', state: undefined }];
  for (const said of [parts, parts.slice(0, 1), parts.slice(1)]) {
    const reply: ChatReply = { ...BARE_REPLY, parts: said, thinking: 'Hm.' };
    const { choices } = JSON.parse(renderJson(encodeCompletion(reply, FACTS))) as { choices: readonly [{ message: Message }] };
    assert.deepEqual(replayed(choices[0].message).parts, said);
    assert.deepEqual(replayed(assembled(streamed(chunksFor(true), reply))).parts, said);
  }
});

test('any reply comes back with its text, its calls and all of its states, whole and streamed', () => {
  for (let seed = 0; seed < 2000; seed += 1) {
    const random = createRandom(seed);
    const reply: ChatReply = { ...randomReply(random), id: undefined, stopReason: 'end_turn' };
    const chunks = chunksFor(random.below(2) === 0);
    const { choices } = JSON.parse(renderJson(encodeCompletion(reply, FACTS))) as { choices: readonly [{ message: Message }] };
    for (const message of [choices[0].message, assembled(randomDeltas(random, reply).map((delta) => chunks.render(delta)).join(''))]) {
      const back = replayed(message);
      assert.equal(replyText(back), replyText(reply), `seed ${seed}`);
      assert.deepEqual(replyToolCalls(back), replyToolCalls(reply), `seed ${seed}`);
      assert.deepEqual(statesOf(back), statesOf(reply), `seed ${seed}`);
    }
  }
});

function statesOf(reply: ChatReply): readonly string[] {
  return reply.parts.flatMap(({ state }) => state ?? []).sort();
}
