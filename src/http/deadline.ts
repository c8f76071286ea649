/** When an exchange must be over, and which setting says so. */

import type { Config } from '../config/config.ts';
import type { Exchange } from './exchange.ts';

/** Ends the exchange's scope at its time. Clear it however the exchange ends. */
export class Deadline {
  readonly #exchange: Exchange;
  readonly #limits: Config;
  #isStream: boolean;
  #timer: NodeJS.Timeout;

  /** A caller that has yet to say whether it wants a stream has the time of a whole answer: see `startFor`. */
  constructor(exchange: Exchange, limits: Config, isStream: boolean) {
    this.#exchange = exchange;
    this.#limits = limits;
    this.#isStream = isStream;
    this.#timer = this.#start();
  }

  /** The setting that says how long it may take. */
  get setting(): string {
    return this.#isStream ? 'GATEWAY_STREAM_TIMEOUT' : 'GATEWAY_REQUEST_TIMEOUT';
  }

  /** On the clock of `performance.now()`. */
  get atMs(): number {
    return this.#exchange.startedAtMs + (this.#isStream ? this.#limits.streamTimeoutMs : this.#limits.requestTimeoutMs);
  }

  startFor(isStream: boolean): void {
    if (isStream === this.#isStream) return;
    this.#isStream = isStream;
    this.clear();
    this.#timer = this.#start();
  }

  clear(): void {
    clearTimeout(this.#timer);
  }

  #start(): NodeJS.Timeout {
    const ms = Math.max(0, this.atMs - performance.now());
    return setTimeout(() => this.#exchange.scope.end('deadline'), ms);
  }
}
