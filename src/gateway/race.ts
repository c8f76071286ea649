/**
 * Attempts at one answer, side by side: the first that has an event has the answer, and the others are ended.
 *
 * An exchange's scope has one slot. The race holds it, gives each attempt a scope of its own, and ends them with the exchange.
 */

import { Scope } from '../core/scope.ts';

export class Race {
  readonly #exchange: Scope;
  readonly #scopes: Scope[] = [];
  /** Ended as soon as waiting for a first event is over. */
  readonly patience = new Scope();
  #winner: Scope | undefined;

  constructor(exchange: Scope) {
    this.#exchange = exchange;
    this.hold();
  }

  /** Whose answer it is; undefined before a first event. */
  get winner(): Scope | undefined {
    return this.#winner;
  }

  /** The scope of one more attempt. */
  enter(): Scope {
    const scope = new Scope();
    this.#scopes.push(scope);
    if (this.#exchange.ended !== undefined) scope.end(this.#exchange.ended);
    return scope;
  }

  /** Takes the exchange's slot, again after whoever used it meanwhile: a slow caller's stream does. */
  readonly hold = (): void => {
    this.#exchange.onEnd(() => {
      const { ended } = this.#exchange;
      if (ended !== undefined) this.#endAll(ended);
    });
  };

  /** The attempt with this scope has an event: false where another had one before. */
  claim(scope: Scope): boolean {
    if (this.#winner !== undefined) return this.#winner === scope;
    this.#winner = scope;
    this.patience.end('outpaced');
    for (const other of this.#scopes) if (other !== scope) other.end('outpaced');
    return true;
  }

  /** It is over. What still runs, after a bug, is ended. */
  close(): void {
    this.#endAll('outpaced');
    this.#exchange.onEnd(undefined);
  }

  #endAll(reason: Parameters<Scope['end']>[0]): void {
    this.patience.end(reason);
    for (const scope of this.#scopes) scope.end(reason);
  }
}
