/** How long to wait before a worker is started in place of one that ended: longer each time while they end at once. */

const FIRST_DELAY_MS = 100;
const DELAY_MS_MAX = 5000;
/**
 * A worker that served as long did not end because of how it was started. Were this longer, workers that something kills now and
 * then would be held back too, until nobody serves.
 */
const SHORT_SERVICE_MS = 1000;

export class Brake {
  #nextDelayMs = FIRST_DELAY_MS;

  /** The wait after a worker that served so long. */
  delayAfter(servedMs: number): number {
    if (servedMs >= SHORT_SERVICE_MS) this.#nextDelayMs = FIRST_DELAY_MS;
    const delayMs = this.#nextDelayMs;
    this.#nextDelayMs = Math.min(delayMs * 2, DELAY_MS_MAX);
    return delayMs;
  }
}
