import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { FieldProblem } from '../../src/base/fields.ts';
import { plainJson, TOO_LONG } from '../../src/base/json/plain.ts';

const CHARS_MAX = 10_000_000;

function problemOf(value: unknown): string {
  try {
    return `no problem: ${String(plainJson(value, CHARS_MAX))}`;
  } catch (thrown) {
    if (thrown instanceof FieldProblem) return thrown.message;
    throw thrown;
  }
}

test('plainJson writes what JSON.stringify writes of plain values', () => {
  const values = [null, true, false, 0, -0, 1.5, 1e21, 'a "b"\n\u2028\ud800', [], [1, [2]], {}, { a: { b: [] }, 1: 'x', __proto__: null, '': 0 }];
  for (const value of values) assert.equal(plainJson(value, CHARS_MAX), JSON.stringify(value));
});

test('plainJson leaves out what is undefined, as JSON.stringify does', () => {
  assert.equal(plainJson({ a: undefined, b: { c: undefined }, d: 1 }, CHARS_MAX), '{"b":{},"d":1}');
});

test('plainJson takes objects of another realm and without a prototype', () => {
  assert.equal(plainJson(runInNewContext('({ a: [{}] })'), CHARS_MAX), '{"a":[{}]}');
  assert.equal(plainJson(Object.create(null), CHARS_MAX), '{}');
});

const EXPECTED = 'expected a string, finite number, boolean, array, plain object or null, got';

test('plainJson refuses what JSON cannot say, by its path', () => {
  const cases: readonly (readonly [value: unknown, problem: string])[] = [
    [{ temperature: NaN }, `temperature: ${EXPECTED} NaN`],
    [{ a: [1, -Infinity] }, `a[1]: ${EXPECTED} -Infinity`],
    [{ a: { b: () => 1 } }, `a.b: ${EXPECTED} function`],
    [[undefined], `[0]: ${EXPECTED} undefined`],
    [{ a: 1n }, `a: ${EXPECTED} bigint`],
    [{ a: Symbol('x') }, `a: ${EXPECTED} symbol`],
    [{ a: new Date() }, `a: ${EXPECTED} an instance of a class`],
    [{ a: new Map() }, `a: ${EXPECTED} an instance of a class`],
    [{ a: Buffer.from('x') }, `a: ${EXPECTED} an instance of a class`],
    [undefined, `${EXPECTED} undefined`],
  ];
  for (const [value, problem] of cases) assert.equal(problemOf(value), problem);
});

test('plainJson refuses an object that holds itself, and one that is a part of itself in too many places', () => {
  const loop: { self?: unknown } = {};
  loop.self = loop;
  assert.equal(problemOf(loop), 'nesting beyond 100 levels, or an object that holds itself');
  let doubled: unknown = 'x';
  for (let depth = 0; depth < 60; depth += 1) doubled = [doubled, doubled];
  assert.equal(problemOf(doubled), 'more than 100000 values');
});

test('plainJson gives up on a text that is longer than allowed before it has written it', () => {
  const text = 'x'.repeat(1000);
  assert.equal(plainJson([text], 999), TOO_LONG);
  assert.equal(plainJson(Array.from({ length: 50_000 }, () => text), 10_000), TOO_LONG);
  assert.equal(plainJson(text, 1000), `"${text}"`);
});
