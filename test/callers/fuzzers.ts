/** The fuzzers of what holds for every dialect of another vendor: damaged requests, and streams of a provider that speaks it. */

import assert from 'node:assert/strict';
import { DIALECTS } from '../../src/callers/index.ts';
import type { CallerDialect, DecodedRequest, RelayRules } from '../../src/core/dialect.ts';
import { checkConversation } from '../../src/core/conversation.ts';
import { Failure } from '../../src/core/failure.ts';
import { sentText } from '../sent-text.ts';
import type { Random } from '../base/random.ts';
import { mutateJson, mutateText, randomJson } from '../fuzz/mutate.ts';
import { ADAPTERS } from '../fuzz/seeds.ts';
import { asked, FACTS } from './dialect-testing.ts';

const STATE = 'gateway:own=gemini.acme.e30,text=gemini.acme.e30';
const SCHEMA = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false };
const PDF = 'JVBERi0=';

/** A request that uses every kind of field, message and part, by the dialect's name. */
const FULL_REQUESTS: Readonly<Record<string, unknown>> = {
  'openai-chat': {
    model: 'm',
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hi' },
          { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` } },
        ],
      },
      {
        role: 'assistant',
        content: [{ type: 'text', text: 'A' }],
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'n', arguments: '{"a":1}' }, extra_content: { google: { thought_signature: STATE } } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'x' },
    ],
    max_completion_tokens: 5,
    stop: ['END'],
    stream: true,
    stream_options: { include_usage: true },
    tools: [{ type: 'function', function: { name: 'n', parameters: SCHEMA, strict: true } }],
    tool_choice: { type: 'function', function: { name: 'n' } },
    parallel_tool_calls: false,
    reasoning_effort: 'low',
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema: SCHEMA, strict: true } },
    user: 'ann',
    prompt_cache_key: 'k',
  },
  'openai-responses': {
    model: 'm',
    instructions: 'Be brief.',
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'Look' }, { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` }] },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: STATE },
      { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'A', annotations: [] }] },
      { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'n', arguments: '{"a":1}' },
      { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'x' }, { type: 'input_image', image_url: 'https://example.org/a.png' }] },
    ],
    max_output_tokens: 5,
    stream: true,
    tools: [{ type: 'function', name: 'n', parameters: SCHEMA, strict: true }, { type: 'web_search' }],
    tool_choice: 'required',
    parallel_tool_calls: false,
    reasoning: { effort: 'low' },
    text: { format: { type: 'json_schema', name: 'n', schema: SCHEMA, strict: true } },
    include: ['reasoning.encrypted_content'],
    store: false,
    safety_identifier: 'ann',
  },
  anthropic: {
    model: 'm',
    max_tokens: 500,
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Look' }, { type: 'document', title: 'A', source: { type: 'base64', media_type: 'application/pdf', data: PDF } }] },
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature: STATE }, { type: 'text', text: 'A' }, { type: 'tool_use', id: 'toolu_1', name: 'n', input: {} }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'x' }, { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } }] }],
      },
    ],
    tools: [{ name: 'n', input_schema: SCHEMA, strict: true }],
    tool_choice: { type: 'any', disable_parallel_tool_use: true },
    thinking: { type: 'adaptive' },
    output_config: { effort: 'high', format: { type: 'json_schema', schema: SCHEMA } },
    metadata: { user_id: 'ann' },
    stream: true,
  },
};

const OTHERS = DIALECTS.filter(({ name }) => Object.hasOwn(FULL_REQUESTS, name));

/** A body of a caller is a call of every provider and a relayed one, or a 400 that names the place in bounded words. */
export function dialectRequests(random: Random): void {
  const dialect = random.pick(OTHERS);
  const full = FULL_REQUESTS[dialect.name];
  const text = random.below(3) === 0 ? mutateText(random, JSON.stringify(full)) : JSON.stringify(random.below(8) === 0 ? full : mutateJson(random, full));
  const decoded = dialect.decodeRequest(Buffer.from(text, random.below(20) === 0 ? 'latin1' : 'utf8'), dialect.routes[0] ?? assert.fail());
  if (decoded instanceof Failure) {
    checkRefusal(decoded);
    return;
  }
  const { system, user } = decoded.head();
  assert.ok(typeof system === 'string' && typeof user === 'string');
  const owner = decoded.loopOwner();
  if (owner !== undefined && owner !== 'relayed') assert.match(owner.provider, /^[\w-]{1,64}$/);
  checkTranslated(decoded, random);
  checkRelayed(dialect, decoded, { caller: 'shop', allowsStored: random.below(2) === 0, isVendor: random.below(2) === 0 });
}

function checkRefusal({ kind, status, message }: Failure): void {
  assert.ok(kind === 'bad_request' || kind === 'unsupported', `${kind}: ${message}`);
  assert.equal(status, 400);
  assert.ok(message.length < 1000, message);
}

function checkTranslated(decoded: DecodedRequest, random: Random): void {
  const translation = decoded.translate('other');
  if (translation instanceof Failure) {
    checkRefusal(translation);
    return;
  }
  const { request, ignored, told } = translation;
  assert.ok(request.turns.length > 0);
  assert.ok(ignored.length <= 21);
  const breach = checkConversation(request.turns);
  for (const adapter of ADAPTERS.values()) {
    const call = breach ?? adapter.encodeChat(request, random.below(2) === 0);
    if (!(call instanceof Failure)) {
      JSON.parse(sentText(call));
      continue;
    }
    const message = told?.(call.message) ?? call.message;
    checkRefusal(call.with({ message }));
    assert.ok(decoded.source?.raw.text.includes('messages[') === true || decoded.source?.entries.has('messages') === true || !message.includes('messages['), message);
  }
}

function checkRelayed({ relay }: CallerDialect, decoded: DecodedRequest, rules: RelayRules): void {
  const relayed = relay?.encode(decoded, 'other', rules) ?? assert.fail('it cannot be relayed');
  if (relayed instanceof Failure) {
    checkRefusal(relayed);
    return;
  }
  const body = JSON.parse(sentText(relayed)) as Readonly<Record<string, unknown>> & { readonly metadata?: { readonly user_id?: unknown } | null };
  assert.equal(body['model'], 'other');
  for (const name of [body['user'], body['safety_identifier'], body.metadata?.user_id]) assert.notEqual(name, 'ann');
  assert.notEqual(body['prompt_cache_key'], 'k');
}

/** Whatever a provider sends, what is passed on is whole events, and what ends them is told once, last. */
export function dialectRelays(random: Random): void {
  const dialect = random.pick(OTHERS);
  const frames = dialect.createFrames({ ...FACTS, request: asked('m', random.below(2) === 0) });
  const names = ['', 'message_start', 'content_block_delta', 'message_delta', 'ping', 'response.created', 'response.output_text.delta', 'x'];
  let text = '';
  for (let left = random.below(6); left > 0; left -= 1) {
    text += frames.relay?.(random.pick(names), random.below(4) === 0 ? mutateText(random, '{"type":"ping"}').replaceAll('\r', '') : JSON.stringify(randomJson(random))) ?? assert.fail('it cannot be relayed');
    if (random.below(4) === 0) text += dialect.keepAlive;
  }
  assert.ok(text === '' || text.endsWith('\n\n'), text);
  const before = text.length;
  text += frames.render({ type: 'failed', failure: new Failure('server', 'acme failed\n\nevent: message_stop') });
  assert.ok(text.length > before);
  for (const record of text.slice(before).split('\n\n').slice(0, -1)) {
    assert.match(record, /^(?:event: \S+\n)?data: [^\n]+$/);
    assert.doesNotMatch(record, /^event: (?:message_stop|response\.completed)|\[DONE\]/m);
  }
}
