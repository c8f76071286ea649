import { deepEqual, equal, match, ok } from 'node:assert/strict';
import test from 'node:test';
import { loadConfig } from '../../src/config/config.ts';
import { listVariableOf } from '../../src/config/provider-keys.ts';
import { SETTINGS } from '../../src/config/settings.ts';
import { REQUEST_FEATURES } from '../../src/core/adapter.ts';
import type { ProviderRow } from '../../src/core/adapter.ts';
import { compatRow, PROVIDER_ROWS } from '../../src/providers/index.ts';

/** Every row, and one of the operator's own. */
const ALL_ROWS: readonly ProviderRow[] = [...PROVIDER_ROWS, compatRow('compat')];

function noFile(): string {
  throw new Error('no files in this test');
}

/** What clouds have to be told besides. */
const FURTHER: Readonly<Record<string, readonly string[]>> = { bedrock: ['AWS_REGION'], 'claude-aws': ['AWS_REGION', 'ANTHROPIC_AWS_WORKSPACE_ID'] };

function register(row: ProviderRow) {
  const variables: Record<string, string> = { GATEWAY_AUTH_TOKEN: 'a-token-of-callers' };
  if (row.isKeyRequired) variables[row.keyVariables[0] ?? ''] = 'provider-key';
  if (!row.isKeyRequired || row.defaultBaseUrl === undefined) {
    variables[row.baseUrlVariable] = row.defaultBaseUrl ?? 'https://own.example/v1';
  }
  for (const variable of FURTHER[row.name] ?? []) variables[variable] = 'us-east-1';
  return loadConfig(variables, PROVIDER_ROWS, compatRow, noFile);
}

test('PROVIDER_ROWS begins with the three vendors that have a protocol of their own', () => {
  deepEqual(PROVIDER_ROWS.slice(0, 3).map(({ name }) => name), ['anthropic', 'openai', 'gemini']);
});

test('no two rows share a name or a variable', () => {
  const names = ALL_ROWS.map(({ name }) => name);
  equal(new Set(names).size, names.length);
  const variables = ALL_ROWS.flatMap(({ keyVariables, baseUrlVariable }) => [...keyVariables, baseUrlVariable]);
  equal(new Set(variables).size, variables.length);
});

test("compatRow's variables are in the table of settings", () => {
  const row = compatRow('any');
  const { keyVariables, baseUrlVariable, structuredOutputVariable } = row;
  const variables = SETTINGS.filter(({ field }) => field === 'providers').map(({ variable }) => variable);
  deepEqual([...keyVariables, listVariableOf(row), baseUrlVariable, structuredOutputVariable].sort(), [...variables].sort());
});

for (const row of ALL_ROWS) {
  test(`${row.name} has a row that can be configured`, () => {
    match(row.name, /^[a-z0-9_-]{1,64}$/);
    for (const variable of [...row.keyVariables, row.baseUrlVariable]) match(variable, /^[A-Z0-9_]+$/);
    ok(row.keyVariables.length > 0);
    match(row.keyHeader.name, /^[a-z-]+$/);
    equal(row.isKeyRequired && row.defaultBaseUrl !== undefined ? new URL(row.defaultBaseUrl).protocol : 'https:', 'https:');
  });

  test(`${row.name} is registered by what its row says, without a warning`, () => {
    const { config, problems, warnings } = register(row);
    deepEqual([problems, warnings], [[], []]);
    deepEqual(config?.providers.map(({ name }) => name), [row.name]);
    match(config?.providers[0]?.baseUrl.pathname ?? '', row.versionSegment === undefined ? /^\/$|[^/]$/ : new RegExp(`/${row.versionSegment}$`));
  });

  test(`${row.name} has a codec that takes a stand on every part of a request`, () => {
    const { support } = row.createAdapter(row.name);
    deepEqual(Object.keys(support).sort(), [...REQUEST_FEATURES].sort());
  });
}
