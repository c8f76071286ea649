/** One page of metrics for all processes: asks the workers what they counted, and adds it up with what those before them did. */

import type { Registry, Snapshot } from '../base/prometheus.ts';
import type { Metrics } from '../metrics.ts';
import type { Member } from './member.ts';

/** For a worker to answer. Whoever does not counts as it last did. */
const ANSWER_MS_MAX = 1000;
/** How often they are asked where nobody scrapes: what one has counted since goes with it if it is killed. */
const ASK_EACH_MS = 1000;
/** How long a page is used again, as that of one process is. */
const PAGE_MS = 1000;

export class Collector {
  readonly #own: Metrics;
  readonly #members: () => readonly Member[];
  readonly #page: Registry;
  /** What those counted that are gone. */
  readonly #gone: Registry;
  readonly #timer: NodeJS.Timeout;
  #lastId = 0;
  #waiting: { readonly id: number; readonly resolve: () => void } | undefined;
  #asking: Promise<void> | undefined;
  #text = '';
  #madeAtMs = -Infinity;

  /** `own` are the metrics of the primary, `members` the workers whose processes are there. */
  constructor(own: Metrics, members: () => readonly Member[]) {
    this.#own = own;
    this.#members = members;
    this.#page = own.createPage();
    this.#gone = own.createPage();
    this.#timer = setInterval(() => void this.#ask(), ASK_EACH_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** The text of a scrape, up to a second old. */
  async text(): Promise<string> {
    if (performance.now() - this.#madeAtMs < PAGE_MS) return this.#text;
    await this.#ask();
    // Several may have waited.
    if (performance.now() - this.#madeAtMs >= PAGE_MS) this.#render();
    return this.#text;
  }

  /** It has begun to serve; what was asked before is not asked of it. */
  welcome(member: Member): void {
    member.answered = this.#lastId;
  }

  /** A worker's answer, or what it says unasked. */
  heard(member: Member, snapshot: Snapshot, id = member.answered): void {
    member.snapshot = snapshot;
    member.answered = Math.max(member.answered, id);
    this.#resolveIfAnswered();
  }

  /** The worker is gone, and what it counted stays. */
  retire(member: Member): void {
    this.#gone.merge([], [this.#gone.snapshot(), member.snapshot]);
    member.snapshot = [];
    this.#resolveIfAnswered();
  }

  #ask(): Promise<void> {
    this.#asking ??= this.#askAll().finally(() => (this.#asking = undefined));
    return this.#asking;
  }

  async #askAll(): Promise<void> {
    const id = (this.#lastId += 1);
    const answered = new Promise<void>((resolve) => (this.#waiting = { id, resolve }));
    for (const member of this.#asked()) member.send({ type: 'snapshot', id });
    const limit = setTimeout(() => this.#waiting?.resolve(), ANSWER_MS_MAX);
    this.#resolveIfAnswered();
    await answered;
    clearTimeout(limit);
    this.#waiting = undefined;
    this.#own.workersSilent.set(this.#asked().filter(({ answered: last }) => last < id).length);
  }

  #resolveIfAnswered(): void {
    const { id = 0, resolve } = this.#waiting ?? {};
    if (this.#asked().every(({ answered }) => answered >= id)) resolve?.();
  }

  #asked(): readonly Member[] {
    return this.#members().filter(({ isReady }) => isReady);
  }

  #render(): void {
    const members = this.#members();
    this.#own.workers.set(members.filter(({ isServing }) => isServing).length);
    this.#page.merge([this.#own.snapshot(), ...members.map(({ snapshot }) => snapshot)], [this.#gone.snapshot()]);
    this.#text = this.#page.render();
    this.#madeAtMs = performance.now();
  }
}
