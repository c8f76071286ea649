import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FieldProblem, Fields, renderPath, textItem } from '../../src/base/fields.ts';
import { JSON_NUMBER_CHARS_MAX } from '../../src/base/json/limits.ts';
import { parseJson } from '../../src/base/json/parse.ts';
import { JsonNumber, JsonObject, JsonProblem } from '../../src/base/json/value.ts';
import type { JsonValue } from '../../src/base/json/value.ts';

function value(text: string): JsonValue {
  const result = parseJson(text);
  if (result instanceof JsonProblem) assert.fail(result.reason);
  return result;
}

/** Names that no test takes for near ones. */
const NAMES = ['text', 'empty', 'yes', 'no', 'number', 'count', 'zero', 'list', 'object', 'nothing', 'n', 'a', 'b'];

function fieldsOf(text: string, known: readonly string[] = NAMES): Fields {
  return Fields.from(value(text), undefined, known);
}

/** The sentence of the problem that reading throws. */
function problemOf(read: () => unknown): string {
  try {
    read();
  } catch (thrown) {
    assert.ok(thrown instanceof FieldProblem);
    return thrown.message;
  }
  return assert.fail('no problem');
}

const whole = fieldsOf(
  '{"text":"a","empty":"","yes":true,"no":false,"number":1.5,"count":7,"zero":0,"list":[1,"a"],"object":{"a":1},"nothing":null}',
);

const reads: readonly (readonly [name: string, read: (fields: Fields) => unknown, expected: unknown])[] = [
  ['a string', (f) => f.string('text'), 'a'],
  ['an empty string', (f) => f.string('empty'), ''],
  ['an absent string', (f) => f.string('absent'), undefined],
  ['null for a string', (f) => f.string('nothing'), undefined],
  ['a required string', (f) => f.requiredString('text'), 'a'],
  ['a required string that is empty', (f) => f.requiredString('empty'), ''],
  ['a required text', (f) => f.requiredText('text'), 'a'],
  ['true', (f) => f.boolean('yes'), true],
  ['false', (f) => f.boolean('no'), false],
  ['an absent boolean', (f) => f.boolean('absent'), undefined],
  ['null for a boolean', (f) => f.boolean('nothing'), undefined],
  ['a number', (f) => f.finiteNumber('number'), 1.5],
  ['an absent number', (f) => f.finiteNumber('absent'), undefined],
  ['null for a number', (f) => f.finiteNumber('nothing'), undefined],
  ['a count', (f) => f.count('count'), 7],
  ['a count of zero', (f) => f.count('zero'), 0],
  ['an absent count', (f) => f.count('absent'), undefined],
  ['null for a count', (f) => f.count('nothing'), undefined],
  ['one of a set', (f) => f.oneOf('text', ['b', 'a']), 'a'],
  ['an absent one of a set', (f) => f.oneOf('absent', ['b', 'a']), undefined],
  ['a required one of a set', (f) => f.requiredOneOf('text', ['a']), 'a'],
  ['an absent opaque object', (f) => f.opaqueObject('absent'), undefined],
  ['null for an opaque object', (f) => f.opaqueObject('nothing'), undefined],
  ['an absent object', (f) => f.object('absent', []), undefined],
  ['null for an object', (f) => f.object('nothing', []), undefined],
  ['a list', (f) => f.list('list', (item, path) => [item, renderPath(path)]), [[new JsonNumber('1'), 'list[0]'], ['a', 'list[1]']]],
  ['an absent list', (f) => f.list('absent', (item) => item), undefined],
  ['null for a list', (f) => f.list('nothing', (item) => item), undefined],
];

for (const [name, read, expected] of reads) {
  test(`Fields reads ${name}`, () => assert.deepEqual(read(whole), expected));
}

test('Fields reads an opaque object as it was written', () => {
  assert.equal(whole.opaqueObject('object')?.raw.text, '{"a":1}');
});

test('Fields reads a nested object with its path', () => {
  const inner = whole.object('object', ['a']);
  assert.ok(inner !== undefined);
  assert.equal(renderPath(inner.at('b')), 'object.b');
  assert.equal(inner.count('a'), 1);
});

const countsTaken = ['0', '-0', '1', '1.0', '1e3', '9007199254740991'];
const countsRefused = ['-1', '1.5', '9007199254740992', '1e400', '-9007199254740992', '1e-1'];

test('Fields takes whole numbers from 0 to 2^53-1 as counts, however written', () => {
  assert.deepEqual(countsTaken.map((text) => fieldsOf(`{"n":${text}}`).count('n')), [0, -0, 1, 1, 1000, 9007199254740991]);
});

for (const text of countsRefused) {
  test(`Fields refuses ${text} as a count`, () => {
    assert.equal(problemOf(() => fieldsOf(`{"n":${text}}`).count('n')), 'n: must be an integer from 0 to 9007199254740991');
  });
}

const problems: readonly (readonly [read: (fields: Fields) => unknown, sentence: string])[] = [
  [(f) => f.string('yes'), 'yes: expected a string, got a boolean'],
  [(f) => f.string('number'), 'number: expected a string, got a number'],
  [(f) => f.string('list'), 'list: expected a string, got an array'],
  [(f) => f.string('object'), 'object: expected a string, got an object'],
  [(f) => f.requiredString('absent'), 'absent: required'],
  [(f) => f.requiredString('nothing'), 'nothing: required'],
  [(f) => f.requiredString('number'), 'number: expected a string, got a number'],
  [(f) => f.requiredObject('absent'), 'absent: required'],
  [(f) => f.requiredText('absent'), 'absent: required'],
  [(f) => f.requiredText('empty'), 'empty: must not be empty'],
  [(f) => f.boolean('text'), 'text: expected a boolean, got a string'],
  [(f) => f.finiteNumber('text'), 'text: expected a number, got a string'],
  [(f) => f.count('text'), 'text: expected an integer, got a string'],
  [(f) => f.oneOf('text', ['b', 'c']), 'text: must be one of b, c'],
  [(f) => f.oneOf('empty', ['b', 'c']), 'empty: must be one of b, c'],
  [(f) => f.oneOf('number', ['b']), 'number: expected a string, got a number'],
  [(f) => f.requiredOneOf('absent', ['b', 'c']), 'absent: required (one of b, c)'],
  [(f) => f.requiredOneOf('text', ['b']), 'text: must be one of b'],
  [(f) => f.opaqueObject('list'), 'list: expected an object, got an array'],
  [(f) => f.object('text', []), 'text: expected an object, got a string'],
  [(f) => f.object('list', []), 'list: expected an object, got an array'],
  [(f) => f.list('object', (item) => item), 'object: expected an array, got an object'],
  [(f) => f.list('text', (item) => item, '; use text for a plain string'), 'text: expected an array, got a string; use text for a plain string'],
  [(f) => f.list('list', textItem), 'list[0]: expected a string, got a number'],
];

for (const [read, sentence] of problems) {
  test(`Fields complains "${sentence}"`, () => assert.equal(problemOf(() => read(whole)), sentence));
}

test('Fields complains about a number beyond the doubles', () => {
  assert.equal(problemOf(() => fieldsOf('{"n":1e400}').finiteNumber('n')), 'n: too large a number');
  assert.equal(problemOf(() => fieldsOf('{"n":-1e400}').finiteNumber('n')), 'n: too large a number');
});

for (const [text, what] of [['[]', 'an array'], ['"a"', 'a string'], ['1', 'a number'], ['true', 'a boolean'], ['null', 'null']] as const) {
  test(`Fields.from refuses ${what} as the whole and in its place`, () => {
    assert.equal(problemOf(() => Fields.from(value(text), undefined, [])), `expected an object, got ${what}`);
    const path = { parent: { parent: undefined, key: 'items' }, key: 2 };
    assert.equal(problemOf(() => Fields.from(value(text), path, [])), `items[2]: expected an object, got ${what}`);
  });
}

test('Fields refuses a key that came twice, before anything is read', () => {
  assert.equal(problemOf(() => fieldsOf('{"a":1,"b":1,"a":2}')), 'a: duplicate key');
});

test('Fields refuses a double key in a nested object', () => {
  assert.equal(problemOf(() => fieldsOf('{"a":{"b":1,"b":2}}').object('a', ['b'])), 'a.b: duplicate key');
});

test('Fields leaves a double key in an opaque object alone', () => {
  assert.equal(fieldsOf('{"a":{"b":1,"b":2}}').opaqueObject('a')?.duplicateKey, 'b');
});

test('Fields takes an object that has any of the known fields', () => {
  for (const text of ['{}', '{"a":"1"}', '{"b":null,"a":1}']) fieldsOf(text, ['a', 'b', 'c']);
});

test('Fields names the first unknown field, before anything is read', () => {
  assert.equal(problemOf(() => fieldsOf('{"a":"1","colour":1,"shape":2}', ['a', 'required'])), 'colour: unknown field');
});

test('Fields names an unknown field that is null', () => {
  assert.equal(problemOf(() => fieldsOf('{"colour":null}')), 'colour: unknown field');
});

test('Fields takes the names of prototypes for unknown fields', () => {
  assert.equal(problemOf(() => fieldsOf('{"__proto__":{}}')), '__proto__: unknown field');
  assert.equal(problemOf(() => fieldsOf('{"constructor":1}')), 'constructor: unknown field');
});

const near: readonly (readonly [key: string, meant: string])[] = [
  ['Model', 'model'],
  ['MAX_TOKENS', 'max_tokens'],
  ['maxTokens', 'max_tokens'],
  ['message', 'messages'],
  ['modle', 'model'],
];

for (const [key, meant] of near) {
  test(`Fields asks whether ${key} was to be ${meant}`, () => {
    const read = (): unknown => fieldsOf(`{"${key}":1}`, ['model', 'messages', 'max_tokens']);
    assert.equal(problemOf(read), `${key}: unknown field; did you mean ${meant}?`);
  });
}

test('Fields says of an unknown field that comes twice that it is unknown', () => {
  assert.equal(problemOf(() => fieldsOf('{"Text":1,"Text":2}')), 'Text: unknown field; did you mean text?');
});

test('Fields.only refuses a known field that is not among these, unless it is null', () => {
  fieldsOf('{"a":1,"b":null}').only(['a']);
  assert.equal(problemOf(() => fieldsOf('{"a":1,"b":2}').only(['a'])), 'b: unknown field');
});

test('FieldProblem tells what is missing from what is wrong, and a key of the caller\'s own from the known ones', () => {
  const facts = (read: () => unknown): unknown => {
    try {
      return read();
    } catch (thrown) {
      return thrown instanceof FieldProblem ? [thrown.isMissing, thrown.quote] : thrown;
    }
  };
  assert.deepEqual(facts(() => whole.requiredString('absent')), [true, undefined]);
  assert.deepEqual(facts(() => whole.requiredOneOf('absent', ['b'])), [true, undefined]);
  assert.deepEqual(facts(() => whole.requiredText('empty')), [false, undefined]);
  assert.deepEqual(facts(() => fieldsOf('{"a":1,"a":2}')), [false, undefined]);
  assert.deepEqual(facts(() => Fields.from(value('{"a":1,"a":2}'), undefined)), [false, 'a']);
  assert.deepEqual(facts(() => fieldsOf('{"colour":1}')), [false, 'colour']);
  assert.deepEqual(facts(() => fieldsOf('{"a b":1}')), [false, '["a b"]']);
});

const counts: readonly (readonly [text: string, count: number | undefined])[] = [
  ['0', 0], ['7', 7], ['1.0', 1], ['1.000', 1], ['1e2', 100], ['1E+2', 100], ['1.50e1', 15], ['100e-2', 1], ['0.0', 0], ['0e-5', 0], ['0.01e2', 1],
  ['9007199254740991', 9007199254740991], ['9007199254740991.0', 9007199254740991],
  ['1.00000000000000000001', undefined], ['1.5', undefined], ['15e-1', undefined], ['0.1', undefined], ['1e-400', undefined], ['100e-3', undefined],
  ['0.01e1', undefined], ['9007199254740991.4', undefined], ['9007199254740990.99999999', undefined], ['9007199254740992', undefined], ['1e400', undefined],
  ['-1', undefined], ['-1e-400', undefined],
];

for (const [text, count] of counts) {
  test(`Fields.count ${count === undefined ? 'refuses' : 'reads'} ${text}`, () => {
    const read = (): number | undefined => fieldsOf(`{"n":${text}}`).count('n');
    if (count === undefined) assert.equal(problemOf(read), 'n: must be an integer from 0 to 9007199254740991');
    else assert.equal(read(), count);
  });
}

test('Fields.count reads a number of any length that a number may have', () => {
  const zeros = '0'.repeat(JSON_NUMBER_CHARS_MAX - '1.1'.length);
  assert.equal(problemOf(() => fieldsOf(`{"n":1.${zeros}1}`).count('n')), 'n: must be an integer from 0 to 9007199254740991');
  assert.equal(fieldsOf(`{"n":1.${zeros}}`).count('n'), 1);
});

test('Fields reads nothing from a prototype', () => {
  assert.equal(fieldsOf('{}').string('constructor'), undefined);
});

test('Fields names the whole path of an unknown field', () => {
  const read = (): unknown =>
    fieldsOf('{"messages":[{"content":[{},{"colour":1}]}]}', ['messages']).list('messages', (message, path) =>
      Fields.from(message, path, ['content']).list('content', (part, partPath) => Fields.from(part, partPath, [])),
    );
  assert.equal(problemOf(read), 'messages[0].content[1].colour: unknown field');
});

test('Fields.problem names the field', () => {
  assert.equal(whole.problem('text', 'is odd').message, 'text: is odd');
});

test('renderPath is empty for the root', () => assert.equal(renderPath(undefined), ''));

test('renderPath quotes keys that are no plain names, and bounds them', () => {
  const at = (key: string | number): string => renderPath({ parent: { parent: undefined, key: 'a' }, key });
  assert.equal(at('b-c$1'), 'a.b-c$1');
  assert.equal(at('b c'), 'a["b c"]');
  assert.equal(at(''), 'a[""]');
  assert.equal(at('1'), 'a["1"]');
  assert.equal(at('\n"'), 'a["\\n\\""]');
  assert.equal(at('x'.repeat(64)), `a.${'x'.repeat(64)}`);
  assert.equal(at('x'.repeat(65)), `a["${'x'.repeat(64)}…"]`);
  assert.equal(renderPath({ parent: undefined, key: 'b c' }), '["b c"]');
  assert.equal(renderPath({ parent: undefined, key: 3 }), '[3]');
});

test('textItem reads a string that is not empty', () => {
  assert.equal(textItem('a', { parent: undefined, key: 0 }), 'a');
});

test('textItem refuses what is no string, and an empty one', () => {
  const path = { parent: { parent: undefined, key: 'stop' }, key: 1 };
  assert.equal(problemOf(() => textItem('', path)), 'stop[1]: must not be empty');
  assert.equal(problemOf(() => textItem(null, path)), 'stop[1]: expected a string, got null');
  assert.equal(problemOf(() => textItem(new JsonObject(new Map(), undefined, '{}', 0, 2), path)), 'stop[1]: expected a string, got an object');
});
