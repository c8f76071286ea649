/** The connections of the transport over bare sockets to one provider. Knows nothing of calls and their limits. */

import type http from 'node:http';
import net from 'node:net';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import tls from 'node:tls';
import { hostnameOf } from '../base/proxy-address.ts';
import type { ProxyAddress } from '../base/proxy-address.ts';
import { AGE_MS_MAX, CONNECT_SETTINGS, IDLE_MAX, IDLE_MS_MAX } from './connection-pool.ts';
import type { ConnectionSettings } from './connection-pool.ts';
import { createProxyAgent, openTunnel } from './proxy.ts';
import type { SocketRoom } from './socket-room.ts';
import { ConnectionError, WireConnection } from './wire-connection.ts';
import type { ConnectionHome } from './wire-connection.ts';

/** How often idle connections are looked at; one that is due is never used, however late that is. */
const SWEEP_MS = 1000;

/** After so much silence the kernel asks whether the other end is still there. */
const KEEP_ALIVE_MS = 1000;

/** Where whatever a socket brings is read to, one read after another: no read needs memory of its own. */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024);

/** Whoever waits for a new connection: told one of the two, once, unless it has destroyed what `open` returned. */
export interface Opening {
  onOpened(connection: WireConnection): void;
  onRefused(error: unknown): void;
}

export class WirePool implements ConnectionHome {
  /** A proxy that requests are handed to in absolute form. A tunnel is not seen from outside. */
  readonly forwardProxy: ProxyAddress | undefined;
  readonly #isTls: boolean;
  readonly #hostname: string;
  readonly #port: number;
  /** A proxy that opens tunnels, and the connections to it. */
  readonly #tunnel: { readonly proxy: ProxyAddress; readonly agent: http.Agent } | undefined;
  readonly #settings: ConnectionSettings;
  readonly #room: SocketRoom;
  /** The one that was used last is last. */
  readonly #idle: WireConnection[] = [];
  #sweep: NodeJS.Timeout | undefined;
  /** With which the next TLS handshake is shorter. */
  #session: Buffer | undefined;
  #openCount = 0;
  #isClosed = false;

  /** `proxy`: the one on the way to `baseUrl`, if any. */
  constructor(baseUrl: URL, proxy: ProxyAddress | undefined, settings: ConnectionSettings, room: SocketRoom) {
    const isHttps = baseUrl.protocol === 'https:';
    this.forwardProxy = isHttps ? undefined : proxy;
    const { forwardProxy } = this;
    this.#isTls = forwardProxy === undefined ? isHttps : forwardProxy.protocol === 'https:';
    this.#hostname = forwardProxy?.hostname ?? hostnameOf(baseUrl);
    this.#port = forwardProxy?.port ?? Number(baseUrl.port || (isHttps ? 443 : 80));
    this.#tunnel = isHttps && proxy !== undefined ? { proxy, agent: createProxyAgent(proxy, { ...CONNECT_SETTINGS, ...settings }) } : undefined;
    this.#settings = settings;
    this.#room = room;
  }

  /** The idle connection that was used last, the least likely to have been closed; undefined when there is none. */
  take(): WireConnection | undefined {
    for (let connection = this.#idle.pop(); connection !== undefined; connection = this.#idle.pop()) {
      this.#room.endIdle(connection.socket);
      if (!connection.socket.destroyed && performance.now() < connection.idleUntilMs) {
        connection.socket.ref();
        return connection;
      }
      connection.destroy();
    }
    return undefined;
  }

  /** Makes a connection, to be kept or for one request alone. What is returned ends the wait. */
  open(isKept: boolean, opening: Opening): { destroy(): void } {
    if (this.#tunnel === undefined) return this.#connect(undefined, isKept, opening);
    const { proxy, agent } = this.#tunnel;
    let current = openTunnel(proxy, agent, this.#hostname, this.#port, (error, tunnel) => {
      if (tunnel === undefined) opening.onRefused(error);
      else current = this.#connect(tunnel, isKept, opening);
    });
    return { destroy: () => current.destroy() };
  }

  #connect(tunnel: Duplex | undefined, isKept: boolean, opening: Opening): { destroy(): void } {
    // The connection outlives the call it was made for, which may hold megabytes.
    let waiting: Opening | undefined = opening;
    const read = (bytes: Buffer): void => connection.read(bytes);
    const socket = this.#isTls ? this.#connectTls(tunnel, read) : net.connect(this.#target(read));
    socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
    const connection = new WireConnection(socket, isKept, this);
    this.#openCount += 1;
    this.#room.opened(socket);
    let error: Error | undefined;
    socket.on('error', (thrown) => (error = thrown));
    socket.on('close', () => {
      this.#openCount -= 1;
      waiting?.onRefused(error ?? new ConnectionError('ECONNRESET'));
    });
    socket.on(this.#isTls ? 'secureConnect' : 'connect', () => {
      const opened = waiting;
      waiting = undefined;
      opened?.onOpened(connection);
    });
    // What a tunnel brings was read by it.
    if (tunnel === undefined) socket.resume();
    else socket.on('data', read);
    return socket;
  }

  #target(read: (bytes: Buffer) => void): net.NetConnectOpts {
    const onread = {
      buffer: READ_BUFFER,
      callback: (bytes: number): boolean => {
        read(READ_BUFFER.subarray(0, bytes));
        return true;
      },
    };
    return { ...CONNECT_SETTINGS, host: this.#hostname, port: this.#port, lookup: this.#settings.lookup, onread };
  }

  #connectTls(tunnel: Duplex | undefined, read: (bytes: Buffer) => void): tls.TLSSocket {
    const { ca } = this.#settings;
    const socket = tls.connect({
      ...(tunnel === undefined ? this.#target(read) : { ...CONNECT_SETTINGS, host: this.#hostname, socket: tunnel }),
      // An address is no server name (RFC 6066, section 3).
      servername: isIP(this.#hostname) === 0 ? this.#hostname : '',
      ALPNProtocols: ['http/1.1'],
      ...(ca === undefined ? {} : { ca }),
      ...(this.#session === undefined ? {} : { session: this.#session }),
    });
    this.#keepSessionOf(socket);
    return socket;
  }

  /** A resumed session is not held against the host's name again, so only one whose certificate was accepted is kept. */
  #keepSessionOf(socket: tls.TLSSocket): void {
    let isAccepted = false;
    let last: Buffer | undefined;
    socket.on('session', (session: Buffer) => {
      last = session;
      if (isAccepted) this.#session = session;
    });
    socket.on('secureConnect', () => {
      isAccepted = true;
      this.#session = last ?? this.#session;
    });
    socket.on('close', (hadError) => {
      if (hadError) this.#session = undefined;
    });
  }

  keep(connection: WireConnection): boolean {
    const idleMs = idleMsOf(connection.parser.head.headers['keep-alive']);
    const nowMs = performance.now();
    if (this.#isClosed || this.#idle.length >= IDLE_MAX || idleMs <= 0 || nowMs - connection.openedAtMs > AGE_MS_MAX) return false;
    connection.idleUntilMs = nowMs + idleMs;
    connection.socket.unref();
    this.#idle.push(connection);
    this.#room.startIdle(connection.socket);
    this.#sweep ??= setInterval(() => this.#closeDue(), SWEEP_MS).unref();
    return true;
  }

  lose(connection: WireConnection): void {
    const at = this.#idle.indexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
  }

  #closeDue(): void {
    const nowMs = performance.now();
    for (const connection of this.#idle) if (connection.idleUntilMs <= nowMs) connection.destroy();
    if (this.#idle.length > 0) return;
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  }

  /** Closes idle connections now, and the others once their response has ended. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#sweep);
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  /** In use, idle, and being opened. */
  openSockets(): number {
    return this.#openCount;
  }
}

/** How long a connection may be idle: a second less than its other end says that it waits. */
function idleMsOf(keepAlive: string | readonly string[] | undefined): number {
  const seconds = typeof keepAlive === 'string' ? /(?:^|[,;\s])timeout=(\d{1,9})/i.exec(keepAlive)?.[1] : undefined;
  return seconds === undefined ? IDLE_MS_MAX : Math.min(IDLE_MS_MAX, (Number(seconds) - 1) * 1000);
}
