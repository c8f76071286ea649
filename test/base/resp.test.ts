import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeCommand, RespDecoder, RespError } from '../../src/base/resp.ts';
import type { RespBounds, RespReply } from '../../src/base/resp.ts';

const BOUNDS: RespBounds = { stringBytesMax: 4096, valuesMax: 64 };

/** The replies to these chunks, and whether all of them were taken. */
function decode(chunks: readonly (string | Buffer)[], bounds = BOUNDS): { readonly replies: readonly RespReply[]; readonly isGood: boolean } {
  const replies: RespReply[] = [];
  const decoder = new RespDecoder((reply) => replies.push(reply), bounds);
  let isGood = true;
  for (const chunk of chunks) isGood = decoder.feed(Buffer.from(chunk));
  return { replies, isGood };
}

const FIXTURES: readonly (readonly [name: string, text: string, replies: readonly RespReply[]])[] = [
  ['a simple string', '+OK\r\n', ['OK']],
  ['an empty simple string', '+\r\n', ['']],
  ['an error', '-READONLY You can\'t write against a read only replica.\r\n', [new RespError("READONLY You can't write against a read only replica.")]],
  ['numbers', ':0\r\n:-1\r\n:999999999999999\r\n:-0\r\n', [0, -1, 999_999_999_999_999, 0]],
  ['strings', '$5\r\nhello\r\n$0\r\n\r\n$4\r\n\r\n\r\n\r\n$6\r\nå€a\r\n', ['hello', '', '\r\n\r\n', 'å€a']],
  ['what there is not', '$-1\r\n*-1\r\n', [null, null]],
  ['arrays', '*0\r\n*5\r\n:0\r\n:250\r\n:-1\r\n$1\r\na\r\n+b\r\n', [[], [0, 250, -1, 'a', 'b']]],
  ['arrays in arrays', '*3\r\n*2\r\n:1\r\n*0\r\n$-1\r\n*1\r\n-ERR no\r\n', [[[1, []], null, [new RespError('ERR no')]]]],
  ['what answers a pipeline', '+OK\r\n*2\r\n:1\r\n:2\r\n-OOM command not allowed\r\n:3\r\n', ['OK', [1, 2], new RespError('OOM command not allowed'), 3]],
];

for (const [name, text, replies] of FIXTURES) {
  test(`RespDecoder reads ${name}, wherever the bytes are cut in two, and byte by byte`, () => {
    const bytes = Buffer.from(text);
    for (let at = 0; at <= bytes.length; at += 1) {
      assert.deepEqual(decode([bytes.subarray(0, at), bytes.subarray(at)]), { replies, isGood: true }, String(at));
    }
    assert.deepEqual(decode([...bytes].map((byte) => Buffer.from([byte]))), { replies, isGood: true });
  });
}

test('RespDecoder reads a long string in pieces, and forgets it for the next', () => {
  const long = 'x'.repeat(4096);
  const text = `$4096\r\n${long}\r\n:1\r\n`;
  assert.deepEqual(decode([text.slice(0, 100), text.slice(100, 101), text.slice(101, 4103), text.slice(4103)]).replies, [long, 1]);
});

test('RespDecoder gives nothing for a reply that is not whole', () => {
  for (const text of ['', '+OK', '+OK\r', ':12', '$5\r\nhell', '$5\r\nhello\r', '*2\r\n:1\r\n', '*1\r\n*1\r\n']) {
    assert.deepEqual(decode([text]), { replies: [], isGood: true }, JSON.stringify(text));
  }
});

const MALFORMED: readonly (readonly [what: string, text: string])[] = [
  ['another protocol', 'HTTP/1.1 400 Bad Request\r\n'],
  ['a type of RESP3', '_\r\n'],
  ['a map of RESP3', '%1\r\n+a\r\n+b\r\n'],
  ['a line without a type', '\r\n'],
  ['a line feed alone', '\n'],
  ['a line that ends without CR', '+OK\n'],
  ['a number with letters', ':12a\r\n'],
  ['a number that is none', ':\r\n'],
  ['a sign alone', ':-\r\n'],
  ['a number with a plus', ':+1\r\n'],
  ['a number with more digits than a double has', ':1234567890123456\r\n'],
  ['a fraction as a length', '$1.5\r\n'],
  ['a negative length', '$-2\r\n'],
  ['a negative length of an array', '*-2\r\n'],
  ['a string longer than said', '$2\r\nabc\r\n'],
  ['a string without its end', '$2\r\nab\r\r'],
  ['a string whose end is a line feed alone', '$2\r\nab!\n'],
  ['a string above the bound', '$4097\r\n'],
  ['the length of a terabyte', '$1000000000000\r\n'],
  ['an array above the bound', '*64\r\n'],
  ['the length of a billion values', '*1000000000\r\n'],
  ['more values than the bound in several arrays', `*3\r\n${`*40\r\n${':1\r\n'.repeat(40)}`.repeat(2)}`],
  ['arrays nested nine deep', '*1\r\n'.repeat(9)],
  ['a line without an end', 'x'.repeat(1027)],
  ['an error without an end', `-${'x'.repeat(1026)}`],
];

for (const [what, text] of MALFORMED) {
  test(`RespDecoder refuses ${what}, whole and byte by byte, and reads nothing after it`, () => {
    const bytes = Buffer.from(text);
    assert.deepEqual(decode([bytes, '+OK\r\n']), { replies: [], isGood: false });
    assert.deepEqual(decode([...[...bytes].map((byte) => Buffer.from([byte])), ':1\r\n']), { replies: [], isGood: false });
  });
}

test('RespDecoder gives the replies before what is malformed', () => {
  assert.deepEqual(decode([':1\r\n:2\r\n:x\r\n:3\r\n']), { replies: [1, 2], isGood: false });
});

test('RespDecoder counts arrays, and what follows an array in another', () => {
  const text = '*3\r\n:1\r\n*1\r\n:2\r\n:3\r\n';
  assert.deepEqual(decode([text], { ...BOUNDS, valuesMax: 5 }), { replies: [[1, [2], 3]], isGood: true });
  assert.deepEqual(decode([text], { ...BOUNDS, valuesMax: 4 }), { replies: [], isGood: false });
});

test('RespDecoder counts values anew for each reply', () => {
  const array = `*60\r\n${':1\r\n'.repeat(60)}`;
  assert.equal(decode([array.repeat(100)]).replies.length, 100);
});

test('RespError knows its code by its first word, and none by another', () => {
  const codes = ['NOSCRIPT No matching script', 'MOVED 3999 127.0.0.1:6381', 'LOADING', 'ERR unknown', 'wrong PASS', 'Error: x', ''].map((text) => new RespError(text).code);
  assert.deepEqual(codes, ['NOSCRIPT', 'MOVED', 'LOADING', 'ERR', 'ERR', 'ERR', 'ERR']);
});

test('encodeCommand counts bytes, not characters', () => {
  assert.equal(encodeCommand(['AUTH', 'pässwörd€', '']), '*3\r\n$4\r\nAUTH\r\n$13\r\npässwörd€\r\n$0\r\n\r\n');
});

test('RespDecoder reads back what encodeCommand wrote', () => {
  const words = ['EVALSHA', 'abc', '2', 'gw:{é}', 'x\r\ny', ''];
  assert.deepEqual(decode([encodeCommand(words)]).replies, [words]);
});
