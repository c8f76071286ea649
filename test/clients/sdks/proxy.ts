/** Stands between a client and the gateway, keeps what passes, and can end in order what the gateway breaks off. */

import { createServer, request as sendRequest } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Exchange = {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** As far as it came. */
  readonly answer: string;
};

export type Proxy = {
  readonly url: string;
  /** Since the last call of this. */
  takeExchanges(): readonly Exchange[];
  close(): void;
};

/** With `isOrderly` the ending is all that differs from the gateway's own answers. */
export async function startProxy(target: string, { isOrderly }: { readonly isOrderly: boolean }): Promise<Proxy> {
  let exchanges: Exchange[] = [];
  const server = createServer((request, response) => {
    const { method, headers, url: path = '/' } = request;
    const exchange = { path, headers, body: '', answer: '' };
    exchanges.push(exchange);
    const onward = sendRequest(target + path, { method, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, { ...answer.headers, connection: 'close' });
      answer.setEncoding('utf8').on('data', (more: string) => {
        exchange.answer += more;
        response.write(more);
      });
      answer.on('error', () => undefined).on('close', () => (answer.complete || isOrderly ? response.end() : response.destroy()));
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.setEncoding('utf8').on('data', (more: string) => {
      exchange.body += more;
      onward.write(more);
    });
    request.on('end', () => onward.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    takeExchanges() {
      const taken = exchanges;
      exchanges = [];
      return taken;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
