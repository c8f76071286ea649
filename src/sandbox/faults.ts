/**
 * What can go wrong with a provider, by model name: statuses, errors inside a stream, and connections that stall, break
 * or never end. Every fault is a row; the rest of the answer is what `fake-chat` would say.
 */

import { gzipSync } from 'node:zlib';
import { DONE } from './openai.ts';
import { Complaint } from './protocol.ts';
import type { Ask, Protocol, Reply } from './protocol.ts';
import { sendReply } from './wire.ts';
import type { Wire } from './wire.ts';

/** A chat that is to fail. */
export type Exchange = {
  readonly wire: Wire;
  readonly protocol: Protocol;
  readonly ask: Ask;
  /** The key that came with the request. */
  readonly key: string;
  /** The sandbox under another name, so another origin. */
  readonly otherOrigin: string;
  readonly tokenDelayMs: number;
  /** The answer if nothing went wrong. */
  readonly good: Reply;
  /** How often this model has been asked this, now included. */
  readonly askedCount: () => number;
};

export type Fault = {
  readonly meaning: string;
  /** Resolves when the sandbox is through with the exchange; `n` is the number in the model's name. */
  readonly act: (exchange: Exchange, n: number) => Promise<void>;
};

const MIB = 1024 * 1024;
const BLOCK_BYTES = 64 * 1024;

/** The faults by model name; an `N` in a name stands for a number. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  // Failures that the provider reports.
  'fake-status-NNN': { meaning: 'fails with that status and its error body; 429 asks for one second of patience', act: (exchange, n) => failWithStatus(exchange, n, 1) },
  'fake-status-429-after-N': { meaning: 'fails with 429 and asks for N seconds of patience', act: (exchange, n) => failWithStatus(exchange, 429, n) },
  'fake-quota': { meaning: 'the account has nothing left to spend', act: (exchange) => fail(exchange, exchange.protocol.quotaExhausted) },
  'fake-overloaded': { meaning: 'overloaded: its status, or in a stream a 200 whose first event is the error', act: overload },
  'fake-error-mid': { meaning: 'an error event after some text; 500 when not streamed', act: failMid },
  'fake-echo-key': { meaning: '401 whose message repeats the key', act: (exchange) => fail(exchange, new Complaint(401, `Incorrect API key provided: ${exchange.key}.`)) },
  'fake-flaky-N': { meaning: 'the first N calls with the same last user text fail with 503, later ones succeed', act: failAtFirst },

  // Time.
  'fake-late-N': { meaning: 'waits N ms before the headers', act: async (exchange, n) => exchange.wire.pause(n).then(() => send(exchange, exchange.good)) },
  'fake-slow-N': { meaning: 'waits N ms before each piece of text', act: ({ wire, good }, n) => sendReply(wire, good, n) },
  'fake-drip': { meaning: 'a byte every 100 ms', act: drip },
  'fake-stall': { meaning: 'accepts the request and never answers', act: ({ wire }) => wire.closed() },
  'fake-stall-headers': { meaning: 'sends the headers and falls silent', act: (exchange) => begin(exchange, '').then(() => exchange.wire.closed()) },
  'fake-stall-mid': { meaning: 'falls silent after some text', act: (exchange) => begin(exchange, half(exchange.good)).then(() => exchange.wire.closed()) },

  // Replies that end too early.
  'fake-truncate': { meaning: 'ends in the middle, cleanly as far as HTTP can tell', act: (exchange) => beginAndSettle(exchange, half(exchange.good)).then(() => exchange.wire.end()) },
  'fake-truncate-at-N': { meaning: 'ends after N bytes of the body, cleanly as far as HTTP can tell', act: (exchange, n) => begin(exchange, bytesOf(exchange.good, n)).then(() => exchange.wire.end()) },
  'fake-close-mid': { meaning: 'closes the connection after some text', act: (exchange) => beginAndSettle(exchange, half(exchange.good)).then(() => exchange.wire.hangUp()) },
  'fake-reset': { meaning: 'resets the connection before the headers', act: async ({ wire }) => wire.reset() },
  'fake-reset-mid': { meaning: 'resets the connection after some text', act: (exchange) => beginAndSettle(exchange, half(exchange.good)).then(() => exchange.wire.reset()) },
  'fake-reset-at-N': { meaning: 'resets the connection after N bytes of the body', act: (exchange, n) => beginAndSettle(exchange, bytesOf(exchange.good, n)).then(() => exchange.wire.reset()) },
  'fake-short-length': { meaning: 'announces a longer body than it sends', act: announceTooMuch },
  'fake-no-done': { meaning: 'leaves out the `[DONE]` line, which only OpenAI has', act: (exchange) => send(exchange, { ...exchange.good, pieces: exchange.good.pieces.filter(({ bytes }) => bytes !== DONE) }) },

  // Replies that are none.
  'fake-bad-chunk': { meaning: 'breaks the chunked encoding after some text', act: breakChunks },
  'fake-html': { meaning: '200 with an HTML page', act: (exchange) => send(exchange, replyOf(200, 'text/html', '<html><body>Welcome to the proxy.</body></html>')) },
  'fake-empty-body': { meaning: '200 without a body', act: (exchange) => send(exchange, { ...exchange.good, pieces: [] }) },
  'fake-204': { meaning: '204', act: (exchange) => send(exchange, { status: 204, headers: {}, pieces: [] }) },
  'fake-101': { meaning: 'switches protocols though nobody asked', act: switchProtocols },
  'fake-redirect': { meaning: '307 to another origin', act: (exchange) => send(exchange, { status: 307, headers: { location: `${exchange.otherOrigin}/elsewhere` }, pieces: [] }) },
  'fake-gzip': { meaning: 'a compressed body though nobody asked', act: compress },
  'fake-malformed': { meaning: 'broken JSON; in a stream, one broken event', act: malform },
  'fake-wrong-shape': { meaning: 'JSON of another shape', act: misshape },

  // Replies that are good but unusual.
  'fake-early-hints': { meaning: '102 and 103 before a good reply', act: hintFirst },
  'fake-crlf': { meaning: 'a good stream with CRLF line ends and a byte order mark', act: (exchange) => send(exchange, respelled(exchange, (bytes, index) => (index === 0 ? '\uFEFF' : '') + bytes.replaceAll(/\r?\n/g, '\r\n'))) },
  'fake-comments': { meaning: 'a good stream with comments, further fields, and no space after `data:`', act: (exchange) => send(exchange, respelled(exchange, (bytes) => `: a comment\nid: 1\nretry: 10\n${bytes.replace('data: ', 'data:')}`)) },
  'fake-close-idle': { meaning: 'a good reply, and the idle connection is closed 5 ms later', act: closeWhenIdle },

  // Too much. All of it waits for a slow peer.
  'fake-big-headers': { meaning: '100 KB of response headers', act: (exchange) => send(exchange, { ...exchange.good, headers: { ...exchange.good.headers, 'x-padding': '0'.repeat(100 * 1024) } }) },
  'fake-huge': { meaning: 'one JSON value that goes on for 256 MiB', act: (exchange) => sendPadded(exchange, 256 * MIB, BLOCK_BYTES) },
  'fake-long-line': { meaning: 'a good reply whose first object has 10 MiB of padding, in writes of 1400 bytes', act: (exchange) => sendPadded(exchange, 10 * MIB, 1400) },
  'fake-flood': { meaning: 'a good stream with 200 MiB of text; padding when not streamed', act: flood },
};

function send({ wire, tokenDelayMs }: Exchange, reply: Reply): Promise<void> {
  return sendReply(wire, reply, tokenDelayMs);
}

function fail(exchange: Exchange, complaint: Complaint): Promise<void> {
  return send(exchange, exchange.protocol.renderComplaint(complaint));
}

function failWithStatus(exchange: Exchange, n: number, retryAfterS: number): Promise<void> {
  const status = n >= 200 && n <= 599 ? n : 500;
  const more = status === 429 ? { retryAfterS } : {};
  return fail(exchange, new Complaint(status, `The sandbox was asked to fail with status ${status}.`, more));
}

/** Sends the headers and some of the body. */
async function begin({ wire, good }: Exchange, body: string | Uint8Array): Promise<void> {
  wire.head(good.status, good.headers);
  await wire.write(body);
}

async function beginAndSettle(exchange: Exchange, body: string | Uint8Array): Promise<void> {
  await begin(exchange, body);
  await exchange.wire.settle();
}

function textOf({ pieces }: Reply): string {
  return pieces.map(({ bytes }) => bytes).join('');
}

function bytesOf(reply: Reply, length: number): Uint8Array {
  return Buffer.from(textOf(reply)).subarray(0, length);
}

/** A stream up to its second piece of text; half of a whole body. */
function half(reply: Reply): string {
  const { pieces } = reply;
  if (pieces.length === 1) return textOf(reply).slice(0, textOf(reply).length / 2);
  return textOf({ ...reply, pieces: pieces.slice(0, middleOf(reply)) });
}

function middleOf({ pieces }: Reply): number {
  const texts = pieces.flatMap(({ isText }, index) => (isText ? [index + 1] : []));
  return texts[1] ?? texts[0] ?? Math.floor(pieces.length / 2);
}

function replyOf(status: number, contentType: string, text: string): Reply {
  return { status, headers: { 'content-type': contentType }, pieces: [{ bytes: text, isText: false }] };
}

async function overload(exchange: Exchange): Promise<void> {
  const { ask, protocol, wire } = exchange;
  if (!ask.isStream) return fail(exchange, protocol.overloaded);
  await begin(exchange, protocol.renderErrorEvent(protocol.overloaded));
  await wire.end();
}

async function failMid(exchange: Exchange): Promise<void> {
  const { ask, protocol, good, wire } = exchange;
  const complaint = new Complaint(500, 'Internal server error');
  if (!ask.isStream) return fail(exchange, complaint);
  await beginAndSettle(exchange, half(good));
  await wire.write(protocol.renderErrorEvent(complaint));
  await wire.end();
}

function failAtFirst(exchange: Exchange, n: number): Promise<void> {
  return exchange.askedCount() > n ? send(exchange, exchange.good) : fail(exchange, new Complaint(503, 'Not yet.'));
}

async function drip(exchange: Exchange): Promise<void> {
  const { wire, good } = exchange;
  wire.head(good.status, good.headers);
  for (const byte of Buffer.from(textOf(good))) {
    await wire.pause(100);
    if (!(await wire.write(Uint8Array.of(byte)))) return;
  }
  await wire.end();
}

/** A whole body is whole, so that only its length tells; a stream is cut before its own end. */
async function announceTooMuch({ ask, wire, good }: Exchange): Promise<void> {
  wire.head(good.status, { ...good.headers, 'content-length': String(Buffer.byteLength(textOf(good)) + 100) });
  await wire.write(ask.isStream ? half(good) : textOf(good));
  wire.hangUp();
}

async function breakChunks(exchange: Exchange): Promise<void> {
  await beginAndSettle(exchange, half(exchange.good));
  await exchange.wire.writeRaw('this is no chunk\r\n');
  exchange.wire.hangUp();
}

async function switchProtocols({ wire }: Exchange): Promise<void> {
  await wire.writeRaw('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: sandbox\r\n\r\n');
  wire.hangUp();
}

async function compress({ wire, good }: Exchange): Promise<void> {
  wire.head(good.status, { ...good.headers, 'content-encoding': 'gzip' });
  await wire.write(gzipSync(textOf(good)));
  await wire.end();
}

function malform(exchange: Exchange): Promise<void> {
  const { ask, good } = exchange;
  if (!ask.isStream) return send(exchange, { ...good, pieces: [{ bytes: `${half(good)} nonsense`, isText: false }] });
  const middle = middleOf(good);
  const broken = { bytes: 'data: {"broken": nonsense}\n\n', isText: false };
  return send(exchange, { ...good, pieces: [...good.pieces.slice(0, middle), broken, ...good.pieces.slice(middle)] });
}

function misshape(exchange: Exchange): Promise<void> {
  const json = '{"unexpected":["shape"]}';
  return send(exchange, { ...exchange.good, pieces: [{ bytes: exchange.ask.isStream ? `data: ${json}\n\n` : json, isText: false }] });
}

function hintFirst(exchange: Exchange): Promise<void> {
  exchange.wire.response.writeProcessing();
  exchange.wire.response.writeEarlyHints({ link: '</sandbox>; rel=preload' });
  return send(exchange, exchange.good);
}

/** A stream with each piece written differently; a whole reply as it is. */
function respelled({ ask, good }: Exchange, respell: (bytes: string, index: number) => string): Reply {
  if (!ask.isStream) return good;
  return { ...good, pieces: good.pieces.map(({ bytes, isText }, index) => ({ bytes: respell(bytes, index), isText })) };
}

async function closeWhenIdle(exchange: Exchange): Promise<void> {
  const { socket } = exchange.wire.response;
  await send(exchange, exchange.good);
  setTimeout(() => socket?.end(), 5).unref();
}

async function sendPadded({ wire, good }: Exchange, paddingBytes: number, writeBytes: number): Promise<void> {
  const text = textOf(good);
  const at = text.indexOf('{') + 1;
  const padding = '0'.repeat(writeBytes);
  wire.head(good.status, good.headers);
  await wire.write(`${text.slice(0, at)}"padding":"`);
  for (let sent = 0; sent < paddingBytes; sent += writeBytes) if (!(await wire.write(padding))) return;
  await wire.write(`",${text.slice(at)}`);
  await wire.end();
}

async function flood(exchange: Exchange): Promise<void> {
  const { ask, good, wire } = exchange;
  if (!ask.isStream) return sendPadded(exchange, 200 * MIB, BLOCK_BYTES);
  const firstText = good.pieces.findIndex(({ isText }) => isText);
  const piece = good.pieces[firstText]?.bytes ?? '';
  const block = Buffer.from(piece.repeat(Math.ceil(BLOCK_BYTES / Math.max(1, piece.length))));
  await begin(exchange, textOf({ ...good, pieces: good.pieces.slice(0, firstText) }));
  for (let sent = 0; sent < 200 * MIB; sent += block.length) if (!(await wire.write(block))) return;
  await wire.write(textOf({ ...good, pieces: good.pieces.slice(firstText) }));
  await wire.end();
}
