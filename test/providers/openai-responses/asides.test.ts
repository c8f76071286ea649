import { test } from 'node:test';
import assert from 'node:assert/strict';
import { replyText } from '../../../src/core/chat.ts';
import type { Delta } from '../../../src/core/delta.ts';
import { Failure } from '../../../src/core/failure.ts';
import { decodeChunks, endOf } from '../../decode-stream.ts';
import { assistant, good, requestOf, text, user } from '../openai-chat/setup.ts';
import { bodyOf, completed, functionCall, inputOf, itemDone, message, responses, sse, stateOf, textDelta } from './setup.ts';

const FORMAT = { text: { format: { type: 'json_schema', name: 'output', strict: true, schema: {} } } };
const ASIDE = message('Let me see.', { phase: 'commentary' });
const ANSWER = message('{"city":"Paris"}', { phase: 'final_answer' });
const CARRIED = { type: 'message', role: 'assistant', content: 'Let me see.', phase: 'commentary' };

const created = (fields: object): { type: string } => ({ type: 'response.created', response: { id: 'resp_1', ...fields } } as { type: string });
const added = (index: number, item: object): { type: string } => ({ type: 'response.output_item.added', output_index: index, item: { ...item, content: [] } } as { type: string });

test('of an answer in JSON only the answer is text; what was said on the way to it is thinking', () => {
  for (const format of [FORMAT, { text: { format: { type: 'json_object' } } }]) {
    const reply = good(responses.decodeChat(bodyOf([ASIDE, ANSWER], format)));
    assert.deepEqual([replyText(reply), reply.thinking], ['{"city":"Paris"}', 'Let me see.']);
  }
});

test('of any other answer all of it is text', () => {
  for (const fields of [{}, { text: { format: { type: 'text' } } }, { text: null }]) {
    const reply = good(responses.decodeChat(bodyOf([ASIDE, ANSWER], fields)));
    assert.deepEqual([replyText(reply), reply.thinking], ['Let me see.{"city":"Paris"}', '']);
  }
});

test('a stream says so from the first word on, and ends like its whole twin', () => {
  const events = [
    created(FORMAT), added(0, ASIDE), textDelta('Let me '), textDelta('see.'), itemDone(ASIDE), added(1, ANSWER), textDelta('{"city":', 1), textDelta('"Paris"}', 1),
    itemDone(ANSWER, 1), completed({ output: [ASIDE, ANSWER], ...FORMAT }),
  ];
  const deltas = decodeChunks(responses, [sse(...events)]);
  const said = deltas.map((delta: Delta) => ('text' in delta ? [delta.type, delta.text] : [delta.type]));
  assert.deepEqual(said, [['thinking', 'Let me '], ['thinking', 'see.'], ['text', '{"city":'], ['text', '"Paris"}'], ['done']]);
  assert.deepEqual(good(endOf(deltas)), good(responses.decodeChat(bodyOf([ASIDE, ANSWER], FORMAT))));
});

test('of several messages without a phase the first that says something is the answer', () => {
  const [empty, again] = [message(''), message('{"city":"Paris"}', { id: 'msg_2' })];
  const reply = good(responses.decodeChat(bodyOf([empty, message('{"city":"Paris"}'), again], FORMAT)));
  assert.deepEqual([replyText(reply), reply.thinking], ['{"city":"Paris"}', '{"city":"Paris"}']);
  assert.deepEqual(inputOf([user('q'), assistant(...reply.parts)]).slice(1), [
    { role: 'assistant', content: '{"city":"Paris"}' },
    { type: 'message', role: 'assistant', content: '{"city":"Paris"}' },
  ]);
  const events = [
    created(FORMAT), added(0, empty), itemDone(empty), added(1, again), textDelta('{"city":"Paris"}', 1), itemDone(again, 1),
    added(2, again), textDelta('{"city":', 2), textDelta('"Paris"}', 2), itemDone(again, 2), completed(),
  ];
  assert.deepEqual(good(endOf(decodeChunks(responses, [sse(...events)]))), reply);
});

test('what is said on the way is a paragraph of its own where no item has a number, and carries nothing without a word', () => {
  const unnumbered = (item: object): { type: string } => ({ type: 'response.output_item.done', item } as { type: string });
  const silent = message('', { phase: 'commentary' });
  const end = endOf(decodeChunks(responses, [sse(created(FORMAT), unnumbered(ASIDE), unnumbered(silent), unnumbered(ASIDE), unnumbered(ANSWER), completed())]));
  const reply = good(end);
  assert.deepEqual([replyText(reply), reply.thinking], ['{"city":"Paris"}', 'Let me see.\n\nLet me see.']);
  assert.deepEqual(inputOf([user('q'), assistant(...reply.parts)]).slice(1, -1), [CARRIED, CARRIED]);
});

test('a response that brings everything at its end is read alike', () => {
  const reply = good(endOf(decodeChunks(responses, [sse(completed({ output: [ASIDE, ANSWER], ...FORMAT }))])));
  assert.deepEqual([replyText(reply), reply.thinking], ['{"city":"Paris"}', 'Let me see.']);
});

test('what was said on the way goes back in its old place', () => {
  for (const output of [[ASIDE, ANSWER], [ASIDE, functionCall('c1', '{}')], [ASIDE]]) {
    const { parts } = good(responses.decodeChat(bodyOf(output, FORMAT)));
    const answered = parts.some((part) => part.type === 'tool_call')
      ? [{ role: 'tool', parts: [{ type: 'tool_result', toolCallId: 'c1', content: 'x', isError: false }] } as const]
      : [];
    assert.deepEqual(inputOf([user('q'), assistant(...parts), ...answered])[1], CARRIED);
  }
});

test('a state that holds any other message is refused', () => {
  const forged = [{ ...CARRIED, role: 'system' }, { ...CARRIED, phase: 'a b' }, { ...CARRIED, phase: true }, { ...CARRIED, content: '' }, { ...CARRIED, content: [] }, { ...CARRIED, id: 'x' }];
  for (const item of forged) {
    const state = stateOf(JSON.stringify({ before: [item] }));
    const refused = responses.encodeChat(requestOf({ turns: [user('q'), assistant(text('a', state)), user('r')] }), false);
    assert.ok(refused instanceof Failure && refused.kind === 'bad_request', JSON.stringify(item));
  }
});

test('an answer in JSON that is refused, or cut, says so in its stop reason', () => {
  const refused = good(responses.decodeChat(bodyOf([{ type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: "I can't help with that." }] }], FORMAT)));
  assert.deepEqual([replyText(refused), refused.stopReason], ["I can't help with that.", 'refusal']);
  const cut = good(responses.decodeChat(bodyOf([], { ...FORMAT, status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })));
  assert.deepEqual([replyText(cut), cut.stopReason], ['', 'max_tokens']);
});
