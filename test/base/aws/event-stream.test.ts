import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventStreamBuffer } from '../../../src/base/aws/event-stream.ts';
import type { EventProblem } from '../../../src/base/aws/event-stream.ts';
import { crc32 } from '../../../src/base/crc32.ts';
import { readVectors, vectorsAbsent } from '../../vectors.ts';

const BYTES_MAX = 1024 * 1024;

type Read = { readonly headers: Readonly<Record<string, string>>; readonly payload: string };

/** A message as it is on the wire; `headers` as bytes. */
function message(headers: Buffer, payload: string | Buffer): Buffer {
  const body = Buffer.from(payload);
  const bytes = Buffer.alloc(16 + headers.length + body.length);
  bytes.writeUInt32BE(bytes.length, 0);
  bytes.writeUInt32BE(headers.length, 4);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8);
  headers.copy(bytes, 12);
  body.copy(bytes, 12 + headers.length);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, bytes.length - 4)), bytes.length - 4);
  return bytes;
}

function textHeader(name: string, value: string): Buffer {
  const [nameBytes, valueBytes] = [Buffer.from(name), Buffer.from(value)];
  const length = Buffer.alloc(2);
  length.writeUInt16BE(valueBytes.length);
  return Buffer.concat([Buffer.of(nameBytes.length), nameBytes, Buffer.of(7), length, valueBytes]);
}

/** A header of any type, its value as it is on the wire. */
function header(name: string, type: number, ...value: readonly number[]): Buffer {
  return Buffer.concat([Buffer.of(name.length), Buffer.from(name), Buffer.of(type, ...value)]);
}

function read(chunks: readonly Buffer[], bytesMax = BYTES_MAX): { readonly events: readonly Read[]; readonly problem: EventProblem | undefined } {
  const events: Read[] = [];
  const buffer = new EventStreamBuffer((headers, payload) => events.push({ headers: Object.fromEntries(headers), payload: payload.toString() }), bytesMax);
  let problem: EventProblem | undefined;
  for (const chunk of chunks) problem = buffer.feed(chunk);
  return { events, problem };
}

const EVENT_TYPE = textHeader(':event-type', 'chunk');
const FIRST = message(Buffer.concat([EVENT_TYPE, textHeader(':message-type', 'event')]), '{"text":"Grüße"}');
const EMPTY = message(Buffer.alloc(0), '');
const LAST = message(EVENT_TYPE, 'x'.repeat(300));
const STREAM = Buffer.concat([FIRST, EMPTY, LAST]);
const EVENTS: readonly Read[] = [
  { headers: { ':event-type': 'chunk', ':message-type': 'event' }, payload: '{"text":"Grüße"}' },
  { headers: {}, payload: '' },
  { headers: { ':event-type': 'chunk' }, payload: 'x'.repeat(300) },
];

test('EventStreamBuffer reads messages that come at once', () => {
  assert.deepEqual(read([STREAM]), { events: EVENTS, problem: undefined });
});

test('EventStreamBuffer reads the same messages split at every byte', () => {
  for (let at = 0; at <= STREAM.length; at += 1) {
    assert.deepEqual(read([STREAM.subarray(0, at), STREAM.subarray(at)]), { events: EVENTS, problem: undefined }, `split at ${at}`);
  }
});

test('EventStreamBuffer reads the same messages a byte at a time', () => {
  assert.deepEqual(read([...STREAM].map((byte) => Buffer.of(byte))), { events: EVENTS, problem: undefined });
});

test('EventStreamBuffer refuses a message with any one byte changed, and reads those before it', () => {
  for (let at = 0; at < LAST.length; at += 1) {
    const broken = Buffer.from(STREAM);
    const place = FIRST.length + EMPTY.length + at;
    broken[place] = (broken[place] ?? 0) ^ 0x01;
    const { events, problem } = read([broken]);
    assert.equal(problem, 'checksum', `byte ${at}`);
    assert.deepEqual(events, EVENTS.slice(0, 2));
  }
});

test('EventStreamBuffer reads nothing behind a problem', () => {
  const broken = Buffer.from(FIRST);
  broken[20] = (broken[20] ?? 0) ^ 0xff;
  assert.deepEqual(read([broken, LAST]), { events: [], problem: 'checksum' });
});

test('EventStreamBuffer reads over headers that are no text', () => {
  const headers = Buffer.concat([
    header('t', 0),
    header('f', 1),
    header('b', 2, 0xff),
    header('s', 3, 0, 1),
    header('i', 4, 0, 0, 0, 1),
    header('l', 5, 0, 0, 0, 0, 0, 0, 0, 1),
    header('y', 6, 0, 2, 1, 2),
    header('d', 8, 0, 0, 0, 0, 0, 0, 0, 1),
    header('u', 9, ...Array.from({ length: 16 }, () => 7)),
    textHeader('text', 'seen'),
  ]);
  assert.deepEqual(read([message(headers, '')]).events, [{ headers: { text: 'seen' }, payload: '' }]);
});

test('EventStreamBuffer refuses headers that do not end where they should', () => {
  const cases = [
    Buffer.of(5, 0x61),
    header('a', 10),
    header('a', 7, 0),
    header('a', 7, 0, 3, 1, 2),
    header('a', 5, 0, 0),
    Buffer.of(1),
  ];
  for (const headers of cases) assert.equal(read([message(headers, '')]).problem, 'malformed', headers.toString('hex'));
});

/** The first 12 bytes of a message, their sum right. */
function prelude(total: number, headersBytes: number): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt32BE(total, 0);
  bytes.writeUInt32BE(headersBytes, 4);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8);
  return bytes;
}

test('EventStreamBuffer refuses lengths by the prelude alone', () => {
  const cases: readonly (readonly [number, number, EventProblem])[] = [
    [15, 0, 'malformed'],
    [20, 5, 'malformed'],
    [16 + 129 * 1024, 129 * 1024, 'too large'],
    [16 + 25 * 1024 * 1024, 0, 'too large'],
    [0xffffffff, 0, 'too large'],
  ];
  for (const [total, headersBytes, problem] of cases) {
    assert.equal(read([prelude(total, headersBytes)], 64 * 1024 * 1024).problem, problem, `${total}, ${headersBytes}`);
    assert.equal(read([...prelude(total, headersBytes)].map((byte) => Buffer.of(byte)), 64 * 1024 * 1024).problem, problem);
  }
});

test('EventStreamBuffer takes a message of as many bytes as its reader allows, and none of one more', () => {
  const large = message(Buffer.alloc(0), 'x'.repeat(100));
  assert.equal(read([large], large.length).problem, undefined);
  assert.equal(read([large], large.length - 1).problem, 'too large');
});

type Vectors = {
  readonly frames: readonly { readonly name: string; readonly headers?: Readonly<Record<string, string>>; readonly payload: string; readonly base64: string }[];
  readonly rejects: readonly { readonly name: string; readonly base64: string; readonly expect: string }[];
};

test('EventStreamBuffer reads the messages of AWS\'s own encoder, split at every byte', { skip: vectorsAbsent }, () => {
  const { frames, rejects } = readVectors<Vectors>('eventstream');
  assert.ok(frames.length >= 13 && rejects.length >= 3);
  const stream = Buffer.concat(frames.map(({ base64 }) => Buffer.from(base64, 'base64')));
  for (let at = 0; at <= stream.length; at += 1) {
    const { events, problem } = read([stream.subarray(0, at), stream.subarray(at)]);
    assert.equal(problem, undefined);
    assert.deepEqual(events.map(({ payload }) => payload), frames.map(({ payload }) => payload));
    for (const [index, frame] of frames.entries()) if (frame.headers !== undefined) assert.deepEqual(events[index]?.headers, frame.headers);
  }
  for (const { name, base64, expect } of rejects) {
    assert.deepEqual(read([Buffer.from(base64, 'base64')]), { events: [], problem: expect === 'reject' ? 'checksum' : undefined }, name);
  }
});
