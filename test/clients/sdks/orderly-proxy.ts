/** Stands between a client and the gateway and ends every answer in order, so that the ending is all that differs. */

import { createServer, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';

export type OrderlyProxy = {
  readonly url: string;
  /** The body of the last answer. */
  lastBody(): string;
  close(): void;
};

export async function startOrderlyProxy(target: string): Promise<OrderlyProxy> {
  let body = '';
  const server = createServer((request, response) => {
    body = '';
    const { method, headers } = request;
    const onward = sendRequest(target + (request.url ?? '/'), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.setEncoding('utf8').on('data', (more: string) => {
        body += more;
        response.write(more);
      });
      answer.on('error', () => undefined).on('close', () => response.end());
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lastBody: () => body,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
