import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from '../../src/base/json/parse.ts';
import { JsonObject } from '../../src/base/json/value.ts';
import type { Adapter, Provider } from '../../src/core/adapter.ts';
import { ANY_CALLER, NO_ROUTING } from '../../src/core/route.ts';
import type { Routing } from '../../src/core/route.ts';
import { notAllowed } from '../../src/http/allowed.ts';
import { routeOf } from '../running-gateway.ts';

function provider(name: string): Provider {
  return { name, adapter: {} as Adapter, baseUrl: new URL('http://127.0.0.1'), keys: [], keyHeader: { name: 'x', prefix: '' }, speaks: [] };
}

const allowing = (...allow: readonly string[]): Routing => ({ ...NO_ROUTING, callers: new Map([['batch', { limits: undefined, allow }]]) });
const BATCH = allowing('bulk', 'openai/gpt-5.6-*');

/** The sentence for a caller that asks for these as one model, by that provider's name or a route's. */
function told(routing: Routing, asked: { route?: string; targets: readonly string[]; options?: string }, caller = 'batch'): string | undefined {
  const [first = '', ...others] = asked.targets;
  const chosen = (text: string) => {
    const [name = '', model = ''] = text.split(' ');
    return { provider: provider(name), model, target: undefined };
  };
  const options = asked.options === undefined ? undefined : parseJson(asked.options);
  const providerOptions = options instanceof JsonObject ? options : undefined;
  const route = asked.route === undefined ? undefined : routeOf(asked.route, ...asked.targets);
  return notAllowed(routing, caller, { model: asked.route ?? 'asked', providerOptions }, { route, targets: [chosen(first), ...others.map(chosen)] })?.message;
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

test('a patch that puts another model in the place of the one that was asked for is held to the list', () => {
  const patched = (options: string): string | undefined => told(BATCH, { targets: ['openai gpt-5.6-mini'], options });
  for (const fine of ['{}', '{"model":"gpt-5.6-sol"}', '{"models":["gpt-5.6-sol","gpt-5.6-mini"]}', '{"top_k":1,"metadata":{"model":"x"}}']) assert.equal(patched(fine), undefined, fine);
  assert.equal(patched('{"model":"gpt-5"}'), 'provider_options: "gpt-5" is not available to this caller');
  assert.equal(patched('{"models":["gpt-5.6-sol","gpt-5"]}'), 'provider_options: "gpt-5" is not available to this caller');
  for (const odd of ['{"model":null}', '{"model":["gpt-5"]}', '{"models":"gpt-5.6-sol ","model":1}', '{"models":{"0":"gpt-5"}}']) {
    assert.match(patched(odd) ?? '', /^provider_options: /, odd);
  }
  // Not even a route that is allowed lends its targets.
  assert.equal(told(BATCH, { route: 'bulk', targets: ['groq m'], options: '{"model":"n"}' }), 'provider_options: "n" is not available to this caller');
});

test('a long name is cut, and its quote is known as the caller\'s own', () => {
  const failure = notAllowed(allowing(), 'batch', { model: 'm'.repeat(200), providerOptions: undefined }, { route: undefined, targets: [{ provider: provider('groq'), model: 'm', target: undefined }] });
  assert.deepEqual([failure?.kind, failure?.status, failure?.quotes], ['not_found', 404, [`"${'m'.repeat(64)}"`]]);
});
