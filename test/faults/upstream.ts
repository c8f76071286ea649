/** An upstream whose every answer a test writes by hand, and what these tests share. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { RunningGateway } from '../running-gateway.ts';

export type Upstream = {
  readonly origin: string;
  /** Requests so far. */
  calls(): number;
  connections(): number;
};

/** Listens on a free port of the loopback; closes with the test. A request's body is read before it is answered. */
export async function startUpstream(
  t: TestContext,
  answer: (response: ServerResponse, request: IncomingMessage, body: string) => void,
): Promise<Upstream> {
  let calls = 0;
  let connections = 0;
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      calls += 1;
      answer(response, request, body);
    });
  });
  server.on('connection', () => (connections += 1));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: () => calls,
    connections: () => connections,
  };
}

/** Settings that put the three vendors' protocols in front of one upstream. */
export function environmentFor(upstream: Upstream): Record<string, string> {
  return { ANTHROPIC_BASE_URL: upstream.origin, OPENAI_BASE_URL: upstream.origin, GEMINI_BASE_URL: upstream.origin };
}

export const PROVIDERS = ['anthropic', 'openai', 'gemini'] as const;
export const PATHS = ['/v1/chat', '/v1/chat/stream'] as const;

/** A good whole reply of the Chat Completions format. */
export const GOOD_REPLY = JSON.stringify({
  id: 'c1',
  model: 'm1',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Good.' }, finish_reason: 'stop' }],
});

export function answerJson(response: ServerResponse, status: number, body: string, headers: Record<string, string | string[]> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(body);
}

/** The samples of one metric, e.g. `{limit="GATEWAY_ATTEMPT_TIMEOUT"} 7`. */
export async function samplesOf(gateway: RunningGateway, metric: string): Promise<readonly string[]> {
  const page = await (await gateway.get('/metrics')).text();
  return page.split('\n').filter((line) => line.startsWith(`${metric}{`)).map((line) => line.slice(metric.length));
}

/** Runs `task` with every number from 0 to `count` - 1, `width` at a time. */
export async function inParallel(count: number, width: number, task: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      await task(next - 1);
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
}

/** Collects the names of warnings that the process emits until the test ends, e.g. of a timer that is too long. */
export function watchWarnings(t: TestContext): readonly string[] {
  const names: string[] = [];
  const onWarning = (warning: Error): void => void names.push(warning.name);
  process.on('warning', onWarning);
  t.after(() => process.off('warning', onWarning));
  return names;
}
