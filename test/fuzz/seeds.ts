/** What the fuzzers damage: requests of a caller, and the sandbox's answers to them in every provider's format. */

import { decodeChatRequest } from '../../src/callers/native/request.ts';
import type { Adapter, ProviderRow } from '../../src/core/adapter.ts';
import type { ChatRequest } from '../../src/core/chat.ts';
import { Failure } from '../../src/core/failure.ts';
import { compatRow, PROVIDER_ROWS } from '../../src/providers/index.ts';
import { startSandbox } from '../../src/sandbox/index.ts';
import { sentText } from '../sent-text.ts';

export type Seed = {
  readonly provider: string;
  readonly adapter: Adapter;
  /** As a caller sent it. */
  readonly request: RequestBody;
  /** The provider's whole body and its stream, as text. */
  readonly whole: string;
  readonly stream: string;
};

export type RequestBody = { readonly model: string; readonly messages: readonly unknown[]; readonly [field: string]: unknown };

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const TOOLS = [
  { name: 'weather', description: 'Weather', parameters: { type: 'object', properties: { city: { type: 'string', enum: ['Oslo', 'Rome'] } } } },
  { name: 'clothes' },
];

/** A request that uses every field. */
export const FULL_REQUEST: RequestBody = {
  model: 'fake-chat',
  system: 'Be brief.',
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'Look' }, { type: 'image', media_type: 'image/png', data: PIXEL }] },
    { role: 'user', content: [{ type: 'document', media_type: 'text/plain', data: 'VGVybXM=', name: 'terms.txt' }] },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'I will.' },
        { type: 'tool_call', id: 'call_1', name: 'weather', arguments: { city: 'Oslo', big: 12345 } },
        { type: 'tool_call', id: 'call_2', name: 'clothes', arguments: {} },
      ],
    },
    { role: 'tool', content: [{ type: 'tool_result', tool_call_id: 'call_1', content: [{ type: 'text', text: 'rain' }, { type: 'document', media_type: 'application/pdf', data: 'JVBERi0=' }] }] },
    { role: 'tool', content: [{ type: 'tool_result', tool_call_id: 'call_2', content: 'none', is_error: true }] },
    { role: 'user', text: 'And now?' },
  ],
  max_tokens: 500,
  temperature: 0.5,
  top_p: 0.9,
  stop: ['END'],
  tools: TOOLS.map((tool) => ({ ...tool, strict: true })),
  tool_choice: { mode: 'tool', name: 'weather', parallel: true },
  thinking: { enabled: true, effort: 'low' },
  output: { type: 'json', schema: { type: 'object', properties: { city: { type: 'string' } } }, name: 'answer', strict: true },
  cache: { key: 'bot', ttl: 'long' },
  user: 'someone',
  provider_options: { service_tier: 'flex', nested: { a: [1, 2] } },
};

const ASKED = ['fake-chat', 'fake-thinking', 'fake-tool-loop', 'fake-parallel', 'fake-json-numbers', 'fake-refusal-partial', 'fake-empty'];

const ROWS = [...PROVIDER_ROWS, compatRow('compat')];
const NAMES = ['anthropic', 'openai', 'gemini', 'deepseek', 'mistral', 'openrouter', 'compat'] as const;

/** The codecs that differ most, by name. */
export const ADAPTERS: ReadonlyMap<string, Adapter> = new Map([
  ...NAMES.map((name): [string, Adapter] => [name, rowOf(name).createAdapter(name)]),
  ['responses', rowOf('openai').createAdapter('openai', { openAiApi: 'responses' })],
]);

function rowOf(name: string): ProviderRow {
  const row = ROWS.find((candidate) => candidate.name === name);
  if (row === undefined) throw new Error(`no provider ${name}`);
  return row;
}

/** Where the sandbox is each of these providers. */
const PLACES = [
  ['anthropic', 'anthropic', '/v1', { 'x-api-key': 'k' }],
  ['openai', 'openai', '', { authorization: 'Bearer k' }],
  ['responses', 'openai', '', { authorization: 'Bearer k' }],
  ['gemini', 'gemini', '/v1beta', { 'x-goog-api-key': 'k' }],
  ['compat', 'compat', '', {}],
] as const;

/** One seed for each kind of answer of each protocol. */
export async function collectSeeds(): Promise<readonly Seed[]> {
  const sandbox = await startSandbox({});
  const seeds: Seed[] = [];
  for (const [name, place, version, key] of PLACES) {
    const adapter = ADAPTERS.get(name) ?? rowOf(name).createAdapter(name);
    for (const model of ASKED) {
      const request = { model, messages: [{ role: 'user', text: 'Tell me something' }], tools: TOOLS };
      const ask = async (isStream: boolean): Promise<string> => {
        const call = adapter.encodeChat(decoded(request), isStream);
        if (call instanceof Failure) throw new Error(call.message);
        const url = sandbox.baseUrls[place] + version + call.path;
        const response = await fetch(url, { method: call.method, headers: { ...call.headers, ...key }, body: call.body === undefined ? null : sentText(call) });
        if (!response.ok) throw new Error(`${name} ${model}: ${response.status} ${await response.text()}`);
        return response.text();
      };
      seeds.push({ provider: place, adapter, request, whole: await ask(false), stream: await ask(true) });
    }
  }
  await sandbox.close();
  return seeds;
}

/** The request that this body means; throws when it means none. */
export function decoded(body: unknown): ChatRequest {
  const request = decodeChatRequest(Buffer.from(JSON.stringify(body)));
  if (request instanceof Failure) throw new Error(request.message);
  return request;
}
