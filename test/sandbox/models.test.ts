/** The lists of models, and what each provider says of one. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HEADERS, at, open } from './client.ts';
import type { ProtocolName } from './client.ts';

const PATHS: Readonly<Record<ProtocolName, string>> = { anthropic: '/v1/models', openai: '/models', gemini: '/v1beta/models', compat: '/models' };

const SAID: Readonly<Record<ProtocolName, Readonly<Record<string, unknown>>>> = {
  anthropic: { id: 'fake-thinking', max_input_tokens: 200_000, max_tokens: 64_000, lifecycle: 'deprecated', deprecated_at: '2026-09-01T00:00:00Z', retires_at: '2027-03-01T00:00:00Z' },
  openai: { id: 'fake-thinking', object: 'model', created: 1_767_225_600, owned_by: 'sandbox', shutdown_date: '2027-03-01' },
  gemini: { name: 'models/fake-thinking', inputTokenLimit: 200_000, outputTokenLimit: 64_000, thinking: true },
  compat: { id: 'fake-thinking', context_length: 200_000, max_model_len: 200_000, max_context_length: 200_000, deprecation: '2027-03-01T00:00:00Z' },
};

for (const protocol of Object.keys(PATHS) as ProtocolName[]) {
  test(`${protocol} says of a model what its provider says, and of another that there is none`, async (t) => {
    const sandbox = await open(t);
    const get = (id: string): Promise<Response> => fetch(`${sandbox.baseUrls[protocol]}${PATHS[protocol]}/${id}`, { headers: HEADERS[protocol] });
    const model = (await (await get('fake-thinking')).json()) as Record<string, unknown>;
    for (const [name, value] of Object.entries(SAID[protocol])) assert.deepEqual(model[name], value, name);
    const missing = await get('nowhere');
    assert.equal(missing.status, 404);
    assert.match(String(at(await missing.json(), 'error', 'message')), /nowhere/);
  });
}

test('Anthropic says what a model can, OpenAI no limit of it', async (t) => {
  const sandbox = await open(t);
  const of = async (protocol: ProtocolName): Promise<Record<string, unknown>> =>
    (await (await fetch(`${sandbox.baseUrls[protocol]}${PATHS[protocol]}/fake-chat`, { headers: HEADERS[protocol] })).json()) as Record<string, unknown>;
  const { capabilities, lifecycle, deprecated_at: since } = await of('anthropic');
  assert.deepEqual([at(capabilities, 'structured_outputs'), at(capabilities, 'pdf_input'), at(capabilities, 'batch'), lifecycle, since], [{ supported: true }, { supported: true }, { supported: false }, 'active', null]);
  assert.deepEqual(Object.keys(await of('openai')), ['id', 'object', 'created', 'owned_by', 'shutdown_date']);
});
