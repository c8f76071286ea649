import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from '../../src/base/json/parse.ts';
import { JsonObject } from '../../src/base/json/value.ts';
import type { Adapter, Provider } from '../../src/core/adapter.ts';
import { ANY_CALLER, NO_ROUTING } from '../../src/core/route.ts';
import type { Routing } from '../../src/core/route.ts';
import { notAllowed } from '../../src/http/allowed.ts';
import { DIALECTS } from '../../src/callers/index.ts';
import type { CallerDialect } from '../../src/core/dialect.ts';
import { routeOf } from '../running-gateway.ts';

function provider(name: string): Provider {
  return { name, adapter: {} as Adapter, baseUrl: new URL('http://127.0.0.1'), keys: [], keyHeader: { name: 'x', prefix: '' }, speaks: name === 'openai' ? ['openai-chat'] : [] };
}

const allowing = (...allow: readonly string[]): Routing => ({ ...NO_ROUTING, callers: new Map([['batch', { limits: undefined, allow }]]) });
const BATCH = allowing('bulk', 'openai/gpt-5.6-*');

const CHAT = DIALECTS.find(({ name }) => name === 'openai-chat') as CallerDialect;

function objectOf(text: string | undefined): JsonObject | undefined {
  const value = text === undefined ? undefined : parseJson(text);
  return value instanceof JsonObject ? value : undefined;
}

/** The sentence for a caller that asks for these as one model, by that provider's name or a route's. */
function told(routing: Routing, asked: { route?: string; targets: readonly string[]; options?: string; body?: string }, caller = 'batch'): string | undefined {
  const [first = '', ...others] = asked.targets;
  const chosen = (text: string) => {
    const [name = '', model = ''] = text.split(' ');
    return { provider: provider(name), model, target: undefined };
  };
  const providerOptions = objectOf(asked.options);
  const source = objectOf(asked.body);
  const route = asked.route === undefined ? undefined : routeOf(asked.route, ...asked.targets);
  return notAllowed(routing, { caller, dialect: CHAT }, { model: asked.route ?? 'asked', providerOptions, source }, { route, targets: [chosen(first), ...others.map(chosen)] })?.message;
}

test('a caller without rules may ask for everything', () => {
  for (const routing of [NO_ROUTING, BATCH]) assert.equal(told(routing, { targets: ['groq m'], options: '{"model":"other"}' }, 'desk'), undefined);
  assert.equal(told(allowing('*'), { targets: ['groq m'], options: '{"model":"other"}' }), undefined);
});

test('a caller with a list may ask for what is on it, and of the rest learns nothing', () => {
  assert.equal(told(BATCH, { targets: ['openai gpt-5.6-mini'] }), undefined);
  assert.equal(told(BATCH, { route: 'bulk', targets: ['groq m', 'gemini n'] }), undefined);
  assert.equal(told(BATCH, { route: 'smart', targets: ['openai gpt-5.6-mini'] }), 'model: "smart" is not available to this caller');
  for (const target of ['openai gpt-5', 'groq gpt-5.6-mini', 'openai bulk', 'groq bulk']) {
    assert.equal(told(BATCH, { targets: [target] }), 'model: "asked" is not available to this caller', target);
  }
  assert.equal(told(allowing(), { targets: ['openai m'] }), 'model: "asked" is not available to this caller');
});

test('the rules of everybody are those of a caller that has none of its own', () => {
  const routing = { ...NO_ROUTING, callers: new Map([[ANY_CALLER, { limits: undefined, allow: ['bulk'] }], ['batch', { limits: undefined, allow: undefined }]]) };
  assert.equal(told(routing, { targets: ['openai m'] }), undefined);
  assert.equal(told(routing, { targets: ['openai m'] }, 'desk'), 'model: "asked" is not available to this caller');
});

test('a second selector of models is refused, on the list or not, to whom may not ask for everything', () => {
  const said = (path: string): string => `${path}: not allowed to a caller with an allow list, which names its model in model alone`;
  for (const [name, value] of [['model', '"gpt-5.6-sol"'], ['model', '"gpt-5"'], ['model', 'null'], ['models', '["gpt-5.6-sol"]'], ['fallbacks', '[{"model":"gpt-5.6-sol"}]'], ['route', '"fallback"'], ['preset', '"mine"']]) {
    const asked = `{"${name}":${value}}`;
    assert.equal(told(BATCH, { targets: ['openai gpt-5.6-mini'], options: asked }), said(`provider_options.${name}`), asked);
    assert.equal(told(BATCH, { route: 'bulk', targets: ['groq m'], options: asked }), said(`provider_options.${name}`), asked);
    assert.equal(told(allowing('openai/*'), { targets: ['openai m'], options: asked }), said(`provider_options.${name}`), asked);
    if (name !== 'model') assert.equal(told(BATCH, { targets: ['openai gpt-5.6-mini'], body: asked }), said(String(name)), asked);
    // Of a body that is translated only its own model is sent.
    assert.equal(told(BATCH, { route: 'bulk', targets: ['groq m'], body: asked }), undefined, asked);
    // Who may not ask for this model either hears of that.
    assert.equal(told(BATCH, { targets: ['openai gpt-5'], options: asked }), 'model: "asked" is not available to this caller', asked);
  }
  for (const fine of ['{}', '{"top_k":1,"metadata":{"model":"x"}}', '{"tools":[{"route":"fallback"}]}']) assert.equal(told(BATCH, { targets: ['openai gpt-5.6-mini'], options: fine }), undefined, fine);
});

test('a patch names models at any depth, not in words, notes or schemas, and twice is not at all', () => {
  const patched = (options: string): string | undefined => told(BATCH, { targets: ['openai gpt-5.6-mini'], options });
  const said = 'provider_options: "gpt-5" is not available to this caller';
  assert.equal(patched('{"tools":[{"type":"advisor","model":"gpt-5"}]}'), said);
  assert.equal(patched('{"plugins":[{"deep":{"fallback_models":["gpt-5.6-sol","gpt-5"]}}]}'), said);
  assert.match(patched('{"tools":[],"tools":[{"model":"gpt-5.6-sol"}]}') ?? '', /^provider_options: /);
  assert.match(patched('{"tools":[{"model":"gpt-5","model":"gpt-5.6-sol"}]}') ?? '', /^provider_options: /);
  const tool = '{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"model":{"type":"string","default":"x"}}}}}';
  for (const fine of [`{"tools":[${tool}]}`, '{"messages":[{"model":"x"}]}', '{"tools":[{"type":"advisor","model":"gpt-5.6-sol"}]}']) assert.equal(patched(fine), undefined, fine);
});

test('a model that a patch names for routing within the provider is held to the list', () => {
  const options = '{"generationConfig":{"routingConfig":{"manualMode":{"modelName":"gpt-5"}}}}';
  assert.equal(told(BATCH, { targets: ['openai gpt-5.6-mini'], options }), 'provider_options: "gpt-5" is not available to this caller');
  assert.equal(told(BATCH, { targets: ['openai gpt-5.6-mini'], options: options.replace('gpt-5"', 'gpt-5.6-sol"') }), undefined);
});

test('a body that is relayed may name no other model either; of one that is translated only its own is sent', () => {
  const asks = (body: string, ...targets: readonly string[]): string | undefined => told(BATCH, { targets: targets.length === 0 ? ['openai gpt-5.6-mini'] : targets, body });
  assert.equal(asks('{"model":"openai/gpt-5.6-mini","messages":[{"role":"user","content":"x"}]}'), undefined);
  assert.equal(asks('{"model":"m","tools":[{"type":"advisor","model":"gpt-5"}]}'), 'tools: "gpt-5" is not available to this caller');
  assert.equal(told(BATCH, { route: 'bulk', targets: ['groq m', 'openai n'], body: '{"tools":[{"model":"gpt-5"}]}' }), 'tools: "gpt-5" is not available to this caller');
  assert.equal(told(BATCH, { route: 'bulk', targets: ['groq m'], body: '{"tools":[{"model":"gpt-5"}]}' }), undefined);
});

test('a long name is cut, and what is said of it is searched for secrets', () => {
  const failure = notAllowed(allowing(), { caller: 'batch', dialect: CHAT }, { model: 'm'.repeat(200), providerOptions: undefined }, { route: undefined, targets: [{ provider: provider('groq'), model: 'm', target: undefined }] });
  assert.deepEqual([failure?.kind, failure?.status, failure?.quotes], ['not_found', 404, ['model', `"${'m'.repeat(64)}"`]]);
});
