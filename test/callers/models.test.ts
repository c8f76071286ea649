/** Lists of models, and one model, in the form of each dialect. */

import { deepEqual } from 'node:assert/strict';
import test from 'node:test';
import { ANTHROPIC_MODELS } from '../../src/callers/anthropic/models.ts';
import { NATIVE_MODELS } from '../../src/callers/native/models.ts';
import { OPENAI_MODELS } from '../../src/callers/openai-common/models.ts';
import type { ListedModel } from '../../src/core/dialect.ts';
import { Failure } from '../../src/core/failure.ts';

const KNOWN: ListedModel = { name: 'acme/a', provider: 'acme', info: { id: 'a', displayName: 'A', contextWindow: 264_000, outputTokensMax: 64_000, inputTokensMax: 200_000, input: ['text', 'pdf'], deprecatedAt: '2027-01-31' } };
const UNKNOWN: ListedModel = { name: 'best/b', provider: 'best', info: { id: 'b', displayName: undefined, contextWindow: undefined, outputTokensMax: undefined, inputTokensMax: undefined, input: undefined, deprecatedAt: undefined } };
const BOTH = { models: [KNOWN, UNKNOWN], defaultProvider: 'acme' };
const NO_QUERY = new URLSearchParams();

/** As a caller reads it. */
function read(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

test('the native list has the models of the default provider under its own names', () => {
  deepEqual(read(NATIVE_MODELS.list(BOTH, NO_QUERY)), {
    provider: 'acme',
    models: [{ id: 'a', display_name: 'A', max_input_tokens: 200_000, max_output_tokens: 64_000, context_window: 264_000, input: ['text', 'pdf'], deprecated_at: '2027-01-31' }],
  });
  deepEqual(read(NATIVE_MODELS.list({ ...BOTH, defaultProvider: 'best' }, NO_QUERY)), { provider: 'best', models: [{ id: 'b' }] });
  deepEqual(read(NATIVE_MODELS.one(UNKNOWN)), { provider: 'best', id: 'b' });
});

test('the native list says nothing of a default provider whose models are not to be had', () => {
  deepEqual(read(NATIVE_MODELS.list({ ...BOTH, defaultProvider: undefined }, NO_QUERY)), {});
});

test("OpenAI's list has every model, made at a time that nobody knows", () => {
  const known = { id: 'acme/a', object: 'model', created: 0, owned_by: 'acme' };
  deepEqual(read(OPENAI_MODELS.list(BOTH, NO_QUERY)), { object: 'list', data: [known, { id: 'best/b', object: 'model', created: 0, owned_by: 'best' }] });
  deepEqual(read(OPENAI_MODELS.one(KNOWN)), known);
});

test("Anthropic's list has every model, made at a time that nobody knows", () => {
  const known = { type: 'model', id: 'acme/a', display_name: 'A', created_at: '1970-01-01T00:00:00Z', lifecycle: 'deprecated', max_input_tokens: 200_000, max_tokens: 64_000 };
  deepEqual(read(ANTHROPIC_MODELS.list(BOTH, NO_QUERY)), {
    data: [known, { type: 'model', id: 'best/b', display_name: 'best/b', created_at: '1970-01-01T00:00:00Z', lifecycle: 'active' }],
    has_more: false,
    first_id: 'acme/a',
    last_id: 'best/b',
  });
  deepEqual(read(ANTHROPIC_MODELS.list({ models: [], defaultProvider: 'acme' }, NO_QUERY)), { data: [], has_more: false, first_id: null, last_id: null });
  deepEqual(read(ANTHROPIC_MODELS.one(KNOWN)), known);
});

const FIVE = { models: ['a', 'b', 'c', 'd', 'e'].map((name) => ({ ...UNKNOWN, name })), defaultProvider: 'best' };

type Page = { readonly data: readonly { readonly id: string }[]; readonly has_more: boolean; readonly first_id: string; readonly last_id: string };

/** The ids of a page, `+` when there are more; or the sentence of the failure. */
function page(query: string, list = FIVE): string {
  const answer = ANTHROPIC_MODELS.list(list, new URLSearchParams(query));
  if (answer instanceof Failure) return `${answer.kind}: ${answer.message}`;
  const { data, has_more: hasMore, first_id: first, last_id: last } = read(answer) as Page;
  deepEqual([first, last], [data[0]?.id ?? null, data.at(-1)?.id ?? null]);
  return data.map(({ id }) => id).join('') + (hasMore ? '+' : '');
}

for (const [query, expected] of [
  ['', 'abcde'],
  ['limit=1', 'a+'],
  ['limit=2', 'ab+'],
  ['limit=2&after_id=b', 'cd+'],
  ['limit=2&after_id=d', 'e'],
  ['limit=2&after_id=e', ''],
  ['limit=3&after_id=b', 'cde'],
  ['limit=1000', 'abcde'],
  ['before_id=c', 'ab'],
  ['limit=2&before_id=e', 'cd+'],
  ['limit=2&before_id=d', 'bc+'],
  ['limit=2&before_id=c', 'ab'],
  ['limit=2&before_id=a', ''],
  ['limit=0', 'bad_request: limit: must be a whole number from 1 to 1000'],
  ['limit=1001', 'bad_request: limit: must be a whole number from 1 to 1000'],
  ['limit=1.5', 'bad_request: limit: must be a whole number from 1 to 1000'],
  ['limit=', 'bad_request: limit: must be a whole number from 1 to 1000'],
  ['after_id=x', 'bad_request: after_id: there is no such model'],
  ['before_id=', 'bad_request: before_id: there is no such model'],
  ['after_id=a&before_id=c', 'bad_request: before_id: set either before_id or after_id, not both'],
] as const) {
  test(`a page of five models for "${query}" is "${expected}"`, () => deepEqual(page(query), expected));
}

test('a page without a limit has 20 models', () => {
  const models = Array.from({ length: 21 }, (_, index) => ({ ...UNKNOWN, name: String.fromCharCode(97 + index) }));
  deepEqual(page('', { ...FIVE, models }), 'abcdefghijklmnopqrst+');
});
