import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JSON_DEPTH_MAX, JSON_NUMBER_CHARS_MAX, JSON_REPLIED_VALUES_MAX, JSON_VALUES_MAX } from '../../src/base/json/limits.ts';
import { mergePatch } from '../../src/base/json/merge.ts';
import { limitPassed, parseLargeLenient, parseLenient } from '../../src/base/json/lenient.ts';
import { parseJson, parseLargeJson, parseLargeReplied, parseReplied } from '../../src/base/json/parse.ts';
import { renderJson, renderLargeJson } from '../../src/base/json/render.ts';
import { JsonArray, JsonNumber, JsonObject, JsonProblem, RawJson } from '../../src/base/json/value.ts';
import type { JsonOut, JsonOutObject, JsonValue } from '../../src/base/json/value.ts';
import { createRandom } from './random.ts';
import type { Random } from './random.ts';

/** The value as `JSON.parse` would give it. */
function plain(value: JsonValue): unknown {
  if (value instanceof JsonNumber) return value.value;
  if (value instanceof JsonArray) return value.items.map(plain);
  if (!(value instanceof JsonObject)) return value;
  const object = {};
  for (const [key, inner] of value.entries) {
    Object.defineProperty(object, key, { value: plain(inner), enumerable: true, writable: true, configurable: true });
  }
  return object;
}

function parsed(text: string): JsonValue {
  const value = parseJson(text);
  if (value instanceof JsonProblem) assert.fail(`${value.reason} at ${value.offset}: ${text.slice(0, 80)}`);
  return value;
}

function parsedObject(text: string): JsonObject {
  const value = parsed(text);
  assert.ok(value instanceof JsonObject);
  return value;
}

const validTexts: Readonly<Record<string, readonly string[]>> = {
  'lonely values': ['null', 'true', 'false', '0', '-1', '"a"', '""', '[]', '{}'],
  'white space around everything': [' \t\r\n1\n', ' [ ] ', '\t{\r}\n', ' [ 1 , 2 ] ', '{ "a" : 1 , "b" : 2 }', '[\n\n"a"\n]'],
  arrays: ['[[]]', '[""]', '[null, 1, "1", {}]', '[1,null,null,null,2]', '[[[],[]],[]]', '[{"a":[{}]}]', '[false]'],
  objects: [
    '{"a":1}', '{"":0}', '{"a":{}}', '{"a":{"a":{"a":null}}}', '{"a":"b","a":"c"}', '{"a":"b","a":"b"}', '{"foo\\u0000bar":42}',
    '{"1":1,"0":0}', '{"\\"":1}', '{"a b":[]}', '{"__proto__":1}',
  ],
  numbers: [
    '-0', '0.0', '-0.0', '123', '123e65', '0e+1', '0e1', '1E22', '1E-2', '1E+2', '1e1', '1e-2', '123.456e78', '1.000', '-1.5',
    '-123', '-12.34E-5', '-0.000000000000000000000000000000000000000000000000000000000000000000000000000001', '0.1e1',
    '12345678901234567890', '9007199254740993', '1e400', '-1e400', '1e-400', '0e9999999999', '100000000000000000000000000000000',
  ],
  'string escapes': [
    '"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\u0041"', '"\\u00e9"', '"\\u00E9"', '"\\u0000"', '"\\uD83D\\uDE00"', '"\\uFFFF"', '"\\u2028\\u2029"',
    '"\\\\u0000"', '"\\\\\\""', '"a\\/b"', '"\\u0022"', '"\\\\"',
  ],
  'unpaired surrogates': ['"\\uD800"', '"\\uDC00"', '"\\uDE00\\uD83D"', '"\\uD800\\n"', '"\\uD800a"', '"\ud800"'],
  'characters as they are': ['"é"', '"€"', '"😀"', '"\u2028\u2029"', '"\u007f"', '"\u0080"', '"\uFFFE"', '"\uFEFF"', '"/"', '"\'"', '"a/*b*/c//d"', '"[1,2}"'],
};

for (const [name, texts] of Object.entries(validTexts)) {
  test(`parseJson takes ${name}`, () => {
    for (const text of texts) assert.deepEqual(plain(parsed(text)), JSON.parse(text), text);
  });
}

const invalidTexts: Readonly<Record<string, readonly string[]>> = {
  'nothing at all': ['', ' ', '\n'],
  'unfinished texts': [
    '[', '{', '"', '"a', '[1', '[1,', '[""', '["', '["a', '{"', '{"a', '{"a"', '{"a":', '{"a":1', '{"a":1,', '[[', '[{', '{"a":[', 'tru', 'nul', 'fals',
    't', '-', '1e', '1.', '"\\', '"\\u', '"\\u00', '[1\n', '{"a":"b', '[{"":[{"":',
  ],
  'text after the value': ['1 2', '[]]', '{}}', '[][', '""x', 'nullnull', 'true,', '{}#', '{"a":1}/**/', '[1]x', '1,', '"a""b"', '[] []', '1]', '{"a":"b"}//'],
  'commas in the wrong place': ['[,]', '[1,]', '[,1]', '[1,,2]', '["",]', '[1,,]', '{,}', '{"a":1,}', '{,"a":1}', '{"a":1,,"b":2}', '["a",\n4\n,1,', ','],
  'missing commas and colons': ['[1 2]', '["a" "b"]', '[1 true]', '{"a" 1}', '{"a":1 "b":2}', '{"a"}', '{"a",1}', '{"a"::1}', '{"a":}', '["a":1]', '[":"'],
  'mismatched brackets': ['[}', '{]', '[1}', '{"a":1]', ']', '}', '[{]}', '["x"}', '[[]', '{"a":{}'],
  'keys that are no strings': ['{a:1}', '{1:1}', '{null:1}', "{'a':1}", '{[]:1}', '{"a":1,b:2}', '{:1}', '{9999E9999:1}', '{"a":1,1}', '{{}:1}'],
  'bad numbers': [
    '01', '-01', '00', '-00', '012', '+1', '++1', '--1', '- 1', '.5', '-.5', '1.', '-1.', '0.', '0.e1', '1.e1', '1e', '1e+', '1e-', '1E', '0e', '0E+',
    '1ee2', '1e1.5', '1.2.3', '1eE2', '0x1', '0x', '1_000', '1a', '-a', '-', '1 000', 'Infinity', '-Infinity', 'NaN', '-NaN', 'inf', '1+2', '2.e+3',
    '-2.', '9.e+', '.2e-3', '0.3e', '1.0e-', '١', '１', '-1x', '0.1.', '1e٣',
  ],
  'bad words': ['True', 'TRUE', 'nul', 'nulL', 'truee', 'undefined', 'falsey', 'none', 'tru e', '[nul]', '[truth]', 'n'],
  'bad escapes': [
    '"\\a"', '"\\x41"', '"\\\'"', '"\\0"', '"\\u"', '"\\u1"', '"\\u12"', '"\\u123"', '"\\u123g"', '"\\u-123"', '"\\U0041"', '"\\ "', '"\\\n"', '"\\u{41}"',
    '"\\uD83D\\u"', '"\\v"', '"\\é"', '["\\"', '"\\\\\\"', '{"\\x":1}', '"\\u 123"', '"\\\t"',
  ],
  'control characters inside strings': ['"\u0000"', '"\n"', '"a\nb"', '"\t"', '"\r"', '"\u001f"', '{"\n":1}', '["a\u0000b"]'],
  'strings without the right quotes': ["'a'", '`a`', '\\"a\\"', 'a"', '“a”', '"a', "['a']", '\\u0022a\\u0022'],
  'white space that is none of JSON': ['\u00a01', '1\u00a0', '\u000b1', '\u000c[]', '[\u20601]', '\u2028{}', '\uFEFF1', '\u00851', '[\u000c]', '\u0000', '1\u0000'],
  comments: ['/**/1', '//\n1', '[1/*x*/]', '{"a":1//x\n}', '#', '1#'],
  'other notations': ['<null>', '*', '(1)', '[...1]', '{...{}}', 'new Date', '{"a":function(){}}', '\\n', '@', '\u00e9', '😀', '[*]', '{"a":*}', '[1;2]', '=1'],
};

for (const [name, texts] of Object.entries(invalidTexts)) {
  test(`parseJson refuses ${name}`, () => {
    for (const text of texts) {
      assert.throws(() => JSON.parse(text), SyntaxError, `the table is wrong about ${JSON.stringify(text)}`);
      assert.ok(parseJson(text) instanceof JsonProblem, JSON.stringify(text));
    }
  });
}

const problems: readonly (readonly [text: string, reason: string, offset: number])[] = [
  ['', 'unexpected end of the text', 0],
  ['[1,', 'unexpected end of the text', 3],
  ['"ab', 'unexpected end of the text', 3],
  ['"ab\\', 'unexpected end of the text', 4],
  ['{"a":1,}', 'unexpected character', 7],
  ['[1 2]', 'unexpected character', 3],
  ['-x', 'unexpected character', 1],
  ['1.', 'unexpected end of the text', 2],
  ['1.x', 'unexpected character', 2],
  ['{} x', 'unexpected text after the value', 3],
  ['01', 'unexpected text after the value', 1],
  ['["a\nb"]', 'a control character inside a string', 3],
  ['["a\\x"]', 'an invalid escape inside a string', 2],
];

for (const [text, reason, offset] of problems) {
  test(`parseJson says where ${JSON.stringify(text)} goes wrong`, () => {
    assert.deepEqual(parseJson(text), new JsonProblem(reason, offset));
  });
}

/** Around every length at which a long string is read another way. */
const LENGTHS = [0, 1, 250, 253, 254, 255, 256, 257, 258, 259, 511, 512, 513, 2000];

test('parseJson reads a long string as JSON.parse does, wherever its escapes stand', () => {
  for (const before of LENGTHS) {
    for (const escape of ['', '\\\\', '\\"', '\\\\\\"', '\\\\\\\\', '\\n', '\\u0041', '\\ud83d\\ude00', '\\"\\"\\"']) {
      for (const after of LENGTHS) {
        const text = `"${'é'.repeat(before)}${escape}${'b'.repeat(after)}${escape}"`;
        assert.equal(parsed(text), JSON.parse(text));
        assert.deepEqual(parseJson(`[${text},1`), new JsonProblem('unexpected end of the text', text.length + 3));
      }
    }
  }
});

test('parseJson says where a long string goes wrong', () => {
  for (const before of LENGTHS) {
    for (const after of LENGTHS) {
      const [head, tail] = ['a'.repeat(before), 'b'.repeat(after)];
      assert.deepEqual(parseJson(`"${head}\n${tail}"`), new JsonProblem('a control character inside a string', before + 1));
      assert.deepEqual(parseJson(`"${head}\\x${tail}"`), new JsonProblem('an invalid escape inside a string', 1));
      assert.ok(parseJson(`"${head}\\${tail}`) instanceof JsonProblem);
      assert.deepEqual(parseJson(`"${head}\\"${tail}`), new JsonProblem('unexpected end of the text', before + after + 3));
    }
  }
});

/** Steps that end wherever one can, and what they come to. */
async function stepped(text: string, chars: number, values: number): Promise<ReturnType<typeof parseJson>> {
  return parseLargeJson(text, async () => undefined, { chars, values });
}

test('parseLargeJson gives what parseJson gives, wherever its steps end', async () => {
  const long = '\\n'.repeat(300);
  const texts = [
    '[]', '{}', ' [1, {"a" : [true, null, {"b":"c"}], "d":{}} , [[]], "e" ] ', `{"${long}":"${long}","a":["${long}x",{"k":1,"k":2}]}`, `[1,2,"${long}\\x"]`,
    `["${long}`, '[1,2', '{"a":1,', '{"a"', '[1,]', '[1}', '1 2', `[${'1'.repeat(5000)}]`, `"${'x'.repeat(5000)}\n"`,
  ];
  for (const text of texts) {
    const expected = parseJson(text);
    for (const [chars, values] of [[0, 1e9], [1e9, 0], [7, 1], [300, 2]] as const) {
      const actual = await stepped(text, chars, values);
      assert.deepEqual(actual, expected, text);
      if (actual instanceof JsonArray && expected instanceof JsonArray) assert.equal(actual.raw.text, expected.raw.text);
    }
  }
});

test('parseLargeJson cuts a string within no escape, whichever it is and however it stands', async () => {
  const escapes = ['\\"', '\\\\', '\\\\u', '\\\\\\u0041', '\\u0041', '\\u005c', '\\u0022', '\\ud83d\\ude00', '\\ud800', '\\ude00\\ud83d', '\\/\\b\\f\\n\\r\\t', '語\\u8a9e'];
  for (const escape of escapes) {
    for (let before = 0; before < 14; before += 1) {
      const text = `"${'b'.repeat(before)}${escape.repeat(200)}"`;
      assert.equal(await stepped(text, 0, 1e9), JSON.parse(text), text);
    }
  }
});

test('parseLargeJson tells of a bad string what parseJson tells, wherever it goes wrong', async () => {
  for (const wrong of ['\\x', '\\u12', '\\u00g0', '\n', '\\ud83d\\u', '"', '\\']) {
    for (let at = 0; at < 900; at += 1) {
      const text = `["${'\\n'.repeat(at / 2).padEnd(at, 'b')}${wrong}${at % 3 === 0 ? '' : '\\u0041'.repeat(150)}${at % 5 === 0 ? '\t' : ''}${at % 7 === 0 ? '' : '"]'}`;
      const expected = parseJson(text);
      assert.ok(expected instanceof JsonProblem || wrong === '\\', text);
      assert.deepEqual(await stepped(text, 0, 1e9), expected, text);
    }
  }
});

test('parseLargeJson agrees with JSON.parse on random strings', async () => {
  const pieces = ['a', 'é', '語', '😀', '\\n', '\\\\', '\\"', '\\u0041', '\\\\u', '\\ud83d', '\\ude00', '\\u', '"'];
  for (let seed = 1; seed <= 2000; seed += 1) {
    const random = createRandom(seed);
    const isGood = random.below(4) > 0;
    const text = `"${Array.from({ length: 100 + random.below(500) }, () => pieces[random.below(pieces.length - (isGood ? 2 : 0))]).join('')}"`;
    const actual = await stepped(text, random.below(300), 1e9);
    if (isGood) assert.equal(actual, JSON.parse(text), `seed ${seed}`);
    else assert.deepEqual(actual, parseJson(text), `seed ${seed}`);
  }
});

test('parseLargeJson lets others have their turn within a long string of escapes, and between many values', async () => {
  for (const text of [`"${'\\"'.repeat(50_000)}"`, `[${'1,'.repeat(50_000)}1]`]) {
    let turns = 0;
    await parseLargeJson(text, async () => void (turns += 1), { chars: 10_000, values: 1e9 });
    assert.ok(turns >= 8 && turns <= 12, String(turns));
  }
});

test(`parseJson takes a number of ${JSON_NUMBER_CHARS_MAX} characters and refuses one more, whatever it is made of`, () => {
  const rest = JSON_NUMBER_CHARS_MAX - 3;
  for (const number of [`123${'4'.repeat(rest)}`, `0.1${'4'.repeat(rest)}`, `1e4${'4'.repeat(rest)}`, `-12${'4'.repeat(rest)}`]) {
    assert.ok(parseJson(`[${number}]`) instanceof JsonArray);
    const refused = parseJson(`[${number}4]`);
    assert.equal(refused instanceof JsonProblem ? refused.reason : '', 'a number of more than 4096 characters');
  }
});

test('renderJson writes a long string as JSON.stringify does', () => {
  for (const odd of ['', '"', '\\', '\n', '\u007f', '\u2028', 'é', '😀', '\ud800', '\udc00x']) {
    for (const text of ['x'.repeat(20_000) + odd, `${odd}${'語'.repeat(20_000)}`, `${'x'.repeat(16 * 1024 - 1)}${odd}${odd}x`]) assert.equal(renderJson(text), JSON.stringify(text));
  }
});

/** What is written where every step ends as soon as it can, or never, and how many turns that gave others. */
async function writtenInSteps(value: JsonOut, paceChars: number): Promise<{ readonly text: string; readonly turns: number }> {
  let turns = 0;
  const bytes = await renderLargeJson(value, async () => void (turns += 1), paceChars);
  return { text: bytes.toString('utf8'), turns };
}

test('renderLargeJson writes what renderJson writes, wherever its steps end', async () => {
  const values: JsonOut[] = [
    null, true, -0.5, '', 'é"\n\ud800', [], {}, new Map(), [[], {}, [1]], { a: undefined }, { a: undefined, b: [null], 'ü"': { c: 'd' }, 1: 2 },
    new Map<string, JsonOut>([['b', new RawJson('{ "x":1.0 }')], ['a', [new RawJson(' [] '), 'x']]]), new RawJson(`"${'語😀'.repeat(20_000)}"`),
  ];
  for (const odd of ['', '"', '\\', '\n', 'é', '😀', '\ud800', '\ude00\ud83d']) {
    for (const length of [16 * 1024 - 2, 16 * 1024 - 1, 16 * 1024, 40_000]) {
      const text = `${'x'.repeat(length)}${odd}${'語'.repeat(9)}${odd}`;
      values.push({ text }, new Map([['a', 1], [text, 2]]));
    }
  }
  for (const value of values) {
    for (const paceChars of [1, 7, 20_000, Infinity]) assert.equal((await writtenInSteps(value, paceChars)).text, renderJson(value));
  }
});

test('renderLargeJson lets others have their turn within a long string, text or name, and between many values', async () => {
  for (const value of ['"'.repeat(500_000), new Map([['"'.repeat(500_000), 1]]), new RawJson(`"${'x'.repeat(1_000_000)}"`), Array.from({ length: 500_000 }, () => 1), Array.from({ length: 330_000 }, () => '')]) {
    const { turns } = await writtenInSteps(value, 100_000);
    assert.ok(turns >= 7 && turns <= 10, String(turns));
  }
});

test('parseJson keeps the text of a number', () => {
  const texts = ['1.0', '1e-7', '12345678901234567890', '-0', '1E+2', '0.10', '1e400'];
  const value = parsed(`[${texts.join(', ')}]`);
  assert.ok(value instanceof JsonArray);
  assert.deepEqual(value.items, texts.map((text) => new JsonNumber(text)));
});

test('JsonNumber gives the nearest double', () => {
  assert.equal(new JsonNumber('9007199254740993').value, 9007199254740992);
  assert.equal(new JsonNumber('1e400').value, Infinity);
  assert.ok(Object.is(new JsonNumber('-0').value, -0));
});

test('parseJson keeps the order of keys, integer-like ones too', () => {
  assert.deepEqual([...parsedObject('{"b":1,"2":1,"a":1,"1":1}').entries.keys()], ['b', '2', 'a', '1']);
});

test('parseJson remembers the source text of objects and arrays', () => {
  const value = parsedObject(' { "a" : [ 1.0, {"b": "\\u0041"} ] , "c":{} } ');
  assert.equal(value.raw.text, '{ "a" : [ 1.0, {"b": "\\u0041"} ] , "c":{} }');
  const list = value.entries.get('a');
  assert.ok(list instanceof JsonArray);
  assert.equal(list.raw.text, '[ 1.0, {"b": "\\u0041"} ]');
  const [, inner] = list.items;
  assert.ok(inner instanceof JsonObject);
  assert.equal(inner.raw.text, '{"b": "\\u0041"}');
  const empty = value.entries.get('c');
  assert.ok(empty instanceof JsonObject);
  assert.equal(empty.raw.text, '{}');
});

test('parseJson remembers the source text of an empty array', () => {
  const value = parsed(' [ ] ');
  assert.ok(value instanceof JsonArray);
  assert.equal(value.raw.text, '[ ]');
});

test('parseJson names the first key that came twice and keeps its last value', () => {
  const value = parsedObject('{"a":1,"b":2,"b":3,"a":4}');
  assert.equal(value.duplicateKey, 'b');
  assert.deepEqual([...value.entries], [['a', new JsonNumber('4')], ['b', new JsonNumber('3')]]);
});

test('parseJson sees a double key through its escapes', () => {
  assert.equal(parsedObject('{"model":"a","mod\\u0065l":"b"}').duplicateKey, 'model');
});

test('parseJson finds no double key where there is none', () => {
  assert.equal(parsedObject('{"a":{"a":1},"b":[{"a":1},{"a":2}]}').duplicateKey, undefined);
});

test('parseJson treats the names of prototypes as plain keys', () => {
  const value = parsedObject('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
  assert.deepEqual([...value.entries.keys()], ['__proto__', 'constructor']);
  assert.equal(Reflect.get({}, 'polluted'), undefined);
});

for (const [open, close] of [['[', ']'], ['{"a":', '}']] as const) {
  const nested = (depth: number): string => `${open.repeat(depth)}0${close.repeat(depth)}`;
  test(`parseJson takes ${JSON_DEPTH_MAX} levels of ${open} and refuses one more`, () => {
    assert.deepEqual(plain(parsed(nested(JSON_DEPTH_MAX))), JSON.parse(nested(JSON_DEPTH_MAX)));
    const offset = open.length * JSON_DEPTH_MAX;
    assert.deepEqual(parseJson(nested(JSON_DEPTH_MAX + 1)), new JsonProblem('nesting beyond 100 levels', offset, true));
  });
}

test('parseJson refuses a million open brackets without running out of stack', () => {
  assert.deepEqual(parseJson('['.repeat(1_000_000)), new JsonProblem('nesting beyond 100 levels', 100, true));
});

test('parseJson counts the depth, not the number of containers', () => {
  const wide = `[${'[],'.repeat(500)}[]]`;
  assert.deepEqual(plain(parsed(wide)), JSON.parse(wide));
});

test(`parseJson takes ${JSON_VALUES_MAX} values and refuses one more`, () => {
  const list = (count: number): string => `[${'0,'.repeat(count - 2)}0]`;
  assert.ok(parseJson(list(JSON_VALUES_MAX)) instanceof JsonArray);
  const problem = parseJson(list(JSON_VALUES_MAX + 1));
  assert.deepEqual(problem, new JsonProblem('more than 100000 values', 2 * JSON_VALUES_MAX - 1, true));
});

test('parseJson counts keys as values', () => {
  const members = Array.from({ length: JSON_VALUES_MAX / 2 }, (_, index) => `"${index}":0`).join(',');
  const problem = parseJson(`{${members}}`);
  assert.ok(problem instanceof JsonProblem);
  assert.equal(problem.reason, 'more than 100000 values');
});

function randomJson(random: Random, depth: number): string {
  const kind = random.below(depth > 4 ? 4 : 6);
  const space = random.pick(['', '', '', ' ', '\n', '\t\r']);
  if (kind === 0) return space + random.pick(['null', 'true', 'false']);
  if (kind === 1) return space + random.pick(['0', '-0', '1.50', '12e3', '-1E-2', '1e400', '12345678901234567890', '0.1']);
  if (kind <= 3) return space + randomString(random);
  const items = Array.from({ length: random.below(4) }, () => randomJson(random, depth + 1));
  if (kind === 4) return `${space}[${items.join(',')}${space}]`;
  return `${space}{${items.map((item) => `${space}${randomString(random, KEY_PIECES)}${space}:${item}`).join(',')}}`;
}

const KEY_PIECES = ['a', 'b', '\\n', '\\u0041', '\\"', 'é', '😀', '/', ' ', '__proto__', '\\ud800', '1'];
const STRING_PIECES = [...KEY_PIECES, '\\\\'];

/**
 * V8 in Node 24 and 26 takes an escaped key for one with a backslash that an object of the same form had before
 * (nodejs/node#63785): of such keys JSON.parse tells nothing.
 */
const BACKSLASH_IN_KEY = /\\\\(?:[^"\\]|\\.)*"\s*:/s;

function randomString(random: Random, pieces = STRING_PIECES): string {
  return `"${Array.from({ length: random.below(4) }, () => random.pick(pieces)).join('')}"`;
}

/** One character removed, doubled, or replaced by one that means something. */
function mutated(random: Random, text: string): string {
  const at = random.below(text.length);
  const middle = random.pick(['', text.slice(at, at + 1).repeat(2), ...'{}[],:"\\0-+.eEtu \n\u0000\u00a0\ud800']);
  return text.slice(0, at) + middle + text.slice(at + 1);
}

test('parseJson agrees with JSON.parse on random texts and their mutations', () => {
  for (let seed = 1; seed <= 4000; seed += 1) {
    const random = createRandom(seed);
    let text = randomJson(random, 0);
    for (let round = 0; round < 4 && !BACKSLASH_IN_KEY.test(text); round += 1) {
      const expected = parseOrUndefined(text);
      const actual = parseJson(text);
      const label = `seed ${seed}, round ${round}: ${JSON.stringify(text)}`;
      if (actual instanceof JsonProblem) assert.equal(expected, undefined, `refused, ${label}`);
      else assert.deepEqual({ value: plain(actual) }, expected, label);
      if (text !== '') text = mutated(random, text);
    }
  }
});

test('parseJson refuses a text that ends within an escape, however long it is', () => {
  for (let length = 2; length < 600; length += 1) {
    const text = `"${'\\'.repeat(length - 1)}`.slice(0, length);
    const actual = parseJson(text);
    assert.ok(actual instanceof JsonProblem, `${length} characters`);
    assert.equal(actual.reason, 'unexpected end of the text');
  }
});

test('parseJson finds the end of a string behind however many backslashes', () => {
  for (let pairs = 0; pairs < 600; pairs += 1) {
    const backslashes = '\\\\'.repeat(pairs);
    for (const text of [`"${backslashes}"`, `"${backslashes}\\"x"`]) assert.equal(parseJson(text), JSON.parse(text), `${pairs} pairs`);
  }
});

test('a text counts the same against its budget in however many steps a string of it is read', async () => {
  const text = JSON.stringify({ ['\n'.repeat(2000)]: '\n'.repeat(2000) });
  for (const chars of [100, 1000, 100_000]) {
    const budget = { valuesMax: 3, valuesLeft: 3 };
    assert.ok((await parseLargeReplied(text, async () => undefined, { chars, values: 100 }, budget)) instanceof JsonObject, `${chars}`);
    assert.equal(budget.valuesLeft, 0);
  }
});

test('a budget that was not enough says so, whatever was one too many, and is never enough again', () => {
  for (const [valuesMax, text] of [[1, '{"a":1}'], [2, '{"a":1}'], [3, '{"a":1,"b":2}'], [1, '[1]'], [0, '""']] as const) {
    const budget = { valuesMax, valuesLeft: valuesMax };
    for (let round = 0; round < 2; round += 1) {
      const actual = parseJson(text, budget);
      assert.ok(actual instanceof JsonProblem, text);
      assert.equal(actual.reason, `more than ${valuesMax} values`);
    }
  }
});

function parseOrUndefined(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

test('parseLenient gives what JSON.parse gives', () => {
  assert.deepEqual(parseLenient(' {"a":[1,null,"x"],"b":1.0} '), { a: [1, null, 'x'], b: 1 });
});

test('parseLenient gives undefined for what is not JSON', () => {
  for (const text of ['', '{', 'x', '{"a":}', '[1,]', '\uFEFF{}']) assert.equal(parseLenient(text), undefined, text);
});

test('parseLenient never sets a prototype', () => {
  const value = parseLenient('{"__proto__":{"polluted":1}}');
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.equal(Reflect.get({}, 'polluted'), undefined);
});

const filler = `"${'x'.repeat(70_000)}"`;

test('parseLenient takes a long text of modest shape', () => {
  const brackets = '[{"a":"\\\\"},'.repeat(10) + '0' + ']'.repeat(10);
  const text = `[${filler}, "]]}}\\"[[[{{{", ${brackets}]`;
  assert.deepEqual(parseLenient(text), JSON.parse(text));
});

test('parseLenient refuses a long text nested beyond the limit', () => {
  const nested = (depth: number): string => `[${filler},${'['.repeat(depth)}${']'.repeat(depth)}]`;
  assert.notEqual(parseLenient(nested(JSON_DEPTH_MAX - 1)), undefined);
  assert.equal(parseLenient(nested(JSON_DEPTH_MAX)), undefined);
});

/** Texts of exactly so many values, keys included. */
const TEXTS_OF_VALUES: Readonly<Record<string, (values: number) => string>> = {
  numbers: (values) => `[${'0,'.repeat(values - 2)}0]`,
  members: (values) => `{${'"a":0,'.repeat((values - 3) / 2)}"a":0}`,
  objects: (values) => `[${'{"a":0},'.repeat((values - 4) / 3)}{"a":0}]`,
};

for (const [what, textOf] of Object.entries(TEXTS_OF_VALUES)) {
  test(`parseLenient and parseReplied take ${JSON_REPLIED_VALUES_MAX} values and refuse more, in ${what}`, () => {
    const most = textOf(what === 'members' ? JSON_REPLIED_VALUES_MAX - 1 : JSON_REPLIED_VALUES_MAX);
    assert.equal(limitPassed(most), undefined);
    assert.notEqual(parseLenient(most), undefined);
    assert.ok(!(parseReplied(most) instanceof JsonProblem));
    const more = textOf(what === 'objects' ? JSON_REPLIED_VALUES_MAX + 3 : JSON_REPLIED_VALUES_MAX + 1);
    assert.equal(limitPassed(more), 'its JSON has more than 1000000 values');
    assert.equal(parseLenient(more), undefined);
    const problem = parseReplied(more);
    assert.ok(problem instanceof JsonProblem);
    assert.equal(problem.reason, 'more than 1000000 values');
  });
}

test('limitPassed never counts fewer values than parseReplied, so that the one tells why the other refused', () => {
  for (const text of ['[]', '{"a":[{},{}]}']) {
    const many = `[${`${text},`.repeat(JSON_REPLIED_VALUES_MAX)}${text}`;
    assert.ok(parseReplied(many) instanceof JsonProblem);
    assert.equal(limitPassed(many), 'its JSON has more than 1000000 values', text);
  }
});

test('parseReplied keeps the text, and the limit on depth', () => {
  const text = `[${'{"a":0},'.repeat(JSON_VALUES_MAX)}[]]`;
  const value = parseReplied(text);
  assert.ok(value instanceof JsonArray);
  assert.equal(value.items.length, JSON_VALUES_MAX + 1);
  assert.equal(value.raw.text, text);
  const deep = '['.repeat(JSON_DEPTH_MAX + 1) + ']'.repeat(JSON_DEPTH_MAX + 1);
  assert.ok(parseReplied(deep) instanceof JsonProblem);
});

test('limitPassed tells one level too many, in text that is no JSON too', () => {
  const tooDeep = 'its JSON has nesting beyond 100 levels';
  assert.equal(limitPassed('['.repeat(JSON_DEPTH_MAX)), undefined);
  assert.equal(limitPassed('['.repeat(JSON_DEPTH_MAX + 1)), tooDeep);
  assert.equal(limitPassed('{"a":'.repeat(JSON_DEPTH_MAX + 1)), tooDeep);
  assert.equal(limitPassed('[],'.repeat(JSON_DEPTH_MAX + 1)), undefined);
  assert.equal(limitPassed(`"${'['.repeat(200)}\\"[[["`), undefined);
});

test('limitPassed tells a number that parseReplied refuses for its length, and no other', () => {
  const tooLong = 'its JSON has a number of more than 4096 characters';
  const rest = JSON_NUMBER_CHARS_MAX - 3;
  for (const start of ['111', '-11', '1.1', '1e1', '1E-', '1e+']) {
    const longest = `{"a":[${start}${'1'.repeat(rest)}]}`;
    assert.ok(!(parseReplied(longest) instanceof JsonProblem), start);
    assert.equal(limitPassed(longest), undefined, start);
    const longer = `{"a":[${start}${'1'.repeat(rest + 1)}]}`;
    assert.ok(parseReplied(longer) instanceof JsonProblem, start);
    assert.equal(limitPassed(longer), tooLong, start);
    assert.equal(limitPassed(longer.slice(0, -2)), tooLong, start);
  }
  assert.equal(limitPassed(JSON.stringify(['1'.repeat(JSON_NUMBER_CHARS_MAX + 1)])), undefined);
});

test('limitPassed comes to the end of a text that ends within an escape, however long it is', () => {
  for (let length = 1; length < 600; length += 1) {
    const text = `[{"a\\"${'\\'.repeat(length)}`;
    assert.equal(limitPassed(text), undefined, `${length} backslashes`);
    assert.equal(limitPassed(`"${'['.repeat(length)}\\`), undefined, `${length} brackets`);
  }
  assert.equal(limitPassed(`["${'a'.repeat(254)}\\"${'\\'.repeat(255)}`), undefined);
});

test('parseLenient does not count brackets and commas inside strings', () => {
  const text = JSON.stringify(['[{,:'.repeat(JSON_REPLIED_VALUES_MAX)]);
  assert.deepEqual(parseLenient(text), JSON.parse(text));
});

test('parseLargeLenient gives what parseLenient gives, and null for what is no JSON or beyond a limit', async () => {
  const turn = async (): Promise<void> => undefined;
  const spaced = `[${' '.repeat(1000)}"${'x\\"'.repeat(1000)}",${'\n\t'.repeat(500)}{"a":[]}]`;
  assert.deepEqual(await parseLargeLenient(spaced, turn), parseLenient(spaced));
  for (const text of ['', '[', '"', `"${'x'.repeat(5000)}`, `"${'x'.repeat(5000)}\\`, '['.repeat(101) + ']'.repeat(101), `${' '.repeat(500)}[,]`]) {
    assert.equal(await parseLargeLenient(text, turn), null, text.slice(0, 20));
  }
});

test('parseLargeLenient agrees with JSON.parse on random texts and their mutations, wherever its steps end', async () => {
  for (let seed = 1; seed <= 2000; seed += 1) {
    const random = createRandom(seed);
    let text = `[${randomJson(random, 0)},{"__proto__":{"a":-0},"2":1,"1":[2],"b":1,"b":"x"}]`;
    for (let round = 0; round < 3 && !BACKSLASH_IN_KEY.test(text); round += 1) {
      const pace = { chars: random.below(40), values: random.below(3) };
      assert.deepEqual(await parseLargeLenient(text, async () => undefined, pace), parseOrUndefined(text)?.value ?? null, `seed ${seed}: ${text}`);
      text = mutated(random, text);
    }
  }
});

test('limitPassed counts the same with white space between values as without', () => {
  const nested = (space: string): string => `${'['.repeat(JSON_DEPTH_MAX)}${space}[${space}]`;
  for (const space of ['', ' ', '\n'.repeat(33), ' \t\r\n'.repeat(100)]) assert.equal(limitPassed(nested(space)), 'its JSON has nesting beyond 100 levels');
});

test('parseLenient refuses a long text whose last string never ends', () => {
  for (const end of ['"', '"\\', '"x']) assert.equal(parseLenient(`[${filler},${end}`), undefined);
});

const rendered: readonly (readonly [value: JsonOut, text: string])[] = [
  ['a"\n\u0000é', '"a\\"\\n\\u0000é"'],
  ['\ud800', '"\\ud800"'],
  [0, '0'],
  [-0, '0'],
  [1.5, '1.5'],
  [1e21, '1e+21'],
  [true, 'true'],
  [false, 'false'],
  [null, 'null'],
  [[], '[]'],
  [[1, [2], 'x'], '[1,[2],"x"]'],
  [{}, '{}'],
  [{ a: 1, b: undefined, c: null }, '{"a":1,"c":null}'],
  [{ a: undefined, b: 1 }, '{"b":1}'],
  [{ 'a"b': { c: [] } }, '{"a\\"b":{"c":[]}}'],
  [new RawJson(' 1.0 '), ' 1.0 '],
  [{ a: new RawJson('{"b": 1.0}'), c: [new RawJson('1e2')] }, '{"a":{"b": 1.0},"c":[1e2]}'],
  [new Map(), '{}'],
  [new Map<string, JsonOut>([['2', 1], ['1', new Map([['__proto__', 2]])]]), '{"2":1,"1":{"__proto__":2}}'],
];

for (const [value, text] of rendered) {
  test(`renderJson writes ${text}`, () => assert.equal(renderJson(value), text));
}

test('what a program adds to all objects is not written', () => {
  const everybody = Object.prototype as unknown as Record<string, unknown>;
  everybody['added'] = 'to all';
  try {
    assert.equal(renderJson({ a: { b: 1 } }), '{"a":{"b":1}}');
  } finally {
    delete everybody['added'];
  }
});

test('renderJson throws on a number that JSON cannot carry', () => {
  for (const value of [NaN, Infinity, -Infinity]) assert.throws(() => renderJson({ a: [value] }), RangeError);
});

/** RFC 7396, appendix A; targets and patches that are no objects stand below the top here. */
const mergeExamples: readonly (readonly [target: string, patch: string, result: string])[] = [
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', '{}'],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['["a","b"]', '["c","d"]', '["c","d"]'],
  ['{"a":"b"}', '["c"]', '["c"]'],
  ['{"a":"foo"}', '"bar"', '"bar"'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
  ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
];

for (const [target, patch, result] of mergeExamples) {
  test(`mergePatch turns ${target} with ${patch} into ${result}`, () => {
    const wrapped = parsedObject(`{"x":${patch}}`);
    assert.equal(renderJson(mergePatch({ x: JSON.parse(target) as JsonOut }, wrapped)), `{"x":${result}}`);
    assert.equal(renderJson(mergePatch({ x: new RawJson(target) }, wrapped)), `{"x":${result}}`);
  });
}

const merges: readonly (readonly [name: string, target: JsonOutObject, patch: string, result: string])[] = [
  ['removes a key with null', { a: 1, b: 2 }, '{"a":null,"c":null}', '{"b":2}'],
  ['keeps the place of a key it replaces and appends new ones', { a: 1, b: 2 }, '{"c":3,"a":4}', '{"a":4,"b":2,"c":3}'],
  ['keeps the text of numbers', { a: 1 }, '{"a":1.0,"b":[1e-7],"c":{"d":12345678901234567890}}', '{"a":1.0,"b":[1e-7],"c":{"d":12345678901234567890}}'],
  ['keeps nulls inside arrays', {}, '{"a":[null,{"b":null}]}', '{"a":[null,{"b":null}]}'],
  ['treats __proto__ as a key', { a: 1 }, '{"__proto__":{"polluted":1},"constructor":{"prototype":{}}}', '{"a":1,"__proto__":{"polluted":1},"constructor":{"prototype":{}}}'],
  ['takes no undefined property over', { a: { b: undefined, c: 1 } }, '{"a":{"d":2}}', '{"a":{"c":1,"d":2}}'],
  ['merges into a Map', { a: new Map([['b', 1]]) }, '{"a":{"c":2}}', '{"a":{"b":1,"c":2}}'],
  ['replaces null by an object', { a: null }, '{"a":{"b":1}}', '{"a":{"b":1}}'],
  ['writes booleans and strings', {}, '{"a":true,"b":"x","c":false}', '{"a":true,"b":"x","c":false}'],
];

for (const [name, target, patch, result] of merges) {
  test(`mergePatch ${name}`, () => assert.equal(renderJson(mergePatch(target, parsedObject(patch))), result));
}

test('mergePatch writes of a key that comes twice the last value alone, at every depth', () => {
  for (const target of [{}, { a: 1 }, { a: {} }]) assert.equal(renderJson(mergePatch(target, parsedObject('{"a":{"b":{"x":1,"x":2}}}'))), '{"a":{"b":{"x":2}}}');
});

test('mergePatch leaves its target as it was', () => {
  const inner = new Map([['b', 1]]);
  const target = { a: inner, c: { d: 1 } };
  mergePatch(target, parsedObject('{"a":{"b":2},"c":{"d":null},"e":1}'));
  assert.deepEqual(target, { a: new Map([['b', 1]]), c: { d: 1 } });
  assert.equal(Reflect.get({}, 'polluted'), undefined);
});
