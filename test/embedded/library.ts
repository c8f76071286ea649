/** A gateway as a library, in front of an upstream that answers as a test says. */

import type { TestContext } from 'node:test';
import { createGateway } from '../../src/index.ts';
import type { Gateway, GatewayOptions } from '../../src/index.ts';
import { startUpstream } from '../faults/upstream.ts';

export type Line = Readonly<Record<string, unknown>>;
export const TOKEN = 'a-caller-token-for-tests';
export const HELLO = { model: 'm1', messages: [{ role: 'user', text: 'Hello' }] } as const;

export type Library = { readonly gateway: Gateway; readonly lines: readonly Line[] };

/** With an OpenAI-compatible host at `origin`; what it logs is collected. */
export function library(t: Pick<TestContext, 'after'>, origin: string, options: Partial<GatewayOptions> = {}): Library {
  const lines: Line[] = [];
  const take = (level: string) => (message: string, fields: object = {}) => void lines.push({ level, message, ...fields });
  const gateway = createGateway({
    providers: { compat: { baseUrl: origin } },
    log: { debug: take('debug'), info: take('info'), warn: take('warn'), error: take('error') },
    retryBaseDelay: 1,
    retryMaxDelay: 1,
    drainDelay: 0,
    ...options,
  });
  t.after(() => gateway.close());
  return { gateway, lines };
}

/** With a host that answers every chat with this body, and says how often it was asked. */
export async function answered(t: TestContext, body: string, options: Partial<GatewayOptions> = {}): Promise<Library & { readonly calls: () => number }> {
  const upstream = await startUpstream(t, (response) => response.end(body));
  return { ...library(t, upstream.origin, options), calls: upstream.calls };
}

/** The rejection of a promise. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (thrown) {
    return thrown;
  }
  throw new Error('it did not reject');
}

/** A signal by hand, whose reason is known. */
export function abortable(): { readonly signal: AbortSignal; abort(): void; readonly reason: Error } {
  const controller = new AbortController();
  const reason = new Error('no longer wanted');
  return { signal: controller.signal, abort: () => controller.abort(reason), reason };
}
