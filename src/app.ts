/**
 * The wiring: the only file that sees every layer.
 *
 * `createApp` reads no environment, installs no signal handler and never exits the process.
 */

import type { Socket } from 'node:net';
import { acceptWaiting } from './base/accept-waiting.ts';
import { engineName } from './base/engine-address.ts';
import type { Log } from './base/log.ts';
import type { Snapshot } from './base/prometheus.ts';
import { createLiveRedactor, createRedactor } from './base/redact.ts';
import { DIALECTS } from './callers/index.ts';
import type { Config } from './config/config.ts';
import { changesBetween, changesLeft, withReloaded } from './config/reload.ts';
import { secretsOf } from './config/secrets.ts';
import type { Provider } from './core/adapter.ts';
import { DEFAULT_CALLER } from './core/caller.ts';
import { rulesOf, targetName } from './core/route.ts';
import { createCalls } from './embedded/calls.ts';
import type { Calls, Gateway, Reloaded } from './embedded/types.ts';
import { createGateway } from './gateway/gateway.ts';
import { reportTransitions, watchStanding } from './gateway/standing.ts';
import { Admission, LoopHealth, watchEventLoop } from './http/admission.ts';
import { Exchanges } from './http/exchanges.ts';
import { createHandler } from './http/handler.ts';
import { listen } from './http/listen.ts';
import { MemoryHealth, watchMemory } from './http/memory.ts';
import { ModelLists } from './http/model-lists.ts';
import type { ServerParts } from './http/parts.ts';
import { createMountedHandler } from './http/mounted.ts';
import { createSentences } from './http/sentences.ts';
import { createServer } from './http/server.ts';
import { createEngineStore } from './limits/engine.ts';
import { Limits } from './limits/limiter.ts';
import { createMemoryStore } from './limits/memory.ts';
import type { LimitStore } from './limits/store.ts';
import { createMetrics } from './metrics.ts';
import type { Metrics } from './metrics.ts';
import { RoutingState } from './routing/state.ts';
import type { Transition } from './routing/transition.ts';
import { createAuthorizedTransport } from './upstream/authorized.ts';
import type { Clock } from './upstream/credentials/authorization.ts';
import { createAuthorizations } from './upstream/credentials/index.ts';
import { createFetchTransport } from './upstream/fetch.ts';
import { createHttpTransport } from './upstream/http.ts';
import { NameLookup } from './upstream/name-lookup.ts';
import { proxyFor } from './upstream/proxy.ts';
import type { Transport } from './upstream/transport.ts';
import { createWireTransport } from './upstream/wire.ts';

/** After the grace: time for the last error frames to leave. */
const LAST_WORDS_MS = 500;
/** The same for who does not want to wait. */
const SHORT_LAST_WORDS_MS = 100;
/** Once their connections are closed: time for the exchanges to be logged. */
const REPORTS_MS = 50;
const IDLE_CHECK_MS = 20;

/** What the app takes from outside. */
export type AppSurroundings = {
  readonly log: Log;
  readonly version: string;
  readonly logLinesDropped: () => number;
  /** Instead of the transport that the configuration names: an own `fetch`, or a mock. */
  readonly fetch: typeof fetch | undefined;
  /** A file's text, now; throws an error with a `code`. For what configuration names and others renew: tokens. */
  readonly readFile: (path: string) => string;
  /** By which credentials expire and signatures are dated; this machine's where absent. */
  readonly clock?: Clock;
  /** How long a page of metrics is used again; a second where absent. */
  readonly metricsPageMs?: number;
  /** Whether chats are refused while the event loop or memory of this process cannot keep up: true where absent. */
  readonly watchesLoad?: boolean;
  /** The metrics of all processes that share the address, where there are several; undefined = they cannot be had. */
  readonly metricsPage?: () => Promise<string | undefined>;
  /** Where these processes tell each other how targets and keys stand. */
  readonly transitions?: { publish(transition: Transition): void; subscribe(receive: (transition: Transition) => void): void };
  /** What these processes have in common to resume TLS sessions by. */
  readonly ticketKeys?: Buffer;
  /** The label of the caller that a request comes from, where no token says it; absent = tokens alone decide. */
  readonly authenticate?: ServerParts['authenticate'];
  /** Keeps callers' limits where no engine does, instead of this process: several share it. Closed with the app. */
  readonly limitStore?: LimitStore;
  /** The clock of callers' limits, in milliseconds: `performance.now` where absent. */
  readonly limitClock?: () => number;
};

export type App = Pick<Gateway, 'handler' | 'metricsText'> & Calls & {
  /** Starts serving, where the configuration says if nowhere else; resolves with where, e.g. `http://127.0.0.1:8080`. Rejects when the address cannot be had. */
  listen(address?: Config['listen']): Promise<string>;
  /** Serves a connection that another process accepted. */
  take(socket: Socket): void;
  /**
   * Stops serving: unready at once, the listener closed after the drain delay, then waits for what is in flight. Where another
   * process listens, `listenerClosed` says when it does no more. Resolves true when everything finished by itself, false when
   * the grace ended first. A second call waits for the first.
   */
  drain(listenerClosed?: Promise<void>): Promise<boolean>;
  /** The metrics of this process, for those of several to be added up. */
  snapshot(): Snapshot;
  /** Ends everything, also a drain, within 200 ms: open streams get their `error` event, every exchange its log line. */
  stop(): Promise<void>;
  /**
   * Takes over the tokens, keys, certificate, routes, callers' rules and new providers of a configuration that was read again,
   * at once. Requests in flight keep those they began with.
   */
  reload(next: Config): Reloaded;
  /** Ends everything now. */
  close(): void;
};

export function createApp(config: Config, surroundings: AppSurroundings): App {
  const { log } = surroundings;
  // One for all: a silent name server holds threads that everybody needs.
  const { lookup } = new NameLookup();
  const createTransport = config.transport === 'wire' ? createWireTransport : createHttpTransport;
  const plainTransport: Transport =
    surroundings.fetch !== undefined || config.transport === 'fetch'
      ? createFetchTransport(surroundings.fetch)
      : createTransport({
          // Token endpoints are called over it too, and are no providers.
          onStaleRetry: (provider) => void (parts.providers.has(provider) && metrics.staleSocket(provider)),
          lookup,
          proxyFor: (baseUrl) => proxyFor(config.proxy, baseUrl),
          // Each caller's connection has one exchange, and that one socket at a time.
          socketsMax: config.connectionsMax,
        });
  const authorizations = createAuthorizations({
    internet: plainTransport,
    readFile: surroundings.readFile,
    clock: surroundings.clock ?? { now: () => performance.now(), wall: Date.now },
    onFailure: (names, failure) => log.warn('no credentials for a provider can be obtained', { provider: names.join(', '), kind: failure.kind, error: parts.sentence(failure) }),
  });
  authorizations.replace(config.providers);
  const redactLive = createLiveRedactor(authorizations.secrets);
  const transport = createAuthorizedTransport(plainTransport, authorizations.of);
  const metrics = createMetrics({
    version: surroundings.version,
    logLinesDropped: surroundings.logLinesDropped,
    upstreamSockets: () => transport.openSockets(),
    limitsUsed: () => limits.used((caller) => rulesOf(parts.config.routing, caller)?.limits),
    pageMs: surroundings.metricsPageMs,
  });
  const reportTransition = reportTransitions(metrics, log);
  const routing = new RoutingState({ now: () => performance.now(), random: Math.random }, config.retryAfterCapMs, (transition) => {
    reportTransition(transition);
    surroundings.transitions?.publish(transition);
  });
  surroundings.transitions?.subscribe((transition) => routing.apply(transition));
  watchStanding(metrics, routing, () => {
    const { config: current, providers } = parts;
    const targets = new Set([...current.routing.routes.values()].flatMap((route) => route.targets.map(targetName)));
    return {
      hasTarget: (target) => targets.has(targetName(target)),
      hasKey: (provider, id) => providers.get(provider)?.keys.some((key) => key.id === id) === true,
    };
  });
  const limits = limitsFrom(config, surroundings, metrics, lookup);
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
    (record, attempt, attemptMs, failure, provider) => {
      if (!log.isEnabled('debug')) return;
      const outcome = failure?.kind ?? 'success';
      const error = failure === undefined ? undefined : parts.sentence(failure);
      log.debug('attempt', { request_id: record.requestId, provider, attempt, outcome, error, upstream_ms: Math.round(attemptMs) });
    },
    { routing, concurrentMax: (provider) => parts.config.routing.concurrentMax.get(provider), isDraining: () => isDraining },
  );
  const loopHealth = new LoopHealth();
  const memoryHealth = new MemoryHealth();
  const stopWatches = surroundings.watchesLoad === false ? [] : [watchEventLoop(loopHealth), watchMemory(memoryHealth)];
  const admission = new Admission(config.concurrentMax, () => loopHealth.isOverloaded, () => memoryHealth.refuses());
  let isDraining = false;
  let isClosed = false;
  let parts = partsFrom(config);
  const exchanges = new Exchanges();
  const handler = createHandler(() => parts, exchanges);
  // With connections of its own: those of a host's server are not the gateway's to close.
  const handleMounted = createMountedHandler(() => parts, createHandler(() => parts, exchanges, { isMounted: true }));
  const server = createServer(() => parts, handler, undefined, surroundings.ticketKeys);
  /** Whether somebody outside may have to notice that it is unready. */
  let isReachable = false;
  let drained: Promise<boolean> | undefined;

  /** Everything that a reload swaps, made at once, so that an exchange sees either the old or the new. */
  function partsFrom(current: Config): ServerParts {
    const labels = new Set([...current.callers.map(({ label }) => label), ...current.routing.callers.keys()]).add(DEFAULT_CALLER);
    const redact = createRedactor([...secretsOf(current).values()]);
    const sentences = createSentences((text) => redactLive(redact(text)), config.forwardsErrorMessages);
    return {
      config: current,
      dialects: dialectsOf(current),
      providers: new Map<string, Provider>(current.providers.map((provider) => [provider.name, provider])),
      gateway,
      // New keys may see other models.
      modelLists: new ModelLists({
        ask: (provider, context) => gateway.models(provider, context),
        // A provider without a list is no news.
        onFailure: ({ name }, failure, requestId) =>
          log[failure.kind === 'unsupported' ? 'debug' : 'warn']('the models of a provider cannot be listed', { request_id: requestId, provider: name, kind: failure.kind, error: sentences.sentence(failure) }),
        requestTimeoutMs: current.requestTimeoutMs,
        now: () => performance.now(),
      }),
      metrics,
      metricsPage: surroundings.metricsPage ?? metricsText,
      admission,
      limits,
      log,
      isDraining: () => isDraining,
      authenticate: surroundings.authenticate,
      callerLabel: (label) => (labels.has(label) ? label : 'other'),
      ...sentences,
    };
  }

  function metricsText(): string {
    exchanges.report();
    return metrics.renderPage();
  }

  function reload(next: Config): Reloaded {
    const before = parts.config;
    parts = partsFrom(withReloaded(before, next));
    authorizations.replace(parts.config.providers);
    if (next.tls !== undefined) server.swapCertificate(next.tls);
    return { swapped: changesBetween(before, parts.config), needsRestart: changesLeft(before, next) };
  }

  async function drainOnce(listenerClosed: Promise<void> | undefined): Promise<boolean> {
    isDraining = true;
    exchanges.endKeepAlive();
    if (listenerClosed !== undefined) await listenerClosed;
    else if (isReachable) await delay(config.drainDelayMs);
    await acceptWaiting(server.server);
    server.stopListening();
    const isClean = await idle(exchanges, config.shutdownGraceMs);
    await endAll(LAST_WORDS_MS);
    return isClean;
  }

  async function endAll(lastWordsMs: number): Promise<void> {
    isDraining = true;
    exchanges.endAll('shutdown');
    await idle(exchanges, lastWordsMs);
    close();
    await idle(exchanges, REPORTS_MS);
  }

  function close(): void {
    isClosed = true;
    for (const stop of stopWatches) stop();
    metrics.stop();
    server.server.close();
    server.server.closeAllConnections();
    transport.close();
    authorizations.close();
    limits.close();
  }

  return {
    ...createCalls(() => parts, exchanges),
    handler(request, response) {
      isReachable = true;
      handleMounted(request, response);
    },
    metricsText,
    async listen(address = config.listen) {
      isReachable = true;
      const where = await listen(server.server, address, config.tls === undefined ? 'http' : 'https');
      if (!isClosed) return where;
      // Nobody would ever close it, and the process would live on for it.
      server.server.close();
      throw new Error('the gateway is closed');
    },
    take: (socket) => server.take(socket),
    drain: (listenerClosed) => (drained ??= drainOnce(listenerClosed)),
    snapshot() {
      exchanges.report();
      return metrics.snapshot();
    },
    stop: () => endAll(SHORT_LAST_WORDS_MS),
    reload,
    close,
  };
}

/** Callers' limits, which every reload of one gateway goes on with. */
function limitsFrom({ limitsEngine: address }: Config, { log, limitStore, limitClock = () => performance.now() }: AppSurroundings, metrics: Metrics, lookup: NameLookup['lookup']): Limits {
  if (address === undefined) return new Limits(limitStore ?? createMemoryStore(limitClock), limitClock);
  const { answered, failed } = metrics.limitEngine(engineName(address), () => shared.isUp);
  const shared = createEngineStore({ address, fallback: createMemoryStore(limitClock), log, lookup, onAnswer: answered, onFailure: failed });
  return new Limits(shared, limitClock);
}

/** The gateway's own format, and those of other vendors that the operator lets it serve. */
function dialectsOf({ dialects }: Config): ServerParts['dialects'] {
  const [native, ...others] = DIALECTS;
  return [native, ...others.filter(({ name }) => dialects.includes(name))];
}

/**
 * Waits until nothing is in flight, twice in a row: what was sent on a connection that has just been accepted is read a
 * turn later. False when the time is over first.
 */
async function idle(exchanges: Exchanges, timeoutMs: number): Promise<boolean> {
  const endAtMs = performance.now() + timeoutMs;
  for (let quiet = 0; quiet < 2; ) {
    if (performance.now() >= endAtMs) return exchanges.count === 0;
    await delay(IDLE_CHECK_MS);
    quiet = exchanges.count === 0 ? quiet + 1 : 0;
  }
  return true;
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
