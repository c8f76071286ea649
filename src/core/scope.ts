/**
 * The lifetime of one exchange: why it ended early, and whom to tell.
 *
 * An `AbortSignal` costs 6 to 10 µs for each derived signal and leaks listeners on long-lived parents;
 * this has one slot, because an exchange waits for one thing at a time (a response, a chunk, a
 * back-off, a slow caller).
 */

export type ScopeEnd =
  /** The caller hung up. */
  | 'caller-gone'
  /** The caller stopped reading for longer than allowed. */
  | 'caller-stalled'
  /** The whole exchange took longer than allowed. */
  | 'deadline'
  /** The gateway is shutting down and its grace is over. */
  | 'shutdown'
  /** Only of an attempt: another at the same answer had its first event earlier. */
  | 'outpaced';

export class Scope {
  #ended: ScopeEnd | undefined;
  #onEnd: (() => void) | undefined;

  /** Why the exchange ended early; undefined while it lives. */
  get ended(): ScopeEnd | undefined {
    return this.#ended;
  }

  /** Ends the exchange. The first reason stays; whoever waits is told once, synchronously. */
  end(reason: ScopeEnd): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    const onEnd = this.#onEnd;
    this.#onEnd = undefined;
    onEnd?.();
  }

  /**
   * Says what to do when the exchange ends; replaces what was said before. Called at once when it
   * has ended already. Undefined clears the slot: call it when the wait is over.
   */
  onEnd(callback: (() => void) | undefined): void {
    if (this.#ended !== undefined) callback?.();
    else this.#onEnd = callback;
  }

  /** Waits. Resolves true after the time, false at once when the exchange ends first. */
  sleep(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.onEnd(undefined);
        resolve(true);
      }, Math.min(ms, TIMER_MS_MAX));
      this.onEnd(() => {
        clearTimeout(timer);
        resolve(false);
      });
    });
  }
}

/** The longest timer Node can set; beyond it one would fire after 1 ms. */
export const TIMER_MS_MAX = 2 ** 31 - 1;
