import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { replyText, replyToolCalls } from '../../../src/core/chat.ts';
import type { AssistantPart, Usage } from '../../../src/core/chat.ts';
import { corpusAbsent, readRecording, recordings } from '../../corpus.ts';
import type { Recording } from '../../corpus.ts';
import { decodeChunks, endOf, sseFrom } from '../../decode-stream.ts';
import { adapter, assistant, payload, replyOf, result, user } from './fixtures.ts';

type Block = { type: string; text?: string; thinking?: string; signature?: string; id?: string; name?: string; input?: unknown; content?: unknown; citations?: unknown[] | null; caller?: { type: string } };
type Counts = { [name: string]: unknown; output_tokens_details?: { thinking_tokens?: number } | null };
type Message = { id: string; model: string; content: Block[]; stop_reason: string; usage: Counts };
type Event = {
  type: string;
  index: number;
  message: Message;
  content_block: Block;
  delta: { type: string; text?: string; thinking?: string; signature?: string; partial_json?: string; citation?: unknown; stop_reason?: string };
  usage: Counts;
};

/** The message that the events of a recorded stream add up to, put together without the codec. */
function messageFrom(sse: string): Message {
  let message: Message | undefined;
  const inputs = new Map<number, string>();
  for (const line of sse.split(/\r?\n/)) {
    if (!line.startsWith('data:')) continue;
    const event = JSON.parse(line.slice(5)) as Event;
    if (event.type === 'message_start') message = event.message;
    assert.ok(message !== undefined || event.type === 'ping');
    if (message === undefined) continue;
    const block = message.content[event.index];
    if (event.type === 'content_block_start') message.content[event.index] = event.content_block;
    if (event.type === 'content_block_delta' && block !== undefined) {
      const { delta } = event;
      if (delta.type === 'text_delta') block.text = (block.text ?? '') + delta.text;
      if (delta.type === 'thinking_delta') block.thinking = (block.thinking ?? '') + delta.thinking;
      if (delta.type === 'signature_delta') block.signature = delta.signature ?? '';
      if (delta.type === 'citations_delta') block.citations = [...(block.citations ?? []), delta.citation];
      if (delta.type === 'input_json_delta') inputs.set(event.index, (inputs.get(event.index) ?? '') + delta.partial_json);
    }
    if (event.type === 'message_delta') {
      message.stop_reason = event.delta.stop_reason ?? message.stop_reason;
      for (const [name, count] of Object.entries(event.usage)) if (count !== null) message.usage[name] = count;
    }
  }
  assert.ok(message !== undefined);
  for (const [index, input] of inputs) {
    const block = message.content[index];
    if (block !== undefined && input !== '') block.input = JSON.parse(input);
  }
  return message;
}

function usageFrom(counts: Counts): Usage {
  const count = (name: string): number => (typeof counts[name] === 'number' ? counts[name] : 0);
  return {
    inputTokens: count('input_tokens') + count('cache_read_input_tokens') + count('cache_creation_input_tokens'),
    outputTokens: count('output_tokens'),
    cacheReadTokens: count('cache_read_input_tokens'),
    cacheWriteTokens: count('cache_creation_input_tokens'),
    reasoningTokens: counts.output_tokens_details?.thinking_tokens ?? 0,
  };
}

/** What a request has to send back of a block. */
function returned(block: Block): Block {
  const { citations, caller, ...rest } = block;
  const own: Partial<Block> = {};
  if (citations !== undefined && citations !== null && citations.length > 0) own.citations = citations;
  if (caller !== undefined && (block.type !== 'tool_use' || caller.type !== 'direct')) own.caller = caller;
  return { ...rest, ...own };
}

function checkReply(outcome: ReturnType<typeof adapter.decodeChat>, message: Message): void {
  const reply = replyOf(outcome);
  const texts = message.content.filter((block) => block.type === 'text' && block.text !== '');
  const calls = message.content.filter((block) => block.type === 'tool_use');
  assert.equal(reply.id, message.id);
  assert.equal(reply.model, message.model);
  assert.equal(replyText(reply), texts.map((block) => block.text).join(''));
  assert.equal(reply.thinking, message.content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''));
  assert.deepEqual(
    replyToolCalls(reply).map((call) => [call.id, call.name, JSON.parse(call.arguments.text)]),
    calls.map((block) => [block.id, block.name, block.input]),
  );
  assert.equal(reply.stopReason, message.stop_reason);
  assert.deepEqual(reply.usage, usageFrom(message.usage));
  checkReplay(reply.parts, message);
}

function checkReplay(parts: readonly AssistantPart[], message: Message): void {
  const results = parts.flatMap((part) => (part.type === 'tool_call' ? [result(part.id)] : []));
  const { messages } = payload({ turns: [user('Go'), assistant(...parts), ...results] });
  const sent = messages.filter(({ role }) => role === 'assistant').flatMap(({ content }) => content);
  assert.deepEqual(sent, message.content.filter((block) => block.type !== 'text' || block.text?.trim() !== '').map(returned));
}

/** Bodies of the format as the vendor itself, Vertex AI and Bedrock's InvokeModel send them. */
const DIALECTS = ['anthropic-messages', 'vertex-anthropic', 'bedrock-invoke'] as const;

function all(kind: Recording['kind']): readonly Recording[] {
  return DIALECTS.flatMap((dialect) => recordings(dialect, kind));
}

describe('recordings', { skip: corpusAbsent }, () => {
  for (const recording of all('complete')) {
    test(`complete: ${recording.file}`, () => {
      const source = readRecording(recording).toString();
      checkReply(adapter.decodeChat(source), JSON.parse(source) as Message);
    });
  }

  for (const recording of all('stream')) {
    test(`stream: ${recording.file}`, () => {
      const bytes = sseFrom(recording.decoded ?? recording.file, readRecording(recording));
      const deltas = decodeChunks(adapter, [bytes]);
      checkReply(endOf(deltas), messageFrom(bytes.toString()));
      const pieces = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, i) => bytes.subarray(i * 7, i * 7 + 7));
      assert.deepEqual(decodeChunks(adapter, pieces), deltas);
    });
  }

  for (const recording of all('error')) {
    test(`error: ${recording.file}`, () => {
      const { status, body_text } = JSON.parse(readRecording(recording).toString()) as { status: number; body_text: string };
      const kinds = new Map([[400, 'bad_request'], [401, 'auth'], [404, 'not_found'], [429, 'rate_limit'], [529, 'server']]);
      const failure = adapter.decodeFailure(status, body_text);
      // Bedrock sends a message alone.
      const parsed = JSON.parse(body_text) as { error?: { type: string; message: string }; message: string };
      const error = parsed.error ?? { type: undefined, message: parsed.message };
      assert.equal(failure.kind, kinds.get(status));
      assert.ok(failure.message.includes(error.type === undefined ? `HTTP ${status}` : `HTTP ${status}, code ${error.type}`));
      assert.ok(!failure.message.includes(error.message));
      assert.equal(failure.detail, error.message);
    });
  }
});
