import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Memory } from '../../../src/sandbox/protocol.ts';
import { storeResponse } from '../../../src/sandbox/openai-responses/stored.ts';
import type { Sandbox } from '../../../src/sandbox/index.ts';
import { HEADERS, at, open, parsed, request } from '../client.ts';
import type { Answer } from '../client.ts';

const TOOL = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } };
type Item = Readonly<Record<string, unknown>>;

function ask(sandbox: Sandbox, body: object): Promise<Answer> {
  return request(`${sandbox.baseUrls.openai}/responses`, { model: 'fake-tool-loop', tools: [TOOL], ...body }, HEADERS.openai);
}

function outputsFor(items: readonly Item[]): Item[] {
  return items.filter(({ type }) => type === 'function_call').map((item) => ({ type: 'function_call_output', call_id: item['call_id'], output: 'rain' }));
}

test('a tool loop goes round when each request names the response before it', async (t) => {
  const sandbox = await open(t);
  let reply = parsed(await ask(sandbox, { input: 'Go' }));
  const types: unknown[] = [];
  for (let round = 0; round < 2; round += 1) {
    reply = parsed(await ask(sandbox, { previous_response_id: at(reply, 'id'), input: outputsFor(at(reply, 'output') as Item[]) }));
    types.push((at(reply, 'output') as Item[]).map(({ type }) => type));
  }
  assert.deepEqual(types, [['reasoning', 'function_call'], ['reasoning', 'message']]);
});

test('a tool loop goes round when items are named instead of sent', async (t) => {
  const sandbox = await open(t);
  const items = at(parsed(await ask(sandbox, { input: 'Go' })), 'output') as Item[];
  const named = items.map((item) => (item['type'] === 'function_call' ? item : { type: 'item_reference', id: item['id'] }));
  const reply = parsed(await ask(sandbox, { input: [{ role: 'user', content: 'Go' }, ...named, ...outputsFor(items)] }));
  assert.deepEqual((at(reply, 'output') as Item[]).map(({ type }) => type), ['reasoning', 'function_call']);
});

test('a tool loop goes round with items as they came, reasoning without its seal among them, as the Agents SDK and AG2 send them', async (t) => {
  const sandbox = await open(t);
  const loop = async (seal: object, body: object): Promise<number> => {
    const items = at(parsed(await ask(sandbox, { input: 'Go', ...body })), 'output') as Item[];
    const sent = items.map(({ encrypted_content: _, ...item }) => (item['type'] === 'reasoning' ? { ...item, ...seal } : item));
    return (await ask(sandbox, { input: [{ role: 'user', content: 'Go' }, ...sent, ...outputsFor(items)], ...body })).status;
  };
  assert.equal(await loop({}, { store: false }), 404);
  assert.deepEqual([await loop({}, {}), await loop({ encrypted_content: null }, {})], [200, 200]);
});

test('what was not to be stored, or never was there, is not found', async (t) => {
  const sandbox = await open(t);
  const reply = parsed(await ask(sandbox, { input: 'Go', store: false }));
  const response = await ask(sandbox, { previous_response_id: at(reply, 'id'), input: 'On' });
  assert.deepEqual([response.status, at(JSON.parse(response.text), 'error', 'code')], [400, 'previous_response_not_found']);
  assert.equal((await ask(sandbox, { conversation: { id: 'conv_1' }, input: 'On' })).status, 404);
  const item = await ask(sandbox, { input: [{ type: 'item_reference', id: at(reply, 'output', 0, 'id') }] });
  assert.equal(item.status, 404);
  assert.match(item.text, /Items are not persisted when `store` is set to false/);
  assert.deepEqual([at(reply, 'store'), at(parsed(await ask(sandbox, { input: 'Go' })), 'store')], [false, true]);
});

test('two hundred responses are kept, and 64 MiB of them', () => {
  const memory: Memory = { responses: new Map() };
  for (let index = 0; index < 201; index += 1) storeResponse(memory, `resp_${index}`, [], []);
  assert.deepEqual([memory.responses.size, memory.responses.has('resp_0')], [200, false]);
  const large = { content: 'x'.repeat(40 * 1024 * 1024) };
  for (const id of ['one', 'two']) storeResponse(memory, id, [large], []);
  assert.deepEqual([...memory.responses.keys()], ['two']);
});
