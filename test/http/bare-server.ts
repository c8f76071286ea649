/** The inbound server alone, in front of a gateway that the test makes up. */

import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { createLog } from '../../src/base/log.ts';
import { DIALECTS } from '../../src/callers/index.ts';
import { loadConfig } from '../../src/config/config.ts';
import type { UpstreamCall } from '../../src/core/adapter.ts';
import { Failure } from '../../src/core/failure.ts';
import type { Routing } from '../../src/core/route.ts';
import type { Gateway, WholeReply } from '../../src/gateway/gateway.ts';
import { Admission } from '../../src/http/admission.ts';
import { Exchanges } from '../../src/http/exchanges.ts';
import { createHandler } from '../../src/http/handler.ts';
import { ModelLists } from '../../src/http/model-lists.ts';
import type { ServerParts } from '../../src/http/parts.ts';
import { createServer } from '../../src/http/server.ts';
import type { ConnectionLimits, GatewayServer } from '../../src/http/server.ts';
import { Limits } from '../../src/limits/limiter.ts';
import { createMemoryStore } from '../../src/limits/memory.ts';
import { createMetrics } from '../../src/metrics.ts';
import { compatRow, PROVIDER_ROWS } from '../../src/providers/index.ts';
import { TOKEN } from '../running-gateway.ts';

type Settings = {
  readonly gateway?: Partial<Gateway>;
  readonly limits?: ConnectionLimits;
  readonly admission?: Admission;
  readonly routing?: Routing;
  readonly callerLimits?: Limits;
  readonly environment?: Readonly<Record<string, string>>;
  /** Connections are accepted by another server, as by another process, and handed to this one. */
  readonly isHandedOver?: true;
  readonly isDraining?: boolean;
};

export type BareServer = {
  readonly url: string;
  readonly server: GatewayServer;
  readonly exchanges: Exchanges;
  readonly admission: Admission;
  readonly logLines: readonly Readonly<Record<string, unknown>>[];
  metricsPage(): string;
};

export type BareParts = { readonly parts: ServerParts; readonly logLines: readonly Readonly<Record<string, unknown>>[] };

/** What exchanges are served with. */
export function createParts(settings: Settings): BareParts {
  const environment = { GATEWAY_AUTH_TOKEN: TOKEN, GATEWAY_COMPAT_BASE_URL: 'http://127.0.0.1:1', ...settings.environment };
  const { config, problems } = loadConfig(environment, PROVIDER_ROWS, compatRow, () => {
    throw new Error('no files in this test');
  });
  if (config === undefined) throw new Error(problems.join('\n'));
  const logLines: Record<string, unknown>[] = [];
  const log = createLog({
    level: 'debug',
    format: 'json',
    write: (line) => void logLines.push(JSON.parse(line) as Record<string, unknown>),
  });
  const metrics = createMetrics({ version: 'test', logLinesDropped: () => 0, upstreamSockets: () => 0, pageMs: 0 });
  const admission = settings.admission ?? new Admission(config.concurrentMax, () => false);
  const gateway = { complete: unexpected, stream: unexpected, count: unexpected, models: unexpected, ...settings.gateway };
  const parts: ServerParts = {
    config: { ...config, routing: settings.routing ?? config.routing },
    providers: new Map(config.providers.map((provider) => [provider.name, provider])),
    gateway,
    modelLists: new ModelLists({ ask: gateway.models, onFailure: () => {}, requestTimeoutMs: config.requestTimeoutMs, now: () => performance.now() }),
    metrics,
    metricsPage: () => metrics.renderPage(),
    admission,
    limits: settings.callerLimits ?? new Limits(createMemoryStore(() => performance.now()), () => performance.now()),
    log,
    isDraining: () => settings.isDraining === true,
    authenticate: undefined,
    callerLabel: (label: string) => label,
    presentable: <T>(failure: T) => failure,
    sentence: (failure: Failure) => failure.message,
    redacted: (text: string) => text,
    dialects: DIALECTS,
  };
  return { parts, logLines };
}

export async function startServer(t: TestContext, settings: Settings): Promise<BareServer> {
  const { parts, logLines } = createParts(settings);
  const { admission, metrics } = parts;
  const exchanges = new Exchanges();
  const server = createServer(() => parts, createHandler(() => parts, exchanges), settings.limits);
  const listener = settings.isHandedOver === true ? createTcpServer((socket) => server.take(socket)) : server.server;
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    listener.close();
    server.server.close();
    server.server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  return {
    url,
    server,
    exchanges,
    admission,
    get logLines() {
      exchanges.report();
      return logLines;
    },
    metricsPage() {
      exchanges.report();
      return metrics.renderPage();
    },
  };
}

function unexpected(): never {
  throw new Error('the gateway was not to be asked');
}

/** A gateway's part that answers each chat with what `replyTo` makes of its first candidate's call. */
export function completing(replyTo: (call: UpstreamCall) => WholeReply | Promise<WholeReply>): Gateway['complete'] {
  return async ({ candidates: [candidate] }) => {
    const call = candidate.call();
    return { candidate, result: call instanceof Failure ? call : await replyTo(call) };
  };
}
