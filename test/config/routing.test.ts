/** Routes, callers' rules, keys and providers: as the routing file has them, and as variables do. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../src/config/config.ts';
import type { Config, LoadedConfig } from '../../src/config/config.ts';
import { renderRouting } from '../../src/config/routing-table.ts';
import { targetName } from '../../src/core/route.ts';
import type { Target } from '../../src/core/route.ts';
import { compatRow, PROVIDER_ROWS } from '../../src/providers/index.ts';
import { blocksOf, readPage } from '../readme.ts';

type Variables = Readonly<Record<string, string>>;

const KEY = 'canary-key-of-a-provider';
const ENVIRONMENT: Variables = {
  GATEWAY_AUTH_TOKEN: 'canary-token-of-callers',
  GATEWAY_AUTH_TOKENS: 'batch:canary-token-of-the-batch',
  ANTHROPIC_API_KEY: KEY,
  GEMINI_API_KEY: KEY,
  OPENAI_API_KEY: KEY,
};
const PATH = '/etc/gateway/routing.json';
/** The example of the page. */
const EXAMPLE = blocksOf(readPage('src/config/README.md')).find(({ language }) => language === 'json')?.text ?? '';
const EXAMPLE_KEYS: Variables = { OPENAI_API_KEY_2: `${KEY}-2`, OPENAI_EU_API_KEY: `${KEY}-3` };

function load(variables: Variables, files: Variables = {}): LoadedConfig {
  return loadConfig({ ...ENVIRONMENT, ...variables }, PROVIDER_ROWS, compatRow, (path) => {
    const text = files[path];
    if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
    return text;
  });
}

/** Loads a routing file, as an object or as text. */
function loadFile(file: unknown, variables: Variables = {}): LoadedConfig {
  return load({ GATEWAY_ROUTING_FILE: PATH, ...variables }, { [PATH]: typeof file === 'string' ? file : JSON.stringify(file) });
}

function configOf({ config, problems }: LoadedConfig): Config {
  assert.deepEqual(problems, []);
  if (config === undefined) throw new Error('neither a configuration nor a problem');
  return config;
}

/** What is complained about, without the place that every sentence begins with. */
function complaints(found: readonly string[]): readonly string[] {
  return found.map((sentence) => {
    assert.ok(sentence.startsWith('GATEWAY_ROUTING_FILE: '), sentence);
    return sentence.slice('GATEWAY_ROUTING_FILE: '.length);
  });
}

const target = (provider = 'openai', model = 'm', more: object = {}): object => ({ provider, model, ...more });
const routeOf = (...targets: readonly object[]): object => ({ routes: { smart: { targets } } });

test('the example of the page is a configuration with nothing odd about it', () => {
  const loaded = loadFile(EXAMPLE, EXAMPLE_KEYS);
  const { routing, providers, takesModelPrefixes } = configOf(loaded);
  assert.deepEqual([loaded.warnings, loaded.unknownVariables, takesModelPrefixes], [[], [], true]);
  assert.deepEqual(providers.map(({ name, keys, baseUrl, adapter }) => [name, keys.length, baseUrl.href, adapter.dialect]), [
    ['anthropic', 1, 'https://api.anthropic.com/v1', 'anthropic'],
    ['gemini', 1, 'https://generativelanguage.googleapis.com/v1beta', 'gemini'],
    ['openai', 2, 'https://api.openai.com/v1', 'openai-responses'],
    ['openai-eu', 1, 'https://eu.api.openai.com/v1', 'openai-responses'],
  ]);
  const unsaid: Target = {
    provider: '', model: '', defaults: undefined, omit: [], weight: 1, concurrentMax: undefined, firstEventTimeoutMs: undefined, attemptTimeoutMs: undefined,
  };
  const high = { maxTokens: undefined, temperature: undefined, topP: undefined, stop: undefined, thinking: { enabled: true, effort: 'high' }, providerOptions: undefined } as const;
  assert.deepEqual([...routing.routes.values()], [
    {
      name: 'smart',
      isSpread: false,
      hedgeAfterMs: 4000,
      targets: [
        { ...unsaid, provider: 'anthropic', model: 'claude-opus-5', firstEventTimeoutMs: 30_000 },
        { ...unsaid, provider: 'openai', model: 'gpt-5.6-sol', defaults: high, omit: ['temperature', 'top_p'] },
        { ...unsaid, provider: 'openai-eu', model: 'gpt-5.6-sol', omit: ['temperature', 'top_p'] },
      ],
    },
    {
      name: 'bulk',
      isSpread: true,
      hedgeAfterMs: undefined,
      targets: [
        { ...unsaid, provider: 'gemini', model: 'gemini-3.5-flash', weight: 3 },
        { ...unsaid, provider: 'openai', model: 'gpt-5.6-mini', concurrentMax: 50 },
      ],
    },
    { name: 'gpt-4o', isSpread: false, hedgeAfterMs: undefined, targets: [{ ...unsaid, provider: 'openai', model: 'gpt-5.6-mini' }] },
  ]);
  assert.deepEqual([...routing.callers], [
    ['default', { limits: undefined, allow: ['*'] }],
    ['batch', { limits: { requestsPerMinute: 600, tokensPerMinute: 400_000, tokensPerDay: 50_000_000, concurrent: 32 }, allow: ['bulk', 'openai/gpt-5.6-*'] }],
  ]);
  assert.deepEqual([...routing.concurrentMax], [['anthropic', 400]]);
});

test('the variables of the page are a configuration with nothing odd about it', () => {
  const block = blocksOf(readPage('src/config/README.md')).find(({ language, text }) => language === 'ini' && text.includes('GATEWAY_ROUTES'));
  const variables = Object.fromEntries(block?.text.trim().split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]) ?? []);
  const loaded = load(variables);
  assert.deepEqual([...configOf(loaded).routing.routes.keys(), ...(loaded.config?.routing.callers.keys() ?? [])], ['smart', 'fast', 'batch', '*']);
  assert.deepEqual([loaded.warnings, loaded.unknownVariables], [[], []]);
});

test('what the first page exports is a configuration beside the token and the key that it began with', () => {
  const block = blocksOf(readPage('README.md')).find(({ language, text }) => language === 'console' && text.includes('GATEWAY_ROUTES'));
  const variables = [...(block?.text.matchAll(/([A-Z_]+)=(?:'([^']*)'|(\S+))/g) ?? [])].map(([, name = '', quoted, plain = '']) => [name, quoted ?? plain]);
  assert.equal(variables.length, 5);
  const { GATEWAY_AUTH_TOKEN, ANTHROPIC_API_KEY } = ENVIRONMENT;
  const { problems, warnings } = loadConfig({ GATEWAY_AUTH_TOKEN, ANTHROPIC_API_KEY, ...Object.fromEntries(variables) }, PROVIDER_ROWS, compatRow, () => '');
  assert.deepEqual([problems, warnings], [[], []]);
});

test('the smallest file is a route', () => {
  const file = { routes: { fast: { targets: [target('anthropic', 'claude-haiku-5-5'), target('gemini', 'gemini-3.5-flash')] } } };
  const { routing } = configOf(loadFile(file));
  assert.deepEqual(routing.routes.get('fast')?.targets.map(targetName), ['anthropic/claude-haiku-5-5', 'gemini/gemini-3.5-flash']);
  assert.deepEqual([routing.callers.size, routing.concurrentMax.size], [0, 0]);
});

test('what a target has by default is read as a request is', () => {
  const defaults = { max_tokens: 100, temperature: 0.5, top_p: 1, stop: ['END'], thinking: { enabled: false }, provider_options: { seed: 12345678901234567890n.toString() } };
  const { routing } = configOf(loadFile(routeOf(target('openai', 'm', { defaults, attempt_timeout: '1m30s' }))));
  const [found] = routing.routes.get('smart')?.targets ?? [];
  const { providerOptions, ...rest } = found?.defaults ?? {};
  assert.deepEqual(rest, { maxTokens: 100, temperature: 0.5, topP: 1, stop: ['END'], thinking: { enabled: false, effort: undefined } });
  assert.equal(providerOptions?.raw.text, '{"seed":"12345678901234567890"}');
  assert.equal(found?.attemptTimeoutMs, 90_000);
  assert.equal(configOf(loadFile(routeOf(target('openai', 'm', { defaults: {} })))).routing.routes.get('smart')?.targets[0]?.defaults, undefined);
});

/** Files that cannot work, and every complaint about each. */
const PROBLEMS: readonly (readonly [file: unknown, problems: readonly string[]])[] = [
  // Those of the design, word for word.
  [routeOf(target(), target('opnai')), ['routes.smart.targets[1].provider: expected a configured provider (anthropic, gemini, openai), got "opnai"; did you mean openai?']],
  [routeOf(target('openai', 'm', { wieght: 1 })), ['routes.smart.targets[0].wieght: unknown field; did you mean weight?']],
  [{ providers: { openai: { keys: ['OPENAI_API_KEY', 'OPENAI_API_KEY_2'] } } }, ['providers.openai.keys[1]: OPENAI_API_KEY_2 is not set']],
  [{ providers: { openai: { keys: ['OPENAI_API_KEY', 'GEMINI_API_KEY'] } } }, ['providers.openai.keys: OPENAI_API_KEY and GEMINI_API_KEY hold the same key']],
  [{ callers: { bach: {} } }, ['callers.bach: no caller has this label (default, batch); did you mean batch?']],
  [{ routes: { bulk: { targets: [target()] } }, callers: { batch: { allow: ['bulck'] } } }, ['callers.batch.allow[0]: "bulck" is neither a route nor provider/model; did you mean bulk?']],
  [
    { routes: { smart: { hedge_after: '4s', targets: [target('openai', 'm', { first_event_timeout: '3s' }), target('gemini')] } } },
    ["routes.smart.hedge_after: expected less than the first target's first_event_timeout, which is 3s, got 4s"],
  ],
  [routeOf(target(), target('gemini', 'm', { defaults: { provider_options: { stream: true } } })), ['routes.smart.targets[1].defaults.provider_options.stream: the endpoint decides that']],
  // The whole of it.
  ['', ['is not JSON: unexpected end of the text (line 1, column 1)']],
  ['{\n  "routes": [},\n}\n', ['is not JSON: unexpected character (line 2, column 14)']],
  ['{\n  "routes": {},\n}', ['is not JSON: unexpected character (line 3, column 1)']],
  ['[]', ['expected an object, got an array']],
  ['{"routes": {}, "routes": {"smart": {"targets": []}}}', ['routes: duplicate key', 'routes.smart.targets: expected 1 to 8 targets, got 0']],
  ['{"__proto__": {"routes": {}}, "constructor": 1}', ['__proto__: unknown field', 'constructor: unknown field']],
  [{ route: {}, model_prefixes: 'yes' }, ['route: unknown field; did you mean routes?', 'model_prefixes: expected a boolean, got a string']],
  [{ providers: [], routes: 'smart', callers: 1 }, ['providers: expected an object, got an array', 'routes: expected an object, got a string', 'callers: expected an object, got a number']],
  // Routes.
  [{ routes: { 'a/b': { targets: [target()] } } }, ['routes["a/b"]: expected a name of up to 64 letters, digits, ".", "_" or "-" that begins with a letter or digit']],
  [{ routes: { smart: {} } }, ['routes.smart.targets: required']],
  [{ routes: { smart: { targets: {}, spread: 1, fallback: [] } } }, ['routes.smart.fallback: unknown field', 'routes.smart.spread: expected a boolean, got a number', 'routes.smart.targets: expected an array']],
  [routeOf(...Array.from({ length: 9 }, (_, index) => target('openai', `m${index}`))), ['routes.smart.targets: expected 1 to 8 targets, got 9']],
  [routeOf(target(), target('gemini'), target()), ['routes.smart.targets[2]: is the same as the target 1']],
  [{ routes: { smart: { hedge_after: '0', targets: [target()] } } }, ['routes.smart.hedge_after: expected a duration from 1ms to 596h, such as 15s or 1m30s, got "0"']],
  [{ routes: { smart: { hedge_after: '1s', targets: [target()] } } }, ['routes.smart.hedge_after: has no effect, because there is one target']],
  [{ routes: { smart: { hedge_after: '31s', targets: [target(), target('gemini')] } } }, ["routes.smart.hedge_after: expected less than the first target's first_event_timeout, which is 30s, got 31s"]],
  [
    { routes: { smart: { spread: true, hedge_after: '4s', targets: [target(), target('gemini', 'm', { first_event_timeout: '4s' })] } } },
    ["routes.smart.hedge_after: expected less than every target's first_event_timeout, of which the least is 4s, got 4s"],
  ],
  // Targets.
  [{ routes: { smart: { targets: [{}, 'openai/m'] } } }, [
    'routes.smart.targets[0].provider: required',
    'routes.smart.targets[0].model: required',
    'routes.smart.targets[1]: expected an object, got a string',
  ]],
  [routeOf(target('', 'm'), target('openai', '')), [
    'routes.smart.targets[0].provider: must not be empty',
    'routes.smart.targets[1].model: expected a model of 1 to 256 printable ASCII characters without a space, got ""',
  ]],
  [routeOf(target('openai', 'two words'), target('openai', 'two words')), [0, 1].map((index) => `routes.smart.targets[${index}].model: expected a model of 1 to 256 printable ASCII characters without a space, got "two words"`)],
  [routeOf(target('openai', 'm', { weight: 2 })), ['routes.smart.targets[0].weight: has no effect without spread']],
  [{ routes: { smart: { spread: true, targets: [target('openai', 'm', { weight: 0 }), target('gemini', 'm', { weight: 1.5 })] } } }, [
    'routes.smart.targets[0].weight: expected a whole number from 1 to 1000, got 0',
    'routes.smart.targets[1].weight: expected a whole number from 1 to 1000, got 1.5',
  ]],
  [routeOf(target('openai', 'm', { concurrent: 0, first_event_timeout: 5, attempt_timeout: 'soon' })), [
    'routes.smart.targets[0].concurrent: expected a whole number from 1 to 1000000, got 0',
    'routes.smart.targets[0].first_event_timeout: expected a string, got a number',
    'routes.smart.targets[0].attempt_timeout: expected a duration from 1ms to 596h, such as 15s or 1m30s, got "soon"',
  ]],
  [routeOf(target('openai', 'm', { omit: ['temprature', 1, 'model'] })), [
    'routes.smart.targets[0].omit[0]: expected one of max_tokens, temperature, top_p, stop, thinking, tool_choice.parallel, cache, user, provider_options, got "temprature"; did you mean temperature?',
    'routes.smart.targets[0].omit[1]: expected a string, got a number',
    'routes.smart.targets[0].omit[2]: expected one of max_tokens, temperature, top_p, stop, thinking, tool_choice.parallel, cache, user, provider_options, got "model"',
  ]],
  [routeOf(target('openai', 'm', { defaults: { top_p: 1 }, omit: ['top_p', 'temperature'] })), ['routes.smart.targets[0].omit[0]: top_p has a default here; keep one']],
  [routeOf(target('openai', 'm', { defaults: { tools: [], max_tokens: 0, temperature: 'warm', stop: [''], thinking: { effort: 'huge' }, provider_options: { model: 'x' } } })), [
    'routes.smart.targets[0].defaults.tools: unknown field',
    'routes.smart.targets[0].defaults.max_tokens: expected a whole number from 1 to 9007199254740991, got 0',
    'routes.smart.targets[0].defaults.temperature: expected a number, got a string',
    'routes.smart.targets[0].defaults.stop[0]: must not be empty',
    'routes.smart.targets[0].defaults.thinking.enabled: required',
    'routes.smart.targets[0].defaults.thinking.effort: must be one of low, medium, high, max',
    'routes.smart.targets[0].defaults.provider_options.model: the target decides that',
  ]],
  // Callers.
  [{ callers: { 'two words': {}, batch: { requests_per_minute: 0, tokens_per_minute: 1e13, concurrent: '8', rpm: 1 } } }, [
    'callers["two words"]: expected a label of up to 64 letters, digits, ".", "_" or "-", or *',
    'callers.batch.rpm: unknown field',
    'callers.batch.requests_per_minute: expected a whole number from 1 to 1000000000000, got 0',
    'callers.batch.tokens_per_minute: expected a whole number from 1 to 1000000000000, got 10000000000000',
    'callers.batch.concurrent: expected a number, got a string',
  ]],
  [{ routes: { bulk: { targets: [target()] } }, callers: { '*': { allow: ['bul*', 'x*', 'openai/*', 'opnai/*', 'openai/', '/m', 'b*k', 'gpt*/x', '*', 'bul', 'bulk/', ''] } } }, [
    'callers["*"].allow[11]: must not be empty',
    'callers["*"].allow[1]: "x*" is neither a route nor provider/model',
    'callers["*"].allow[3]: expected a configured provider (anthropic, gemini, openai), got "opnai"; did you mean openai?',
    'callers["*"].allow[4]: "openai/" is neither a route nor provider/model',
    'callers["*"].allow[5]: "/m" is neither a route nor provider/model',
    'callers["*"].allow[6]: "b*k": a * may only be the last character',
    'callers["*"].allow[7]: "gpt*/x": a * may only be the last character',
    'callers["*"].allow[9]: "bul" is neither a route nor provider/model; did you mean bulk?',
    'callers["*"].allow[10]: "bulk/" is neither a route nor provider/model; did you mean bulk?',
  ]],
  // Providers.
  [{ providers: { 'Open AI': {}, groq: { concurrent: 5 }, ollama: {}, opnai: { keys: ['OPENAI_API_KEY'] }, mine: { like: 'opnai' } } }, [
    'providers["Open AI"]: expected a name of up to 64 small letters, digits, "-" or "_"',
    'providers.opnai.like: required, because there is no provider opnai; did you mean openai?',
    'providers.mine.like: expected the name of a known provider, or compat, got "opnai"; did you mean openai?',
    'providers.groq: is not configured; set GROQ_API_KEY, or name its keys here',
    'providers.ollama: is not configured; set OLLAMA_BASE_URL, or give its base_url here',
  ]],
  [{ providers: { compat: { keys: ['OPENAI_API_KEY'] } } }, ['providers.compat.base_url: required']],
  [{ providers: { openai: { like: 'anthropic' }, eu: { like: 'openai' }, mine: { like: 'compat' }, cloud: { like: 'azure', keys: ['OPENAI_API_KEY'] } } }, [
    'providers.openai.like: openai is a known provider itself; choose another name',
    'providers.eu.keys: required',
    'providers.mine.base_url: required',
    'providers.cloud.base_url: required',
  ]],
  [{ providers: { openai: { base_url: `https://user:${KEY}@host`, keys: [] } } }, [
    'providers.openai.base_url: expected an http or https URL without user name, password, query or fragment',
    'providers.openai.keys: expected 1 to 100 names of variables, got 0',
  ]],
  // A key of capital letters at one end is none of a variable's names either.
  [{ providers: { openai: { keys: ['canaryKEY', 'KEY-canary', 'K'.repeat(129)] } } }, [0, 1, 2].map((index) => `providers.openai.keys[${index}]: expected the name of an environment variable, in capital letters`)],
  [{ providers: { openai: 5 }, routes: { smart: [] }, callers: { batch: 'all' } }, [
    'providers.openai: expected an object, got a number',
    'routes.smart: expected an object, got an array',
    'callers.batch: expected an object, got a string',
  ]],
  [{ providers: { openai: { keys: [KEY, 'sk-proj-canary0123456789', 'OPENAI_API_KEY', 'OPENAI_API_KEY_FILE'] } } }, [
    'providers.openai.keys[0]: expected the name of an environment variable, in capital letters',
    'providers.openai.keys[1]: expected the name of an environment variable, in capital letters',
    'providers.openai.keys[3]: OPENAI_API_KEY stands there twice',
  ]],
];

test('a file that cannot work is named by path with what is expected, all of it at once, and no secret is repeated', () => {
  for (const [file, problems] of PROBLEMS) {
    const loaded = loadFile(file);
    assert.deepEqual(complaints(loaded.problems), problems, JSON.stringify(file));
    assert.equal(loaded.config, undefined);
    assert.doesNotMatch(loaded.problems.join(), /canary/);
  }
});

test('a key that was pasted where a name belongs is masked', () => {
  assert.deepEqual(complaints(loadFile({ 'sk-proj-canary0123456789': 1, routes: { 'sk-proj-canary0123456789/': {} } }).problems), [
    '[key]: unknown field',
    'routes["[key]"]: expected a name of up to 64 letters, digits, ".", "_" or "-" that begins with a letter or digit',
    'routes["[key]"].targets: required',
  ]);
});

test('what a file says that has no effect is a warning', () => {
  const targets = ['a', 'b', 'c', 'd', 'e', 'f'].map((model) => target('openai', model));
  assert.deepEqual(complaints(loadFile(routeOf(...targets)).warnings), ['routes.smart.targets: 6 targets, but GATEWAY_MAX_RETRIES allows 4 attempts; raise it or drop some']);
  assert.deepEqual(complaints(loadFile(routeOf(...targets.slice(0, 2)), { GATEWAY_MAX_RETRIES: '0' }).warnings), [
    'routes.smart.targets: 2 targets, but GATEWAY_MAX_RETRIES allows 1 attempt; raise it or drop some',
  ]);
  assert.deepEqual(complaints(loadFile(routeOf(target('openai', 'm', { first_event_timeout: '1h', attempt_timeout: '11m' }))).warnings), [
    'routes.smart.targets[0].first_event_timeout: 1h is more than GATEWAY_ATTEMPT_TIMEOUT, which is 10m',
    'routes.smart.targets[0].attempt_timeout: 11m is more than GATEWAY_ATTEMPT_TIMEOUT, which is 10m',
  ]);
  const far = { providers: { mine: { like: 'compat', base_url: 'http://far.example' } } };
  assert.deepEqual(complaints(loadFile(far).warnings), ['providers.mine.base_url: keys and prompts travel to far.example unencrypted; use https']);
  assert.deepEqual(loadFile({ providers: { openai: { keys: ['OTHER_KEY'] } } }, { OTHER_KEY: `${KEY}-2` }).warnings, [
    'OPENAI_API_KEY: ignored, because GATEWAY_ROUTING_FILE: providers.openai.keys names others',
  ]);
});

test("a second target's first_event_timeout does not bound hedge_after, unless the route is spread", () => {
  const file = { routes: { smart: { hedge_after: '4s', targets: [target(), target('gemini', 'm', { first_event_timeout: '2s' })] } } };
  assert.deepEqual(complaints(loadFile(file).problems), []);
});

test('--check shows the one target of a route with as much time as it has, be it spread or not', () => {
  const linesOf = (spread: boolean): readonly string[] => {
    const { config } = loadFile({ routes: { smart: { spread, targets: [target('openai', 'm')] } } });
    return config === undefined ? [] : renderRouting(config).split('\n').filter((line) => line.includes('openai/m'));
  };
  assert.deepEqual([linesOf(false), linesOf(true)], [
    ['    1   openai/m   1 key   first event in 10m   answer in 10m'],
    ['    1 of 1   openai/m   1 key   first event in 10m   answer in 10m'],
  ]);
});

test('a token in the place of a label is not shown, whole or in part', () => {
  const token = 'Plain-token-of-a-caller-that-is-longer-than-any-name-that-a-sentence-repeats';
  const asked = { GATEWAY_AUTH_TOKENS: `batch:${token}` };
  const { problems } = loadFile({ callers: { [token.slice(0, 64)]: {}, [token]: {} }, providers: { eu: { like: token }, gemini: { keys: [token] } } }, asked);
  const limits = load({ ...asked, GATEWAY_CALLER_LIMITS: `${token.slice(0, 40)}:rpm=1` }).problems;
  assert.ok(problems.length >= 3 && limits.length === 1);
  for (const problem of [...problems, ...limits]) assert.ok(!problem.includes('Plain-token'), problem);
  assert.equal(limits[0], 'GATEWAY_CALLER_LIMITS: [key]: no caller has this label (default, batch)');
});

test('a hostile file is a sentence', () => {
  const cases: readonly (readonly [text: string, problem: string])[] = [
    [' '.repeat(10_000_000), 'expected at most 1MiB'],
    ['['.repeat(10_000), 'is not JSON: nesting beyond 100 levels (line 1, column 101)'],
    [`{"routes":{"smart":${'{"targets":'.repeat(10_000)}`, 'is not JSON: nesting beyond 100 levels (line 1, column 1098)'],
    [`[${'0,'.repeat(200_000)}0]`, 'is not JSON: more than 100000 values (line 1, column 200000)'],
  ];
  for (const [text, problem] of cases) assert.deepEqual(complaints(loadFile(text).problems), [problem]);
});

test('of very many problems the first fifty are told', () => {
  const routes = Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`${'r'.repeat(50)}${index}`, { targets: [target('opnai')] }]));
  const allow = Object.keys(routes).map((name) => name.replace('r', 'rr'));
  const unknown = Object.fromEntries(allow.map((name) => [name, 1]));
  for (const file of [{ routes }, { routes: {}, callers: { batch: { allow } } }, unknown, { ...unknown, routes }]) {
    const { problems } = loadFile(file);
    assert.deepEqual([problems.length, problems.at(-1)], [51, 'GATEWAY_ROUTING_FILE: there is more wrong']);
  }
});

test('lists are looked at as far as they may go', () => {
  const keys = Array.from({ length: 60_000 }, (_, index) => `KEY_${index}`);
  const { problems } = loadFile({ providers: { openai: { keys } } });
  assert.deepEqual([problems.length, problems[0]], [101, 'GATEWAY_ROUTING_FILE: providers.openai.keys: expected 1 to 100 names of variables, got 60000']);
  const routes = Object.fromEntries(Array.from({ length: 4000 }, (_, index) => [`r${index}`, { targets: [target()] }]));
  const allow = Array.from({ length: 60_000 }, () => 'r3999');
  assert.deepEqual(complaints(loadFile({ routes, callers: { batch: { allow } } }).problems), ['callers.batch.allow: expected at most 1000 entries, got 60000']);
});

test('what is as long as it may be is taken', () => {
  const [name, model] = ['9-A_z.'.padEnd(64, '0'), Array.from({ length: 256 }, (_, index) => String.fromCharCode(0x21 + (index % 94))).join('')];
  const targets = [target('openai', model, { first_event_timeout: '10m', attempt_timeout: '10m' }), ...Array.from({ length: 7 }, (_, index) => target('openai', `${index}`))];
  const keys = Array.from({ length: 100 }, (_, index) => `KEY_${index}`);
  const file = { providers: { openai: { keys } }, routes: { [name]: { targets }, A: { targets: [target()] } }, callers: { batch: { allow: Array.from({ length: 1000 }, () => name) } } };
  const variables = { OPENAI_API_KEY: '', GATEWAY_MAX_RETRIES: '7', ...Object.fromEntries(keys.map((key) => [key, `of-${key}`])) };
  const text = JSON.stringify(file);
  const loaded = loadFile(text.padEnd(1024 * 1024), variables);
  assert.deepEqual(loaded.warnings, []);
  assert.deepEqual([...configOf(loaded).routing.routes].map(([, route]) => [route.name, route.targets.length]), [[name, 8], ['A', 1]]);
  assert.deepEqual(complaints(loadFile(text.padEnd(1024 * 1024 + 1), variables).problems), ['expected at most 1MiB']);
});

test('a caller may be allowed everything where there are no routes, and models with a slash in their names', () => {
  assert.deepEqual(loadFile({ callers: { batch: { allow: ['*', 'openai/org/model', 'openai/org/*'] } } }).problems, []);
});

test('a byte order mark at the start of the file is skipped', () => {
  const { config, problems } = loadFile(`\uFEFF${JSON.stringify(routeOf(target()))}`);
  assert.deepEqual(problems, []);
  assert.deepEqual([...(config?.routing.routes.keys() ?? [])], ['smart']);
  assert.deepEqual(complaints(loadFile('\uFEFF{').problems), ['is not JSON: unexpected end of the text (line 1, column 2)']);
});

test('the file stands alone: what it replaces may not be set beside it', () => {
  const variables = { GATEWAY_ROUTES: 'a=openai/m', GATEWAY_CALLER_LIMITS: 'batch:rpm=1', GATEWAY_MODEL_PREFIXES: 'true' };
  const problems = Object.keys(variables).map((name) => `${name}: is set together with GATEWAY_ROUTING_FILE; keep one`);
  assert.deepEqual(loadFile({}, variables).problems, problems);
  // Also where the file makes no sense.
  assert.deepEqual(loadFile('', variables).problems, ['GATEWAY_ROUTING_FILE: is not JSON: unexpected end of the text (line 1, column 1)', ...problems]);
  assert.deepEqual(load({ GATEWAY_ROUTING_FILE: '/nowhere' }).problems, ['GATEWAY_ROUTING_FILE: the file cannot be read (ENOENT)']);
});

test('a provider that is configured wrongly is not complained about again by those that name it', () => {
  const file = { providers: { eu: { like: 'openai', keys: ['NO_SUCH_KEY'] } }, ...routeOf(target('eu'), target('gemini')) };
  assert.deepEqual(complaints(loadFile(file).problems), ['providers.eu.keys[0]: NO_SUCH_KEY is not set']);
  assert.deepEqual(loadFile(routeOf(target('groq')), { GROQ_API_KEY: 'two words' }).problems, ['GROQ_API_KEY: expected 1 to 4000 printable ASCII characters without a space']);
});

test('the file registers providers, and says where they are', () => {
  const file = {
    providers: {
      groq: { keys: ['TEAM_KEY'] },
      second: { like: 'openai', keys: ['TEAM_KEY_2'] },
      mine: { like: 'compat', base_url: 'https://mine.example/v1' },
      gemini: { base_url: 'https://proxy.example' },
      'groq-2': { like: 'groq', keys: ['TEAM_FILE_KEY'] },
    },
  };
  const keys = { TEAM_KEY: 'key-of-the-team', TEAM_KEY_2_FILE: '/run/key', TEAM_FILE_KEY: 'third-key', GATEWAY_COMPAT_NAME: 'own', GATEWAY_COMPAT_BASE_URL: 'https://own.example', GROQ_STRUCTURED_OUTPUT: 'none' };
  const files = { [PATH]: JSON.stringify(file), '/run/key': 'another-key-of-the-team\n' };
  const loaded = load({ GATEWAY_ROUTING_FILE: PATH, OPENAI_BASE_URL: 'https://egress.example/v1', ...keys }, files);
  assert.deepEqual(
    configOf(loaded).providers.map(({ name, baseUrl, keys: found, speaks }) => [name, baseUrl.href, found.map(({ secret }) => secret.reveal()), speaks.length > 0]),
    [
      ['anthropic', 'https://api.anthropic.com/v1', [KEY], true],
      ['gemini', 'https://proxy.example/v1beta', [KEY], false],
      ['groq', 'https://api.groq.com/openai/v1', ['key-of-the-team'], false],
      ['groq-2', 'https://api.groq.com/openai/v1', ['third-key'], false],
      ['mine', 'https://mine.example/v1', [], false],
      ['openai', 'https://egress.example/v1', [KEY], true],
      ['own', 'https://own.example/', [], false],
      // Like another, also in the way there.
      ['second', 'https://egress.example/v1', ['another-key-of-the-team'], true],
    ],
  );
  // What the answers of a host are held to is also said of its like, but for one that is compatible.
  assert.deepEqual(configOf(loaded).providers.flatMap(({ name, settings }) => (settings?.structuredOutput === undefined ? [] : [name])), ['groq', 'groq-2']);
  // The names of its variables may begin like those of settings.
  const named = loadFile({ providers: { openai: { keys: ['GATEWAY_KEY_1', 'GATEWAY_KEY_2'] } } }, { OPENAI_API_KEY: '', GATEWAY_KEY_1: 'a', GATEWAY_KEY_2_FILE: PATH, GATEWAY_KEY_3: 'c' });
  assert.deepEqual(named.unknownVariables, ['GATEWAY_KEY_3: there is no such setting']);
  assert.deepEqual(load({ GATEWAY_ROUTING_FILE: PATH, GEMINI_BASE_URL: 'https://egress.example', ...keys }, files).problems, [
    'GEMINI_BASE_URL: is set together with GATEWAY_ROUTING_FILE: providers.gemini.base_url; keep one',
  ]);
});

test('several keys of one account come from one variable, or from a file a line each', () => {
  const numbered = (loaded: LoadedConfig): unknown =>
    configOf(loaded).providers.filter(({ name }) => ['openai', 'gemini', 'compat'].includes(name)).map(({ name, keys }) => [name, ...keys.map(({ number, secret }) => `${number} ${secret.reveal()}`)]);
  const several = { OPENAI_API_KEY: '', OPENAI_API_KEYS: ' first,second , third', GEMINI_API_KEY: '', GEMINI_API_KEYS_FILE: '/run/keys', GATEWAY_COMPAT_BASE_URL: 'https://c.example', GATEWAY_COMPAT_API_KEYS: 'only' };
  const loaded = load(several, { '/run/keys': 'one\ntwo\n\n' });
  assert.deepEqual(numbered(loaded), [['compat', '1 only'], ['gemini', '1 one', '2 two'], ['openai', '1 first', '2 second', '3 third']]);
  assert.deepEqual([loaded.warnings, loaded.unknownVariables], [[], []]);
  const ids = configOf(loaded).providers.flatMap(({ keys }) => keys.map(({ id }) => id));
  assert.equal(new Set(ids).size, ids.length);
  assert.doesNotMatch(JSON.stringify(loaded.effective), /first|second|third/);
});

test('several keys in one variable that cannot be are a problem, without the keys', () => {
  const problemsOf = (variables: Variables): readonly string[] => load({ OPENAI_API_KEY: '', ...variables }, { '/run/keys': 'canary key' }).problems;
  const expected = 'expected 1 to 100 keys separated by commas, each of 1 to 4000 printable ASCII characters without a space';
  assert.deepEqual(problemsOf({ OPENAI_API_KEYS: ',' }), [`OPENAI_API_KEYS: ${expected}`]);
  assert.deepEqual(problemsOf({ OPENAI_API_KEYS: Array.from({ length: 101 }, (_, index) => `k${index}`).join() }), [`OPENAI_API_KEYS: ${expected}`]);
  for (const keys of ['canary-ü', 'a,canary-ü', 'canary-ü,a']) assert.deepEqual(problemsOf({ OPENAI_API_KEYS: keys }), [`OPENAI_API_KEYS: ${expected}`]);
  assert.deepEqual(problemsOf({ OPENAI_API_KEYS: 'a,canary,b,canary' }), ['OPENAI_API_KEYS: the entries 2 and 4 hold the same key']);
  assert.deepEqual(problemsOf({ OPENAI_API_KEYS: 'a,b', OPENAI_API_KEY: KEY }), ['OPENAI_API_KEYS: is set together with OPENAI_API_KEY; keep one']);
  const both = load({ OPENAI_API_KEYS: 'a,b', OPENAI_API_KEY: '', GATEWAY_ROUTING_FILE: PATH }, { [PATH]: '{"providers":{"openai":{"keys":["GEMINI_API_KEY"]}}}' });
  assert.deepEqual(both.problems, ['OPENAI_API_KEYS: is set together with GATEWAY_ROUTING_FILE: providers.openai.keys; keep one']);
  // The variable that is honoured in another's place has no plural, and counts for nothing beside it.
  assert.deepEqual(load({ GEMINI_API_KEY: '', GEMINI_API_KEYS: 'a,b', GOOGLE_API_KEY: KEY }).warnings, ['GOOGLE_API_KEY: ignored, because GEMINI_API_KEYS is set']);
});

test('GATEWAY_ROUTES is routes in order of preference', () => {
  const { routing } = configOf(load({ GATEWAY_ROUTES: 'smart=anthropic/claude-opus-5, openai/gpt-5.6-sol;\n fast = gemini/models/x ;' }));
  assert.deepEqual([...routing.routes].map(([name, route]) => [name, route.name, route.isSpread, ...route.targets.map(targetName)]), [
    ['smart', 'smart', false, 'anthropic/claude-opus-5', 'openai/gpt-5.6-sol'],
    ['fast', 'fast', false, 'gemini/models/x'],
  ]);
  assert.deepEqual([routing.callers.size, routing.concurrentMax.size], [0, 0]);
});

test('GATEWAY_ROUTES that cannot work is named by its entries', () => {
  const expected = 'expected name=provider/model,provider/model, the first of them a name of up to 64 letters, digits, ".", "_" or "-" that begins with a letter or digit';
  const { problems, warnings } = load({ GATEWAY_ROUTES: 'smart;a/b=openai/m;c=openai;d=openai/m,;g=openai/two words;=openai/m;x y=openai/m;e=opnai/m,openai/m,openai/m;e=openai/m;f=openai/1,openai/2,openai/3,openai/4,openai/5,openai/6,openai/7,openai/8,openai/9' });
  assert.deepEqual(problems, [
    `GATEWAY_ROUTES, entry 1: ${expected}, got "smart"`,
    `GATEWAY_ROUTES, entry 2: ${expected}, got "a/b=openai/m"`,
    `GATEWAY_ROUTES, entry 3: ${expected}, got "c=openai"`,
    `GATEWAY_ROUTES, entry 4: ${expected}, got "d=openai/m,"`,
    `GATEWAY_ROUTES, entry 5: ${expected}, got "g=openai/two words"`,
    `GATEWAY_ROUTES, entry 6: ${expected}, got "=openai/m"`,
    `GATEWAY_ROUTES, entry 7: ${expected}, got "x y=openai/m"`,
    'GATEWAY_ROUTES, entry 9: there is another route e',
    'GATEWAY_ROUTES, entry 10: expected 1 to 8 targets, got 9',
    'GATEWAY_ROUTES: e, target 1: expected a configured provider (anthropic, gemini, openai), got "opnai"; did you mean openai?',
    'GATEWAY_ROUTES: e, target 3: is the same as the target 2',
  ]);
  assert.deepEqual(warnings, ['GATEWAY_ROUTES: f: 9 targets, but GATEWAY_MAX_RETRIES allows 4 attempts; raise it or drop some']);
  assert.deepEqual(load({ GATEWAY_ROUTES: ';' }).problems, ['GATEWAY_ROUTES: expected name=provider/model,provider/model, more of them separated by semicolons, got ";"']);
});

test('GATEWAY_CALLER_LIMITS is limits by label', () => {
  const { routing } = configOf(load({ GATEWAY_CALLER_LIMITS: 'batch:rpm=60,tpm=100000, tpd=5000000,concurrent=8; *:rpm=5' }));
  assert.deepEqual([...routing.callers], [
    ['batch', { limits: { requestsPerMinute: 60, tokensPerMinute: 100_000, tokensPerDay: 5_000_000, concurrent: 8 }, allow: undefined }],
    ['*', { limits: { requestsPerMinute: 5, tokensPerMinute: undefined, tokensPerDay: undefined, concurrent: undefined }, allow: undefined }],
  ]);
});

test('GATEWAY_CALLER_LIMITS that cannot work is named by its entries, which are not repeated', () => {
  const some = 'expected some of rpm, tpm, tpd, concurrent, each with its number';
  const { problems } = load({ GATEWAY_CALLER_LIMITS: 'batch;canary/key:rpm=1;bach:rpm=1;batch:rqm=5,tpm=0,tpd=x,tpd=1,tpd=2;batch:rpm=1;default:canary-token-of-callers;*:concurrent=1000001' });
  const expected = 'expected label:rpm=60,tpm=100000,tpd=5000000,concurrent=8, the first of them a label of up to 64 letters, digits, ".", "_" or "-", or *';
  assert.deepEqual(problems, [
    `GATEWAY_CALLER_LIMITS, entry 1: ${expected}`,
    `GATEWAY_CALLER_LIMITS, entry 2: ${expected}`,
    `GATEWAY_CALLER_LIMITS, entry 4: ${some}; did you mean rpm?`,
    'GATEWAY_CALLER_LIMITS, entry 4: tpm: expected a whole number from 1 to 1000000000000',
    'GATEWAY_CALLER_LIMITS, entry 4: tpd: expected a whole number from 1 to 1000000000000',
    'GATEWAY_CALLER_LIMITS, entry 4: tpd comes twice',
    'GATEWAY_CALLER_LIMITS, entry 5: there is another entry of batch',
    `GATEWAY_CALLER_LIMITS, entry 6: ${some}`,
    'GATEWAY_CALLER_LIMITS, entry 7: concurrent: expected a whole number from 1 to 1000000',
    'GATEWAY_CALLER_LIMITS: bach: no caller has this label (default, batch); did you mean batch?',
  ]);
});

test('--check prints the routing as it was understood', () => {
  assert.equal(renderRouting(configOf(loadFile(EXAMPLE, EXAMPLE_KEYS))), `
Routes
  smart: in this order; after 4s without a first event another is asked too
    1   anthropic/claude-opus-5   1 key         first event in 30s   answer in half of the time left
    2   openai/gpt-5.6-sol        keys 1 to 2   first event in 30s   answer in half of the time left
          thinking {"enabled":true,"effort":"high"} if the request has none
          never temperature, top_p
    3   openai-eu/gpt-5.6-sol     1 key         first event in 10m   answer in 10m
          never temperature, top_p
  bulk: by weight, each conversation stays at one target
    3 of 4   gemini/gemini-3.5-flash   1 key         first event in 30s   answer in half of the time left
    1 of 4   openai/gpt-5.6-mini       keys 1 to 2   first event in 30s   answer in half of the time left
          at most 50 at once
  gpt-4o
    1   openai/gpt-5.6-mini   keys 1 to 2   first event in 10m   answer in 10m

Providers
  anthropic   1 key         https://api.anthropic.com/v1, at most 400 at once
  gemini      1 key         https://generativelanguage.googleapis.com/v1beta
  openai      keys 1 to 2   https://api.openai.com/v1
  openai-eu   1 key         https://eu.api.openai.com/v1

Callers
  default   may ask for everything
            no limits
  batch     may ask for bulk, openai/gpt-5.6-*
            at most 600 requests a minute
            at most 400000 tokens a minute
            at most 50000000 tokens a day
            at most 32 requests at once
  Without limits: default.
`);
});

test('--check prints what a target is sent and how long it may take, never longer than any, and whom nothing is allowed', () => {
  const defaults = { max_tokens: 5, temperature: 0.5, top_p: 0.9, stop: ['x'], provider_options: { seed: 1 } };
  const file = {
    routes: { own: { targets: [target('openai', 'm', { first_event_timeout: '20s', attempt_timeout: '1m', defaults }), target('ollama', 'llama', { first_event_timeout: '1h', attempt_timeout: '2h' })] } },
    callers: { batch: { allow: [] }, '*': { tokens_per_day: 9 } },
  };
  assert.equal(renderRouting(configOf(loadFile(JSON.stringify(file, undefined, 2), { ANTHROPIC_API_KEY: '', GEMINI_API_KEY: '', OLLAMA_BASE_URL: 'http://localhost:1/v1' }))), `
Routes
  own: in this order
    1   openai/m       1 key    first event in 20s   answer in 1m
          max_tokens 5 if the request has none
          temperature 0.5 if the request has none
          top_p 0.9 if the request has none
          stop ["x"] if the request has none
          provider_options { "seed": 1 } if the request has none
    2   ollama/llama   no key   first event in 10m   answer in 10m

Providers
  ollama   no key   http://localhost:1/v1
  openai   1 key    https://api.openai.com/v1

Callers
  default   may ask for everything
            at most 9 tokens a day
  batch     may ask for nothing
            no limits
  *         may ask for everything
            at most 9 tokens a day
  Without limits: batch.
`);
});

test('--check prints nothing more where nothing of all this is configured, and the rules of everybody else where they are', () => {
  assert.equal(renderRouting(configOf(load({}))), '');
  const others = { ANTHROPIC_API_KEY: '', GEMINI_API_KEY: '' };
  assert.equal(renderRouting(configOf(load({ ...others, OPENAI_API_KEY: '', OPENAI_API_KEYS: 'a,b' }))), '\nProviders\n  openai   keys 1 to 2   https://api.openai.com/v1\n');
  assert.equal(renderRouting(configOf(loadFile({ providers: { openai: { concurrent: 5 } } }, others))), '\nProviders\n  openai   1 key   https://api.openai.com/v1, at most 5 at once\n');
  assert.equal(renderRouting(configOf(load({ GATEWAY_CALLER_LIMITS: '*:rpm=5;batch:concurrent=1' }))), `
Callers
  default   may ask for everything
            at most 5 requests a minute
  batch     may ask for everything
            at most 1 requests at once
  *         may ask for everything
            at most 5 requests a minute
`);
});
