/**
 * The fuzzers: each makes one case from a seeded random, and throws when something that always holds does not.
 *
 * fuzz.ts runs them for a time, fuzz.test.ts for a few cases.
 */

import assert from 'node:assert/strict';
import { parseJson } from '../../src/base/json/parse.ts';
import { renderJson } from '../../src/base/json/render.ts';
import { parseLenient } from '../../src/base/json/lenient.ts';
import { JsonArray, JsonNumber, JsonObject, JsonProblem } from '../../src/base/json/value.ts';
import type { JsonValue } from '../../src/base/json/value.ts';
import { RespDecoder } from '../../src/base/resp.ts';
import type { RespReply } from '../../src/base/resp.ts';
import { SseBuffer } from '../../src/base/sse.ts';
import { encodeChatReply, renderDeltaFrame } from '../../src/callers/native/reply.ts';
import { decodeChatRequest } from '../../src/callers/native/request.ts';
import { replyText, replyToolCalls } from '../../src/core/chat.ts';
import type { ChatReply } from '../../src/core/chat.ts';
import { checkConversation } from '../../src/core/conversation.ts';
import type { Delta } from '../../src/core/delta.ts';
import { FAILURE_KINDS, Failure } from '../../src/core/failure.ts';
import { encodeState } from '../../src/core/provider-state.ts';
import { outboundPath } from '../../src/upstream/outbound.ts';
import { sentText } from '../sent-text.ts';
import type { Random } from '../base/random.ts';
import { randomResponse, readResponse } from '../base/random-response.ts';
import { messagesRequests, messagesStreams } from '../callers/anthropic/fuzzers.ts';
import { dialectRelays, dialectRequests } from '../callers/fuzzers.ts';
import { routingFiles, routingVariables } from '../config/fuzzers.ts';
import { decodeChunks, endOf } from '../decode-stream.ts';
import { providerAt } from '../upstream/attempts.ts';
import { mutateJson, mutateText, randomJson } from './mutate.ts';
import { ADAPTERS, decoded, FULL_REQUEST } from './seeds.ts';
import type { RequestBody, Seed } from './seeds.ts';

export type Fuzzer = (random: Random, seeds: readonly Seed[]) => void;

export const FUZZERS: Readonly<Record<string, Fuzzer>> = {
  dialectRelays,
  dialectRequests,
  messagesRequests,
  messagesStreams,
  routingFiles,
  routingVariables,

  /** A caller's body is a request that every adapter can encode, or a bad_request that names the place. */
  requests(random) {
    const text = damaged(random, JSON.stringify(FULL_REQUEST));
    const request = decodeChatRequest(Buffer.from(text, random.below(20) === 0 ? 'latin1' : 'utf8'));
    const failure = request instanceof Failure ? request : checkConversation(request.turns);
    if (failure !== undefined) {
      assert.equal(failure.status, 400);
      assert.ok(failure.message.length < 1000, failure.message);
    } else if (!(request instanceof Failure)) {
      for (const adapter of ADAPTERS.values()) {
        const call = adapter.encodeChat(request, random.below(2) === 0);
        if (call instanceof Failure) assert.equal(call.status, 400, call.message);
        else JSON.parse(sentText(call));
      }
    }
  },

  /** The frames of a byte stream do not depend on how it was cut into chunks, nor does passing the limit. */
  sse(random) {
    const pieces = ['data', 'event', 'id', ':', ' ', '\r', '\n', '\r\n', '\n\n', 'data: ', 'x', 'xxxxxxxxxxxx', '\uFEFF', '😀', '\xe9', '\0'];
    const bytes = Buffer.concat(
      Array.from({ length: random.below(60) }, () => Buffer.from(random.pick(pieces), random.below(20) === 0 ? 'latin1' : 'utf8')),
    );
    const bytesMax = random.pick([16, 40, 1024 * 1024]);
    assert.deepEqual(readFrames(cutAnywhere(random, bytes), bytesMax), readFrames([bytes], bytesMax), bytes.toString('latin1'));
  },

  /** What an HTTP response comes to does not depend on how its bytes were cut. */
  responses(random) {
    const wire = randomResponse(random, random.below(4) > 0);
    const bytesMax = random.pick([40, 64 * 1024]);
    const isClosed = random.below(2) === 0;
    const whole = readResponse([wire], bytesMax, isClosed);
    assert.deepEqual(readResponse(cutAnywhere(random, wire), bytesMax, isClosed), whole, JSON.stringify(wire.toString('latin1')));
  },

  /** The replies of a peer do not depend on how its bytes were cut into chunks, nor does being refused; nothing comes after that. */
  resp(random) {
    const pieces = ['+OK\r\n', ':1\r\n', ':-12\r\n', '$3\r\na\r\n\r\n', '$-1\r\n', '*2\r\n', '*1\r\n', '*0\r\n', '-ERR x\r\n', '$2\r\n', 'é', '\r\n', '\r', '\n', ':', '$', '*', '9'];
    const text = Array.from({ length: random.below(30) }, () => random.pick(pieces)).join('');
    const bytes = Buffer.from(random.below(3) === 0 ? mutateText(random, text) : text, random.below(20) === 0 ? 'latin1' : 'utf8');
    assert.deepEqual(readReplies(cutAnywhere(random, bytes)), readReplies([bytes]), JSON.stringify(text));
  },

  /** The own JSON reader takes what `JSON.parse` takes, and gives the same values. */
  json(random) {
    const text = random.below(3) === 0 ? mutateText(random, JSON.stringify(randomJson(random, 5))) : JSON.stringify(randomJson(random, 5));
    const spaced = random.below(2) === 0 ? text : text.replaceAll(',', random.pick([' ,\n', ',\t', '\r\n, ']));
    const parsed = parseJson(spaced);
    let expected: unknown;
    try {
      expected = JSON.parse(spaced) as unknown;
    } catch {
      assert.ok(parsed instanceof JsonProblem, spaced);
      assert.equal(parseLenient(spaced), undefined);
      return;
    }
    assert.ok(!(parsed instanceof JsonProblem), spaced);
    assert.deepEqual(plainFrom(parsed), expected, spaced);
    if (parsed instanceof JsonObject || parsed instanceof JsonArray) assert.deepEqual(plainFrom(parseJson(parsed.raw.text)), expected, spaced);
  },

  /** A whole body is a reply that can be shown and replayed, or a failure. */
  replies(random, seeds) {
    const seed = random.pick(seeds);
    const reply = seed.adapter.decodeChat(damaged(random, seed.whole));
    if (reply instanceof Failure) checkFailure(reply);
    else checkReply(seed, reply);
  },

  /** A stream ends with exactly one terminal delta, and with `done` only after the provider's own signal. */
  streams(random, seeds) {
    const seed = random.pick(seeds);
    const text = damagedStream(random, seed.stream);
    const deltas = decodeChunks(seed.adapter, cutAnywhere(random, Buffer.from(text)));
    for (const delta of deltas) JSON.parse(renderDeltaFrame(seed.provider, delta).slice('data: '.length));
    const end = endOf(deltas);
    if (end instanceof Failure) {
      checkFailure(end);
      return;
    }
    assert.match(text, terminalSignalOf(seed), 'done without a terminal signal');
    // The same text, though outputs that were mixed up in the stream stand in their own order in the reply.
    assert.equal([...textOf(deltas)].sort().join(''), [...replyText(end)].sort().join(''));
    assert.deepEqual(deltas.flatMap((delta) => (delta.type === 'tool_call' ? [delta.call] : [])), replyToolCalls(end));
    checkReply(seed, end);
  },

  /** A stream that is cut anywhere before its terminal signal is a failure. */
  cuts(random, seeds) {
    const seed = random.pick(seeds);
    const signalAt = seed.stream.search(terminalSignalOf(seed));
    assert.notEqual(signalAt, -1);
    const cut = Buffer.from(seed.stream.slice(0, random.below(signalAt)));
    assert.ok(endOf(decodeChunks(seed.adapter, cutAnywhere(random, cut))) instanceof Failure, cut.toString());
  },

  /** An error body is a failure with a kind of the table, and never the caller's own 401. */
  failures(random, seeds) {
    const seed = random.pick(seeds);
    const error = { error: { type: 'x', code: 429, status: 'UNAVAILABLE', message: 'Prose.', details: [{ reason: 'x', retryDelay: '1s', violations: [{}] }] } };
    const body = damaged(random, random.below(2) === 0 ? JSON.stringify(error) : seed.whole);
    checkFailure(seed.adapter.decodeFailure(300 + random.below(300), body));
  },

  /** A list of models is a list or a failure. */
  models(random, seeds) {
    const list = { id: 'm', name: 'models/m', display_name: 'M', max_input_tokens: 1, supportedGenerationMethods: ['generateContent'] };
    const page = { data: [list], models: [list], has_more: true, last_id: 'm', nextPageToken: 'x' };
    const { adapter } = random.pick(seeds);
    const decodedPage = adapter.decodeModels(damaged(random, JSON.stringify(page)));
    if (decodedPage instanceof Failure) checkFailure(decodedPage);
    else new URL(`http://x${adapter.encodeModels(decodedPage.nextCursor).path}`);
  },

  /** A forged or damaged provider_state is refused or harmless: it adds no field to the payload. */
  states(random, seeds) {
    const seed = random.pick(seeds);
    const reply = seed.adapter.decodeChat(seed.whole);
    assert.ok(!(reply instanceof Failure));
    const state = reply.parts.map((part) => part.state).find((text) => text !== undefined);
    const [dialect = '', provider = '', content = ''] = (state ?? `${seed.adapter.dialect}.${seed.provider}.e30`).split('.');
    const inside: unknown = JSON.parse(Buffer.from(content, 'base64url').toString());
    const forged = random.below(4) === 0
      ? mutateText(random, `${dialect}.${provider}.${content}`)
      : encodeState(dialect, provider, JSON.parse(JSON.stringify(mutateJson(random, { ...Object(inside), ...Object(randomJson(random, 2)) }))) as Record<string, never>);
    const withState = (provider_state: string | undefined): unknown => ({
      ...seed.request,
      messages: [...seed.request.messages, { role: 'assistant', content: [{ type: 'text', text: 'Hm.', provider_state }] }, { role: 'user', text: 'Go on' }],
    });
    const request = decodeChatRequest(Buffer.from(JSON.stringify(withState(forged))));
    if (request instanceof Failure) return checkFailure(request);
    const call = seed.adapter.encodeChat(request, false);
    if (call instanceof Failure) return assert.equal(call.status, 400);
    const plain = seed.adapter.encodeChat(decoded(withState(undefined)), false);
    assert.ok(!(plain instanceof Failure));
    assert.equal(call.path, plain.path);
    assert.deepEqual(Object.keys(JSON.parse(sentText(call)) as object), Object.keys(JSON.parse(sentText(plain)) as object));
  },

  /** A model's name stays in its place of the URL. */
  modelNames(random) {
    const name = randomModelName(random);
    for (const [provider, adapter] of ADAPTERS) {
      const request = { ...decoded({ model: 'm', messages: [{ role: 'user', text: 'x' }] }), model: name };
      const isStream = random.below(2) === 0;
      const call = adapter.encodeChat(request, isStream);
      if (call instanceof Failure) {
        assert.equal(call.status, 400);
        continue;
      }
      const path = outboundPath(providerAt(new URL('http://127.0.0.1:1/base/v1')), call);
      // Whatever resolves `..` or decodes on the way sees the same path.
      const { pathname, search, hash } = new URL(`http://127.0.0.1:1${path}`);
      assert.equal(pathname + search + hash, path, JSON.stringify(name));
      assert.match(path, provider === 'gemini' ? GEMINI_PATH : CHAT_PATH, JSON.stringify(name));
    }
  },
};

/** A model below its collection, every segment a name that URLs leave alone, and one of the two methods. */
export const GEMINI_PATH = /^(\/base\/v1|\/v1beta)\/(models|tunedModels)(\/(?!\.{1,2}(\/|:))[\w.~!*'()%-]+)+:(generateContent|streamGenerateContent\?alt=sse)$/;
const CHAT_PATH = /^\/base\/v1\/(messages|chat\/completions|responses)$/;

/** What a protocol says when an answer is complete: an event of its own, or a reason that is not null. */
function terminalSignalOf({ adapter }: Seed): RegExp {
  return adapter.dialect === 'anthropic' ? /message_stop/ : /(finish_reason|finishReason|blockReason)"\s*:\s*[^n\s]|response\.(completed|incomplete)/;
}

/** Any name: half of them of the pieces that URLs are made of. */
export function randomModelName(random: Random): string {
  const pieces = ['..', '.', '/', '\\', '%2e', '%2F', '%', '?', '#', '&', 'key=', ':', ':generateContent', '@', 'models/', 'tunedModels/', '//', ' ', '\r\n',
    '\0', 'é', '😀', '\ud800', ';', 'gemini', 'x'];
  return Array.from({ length: 1 + random.below(8) }, () => (random.below(2) === 0 ? random.pick(pieces) : String.fromCharCode(random.below(0x250)))).join('');
}

/** The text, damaged as text or, where it is JSON, as a value. */
function damaged(random: Random, text: string): string {
  const value = parseLenient(text);
  if (value === undefined || random.below(2) === 0) return mutateText(random, text);
  return JSON.stringify(mutateJson(random, value));
}

/** A stream with frames lost, doubled, moved, damaged inside, or with damage anywhere. */
function damagedStream(random: Random, stream: string): string {
  if (random.below(4) === 0) return mutateText(random, stream);
  const frames = stream.split('\n\n');
  for (let edits = 1 + random.below(3); edits > 0; edits -= 1) {
    const at = random.below(frames.length);
    const frame = frames[at] ?? '';
    const json = /data: (\{.*\})$/s.exec(frame)?.[1];
    switch (random.below(json === undefined ? 3 : 6)) {
      case 0:
        frames.splice(at, 1);
        break;
      case 1:
        frames.splice(at, 0, frame);
        break;
      case 2:
        frames.splice(random.below(frames.length), 0, ...frames.splice(at, 1));
        break;
      default:
        frames[at] = frame.replace(json ?? '', () => damaged(random, json ?? ''));
    }
  }
  return frames.join('\n\n');
}

function cutAnywhere(random: Random, bytes: Buffer): Buffer[] {
  const chunks: Buffer[] = [];
  const longest = random.pick([1, 9, 100, 10_000]);
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + random.below(longest);
    chunks.push(bytes.subarray(at, end));
    at = end;
  }
  return chunks;
}

function readFrames(chunks: readonly Buffer[], bytesMax: number): { readonly frames: readonly string[]; readonly isWithin: boolean } {
  const frames: string[] = [];
  const buffer = new SseBuffer((event, data) => frames.push(event, data), bytesMax);
  let isWithin = true;
  for (const chunk of chunks) isWithin = buffer.feed(chunk);
  return { frames, isWithin };
}

function readReplies(chunks: readonly Buffer[]): { readonly replies: readonly RespReply[]; readonly isWithin: boolean } {
  const replies: RespReply[] = [];
  const decoder = new RespDecoder((reply) => replies.push(reply), { stringBytesMax: 40, valuesMax: 12 });
  let isWithin = true;
  for (const chunk of chunks) {
    const countBefore = replies.length;
    const wasWithin: boolean = isWithin;
    isWithin = decoder.feed(chunk);
    assert.ok(wasWithin || (!isWithin && replies.length === countBefore));
  }
  return { replies, isWithin };
}

function textOf(deltas: readonly Delta[]): string {
  return deltas.map((delta) => (delta.type === 'text' ? delta.text : '')).join('');
}

/** The value as `JSON.parse` gives it. */
function plainFrom(value: JsonValue | JsonProblem): unknown {
  if (value instanceof JsonNumber) return value.value;
  if (value instanceof JsonArray) return value.items.map(plainFrom);
  // As `JSON.parse` does, without touching the prototype.
  if (value instanceof JsonObject) return Object.fromEntries([...value.entries].map(([key, inner]) => [key, plainFrom(inner)]));
  return value;
}

function checkFailure(failure: Failure): void {
  assert.ok(Object.hasOwn(FAILURE_KINDS, failure.kind));
  assert.ok(failure.status >= 400 && failure.status <= 599 && failure.status !== 401);
  assert.ok(failure.message.length < 1000, failure.message);
}

/** What holds for every reply: a caller can be shown it, and its turn is accepted in the next request. */
function checkReply({ provider, adapter, request }: Seed, reply: ChatReply): void {
  const shown = JSON.parse(renderJson(encodeChatReply(provider, reply, undefined))) as { message: { content: unknown[] } };
  const results = replyToolCalls(reply).map(({ id }) => ({ type: 'tool_result', tool_call_id: id, content: 'ok' }));
  const next: RequestBody = {
    ...request,
    messages: [
      ...request.messages,
      shown.message,
      ...(results.length === 0 ? [] : [{ role: 'tool', content: results }]),
      { role: 'user', text: 'Go on' },
    ],
  };
  const replayed = decoded(next);
  const conversation = checkConversation(replayed.turns);
  if (conversation !== undefined) assert.fail(conversation.message);
  const call = adapter.encodeChat(replayed, true);
  if (call instanceof Failure) assert.fail(`the turn cannot be replayed: ${call.message} ${JSON.stringify(shown.message)}`);
  JSON.parse(sentText(call));
}
