import { deepEqual, equal } from 'node:assert/strict';
import test from 'node:test';
import { createJsonBudget } from '../../src/base/json/limits.ts';
import { carriedStates, carryStates, DAMAGED, NOTHING_CARRIED } from '../../src/callers/carried-state.ts';

test('what carryStates writes, carriedStates reads', () => {
  const states = [
    { owner: 'own', state: 'anthropic.acme.e30' },
    { owner: 'text', state: 'openai-chat.A_b-1.e_-' },
    { owner: 'empty', state: 'gemini.gemini.' },
  ] as const;
  const text = carryStates(states);
  equal(text, 'gateway:own=anthropic.acme.e30,text=openai-chat.A_b-1.e_-,empty=gemini.gemini.');
  deepEqual(carriedStates(text, createJsonBudget()), states);
});

test('no states are a text that carries nothing', () => {
  equal(carryStates([]), NOTHING_CARRIED);
  deepEqual(carriedStates(NOTHING_CARRIED, createJsonBudget()), []);
});

for (const text of ['', 'EqQBCkYIBRgCKkD', 'gateway', 'Gateway:own=a.b.', ' gateway:']) {
  test(`${JSON.stringify(text)} is of another vendor`, () => equal(carriedStates(text, createJsonBudget()), undefined));
}

for (const text of ['gateway:x', 'gateway:own', 'gateway:own=a.b', 'gateway:own=a.b.c.d', 'gateway:own=a.b.=', 'gateway:,', 'gateway:own=a.b.,', 'gateway:own=a.b.\n']) {
  test(`${JSON.stringify(text)} is damaged`, () => equal(carriedStates(text, createJsonBudget()), DAMAGED));
}

test('texts that share a budget hold no more states together than parts with a state could stand in as many values', () => {
  const budget = createJsonBudget();
  budget.valuesLeft = 15;
  equal(carriedStates('gateway:own=a.b.,text=a.b.', budget)?.valueOf().constructor, Array);
  equal(carriedStates('gateway:own=a.b.,text=a.b.', budget), DAMAGED);
  equal(carriedStates('gateway:own=a.b.', budget)?.valueOf().constructor, Array);
});
