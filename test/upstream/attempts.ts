/** What the transport tests share: a provider, calls, limits, and readers of outcomes. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { Secret } from '../../src/base/secret.ts';
import type { Adapter, Provider } from '../../src/core/adapter.ts';
import { Failure } from '../../src/core/failure.ts';
import { createHttpTransport } from '../../src/upstream/http.ts';
import type { OutboundCall, UpstreamResponse } from '../../src/upstream/transport.ts';
import { createWireTransport } from '../../src/upstream/wire.ts';

/** Far beyond what any test takes. */
export const LIMITS = { connectMs: 120_000, attemptMs: 120_000, idleMs: undefined } as const;

/** The transports that keep their connections themselves. */
export const SOCKET_TRANSPORTS = [['http', createHttpTransport], ['wire', createWireTransport]] as const;

export const BODY_BYTES_MAX = 1024 * 1024;

/** A provider at the address; its adapter is not the transport's business. */
export function providerAt(baseUrl: URL, fields: Partial<Provider> = {}): Provider {
  return {
    name: 'acme',
    adapter: {} as Adapter,
    baseUrl,
    keys: [{ secret: new Secret('sk-test-0123456789'), number: 1, id: 'a' }],
    keyHeader: { name: 'authorization', prefix: 'Bearer ' },
    speaks: [],
    ...fields,
  };
}

export function postCall(body = '{"n":1}', path = '/chat'): OutboundCall {
  return { method: 'POST', path, headers: { 'content-type': 'application/json' }, body };
}

export const GET_CALL: OutboundCall = { method: 'GET', path: '/models', headers: {}, body: undefined };

export function responseFrom(result: UpstreamResponse | Failure): UpstreamResponse {
  if (result instanceof Failure) assert.fail(`failed: ${result.message}`);
  return result;
}

export function failureFrom(result: unknown): Failure {
  if (!(result instanceof Failure)) assert.fail('did not fail');
  return result;
}

/** The response's body as text. */
export async function bodyText(result: UpstreamResponse | Failure): Promise<string> {
  const body = await responseFrom(result).readBody(BODY_BYTES_MAX);
  if (body instanceof Failure) assert.fail(`failed: ${body.message}`);
  return body.toString();
}

/** Until the test ends, Node takes any certificate of which nobody says otherwise. */
export function trustAnyone(t: TestContext): void {
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  t.after(() => delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']);
}

/** A promise and the function that resolves it. */
export function createGate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
