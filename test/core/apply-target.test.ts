import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from '../../src/base/json/parse.ts';
import { JsonObject } from '../../src/base/json/value.ts';
import { applyTarget, isUnchanging } from '../../src/core/apply-target.ts';
import type { ChatRequest } from '../../src/core/chat.ts';
import { OMITTABLE_FIELDS } from '../../src/core/route.ts';
import type { OmittableField, TargetDefaults } from '../../src/core/route.ts';
import { requestOf } from '../loops/codecs.ts';

function options(text: string): JsonObject {
  const value = parseJson(text);
  assert.ok(value instanceof JsonObject);
  return value;
}

const NO_DEFAULTS: TargetDefaults = { maxTokens: undefined, temperature: undefined, topP: undefined, stop: undefined, thinking: undefined, providerOptions: undefined };
const DEFAULTS: TargetDefaults = {
  maxTokens: 1000, temperature: 0.5, topP: 0.9, stop: ['END'], thinking: { enabled: true, effort: 'high' }, providerOptions: options('{"seed":1}'),
};
/** By the name that operators give a field: its name in a request, and a value that callers set. */
const SET: Readonly<Record<OmittableField, Partial<ChatRequest>>> = {
  max_tokens: { maxTokens: 7 },
  temperature: { temperature: 0 },
  top_p: { topP: 0 },
  stop: { stop: ['STOP'] },
  thinking: { thinking: { enabled: false, effort: undefined } },
  'tool_choice.parallel': { toolChoice: { mode: 'required', parallel: false } },
  cache: { cache: { key: 'k', ttl: undefined } },
  user: { user: 'ann' },
  provider_options: { providerOptions: options('{"top_k":1}') },
};
const EMPTY = requestOf({ system: 'Be brief.', toolChoice: { mode: 'required', parallel: undefined } });
const FULL = requestOf({ system: 'Be brief.', ...SET.max_tokens, ...SET.temperature, ...SET.top_p, ...SET.stop, ...SET.thinking, ...SET['tool_choice.parallel'], ...SET.cache, ...SET.user, ...SET.provider_options });

test('a target of which the operator says nothing is sent the very request', () => {
  const target = { defaults: undefined, omit: [] };
  assert.equal(isUnchanging(target), true);
  assert.deepEqual(applyTarget(FULL, target), { request: FULL, omitted: [] });
  assert.equal(applyTarget(FULL, target).request, FULL);
  assert.equal(isUnchanging({ defaults: NO_DEFAULTS, omit: [] }), false);
  assert.equal(isUnchanging({ defaults: undefined, omit: ['user'] }), false);
});

test('defaults fill what a request does not say, and leave what it says, also 0 and off', () => {
  const target = { defaults: DEFAULTS, omit: [] };
  assert.deepEqual(applyTarget(EMPTY, target), { request: { ...EMPTY, ...DEFAULTS }, omitted: [] });
  assert.deepEqual(applyTarget(FULL, target), { request: FULL, omitted: [] });
  assert.deepEqual(applyTarget(EMPTY, { defaults: NO_DEFAULTS, omit: [] }), { request: EMPTY, omitted: [] });
});

for (const field of OMITTABLE_FIELDS) {
  const [name = ''] = Object.keys(SET[field]);
  const unset = EMPTY[name as keyof ChatRequest];

  test(`a target that is never sent ${field} is sent all the rest, whoever set it`, () => {
    const omit = [field];
    assert.deepEqual(applyTarget(FULL, { defaults: undefined, omit }), { request: { ...FULL, [name]: unset }, omitted: [field] });
    assert.deepEqual(applyTarget(FULL, { defaults: DEFAULTS, omit }), { request: { ...FULL, [name]: unset }, omitted: [field] });
    assert.deepEqual(applyTarget(EMPTY, { defaults: undefined, omit }), { request: EMPTY, omitted: [] });
    assert.deepEqual(applyTarget(EMPTY, { defaults: DEFAULTS, omit }), { request: { ...EMPTY, ...DEFAULTS, [name]: unset }, omitted: [] });
  });

  test(`of ${field} a default is taken over alone`, () => {
    const defaults: TargetDefaults = { ...NO_DEFAULTS, ...(name in DEFAULTS ? { [name]: DEFAULTS[name as keyof TargetDefaults] } : {}) };
    const expected = name in DEFAULTS ? DEFAULTS[name as keyof TargetDefaults] : unset;
    assert.deepEqual(applyTarget(EMPTY, { defaults, omit: [] }).request, { ...EMPTY, [name]: expected });
  });
}

test('everything can be left out, and the request stays as it was for the next target', () => {
  const before = { ...FULL };
  const { request, omitted } = applyTarget(FULL, { defaults: DEFAULTS, omit: OMITTABLE_FIELDS });
  assert.deepEqual(request, EMPTY);
  assert.deepEqual(omitted, OMITTABLE_FIELDS);
  assert.deepEqual(FULL, before);
});
