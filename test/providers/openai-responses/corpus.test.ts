/** Every recording of the format, decoded and held against what this file reads out of it by itself. */

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { replyText, replyToolCalls } from '../../../src/core/chat.ts';
import type { ChatReply, Turn, Usage } from '../../../src/core/chat.ts';
import type { Delta } from '../../../src/core/delta.ts';
import { Failure } from '../../../src/core/failure.ts';
import type { FailureKind } from '../../../src/core/failure.ts';
import { corpusAbsent, readRecording, readRequest, recordings } from '../../corpus.ts';
import type { Recording } from '../../corpus.ts';
import { decodeChunks, endOf, sseFrom } from '../../decode-stream.ts';
import { assistant, call, result, user } from '../openai-chat/setup.ts';
import { inputOf, responses } from './setup.ts';

type Json = { readonly [key: string]: unknown };

const json = (text: string): Json => JSON.parse(text) as Json;
const object = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});
const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const count = (value: unknown): number => (typeof value === 'number' ? value : 0);
const texts = (value: unknown): string[] => list(value).map((part) => String(part['text'] ?? part['refusal'] ?? '')).filter((text) => text !== '');

/** The recordings of what a chat cannot hold or the host did not do, and what becomes of them. */
const FAILED: Readonly<Record<string, FailureKind>> = {
  'openai/complete/vercel-ai--openai-local-shell-tool.1--0.json': 'unsupported',
  'openai/stream/vercel-ai--openai-apply-patch-tool.1--0.chunks.jsonl': 'unsupported',
  'openai/complete/pydantic-ai--test_background_mode_vcr--0.json': 'unsupported',
  'openai/stream/vercel-ai--openai-error.1--0.chunks.jsonl': 'rate_limit',
};

const complete = (): readonly Recording[] => recordings('openai-responses', 'complete');
const streams = (): readonly Recording[] => recordings('openai-responses', 'stream');

const sseOf = (recording: Recording): Buffer => sseFrom(recording.file, readRecording(recording));
const eventsOf = (recording: Recording): Json[] =>
  sseOf(recording).toString().split(/\r?\n/).filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trim()).filter((data) => data !== '[DONE]').map(json);

/** The response as its last event has it. */
const responseOf = (recording: Recording): Json =>
  recording.kind === 'complete' ? json(readRecording(recording).toString()) : object(eventsOf(recording).findLast(({ response }) => response !== undefined)?.['response']);

const outcomeOf = (recording: Recording): ChatReply | Failure =>
  recording.kind === 'complete' ? responses.decodeChat(readRecording(recording).toString()) : endOf(decodeChunks(responses, [sseOf(recording)]));

const served = (): readonly Recording[] => [...complete(), ...streams()].filter(({ file }) => !Object.hasOwn(FAILED, file));

const replyOf = (recording: Recording): ChatReply => {
  const reply = outcomeOf(recording);
  if (reply instanceof Failure) throw new Error(`${recording.file}: ${reply.message}`);
  return reply;
};

const usageOf = (usage: Json): Usage => ({
  inputTokens: count(usage['input_tokens']),
  outputTokens: count(usage['output_tokens']),
  cacheReadTokens: count(object(usage['input_tokens_details'])['cached_tokens']),
  cacheWriteTokens: count(object(usage['input_tokens_details'])['cache_write_tokens']),
  reasoningTokens: count(object(usage['output_tokens_details'])['reasoning_tokens']),
});

const isCall = ({ type }: Json): boolean => type === 'function_call' || type === 'custom_tool_call';
const argumentsOf = (item: Json): unknown => (item['type'] === 'custom_tool_call' ? { input: item['input'] } : (JSON.parse(String(item['arguments'])) as unknown));

const stopOf = (response: Json): string => {
  const items = list(response['output']);
  if (items.some(isCall)) return 'tool_use';
  if (items.some((item) => list(item['content']).some(({ type }) => type === 'refusal'))) return 'refusal';
  if (response['status'] !== 'incomplete') return 'end_turn';
  return object(response['incomplete_details'])['reason'] === 'max_output_tokens' ? 'max_tokens' : 'unknown';
};

/** Of an answer that was to be JSON the text is one message, and the others are thinking. */
const besideJson = (response: Json): Json[] => {
  const isJson = String(object(object(response['text'])['format'])['type']).startsWith('json');
  const messages = list(response['output']).filter(({ type, phase }) => type === 'message' && phase !== 'commentary');
  return isJson ? messages.slice(1) : [];
};

const assertReply = (reply: ChatReply, response: Json): void => {
  const items = list(response['output']);
  const beside = besideJson(response);
  const messages = items.filter((item) => item['type'] === 'message' && !beside.includes(item));
  assert.equal(reply.id, response['id']);
  assert.equal(reply.model, response['model']);
  assert.deepEqual(
    reply.parts.flatMap((part) => (part.type === 'text' && part.text !== '' ? [part.text] : [])),
    messages.map(({ content }) => texts(content).join('')).filter((text) => text !== ''),
  );
  assert.deepEqual(
    replyToolCalls(reply).map(({ id, name, arguments: args }) => ({ id, name, args: JSON.parse(args.text) as unknown })),
    items.filter(isCall).map((item) => ({ id: item['call_id'], name: item['name'], args: argumentsOf(item) })),
  );
  const thoughts = items.filter(({ type }) => type === 'reasoning').flatMap((item) => (texts(item['content']).length > 0 ? texts(item['content']) : texts(item['summary'])));
  assert.equal(reply.thinking, [...thoughts, ...beside.map(({ content }) => texts(content).join(''))].join('\n\n'));
  assert.equal(reply.stopReason, stopOf(response));
  assert.deepEqual(reply.usage, usageOf(object(response['usage'])));
};

test('every recording is there', { skip: corpusAbsent }, () => {
  assert.ok(complete().length > 20 && streams().length > 15, `${complete().length} whole, ${streams().length} streamed`);
});

test('every recorded answer decodes to its texts, calls, reasoning, stop reason and usage', { skip: corpusAbsent }, async (t) => {
  for (const recording of served()) await t.test(recording.file, () => assertReply(replyOf(recording), responseOf(recording)));
});

test('every recorded answer in a schema is JSON text', { skip: corpusAbsent }, () => {
  const asked = served().filter(({ features }) => features.includes('req_structured_output')).map(replyOf).filter(({ stopReason }) => stopReason === 'end_turn');
  for (const reply of asked) assert.doesNotThrow(() => void JSON.parse(replyText(reply)), replyText(reply));
  assert.ok(asked.length > 2, `${asked.length} answers in a schema`);
});

test('every recorded answer that a chat cannot hold is a failure that says so', { skip: corpusAbsent }, () => {
  for (const recording of [...complete(), ...streams()]) {
    const kind = FAILED[recording.file];
    if (kind === undefined) continue;
    const failure = outcomeOf(recording);
    assert.deepEqual([recording.file, failure instanceof Failure && failure.kind], [recording.file, kind]);
  }
});

test('every recorded stream passes on what its answer holds, and is the same as its whole twin', { skip: corpusAbsent }, async (t) => {
  for (const recording of streams().filter(({ file }) => !Object.hasOwn(FAILED, file))) {
    await t.test(recording.file, () => {
      const deltas = decodeChunks(responses, [sseOf(recording)]);
      const reply = replyOf(recording);
      const joined = (type: Delta['type']): string => deltas.map((delta) => (delta.type === type && 'text' in delta ? delta.text : '')).join('');
      assert.equal(joined('text'), replyText(reply));
      assert.equal(joined('thinking'), reply.thinking);
      assert.deepEqual(deltas.flatMap((delta) => (delta.type === 'tool_call' ? [delta.call] : [])), replyToolCalls(reply));
      const twin = responses.decodeChat(JSON.stringify(responseOf(recording)));
      assert.ok(!(twin instanceof Failure), 'a failure');
      // A seal is made anew for each event of some hosts.
      const plain = ({ parts, ...rest }: ChatReply): unknown => ({ ...rest, parts: parts.map(({ state, ...part }) => ({ ...part, hasState: state !== undefined })) });
      assert.deepEqual(plain(reply), plain(twin));
    });
  }
});

test('every recorded stream decodes alike wherever it is split', { skip: corpusAbsent }, async (t) => {
  for (const recording of streams()) {
    await t.test(recording.file, () => {
      const bytes = sseOf(recording);
      const whole = decodeChunks(responses, [bytes]);
      const step = Math.max(1, Math.floor(bytes.length / 150));
      for (let at = 1; at < bytes.length; at += step) {
        assert.deepEqual(decodeChunks(responses, [bytes.subarray(0, at), bytes.subarray(at)]), whole, `at ${at}`);
      }
      const pieces = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, at) => bytes.subarray(at * 7, at * 7 + 7));
      assert.deepEqual(decodeChunks(responses, pieces), whole);
    });
  }
});

test('a recorded stream cut before its last event always fails', { skip: corpusAbsent }, async (t) => {
  for (const recording of streams()) {
    await t.test(recording.file, () => {
      const frames = sseOf(recording).toString().split(/(?<=\r?\n\r?\n)/);
      const last = frames.findIndex((frame) => /"type": ?"(?:response\.(?:completed|incomplete|failed)|error)"/.test(frame));
      assert.ok(last > 0, 'no last event');
      for (let kept = 0; kept < last; kept += 1) {
        const end = endOf(decodeChunks(responses, [Buffer.from(frames.slice(0, kept).join(''))]));
        assert.ok(end instanceof Failure, `done after ${kept} frames`);
      }
    });
  }
});

/** What of a recorded item has to come back: nothing of reasoning that is not sealed and of empty messages. */
const returned = (item: Json): Json[] => {
  switch (item['type']) {
    case 'message': {
      const text = texts(item['content']).join('');
      return text === '' ? [] : [{ role: 'assistant', content: text, ...(item['phase'] === undefined ? {} : { phase: item['phase'] }) }];
    }
    case 'reasoning': {
      const summary = texts(item['summary']).map((text) => ({ type: 'summary_text', text }));
      return typeof item['encrypted_content'] === 'string' ? [{ type: 'reasoning', summary, encrypted_content: item['encrypted_content'] }] : [];
    }
    case 'function_call':
    case 'custom_tool_call': {
      const { id: _id, status: _status, ...rest } = item;
      return [rest];
    }
    default:
      return [item];
  }
};

/** An item without a type is a message. */
const withoutDefault = (item: unknown): Json => {
  const { type, ...rest } = object(item);
  return type === undefined || type === 'message' ? rest : { type, ...rest };
};

test('every recorded answer goes back item for item in its place', { skip: corpusAbsent }, async (t) => {
  for (const recording of served()) {
    await t.test(recording.file, () => {
      const reply = replyOf(recording);
      const results = replyToolCalls(reply).map(({ id }) => result(id, 'ok'));
      const sent = inputOf([user('hi'), assistant(...reply.parts), ...results, user('on')], { model: 'gpt-6-sol' });
      const done = eventsOfItems(recording);
      assert.deepEqual(sent.slice(1, sent.length - 1 - results.length).map(withoutDefault), done.flatMap(returned));
      assert.deepEqual(
        sent.slice(sent.length - 1 - results.length, -1).map((item) => [object(item)['type'], object(item)['call_id'], object(item)['caller']]),
        done.filter(isCall).map((item) => [`${String(item['type'])}_output`, item['call_id'], item['caller']]),
      );
    });
  }
});

/** The items of an answer; of a stream as each was done, in the order of the output. */
function eventsOfItems(recording: Recording): Json[] {
  if (recording.kind === 'complete') return list(responseOf(recording)['output']);
  const done = eventsOf(recording).filter(({ type }) => type === 'response.output_item.done');
  return done.sort((a, b) => count(a['output_index']) - count(b['output_index'])).map(({ item }) => object(item));
}

/** A recorded conversation as turns, as far as this gateway has words for it. */
const turnsOf = (input: readonly Json[]): Turn[] =>
  input.flatMap((item): Turn[] => {
    const content = typeof item['content'] === 'string' ? item['content'] : texts(item['content']).join('');
    if (item['type'] === 'function_call') return [assistant({ ...call(String(item['call_id']), String(item['arguments'])), name: String(item['name']) })];
    if (item['type'] === 'function_call_output') return typeof item['output'] === 'string' ? [result(String(item['call_id']), item['output'])] : [];
    if (item['role'] === 'user') return [user(content)];
    return item['role'] === 'assistant' ? [assistant({ type: 'text', text: content, state: undefined })] : [];
  });

test('a recorded conversation of several turns is encoded as its client sent it', { skip: corpusAbsent }, () => {
  let turnCount = 0;
  for (const recording of [...complete(), ...streams()]) {
    const input = object(readRequest(recording))['input'];
    const turns = turnsOf(list(input));
    for (const [at, item] of inputOf(turns).map(object).entries()) {
      const own = list(input).filter((given) => turnsOf([given]).length > 0)[at] ?? {};
      const content = (value: unknown): string => (typeof value === 'string' ? value : texts(value).join(''));
      const isLong = String(own['call_id'] ?? '').length > 64 || String(own['call_id'] ?? '').includes(':');
      assert.deepEqual([item['role'], item['type'], content(item['content']), item['arguments'], item['output'], isLong ? undefined : item['call_id']], [
        own['role'], own['type'], content(own['content']), own['arguments'], own['output'], isLong ? undefined : own['call_id'],
      ], recording.file);
      if (item['role'] === 'assistant') assert.equal(typeof item['content'], typeof own['content'], recording.file);
      turnCount += 1;
    }
  }
  assert.ok(turnCount > 30, `${turnCount} turns`);
});

const ERROR_KINDS: Readonly<Record<string, FailureKind>> = {
  'openai/error/ddtrace--response_create_error--0.json': 'not_found',
  'xai/error/ruby_llm--error_handling_with_xai_grok-4-1-fast-non-reasoning_raises_appropriate_auth_error--0.json': 'auth',
};

test('every recorded error has the kind of its status or of its more precise code, and repeats nothing of its prose', { skip: corpusAbsent }, () => {
  const errors = recordings('openai-responses', 'error');
  assert.ok(errors.length >= 5, `${errors.length} errors`);
  for (const recording of errors) {
    const failure = responses.decodeFailure(recording.status, String(json(readRecording(recording).toString())['body_text']));
    assert.deepEqual([recording.file, failure.kind], [recording.file, ERROR_KINDS[recording.file] ?? 'bad_request']);
    assert.ok(failure.detail !== undefined && !failure.message.includes(failure.detail), recording.file);
  }
});
