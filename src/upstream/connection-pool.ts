/**
 * The connections to one provider: two agents of node:http, never the global one, whose timeouts and sharing are not ours.
 *
 * Knows whether a proxy is in between, and nothing of calls and their limits.
 */

import http from 'node:http';
import https from 'node:https';
import type { LookupFunction, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { hostnameOf } from '../base/proxy-address.ts';
import type { ProxyAddress } from '../base/proxy-address.ts';
import { createProxyAgent, TunnelAgent } from './proxy.ts';
import type { SocketRoom } from './socket-room.ts';

/** How every connection is made, whoever keeps it. */
export const CONNECT_SETTINGS = {
  noDelay: true,
  // Node gives each address of a host 250 ms by default, which distant networks exceed whatever the connect limit is.
  autoSelectFamilyAttemptTimeout: 1000,
  // Said, because what is not said is what NODE_TLS_REJECT_UNAUTHORIZED says.
  rejectUnauthorized: true,
} as const;

/** Idle connections of one provider: enough for a burst to follow another. Of all providers together SocketRoom bounds them. */
export const IDLE_MAX = 256;
/** Idle connections are closed before common load balancers do (60 s), or earlier where the provider said so. */
export const IDLE_MS_MAX = 50_000;
/** No older connection is kept: one in steady use would never follow its host's name to another address. */
export const AGE_MS_MAX = 300_000;

const AGENT_SETTINGS = {
  ...CONNECT_SETTINGS,
  keepAlive: true,
  // The most recently used socket is the least likely to have been closed; the others may go idle and close.
  scheduling: 'lifo',
  // Each exchange has one attempt at a time, so GATEWAY_MAX_CONCURRENT bounds the sockets in use. A bound here would queue
  // requests unseen, and hand them sockets past the guard below and without `reusedSocket`.
  maxSockets: Infinity,
  maxFreeSockets: IDLE_MAX,
  timeout: IDLE_MS_MAX,
} as const;

/** What all connections of a transport have in common. */
export type ConnectionSettings = {
  readonly lookup: LookupFunction;
  /** Certificates in PEM that are trusted instead of Node's own; undefined = Node's, with those of NODE_EXTRA_CA_CERTS. */
  readonly ca: string | undefined;
};

/** The connections to one provider. */
export class ConnectionPool {
  /** Keeps its connections and uses them again. */
  readonly kept: http.Agent;
  /** For a call that a kept socket failed, since the next kept one may be as stale: its connections are new, and closed afterwards. */
  readonly fresh: http.Agent;
  /** A proxy that requests are handed to in absolute form. A tunnel is not seen from outside. */
  readonly forwardProxy: ProxyAddress | undefined;
  /** Where requests are addressed to: the provider, or that proxy. */
  readonly protocol: string;
  readonly hostname: string;
  readonly port: string | number;
  readonly #room: SocketRoom;
  readonly #openedAtMs = new WeakMap<Duplex, number>();
  #isClosed = false;

  /** `proxy`: the one on the way to `baseUrl`, if any. */
  constructor(baseUrl: URL, proxy: ProxyAddress | undefined, settings: ConnectionSettings, room: SocketRoom) {
    this.#room = room;
    this.forwardProxy = baseUrl.protocol === 'http:' ? proxy : undefined;
    const { protocol, hostname, port } = this.forwardProxy ?? { protocol: baseUrl.protocol, hostname: hostnameOf(baseUrl), port: baseUrl.port };
    this.protocol = protocol;
    this.hostname = hostname;
    this.port = port;
    this.kept = createAgent(baseUrl.protocol, proxy, { ...AGENT_SETTINGS, ...settings });
    this.fresh = createAgent(baseUrl.protocol, proxy, { ...AGENT_SETTINGS, ...settings, keepAlive: false });
    this.#guardIdleSockets();
  }

  /**
   * An idle socket that receives anything is closed: no request is open, so the bytes would be taken for the answer to
   * the next one. Newer versions of Node do this themselves, Node 20 does not.
   */
  #guardIdleSockets(): void {
    const agent = this.kept;
    const keepSocketAlive = agent.keepSocketAlive.bind(agent) as (socket: Duplex) => unknown;
    const reuseSocket = agent.reuseSocket.bind(agent);
    agent.keepSocketAlive = (socket) => {
      // One whose beginning nobody saw is kept.
      const ageMs = performance.now() - (this.#openedAtMs.get(socket) ?? Infinity);
      if (this.#isClosed || socket.readableLength > 0 || ageMs > AGE_MS_MAX) return false;
      socket.on('data', destroyThis);
      const isKept = keepSocketAlive(socket);
      if (isKept === true) this.#room.startIdle(socket);
      return isKept;
    };
    agent.reuseSocket = (socket, request) => {
      socket.off('data', destroyThis);
      this.#room.endIdle(socket);
      reuseSocket(socket, request);
    };
  }

  /** A connection for one of its calls is being made. */
  opened(socket: Duplex): void {
    this.#openedAtMs.set(socket, performance.now());
    this.#room.opened(socket);
  }

  /** Closes idle sockets now, and the others once their response has ended. */
  close(): void {
    this.#isClosed = true;
    for (const sockets of Object.values(this.kept.freeSockets)) {
      for (const socket of sockets ?? []) socket.destroy();
    }
  }

  /** Sockets in use and idle. */
  openSockets(): number {
    return countSockets(this.kept.sockets) + countSockets(this.kept.freeSockets) + countSockets(this.fresh.sockets);
  }
}

function createAgent(protocol: string, proxy: ProxyAddress | undefined, settings: https.AgentOptions): http.Agent {
  if (protocol === 'https:') return proxy === undefined ? new https.Agent(settings) : new TunnelAgent(proxy, settings);
  return proxy === undefined ? new http.Agent(settings) : createProxyAgent(proxy, settings);
}

function destroyThis(this: Duplex): void {
  this.destroy();
}

function countSockets(byHost: NodeJS.ReadOnlyDict<Socket[]>): number {
  let count = 0;
  for (const sockets of Object.values(byHost)) count += sockets?.length ?? 0;
  return count;
}
