/** How many sockets all providers together may hold: an idle one gives way to one that is needed. */

import type { Duplex } from 'node:stream';

/** Most idle sockets of all providers. Each pool's own bound lets a burst on each of twenty providers keep 5,000. */
const IDLE_SOCKETS_MAX = 512;

export class SocketRoom {
  readonly #socketsMax: number;
  readonly #open = new Set<Duplex>();
  /** Those that have been idle longest come first. No Set: one that changes with every request keeps memory (base/roster.ts). The one that is used next is nearly always the last. */
  readonly #idle: Duplex[] = [];

  /** `socketsMax`: beyond it no socket stays idle. Those in use are not bounded here: each has an exchange that is. */
  constructor(socketsMax = Infinity) {
    this.#socketsMax = socketsMax;
  }

  /** A connection is being made. */
  opened(socket: Duplex): void {
    this.#open.add(socket);
    socket.once('close', () => this.#forget(socket));
    this.#makeRoom();
  }

  startIdle(socket: Duplex): void {
    this.#idle.push(socket);
    this.#makeRoom();
  }

  endIdle(socket: Duplex): void {
    const at = this.#idle.lastIndexOf(socket);
    if (at !== -1) this.#idle.splice(at, 1);
  }

  #forget(socket: Duplex): void {
    this.#open.delete(socket);
    this.endIdle(socket);
  }

  #makeRoom(): void {
    while (this.#idle.length > IDLE_SOCKETS_MAX || this.#open.size > this.#socketsMax) {
      const [oldest] = this.#idle;
      if (oldest === undefined) return;
      this.#forget(oldest);
      oldest.destroy();
    }
  }
}
