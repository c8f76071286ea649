/**
 * The fields without which some client raises, each with those that do: found by taking them away one at a time. They are in
 * every answer that is translated, never null. What is relayed is the vendor's own.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../running-gateway.ts';
import type { RunningGateway } from '../running-gateway.ts';
import { PROVIDERS } from './dialect-clients.ts';

/**
 * By path: `[]` is every item of a list, `[x]` those of type x. A path applies where what stands before its last name is there.
 */
type Needed = Readonly<Record<string, string>>;
type Format = {
  readonly path: string;
  readonly vendor: string;
  readonly asked: (text: string) => object;
  readonly tools: readonly object[];
  readonly whole: Needed;
  /** By the event's type; chunks of Chat Completions have none. */
  readonly events: Readonly<Record<string, Needed>>;
};

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };
const OPENAI_HELPERS = 'the helpers of openai-node and openai-python';
const TYPED = 'openai-java where it validates, openai-php';
const ANTHROPIC_HELPERS = 'the helpers of anthropic-node and anthropic-python';
const FORMATS: Readonly<Record<string, Format>> = {
  'Chat Completions': {
    path: '/v1/chat/completions',
    vendor: 'openai',
    asked: (text) => ({ messages: [{ role: 'user', content: text }], reasoning_effort: 'high', stream_options: { include_usage: true } }),
    tools: [{ type: 'function', function: { name: 'weather', parameters: SCHEMA } }],
    whole: {
      id: 'pydantic-ai',
      model: 'pydantic-ai',
      object: 'pydantic-ai',
      created: 'pydantic-ai',
      'choices[].index': 'AI SDK, pydantic-ai',
      'choices[].finish_reason': 'pydantic-ai',
      'choices[].message.role': 'LangChain, pydantic-ai',
      'choices[].message.tool_calls[].id': 'every tool loop',
      'choices[].message.tool_calls[].type': 'AI SDK, openai-node parse',
      'choices[].message.tool_calls[].function.name': 'AI SDK',
      'choices[].message.tool_calls[].function.arguments': 'AI SDK, openai-node parse',
      'usage.prompt_tokens': 'pydantic-ai',
      'usage.completion_tokens': 'pydantic-ai',
      'usage.total_tokens': 'pydantic-ai',
    },
    events: {
      '': {
        id: 'pydantic-ai',
        object: 'the helper of openai-python',
        created: 'pydantic-ai',
        model: 'pydantic-ai',
        choices: `${OPENAI_HELPERS}, AI SDK`,
        'choices[].index': `${OPENAI_HELPERS}, AI SDK`,
        'choices[].delta': OPENAI_HELPERS,
        'choices[].delta.tool_calls[].index': `${OPENAI_HELPERS}, AI SDK, LangChain`,
        'usage.prompt_tokens': 'pydantic-ai',
        'usage.completion_tokens': 'pydantic-ai',
        'usage.total_tokens': 'pydantic-ai',
      },
    },
  },
  Responses: {
    path: '/v1/responses',
    vendor: 'openai',
    asked: (text) => ({ input: text, reasoning: { effort: 'high', summary: 'auto' }, store: false, include: ['reasoning.encrypted_content'] }),
    tools: [{ type: 'function', name: 'weather', strict: true, parameters: SCHEMA }],
    whole: {
      id: 'AI SDK',
      created_at: 'AI SDK',
      model: 'AI SDK',
      parallel_tool_calls: TYPED,
      tool_choice: TYPED,
      tools: TYPED,
      output: 'all clients',
      'output[].id': 'AI SDK',
      'output[reasoning].summary': 'AI SDK',
      'output[message].role': 'AI SDK',
      'output[message].content[].annotations': 'AI SDK, pydantic-ai',
      'output[function_call].call_id': 'AI SDK',
      'output[function_call].name': 'every tool loop',
      'output[function_call].arguments': 'every tool loop',
      'usage.total_tokens': 'AI SDK',
    },
    events: {
      'response.created': { response: OPENAI_HELPERS, 'response.id': `${OPENAI_HELPERS}, AI SDK`, 'response.created_at': 'AI SDK', 'response.model': 'AI SDK', 'response.tools': TYPED },
      'response.output_item.added': {
        output_index: OPENAI_HELPERS,
        item: `${OPENAI_HELPERS}, AI SDK`,
        'item.id': `${OPENAI_HELPERS}, AI SDK`,
        '[message].item.content': OPENAI_HELPERS,
        '[function_call].item.call_id': 'AI SDK',
        '[function_call].item.arguments': OPENAI_HELPERS,
      },
      'response.content_part.added': { item_id: OPENAI_HELPERS, output_index: OPENAI_HELPERS, content_index: OPENAI_HELPERS, part: OPENAI_HELPERS },
      'response.output_text.delta': { item_id: `${OPENAI_HELPERS}, AI SDK`, output_index: OPENAI_HELPERS, content_index: OPENAI_HELPERS, delta: 'all clients', logprobs: TYPED },
      'response.output_text.done': { item_id: OPENAI_HELPERS, output_index: OPENAI_HELPERS, content_index: OPENAI_HELPERS, text: OPENAI_HELPERS, logprobs: TYPED },
      'response.function_call_arguments.delta': { item_id: `${OPENAI_HELPERS}, AI SDK`, output_index: OPENAI_HELPERS, delta: OPENAI_HELPERS },
      'response.function_call_arguments.done': { item_id: OPENAI_HELPERS, output_index: OPENAI_HELPERS, arguments: OPENAI_HELPERS },
      'response.output_item.done': {
        output_index: OPENAI_HELPERS,
        'item.id': `${OPENAI_HELPERS}, AI SDK`,
        '[function_call].item.call_id': 'Codex',
        '[function_call].item.arguments': 'AI SDK',
        '[function_call].item.status': 'AI SDK',
      },
      'response.completed': { 'response.id': 'Codex', 'response.tools': TYPED, 'response.output': 'LangChain, pydantic-ai', 'response.usage.total_tokens': 'AI SDK' },
    },
  },
  Messages: {
    path: '/v1/messages',
    vendor: 'anthropic',
    asked: (text) => ({ max_tokens: 4000, messages: [{ role: 'user', content: text }], thinking: { type: 'adaptive' } }),
    tools: [{ name: 'weather', input_schema: SCHEMA }],
    whole: {
      type: 'AI SDK',
      id: 'the vendor has it always',
      model: 'Claude Code',
      role: 'the vendor has it always',
      content: 'all clients',
      usage: 'AI SDK, pydantic-ai',
      'usage.input_tokens': 'AI SDK',
      'usage.output_tokens': 'AI SDK',
      'content[thinking].signature': 'AI SDK',
      'content[thinking].thinking': 'AI SDK',
      'content[tool_use].id': 'AI SDK',
      'content[tool_use].name': 'AI SDK, LangChain',
      'content[tool_use].input': 'AI SDK, LangChain',
    },
    events: {
      message_start: {
        message: `${ANTHROPIC_HELPERS}, AI SDK`,
        'message.model': 'Claude Code',
        'message.content': `${ANTHROPIC_HELPERS}, AI SDK`,
        'message.usage': `${ANTHROPIC_HELPERS}, AI SDK, pydantic-ai`,
        'message.usage.input_tokens': 'AI SDK',
      },
      content_block_start: {
        index: 'AI SDK',
        content_block: 'AI SDK, the helper of anthropic-python',
        '[text].content_block.text': 'AI SDK, the helper of anthropic-python',
        '[thinking].content_block.thinking': 'AI SDK',
        '[tool_use].content_block.id': 'every tool loop',
        '[tool_use].content_block.input': 'AI SDK',
      },
      content_block_delta: { index: 'AI SDK, the helper of anthropic-python', delta: 'all clients' },
      message_delta: { usage: `${ANTHROPIC_HELPERS}, AI SDK, pydantic-ai`, 'delta.stop_reason': 'every tool loop' },
    },
  },
};

type Members = Readonly<Record<string, unknown>>;

/** The values at a path: undefined for one that is missing, none where what stands before it is not there. */
function valuesAt(value: unknown, path: string): readonly unknown[] {
  const [, kind, rest = ''] = /^\[(\w*)\]\.?(.*)$/.exec(path) ?? [];
  if (kind !== undefined && Array.isArray(value)) return value.filter((item: Members) => kind === '' || item['type'] === kind).flatMap((item) => valuesAt(item, rest));
  // Of an event, the type of the item or block that it is about.
  if (kind !== undefined) {
    const about = ((value as Members)['item'] ?? (value as Members)['content_block']) as Members | undefined;
    return about?.['type'] === kind ? valuesAt(value, rest) : [];
  }
  if (path === '') return [value];
  const [, name = '', after = ''] = /^(\w+)\.?(.*)$/.exec(path) ?? [];
  const member = (value as Members)[name];
  if (after !== '' && (member === undefined || member === null)) return [];
  return valuesAt(member, after);
}

const MODELS = ['fake-chat', 'fake-thinking', 'fake-tool-loop', 'fake-parallel'];

async function answers(gateway: RunningGateway, { path, asked, tools, vendor }: Format, isStream: boolean): Promise<readonly string[]> {
  const texts: string[] = [];
  for (const provider of PROVIDERS) {
    if (provider === vendor) continue;
    for (const model of MODELS) {
      const body = { ...asked('hi'), model: `${provider}/${model}`, tools, stream: isStream };
      const response = await gateway.post(path, isStream ? body : { ...body, stream_options: undefined }, { 'anthropic-version': '2023-06-01' });
      const text = await response.text();
      assert.equal(response.status, 200, text);
      texts.push(text);
    }
  }
  return texts;
}

/** Fails for a field that is missing somewhere, and for one that was nowhere looked for. */
function hold(values: readonly unknown[], needed: Needed, what: string): void {
  for (const [path, by] of Object.entries(needed)) {
    const found = values.flatMap((value) => valuesAt(value, path));
    assert.ok(found.length > 0, `${what}: nothing has a place for ${path}`);
    assert.ok(found.every((value) => value !== undefined && value !== null), `${what}: ${path} is missing, which ${by} needs`);
  }
}

for (const [name, format] of Object.entries(FORMATS)) {
  test(`${name}: a whole answer that was translated has every field that some client needs`, async (t) => {
    const gateway = await startGateway(t, { GATEWAY_COMPAT_NAME: 'compat', GATEWAY_MAX_RETRIES: '0', OPENAI_API: 'responses' });
    hold((await answers(gateway, format, false)).map((text) => JSON.parse(text) as unknown), format.whole, name);
  });

  test(`${name}: every event that was translated has every field that some client needs, and its type on the line before`, async (t) => {
    const gateway = await startGateway(t, { GATEWAY_COMPAT_NAME: 'compat', GATEWAY_MAX_RETRIES: '0', OPENAI_API: 'responses' });
    const texts = await answers(gateway, format, true);
    const events = texts.flatMap((text) => [...text.matchAll(/^(?:event: (.*)\n)?data: (\{.*)$/gm)].map(([, type = '', data = '']) => ({ type, data: JSON.parse(data) as Members })));
    for (const [type, needed] of Object.entries(format.events)) {
      hold(events.filter((event) => event.type === type).map(({ data }) => data), needed, `${name}, ${type}`);
    }
    assert.deepEqual(events.filter(({ type, data }) => type !== (format.path.endsWith('/completions') ? '' : data['type'])), []);
  });
}

test('Chat Completions: a stream names its role first, every call with id, type and name, and ends with one finish reason, without which helpers raise', async (t) => {
  const gateway = await startGateway(t, { GATEWAY_COMPAT_NAME: 'compat', GATEWAY_MAX_RETRIES: '0' });
  for (const text of await answers(gateway, FORMATS['Chat Completions'] as Format, true)) {
    const deltas = [...text.matchAll(/^data: (\{.*)$/gm)].flatMap(([, data = '']) => (JSON.parse(data) as { choices: { delta: Members; finish_reason: unknown }[] }).choices);
    assert.equal(deltas[0]?.delta['role'], 'assistant');
    assert.equal(deltas.filter(({ finish_reason: reason }) => reason !== null).length, 1);
    const seen = new Set<unknown>();
    for (const call of deltas.flatMap(({ delta }) => (delta['tool_calls'] ?? []) as Members[])) {
      if (seen.has(call['index'])) continue;
      seen.add(call['index']);
      assert.ok(call['id'] !== undefined && call['type'] === 'function' && (call['function'] as Members)['name'] !== undefined, JSON.stringify(call));
    }
  }
});
