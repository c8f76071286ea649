/** What compatible hosts do differently in a stream, end to end: the caller sees one format. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { framesOf, user } from '../running-gateway.ts';
import type { Frame, Part } from '../running-gateway.ts';
import { chunkOf, CHUNKED_HEAD, LAST_CHUNK } from '../upstream/raw-server.ts';
import { chunkFrame, GOOD_END, startRawGateway } from './wires.ts';

const DONE = 'data: [DONE]\n\n';

/** A frame whose delta holds pieces of calls. */
function pieces(...calls: readonly object[]): string {
  return chunkFrame({ tool_calls: calls });
}

function call(index: number | undefined, id: string | null | undefined, name: string | undefined, args: unknown): object {
  return { index, id, type: 'function', function: { name, arguments: args } };
}

const TWO_CALLS = [{ name: 'a', arguments: { n: 1 } }, { name: 'b', arguments: {} }];

type Row = readonly [
  what: string,
  sse: string,
  expected: { readonly text?: string; readonly calls?: readonly object[]; readonly thinking?: string; readonly stop?: string; readonly usage?: object },
];

const ROWS: readonly Row[] = [
  ['ids that are missing', pieces(call(0, undefined, 'a', '{"n":1}'), call(1, undefined, 'b', '')) + chunkFrame({}, 'tool_calls') + DONE, { calls: TWO_CALLS }],
  ['ids that are null', pieces(call(0, null, 'a', '{"n":1}'), call(1, null, 'b', '{}')) + chunkFrame({}, 'tool_calls') + DONE, { calls: TWO_CALLS }],
  ['ids that are empty', pieces(call(0, '', 'a', '{"n":1}'), call(1, '', 'b', '{}')) + chunkFrame({}, 'tool_calls') + DONE, { calls: TWO_CALLS }],
  ['ids that are the same', pieces(call(0, 'x', 'a', '{"n":1}'), call(1, 'x', 'b', '{}')) + chunkFrame({}, 'tool_calls') + DONE, { calls: TWO_CALLS }],
  ['an index that is missing', pieces(call(undefined, 'x', 'a', '{"n":1}')) + pieces(call(undefined, 'y', 'b', '{}')) + chunkFrame({}, 'tool_calls') + DONE, { calls: TWO_CALLS }],
  ['an index that is constant', pieces(call(0, 'x', 'a', '{"n":1}')) + pieces(call(0, 'y', 'b', '{}')) + chunkFrame({}, 'tool_calls') + DONE, { calls: TWO_CALLS }],
  ['indexes with gaps', pieces(call(3, 'x', 'a', '{"n":1}')) + pieces(call(7, 'y', 'b', '{}')) + chunkFrame({}, 'tool_calls') + DONE, { calls: TWO_CALLS }],
  ['a name after its arguments', pieces(call(0, 'x', undefined, '{"n":')) + pieces(call(0, undefined, 'a', '1}')) + chunkFrame({}, 'tool_calls') + DONE, { calls: [TWO_CALLS[0] ?? {}] }],
  ['a name on every piece', pieces(call(0, 'x', 'a', '{"n":')) + pieces(call(0, 'x', 'a', '1}')) + chunkFrame({}, 'tool_calls') + DONE, { calls: [TWO_CALLS[0] ?? {}] }],
  ['two calls to one function with neither ids nor an index', pieces(call(undefined, undefined, 'a', { n: 1 })) + pieces(call(undefined, undefined, 'a', '{}')) + chunkFrame({}, 'tool_calls') + DONE, { calls: [{ name: 'a', arguments: { n: 1 } }, { name: 'a', arguments: {} }] }],
  ['arguments that are an object', pieces(call(0, 'x', 'a', { n: 1 })) + chunkFrame({}, 'tool_calls') + DONE, { calls: [TWO_CALLS[0] ?? {}] }],
  ['empty lists of calls', chunkFrame({ content: 'Hi', tool_calls: [] }) + chunkFrame({ content: '!', tool_calls: [] }) + GOOD_END, { text: 'Hi!' }],
  ['an empty role', chunkFrame({ role: '', content: 'Hi' }) + GOOD_END, { text: 'Hi' }],
  ['content as a list', chunkFrame({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }, { type: 'text', text: 'Hi' }] }) + GOOD_END, { text: 'Hi', thinking: 'Hm.' }],
  ['reasoning under its older name', chunkFrame({ reasoning_content: 'Hm.' }) + chunkFrame({ content: 'Hi' }) + GOOD_END, { text: 'Hi', thinking: 'Hm.' }],
  ['reasoning under its newer name', chunkFrame({ reasoning: 'Hm.' }) + chunkFrame({ content: 'Hi' }) + GOOD_END, { text: 'Hi', thinking: 'Hm.' }],
  ['usage on every chunk', chunkFrame({ content: 'Hi' }, null, { usage: { prompt_tokens: 1, completion_tokens: 1 } }) + chunkFrame({}, 'stop', { usage: { prompt_tokens: 1, completion_tokens: 2 } }) + DONE, { text: 'Hi', usage: { input_tokens: 1, output_tokens: 2 } }],
  ['usage in x_groq', chunkFrame({ content: 'Hi' }) + chunkFrame({}, 'stop', { x_groq: { usage: { prompt_tokens: 1, completion_tokens: 2 } } }) + DONE, { text: 'Hi', usage: { input_tokens: 1, output_tokens: 2 } }],
  ['usage without choices', chunkFrame({ content: 'Hi' }) + chunkFrame({}, 'stop') + `data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n${DONE}`, { text: 'Hi', usage: { input_tokens: 1, output_tokens: 2 } }],
  ['more reasoning than output', chunkFrame({ content: 'Hi' }) + chunkFrame({}, 'stop', { usage: { prompt_tokens: 1, completion_tokens: 2, completion_tokens_details: { reasoning_tokens: 9 } } }) + DONE, { text: 'Hi', usage: { input_tokens: 1, output_tokens: 2, reasoning_tokens: 2 } }],
  ['a first chunk without choices', `data: {"choices":[],"prompt_filter_results":[]}\n\n${chunkFrame({ content: 'Hi' })}${GOOD_END}`, { text: 'Hi' }],
  ['no [DONE]', chunkFrame({ content: 'Hi' }) + chunkFrame({}, 'stop'), { text: 'Hi' }],
  ['stop where there are calls', pieces(call(0, 'x', 'a', '{"n":1}')) + chunkFrame({}, 'stop') + DONE, { calls: [TWO_CALLS[0] ?? {}] }],
  ['a finish reason of its own', chunkFrame({ content: 'Hi' }) + chunkFrame({}, 'eos') + DONE, { text: 'Hi' }],
  ['a finish reason of "null" until the end', chunkFrame({ content: 'H' }, 'null') + chunkFrame({ content: 'i' }, 'null') + chunkFrame({}, 'stop') + DONE, { text: 'Hi' }],
  ['a byte order mark and CRLF', `\uFEFF${(chunkFrame({ content: 'Hi' }) + GOOD_END).replaceAll('\n', '\r\n')}`, { text: 'Hi' }],
  ['CR alone', (chunkFrame({ content: 'Hi' }) + GOOD_END).replaceAll('\n', '\r'), { text: 'Hi' }],
  ['comments', `: PROCESSING\n\n${chunkFrame({ content: 'Hi' })}:\n\n${GOOD_END}`, { text: 'Hi' }],
  ['data without a space', (chunkFrame({ content: 'Hi' }) + GOOD_END).replaceAll('data: ', 'data:'), { text: 'Hi' }],
  ['data on several lines', chunkFrame({ content: 'Hi' }).replace(',"model"', ',\ndata: "model"') + GOOD_END, { text: 'Hi' }],
];

/** The calls without their ids, which have to be there and to differ. */
function withoutIds(calls: readonly (Part | undefined)[]): readonly object[] {
  const ids = new Set(calls.map((part) => part?.id));
  assert.equal(ids.size, calls.length);
  for (const id of ids) assert.ok(typeof id === 'string' && id !== '');
  return calls.map((part) => ({ name: part?.name, arguments: part?.arguments }));
}

function joined(frames: readonly Frame[], type: string): string {
  return frames.map((frame) => (frame.type === type ? (frame.text ?? '') : '')).join('');
}

test('a stream that deviates in one of the known ways is a good stream', async (t) => {
  const { gateway } = await startRawGateway(t, {
    onRequest: (socket, { body }) => {
      const { model } = JSON.parse(body) as { model: string };
      const sse = ROWS.find(([what]) => what === model)?.[1] ?? '';
      // In pieces, so that every deviation meets chunk boundaries too.
      const chunks = sse.match(/[^]{1,37}/g) ?? [];
      socket.write(CHUNKED_HEAD + chunks.map(chunkOf).join('') + LAST_CHUNK);
    },
  });
  for (const [what, , expected] of ROWS) {
    await t.test(what, async () => {
      const frames = await gateway.stream({ model: what, messages: [user('x')] });
      const done = frames.at(-1);
      assert.equal(done?.type, 'done', JSON.stringify(done));
      assert.equal(joined(frames, 'text_delta'), expected.text ?? '');
      assert.equal(joined(frames, 'thinking_delta'), expected.thinking ?? '');
      assert.deepEqual(withoutIds(frames.filter(({ type }) => type === 'tool_call').map((frame) => frame.tool_call)), expected.calls ?? []);
      assert.deepEqual(withoutIds(done.message?.content.filter(({ type }) => type === 'tool_call') ?? []), expected.calls ?? []);
      assert.equal(done.stop_reason, expected.calls === undefined ? 'end_turn' : 'tool_use');
      if (expected.usage !== undefined) assert.deepEqual(done.usage, expected.usage);
    });
  }
});

const FAILED_ROWS: readonly (readonly [what: string, sse: string, kind: string])[] = [
  ['an error with a numeric code', `${chunkFrame({ content: 'Hi' })}data: {"error":{"code":502,"message":"no"}}\n\n`, 'server'],
  ['an error that is a string', `${chunkFrame({ content: 'Hi' })}data: {"error":"no"}\n\n`, 'server'],
  ['an error beside a finish reason', chunkFrame({ content: 'Hi' }) + chunkFrame({}, 'error', { error: { code: 502, message: 'no' } }) + DONE, 'server'],
  ['a cut where finish reasons are "null" until the end', chunkFrame({ content: 'Hi' }, 'null') + chunkFrame({}, 'null'), 'server'],
  ['a cut where finish reasons are empty until the end', chunkFrame({ content: 'Hi' }, '') + chunkFrame({}, ''), 'server'],
  ['[DONE] without a finish reason', chunkFrame({ content: 'Hi' }) + DONE, 'server'],
  ['a page of HTML in mid-stream', `${chunkFrame({ content: 'Hi' })}<html>\n\ndata: <html>\n\n`, 'server'],
];

test('a stream that fails in one of the known ways ends with error', async (t) => {
  const { gateway } = await startRawGateway(t, {
    onRequest: (socket, { body }) => {
      const { model } = JSON.parse(body) as { model: string };
      const [first = '', ...rest] = (FAILED_ROWS.find(([what]) => what === model)?.[1] ?? '').split(/(?<=\n\n)/);
      socket.write(CHUNKED_HEAD + chunkOf(first) + chunkOf(rest.join('')) + LAST_CHUNK);
    },
  });
  for (const [what, , kind] of FAILED_ROWS) {
    await t.test(what, async () => {
      const response = await gateway.post('/v1/chat/stream', { model: what, messages: [user('x')] });
      assert.equal(response.status, 200);
      const frames = framesOf(await response.text());
      assert.deepEqual(frames.map((frame) => frame.type), ['text_delta', 'error']);
      assert.equal(frames.at(-1)?.kind, kind);
    });
  }
});
