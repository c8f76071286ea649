import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from '../../../src/base/json/parse.ts';
import { JsonArray } from '../../../src/base/json/value.ts';
import { StreamedArgs } from '../../../src/providers/gemini/arguments.ts';
import { deltasOf } from './fixtures.ts';

/** The arguments that the pieces make, or the index of the first piece that does not fit. */
function argsOf(pieces: string): string | number {
  const parsed = parseJson(pieces);
  if (!(parsed instanceof JsonArray)) throw new Error('no array');
  const args = new StreamedArgs();
  const misfit = parsed.items.findIndex((piece) => !args.add(piece));
  return misfit === -1 ? args.raw.text : misfit;
}

for (const [what, pieces, expected] of [
  ['nothing', '[]', '{}'],
  ['a string in pieces', '[{"jsonPath":"$.a","stringValue":"x","willContinue":true},{"jsonPath":"$.a","stringValue":"y"},{"jsonPath":"$.a","stringValue":""}]', '{"a":"xy"}'],
  ['numbers digit for digit', '[{"jsonPath":"$.a","numberValue":1.0},{"jsonPath":"$.b","numberValue":1e-7}]', '{"a":1.0,"b":1e-7}'],
  ['booleans and null', '[{"jsonPath":"$.a","boolValue":false},{"jsonPath":"$.b","nullValue":"NULL_VALUE"}]', '{"a":false,"b":null}'],
  ['objects and arrays', '[{"jsonPath":"$.a.b[0].c","stringValue":"x"},{"jsonPath":"$.a.b[0].d","stringValue":"y"},{"jsonPath":"$.a.b[1]","stringValue":"z"}]', '{"a":{"b":[{"c":"x","d":"y"},"z"]}}'],
  ['arrays of arrays', '[{"jsonPath":"$.a[0][0]","numberValue":1},{"jsonPath":"$.a[0][1]","numberValue":2}]', '{"a":[[1,2]]}'],
  ['quoted names', `[{"jsonPath":"$['a b']['it\\\\'s'].c","stringValue":"x"}]`, `{"a b":{"it's":{"c":"x"}}}`],
  ['names that objects inherit', '[{"jsonPath":"$.__proto__.x","stringValue":"y"},{"jsonPath":"$.constructor","stringValue":"z"}]', '{"__proto__":{"x":"y"},"constructor":"z"}'],
  ['a piece without a value', '[{"jsonPath":"$.a","willContinue":true}]', '{}'],
  ['a piece that is no object', '[1]', 0],
  ['no path', '[{"stringValue":"x"}]', 0],
  ['a path to the root', '[{"jsonPath":"$","stringValue":"x"}]', 0],
  ['a path that does not begin at the root', '[{"jsonPath":"a","stringValue":"x"}]', 0],
  ['a path that is none', '[{"jsonPath":"$.a..b","stringValue":"x"}]', 0],
  ['a hole in an array', '[{"jsonPath":"$.a[1]","stringValue":"x"}]', 0],
  ['a far index', '[{"jsonPath":"$.a[999999999].b","stringValue":"x"}]', 0],
  ['an index into an object', '[{"jsonPath":"$[0]","stringValue":"x"}]', 0],
  ['a name in an array', '[{"jsonPath":"$.a[0]","stringValue":"x"},{"jsonPath":"$.a.b","stringValue":"x"}]', 1],
  ['a name in a string', '[{"jsonPath":"$.a","stringValue":"x"},{"jsonPath":"$.a.b.c","stringValue":"x"}]', 1],
  ['a path of more than 100 steps', `[{"jsonPath":"$${'.a'.repeat(101)}","stringValue":"x"}]`, 0],
] as const) {
  test(`StreamedArgs reads ${what}`, () => {
    assert.equal(argsOf(pieces), expected);
  });
}

const part = (functionCall: object, fields: object = {}): string => JSON.stringify({ candidates: [{ content: { parts: [{ functionCall, ...fields }] } }] });
const STOP = '{"candidates":[{"finishReason":"STOP"}]}';

test('a call that arrives in pieces is one tool_call, with its id and the signature of whichever piece has it', () => {
  const deltas = deltasOf([
    part({ name: 'f', id: 'x', willContinue: true }, { thoughtSignature: 'sig' }),
    part({ partialArgs: [{ jsonPath: '$.a', stringValue: 'Os', willContinue: true }], willContinue: true }),
    part({ partialArgs: [{ jsonPath: '$.a', stringValue: 'lo' }], willContinue: true }),
    part({}),
    part({ name: 'g', partialArgs: [{ jsonPath: '$.n', numberValue: 2 }] }),
    part({ name: 'h' }),
    part({ name: 'i', willContinue: true }),
    part({}, { thoughtSignature: 'sig' }),
    STOP,
  ]);
  assert.deepEqual(
    deltas.map((delta) => (delta.type === 'tool_call' ? [delta.call.name, delta.call.arguments.text, delta.call.state !== undefined] : delta.type)),
    [['f', '{"a":"Oslo"}', true], ['g', '{"n":2}', false], ['h', '{}', false], ['i', '{}', true], 'done'],
  );
  assert.equal(deltas[0]?.type === 'tool_call' && deltas[0].call.id, 'x');
});

for (const [what, frames, message] of [
  ['is cut by the end', [part({ name: 'f', willContinue: true }), STOP], 'the reply ended inside a function call'],
  ['is cut by another', [part({ name: 'f', willContinue: true }), part({ name: 'g' })], 'a function call began before the last one ended'],
  ['has no beginning', [part({})], 'a function call has no name'],
  ['contradicts itself', [part({ name: 'f', partialArgs: [{ jsonPath: '$[0]', stringValue: '' }] })], 'the arguments of a function call do not fit together'],
] as const) {
  test(`a call in pieces that ${what} fails the stream`, () => {
    const last = deltasOf(frames).at(-1);
    assert.ok(last?.type === 'failed');
    assert.equal(last.failure.message, `gemini answered 200, but ${message}`);
  });
}

test('a call in pieces that the token limit cuts is left out', () => {
  const last = deltasOf([part({ name: 'f', willContinue: true }), '{"candidates":[{"finishReason":"MAX_TOKENS"}]}']).at(-1);
  assert.ok(last?.type === 'done');
  assert.deepEqual(last.reply.parts, []);
  assert.equal(last.reply.stopReason, 'max_tokens');
});
