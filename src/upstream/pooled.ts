/**
 * What transports that keep their connections have in common: a pool for each provider, and attempts on it. How a call is written
 * and its answer read is theirs.
 */

import type { LookupFunction, Socket } from 'node:net';
import type { ProxyAddress } from '../base/proxy-address.ts';
import type { ProviderKey } from '../core/adapter.ts';
import type { Failure } from '../core/failure.ts';
import type { Scope } from '../core/scope.ts';
import { AttemptWatch } from './attempt-watch.ts';
import type { ConnectionSettings } from './connection-pool.ts';
import { NameLookup } from './name-lookup.ts';
import type { NameSource } from './name-lookup.ts';
import { SocketRoom } from './socket-room.ts';
import { endedFailure } from './transport-failure.ts';
import type { AttemptLimits, Destination, OutboundCall, Transport, UpstreamResponse } from './transport.ts';

export type TransportSettings = {
  /** The proxy on the way to a provider at this URL; undefined = none. Asked once for each provider. */
  readonly proxyFor?: (baseUrl: URL) => ProxyAddress | undefined;
  /** Told when a call is sent a second time because its kept socket had been closed by the provider meanwhile. */
  readonly onStaleRetry?: (provider: string) => void;
  /** Told of each new connection for a provider's calls, once TLS is done where there is any. */
  readonly onConnected?: (provider: string, socket: Socket) => void;
  /** Whom host names are asked of; undefined = the platform. */
  readonly nameSource?: NameSource;
  /** How they are looked up, where somebody else in the process does the same; undefined = by this transport alone. */
  readonly lookup?: LookupFunction | undefined;
  /** Certificates in PEM that are trusted instead of Node's own; undefined = Node's, with those of NODE_EXTRA_CA_CERTS. */
  readonly ca?: string;
  /** How many sockets there may be before an idle one is closed for each that is opened; undefined = any number. */
  readonly socketsMax?: number | undefined;
};

/** The connections to one provider. */
export interface Pool {
  close(): void;
  openSockets(): number;
}

type PoolClass<P> = new (baseUrl: URL, proxy: ProxyAddress | undefined, connections: ConnectionSettings, room: SocketRoom) => P;

type AttemptClass<P> = new (
  provider: Destination,
  key: ProviderKey | undefined,
  call: OutboundCall,
  pool: P,
  watch: AttemptWatch,
  settings: TransportSettings,
  resolve: (result: UpstreamResponse | Failure) => void,
) => { start(): void };

export class PooledTransport<P extends Pool> implements Transport {
  readonly #settings: TransportSettings;
  readonly #Pool: PoolClass<P>;
  readonly #Attempt: AttemptClass<P>;
  readonly #connections: ConnectionSettings;
  readonly #room: SocketRoom;
  readonly #pools = new Map<string, P>();

  constructor(settings: TransportSettings, pool: PoolClass<P>, attempt: AttemptClass<P>) {
    this.#settings = settings;
    this.#Pool = pool;
    this.#Attempt = attempt;
    this.#connections = { lookup: settings.lookup ?? new NameLookup(settings.nameSource).lookup, ca: settings.ca };
    this.#room = new SocketRoom(settings.socketsMax);
  }

  // hot: per request
  send(provider: Destination, call: OutboundCall, scope: Scope, limits: AttemptLimits, key = provider.keys[0]): Promise<UpstreamResponse | Failure> {
    if (scope.ended !== undefined) return Promise.resolve(endedFailure(scope.ended));
    return new Promise((resolve) => {
      const watch = new AttemptWatch(provider.name, scope, limits);
      new this.#Attempt(provider, key, call, this.#poolOf(provider), watch, this.#settings, resolve).start();
    });
  }

  close(): void {
    for (const pool of this.#pools.values()) pool.close();
  }

  openSockets(): number {
    let count = 0;
    for (const pool of this.#pools.values()) count += pool.openSockets();
    return count;
  }

  #poolOf(provider: Destination): P {
    let pool = this.#pools.get(provider.name);
    if (pool === undefined) {
      pool = new this.#Pool(provider.baseUrl, this.#settings.proxyFor?.(provider.baseUrl), this.#connections, this.#room);
      this.#pools.set(provider.name, pool);
    }
    return pool;
  }
}
