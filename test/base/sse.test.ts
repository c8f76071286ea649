import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SseBuffer } from '../../src/base/sse.ts';
import { createRandom } from './random.ts';

const MIB = 1024 * 1024;

type Frame = readonly [event: string, data: string];

type Vector = { readonly name: string; readonly input: string | Buffer; readonly frames: readonly Frame[] };

const longComment = 'x'.repeat(2048);

/** Inputs end as the web platform tests' server ends them: with one more LF. */
const vectors: readonly Vector[] = [
  // Web platform tests, eventsource/format-*
  {
    name: 'comments of all kinds',
    input: `data:1\r:\0\n:\r\ndata:2\n:${longComment}\rdata:3\n:data:fail\r:${longComment}\ndata:4\n\n`,
    frames: [['', '1\n2\n3\n4']],
  },
  {
    name: 'field names that only look like data',
    input: 'data:\0\ndata:  2\rData:1\ndata\0:2\ndata:1\r\0data:4\nda-ta:3\rdata_5\ndata:3\rdata:\r\n data:32\ndata:4\n\n',
    frames: [['', '\0\n 2\n1\n3\n\n4']],
  },
  { name: 'CRLF and LF mixed', input: 'data:test\r\ndata\ndata:test\r\n\r\n', frames: [['', 'test\n\ntest']] },
  { name: 'text beyond ASCII', input: 'data:ok…\n\n', frames: [['', 'ok…']] },
  { name: 'a byte order mark at the start and one later', input: '\uFEFFdata:1\n\n\uFEFFdata:2\n\ndata:3\n\n', frames: [['', '1'], ['', '3']] },
  { name: 'two byte order marks at the start', input: '\uFEFF\uFEFFdata:1\n\ndata:2\n\ndata:3\n\n', frames: [['', '2'], ['', '3']] },
  { name: 'a frame that the end of the stream cuts', input: 'retry:1000\ndata:test1\n\nid:test\ndata:test2\n', frames: [['', 'test1']] },
  { name: 'empty data', input: 'data:\n\ndata\ndata\n\ndata:test\n\n', frames: [['', ''], ['', '\n'], ['', 'test']] },
  { name: 'an event name for one frame only', input: 'event:test\ndata:x\n\ndata:x\n\n', frames: [['test', 'x'], ['', 'x']] },
  { name: 'an empty event name', input: 'event: \ndata:data\n\n', frames: [['', 'data']] },
  { name: 'id and retry fields', input: 'id: 1\0\nretry: 5\nretry: x\ndata: x\n\nid\ndata: y\n\n', frames: [['', 'x'], ['', 'y']] },
  {
    name: 'unknown fields',
    input: 'data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacommentyay\ndata:test\n\n',
    frames: [['', 'test\n\ntest']],
  },
  { name: 'one leading space dropped', input: 'data:\ttest\rdata: \ndata:test\n\n', frames: [['', '\ttest\n\ntest']] },
  { name: 'a NUL as data', input: 'data:\0\n\n\n\n', frames: [['', '\0']] },
  // Our own
  { name: 'lines that end in LF', input: 'event: a\ndata: {"b":1}\n\ndata: c\n\n', frames: [['a', '{"b":1}'], ['', 'c']] },
  { name: 'lines that end in CR', input: 'event: a\rdata: b\r\rdata: c\r\r', frames: [['a', 'b'], ['', 'c']] },
  { name: 'lines that end in CRLF', input: 'event: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n', frames: [['a', 'b'], ['', 'c']] },
  { name: 'CR CR LF LF', input: 'data: a\r\r\n\ndata: b\n\r\n', frames: [['', 'a'], ['', 'b']] },
  { name: 'an empty stream', input: '', frames: [] },
  { name: 'a byte order mark alone', input: '\uFEFF', frames: [] },
  { name: 'a byte order mark before an empty line', input: '\uFEFF\n\uFEFFdata: a\n\ndata: b\n\n', frames: [['', 'b']] },
  { name: 'a byte order mark before a comment', input: '\uFEFF: hello\ndata: a\n\n', frames: [['', 'a']] },
  { name: 'a byte order mark before data after another line', input: ': hello\n\uFEFFdata: a\n\ndata: b\n\n', frames: [['', 'b']] },
  { name: 'an event without data', input: 'event: ping\n\ndata: a\n\n', frames: [['', 'a']] },
  { name: 'the last of several event names', input: 'event: a\nevent: b\ndata: c\n\n', frames: [['b', 'c']] },
  { name: 'an event name after the data', input: 'data: c\nevent: a\n\n', frames: [['a', 'c']] },
  { name: 'colons inside data', input: 'data:a:b: c\n\n', frames: [['', 'a:b: c']] },
  { name: 'a field name that data begins', input: 'dat: a\ndatabase: b\ndata : c\ndata: d\n\n', frames: [['', 'd']] },
  { name: 'fields of four letters, one of them another', input: 'eata: a\ndbta: b\ndaua: c\ndatb: d\ndata: e\n\n', frames: [['', 'e']] },
  { name: 'a line that is a colon', input: ':\n:\ndata: a\n\n', frames: [['', 'a']] },
  { name: 'characters of two, three and four bytes', input: 'event: é\ndata: aé€😀z\n\n', frames: [['é', 'aé€😀z']] },
  {
    name: 'ill-formed UTF-8',
    input: Buffer.from([...Buffer.from('data: a'), 0xff, 0xe2, 0x82, 0x62, 0xc0, 0xaf, 0x0a, 0x0a]),
    frames: [['', 'a\uFFFD\uFFFDb\uFFFD\uFFFD']],
  },
  { name: 'line separators that are none of SSE', input: 'data: a\u0085b\u2028c\u000bd\n\n', frames: [['', 'a\u0085b\u2028c\u000bd']] },
];

function framesOf(chunks: readonly Buffer[], bytesMax = MIB): Frame[] {
  const frames: Frame[] = [];
  const buffer = new SseBuffer((event, data) => frames.push([event, data]), bytesMax);
  for (const chunk of chunks) assert.equal(buffer.feed(chunk), true);
  return frames;
}

for (const { name, input, frames } of vectors) {
  test(`SseBuffer reads ${name}, wherever the bytes are split`, () => {
    const bytes = Buffer.from(input);
    assert.deepEqual(framesOf([bytes]), frames);
    for (let at = 0; at <= bytes.length; at += 1) {
      assert.deepEqual(framesOf([bytes.subarray(0, at), bytes.subarray(at)]), frames, `split at ${at}`);
    }
    assert.deepEqual(framesOf([...bytes].map((byte) => Buffer.from([byte]))), frames, 'byte by byte');
  });
}

/** The definition of the format, without any regard for cost. */
function naiveFrames(bytes: Buffer): Frame[] {
  const text = new TextDecoder().decode(bytes);
  const lines = text.split(/\r\n|\r|\n/).slice(0, -1);
  const frames: Frame[] = [];
  let event = '';
  let data: string[] = [];
  for (const line of lines) {
    if (line === '') {
      if (data.length > 0) frames.push([event, data.join('\n')]);
      event = '';
      data = [];
    }
    const [, name, value = ''] = /^([^:]+)(?:: ?([^]*))?$/.exec(line) ?? [];
    if (name === 'data') data.push(value);
    if (name === 'event') event = value;
  }
  return frames;
}

test('SseBuffer agrees with the definition on random bytes in random chunks', () => {
  const pieces = ['data', 'event', ':', ' ', '\r', '\n', '\r\n', '\n\n', 'data: ', 'x', '\uFEFF', '😀', '\xe9', '\0'];
  for (let seed = 1; seed <= 3000; seed += 1) {
    const random = createRandom(seed);
    const bytes = Buffer.concat(
      Array.from({ length: random.below(30) }, () => Buffer.from(random.pick(pieces), random.below(20) === 0 ? 'latin1' : 'utf8')),
    );
    const chunks: Buffer[] = [];
    for (let at = 0; at < bytes.length; ) {
      const length = 1 + random.below(9);
      chunks.push(bytes.subarray(at, at + length));
      at += length;
    }
    assert.deepEqual(framesOf(chunks), naiveFrames(bytes), `seed ${seed}: ${JSON.stringify(bytes.toString())}`);
  }
});

test('SseBuffer keeps its own copy of a line whose end has not come', () => {
  const frames: Frame[] = [];
  const buffer = new SseBuffer((event, data) => frames.push([event, data]), MIB);
  const chunk = Buffer.from('data: first');
  buffer.feed(chunk);
  chunk.fill('x');
  buffer.feed(Buffer.from('\n\n'));
  assert.deepEqual(frames, [['', 'first']]);
});

test('SseBuffer calls its sink before feed returns, frame by frame', () => {
  const seen: string[] = [];
  const buffer = new SseBuffer((_, data) => seen.push(data), MIB);
  buffer.feed(Buffer.from('data: 1\n\ndata: 2\n\ndata: 3\n'));
  assert.deepEqual(seen, ['1', '2']);
  buffer.feed(Buffer.from('\n'));
  assert.deepEqual(seen, ['1', '2', '3']);
});

test('SseBuffer takes a line of exactly its limit, whole or in pieces', () => {
  const line = Buffer.from('data:12345');
  assert.deepEqual(framesOf([line, Buffer.from('\n\n')], 10), [['', '12345']]);
  assert.deepEqual(framesOf([Buffer.from('data:12345\n\n')], 10), [['', '12345']]);
  assert.deepEqual(framesOf([...line, 10, 10].map((byte) => Buffer.from([byte])), 10), [['', '12345']]);
});

test('SseBuffer refuses a line longer than its limit before the end of the line came', () => {
  const buffer = new SseBuffer(() => assert.fail('no frame'), 10);
  assert.equal(buffer.feed(Buffer.from('data:12345')), true);
  assert.equal(buffer.feed(Buffer.from('6')), false);
});

test('SseBuffer refuses a line longer than its limit that came whole', () => {
  const buffer = new SseBuffer(() => assert.fail('no frame'), 10);
  assert.equal(buffer.feed(Buffer.from('data:123456\n\n')), false);
});

test('SseBuffer refuses a frame whose lines together pass its limit', () => {
  const buffer = new SseBuffer(() => assert.fail('no frame'), 10);
  assert.equal(buffer.feed(Buffer.from('data:1\ndata:2\n\n')), false);
});

test('SseBuffer refuses a frame whose lines pass its limit with one unfinished', () => {
  const buffer = new SseBuffer(() => assert.fail('no frame'), 10);
  assert.equal(buffer.feed(Buffer.from('data:1\ndata:')), false);
});

test('SseBuffer counts each frame from zero', () => {
  assert.deepEqual(framesOf([Buffer.from('data:1\n\n'.repeat(3))], 10), [['', '1'], ['', '1'], ['', '1']]);
});

test('SseBuffer lets comments come without end between frames', () => {
  const comments = Buffer.from(': keep-alive\n'.repeat(100));
  assert.deepEqual(framesOf([comments, Buffer.from('data:1\n\n')], 20), [['', '1']]);
});

test('SseBuffer counts the lines of a frame on across a comment', () => {
  const buffer = new SseBuffer(() => assert.fail('no frame'), 20);
  assert.equal(buffer.feed(Buffer.from('data:123456789\n:\ndata:123456789\n\n')), false);
});

test('SseBuffer reads nothing after it refused a line, or the beginning of one', () => {
  for (const refused of ['data:123456\n\n', 'data:123456']) {
    const buffer = new SseBuffer(() => assert.fail('no frame'), 10);
    assert.equal(buffer.feed(Buffer.from(refused)), false);
    assert.equal(buffer.feed(Buffer.from('\n\ndata:1\n\n')), false);
  }
});

test('SseBuffer still delivers the frames before the one it refuses', () => {
  const seen: string[] = [];
  const buffer = new SseBuffer((_, data) => seen.push(data), 10);
  assert.equal(buffer.feed(Buffer.from('data:1\n\ndata:123456\n\n')), false);
  assert.deepEqual(seen, ['1']);
});

test('SseBuffer refuses a line of 10 MB in 1400-byte pieces once the first MiB came', () => {
  const buffer = new SseBuffer(() => assert.fail('no frame'), MIB);
  const piece = Buffer.alloc(1400, 'x');
  let takenBytes = 0;
  while (takenBytes < 10_000_000 && buffer.feed(piece)) takenBytes += piece.length;
  assert.equal(takenBytes, 1400 * Math.floor(MIB / 1400));
});

test('SseBuffer joins a line of a MiB that comes in 1400-byte pieces', () => {
  const line = Buffer.from('data:' + 'y'.repeat(MIB - 5));
  const chunks: Buffer[] = [];
  for (let at = 0; at < line.length; at += 1400) chunks.push(line.subarray(at, at + 1400));
  const frames = framesOf([...chunks, Buffer.from('\n\ndata:next\n\n')]);
  assert.deepEqual(frames.map(([, data]) => data.length), [MIB - 5, 4]);
});

test('SseBuffer joins very many short data lines, whatever is ill-formed in them', () => {
  const line = Buffer.from([...Buffer.from('data: a'), 0xff, 0x0a]);
  const frames = framesOf([Buffer.alloc(line.length * 10_000, line), Buffer.from('\ndata\ndata\ndata: x\n\ndata: y\n\n')]);
  assert.deepEqual(frames, [['', Array(10_000).fill('a\uFFFD').join('\n')], ['', '\n\nx'], ['', 'y']]);
});

test('SseBuffer keeps the first JSON that stands bare, wherever the bytes are split, and reads the frames around it', () => {
  const bare = '{\n  "error": {\n    "data: x": "event: y"\n  }\n}';
  for (const [before, behind, expected] of [['', '', bare], ['data: 1\n\n', '\n', bare], ['event: a\n\n', '\n\ndata: 2\n\n{"second":1}\n', bare], ['data: [\n', '', ''], [':{\n', '', bare]] as const) {
    const bytes = Buffer.from(before + bare + behind);
    for (let at = 0; at <= bytes.length; at += 1) {
      const seen: string[] = [];
      const buffer = new SseBuffer((_, data) => seen.push(data), MIB);
      for (const chunk of [bytes.subarray(0, at), bytes.subarray(at)]) buffer.feed(chunk);
      assert.equal(buffer.bareJson.trimEnd(), expected, `split at ${at} of ${bytes.toString()}`);
      assert.deepEqual(seen, (before + behind).match(/\d(?=\n\n)/g) ?? []);
    }
  }
});

test('SseBuffer takes for bare JSON what begins as JSON, before any other and outside of frames', () => {
  for (const [text, expected] of [['[{"error":1}]', '[{"error":1}]'], ['[\n1]\n', '[\n1]\n'], ['data: {"a"', ''], ['no JSON', ''], ['data: 1\n{"a"', ''], ['{"a":1}\n\n{"b"', '{"a":1}\n']] as const) {
    const buffer = new SseBuffer(() => undefined, MIB);
    buffer.feed(Buffer.from(text));
    assert.equal(buffer.bareJson, expected, text);
  }
});

test('SseBuffer keeps no more than 64 Ki characters of bare JSON, in one line or several', () => {
  const line = `{${'a'.repeat(60 * 1024)}`;
  for (const text of [`{${'a'.repeat(MIB)}`, `${line}\n${line}\n${line}`, `${line}\n${line}\n\n`]) {
    const buffer = new SseBuffer(() => undefined, 4 * MIB);
    buffer.feed(Buffer.from(text));
    assert.equal(buffer.bareJson.length, 64 * 1024);
  }
});
