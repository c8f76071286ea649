import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JSON_VALUES_MAX, createJsonBudget } from '../../src/base/json/limits.ts';
import { JsonObject, RawJson } from '../../src/base/json/value.ts';
import { DAMAGED_STATE, decodeState as decodeWithBudget, encodeState } from '../../src/core/provider-state.ts';

const content = { signature: 'sig/+=é😀', list: [1, null], raw: new RawJson('{"n": 1.0}') };
const contentText = '{"signature":"sig/+=é😀","list":[1,null],"raw":{"n": 1.0}}';

const decodeState = (dialect: string, provider: string, state: string) => decodeWithBudget(dialect, provider, state, createJsonBudget());

/** A state around any text. */
function stateOf(text: string | Buffer, head = 'gemini.google'): string {
  return `${head}.${Buffer.from(text).toString('base64url')}`;
}

test('encodeState writes dialect, provider and the JSON in base64url', () => {
  assert.equal(encodeState('openai-chat', 'my_Host-1', { a: 1 }), 'openai-chat.my_Host-1.eyJhIjoxfQ');
});

test('decodeState gives back what encodeState wrote, to the digit', () => {
  const decoded = decodeState('gemini', 'google', encodeState('gemini', 'google', content));
  assert.ok(decoded instanceof JsonObject);
  assert.equal(decoded.raw.text, contentText);
});

test('decodeState takes every character that a name or base64url may have', () => {
  const state = encodeState('openai-chat', 'My_Host-01', { a: '>>>???>>>???' });
  assert.match(state.slice('openai-chat.My_Host-01.'.length), /-.*_|_.*-/);
  assert.ok(decodeState('openai-chat', 'My_Host-01', state) instanceof JsonObject);
});

test('decodeState ignores the state of another provider or dialect', () => {
  const state = encodeState('gemini', 'google', content);
  assert.equal(decodeState('gemini', 'vertex', state), undefined);
  assert.equal(decodeState('anthropic', 'google', state), undefined);
});

const damaged: Readonly<Record<string, string>> = {
  'an empty string': '',
  'a string without dots': 'abc',
  'a missing provider': 'gemini.eyJhIjoxfQ',
  'an empty dialect': stateOf('{}', '.google'),
  'a dialect in capitals': stateOf('{}', 'Gemini.google'),
  'a dialect of 33 characters': stateOf('{}', `${'x'.repeat(33)}.google`),
  'a provider of 65 characters': stateOf('{}', `gemini.${'x'.repeat(65)}`),
  'a provider with a space': stateOf('{}', 'gemini.goo gle'),
  'no content': 'gemini.google.',
  'a line break at the end': stateOf('{}') + '\n',
  'padding': 'gemini.google.eyJhIjoxfQ==',
  'the alphabet of plain base64': 'gemini.google.eyJhIjoi+/8ifQ',
  'a dot too many': stateOf('{}') + '.x',
  'base64 of an impossible length': 'gemini.google.eyJhI',
  'bits left over that are not zero': 'gemini.google.eyJhIjoxfR',
  'bytes that are not UTF-8': stateOf(Buffer.from('{"a":"\xff"}', 'latin1')),
  'text that is not JSON': stateOf('{"a":}'),
  'a byte order mark': stateOf('\uFEFF{}'),
  'JSON that is no object': stateOf('[1]'),
  'a JSON string': stateOf('"a"'),
  'a key that comes twice': stateOf('{"a":1,"a":2}'),
  'nesting beyond the limit': stateOf('{"a":'.repeat(101) + '1' + '}'.repeat(101)),
};

for (const [what, state] of Object.entries(damaged)) {
  test(`decodeState finds a state damaged by ${what}`, () => {
    assert.equal(decodeState('gemini', 'google', state), DAMAGED_STATE);
  });
}

test('decodeState finds a damaged state of another provider damaged too', () => {
  assert.equal(decodeState('anthropic', 'anthropic', stateOf('[]')), DAMAGED_STATE);
});

test('decodeState accepts no state with one character replaced, or another content', () => {
  const state = encodeState('gemini', 'google', { a: 1 });
  for (let at = 'gemini.google.'.length; at < state.length; at += 1) {
    const decoded = decodeState('gemini', 'google', `${state.slice(0, at)}_${state.slice(at + 1)}`);
    if (decoded instanceof JsonObject) assert.notEqual(decoded.raw.text, '{"a":1}');
    else assert.equal(decoded, DAMAGED_STATE);
  }
});

test('decodeState takes the longest names that it documents', () => {
  const head = `${'d'.repeat(32)}.${'p'.repeat(64)}`;
  assert.ok(decodeState('d'.repeat(32), 'p'.repeat(64), stateOf('{}', head)) instanceof JsonObject);
});

test('decodeState keeps the states of one budget within its number of values together', () => {
  const half = stateOf(`{"a":[${'1,'.repeat(JSON_VALUES_MAX / 2)}1]}`);
  const budget = createJsonBudget();
  assert.ok(decodeWithBudget('gemini', 'google', half, budget) instanceof JsonObject);
  assert.equal(decodeWithBudget('gemini', 'google', half, budget), DAMAGED_STATE);
  assert.equal(decodeWithBudget('gemini', 'google', stateOf('{"a":1}'), budget), DAMAGED_STATE);
});
