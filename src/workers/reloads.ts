/**
 * Which reloads a worker has to follow that begins later, to serve as those do that followed all of them.
 *
 * Most of a configuration is the last reload's. But a provider stays where it was when it was first named, and keeps the keys that it
 * had when it was last named there, also once a reload no longer names it or has it elsewhere.
 */

import type { Files } from './messages.ts';

/** By the name of each provider: where it is, in a text that differs where that does. */
export type Places = ReadonlyMap<string, string>;

export type Reload = { readonly id: number; readonly files: Files; readonly places: Places };

export class Reloads {
  readonly #begun: Places;
  #followed: readonly Reload[] = [];

  /** `begun`: of the configuration that every worker begins with. */
  constructor(begun: Places) {
    this.#begun = begun;
  }

  /** In order. No more than the last, and two for each provider that was ever named, each of which every worker keeps as well. */
  get followed(): readonly Reload[] {
    return this.#followed;
  }

  note(reload: Reload): void {
    const all = [...this.#followed, reload];
    const needed = new Set([reload]);
    for (const name of new Set(all.flatMap(({ places }) => [...places.keys()]))) {
      const begunAt = this.#begun.get(name);
      const first = begunAt === undefined ? all.find(({ places }) => places.has(name)) : undefined;
      const place = begunAt ?? first?.places.get(name);
      const last = all.findLast(({ places }) => places.get(name) === place);
      for (const each of [first, last]) if (each !== undefined) needed.add(each);
    }
    this.#followed = all.filter((each) => needed.has(each));
  }
}
