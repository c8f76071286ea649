/** The floor: what a proxy costs on node:http that only copies bytes. Usage: floor.ts UPSTREAM_PORT. Prints its port. */

import { Agent, createServer, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';

const port = Number(process.argv[2]);
const agent = new Agent({ keepAlive: true, scheduling: 'lifo' });

const server = createServer((incoming, response) => {
  const chunks: Buffer[] = [];
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
  incoming.on('end', () => {
    const body = Buffer.concat(chunks);
    const headers = { 'content-type': 'application/json', 'content-length': body.length };
    const outgoing = sendRequest({ host: '127.0.0.1', port, method: 'POST', path: '/v1/chat/completions', agent, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, { 'content-type': answer.headers['content-type'] ?? '' });
      answer.on('data', (chunk: Buffer) => response.write(chunk));
      answer.on('end', () => response.end());
    });
    outgoing.end(body);
  });
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
