import { deepEqual, equal, ok } from 'node:assert/strict';
import test from 'node:test';
import { RawJson } from '../../src/base/json/value.ts';
import type { Turn } from '../../src/core/chat.ts';
import { checkConversation } from '../../src/core/conversation.ts';

const user: Turn = { role: 'user', parts: [{ type: 'text', text: 'hi', state: undefined }] };

/** An assistant turn: some text, then a call for each id. */
function calls(...ids: string[]): Turn {
  const parts = ids.map((id) => {
    return { type: 'tool_call', id, name: 'look', arguments: new RawJson('{}'), state: undefined } as const;
  });
  return { role: 'assistant', parts: [{ type: 'text', text: 'let me see', state: undefined }, ...parts] };
}

function results(...ids: string[]): Turn {
  return {
    role: 'tool',
    parts: ids.map((toolCallId) => ({ type: 'tool_result', toolCallId, content: 'x', isError: false }) as const),
  };
}

const accepted: [what: string, turns: Turn[]][] = [
  ['a conversation without tools', [user, calls(), user]],
  ['a result in the turn after its call', [user, calls('a'), results('a')]],
  ['two results in one tool turn', [user, calls('a', 'b'), results('a', 'b')]],
  ['two results in two tool turns, in another order', [user, calls('a', 'b'), results('b'), results('a'), user]],
  ['an id used again in a later assistant turn', [user, calls('a'), results('a'), calls('a'), results('a')]],
  ['an assistant turn first', [calls('a'), results('a')]],
  ['two assistant turns in a row, the first one answered by none because it calls none', [user, calls(), calls()]],
];

for (const [what, turns] of accepted) {
  test(`checkConversation accepts ${what}`, () => {
    equal(checkConversation(turns), undefined);
  });
}

const refused: [what: string, turns: Turn[], sentence: string][] = [
  [
    'a result before any assistant turn',
    [user, results('a')],
    'messages[1].content[0]: the assistant message before it has no tool_call with the id "a"',
  ],
  [
    'a result with an id that was not called',
    [user, calls('a'), results('a', 'b')],
    'messages[2].content[1]: the assistant message before it has no tool_call with the id "b"',
  ],
  [
    'a result for a call of an earlier assistant turn',
    [user, calls('a'), results('a'), calls('b'), results('a')],
    'messages[4].content[0]: the assistant message before it has no tool_call with the id "a"',
  ],
  [
    'a second result in the same tool turn',
    [user, calls('a'), results('a', 'a')],
    'messages[2].content[1]: tool_call "a" has been answered already',
  ],
  [
    'a second result in a later tool turn',
    [user, calls('a', 'b'), results('a'), results('b', 'a')],
    'messages[3].content[1]: tool_call "a" has been answered already',
  ],
  [
    'a second result after a user turn',
    [user, calls('a'), results('a'), user, results('a')],
    'messages[4].content[0]: tool_call "a" has been answered already',
  ],
  [
    'a user turn before a call is answered',
    [user, calls('a', 'b'), results('a'), user, results('b')],
    'messages[1].content[2]: tool_call "b" is not answered before messages[3]',
  ],
  [
    'an assistant turn before a call is answered',
    [user, calls('a'), calls('b'), results('b')],
    'messages[1].content[1]: tool_call "a" is not answered before messages[2]',
  ],
  [
    'an end before a call is answered',
    [user, calls('a', 'b'), results('b')],
    'messages[1].content[1]: tool_call "a" is not answered by the end of messages',
  ],
  [
    'two calls of one turn with the same id',
    [user, calls('a', 'a'), results('a')],
    'messages[1].content[2]: this message has another tool_call with id "a"',
  ],
];

for (const [what, turns, sentence] of refused) {
  test(`checkConversation refuses ${what}`, () => {
    const failure = checkConversation(turns);
    deepEqual([failure?.kind, failure?.status, failure?.message], ['bad_request', 400, sentence]);
  });
}

test('checkConversation quotes an id of 64 characters whole and cuts a longer one there', () => {
  equal(
    checkConversation([results('x'.repeat(64))])?.message,
    `messages[0].content[0]: the assistant message before it has no tool_call with the id "${'x'.repeat(64)}"`,
  );
  equal(
    checkConversation([results('x'.repeat(65))])?.message,
    `messages[0].content[0]: the assistant message before it has no tool_call with the id "${'x'.repeat(64)}…"`,
  );
});

test('checkConversation escapes control characters and quotes of an id', () => {
  equal(
    checkConversation([results('a"\r\n\u0000')])?.message,
    'messages[0].content[0]: the assistant message before it has no tool_call with the id "a\\"\\r\\n\\u0000"',
  );
});

test('checkConversation takes `__proto__` for an id like any other', () => {
  equal(checkConversation([user, calls('__proto__'), results('__proto__')]), undefined);
  ok(checkConversation([user, calls('a'), results('__proto__')]) !== undefined);
});

test('checkConversation reads each turn once, also among 100,000', () => {
  let reads = 0;
  const turn = (real: Turn): Turn => ({
    role: real.role,
    get parts() {
      reads += 1;
      return real.parts;
    },
  }) as Turn;
  const turns = Array.from({ length: 25_000 }, () => [user, calls('a', 'b'), results('a'), results('b')].map(turn)).flat();
  equal(checkConversation(turns), undefined);
  equal(reads, 75_000);
});
