import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conversationFacts, piecesOf, slicesOf } from '../../src/sandbox/protocol.ts';
import type { Ask, Tool } from '../../src/sandbox/protocol.ts';
import { MODELS, matchName, writeScript } from '../../src/sandbox/script.ts';

const FACTS = conversationFacts('', [{ by: 'user', text: 'Go', imageCount: 0, documents: [], results: [] }], []);

function ask(model: string, more: Partial<Ask> = {}): Ask {
  return {
    model, facts: FACTS, isStream: false, tools: [], choice: { mode: 'auto' }, maxTokens: undefined, stop: [],
    isThinkingAsked: false, seed: '', isUsageStreamed: true, isLines: true, ...more,
  };
}

function argumentsFor(schema: unknown): unknown[] {
  const script = writeScript(ask('fake-parallel', { tools: [{ name: 'f', schema }] }));
  return script.blocks.map((block) => (block.type === 'call' ? JSON.parse(block.argumentsText) : block.type));
}

test('a name matches a row that holds its number, and no other', () => {
  const table = { 'fake-late-N': 'late', 'fake-status-NNN': 'status', 'fake-status-429-after-N': 'after' };
  assert.deepEqual(matchName(table, 'fake-late-20'), { row: 'late', n: 20 });
  assert.deepEqual(matchName(table, 'fake-status-429'), { row: 'status', n: 429 });
  assert.deepEqual(matchName(table, 'fake-status-429-after-3'), { row: 'after', n: 3 });
  assert.equal(matchName(table, 'fake-late-'), undefined);
  assert.equal(matchName(table, 'x-fake-late-1'), undefined);
  assert.equal(matchName(table, 'fake-late-N'), undefined);
});

test('every model says in one line what it does', () => {
  for (const [name, { meaning }] of Object.entries(MODELS)) assert.match(meaning, /^.{10,160}$/, name);
});

test('an unknown model chats', () => {
  assert.equal(writeScript(ask('gpt-9')).ending, 'end');
});

test('a quotation ends after 60 characters and splits none', () => {
  const facts = { ...FACTS, userText: '🙂'.repeat(61) };
  const [block] = writeScript(ask('fake-chat', { facts })).blocks;
  assert.ok(block?.type === 'text' && block.pieces.join('').includes(`wrote: ${'🙂'.repeat(60)} This`));
});

test('arguments fit the schema, the allowed values first, other ones for the next call', () => {
  const schema = {
    type: 'object',
    properties: {
      unit: { enum: ['C', 'F'] }, only: { const: 5 }, city: { type: 'string' }, days: { type: 'integer' }, lat: { type: 'number' },
      isNow: { type: 'boolean' }, tags: { type: 'array', items: { type: 'string' } }, where: { anyOf: [{ type: 'integer' }] },
      maybe: { type: ['null', 'integer'] }, deep: { type: 'OBJECT', properties: { x: { type: 'STRING' } } }, free: {},
    },
  };
  const [first, second] = argumentsFor(schema);
  assert.deepEqual(first, {
    unit: 'C', only: 5, city: 'city 1', days: 1, lat: 0.5, isNow: true, tags: ['tags 1'], where: 1, maybe: 1, deep: { x: 'x 1' }, free: 'free 1',
  });
  assert.deepEqual((second as { unit: string; isNow: boolean }).unit, 'F');
});

test('arguments for no schema, or one of no object, are an empty object', () => {
  assert.deepEqual(argumentsFor(undefined), [{}, {}, {}]);
  assert.deepEqual(argumentsFor({ type: 'object' }), [{}, {}, {}]);
});

test('a schema nested without end gives arguments all the same', () => {
  let schema: unknown = { type: 'array' };
  for (let depth = 0; depth < 50; depth += 1) schema = depth % 2 === 0 ? { type: 'object', properties: { a: schema } } : { type: 'array', items: schema };
  assert.equal(argumentsFor({ type: 'object', properties: { a: schema } }).length, 3);
});

test('fake-long-N has N pieces', () => {
  const [block] = writeScript(ask('fake-long-5')).blocks;
  assert.deepEqual(block?.type === 'text' && block.pieces, ['word1 ', 'word2 ', 'word3 ', 'word4 ', 'word5 ']);
});

test('fake-no-usage reports none', () => {
  assert.equal(writeScript(ask('fake-no-usage')).usage, undefined);
});

const TOOL: Tool = { name: 'f', schema: {} };

test('models that call tools only talk when there are none, or after the results', () => {
  for (const model of ['fake-tool-loop', 'fake-parallel', 'fake-json-numbers']) {
    assert.equal(writeScript(ask(model)).ending, 'end', model);
    assert.equal(writeScript(ask(model, { tools: [TOOL] })).ending, 'tool_calls', model);
    assert.equal(writeScript(ask(model, { tools: [TOOL], facts: { ...FACTS, round: 2, results: ['ok'] } })).ending, 'end', model);
  }
});

test('a limit inside the reasoning ends the answer there', () => {
  const script = writeScript(ask('fake-thinking', { maxTokens: 3 }));
  assert.deepEqual([script.blocks.map((block) => block.type), script.ending, script.usage?.outputTokens, script.usage?.reasoningTokens], [['thinking'], 'max_tokens', 3, 3]);
});

test('a refusal stays one under a limit', () => {
  assert.equal(writeScript(ask('fake-refusal-partial', { maxTokens: 1 })).ending, 'refusal');
});

test('a round is a turn with calls since the user last said something', () => {
  const turns = [
    { by: 'user', text: 'a', imageCount: 0, documents: [], results: [] },
    { by: 'assistant', text: '', calls: ['{}'] },
    { by: 'user', text: '', imageCount: 0, documents: [], results: ['r1'] },
    { by: 'assistant', text: 'x', calls: [] },
  ] as const;
  assert.deepEqual([conversationFacts('', turns, []).round, conversationFacts('', turns, []).results], [1, ['r1']]);
  const later = [...turns, { by: 'user', text: 'b', imageCount: 0, documents: [], results: [] }] as const;
  assert.deepEqual([conversationFacts('', later, []).round, conversationFacts('', later, []).userText], [0, 'b']);
});

test('pieces and slices add up to the text', () => {
  assert.deepEqual(piecesOf(' a  b\nc '), [' a ', ' b\n', 'c ']);
  assert.deepEqual(piecesOf(''), []);
  assert.deepEqual(slicesOf('abcde', 2), ['ab', 'cd', 'e']);
});
