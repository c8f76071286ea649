/** How long to wait before a worker is started in place of one that ended: longer each time while they end at once. */

const FIRST_DELAY_MS = 100;
const DELAY_MS_MAX = 5000;
/** Who lived as long did not end because of how it was started. */
const SHORT_LIFE_MS = 10_000;

export class Brake {
  #nextDelayMs = FIRST_DELAY_MS;

  /** The wait after a worker that lived so long. */
  delayAfter(lifeMs: number): number {
    if (lifeMs >= SHORT_LIFE_MS) this.#nextDelayMs = FIRST_DELAY_MS;
    const delayMs = this.#nextDelayMs;
    this.#nextDelayMs = Math.min(delayMs * 2, DELAY_MS_MAX);
    return delayMs;
  }
}
