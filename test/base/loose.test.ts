import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countField, field, isObject, listField, numberField, stringField, textField } from '../../src/base/loose.ts';

const odd: readonly unknown[] = [undefined, null, true, false, 0, 1.5, '', 'a', [], ['a'], {}, { a: 1 }, () => 1, Symbol('a')];

test('field reads an own property', () => {
  assert.equal(field({ a: 1 }, 'a'), 1);
  assert.equal(field(['x'], '0'), 'x');
});

test('field reads undefined from what is no object', () => {
  for (const value of [undefined, null, 1, 'text', true, () => 1]) assert.equal(field(value, 'length'), undefined);
});

test('field never sees a prototype', () => {
  for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) assert.equal(field({}, key), undefined);
});

test('field reads an own __proto__ as a plain property', () => {
  assert.equal(field(JSON.parse('{"__proto__":"a"}'), '__proto__'), 'a');
});

test('field reads objects without a prototype', () => {
  const bare: unknown = Object.assign(Object.create(null), { a: 1 });
  assert.equal(field(bare, 'a'), 1);
});

const readers: readonly (readonly [name: string, read: (value: unknown) => unknown, expected: readonly unknown[]])[] = [
  ['stringField takes strings alone', (a) => stringField({ a }, 'a'), ['', 'a']],
  ['textField takes strings that are not empty', (a) => textField({ a }, 'a'), ['a']],
  ['numberField takes finite numbers', (a) => numberField({ a }, 'a'), [0, 1.5]],
  ['countField takes whole numbers from zero', (a) => countField({ a }, 'a'), [0]],
];

for (const [name, read, expected] of readers) {
  test(name, () => assert.deepEqual(odd.map(read).filter((value) => value !== undefined), expected));
}

test('numberField takes no infinity and no NaN', () => {
  assert.deepEqual([Infinity, -Infinity, NaN, -1].map((a) => numberField({ a }, 'a')), [undefined, undefined, undefined, -1]);
});

test('countField takes nothing negative and nothing beyond 2^53-1', () => {
  const values = [-1, 2 ** 53, 2 ** 53 - 1, NaN, Infinity];
  assert.deepEqual(values.map((a) => countField({ a }, 'a')), [undefined, undefined, 2 ** 53 - 1, undefined, undefined]);
});

test('listField takes arrays, and the empty array for anything else', () => {
  assert.deepEqual(listField({ a: [1, 'b'] }, 'a'), [1, 'b']);
  for (const a of odd) if (!Array.isArray(a)) assert.deepEqual(listField({ a }, 'a'), []);
  assert.deepEqual(listField(undefined, 'a'), []);
});

test('isObject is true for objects that are no arrays', () => {
  assert.deepEqual(odd.filter(isObject), [{}, { a: 1 }]);
});
