/** Every Gemini recording through the codec; what is expected is worked out here from the recording alone. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isMadeCallId } from '../../../src/core/call-id.ts';
import { replyText, replyToolCalls } from '../../../src/core/chat.ts';
import type { ChatReply } from '../../../src/core/chat.ts';
import { Failure } from '../../../src/core/failure.ts';
import { corpusAbsent, readRecording, recordings } from '../../corpus.ts';
import type { Recording } from '../../corpus.ts';
import { decodeChunks, endOf, sseFrom } from '../../decode-stream.ts';
import { adapter, assistant, deltasOf, payload, requestOf, result, user } from './fixtures.ts';

type Part = {
  text?: string;
  thought?: boolean;
  thoughtSignature?: string;
  functionCall?: { name?: string; id?: string; args?: object; willContinue?: boolean; partialArgs?: { jsonPath: string; stringValue: string }[] };
};
type Piece = {
  candidates?: { content?: { parts?: Part[] }; finishReason?: string | number }[];
  promptFeedback?: { blockReason?: string };
  usageMetadata?: Record<string, number>;
  modelVersion?: string;
  responseId?: string;
};

const STOPS: Record<string, string> = { STOP: 'end_turn', 1: 'end_turn', MAX_TOKENS: 'max_tokens' };
const REFUSALS = ['SAFETY', 'MODEL_ARMOR'];

function partsOf(pieces: readonly Piece[]): Part[] {
  return pieces.flatMap((piece) => piece.candidates?.[0]?.content?.parts ?? []);
}

/** Names and arguments of the calls. Streamed arguments in the recordings are strings only, in objects and arrays. */
function callsOf(parts: readonly Part[]): { name: string; args: object; id: string | undefined }[] {
  const calls: { name: string; args: object; id: string | undefined }[] = [];
  for (const { functionCall } of parts) {
    if (functionCall === undefined) continue;
    if (functionCall.name !== undefined) calls.push({ name: functionCall.name, args: functionCall.args ?? {}, id: functionCall.id });
    for (const { jsonPath, stringValue } of functionCall.partialArgs ?? []) {
      const keys = jsonPath.slice(2).split(/[.[\]]+/).filter((key) => key !== '');
      let at = calls.at(-1)?.args as Record<string, unknown>;
      for (const [i, key] of keys.entries()) {
        const next = keys[i + 1];
        if (next === undefined) at[key] = String(at[key] ?? '') + stringValue;
        else at = (at[key] ??= /^\d+$/.test(next) ? [] : {}) as Record<string, unknown>;
      }
    }
  }
  return calls;
}

/** Compares an outcome with what the recorded pieces say. */
function check(pieces: readonly Piece[], outcome: ChatReply | Failure): void {
  const parts = partsOf(pieces);
  const calls = callsOf(parts);
  const joined = (isThought: boolean): string =>
    parts.map((part) => ((part.thought === true) === isThought ? (part.text ?? '') : '')).join('');
  const finish = pieces.flatMap((piece) => piece.candidates?.[0]?.finishReason ?? []).at(-1);
  const blocked = pieces.some((piece) => piece.promptFeedback?.blockReason !== undefined);
  const isEmpty = joined(false) === '' && calls.length === 0;
  if (blocked || (isEmpty && !(String(finish) in STOPS))) {
    assert.ok(outcome instanceof Failure);
    assert.equal(outcome.kind, blocked || REFUSALS.includes(String(finish)) ? 'refusal' : 'server');
    return;
  }
  if (outcome instanceof Failure) throw new Error(outcome.message);
  assert.equal(replyText(outcome), joined(false));
  assert.equal(outcome.thinking, joined(true));
  assert.equal(outcome.stopReason, calls.length > 0 ? 'tool_use' : (STOPS[String(finish)] ?? 'unknown'));
  assert.deepEqual(
    replyToolCalls(outcome).map(({ name, arguments: args, id }) => ({ name, args: JSON.parse(args.text) as object, id: isMadeCallId(id) ? undefined : id })),
    calls,
  );
  const counts = pieces.findLast((piece) => piece.usageMetadata?.['promptTokenCount'] !== undefined)?.usageMetadata;
  assert.deepEqual(
    outcome.usage,
    counts && {
      inputTokens: (counts['promptTokenCount'] ?? 0) + (counts['toolUsePromptTokenCount'] ?? 0),
      outputTokens: (counts['candidatesTokenCount'] ?? 0) + (counts['thoughtsTokenCount'] ?? 0),
      cacheReadTokens: counts['cachedContentTokenCount'] ?? 0,
      cacheWriteTokens: 0,
      reasoningTokens: counts['thoughtsTokenCount'] ?? 0,
    },
  );
  assert.equal(outcome.id, pieces[0]?.responseId);
  assert.equal(outcome.model, pieces[0]?.modelVersion);
}

/** Every signature of the recording, in order, and each beside the kind of part it came on. */
function signaturesOf(parts: readonly object[]): string[] {
  return (parts as Part[]).flatMap((part) => (part.thoughtSignature === undefined ? [] : `${Object.keys(part).filter((key) => key !== 'thought').sort().join()} ${part.thoughtSignature}`));
}

/** Appends the reply to a conversation and compares what would be sent back. */
function checkReplay(pieces: readonly Piece[], outcome: ChatReply | Failure): void {
  if (outcome instanceof Failure) return;
  const answers = replyToolCalls(outcome).map(({ id }) => result(id, 'ok'));
  const { contents } = payload(requestOf({ model: 'gemini-2.5-flash', turns: [user('a'), assistant(...outcome.parts), ...answers] }));
  const sent = contents.filter((content) => content.role === 'model').flatMap((content) => content.parts);
  assert.deepEqual(signaturesOf(sent), signaturesOf(partsOf(pieces)));
}

function all(kind: Recording['kind']): readonly Recording[] {
  return [...recordings('gemini', kind), ...recordings('vertex-gemini', kind)];
}

describe('Gemini recordings', { skip: corpusAbsent }, () => {
  for (const recording of all('complete')) {
    test(`whole reply ${recording.file}`, () => {
      const source = readRecording(recording).toString();
      const outcome = adapter.decodeChat(source);
      check([JSON.parse(source) as Piece], outcome);
      checkReplay([JSON.parse(source) as Piece], outcome);
    });
  }

  for (const recording of all('stream')) {
    test(`stream ${recording.file}`, () => {
      const bytes = readRecording(recording);
      const isArray = recording.file.endsWith('.json');
      const pieces = isArray
        ? (JSON.parse(bytes.toString()) as Piece[])
        : sseFrom(recording.file, bytes).toString().split('\n').flatMap((line) => (line.startsWith('data:') ? [JSON.parse(line.slice(5)) as Piece] : []));
      const decode = (source: Buffer) =>
        isArray ? deltasOf(pieces.map((piece) => JSON.stringify(piece))) : decodeChunks(adapter, [sseFrom(recording.file, source)]);
      const deltas = decode(bytes);
      const end = endOf(deltas);
      check(pieces, end);
      checkReplay(pieces, end);
      const textOf = (type: 'text' | 'thinking'): string => deltas.map((delta) => (delta.type === type ? delta.text : '')).join('');
      assert.ok(!(end instanceof Failure));
      assert.equal(textOf('text'), replyText(end));
      assert.equal(textOf('thinking'), end.thinking);
      assert.deepEqual(deltas.flatMap((delta) => (delta.type === 'tool_call' ? delta.call : [])), replyToolCalls(end));
      // An array in one frame is the same reply.
      check(pieces, endOf(deltasOf([JSON.stringify(pieces)])));
      // All but the last piece is no answer.
      assert.ok(endOf(deltasOf(pieces.slice(0, -1).map((piece) => JSON.stringify(piece)))) instanceof Failure);
    });
  }

  for (const recording of all('error')) {
    test(`error ${recording.file}`, () => {
      const { status, body_text: source } = JSON.parse(readRecording(recording).toString()) as { status: number; body_text: string };
      const failure = adapter.decodeFailure(status, source);
      const { error } = JSON.parse(source) as { error: { status: string; message: string } };
      const kinds: Record<number, string> = { 400: 'bad_request', 403: 'auth', 404: 'not_found', 429: 'rate_limit' };
      assert.equal(failure.kind, kinds[status]);
      assert.ok(failure.message.endsWith(`(HTTP ${status}, code ${error.status})${failure.isTooLong ? ': the prompt is too long' : ''}`), failure.message);
      assert.equal(failure.detail, error.message);
      const delay = /"retryDelay": "(\d+)s"/.exec(source)?.[1];
      assert.equal(failure.retryAfterMs, delay === undefined ? undefined : Number(delay) * 1000);
    });
  }
});
