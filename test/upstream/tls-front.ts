/** TLS in front of a server that speaks plain HTTP on loopback. */

import { once } from 'node:events';
import net from 'node:net';
import type { TestContext } from 'node:test';
import tls from 'node:tls';

/** The port of one in front of the server at `url`, on every address of this machine; closed after the test. */
export async function startTlsFront(t: TestContext, url: string, { key, cert }: { key: string; cert: string }): Promise<string> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<net.Socket>();
  const server = tls.createServer({ key, cert }, (socket) => {
    const inner = net.connect(Number(port), hostname);
    for (const end of [socket, inner]) sockets.add(end.on('error', () => end.destroy()));
    socket.pipe(inner).pipe(socket);
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0);
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return String((server.address() as net.AddressInfo).port);
}
