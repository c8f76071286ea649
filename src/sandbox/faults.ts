/**
 * What can go wrong with a provider, by model name: statuses, errors inside a stream, and connections that stall, break
 * or never end. Every fault is a row; the rest of the answer is what `fake-chat` would say.
 */

import { gzipSync } from 'node:zlib';
import { DONE } from './openai-chat/reply.ts';
import { Complaint } from './protocol.ts';
import type { Ask, Piece, Protocol, Reply } from './protocol.ts';
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

/** One way to fail. */
export type Fault = {
  readonly meaning: string;
  /** Resolves when the sandbox is through with the exchange; `n` is the number in the model's name. */
  readonly act: (exchange: Exchange, n: number) => Promise<void>;
};

const MIB = 1024 * 1024;
const BLOCK_BYTES = 64 * 1024;
const BIG_HEADER = { 'x-padding': '0'.repeat(100 * 1024) };
const HTML: Reply = { status: 200, headers: { 'content-type': 'text/html' }, pieces: [plain('<html><body>Welcome to the proxy.</body></html>')] };

/** The faults by model name; an `N` in a name stands for a number. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  // Failures that the provider reports.
  'fake-status-NNN': { meaning: 'fails with that status and its error body; 429 with a second to wait', act: (x, n) => failWithStatus(x, n, 1) },
  'fake-status-429-after-N': { meaning: 'fails with 429 and asks for N seconds of patience', act: (x, n) => failWithStatus(x, 429, n) },
  'fake-quota': { meaning: 'the account has nothing left to spend', act: (x) => fail(x, x.protocol.quotaExhausted) },
  'fake-overloaded': { meaning: 'overloaded: its status, or in a stream a 200 whose first event is the error', act: overload },
  'fake-error-mid': { meaning: 'an error event after some text; 500 when not streamed', act: failMid },
  'fake-echo-key': { meaning: '401 whose message repeats the key', act: (x) => fail(x, new Complaint(401, `Incorrect API key provided: ${x.key}.`)) },
  'fake-flaky-N': { meaning: 'the first N calls with the same last user text fail with 503, later ones succeed', act: (x, n) => (x.askedCount() > n ? send(x, x.good) : fail(x, new Complaint(503, 'Not yet.'))) },

  // Time.
  'fake-late-N': { meaning: 'waits N ms before the headers', act: (x, n) => x.wire.pause(n).then(() => send(x, x.good)) },
  'fake-slow-N': { meaning: 'waits N ms before each piece of text', act: ({ wire, good }, n) => sendReply(wire, good, n) },
  'fake-drip': { meaning: 'a byte every 100 ms', act: drip },
  'fake-stall': { meaning: 'accepts the request and never answers', act: ({ wire }) => wire.closed() },
  'fake-stall-headers': { meaning: 'sends the headers and falls silent', act: after(() => '', (wire) => wire.closed()) },
  'fake-stall-mid': { meaning: 'falls silent after some text', act: after(half, (wire) => wire.closed()) },

  // Replies that end too early.
  'fake-truncate': { meaning: 'ends in the middle, cleanly as far as HTTP can tell', act: after(half, (wire) => wire.end()) },
  'fake-truncate-at-N': { meaning: 'ends after N bytes of the body, cleanly as far as HTTP can tell', act: after(bytesOf, (wire) => wire.end()) },
  'fake-close-mid': { meaning: 'closes the connection after some text', act: after(half, (wire) => wire.hangUp()) },
  'fake-reset': { meaning: 'resets the connection before the headers', act: async ({ wire }) => wire.reset() },
  'fake-reset-mid': { meaning: 'resets the connection after some text', act: after(half, (wire) => wire.reset()) },
  'fake-reset-at-N': { meaning: 'resets the connection after N bytes of the body', act: after(bytesOf, (wire) => wire.reset()) },
  'fake-short-length': { meaning: 'announces a longer body than it sends', act: announceTooMuch },
  'fake-no-done': { meaning: 'leaves out the `[DONE]` line, which only OpenAI has', act: instead((good) => ({ ...good, pieces: good.pieces.filter(({ bytes }) => bytes !== DONE) })) },

  // Replies that are none.
  'fake-bad-chunk': { meaning: 'breaks the chunked encoding after some text', act: after(half, breakChunks) },
  'fake-html': { meaning: '200 with an HTML page', act: instead(() => HTML) },
  'fake-empty-body': { meaning: '200 without a body', act: instead((good) => ({ ...good, pieces: [] })) },
  'fake-204': { meaning: '204', act: instead(() => ({ status: 204, headers: {}, pieces: [] })) },
  'fake-101': { meaning: 'switches protocols though nobody asked', act: switchProtocols },
  'fake-redirect': { meaning: '307 to another origin', act: instead((_good, { otherOrigin }) => ({ status: 307, headers: { location: `${otherOrigin}/elsewhere` }, pieces: [] })) },
  'fake-gzip': { meaning: 'a compressed body though nobody asked', act: compress },
  'fake-malformed': { meaning: 'broken JSON; in a stream, one broken event', act: instead(malformed) },
  'fake-wrong-shape': { meaning: 'JSON of another shape', act: instead(misshapen) },

  // Replies that are good but unusual.
  'fake-early-hints': { meaning: '102 and 103 before a good reply', act: hintFirst },
  'fake-crlf': { meaning: 'a good stream with CRLF line ends and a byte order mark', act: instead(withCrlf) },
  'fake-comments': { meaning: 'a good stream with comments, further fields, and no space after `data:`', act: instead(withComments) },
  'fake-close-idle': { meaning: 'a good reply, and the idle connection is closed 5 ms later', act: closeWhenIdle },

  // Too much. All of it waits for a slow peer.
  'fake-big-headers': { meaning: '100 KB of response headers', act: instead((good) => ({ ...good, headers: { ...good.headers, ...BIG_HEADER } })) },
  'fake-huge': { meaning: 'one JSON value that goes on for 256 MiB', act: (x) => sendPadded(x, 256 * MIB, BLOCK_BYTES) },
  'fake-long-line': { meaning: 'a good reply with 10 MiB of padding in its first object, 1400 bytes a write', act: (x) => sendPadded(x, 10 * MIB, 1400) },
  'fake-flood': { meaning: 'a good stream with 200 MiB of text; padding when not streamed', act: flood },
};

/** Sends some of the good reply, lets the peer read it, then ends as told. */
function after(part: (good: Reply, n: number, wire: Wire) => string | Uint8Array, end: (wire: Wire) => void | Promise<void>): Fault['act'] {
  return async (exchange, n) => {
    await begin(exchange, part(exchange.good, n, exchange.wire));
    await exchange.wire.settle();
    await end(exchange.wire);
  };
}

/** Sends another reply instead of the good one. */
function instead(change: (good: Reply, exchange: Exchange) => Reply): Fault['act'] {
  return (exchange) => send(exchange, change(exchange.good, exchange));
}

function send({ wire, tokenDelayMs }: Exchange, reply: Reply): Promise<void> {
  return sendReply(wire, reply, tokenDelayMs);
}

/** Sends the headers and some of the body. */
async function begin({ wire, good }: Exchange, body: string | Uint8Array): Promise<void> {
  wire.head(good.status, good.headers);
  await wire.write(body);
}

function plain(bytes: string): Piece {
  return { bytes, isText: false };
}

function textOf(pieces: readonly Piece[]): string {
  return pieces.map(({ bytes }) => bytes).join('');
}

function bytesOf({ pieces }: Reply, length: number, wire: Wire): Uint8Array {
  return wire.encode(textOf(pieces)).subarray(0, length);
}

/** A stream up to its second piece of text; half of a whole body. */
function half({ pieces }: Reply): string {
  const text = textOf(pieces);
  return pieces.length === 1 ? text.slice(0, text.length / 2) : textOf(pieces.slice(0, middleOf(pieces)));
}

function middleOf(pieces: readonly Piece[]): number {
  const texts = pieces.flatMap(({ isText }, index) => (isText ? [index + 1] : []));
  return texts[1] ?? texts[0] ?? Math.floor(pieces.length / 2);
}

function fail(exchange: Exchange, complaint: Complaint): Promise<void> {
  return send(exchange, exchange.protocol.renderComplaint(complaint));
}

function failWithStatus(exchange: Exchange, n: number, retryAfterS: number): Promise<void> {
  const status = n >= 200 && n <= 599 ? n : 500;
  const more = status === 429 ? { retryAfterS } : {};
  return fail(exchange, new Complaint(status, `The sandbox was asked to fail with status ${status}.`, more));
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
  await begin(exchange, half(good));
  await wire.settle();
  await wire.write(protocol.renderErrorEvent(complaint));
  await wire.end();
}

async function drip(exchange: Exchange): Promise<void> {
  const { wire, good } = exchange;
  wire.head(good.status, good.headers);
  for (const byte of wire.encode(textOf(good.pieces))) {
    await wire.pause(100);
    if (!(await wire.write(Uint8Array.of(byte)))) return;
  }
  await wire.end();
}

/** A whole body is whole, so that only its length tells; a stream is cut before its own end. */
async function announceTooMuch({ ask, wire, good }: Exchange): Promise<void> {
  wire.head(good.status, { ...good.headers, 'content-length': String(wire.encode(textOf(good.pieces)).length + 100) });
  await wire.write(ask.isStream ? half(good) : textOf(good.pieces));
  wire.hangUp();
}

async function breakChunks(wire: Wire): Promise<void> {
  await wire.writeRaw('this is no chunk\r\n');
  wire.hangUp();
}

async function switchProtocols({ wire }: Exchange): Promise<void> {
  await wire.writeRaw('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: sandbox\r\n\r\n');
  wire.hangUp();
}

async function compress({ wire, good }: Exchange): Promise<void> {
  wire.head(good.status, { ...good.headers, 'content-encoding': 'gzip' });
  await wire.write(gzipSync(wire.encode(textOf(good.pieces))));
  await wire.end();
}

function malformed(good: Reply, { ask }: Exchange): Reply {
  if (!ask.isStream) return { ...good, pieces: [plain(`${half(good)} nonsense`)] };
  const middle = middleOf(good.pieces);
  const broken = plain('data: {"broken": nonsense}\n\n');
  return { ...good, pieces: [...good.pieces.slice(0, middle), broken, ...good.pieces.slice(middle)] };
}

function misshapen(good: Reply, { ask }: Exchange): Reply {
  const json = '{"unexpected":["shape"]}';
  return { ...good, pieces: [plain(ask.isStream ? `data: ${json}\n\n` : json)] };
}

function withCrlf(good: Reply, { ask }: Exchange): Reply {
  if (!ask.isStream || good.isBinary === true) return good;
  const [first, ...others] = good.pieces.map((piece) => ({ ...piece, bytes: piece.bytes.replaceAll(/\r?\n/g, '\r\n') }));
  return { ...good, pieces: [{ isText: false, bytes: `\uFEFF${first?.bytes ?? ''}` }, ...others] };
}

function withComments(good: Reply, { ask }: Exchange): Reply {
  if (!ask.isStream || good.isBinary === true) return good;
  const respell = (bytes: string): string => `: a comment\nid: 1\nretry: 10\n${bytes.replace('data: ', 'data:')}`;
  return { ...good, pieces: good.pieces.map((piece) => ({ ...piece, bytes: respell(piece.bytes) })) };
}

function hintFirst(exchange: Exchange): Promise<void> {
  exchange.wire.response.writeProcessing();
  exchange.wire.response.writeEarlyHints({ link: '</sandbox>; rel=preload' });
  return send(exchange, exchange.good);
}

async function closeWhenIdle(exchange: Exchange): Promise<void> {
  const { socket } = exchange.wire.response;
  await send(exchange, exchange.good);
  setTimeout(() => socket?.end(), 5).unref();
}

async function sendPadded({ wire, good }: Exchange, paddingBytes: number, writeBytes: number): Promise<void> {
  const text = textOf(good.pieces);
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
  const block = wire.encode(piece.repeat(Math.ceil(BLOCK_BYTES / Math.max(1, piece.length))));
  await begin(exchange, textOf(good.pieces.slice(0, firstText)));
  for (let sent = 0; sent < 200 * MIB; sent += block.length) if (!(await wire.write(block))) return;
  await wire.write(textOf(good.pieces.slice(firstText)));
  await wire.end();
}
