/**
 * A provider made of bare sockets: it answers with exactly the bytes, pauses and resets that a test says, which no HTTP
 * library would send.
 */

import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import type { TestContext } from 'node:test';

/** One request as it came: the head with its CRLFs, and the body that its content-length announced. */
export type RawRequest = {
  readonly head: string;
  readonly body: string;
  /** Which request of this connection, from 1. */
  readonly numberOnConnection: number;
};

export type RawServer = {
  readonly baseUrl: URL;
  /** Every request, in order of arrival. */
  readonly requests: RawRequest[];
  /** Connections accepted so far. */
  connections(): number;
  /** Connections still open. */
  openSockets(): number;
  /** Resolves once this many connections have closed. */
  closed(count: number): Promise<void>;
  /** Resolves when this many requests have arrived. */
  arrived(count: number): Promise<void>;
};

export type TlsVersion = 'TLSv1.2' | 'TLSv1.3';

export type RawHandlers = {
  /** A whole request is in. */
  readonly onRequest?: (socket: net.Socket, request: RawRequest) => void;
  /** A connection is open (with TLS: the handshake is done). */
  readonly onConnection?: (socket: net.Socket) => void;
  /** Key and certificate in PEM: speaks TLS. */
  readonly certificate?: { readonly key: string; readonly cert: string };
  /** With TLS: whether its callers must have a certificate. */
  readonly wantsCertificate?: boolean;
  /** With TLS: the newest version that it speaks. */
  readonly maxVersion?: TlsVersion;
};

/** Listens on a free port of the loopback; closes with the test. */
export async function startRawServer(t: TestContext, handlers: RawHandlers): Promise<RawServer> {
  const sockets = new Set<net.Socket>();
  const requests: RawRequest[] = [];
  const waiting: (() => void)[] = [];
  let connections = 0;
  const changed = (): void => waiting.splice(0).forEach((wake) => wake());
  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await new Promise<void>((wake) => waiting.push(wake));
  };
  const accept = (socket: net.Socket): void => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      changed();
    });
    handlers.onConnection?.(socket);
    if (handlers.onRequest !== undefined) readRequests(socket, handlers.onRequest);
    // A socket that nobody reads does not notice that the other side closed it.
    else if (socket.listenerCount('data') === 0) socket.resume();
  };
  const readRequests = (socket: net.Socket, onRequest: (socket: net.Socket, request: RawRequest) => void): void => {
    let buffered = Buffer.alloc(0);
    let numberOnConnection = 0;
    socket.on('data', (chunk: Buffer) => {
      buffered = Buffer.concat([buffered, chunk]);
      for (let end = requestEnd(buffered); end !== undefined; end = requestEnd(buffered)) {
        const text = buffered.toString('latin1', 0, end);
        const bodyAt = text.indexOf('\r\n\r\n') + 4;
        numberOnConnection += 1;
        const request = { head: text.slice(0, bodyAt), body: text.slice(bodyAt), numberOnConnection };
        buffered = buffered.subarray(end);
        requests.push(request);
        onRequest(socket, request);
        changed();
      }
    });
  };
  const { certificate, wantsCertificate = false, maxVersion = 'TLSv1.3' } = handlers;
  const server =
    certificate === undefined
      ? net.createServer({ noDelay: true }, accept)
      : tls.createServer({ key: certificate.key, cert: certificate.cert, requestCert: wantsCertificate, maxVersion }, accept).on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as net.AddressInfo;
  return {
    baseUrl: new URL(certificate === undefined ? `http://127.0.0.1:${port}` : `https://127.0.0.1:${port}`),
    requests,
    connections: () => connections,
    openSockets: () => sockets.size,
    closed: (count) => until(() => connections - sockets.size >= count),
    arrived: (count) => until(() => requests.length >= count),
  };
}

/** Where the first request in the bytes ends, undefined while it is not whole. */
function requestEnd(bytes: Buffer): number | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const announced = /^content-length: (\d+)/im.exec(bytes.toString('latin1', 0, headEnd))?.[1];
  const end = headEnd + 4 + Number(announced ?? 0);
  return bytes.length >= end ? end : undefined;
}

/** A 200 with a content-length, as one string. */
export function okResponse(body: string, headers = ''): string {
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** The head of a 200 with a chunked body. */
export const CHUNKED_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';

/** One chunk of a chunked body. */
export function chunkOf(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

export const LAST_CHUNK = '0\r\n\r\n';

let heldPort: Promise<number> | undefined;

/** A URL on which nothing listens, nor will while this process lives. */
export async function closedBaseUrl(): Promise<URL> {
  heldPort ??= holdPort();
  return new URL(`http://127.0.0.1:${await heldPort}`);
}

/** The caller's port of a connection that stays open: no other process is given it to listen on, as it is one that was closed. */
async function holdPort(): Promise<number> {
  const server = net.createServer((socket) => socket.unref()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = net.connect((server.address() as net.AddressInfo).port, '127.0.0.1');
  await Promise.all([once(socket, 'connect'), once(server, 'connection')]);
  server.close();
  socket.unref();
  return socket.localPort ?? 0;
}

/** A port that was free a moment ago: another process may be given it before it is used. */
export async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
