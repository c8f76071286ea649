/** Every recording of the format, decoded and held against what this file reads out of it by itself. */

import { test } from 'node:test';
import assert from 'node:assert/strict';
import type { Adapter } from '../../../src/core/adapter.ts';
import { isMadeCallId } from '../../../src/core/call-id.ts';
import { replyText, replyToolCalls } from '../../../src/core/chat.ts';
import type { ChatReply, StopReason, Usage } from '../../../src/core/chat.ts';
import { Failure } from '../../../src/core/failure.ts';
import type { FailureKind } from '../../../src/core/failure.ts';
import { HOST_ROWS, compatRow } from '../../../src/providers/hosts.ts';
import { OPENAI_ROW } from '../../../src/providers/openai/adapter.ts';
import { sentText } from '../../sent-text.ts';
import { corpusAbsent, readRecording, recordings } from '../../corpus.ts';
import type { Recording } from '../../corpus.ts';
import { decodeChunks, endOf, sseFrom } from '../../decode-stream.ts';
import { assistant, messagesOf, result, user } from './setup.ts';

type Json = { readonly [key: string]: unknown };

/** Hosts that the recordings call by another name than the gateway. */
const ROW_NAMES: Readonly<Record<string, string>> = { 'vercel-gateway': 'vercel' };

const adapterFor = (provider: string) => {
  const name = ROW_NAMES[provider] ?? provider;
  const row = [OPENAI_ROW, ...HOST_ROWS].find((candidate) => candidate.name === name) ?? compatRow(name);
  return row.createAdapter(name);
};

const json = (text: string): Json => JSON.parse(text) as Json;
const object = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});
const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const count = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** What a recording holds, merged naively: one text, calls by position, the last usage, the last finish reason. */
type Content = { text: string; calls: { id: string; name: string; args: string }[]; usage: Json | undefined; finish: string; refused: boolean };

const contentText = (content: unknown): string => {
  if (typeof content === 'string') return content;
  if (Array.isArray(content)) return list(content).map((part) => (part['type'] === 'text' ? String(part['text']) : '')).join('');
  return content === null || content === undefined ? '' : JSON.stringify(content);
};

const addMessage = (content: Content, message: Json, isWhole: boolean): void => {
  content.text += contentText(message['content']);
  if (typeof message['refusal'] === 'string' && message['refusal'] !== '') {
    content.text += message['refusal'];
    content.refused = true;
  }
  const legacy = message['function_call'];
  const entries = legacy === undefined || legacy === null ? list(message['tool_calls']) : [{ function: legacy }];
  entries.forEach((entry, position) => {
    const at = isWhole || typeof entry['index'] !== 'number' ? position : entry['index'];
    const call = (content.calls[at] ??= { id: '', name: '', args: '' });
    const custom = entry['custom'];
    const body = object(custom ?? entry['function']);
    call.id ||= String(entry['id'] ?? '');
    call.name ||= String(body['name'] ?? '');
    if (custom !== undefined) call.args += JSON.stringify({ input: body['input'] });
    else call.args += typeof body['arguments'] === 'string' ? body['arguments'] : body['arguments'] === undefined ? '' : JSON.stringify(body['arguments']);
  });
};

const contentOf = (bodies: readonly Json[], part: 'message' | 'delta'): Content => {
  const content: Content = { text: '', calls: [], usage: undefined, finish: '', refused: false };
  for (const body of bodies) {
    const choice = object(list(body['choices']).find((candidate) => (candidate['index'] ?? 0) === 0));
    addMessage(content, object(choice[part]), part === 'message');
    if (choice['finish_reason']) content.finish = String(choice['finish_reason']);
    const usage = body['usage'] ?? object(body['x_groq'])['usage'];
    if (usage) content.usage = object(usage);
  }
  return content;
};

const STOPS: Record<string, StopReason> = { stop: 'end_turn', eos: 'end_turn', length: 'max_tokens', content_filter: 'refusal' };

const usageOf = (usage: Json | undefined): Usage | undefined => {
  if (usage === undefined) return undefined;
  const reasoning = count(object(usage['completion_tokens_details'])['reasoning_tokens']);
  const [input, written, total] = [count(usage['prompt_tokens']), count(usage['completion_tokens']), count(usage['total_tokens'])];
  const output = total - input - written === reasoning ? written + reasoning : written;
  return {
    inputTokens: input,
    outputTokens: output,
    cacheReadTokens: count(object(usage['prompt_tokens_details'])['cached_tokens'] ?? usage['cached_tokens'] ?? usage['num_cached_tokens']),
    cacheWriteTokens: count(object(usage['prompt_tokens_details'])['cache_write_tokens'] ?? usage['cache_creation_input_tokens']),
    reasoningTokens: Math.min(reasoning, output),
  };
};

const assertReply = (reply: ChatReply | Failure, content: Content): void => {
  assert.ok(!(reply instanceof Failure), reply instanceof Failure ? reply.message : '');
  assert.equal(replyText(reply), content.text);
  assert.deepEqual(
    replyToolCalls(reply).map(({ id, name, arguments: args }) => ({ id, name, args: JSON.parse(args.text) as unknown })),
    content.calls.map(({ id, name, args }, at) => ({
      id: id === '' ? replyToolCalls(reply)[at]?.id : id,
      name,
      args: args === '' ? {} : (JSON.parse(args) as unknown),
    })),
  );
  const stop = content.refused ? 'refusal' : (STOPS[content.finish] ?? 'unknown');
  assert.equal(reply.stopReason, content.calls.length > 0 ? 'tool_use' : stop);
  assert.deepEqual(reply.usage, usageOf(content.usage));
};

test('every recorded whole reply decodes to its text, calls, stop reason and usage', { skip: corpusAbsent }, async (t) => {
  for (const recording of recordings('openai-chat', 'complete')) {
    await t.test(recording.file, () => {
      const body = readRecording(recording).toString();
      assertReply(adapterFor(recording.provider).decodeChat(body), contentOf([json(body)], 'message'));
    });
  }
});

/** The two recordings in which the host reports an error after the answer has begun. */
const FAILED_STREAMS: Readonly<Record<string, FailureKind>> = {
  'groq/stream/pydantic-ai--test_tool_use_failed_error_streaming--0.sse': 'server',
  'openrouter/stream/pydantic-ai--test_openrouter_stream_error--0.sse': 'bad_request',
};

const frameBodies = (bytes: Buffer): Json[] =>
  bytes.toString().split(/\r?\n/).filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trim()).filter((data) => data !== '[DONE]').map(json);

test('every recorded stream decodes to its text, calls, stop reason and usage', { skip: corpusAbsent }, async (t) => {
  for (const recording of recordings('openai-chat', 'stream')) {
    await t.test(recording.file, () => {
      const bytes = sseFrom(recording.file, readRecording(recording));
      const deltas = decodeChunks(adapterFor(recording.provider), [bytes]);
      const end = endOf(deltas);
      const kind = FAILED_STREAMS[recording.file];
      if (kind !== undefined) {
        assert.ok(end instanceof Failure);
        assert.equal(end.kind, kind);
        return;
      }
      assertReply(end, contentOf(frameBodies(bytes), 'delta'));
      const text = deltas.map((delta) => (delta.type === 'text' ? delta.text : '')).join('');
      const thinking = deltas.map((delta) => (delta.type === 'thinking' ? delta.text : '')).join('');
      assert.ok(!(end instanceof Failure));
      assert.equal(text, replyText(end));
      assert.equal(thinking, end.thinking);
    });
  }
});

/** What reached the caller, without what only the same provider understands. */
const contentOfReply = (reply: ChatReply | Failure): unknown => {
  if (reply instanceof Failure) return reply.kind;
  const calls = replyToolCalls(reply).map(({ id, name, arguments: args }) => [isMadeCallId(id) ? '' : id, name, args.text]);
  return [replyText(reply), reply.thinking, calls, reply.stopReason, reply.usage];
};

test('every recording decodes alike behind the base URL of OpenAI, of any other host and of one of the operator\'s own', { skip: corpusAbsent }, () => {
  const others = [OPENAI_ROW.createAdapter('openai', { openAiApi: 'chat' }), OPENAI_ROW.createAdapter('openai'), compatRow('compat').createAdapter('compat')];
  let seen = 0;
  for (const kind of ['complete', 'stream'] as const) {
    for (const recording of recordings('openai-chat', kind)) {
      const bytes = readRecording(recording);
      const decode = (adapter: Adapter) =>
        contentOfReply(kind === 'complete' ? adapter.decodeChat(bytes.toString()) : endOf(decodeChunks(adapter, [sseFrom(recording.file, bytes)])));
      const content = decode(adapterFor(recording.provider));
      for (const other of others) assert.deepEqual(decode(other), content, recording.file);
      seen += 1;
    }
  }
  assert.ok(seen > 120, `${seen} recordings`);
});

test('every recorded stream decodes alike in pieces of any size', { skip: corpusAbsent }, () => {
  for (const recording of recordings('openai-chat', 'stream')) {
    const bytes = sseFrom(recording.file, readRecording(recording));
    const adapter = adapterFor(recording.provider);
    const content = contentOfReply(endOf(decodeChunks(adapter, [bytes])));
    for (const size of [7, 1021]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
      assert.deepEqual(contentOfReply(endOf(decodeChunks(adapter, pieces))), content, `${recording.file} in pieces of ${size}`);
    }
  }
});

test('every recorded answer in a schema is JSON text', { skip: corpusAbsent }, () => {
  let seen = 0;
  for (const kind of ['complete', 'stream'] as const) {
    for (const recording of recordings('openai-chat', kind).filter(({ features }) => features.includes('req_structured_output'))) {
      const bytes = readRecording(recording);
      const adapter = adapterFor(recording.provider);
      const reply = kind === 'complete' ? adapter.decodeChat(bytes.toString()) : endOf(decodeChunks(adapter, [sseFrom(recording.file, bytes)]));
      assert.ok(!(reply instanceof Failure), recording.file);
      if (reply.stopReason !== 'end_turn') continue;
      assert.doesNotThrow(() => void JSON.parse(replyText(reply)), recording.file);
      seen += 1;
    }
  }
  assert.ok(seen > 5, `${seen} answers in a schema`);
});

test('a recorded stream cut before its finish reason always fails', { skip: corpusAbsent }, async (t) => {
  for (const recording of recordings('openai-chat', 'stream')) {
    await t.test(recording.file, () => {
      const frames = sseFrom(recording.file, readRecording(recording)).toString().split(/(?<=\r?\n\r?\n)/);
      const isTerminal = (frame: string): boolean => /"finish_reason": ?"/.test(frame) && /"index": ?0/.test(frame);
      const last = frames.findIndex(isTerminal);
      for (let kept = 0; kept < (last === -1 ? frames.length : last); kept += 1) {
        const end = endOf(decodeChunks(adapterFor(recording.provider), [Buffer.from(frames.slice(0, kept).join(''))]));
        assert.ok(end instanceof Failure, `done after ${kept} frames`);
      }
    });
  }
});

const disclosed = (message: Json): string => {
  const fields = [message['reasoning_content'], message['reasoning']].filter((value) => typeof value === 'string' && value !== '');
  if (Array.isArray(message['content'])) {
    return list(message['content']).flatMap((part) => list(part['thinking'])).map((part) => String(part['text'])).join('');
  }
  return String(fields[0] ?? '');
};

test('every recorded whole reply discloses its reasoning once', { skip: corpusAbsent }, () => {
  for (const recording of recordings('openai-chat', 'complete')) {
    const body = readRecording(recording).toString();
    const reply = adapterFor(recording.provider).decodeChat(body);
    assert.ok(!(reply instanceof Failure));
    assert.equal(reply.thinking, disclosed(object(object(list(json(body)['choices'])[0])['message'])), recording.file);
  }
});

const ERROR_KINDS: Readonly<Record<string, FailureKind>> = { '401': 'auth', '404': 'not_found', '429': 'rate_limit', '500': 'server', '400': 'bad_request' };
const UNSUPPORTED = 'openai/error/pydantic-ai--test_openai_web_search_tool_model_not_supported--0.json';

const failureOf = (recording: Recording): Failure => {
  const { body_text: text } = json(readRecording(recording).toString());
  return adapterFor(recording.provider).decodeFailure(recording.status, String(text));
};

test('every recorded error has the kind of its status or of its more precise code', { skip: corpusAbsent }, () => {
  const errors = recordings('openai-chat', 'error');
  assert.ok(errors.length > 20);
  for (const recording of errors) {
    const failure = failureOf(recording);
    assert.equal(failure.kind, recording.file === UNSUPPORTED ? 'unsupported' : ERROR_KINDS[String(recording.status)], recording.file);
    assert.equal(failure.upstreamStatus, recording.status);
  }
});

test('a recorded error says in its sentence nothing of what the provider wrote', { skip: corpusAbsent }, () => {
  for (const recording of recordings('openai-chat', 'error')) {
    const failure = failureOf(recording);
    assert.ok(failure.detail !== undefined && failure.detail.length > 10, recording.file);
    assert.ok(!failure.message.includes(failure.detail), recording.file);
  }
});

test('every recorded whole reply can be replayed to the host that gave it', { skip: corpusAbsent }, () => {
  for (const recording of recordings('openai-chat', 'complete')) {
    const adapter = adapterFor(recording.provider);
    const reply = adapter.decodeChat(readRecording(recording).toString());
    assert.ok(!(reply instanceof Failure));
    const results = replyToolCalls(reply).map(({ id }) => ({ type: 'tool_result' as const, toolCallId: id, content: 'ok', isError: false }));
    const call = adapter.encodeChat(
      {
        provider: undefined, model: 'm', system: undefined, maxTokens: undefined, temperature: undefined, topP: undefined,
        stop: [], tools: [], toolChoice: undefined, thinking: undefined, output: undefined, cache: undefined, user: undefined, providerOptions: undefined,
        turns: [
          { role: 'user', parts: [{ type: 'text', text: 'hi', state: undefined }] },
          { role: 'assistant', parts: reply.parts },
          results.length > 0 ? { role: 'tool', parts: results } : { role: 'user', parts: [{ type: 'text', text: 'go on', state: undefined }] },
        ],
      },
      false,
    );
    assert.ok(!(call instanceof Failure), recording.file);
    const message = list(json(sentText(call))['messages'])[1];
    assert.equal(String(message?.['content'] ?? ''), replyText(reply), recording.file);
  }
});

/** `reasoning_details` of messages or of deltas, whose fragments follow each other: of one item where type, index and id do not differ. */
const detailsOf = (bodies: readonly Json[], part: 'message' | 'delta'): Json[] => {
  const items: Record<string, unknown>[] = [];
  const fragments = bodies.flatMap((body) => list(body['choices'])).flatMap((choice) => list(object(choice[part])['reasoning_details']));
  for (const fragment of fragments) {
    const last = items.at(-1);
    const isSame = part === 'delta' && last?.['type'] === fragment['type'] && last?.['index'] === fragment['index'] && (last?.['id'] ?? null) === (fragment['id'] ?? null);
    if (last === undefined || !isSame) {
      items.push({ ...fragment });
      continue;
    }
    for (const [key, value] of Object.entries(fragment)) {
      const grows = ['text', 'summary', 'data'].includes(key) && typeof last[key] === 'string';
      if (value !== null) last[key] = grows ? String(last[key]) + String(value) : value;
    }
  }
  return items;
};

test('recorded reasoning_details, and reasoning_content of turns with calls, go back as they came, streamed or not', { skip: corpusAbsent }, () => {
  let detailed = 0;
  let reasoned = 0;
  for (const kind of ['complete', 'stream'] as const) {
    for (const recording of recordings('openai-chat', kind)) {
      if (recording.file in FAILED_STREAMS) continue;
      const adapter = compatRow('compat').createAdapter('compat');
      const bytes = readRecording(recording);
      const part = kind === 'stream' ? 'delta' : 'message';
      const sse = kind === 'stream' ? sseFrom(recording.file, bytes) : bytes;
      const bodies = kind === 'stream' ? frameBodies(sse) : [json(bytes.toString())];
      const reply = kind === 'stream' ? endOf(decodeChunks(adapter, [sse])) : adapter.decodeChat(bytes.toString());
      assert.ok(!(reply instanceof Failure), recording.file);
      const results = replyToolCalls(reply).map(({ id }) => result(id, 'ok'));
      const sent = (messagesOf(adapter, [user('hi'), assistant(...reply.parts), ...results]) as Json[])[1] ?? {};
      const details = detailsOf(bodies, part);
      assert.deepEqual(sent['reasoning_details'] ?? [], details, recording.file);
      const spoken = bodies.flatMap((body) => list(body['choices'])).map((choice) => object(choice[part])['reasoning_content'] ?? '').join('');
      if (results.length > 0) assert.equal(sent['reasoning_content'] ?? '', spoken, recording.file);
      if (details.length > 0) detailed += 1;
      if (results.length > 0 && spoken !== '') reasoned += 1;
    }
  }
  assert.ok(detailed > 5 && reasoned > 5, `${detailed} with details, ${reasoned} with reasoning`);
});
