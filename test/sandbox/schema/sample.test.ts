import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderJson } from '../../../src/base/json/render.ts';
import { fittingText } from '../../../src/sandbox/schema/pattern.ts';
import { sampleArguments, sampleValue } from '../../../src/sandbox/schema/sample.ts';
import type { SampleSettings } from '../../../src/sandbox/schema/sample.ts';

function sampled(schema: unknown, settings: Partial<SampleSettings> = {}): unknown {
  return JSON.parse(renderJson(sampleValue(schema, { variant: 0, ...settings })));
}

const object = (properties: object, more: object = {}): object => ({ type: 'object', properties, ...more });
const PERSON = object({ name: { type: 'string' } });

for (const [what, schema, expected] of [
  ['a text by its key', object({ city: { type: 'string' } }), { city: 'city 1' }],
  ['the least that a number may be', object({ n: { type: 'integer', minimum: 10 } }), { n: 10 }],
  ['the most that a number may be', object({ n: { type: 'integer', maximum: -5 } }), { n: -5 }],
  ['a number between exclusive bounds', object({ n: { type: 'integer', exclusiveMinimum: 4, exclusiveMaximum: 6 } }), { n: 5 }],
  ['a multiple', object({ n: { type: 'integer', minimum: 10, multipleOf: 7 } }), { n: 14 }],
  ['a fraction', object({ n: { type: 'number', minimum: 2, multipleOf: 0.5 } }), { n: 2 }],
  ['null where nothing else may be', object({ n: { type: 'null' } }), { n: null }],
  ['a constant null', object({ n: { const: null } }), { n: null }],
  ['the type beside null', object({ n: { type: ['null', 'boolean'] } }), { n: true }],
  ['a text where the format has a name of JavaScript\'s own', object({ d: { type: 'string', format: 'constructor' } }), { d: 'd 1' }],
  ['a date', object({ d: { type: 'string', format: 'date' } }), { d: '2026-01-01' }],
  ['a long text', object({ t: { type: 'string', minLength: 9 } }), { t: 't 1......' }],
  ['a short text', object({ t: { type: 'string', maxLength: 2 } }), { t: 't ' }],
  ['a text of a pattern', object({ t: { type: 'string', pattern: '^[A-Z]{3}-\\d{2,}$' } }), { t: 'AAA-00' }],
  ['as many items as there have to be, each another', { type: 'array', items: { type: 'integer' }, minItems: 3 }, [1, 2, 3]],
  ['no item where there may be none', { type: 'array', items: { type: 'integer' }, maxItems: 0 }, []],
  ['a tuple', { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }] }, ['value 1', 2]],
  ['a reference', { ...object({ a: { $ref: '#/$defs/P' } }), $defs: { P: PERSON } }, { a: { name: 'name 1' } }],
  ['a reference with an escaped name', { ...object({ a: { $ref: '#/$defs/x~1y~0z' } }), $defs: { 'x/y~z': { const: 4 } } }, { a: 4 }],
  ['all of some parts', { allOf: [PERSON, object({ age: { type: 'integer' } })] }, { name: 'name 1', age: 1 }],
  ['what stands beside an alternative', { ...PERSON, anyOf: [object({ a: { const: 1 } })] }, { name: 'name 1', a: 1 }],
  ['an open map', { type: 'object', additionalProperties: { type: 'boolean' } }, { 'key 1': true }],
  ['as many keys as there have to be', { type: 'object', additionalProperties: { type: 'integer' }, minProperties: 2 }, { 'key 1': 1, 'key 2': 2 }],
  ['a required key of which nothing is said', { type: 'object', required: ['x'] }, { x: 'x 1' }],
  ['an object without a type', { properties: { x: { const: 1 } } }, { x: 1 }],
  ['types in upper case', { type: 'OBJECT', properties: { x: { type: 'INTEGER' } } }, { x: 1 }],
  ['keys that are names of a prototype', object({ ['__proto__']: { type: 'string' }, constructor: { type: 'integer' } }), JSON.parse('{"__proto__":"__proto__ 1","constructor":1}')],
] as const) {
  test(`a sample gives ${what}`, () => {
    assert.deepEqual(sampled(schema), expected);
  });
}

test('keys come in the order of the schema, of its own list, or the required first', () => {
  const keys = (schema: unknown, settings?: Partial<SampleSettings>): string[] => Object.keys(sampled(schema, settings) as object);
  const schema = object({ a: {}, b: {}, c: {} }, { required: ['c'] });
  assert.deepEqual(keys(schema), ['a', 'b', 'c']);
  assert.deepEqual(keys(schema, { isRequiredFirst: true }), ['c', 'a', 'b']);
  assert.deepEqual(keys({ ...schema, propertyOrdering: ['b', 'c', 'a'] }), ['b', 'c', 'a']);
});

test('a schema that goes round ends with null, with an empty list or without what may be left out', () => {
  const linked = object({ v: { type: 'integer' }, next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } }, { required: ['v', 'next'] });
  const tree = object({ kids: { type: 'array', items: { $ref: '#' } } }, { required: ['kids'] });
  const optional = object({ a: { $ref: '#' }, b: { $ref: '#' }, c: { $ref: '#' }, d: { $ref: '#' }, e: { $ref: '#' } });
  for (const schema of [linked, tree, optional]) assert.ok(JSON.stringify(sampled(schema)).length < 20_000);
  assert.ok(JSON.stringify(sampled(linked)).includes('"next":null'));
  assert.ok(JSON.stringify(sampled(tree)).includes('"kids":[]'));
});

test('a schema that has to go round for ever is cut', () => {
  for (const schema of [object({ a: { $ref: '#' } }, { required: ['a'] }), { $ref: '#' }, { anyOf: [{ $ref: '#' }] }]) {
    assert.ok(JSON.stringify(sampled(schema)).length < 20_000);
  }
});

test('a schema that asks for too much gets a bounded answer', () => {
  const greedy = { type: 'array', minItems: 1e9, items: { type: 'array', minItems: 1e9, items: { type: 'string', minLength: 1e9 } } };
  assert.ok(renderJson(sampleValue({ type: 'string', minLength: 1e9 }, { variant: 0 })).length < 20_000);
  assert.ok(renderJson(sampleValue(greedy, { variant: 0 })).length < 3_000_000);
  assert.equal((sampled({ ...greedy, items: { type: 'null' } }) as unknown[]).length, 100);
});

test('arguments are an object whatever the schema says', () => {
  for (const schema of [undefined, true, { type: 'string' }, { type: 'array' }]) assert.equal(renderJson(sampleArguments(schema, 0)), '{}');
});

for (const pattern of ['^abc$', 'a+b*c?', '[a-f0-9]{8}', '(foo|bar)-\\d+', '(?:x|y){2}', '(?<year>\\d{4})-\\w', '^\\S+@\\S+\\.[a-z]{2,}$', '[^a]', '[\\d.]+', 'a{0}b', '\\$\\{\\}', '']) {
  test(`a text fits the pattern /${pattern}/`, () => {
    assert.match(fittingText(pattern) ?? 'none', new RegExp(`^(?:${pattern})$`));
  });
}

for (const pattern of ['(?=a)b', '(a)\\1', '\\bx', '\\p{L}', '[a', '(a', 'a)', '*', 'a{9999}', '('.repeat(200), '(?<!a)b', '[^z-a]']) {
  test(`there is no text for the pattern /${pattern.slice(0, 20)}/`, () => {
    assert.equal(fittingText(pattern), undefined);
  });
}
