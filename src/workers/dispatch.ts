/**
 * Connections, handed to workers in turn: one at a time to each, until it says that it has it. So a worker that has no time
 * gets none while another has, and one that dies has none that it has not taken.
 *
 * The platform's own way (node:cluster) was not taken: what it has handed to a worker that dies before it answers hangs for
 * good, connections beyond a worker's limit are passed around for ever at full speed, and when the last worker dies the
 * address is given up.
 */

/** Who is handed connections. */
export type Taker<C> = { give(connection: C): void };

export class Dispatch<C> {
  /** Those that have said that they have what they were given, the one that waits longest first. */
  #free: Taker<C>[] = [];
  readonly #members = new Set<Taker<C>>();
  #waiting: C[] = [];

  /** How many connections nobody has time for. The caller bounds it. */
  get waitingCount(): number {
    return this.#waiting.length;
  }

  offer(connection: C): void {
    this.#waiting.push(connection);
    this.#handOut();
  }

  join(taker: Taker<C>): void {
    this.#members.add(taker);
    this.#free.push(taker);
    this.#handOut();
  }

  /** It has what it was given. */
  freed(taker: Taker<C>): void {
    if (!this.#members.has(taker) || this.#free.includes(taker)) return;
    this.#free.push(taker);
    this.#handOut();
  }

  /** It is given no more; a second time means nothing. */
  leave(taker: Taker<C>): void {
    this.#members.delete(taker);
    this.#free = this.#free.filter((each) => each !== taker);
  }

  /** What nobody has been given. */
  close(): readonly C[] {
    const left = this.#waiting;
    this.#waiting = [];
    return left;
  }

  #handOut(): void {
    while (this.#waiting.length > 0) {
      const taker = this.#free.shift();
      if (taker === undefined) return;
      taker.give(this.#waiting.shift() as C);
    }
  }
}
