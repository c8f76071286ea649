import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byName } from '../../src/base/by-name.ts';

test('what is made of a name is made once, for the first thousand names, and again each time where it is undefined', () => {
  const asked: string[] = [];
  const make = byName((name) => {
    asked.push(name);
    return name === 'none' ? undefined : `<${name}>`;
  });
  assert.deepEqual([make('a'), make('a'), make('none'), make('none')], ['<a>', '<a>', undefined, undefined]);
  assert.deepEqual(asked, ['a', 'none', 'none']);
  for (let index = 0; index < 1000; index += 1) make(`n${index}`);
  asked.length = 0;
  assert.deepEqual([make('a'), make('n0'), make('late'), make('late')], ['<a>', '<n0>', '<late>', '<late>']);
  assert.deepEqual(asked, ['late', 'late']);
});
