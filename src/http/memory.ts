/** Whether there is memory for new work: of the heap as collections leave it, and of what the container may have. */

import { totalmem } from 'node:os';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/** Above this share new work is refused. What is in flight still grows: a stream's reply, a body that is being read. */
const FULL = 0.85;
/** Below this it has recovered. Between the two nothing changes, so that it does not flap. */
const WELL = 0.8;

const LOOK_MS = 500;
/** So many looks after the last bad sign, what is known of the heap is old: without work nothing is collected. */
const OLD_LOOKS = 10;

/**
 * What V8 counts into its limit beside long-lived objects, three times its room for young ones (16 MiB, and 32 in newer
 * versions), and 16 MiB that a collection needs to move survivors to: with a heap of 64 MiB the process dies at 52, with
 * 128 MiB at 106.
 */
const YOUNG_BYTES = ((Number.parseInt(process.versions.v8, 10) >= 13 ? 3 * 32 : 3 * 16) + 16) * 1024 * 1024;

/**
 * Judges readings, each a share of what there is. Heap is read after collections only, because before them most of it may
 * be garbage. Once little is allocated there are none, and nothing would tell that the memory is free: so, a while after
 * the last bad sign, it lets in one chat, then two, four, eight a look, until a reading says either.
 */
export class MemoryHealth {
  #heap = 0;
  #resident = 0;
  /** The most that was resident since memory became short. */
  #residentPeak = 0;
  #isShort = false;
  #looksSinceSign = 0;
  #places = 0;

  /** What a major collection left in use of the heap. */
  collected(heap: number): void {
    this.#heap = heap;
    this.#judge(heap > FULL);
  }

  /** How much of the container's memory is resident, once a look; 0 where nothing limits it. */
  looked(resident: number): void {
    this.#resident = resident;
    this.#looksSinceSign += 1;
    const beyond = this.#looksSinceSign - OLD_LOOKS;
    this.#places = beyond < 0 ? 0 : 2 ** Math.min(beyond, 30);
    this.#judge(resident > FULL && resident > this.#residentPeak);
  }

  /** Whether a chat has to be refused for want of memory; where not, it is counted as let in. */
  refuses(): boolean {
    if (!this.#isShort) return false;
    if (this.#places === 0) return true;
    this.#places -= 1;
    return false;
  }

  #judge(isBadSign: boolean): void {
    const most = Math.max(this.#heap, this.#resident);
    if (most > FULL) this.#isShort = true;
    else if (most < WELL) this.#isShort = false;
    this.#residentPeak = this.#isShort ? Math.max(this.#residentPeak, this.#resident) : 0;
    if (!isBadSign) return;
    this.#looksSinceSign = 0;
    this.#places = 0;
  }
}

/** Reads the memory of this process: the heap after each major collection, what is resident twice a second. Returns how to stop. */
export function watchMemory(health: MemoryHealth): () => void {
  const observer = new PerformanceObserver((list) => {
    if (list.getEntries().some(isMajor)) health.collected(heapShare(getHeapStatistics()));
  });
  observer.observe({ entryTypes: ['gc'] });
  const limitBytes = containerBytes(process.constrainedMemory(), totalmem());
  const look = (): void => health.looked(limitBytes === undefined ? 0 : process.memoryUsage.rss() / limitBytes);
  const timer = setInterval(look, LOOK_MS).unref();
  return () => {
    observer.disconnect();
    clearInterval(timer);
  };
}

function isMajor(entry: object): boolean {
  const detail: unknown = 'detail' in entry ? entry.detail : undefined;
  return typeof detail === 'object' && detail !== null && 'kind' in detail && detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}

/** How much of the heap is in use, of what can be. */
export function heapShare(heap: { readonly used_heap_size: number; readonly heap_size_limit: number }): number {
  return heap.used_heap_size / Math.max(heap.heap_size_limit - YOUNG_BYTES, heap.heap_size_limit / 4);
}

/** The container's limit; undefined where there is none. `constrained` is 0, or more than the machine has, where nothing limits it. */
export function containerBytes(constrained: number | undefined, machine: number): number | undefined {
  return constrained !== undefined && constrained > 0 && constrained < machine ? constrained : undefined;
}
