/** Holds a stream back until its first delta, since another may have its own earlier: then all of it passes, or nothing. */

import type { Delta } from '../core/delta.ts';
import type { StreamSink } from './pipe-stream.ts';

type Push = (delta: Delta, servedModel: string | undefined) => void;

/** An attempt's part in a race: it claims the answer, has the race hold the exchange's slot again once its receiver is done with it, and says that it is not silent. */
export type Entry = { readonly claim: () => boolean; readonly hold: () => void; readonly heard: () => void };

export class GatedSink {
  readonly #sink: StreamSink;
  readonly #push: Push;
  readonly #entry: Entry;
  readonly #begin: () => void;
  /** What the provider wrote before its first delta, not parsed, which would be many times as much; whoever reads it bounds it. */
  #held: [event: string, data: string][] = [];
  #isOpen = false;

  /** `begin` is called when the answer is this one's, before anything of it passes. */
  constructor(sink: StreamSink, push: Push, entry: Entry, begin: () => void) {
    this.#sink = sink;
    this.#push = push;
    this.#entry = entry;
    this.#begin = begin;
  }

  // hot: per token
  readonly push: Push = (delta, servedModel) => {
    if (!this.#isOpen && !this.#open()) return;
    this.#push(delta, servedModel);
  };

  // hot: per token
  readonly relay: NonNullable<StreamSink['relay']> = (event, data, parsed) => {
    if (this.#isOpen) {
      this.#sink.relay?.(event, data, parsed);
      return;
    }
    if (this.#held.length === 0) this.#entry.heard();
    this.#held.push([event, data]);
  };

  flush(): void | Promise<void> {
    if (!this.#isOpen) return;
    return this.#sink.flush()?.finally(this.#entry.hold);
  }

  #open(): boolean {
    if (!this.#entry.claim()) return false;
    this.#isOpen = true;
    this.#begin();
    for (const [event, data] of this.#held) this.#sink.relay?.(event, data);
    this.#held = [];
    return true;
  }
}
