import { equal } from 'node:assert/strict';
import { test } from 'node:test';
import { matchesAllow } from '../../src/core/allow.ts';

/** Every kind of entry, and the names that it allows. */
const ENTRIES: Readonly<Record<string, readonly string[]>> = {
  '*': ['smart', 'smart-2', 'Smart', 'openai/gpt-5', 'openai/gpt-5-mini', 'openai-eu/gpt-5', 'openrouter/openai/gpt-5', 'openai/*', '*'],
  smart: ['smart'],
  'smart*': ['smart', 'smart-2'],
  's*': ['smart', 'smart-2'],
  'openai*': [],
  'openai/gpt-5': ['openai/gpt-5'],
  'openai/gpt-5*': ['openai/gpt-5', 'openai/gpt-5-mini'],
  'openai/*': ['openai/gpt-5', 'openai/gpt-5-mini', 'openai/*'],
  'openrouter/openai/*': ['openrouter/openai/gpt-5'],
  'gpt-5': [],
  'gpt-5*': [],
  '': [],
};
const NAMES = ENTRIES['*'] ?? [];

test('matchesAllow takes exactly the names of each kind of entry', () => {
  for (const [entry, allowed] of Object.entries(ENTRIES)) {
    for (const name of NAMES) equal(matchesAllow([entry], name), allowed.includes(name), `${entry} ${name}`);
  }
});

test('matchesAllow takes what any entry takes', () => {
  for (const first of Object.keys(ENTRIES)) {
    for (const second of Object.keys(ENTRIES)) {
      for (const name of NAMES) equal(matchesAllow([first, second], name), matchesAllow([first], name) || matchesAllow([second], name));
    }
  }
});

test('matchesAllow takes everything without a list, and nothing of an empty one', () => {
  for (const name of NAMES) equal(matchesAllow(undefined, name) && !matchesAllow([], name), true);
});
