/**
 * The wiring: the only file that sees every layer, and what an embedder imports.
 *
 * `createApp` reads no environment, installs no signal handler and never exits the process.
 */

import type { AddressInfo } from 'node:net';
import type { Log } from './base/log.ts';
import { bounded, createRedactor } from './base/redact.ts';
import type { Config } from './config.ts';
import type { Provider } from './core/adapter.ts';
import { Failure } from './core/failure.ts';
import { createGateway } from './gateway.ts';
import { Admission } from './http/chat.ts';
import { createServer } from './http/server.ts';
import type { GatewayServer } from './http/server.ts';
import { createMetrics } from './metrics.ts';
import { createFetchTransport } from './upstream/fetch.ts';
import { createHttpTransport } from './upstream/http.ts';
import type { Transport } from './upstream/transport.ts';

/** Longest piece of a provider's prose that reaches a log line or, where allowed, a caller. */
const DETAIL_CHARS_MAX = 500;
/** Of longer prose only this much is searched for secrets: masking 64 KB with 30 keys takes 65 ms. */
const MASKED_CHARS_MAX = 8 * DETAIL_CHARS_MAX;
/** After the grace: time for the last error frames to leave. */
const LAST_WORDS_MS = 500;

/** What the app takes from outside. */
export type AppSurroundings = {
  readonly log: Log;
  readonly version: string;
  readonly logLinesDropped: () => number;
  /** A PEM certificate and its key: the server then speaks HTTPS. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** Instead of the transport that the configuration names: an own `fetch`, or a mock. */
  readonly fetch: typeof fetch | undefined;
};

export type App = {
  /** Starts serving; resolves with where, e.g. `http://127.0.0.1:8080`. Rejects when the address cannot be had. */
  listen(): Promise<string>;
  /**
   * Stops serving: unready at once, the listener closed after the drain delay, then waits for what is in flight. Resolves
   * true when everything finished by itself, false when the grace ended first. A second call waits for the first.
   */
  drain(): Promise<boolean>;
  /** Ends everything now. */
  close(): void;
};

export function createApp(config: Config, surroundings: AppSurroundings): App {
  const { log } = surroundings;
  const transport: Transport =
    surroundings.fetch !== undefined || config.transport === 'fetch'
      ? createFetchTransport(surroundings.fetch)
      : createHttpTransport({ onStaleRetry: (provider) => metrics.staleSocket(provider) });
  const metrics = createMetrics({
    version: surroundings.version,
    logLinesDropped: surroundings.logLinesDropped,
    upstreamSockets: () => transport.openSockets?.() ?? 0,
  });
  const redact = createRedactor(secretsOf(config));
  const redacted = (text: string): string => bounded(redact(text.slice(0, MASKED_CHARS_MAX)), DETAIL_CHARS_MAX);
  const gateway = createGateway(
    {
      connectTimeoutMs: config.connectTimeoutMs,
      attemptTimeoutMs: config.attemptTimeoutMs,
      streamIdleTimeoutMs: config.streamIdleTimeoutMs,
      retryPolicy: {
        retriesMax: config.retriesMax,
        baseDelayMs: config.retryBaseDelayMs,
        maxDelayMs: config.retryMaxDelayMs,
        retryAfterCapMs: config.retryAfterCapMs,
      },
    },
    transport,
    metrics,
    (provider, attempt, failure) => {
      if (log.isEnabled('debug')) log.debug('attempt', { provider, attempt, outcome: failure?.message ?? 'success' });
    },
  );
  let isDraining = false;
  const server = createServer(
    {
      config,
      providers: new Map<string, Provider>(config.providers.map((provider) => [provider.name, provider])),
      gateway,
      metrics,
      admission: new Admission(config.concurrentMax),
      log,
      isDraining: () => isDraining,
      presentable: (failure) => (config.forwardsErrorMessages ? withProse(failure, redacted) : failure),
      redacted,
    },
    surroundings.tls,
  );
  let drained: Promise<boolean> | undefined;

  async function drainOnce(): Promise<boolean> {
    isDraining = true;
    await delay(config.drainDelayMs);
    server.server.close();
    server.server.closeIdleConnections();
    const isClean = await idle(server, config.shutdownGraceMs);
    if (!isClean) {
      server.endAll('shutdown');
      await idle(server, LAST_WORDS_MS);
    }
    close();
    return isClean;
  }

  function close(): void {
    server.server.close();
    server.server.closeAllConnections();
    transport.close();
  }

  return {
    listen: () => listen(server, config, surroundings.tls === undefined ? 'http' : 'https'),
    drain: () => (drained ??= drainOnce()),
    close,
  };
}

function secretsOf(config: Config) {
  const secrets = config.callers.map((caller) => caller.token);
  if (config.metricsToken !== undefined) secrets.push(config.metricsToken);
  for (const provider of config.providers) if (provider.key !== undefined) secrets.push(provider.key);
  return secrets;
}

/** The failure with the provider's own words, masked and cut, added to its sentence; never for a rejected credential. */
function withProse(failure: Failure, redacted: (text: string) => string): Failure {
  if (failure.detail === undefined || failure.kind === 'auth') return failure;
  return new Failure(failure.kind, `${failure.message}: ${redacted(failure.detail)}`, {
    status: failure.status,
    isRetried: failure.isRetried,
    retryAfterMs: failure.retryAfterMs,
    upstreamStatus: failure.upstreamStatus,
    detail: failure.detail,
  });
}

function listen(server: GatewayServer, config: Config, scheme: string): Promise<string> {
  return new Promise((resolve, reject) => {
    server.server.once('error', reject);
    const onListening = (): void => {
      server.server.off('error', reject);
      const address = server.server.address() as AddressInfo | string;
      resolve(typeof address === 'string' ? `unix:${address}` : `${scheme}://${hostOf(address)}:${address.port}`);
    };
    if (config.listen.type === 'unix') server.server.listen(config.listen.path, onListening);
    else server.server.listen(config.listen.port, config.listen.host, onListening);
  });
}

function hostOf(address: AddressInfo): string {
  if (address.address === '::' || address.address === '0.0.0.0') return 'localhost';
  return address.family === 'IPv6' ? `[${address.address}]` : address.address;
}

/** Waits until no exchange is in flight; false when the time is over first. */
async function idle(server: GatewayServer, timeoutMs: number): Promise<boolean> {
  const endAtMs = performance.now() + timeoutMs;
  while (server.inFlight() > 0) {
    if (performance.now() >= endAtMs) return false;
    await delay(20);
  }
  return true;
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
