/**
 * The least that a provider can be: constant bytes in the formats of Chat Completions, Responses and Messages, so that the
 * time measured is the proxy's. `upstream.ts [PORT]` prints its port.
 *
 * The model's name says what is answered. `whole`: a chat. `steady-N`: a stream without end, N tokens to a write, one write
 * each TICK_MS. A name of COSTLY_ANSWERS: that answer, whole. `idle`: the first token of a stream and nothing more. `tokens-N`: a stream of N tokens. `fragments-N`: a
 * stream of one tool call in N pieces.
 */

import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { FORMATS } from './formats.ts';
import type { Format } from './formats.ts';
import { COSTLY_ANSWERS } from './costly-answers.ts';
import type { FormatName } from './costly-answers.ts';

const TICK_MS = 10;
const TOKENS_A_WRITE = 10;

/** The streams without end: their sockets, and what each is sent. */
const steady = new Map<Socket, Buffer>();
setInterval(() => {
  for (const [socket, bytes] of steady) socket.write(bytes);
}, TICK_MS);

const formats: ReadonlyMap<string, Format> = new Map(Object.entries(FORMATS));
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const [model = '', name = ''] = request.url?.split(/[/:?]/).slice(-2) ?? [];
    const format = formats.get(name);
    const body = Buffer.concat(chunks);
    const costly = name === 'generateContent' ? model : wholeNameOf(body);
    if (format === undefined) response.writeHead(404).end();
    else if (Object.hasOwn(COSTLY_ANSWERS, costly)) answerWhole(response, costlyAnswer(costly, name as FormatName));
    else answer(request, response, format, name === 'generateContent' ? WHOLE : modelOf(body));
  });
});
server.keepAliveTimeout = 600_000;
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));

type Model = { readonly kind: string; readonly count: number };

const WHOLE: Model = { kind: 'whole', count: 0 };

/** Looked for at both ends: what is between may be large. */
function endsOf(body: Buffer): string {
  return body.length < 4096 ? body.toString('latin1') : body.toString('latin1', 0, 2048) + body.toString('latin1', body.length - 2048);
}

function wholeNameOf(body: Buffer): string {
  return /"model":"(?:[^"/]*\/)?([a-z-]+)"/.exec(endsOf(body))?.[1] ?? '';
}

const costlyAnswers = new Map<string, string>();

function costlyAnswer(name: string, format: FormatName): string {
  const key = `${name} ${format}`;
  const made = costlyAnswers.get(key) ?? COSTLY_ANSWERS[name]?.(format) ?? '';
  // One at a time: each is large.
  if (!costlyAnswers.has(key)) costlyAnswers.clear();
  costlyAnswers.set(key, made);
  return made;
}

function modelOf(body: Buffer): Model {
  const text = endsOf(body);
  const [, kind = 'whole', count = '0'] = /"model":"(?:[^"/]*\/)?([a-z]+)(?:-(\d+))?"/.exec(text) ?? [];
  return { kind, count: Number(count) };
}

function answer(request: IncomingMessage, response: ServerResponse, format: Format, { kind, count }: Model): void {
  if (kind === 'whole') {
    answerWhole(response, format.whole);
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  if (kind === 'steady') {
    response.write(format.begin);
    steady.set(request.socket, chunkOf(format.token.repeat(count)));
    request.socket.on('close', () => steady.delete(request.socket));
  } else if (kind === 'idle') {
    response.write(format.begin + format.token);
  } else if (kind === 'tokens') {
    void sendAll(response, format.begin, format.token, count, format.end);
  } else {
    void sendAll(response, format.beginCall ?? '', format.fragment ?? '', count, format.endCall ?? '');
  }
}

function answerWhole(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

/** As one chunk of a chunked body. */
function chunkOf(text: string): Buffer {
  return Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
}

async function sendAll(response: ServerResponse, begin: string, piece: string, count: number, end: string): Promise<void> {
  response.write(begin);
  for (let left = count; left > 0; left -= TOKENS_A_WRITE) {
    if (!response.write(piece.repeat(Math.min(left, TOKENS_A_WRITE)))) await new Promise((resolve) => response.once('drain', resolve));
  }
  response.end(end);
}
