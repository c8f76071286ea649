/** Which of its formats Bedrock is asked in, what it says when it fails, and its binary streams. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { EventFrames } from '../../../src/base/aws/event-frames.ts';
import type { ChatRequest } from '../../../src/core/chat.ts';
import type { Delta } from '../../../src/core/delta.ts';
import { Failure } from '../../../src/core/failure.ts';
import { encodeState } from '../../../src/core/provider-state.ts';
import { BEDROCK_ROW, CLAUDE_AWS_ROW } from '../../../src/providers/bedrock/adapter.ts';
import { sentText } from '../../sent-text.ts';
import { corpusAbsent, readRecording, recordings } from '../../corpus.ts';
import { readVectors, vectorsAbsent } from '../../vectors.ts';
import { assistant, payload, requestOf, result, call as toolCall, text, user } from '../../loops/codecs.ts';

const PROFILE = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123';
const adapter = BEDROCK_ROW.createAdapter('bedrock', { openAiApi: 'auto', models: new Map([[PROFILE, 'claude-sonnet-4-5'], ['team', 'claude-sonnet-4-5'], ['pro', 'gpt-5.6-pro']]) });

test('a model is asked in the format that its id says', () => {
  const pathOf = (model: string, isStream = false): string => {
    const encoded = adapter.encodeChat(requestOf({ model }), isStream);
    assert.ok(!(encoded instanceof Failure));
    return encoded.path;
  };
  assert.equal(pathOf('anthropic.claude-opus-4-8'), '/anthropic/v1/messages');
  assert.equal(pathOf('us.anthropic.claude-opus-4-8'), '/anthropic/v1/messages');
  assert.equal(pathOf('us.anthropic.claude-sonnet-4-5-20250929-v1:0'), '/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke');
  assert.equal(pathOf(PROFILE, true), '/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fabc123/invoke-with-response-stream');
  assert.equal(pathOf('team'), '/anthropic/v1/messages');
  assert.ok(adapter.encodeChat(requestOf({ model: 'arn:\ud800' }), false) instanceof Failure);
  assert.equal(pathOf('openai.gpt-oss-120b'), '/openai/v1/chat/completions');
  assert.equal(pathOf('openai.gpt-oss-20b-1:0'), '/openai/v1/chat/completions');
  assert.equal(payload(adapter, requestOf({ model: 'openai.gpt-5.6-luna', maxTokens: 9 }))['max_completion_tokens'], 9);
});

test("OpenAI's own models are asked by Responses for tools, as they demand, and their answers are read by what they say of themselves", () => {
  const tools = [{ name: 'get_weather', description: undefined, parameters: undefined, strict: undefined }];
  const pathOf = (model: string, fields: Partial<ChatRequest>): string => {
    const encoded = adapter.encodeChat(requestOf({ model, ...fields }), true);
    assert.ok(!(encoded instanceof Failure), String(encoded));
    return encoded.path;
  };
  for (const model of ['openai.gpt-5.6-luna', 'us.openai.gpt-6-sol', 'global.openai.gpt-5.6-terra']) {
    assert.equal(pathOf(model, { tools }), '/openai/v1/responses', model);
    assert.equal(pathOf(model, {}), '/openai/v1/chat/completions', model);
  }
  for (const model of ['openai.gpt-oss-120b-1:0', 'deepseek.v3.2', 'us.xai.grok-4.6']) assert.equal(pathOf(model, { tools }), '/openai/v1/chat/completions', model);
  const sent = payload(adapter, requestOf({ model: 'openai.gpt-5.6-luna', tools, user: 'u', maxTokens: 9 }));
  assert.deepEqual([sent['model'], sent['store'], sent['user'], sent['max_output_tokens']], ['openai.gpt-5.6-luna', false, 'u', 9]);
  const named = payload(adapter, requestOf({ model: 'pro', thinking: { enabled: true, effort: 'low' }, cache: { key: 'k', ttl: 'long' } }));
  assert.deepEqual([named['model'], named['reasoning'], named['prompt_cache_key'], named['prompt_cache_options']], ['pro', { effort: 'medium', summary: 'auto' }, 'k', undefined]);
  const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'get_weather', arguments: '{}', status: 'completed' };
  const body = { id: 'resp_1', object: 'response', status: 'completed', model: 'openai.gpt-5.6-luna', output: [call], usage: { input_tokens: 5, output_tokens: 2 } };
  const reply = adapter.decodeChat(JSON.stringify(body));
  assert.ok(!(reply instanceof Failure), String(reply));
  assert.deepEqual([reply.stopReason, reply.parts.map(({ type }) => type)], ['tool_use', ['tool_call']]);
  const decoder = adapter.createStreamDecoder();
  const deltas: Delta[] = [];
  const events = [
    { type: 'response.created', response: { ...body, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { ...call, arguments: '', status: 'in_progress' } },
    { type: 'response.output_item.done', output_index: 0, item: call },
    { type: 'response.completed', response: body },
  ];
  for (const event of events) decoder.frame(event.type, JSON.stringify(event), (delta) => deltas.push(delta));
  decoder.end((delta) => deltas.push(delta));
  assert.deepEqual(deltas.map(({ type }) => type), ['tool_call', 'done']);
});

test('InvokeModel has the version in its body, and neither model nor stream', () => {
  const body = payload(adapter, requestOf({ model: PROFILE, system: 'Be brief.' }));
  assert.deepEqual(Object.keys(body), ['anthropic_version', 'max_tokens', 'system', 'messages']);
  assert.equal(body['anthropic_version'], 'bedrock-2023-05-31');
  const streamed = adapter.encodeChat(requestOf({ model: PROFILE }), true);
  assert.ok(!(streamed instanceof Failure));
  assert.doesNotMatch(sentText(streamed), /"stream"/);
});

test('a profile stands for the model that the operator names, and otherwise for the newest Claude', () => {
  const thinking = { enabled: true, effort: undefined };
  assert.deepEqual(payload(adapter, requestOf({ model: PROFILE, thinking, maxTokens: 9000 }))['thinking'], { type: 'enabled', budget_tokens: 7976 });
  assert.deepEqual(payload(adapter, requestOf({ model: `${PROFILE}2`, thinking }))['thinking'], { type: 'adaptive', display: 'summarized' });
});

test('a cached conversation is marked at the end of its system text and at its last block', () => {
  const turns = [user('Go'), assistant(text('Looking.'), toolCall('c1')), result('c1')];
  const bodyOf = (system: string | undefined, cache?: { key: undefined; ttl: 'long' }): Readonly<Record<string, unknown>> =>
    payload(adapter, requestOf({ model: 'anthropic.claude-opus-4-8', system, turns, cache }));
  const mark = { type: 'ephemeral', ttl: '1h' };
  const body = bodyOf('Be brief.', { key: undefined, ttl: 'long' });
  assert.equal(body['cache_control'], undefined);
  assert.deepEqual(body['system'], [{ type: 'text', text: 'Be brief.', cache_control: mark }]);
  const messages = body['messages'] as readonly { readonly content: readonly Readonly<Record<string, unknown>>[] }[];
  assert.deepEqual(messages.at(-1)?.content.at(-1)?.['cache_control'], mark);
  assert.equal(JSON.stringify(body).match(/"cache_control"/g)?.length, 2);
  const sealed = text('', encodeState('anthropic', 'bedrock', { before: [{ type: 'thinking', thinking: '', signature: 's' }] }));
  const thought = payload(adapter, requestOf({ model: 'anthropic.claude-opus-4-8', turns: [user('Go'), assistant(text('A'), sealed)], cache: { key: undefined, ttl: undefined } }));
  const { content = [] } = (thought['messages'] as typeof messages)[1] ?? {};
  assert.deepEqual(content, [{ type: 'text', text: 'A', cache_control: { type: 'ephemeral' } }, { type: 'thinking', thinking: '', signature: 's' }]);
  for (const system of [undefined, ' ']) assert.equal(bodyOf(system, { key: undefined, ttl: 'long' })['system'], system);
  assert.equal(bodyOf('Be brief.')['system'], 'Be brief.');
});

test('what Bedrock would have to fetch is refused', () => {
  const image = { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } } as const;
  const refused = adapter.encodeChat(requestOf({ model: 'anthropic.claude-opus-4-8', turns: [{ role: 'user', parts: [image] }] }), false);
  assert.ok(refused instanceof Failure);
  assert.deepEqual([refused.kind, refused.message], ['unsupported', 'messages[0].content[0].url: bedrock fetches no URLs; send base64']);
});

const GPT_OSS = 'openai.gpt-oss-20b-1:0';

function chatBody(content: string, more: object = {}, model = GPT_OSS): string {
  return JSON.stringify({ id: 'c1', object: 'chat.completion', model, choices: [{ index: 0, message: { role: 'assistant', content, ...more }, finish_reason: 'stop' }] });
}

function replyOf(body: string): readonly [thinking: string, text: string, calls: number] {
  const reply = adapter.decodeChat(body);
  assert.ok(!(reply instanceof Failure), String(reply));
  return [reply.thinking, reply.parts.map((part) => (part.type === 'text' ? part.text : '')).join(''), reply.parts.filter(({ type }) => type === 'tool_call').length];
}

test('what gpt-oss writes between tags before its text is thinking, and tags behind it are text', () => {
  assert.deepEqual(replyOf(chatBody('<reasoning>4200 + 42.</reasoning>**4242**')), ['4200 + 42.', '**4242**', 0]);
  assert.deepEqual(replyOf(chatBody('<reasoning>One</reasoning><reasoning>, two.</reasoning>Three')), ['One, two.', 'Three', 0]);
  assert.deepEqual(replyOf(chatBody('<reasoning>cut sho')), ['cut sho', '', 0]);
  assert.deepEqual(replyOf(chatBody('Write <reasoning>x</reasoning>.')), ['', 'Write <reasoning>x</reasoning>.', 0]);
  const calls = { tool_calls: [{ id: 't1', type: 'function', function: { name: 'get_weather', arguments: '{}' } }] };
  assert.deepEqual(replyOf(chatBody('<reasoning>Call it.</reasoning>', calls)), ['Call it.', '', 1]);
  // Others may be asked for such tags.
  assert.deepEqual(replyOf(chatBody('<reasoning>x</reasoning>y', {}, 'openai.gpt-5.6-luna')), ['', '<reasoning>x</reasoning>y', 0]);
});

test('a stream of gpt-oss has a pair of tags around each piece of its thinking', () => {
  const pieces = ['', '<reasoning>We need to answer. "Sol"</reasoning>', '<reasoning> (genitive "Solis").</reasoning>', 'In Latin the Sun', ' is called **Sol**. <reasoning>', null];
  const decoder = adapter.createStreamDecoder();
  const deltas: Delta[] = [];
  for (const [at, content] of pieces.entries()) {
    const finish_reason = at === pieces.length - 1 ? 'stop' : null;
    decoder.frame('', JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', model: GPT_OSS, choices: [{ index: 0, delta: { content }, finish_reason }] }), (delta) => deltas.push(delta));
  }
  decoder.end((delta) => deltas.push(delta));
  const done = deltas.pop();
  assert.deepEqual(deltas, [
    { type: 'thinking', text: 'We need to answer. "Sol"' },
    { type: 'thinking', text: ' (genitive "Solis").' },
    { type: 'text', text: 'In Latin the Sun' },
    { type: 'text', text: ' is called **Sol**. <reasoning>' },
  ]);
  assert.ok(done?.type === 'done');
  assert.deepEqual([done.reply.thinking, done.reply.parts], ['We need to answer. "Sol" (genitive "Solis").', [{ type: 'text', text: 'In Latin the Sun is called **Sol**. <reasoning>', state: undefined }]]);
});

test('a tag of gpt-oss that comes in pieces is one, and one that the answer ends in is none', () => {
  for (const [pieces, thinking, text] of [[['<reas', 'oning>a</reason', 'ing>b'], 'a', 'b'], [['<reasoning>a', '</reason'], 'a</reason', ''], [['<', 'reason'], '', '<reason']] as const) {
    const decoder = adapter.createStreamDecoder();
    const told = { thinking: '', text: '' };
    let done: Delta | undefined;
    const sink = (delta: Delta): void => {
      if (delta.type === 'thinking' || delta.type === 'text') told[delta.type] += delta.text;
      else done = delta;
    };
    for (const [at, content] of pieces.entries()) {
      const finish_reason = at === pieces.length - 1 ? 'stop' : null;
      decoder.frame('', JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', model: GPT_OSS, choices: [{ index: 0, delta: { content }, finish_reason }] }), sink);
    }
    decoder.end(sink);
    assert.deepEqual(told, { thinking, text });
    assert.deepEqual(replyOf(chatBody(pieces.join(''))), [thinking, text, 0]);
    assert.equal(done?.type === 'done' ? done.reply.thinking : undefined, thinking);
  }
});

test('a failure is what its exception says, wherever its name stands', () => {
  const cases: readonly (readonly [number, string, string, string, boolean])[] = [
    [403, 'AccessDeniedException', '{"message":"x"}', 'auth', false],
    ...['ExpiredTokenException', 'IncompleteSignature', 'InvalidSignatureException', 'MissingAuthenticationTokenException', 'UnrecognizedClientException'].map(
      (name) => [400, name, '{"message":"x"}', 'auth', false] as const,
    ),
    [400, 'ValidationException:http://internal.amazon.com/', '{"message":"max_tokens: Field required"}', 'bad_request', false],
    [400, 'ValidationException', '{"message":"The provided model identifier is invalid."}', 'not_found', false],
    [400, 'ValidationException', '{"message":"extraneous key [the provided model identifier is invalid] is not permitted"}', 'bad_request', false],
    [400, 'ValidationException', '{"message":"output_config.format: Extra inputs are not permitted"}', 'unsupported', false],
    [404, 'ResourceNotFoundException', '{"message":"x"}', 'not_found', false],
    [400, 'ServiceQuotaExceededException', '{"message":"x"}', 'rate_limit', false],
    [429, 'ThrottlingException', '{"message":"Too many tokens, please wait before trying again."}', 'rate_limit', true],
    [429, 'ThrottlingException', '{"message":"Too many tokens per day, please wait before trying again."}', 'rate_limit', false],
    [400, 'ValidationException', '{"message":"tools.0.description: too many tokens per day"}', 'bad_request', false],
    [429, 'ModelNotReadyException', '{"message":"x"}', 'rate_limit', true],
    [408, 'ModelTimeoutException', '{"message":"x"}', 'server', true],
    [424, 'ModelErrorException', '{"message":"x"}', 'server', true],
    [500, 'InternalServerException', '{"message":"x"}', 'server', true],
    [424, 'SomethingNewException', '{"message":"x"}', 'server', true],
    [408, 'SomethingNewException', '{"message":"x"}', 'server', true],
  ];
  for (const [status, type, body, kind, isRetried] of cases) {
    const failure = adapter.decodeFailure(status, body, { 'x-amzn-errortype': type });
    assert.deepEqual([failure.kind, failure.isRetried, failure.upstreamStatus], [kind, isRetried, status], type);
    assert.ok(failure.message.includes(`code ${type.split(':')[0]}`), failure.message);
    assert.doesNotMatch(failure.message, /inference profile/);
    assert.equal(failure.isQuota, kind === 'rate_limit' && !isRetried, type);
  }
  assert.equal(adapter.decodeFailure(400, '{"__type":"com.amazon.coral.service#ThrottlingException","message":"x"}').kind, 'rate_limit');
  assert.equal(adapter.decodeFailure(400, '{"code":"ThrottlingException","message":"x"}').kind, 'rate_limit');
  assert.equal(adapter.decodeFailure(424, '{"message":"x"}').kind, 'server');
  assert.equal(adapter.decodeFailure(503, '{}', { 'x-amzn-errortype': 'ServiceUnavailableException' }).isOverloaded, true);
  assert.equal(adapter.decodeFailure(413, '{}', { 'x-amzn-errortype': 'ValidationException' }).isTooLong, true);
  for (const [body, headers] of [
    ['{"Output":{"__type":"com.amazon.coral.service#UnknownOperationException"},"Version":"1.0"}', {}],
    ['<UnknownOperationException/>\n', { 'x-amzn-errortype': 'UnknownOperationException' }],
  ] as const) {
    assert.match(adapter.decodeFailure(404, body, headers).message, /^bedrock knows no such model \(HTTP 404, code UnknownOperationException\): or this region has no such route; /);
  }
  const denied = adapter.decodeFailure(403, '{"Message":"x"}');
  assert.deepEqual([denied.kind, denied.detail], ['auth', 'x']);
  assert.match(adapter.decodeFailure(400, '{"message":"Retry with the ID of an inference profile"}', { 'x-amzn-errortype': 'ValidationException' }).message, /inference profile only/);
});

test('a failure in the words of another vendor is read as theirs', () => {
  assert.equal(adapter.decodeFailure(400, '{"error":{"message":"no","code":"context_length_exceeded"}}').isTooLong, true);
  const claude = CLAUDE_AWS_ROW.createAdapter('claude-aws');
  assert.equal(claude.decodeFailure(429, '{"type":"error","error":{"type":"rate_limit_error","message":"x"}}').kind, 'rate_limit');
  assert.equal(claude.decodeFailure(400, '{"message":"x"}', { 'x-amzn-errortype': 'ExpiredTokenException' }).kind, 'auth');
});

test('a failure of Claude\'s own is read as Claude\'s, whether or not AWS has a name for it', () => {
  const said = (type: string, message: string): string => JSON.stringify({ type: 'error', error: { type, message } });
  const signature = adapter.decodeFailure(400, said('invalid_request_error', 'messages.1.content.0: Invalid `signature` in `thinking` block'));
  assert.match(signature.message, /a provider_state belongs to another conversation or account$/);
  assert.equal(adapter.decodeFailure(529, said('overloaded_error', 'x')).isOverloaded, true);
  const long = adapter.decodeFailure(400, said('invalid_request_error', 'prompt is too long: 2 tokens > 1 maximum'), { 'x-amzn-errortype': 'ValidationException' });
  assert.deepEqual([long.kind, long.isTooLong, long.detail], ['bad_request', true, 'prompt is too long: 2 tokens > 1 maximum']);
  const other = adapter.decodeFailure(400, '{"error":{"message":"no such field"}}', { 'x-amzn-errortype': 'ValidationException' });
  assert.equal(other.detail, 'no such field');
});

test('a request beyond the context is told from others that are refused, before a stream and inside one', () => {
  const cases = [
    ['prompt is too long: 210000 tokens > 200000 maximum', true],
    ['The model returned the following errors: Input is too long for requested model.', true],
    ['input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000', true],
    ["1 validation error detected: Value at 'body' failed to satisfy constraint: Member must have length less than or equal to 25000000", true],
    ['max_tokens: Field required', false],
  ] as const;
  for (const [message, isTooLong] of cases) {
    const failure = adapter.decodeFailure(400, JSON.stringify({ message }), { 'x-amzn-errortype': 'ValidationException' });
    assert.deepEqual([failure.kind, failure.isTooLong], ['bad_request', isTooLong], message);
    const deltas: Delta[] = [];
    adapter.createStreamDecoder().frame(':exception validationException', JSON.stringify({ message }), (delta) => deltas.push(delta));
    const [failed] = deltas;
    assert.equal(failed?.type === 'failed' && failed.failure.isTooLong, isTooLong, message);
  }
});

/** The deltas of a stream that comes in these chunks, and whether its bytes held. */
function deltasOf(chunks: readonly Buffer[]): { readonly deltas: readonly Delta[]; readonly isWhole: boolean } {
  const deltas: Delta[] = [];
  const decoder = adapter.createStreamDecoder();
  const frames = new EventFrames((event, data) => decoder.frame(event, data, (delta) => deltas.push(delta)), 32 * 1024 * 1024);
  let isWhole = true;
  for (const chunk of chunks) isWhole &&= frames.feed(chunk);
  decoder.end((delta) => deltas.push(delta));
  return { deltas, isWhole };
}

function endOf(chunks: readonly Buffer[]): string {
  const last = deltasOf(chunks).deltas.at(-1);
  return last?.type === 'failed' ? `${last.failure.kind}: ${last.failure.message}` : (last?.type ?? 'nothing');
}

test('the words of an error that is no exception are for the operator', { skip: vectorsAbsent }, () => {
  const error = readVectors<Vectors>('eventstream').frames.find(({ name }) => name.startsWith('unmodeled error'));
  const last = deltasOf([Buffer.from(error?.base64 ?? '', 'base64')]).deltas.at(-1);
  assert.ok(last?.type === 'failed');
  assert.equal(last.failure.detail, 'An internal server error occurred');
});

type Vectors = { readonly frames: readonly { readonly name: string; readonly base64: string }[] };

test('an exception inside a stream, and an error, end it as failures', { skip: vectorsAbsent }, () => {
  const frame = (name: string): Buffer => Buffer.from(readVectors<Vectors>('eventstream').frames.find((found) => found.name.startsWith(name))?.base64 ?? '', 'base64');
  assert.equal(endOf([frame('invoke chunk'), frame('modeled exception')]), 'rate_limit: bedrock is limiting the rate of requests (HTTP 200, code throttlingException)');
  assert.equal(endOf([frame('modelStreamErrorException')]), 'server: bedrock failed on its side (HTTP 200, code modelStreamErrorException)');
  assert.equal(endOf([frame('unmodeled error')]), 'server: bedrock failed on its side (HTTP 200, code InternalFailure)');
  assert.equal(endOf([frame('initial-response'), frame('converse messageStart')]), 'server: bedrock ended the stream before the answer was complete');
});

test('the words of a model that failed inside a stream are for the operator', () => {
  const deltas: Delta[] = [];
  adapter.createStreamDecoder().frame(':exception modelStreamErrorException', '{"originalMessage":"x","originalStatusCode":500}', (delta) => deltas.push(delta));
  const [failed] = deltas;
  assert.deepEqual(failed?.type === 'failed' && [failed.failure.kind, failed.failure.detail], ['server', 'x']);
});

test('an error at the beginning of a stream is read as that of whose model it is', () => {
  const kindOf = (event: string, data: object): string | undefined => {
    const deltas: Delta[] = [];
    adapter.createStreamDecoder().frame(event, JSON.stringify(data), (delta) => deltas.push(delta));
    const [delta] = deltas;
    return delta?.type === 'failed' ? `${delta.failure.kind} ${String(delta.failure.isOverloaded)}` : delta?.type;
  };
  const error = { code: 'rate_limit_exceeded', message: 'Rate limit reached', param: null };
  assert.equal(kindOf('error', { type: 'error', ...error }), 'rate_limit false');
  assert.equal(kindOf('', { type: 'error', ...error }), 'rate_limit false');
  assert.equal(kindOf('error', error), 'rate_limit false');
  assert.equal(kindOf('error', { type: 'error', error: { type: 'tokens', ...error } }), 'rate_limit false');
  assert.equal(kindOf('error', { type: 'error', error: { type: 'rate_limit_error', message: 'x' } }), 'rate_limit false');
  assert.equal(kindOf('error', { type: 'error', error: { type: 'overloaded_error', message: 'x' } }), 'server true');
});

test('a chunk inside a stream that cannot be read ends it as a failure, and one that holds nothing does not', () => {
  const lastOf = (payload: string): string => {
    const deltas: Delta[] = [];
    const decoder = adapter.createStreamDecoder();
    const events = [{ type: 'message_start', message: { id: 'm', model: 'x', usage: { input_tokens: 1, output_tokens: 1 } } }, { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } }, { type: 'message_stop' }];
    const payloads = events.map((event) => JSON.stringify({ bytes: Buffer.from(JSON.stringify(event)).toString('base64'), p: 'abc' }));
    payloads.splice(1, 0, payload);
    for (const data of payloads) decoder.frame(':event chunk', data, (delta) => deltas.push(delta));
    decoder.end((delta) => deltas.push(delta));
    const last = deltas.at(-1);
    return last?.type === 'failed' ? last.failure.message : (last?.type ?? 'nothing');
  };
  assert.equal(lastOf('{"p":"abc"}'), 'done');
  for (const payload of ['words', '', '[]', '{"bytes":"!!!"}']) assert.equal(lastOf(payload), 'bedrock answered 200, but an event of its stream cannot be read', payload);
});

const STREAMS = recordings('bedrock-invoke', 'stream');

test('recorded streams of InvokeModel come to the same, whole and in pieces, and cut anywhere are no answers', { skip: corpusAbsent }, () => {
  assert.ok(STREAMS.length >= 3);
  for (const recording of STREAMS) {
    const bytes = readBinary(recording.file);
    const whole = deltasOf([bytes]);
    assert.equal(whole.isWhole, true, recording.file);
    assert.equal(whole.deltas.at(-1)?.type, 'done', recording.file);
    for (const size of [13, 1400]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size));
      assert.deepEqual(deltasOf(pieces), whole, `${recording.file} in pieces of ${size}`);
    }
    for (let cut = 0; cut < bytes.length; cut += Math.max(1, Math.floor(bytes.length / 40))) {
      assert.match(endOf([bytes.subarray(0, cut)]), /^(server|refusal): |^done$/, `${recording.file} cut at ${cut}`);
      if (cut < bytes.length / 2) assert.notEqual(endOf([bytes.subarray(0, cut)]), 'done', `${recording.file} cut at ${cut}`);
    }
    assert.ok(readRecording(recording).length > 0);
  }
});

/** The bytes as they came, where the corpus has their decoded form beside them. */
function readBinary(file: string): Buffer {
  const folder = process.env['CORPUS_DIR'] ?? new URL('../../../../shared/corpus/', import.meta.url).pathname;
  return readFileSync(`${folder}/${file}`);
}
