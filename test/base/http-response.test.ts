/** HTTP responses from bytes: at every cut, in every hostile shape, and beside Node's own client. */

import assert from 'node:assert/strict';
import http from 'node:http';
import { Duplex } from 'node:stream';
import { describe, test } from 'node:test';
import { ResponseParser } from '../../src/base/http-response.ts';
import { createRandom } from './random.ts';
import { randomResponse, readResponse } from './random-response.ts';

const HEAD_BYTES_MAX = 4096;
const OK = 'HTTP/1.1 200 OK\r\n';

/** What it comes to, the same however the bytes are cut in two, or fed one by one. */
function read(wire: string, isClosed = true): ReturnType<typeof readResponse> {
  const bytes = Buffer.from(wire, 'latin1');
  const whole = readResponse([bytes], HEAD_BYTES_MAX, isClosed);
  for (let at = 1; at < bytes.length; at += 1) {
    assert.deepEqual(readResponse([bytes.subarray(0, at), bytes.subarray(at)], HEAD_BYTES_MAX, isClosed), whole, `cut at ${at}`);
  }
  assert.deepEqual(readResponse(Array.from(bytes, (byte) => Buffer.of(byte)), HEAD_BYTES_MAX, isClosed), whole, 'byte by byte');
  return whole;
}

function bodyOf(wire: string): string | undefined {
  const { outcome, body } = read(wire);
  return outcome === 'whole' ? body : undefined;
}

describe('ResponseParser reads', () => {
  test('status, headers in lower case without the space around their values, and a body of a length', () => {
    assert.deepEqual(read('HTTP/1.1 429 Slow \xfcp\r\nRetry-After: 7\r\nX-Empty:\r\nX-Odd:\t a\xe9 b \t\r\nContent-Length: 2\r\n\r\n{}'), {
      outcome: 'whole',
      interim: 0,
      status: 429,
      headers: { 'retry-after': '7', 'x-empty': '', 'x-odd': 'a\xe9 b', 'content-length': '2' },
      isKept: true,
      body: '{}',
      rest: 0,
    });
  });

  test('headers that come several times as one, cookies as a list, and no name of a prototype', () => {
    const { headers } = read(`${OK}a: 1\r\nA: 2\r\nset-cookie: x\r\nset-cookie: y\r\n__proto__: z\r\nconstructor: c\r\ncontent-length: 0\r\n\r\n`);
    assert.deepEqual(Object.entries(headers), [['a', '1, 2'], ['set-cookie', ['x', 'y']], ['__proto__', 'z'], ['constructor', 'c'], ['content-length', '0']]);
  });

  test('a status line without a reason', () => {
    assert.equal(read('HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n').status, 200);
    assert.equal(read('HTTP/1.1 200 \r\ncontent-length: 0\r\n\r\n').status, 200);
  });

  test('chunks, their extensions and trailers passed over', () => {
    assert.equal(bodyOf(`${OK}Transfer-Encoding: Chunked\r\n\r\n5;a="b;c"\r\nhello\r\n00A\r\n, chunked!\r\n1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0;last\r\nX-Sum: 1\r\nY:\r\n\r\n`), 'hello, chunked!abcdefghijklmnopqrstuvwxyz');
  });

  test('a body up to the end of the connection', () => {
    assert.equal(bodyOf(`${OK}\r\nall of it`), 'all of it');
    assert.equal(bodyOf('HTTP/1.0 200 OK\r\n\r\n'), '');
  });

  test('no body of 204 and 304, whatever they announce', () => {
    for (const status of [204, 304]) {
      const bare = read(`HTTP/1.1 ${status} X\r\n\r\n`, false);
      assert.deepEqual([bare.outcome, bare.isKept], ['whole', true]);
      for (const line of ['connection: close', 'transfer-encoding: chunked']) assert.equal(read(`HTTP/1.1 ${status} X\r\n${line}\r\n\r\n`).isKept, false, line);
      const { outcome, isKept, rest } = read(`HTTP/1.1 ${status} X\r\ncontent-length: 3\r\n\r\nabc`);
      assert.deepEqual({ outcome, isKept, rest }, { outcome: 'whole', isKept: false, rest: 3 });
    }
  });

  test('interim responses before the one that counts', () => {
    const { interim, body } = read(`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${OK}content-length: 1\r\n\r\nx`);
    assert.deepEqual({ interim, body }, { interim: 2, body: 'x' });
  });

  test('one response after another', () => {
    const parser = new ResponseParser(HEAD_BYTES_MAX);
    parser.feed(Buffer.from(`${OK}content-length: 1\r\n\r\na${OK}transfer-encoding: chunked\r\n\r\n1\r\nb\r\n0\r\n\r\n`));
    const bodies: string[] = [];
    for (let event = parser.next(); event !== 'more'; event = parser.next()) {
      if (event === 'body') bodies.push(parser.body.toString());
      if (event === 'end') parser.restart();
    }
    assert.deepEqual(bodies, ['a', 'b']);
    // A size without a digit is none, whatever the last one was.
    parser.feed(Buffer.from(`${OK}transfer-encoding: chunked\r\n\r\n\r\n`));
    assert.deepEqual([parser.next(), parser.next()], ['head', 'fault']);
  });

  test('whether the connection stays', () => {
    const isKept = (head: string): boolean => read(`HTTP/${head}content-length: 0\r\n\r\n`).isKept;
    assert.equal(isKept('1.1 200 OK\r\n'), true);
    assert.equal(isKept('1.1 200 OK\r\nConnection: Upgrade , Close\r\n'), false);
    assert.equal(isKept('1.1 200 OK\r\nconnection: x\r\nconnection: close\r\n'), false);
    assert.equal(isKept('1.1 200 OK\r\nconnection: x\r\n'), true);
    assert.equal(isKept('1.0 200 OK\r\n'), false);
    assert.equal(isKept('1.0 200 OK\r\nconnection: x\r\n'), false);
    assert.equal(isKept('1.0 200 OK\r\nconnection: keep-alive\r\n'), true);
    assert.equal(read(`${OK}\r\n`).isKept, false);
  });
});

describe('ResponseParser refuses', () => {
  const chunked = `${OK}transfer-encoding: chunked\r\n\r\n`;
  const CASES: readonly (readonly [what: string, wire: string, fault: string])[] = [
    ['what is not HTTP', 'SSH-2.0-OpenSSH_9.6\r\n\r\n', 'HPE_INVALID_CONSTANT'],
    ['a line break before the status', `\r\n${OK}\r\n`, 'HPE_INVALID_CONSTANT'],
    ['HTTP/2', 'HTTP/2 200\r\n\r\n', 'HPE_INVALID_VERSION'],
    ['a version that there is not', 'HTTP/1.2 200 OK\r\n\r\n', 'HPE_INVALID_VERSION'],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n', 'HPE_INVALID_STATUS'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n', 'HPE_INVALID_STATUS'],
    ['a status below 100', 'HTTP/1.1 099 OK\r\n\r\n', 'HPE_INVALID_STATUS'],
    ['two lengths', `${OK}content-length: 2\r\ncontent-length: 3\r\n\r\n{}x`, 'HPE_INVALID_CONTENT_LENGTH'],
    ['one length twice', `${OK}content-length: 2\r\ncontent-length: 2\r\n\r\n{}`, 'HPE_INVALID_CONTENT_LENGTH'],
    ['a list of lengths', `${OK}content-length: 2, 2\r\n\r\n{}`, 'HPE_INVALID_CONTENT_LENGTH'],
    ['a length with a sign', `${OK}content-length: +2\r\n\r\n{}`, 'HPE_INVALID_CONTENT_LENGTH'],
    ['a negative length', `${OK}content-length: -1\r\n\r\n`, 'HPE_INVALID_CONTENT_LENGTH'],
    ['a length in hexadecimal', `${OK}content-length: 0x2\r\n\r\n{}`, 'HPE_INVALID_CONTENT_LENGTH'],
    ['an empty length', `${OK}content-length: \r\n\r\n`, 'HPE_INVALID_CONTENT_LENGTH'],
    ['a length behind a space of another alphabet', `${OK}content-length: \xa02\r\n\r\n{}`, 'HPE_INVALID_CONTENT_LENGTH'],
    ['a length beyond counting', `${OK}content-length: 9007199254740993\r\n\r\n`, 'HPE_INVALID_CONTENT_LENGTH'],
    ['a length beside chunks', `${OK}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`, 'HPE_INVALID_TRANSFER_ENCODING'],
    ['chunks beside a length', `${OK}transfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n0\r\n\r\n`, 'HPE_INVALID_TRANSFER_ENCODING'],
    ['another coding', `${OK}transfer-encoding: gzip\r\n\r\n`, 'HPE_INVALID_TRANSFER_ENCODING'],
    ['another coding below chunks', `${OK}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, 'HPE_INVALID_TRANSFER_ENCODING'],
    ['chunks twice', `${OK}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`, 'HPE_INVALID_TRANSFER_ENCODING'],
    ['a coding that is nearly chunked', `${OK}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n`, 'HPE_INVALID_TRANSFER_ENCODING'],
    ['an empty coding', `${OK}transfer-encoding:\r\n\r\n`, 'HPE_INVALID_TRANSFER_ENCODING'],
    ['chunks of HTTP/1.0', 'HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n', 'HPE_INVALID_TRANSFER_ENCODING'],
    ['a folded header', `${OK}a: b\r\n c\r\ncontent-length: 0\r\n\r\n`, 'HPE_INVALID_HEADER_TOKEN'],
    ['a space before the colon', `${OK}content-length : 2\r\n\r\n{}`, 'HPE_INVALID_HEADER_TOKEN'],
    ['a space before the first header', `${OK} content-length: 2\r\n\r\n{}`, 'HPE_INVALID_HEADER_TOKEN'],
    ['a header without a name', `${OK}: x\r\n\r\n`, 'HPE_INVALID_HEADER_TOKEN'],
    ['a header without a colon', `${OK}content-length\r\nb: c\r\n\r\n`, 'HPE_INVALID_HEADER_TOKEN'],
    ['a zero byte in a value', `${OK}a: b\0c\r\n\r\n`, 'HPE_INVALID_HEADER_TOKEN'],
    ['a carriage return in a value', `${OK}a: b\rc: d\r\n\r\n`, 'HPE_INVALID_HEADER_TOKEN'],
    ['a carriage return in a value, behind which a header would begin', `${OK}a: b\rxc: d\r\n\r\n`, 'HPE_INVALID_HEADER_TOKEN'],
    ['a line feed behind a zero byte', `${OK}a: b\0\nc: d\r\n\r\n`, 'HPE_STRICT'],
    ['a control character in the reason', 'HTTP/1.1 200 O\x0bK\r\n\r\n', 'HPE_INVALID_STATUS'],
    ['a chunk without a size', `${chunked}\r\n`, 'HPE_INVALID_CHUNK_SIZE'],
    ['a size that is no number', `${chunked}zz\r\n`, 'HPE_INVALID_CHUNK_SIZE'],
    ['a size with a prefix', `${chunked}0x5\r\nhello\r\n0\r\n\r\n`, 'HPE_INVALID_CHUNK_SIZE'],
    ['a size with a sign', `${chunked}-5\r\nhello\r\n0\r\n\r\n`, 'HPE_INVALID_CHUNK_SIZE'],
    ['a size behind a space', `${chunked} 5\r\nhello\r\n0\r\n\r\n`, 'HPE_INVALID_CHUNK_SIZE'],
    ['a size before a space', `${chunked}5 \r\nhello\r\n0\r\n\r\n`, 'HPE_INVALID_CHUNK_SIZE'],
    ['a size beyond counting', `${chunked}fffffffffffffff\r\n`, 'HPE_INVALID_CHUNK_SIZE'],
    ['a size that ends in a line feed alone', `${chunked}5\nhello\r\n0\r\n\r\n`, 'HPE_INVALID_CHUNK_SIZE'],
    ['a size that ends in a carriage return alone', `${chunked}5\rhello\r\n0\r\n\r\n`, 'HPE_STRICT'],
    ['an extension without a name', `${chunked}5;\r\nhello\r\n0\r\n\r\n`, 'HPE_STRICT'],
    ['a zero byte in an extension', `${chunked}5;a="\0"\r\nhello\r\n0\r\n\r\n`, 'HPE_STRICT'],
    ['an extension that is none', `${chunked}5;a b\r\nhello\r\n0\r\n\r\n`, 'HPE_STRICT'],
    ['an extension that ends in a line feed alone', `${chunked}5;a\nhello\r\n0\r\n\r\n`, 'HPE_STRICT'],
    ['a chunk that is longer than its size', `${chunked}5\r\nhello!\r\n0\r\n\r\n`, 'HPE_STRICT'],
    ['a chunk that is shorter than its size', `${chunked}5\r\nhell\r\n0\r\n\r\n`, 'HPE_STRICT'],
    ['a chunk that ends in a line feed alone', `${chunked}5\r\nhello\n0\r\n\r\n`, 'HPE_STRICT'],
    ['an end without its line feed', `${chunked}0\r\n\rX`, 'HPE_STRICT'],
    ['a trailer that is none', `${chunked}0\r\nnone\r\n\r\n`, 'HPE_INVALID_HEADER_TOKEN'],
  ];
  for (const [what, wire, fault] of CASES) {
    test(what, () => {
      assert.deepEqual([read(wire).outcome, read(wire, false).outcome], [fault, fault]);
    });
  }

  test('line feeds without carriage returns, whose head would never end, wherever they come', () => {
    for (const wire of ['HTTP/1.1 200 OK\n\n', `${OK}a: b\n\n`, 'HTTP/1.1 200 OK\ncontent-length: 0\r\n\r\n']) {
      assert.equal(read(wire, false).outcome, 'HPE_STRICT');
    }
  });

  test('a head beyond its bound, and takes one that has exactly as many bytes', () => {
    const head = `${OK}content-length: 0\r\na: \r\n\r\n`;
    const wire = (bytes: number): string => head.replace('a: ', `a: ${'x'.repeat(bytes - head.length)}`);
    const outcomes = (text: string): string[] => [[text], [text.slice(0, 20), text.slice(20)], [...text]].map((pieces) => readResponse(pieces.map((piece) => Buffer.from(piece)), HEAD_BYTES_MAX, false).outcome);
    assert.deepEqual(outcomes(wire(HEAD_BYTES_MAX)), ['whole', 'whole', 'whole']);
    assert.deepEqual(outcomes(wire(HEAD_BYTES_MAX + 1)), ['HPE_HEADER_OVERFLOW', 'HPE_HEADER_OVERFLOW', 'HPE_HEADER_OVERFLOW']);
  });

  test('trailers, and extensions of a chunk, beyond their bounds', () => {
    const outcome = (rest: string): string => readResponse([Buffer.from(chunked + rest)], HEAD_BYTES_MAX, false).outcome;
    assert.equal(outcome(`0\r\n${'a: b\r\n'.repeat(1000)}\r\n`), 'HPE_HEADER_OVERFLOW');
    assert.equal(outcome(`1;${'x'.repeat(16 * 1024)}\r\n`), 'more');
    assert.equal(outcome(`1;${'x'.repeat(16 * 1024 + 1)}\r\n`), 'HPE_CHUNK_EXTENSIONS_OVERFLOW');
    // Also where their end never comes.
    assert.equal(outcome(`1;${'x'.repeat(16 * 1024 + 1)}`), 'HPE_CHUNK_EXTENSIONS_OVERFLOW');
  });
});

test('ResponseParser reads a head and the extensions of chunks in time linear in their lengths', { timeout: 60_000 }, () => {
  const spaces = Buffer.from(`${OK}connection: a${' '.repeat(60_000)}b\r\ncontent-length: 0\r\n\r\n`);
  for (let repeat = 0; repeat < 30; repeat += 1) assert.equal(readResponse([spaces], 64 * 1024, false).outcome, 'whole');
  const extended = `${OK}transfer-encoding: chunked\r\n\r\n${`1;${'a="b";'.repeat(2500)}c\r\nx\r\n`.repeat(500)}0\r\n\r\n`;
  assert.equal(readResponse([Buffer.from(extended)], 64 * 1024, false).outcome, 'whole');
});

test('ResponseParser tells a body that was cut from one that ended', () => {
  const chunked = `${OK}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`;
  const lengthy = `${OK}content-length: 5\r\n\r\nhello`;
  for (const wire of [chunked, lengthy]) {
    for (let end = 0; end < wire.length; end += 1) assert.equal(readResponse([Buffer.from(wire.slice(0, end))], HEAD_BYTES_MAX, true).outcome, 'more', wire.slice(0, end));
  }
});

test('ResponseParser tells whether another response may follow, passing over line breaks', () => {
  for (const [rest, expected] of [['', true], ['\r\n\n\r', true], ['\r\nHTTP/1.1 4', true], ['HTT', true], ['\r\nSSH', false], ['x', false]] as const) {
    const parser = new ResponseParser(HEAD_BYTES_MAX);
    parser.feed(Buffer.from(`${OK}content-length: 0\r\n\r\n${rest}`));
    assert.deepEqual([parser.next(), parser.next(), parser.isFollowed()], ['head', 'end', expected], rest);
  }
});

test('ResponseParser reads on where it was fed before it was asked for what it had', () => {
  const parser = new ResponseParser(HEAD_BYTES_MAX);
  for (const piece of [`${OK}content-length: 4\r\n\r\nab`, 'c', 'd']) parser.feed(Buffer.from(piece));
  assert.deepEqual([parser.next(), parser.next(), parser.body.toString(), parser.next()], ['head', 'body', 'abcd', 'end']);
});

test('ResponseParser keeps nothing of the memory that it was fed, once told so', () => {
  const parser = new ResponseParser(HEAD_BYTES_MAX);
  const fed = Buffer.from(`${OK}content-length: 5\r\n\r\nhello`);
  parser.feed(fed);
  assert.equal(parser.next(), 'head');
  parser.keepInput();
  fed.fill('!');
  assert.equal(parser.next(), 'body');
  assert.equal(parser.body.toString(), 'hello');
});

test("ResponseParser reads what Node's client reads, and refuses what it refuses: 400 responses, half of them damaged", async () => {
  let accepted = 0;
  for (let seed = 1; seed <= 400; seed += 1) {
    const random = createRandom(seed);
    const wire = randomResponse(random, seed % 2 === 0);
    const own = readResponse([wire], 64 * 1024, true);
    const nodes = await readByNode(wire);
    const what = `seed ${seed}: ${JSON.stringify(wire.toString('latin1'))} is ${own.outcome} here, ${nodes.outcome} by Node`;
    if (own.outcome === 'whole' && own.status !== 101) {
      accepted += 1;
      assert.equal(nodes.outcome, 'whole', what);
      assert.deepEqual([own.status, own.body], [nodes.status, nodes.body], what);
    } else if (seed % 2 === 1) {
      assert.fail(what);
    }
  }
  assert.ok(accepted > 200, `${accepted} were accepted`);
});

/** The same by http.request, on a connection that brings exactly these bytes. */
function readByNode(wire: Buffer): Promise<{ outcome: string; status: number; body: string }> {
  return new Promise((resolve) => {
    const socket = new Duplex({ read: () => undefined, write: (_bytes, _encoding, done) => done() });
    const found = { outcome: 'cut', status: 0, body: '' };
    const request = http.request({ createConnection: () => socket, agent: undefined, headers: { host: 'x' } }, (response) => {
      found.status = response.statusCode ?? 0;
      response.setEncoding('latin1').on('data', (text: string) => (found.body += text));
      response.on('error', () => undefined);
      response.on('end', () => {
        if (response.complete) found.outcome = 'whole';
      });
      response.on('close', () => resolve(found));
    });
    request.on('upgrade', () => resolve(found));
    request.on('error', (error: NodeJS.ErrnoException) => {
      // What follows a whole response is no part of it.
      if (found.outcome !== 'whole') found.outcome = String(error.code);
      resolve(found);
    });
    request.end();
    socket.push(wire);
    socket.push(null);
  });
}
