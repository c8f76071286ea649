import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RawJson } from '../../src/base/json/value.ts';
import { replyText, replyToolCalls, unreachable } from '../../src/core/chat.ts';
import type { AssistantPart, ChatReply } from '../../src/core/chat.ts';

function replyOf(parts: readonly AssistantPart[]): ChatReply {
  return { id: undefined, model: undefined, parts, thinking: 'not part of it', stopReason: 'end_turn', usage: undefined };
}

const text = (content: string): AssistantPart => ({ type: 'text', text: content, state: undefined });
const call = (id: string): AssistantPart => ({ type: 'tool_call', id, name: 'f', arguments: new RawJson('{}'), state: undefined });

test('replyText joins every text part of the turn', () => {
  assert.equal(replyText(replyOf([text('a'), call('1'), text(' b'), text('')])), 'a b');
});

test('replyText of a turn without text is empty', () => {
  assert.equal(replyText(replyOf([])), '');
  assert.equal(replyText(replyOf([call('1')])), '');
});

test('replyToolCalls gives the calls in their order', () => {
  assert.deepEqual(replyToolCalls(replyOf([call('2'), text('a'), call('1')])), [call('2'), call('1')]);
});

test('replyToolCalls of a turn without calls is empty', () => {
  assert.deepEqual(replyToolCalls(replyOf([text('a')])), []);
});

test('unreachable throws, naming what came', () => {
  assert.throws(() => unreachable('surprise' as never), { message: 'unreachable: surprise' });
});
