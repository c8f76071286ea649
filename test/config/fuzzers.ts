/** The fuzzers of routing: a damaged file, and damaged variables, are a configuration that makes sense, or problems. */

import assert from 'node:assert/strict';
import { loadConfig } from '../../src/config/config.ts';
import type { Config } from '../../src/config/config.ts';
import { loadEnvironmentOptions } from '../../src/config/environment-options.ts';
import { loadOptions } from '../../src/config/options.ts';
import { renderRouting } from '../../src/config/routing-table.ts';
import { targetName } from '../../src/core/route.ts';
import { compatRow, PROVIDER_ROWS } from '../../src/providers/index.ts';
import type { Random } from '../base/random.ts';
import { mutateJson, mutateText } from '../fuzz/mutate.ts';

const CANARY = 'canary-key-of-a-provider';
const ENVIRONMENT = {
  GATEWAY_AUTH_TOKEN: 'canary-token-of-callers',
  GATEWAY_AUTH_TOKENS: 'batch:canary-token-of-the-batch',
  ANTHROPIC_API_KEY: CANARY,
  OPENAI_API_KEY: CANARY,
  OPENAI_API_KEY_2: `${CANARY}-2`,
};

/** Every field that there is. */
const FULL_FILE = {
  model_prefixes: true,
  providers: {
    openai: { keys: ['OPENAI_API_KEY', 'OPENAI_API_KEY_2'] },
    eu: { like: 'openai', base_url: 'https://eu.example/v1', keys: ['OPENAI_API_KEY_2'] },
    anthropic: { concurrent: 400 },
  },
  routes: {
    smart: {
      hedge_after: '4s',
      targets: [
        { provider: 'anthropic', model: 'a', first_event_timeout: '30s', attempt_timeout: '1m', concurrent: 5 },
        { provider: 'eu', model: 'b', defaults: { max_tokens: 1, temperature: 1, top_p: 1, stop: ['x'], thinking: { enabled: true, effort: 'low' }, provider_options: { seed: 1 } }, omit: ['cache', 'user'] },
      ],
    },
    bulk: { spread: true, targets: [{ provider: 'openai', model: 'c', weight: 3 }, { provider: 'anthropic', model: 'd' }] },
  },
  callers: { '*': { requests_per_minute: 1 }, batch: { tokens_per_minute: 1, tokens_per_day: 2, concurrent: 3, allow: ['bulk', 'sm*', 'openai/*', '*'] } },
};

/** A damaged file is a routing that makes sense, for an embedder too, or problems by path. */
export function routingFiles(random: Random): void {
  const text = random.below(2) === 0 ? JSON.stringify(mutateJson(random, FULL_FILE)) : mutateText(random, JSON.stringify(FULL_FILE));
  check({ ...ENVIRONMENT, GATEWAY_ROUTING_FILE: '/routing.json' }, text);
}

/** Damaged variables are the same. */
export function routingVariables(random: Random): void {
  const variables = {
    OPENAI_API_KEYS: `${CANARY},${CANARY}-2`,
    GATEWAY_ROUTES: 'smart=anthropic/a,openai/b;bulk=openai/c',
    GATEWAY_CALLER_LIMITS: 'batch:rpm=60,tpm=100000,tpd=5000000,concurrent=8;*:rpm=5',
  };
  const name = random.pick(['OPENAI_API_KEYS', 'GATEWAY_ROUTES', 'GATEWAY_CALLER_LIMITS'] as const);
  check({ ...ENVIRONMENT, OPENAI_API_KEY: '', ...variables, [name]: mutateText(random, variables[name]) }, '');
}

function check(variables: Readonly<Record<string, string>>, file: string): void {
  const { config, problems, warnings } = loadConfig(variables, PROVIDER_ROWS, compatRow, () => file);
  assert.equal(config === undefined, problems.length > 0);
  assert.ok(problems.length < 70, String(problems.length));
  for (const line of [...problems, ...warnings]) {
    assert.ok(line.length < 700 && !/[\r\n]/.test(line), line);
    assert.doesNotMatch(line, /canary/);
  }
  if (config === undefined) return;
  checkRouting(config);
  const table = renderRouting(config);
  assert.doesNotMatch(table, /canary/);
  const { options } = loadEnvironmentOptions(variables, PROVIDER_ROWS, compatRow, () => file);
  const embedded = loadOptions(options, PROVIDER_ROWS, compatRow, () => file);
  assert.deepEqual(embedded.problems, []);
  assert.equal(embedded.config && renderRouting(embedded.config), table);
}

function checkRouting({ routing, providers, callers }: Config): void {
  const names = providers.map(({ name }) => name);
  for (const [name, route] of routing.routes) {
    assert.match(name, /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/);
    assert.ok(route.name === name && route.targets.length >= 1 && route.targets.length <= 8);
    assert.equal(new Set(route.targets.map(targetName)).size, route.targets.length);
    for (const { provider, model, weight, defaults, omit } of route.targets) {
      assert.ok(names.includes(provider) && /^[\x21-\x7e]+$/.test(model) && weight >= 1 && weight <= 1000);
      assert.ok(defaults?.providerOptions?.entries.has('stream') !== true);
      assert.equal(new Set(omit).size, omit.length);
    }
  }
  for (const label of routing.callers.keys()) assert.ok(label === '*' || callers.some((caller) => caller.label === label), label);
  for (const { keys } of providers) assert.equal(new Set(keys.map(({ id }) => id)).size, keys.length);
  for (const name of routing.concurrentMax.keys()) assert.ok(names.includes(name), name);
}
