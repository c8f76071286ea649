import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Adapter, Provider } from '../../src/core/adapter.ts';
import { NATIVE } from '../../src/callers/native/dialect.ts';
import { OPENAI_CHAT } from '../../src/callers/openai-chat/dialect.ts';
import type { CallerDialect, DecodedRequest } from '../../src/core/dialect.ts';
import { Failure } from '../../src/core/failure.ts';
import { NO_ROUTING, PLAIN_TARGET } from '../../src/core/route.ts';
import type { Route, Target as RouteTarget } from '../../src/core/route.ts';
import { choiceOf, nameOf } from '../../src/http/target.ts';

function provider(name: string, speaks: readonly string[] = []): Provider {
  return { name, adapter: {} as Adapter, baseUrl: new URL('http://127.0.0.1'), keys: [], keyHeader: { name: 'x', prefix: '' }, speaks };
}

const ALL = new Map([provider('anthropic', ['anthropic']), provider('groq'), provider('openai', ['openai-chat'])].map((each) => [each.name, each]));
const WITHOUT_OPENAI = new Map([...ALL].filter(([name]) => name !== 'openai'));
const BY_ALPHABET = { defaultProvider: 'anthropic', isDefaultChosen: false, takesModelPrefixes: undefined, routing: NO_ROUTING };

type Asked = Pick<DecodedRequest, 'provider' | 'model'>;
type Configured = Parameters<typeof choiceOf>[4];

function asked(model: string, named?: string): Asked {
  return { provider: named, model };
}

function target(provider: string, model: string): RouteTarget {
  return { provider, model, ...PLAIN_TARGET };
}

function route(name: string, ...targets: readonly RouteTarget[]): Route {
  return { name, targets, isSpread: false, hedgeAfterMs: undefined };
}

/** Who serves, in order, and under which name each knows the model; or the sentence of the failure. */
function served(dialect: CallerDialect, request: Asked, header?: string, providers = ALL, configured: Configured = BY_ALPHABET): string {
  const choice = choiceOf(dialect, request, header, providers, configured);
  if (choice instanceof Failure) return `${choice.kind}: ${choice.message}`;
  const targets = choice.targets.map((each) => `${each.provider.name} ${each.model}`).join(', ');
  return choice.route === undefined ? targets : `${choice.route.name}: ${targets}`;
}

test('a route serves who names it as the model, before any prefix or default, and nobody who names a provider', () => {
  const smart = route('smart', target('groq', 'a'), target('openai', 'b'));
  const own = route('gpt-4o', target('openai', 'gpt-5.6-mini'));
  const configured = { ...BY_ALPHABET, routing: { ...NO_ROUTING, routes: new Map([smart, own].map((each) => [each.name, each])) } };
  for (const dialect of [NATIVE, OPENAI_CHAT]) {
    assert.equal(served(dialect, asked('smart'), undefined, ALL, configured), 'smart: groq a, openai b');
    assert.equal(served(dialect, asked('gpt-4o'), undefined, ALL, configured), 'gpt-4o: openai gpt-5.6-mini');
    assert.equal(served(dialect, asked('smart', 'anthropic'), undefined, ALL, configured), 'anthropic smart');
    assert.equal(served(dialect, asked('smart'), 'anthropic', ALL, configured), 'anthropic smart');
    assert.equal(served(dialect, asked('smart', 'nobody'), undefined, ALL, configured), 'not_found: provider: "nobody" is not registered on this gateway; GET /v1/providers lists those that are');
  }
  assert.equal(served(OPENAI_CHAT, asked('openai/smart'), undefined, ALL, configured), 'openai smart');
  assert.equal(served(OPENAI_CHAT, asked('smart '), undefined, ALL, configured), 'openai smart ');
  assert.equal(served(OPENAI_CHAT, asked('__proto__'), undefined, ALL, configured), 'openai __proto__');
});

test('a model whose name a route has is named with its provider, or cannot be', () => {
  const shadow = { ...NO_ROUTING, routes: new Map([['m', route('m', target('groq', 'x'))]]) };
  const own = new Map([['openai', provider('openai', ['openai-chat'])]]);
  const [openai] = own.values();
  assert.ok(openai !== undefined);
  assert.equal(nameOf(OPENAI_CHAT, { provider: openai, model: 'm' }, own, { ...BY_ALPHABET, routing: shadow }), 'openai/m');
  assert.equal(nameOf(OPENAI_CHAT, { provider: openai, model: 'm' }, own, { ...BY_ALPHABET, routing: shadow, takesModelPrefixes: false }), undefined);
  assert.equal(nameOf(OPENAI_CHAT, { provider: openai, model: 'n' }, own, { ...BY_ALPHABET, routing: shadow }), 'n');
});

test('a provider named in the body or in the header serves, with the model as it is written', () => {
  assert.equal(served(NATIVE, asked('m', 'groq')), 'groq m');
  assert.equal(served(OPENAI_CHAT, asked('openai/gpt-oss-120b'), 'groq'), 'groq openai/gpt-oss-120b');
  assert.equal(served(OPENAI_CHAT, asked('m'), 'nobody'), 'not_found: provider: "nobody" is not registered on this gateway; GET /v1/providers lists those that are');
});

test('the part before the first slash names a provider where there is one of that name', () => {
  assert.equal(served(OPENAI_CHAT, asked('groq/openai/gpt-oss-120b')), 'groq openai/gpt-oss-120b');
  assert.equal(served(OPENAI_CHAT, asked('meta-llama/x')), 'openai meta-llama/x');
  for (const model of ['groq/', '/groq', 'groq']) assert.equal(served(OPENAI_CHAT, asked(model)), `openai ${model}`);
});

test('prefixes count only in formats of other vendors, unless the operator says otherwise', () => {
  assert.equal(served(NATIVE, asked('groq/m')), 'anthropic groq/m');
  assert.equal(served(NATIVE, asked('groq/m'), undefined, ALL, { ...BY_ALPHABET, takesModelPrefixes: true }), 'groq m');
  assert.equal(served(OPENAI_CHAT, asked('groq/m'), undefined, ALL, { ...BY_ALPHABET, takesModelPrefixes: false }), 'openai groq/m');
});

test("without a name the dialect's own vendor serves, unless the operator's default speaks the dialect or the vendor is absent", () => {
  assert.equal(served(OPENAI_CHAT, asked('m')), 'openai m');
  assert.equal(served(OPENAI_CHAT, asked('m'), undefined, ALL, { ...BY_ALPHABET, isDefaultChosen: true }), 'openai m');
  const speaking = new Map([...ALL, ['own', provider('own', ['openai-chat'])]]);
  assert.equal(served(OPENAI_CHAT, asked('m'), undefined, speaking, { ...BY_ALPHABET, defaultProvider: 'own', isDefaultChosen: true }), 'own m');
  assert.equal(served(OPENAI_CHAT, asked('m'), undefined, speaking, { ...BY_ALPHABET, defaultProvider: 'own' }), 'openai m');
  assert.equal(served(OPENAI_CHAT, asked('m'), undefined, WITHOUT_OPENAI), 'anthropic m');
  assert.equal(served(NATIVE, asked('m')), 'anthropic m');
});

test('the name of a model leads back to it, or there is none', () => {
  const own = new Map([['openai', provider('openai', ['openai-chat'])]]);
  const named = (dialect: CallerDialect, target: string, providers: typeof ALL, configured: Configured = BY_ALPHABET): string | undefined => {
    const [name = '', model = ''] = target.split(' ');
    const found = providers.get(name);
    assert.ok(found !== undefined);
    const text = nameOf(dialect, { provider: found, model }, providers, configured);
    if (text !== undefined) assert.equal(served(dialect, asked(text), undefined, providers, configured), target);
    return text;
  };
  assert.equal(named(OPENAI_CHAT, 'groq openai/gpt-oss-120b', ALL), 'groq/openai/gpt-oss-120b');
  assert.equal(named(OPENAI_CHAT, 'openai m', ALL), 'openai/m');
  assert.equal(named(OPENAI_CHAT, 'openai m', own), 'm');
  assert.equal(named(OPENAI_CHAT, 'openai openai/m', own), 'openai/openai/m');
  const off = { ...BY_ALPHABET, takesModelPrefixes: false };
  assert.equal(named(OPENAI_CHAT, 'openai a/b', ALL, off), 'a/b');
  assert.equal(named(OPENAI_CHAT, 'groq m', ALL, off), undefined);
  assert.equal(named(NATIVE, 'anthropic m', ALL), 'm');
  assert.equal(named(NATIVE, 'groq m', ALL), undefined);
});
