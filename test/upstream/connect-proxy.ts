/** A small HTTP proxy on loopback: CONNECT and absolute form. Whatever host is asked for, it is found on 127.0.0.1. */

import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import type { TestContext } from 'node:test';
import type { TLSSocket } from 'node:tls';

export type ConnectProxy = {
  readonly url: URL;
  /** Method and target of every request, as it came. */
  readonly requests: readonly string[];
  readonly hosts: readonly (string | undefined)[];
  readonly authorizations: readonly (string | undefined)[];
  /** Names under which it was spoken to over TLS; false or null where none was said. */
  readonly serverNames: readonly (string | false | null)[];
  /** Resolves when this many requests have come. */
  arrived(count: number): Promise<void>;
  /** Resolves when every connection to it is closed. */
  unused(): Promise<void>;
};

export type ConnectProxyHandlers = {
  readonly certificate?: { readonly key: string; readonly cert: string };
  /** Instead of a tunnel: what is written to a socket that asked for one. */
  readonly onConnect?: (socket: net.Socket) => void;
};

export async function startConnectProxy(t: TestContext, handlers: ConnectProxyHandlers = {}): Promise<ConnectProxy> {
  const requests: string[] = [];
  const hosts: (string | undefined)[] = [];
  const authorizations: (string | undefined)[] = [];
  const serverNames: (string | false | null)[] = [];
  const sockets = new Set<net.Socket>();
  const waiting: (() => void)[] = [];
  const changed = (): void => waiting.splice(0).forEach((wake) => wake());
  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await new Promise<void>((wake) => waiting.push(wake));
  };
  const note = (request: http.IncomingMessage): void => {
    requests.push(`${request.method} ${request.url}`);
    hosts.push(request.headers.host);
    authorizations.push(request.headers['proxy-authorization']);
    changed();
  };

  const onRequest = (request: http.IncomingMessage, response: http.ServerResponse): void => {
    note(request);
    const target = new URL(request.url ?? '');
    const { 'proxy-authorization': _, ...headers } = request.headers;
    const outbound = http.request({ host: '127.0.0.1', port: target.port, method: request.method, path: target.pathname + target.search, headers });
    outbound.on('response', (inbound) => {
      response.writeHead(inbound.statusCode ?? 0, inbound.headers);
      inbound.pipe(response);
    });
    outbound.on('error', () => response.destroy());
    request.pipe(outbound);
  };
  const { certificate } = handlers;
  const server = certificate === undefined ? http.createServer(onRequest) : https.createServer({ key: certificate.key, cert: certificate.cert }, onRequest);
  server.on('secureConnection', (socket: TLSSocket) => serverNames.push(socket.servername));
  server.on('connection', (socket: net.Socket) => {
    sockets.add(socket);
    socket.on('close', () => {
      sockets.delete(socket);
      changed();
    });
  });
  server.on('connect', (request: http.IncomingMessage, socket: net.Socket) => {
    note(request);
    socket.on('error', () => socket.destroy());
    if (handlers.onConnect !== undefined) {
      // The sockets of an HTTP server stay half open.
      socket.on('end', () => socket.destroy()).resume();
      handlers.onConnect(socket);
      return;
    }
    const outbound = net.connect(Number(/:(\d+)$/.exec(request.url ?? '')?.[1]), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(outbound).pipe(socket);
    });
    outbound.on('error', () => socket.destroy());
    outbound.on('close', () => socket.destroy());
    socket.on('close', () => outbound.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as net.AddressInfo;
  return {
    url: new URL(certificate === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`),
    requests,
    hosts,
    authorizations,
    serverNames,
    arrived: (count) => until(() => requests.length >= count),
    unused: () => until(() => sockets.size === 0),
  };
}
