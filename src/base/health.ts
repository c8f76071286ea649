/**
 * Whether to go on asking something that may be ailing: a score, a time and a flag.
 *
 * A failure adds points and a success takes some away; from a score on it is out, for a time that doubles with every failed
 * probe. After that time one is let through as the probe, and what becomes of it decides. It refuses nobody: it only says.
 * With +2, −1 and 16 it goes out after 8 failures in a row, and in the long run where more than a third fails; a tenth that
 * fails reaches 16 with a probability of 3·10⁻⁷ (CUSUM).
 */

export type HealthRules = {
  readonly failurePoints: number;
  readonly successPoints: number;
  /** The score from which on it is out. */
  readonly outAt: number;
  /** The score with which it comes back: probation. */
  readonly inAt: number;
  /** How long it is out at first; doubles with each time that follows. */
  readonly outMs: number;
  readonly outMsMax: number;
  /** After so long without going out the doubling starts again. */
  readonly calmMs: number;
};

/** A clock of milliseconds that never jumps, and numbers in [0, 1). */
export type Chance = { readonly now: () => number; readonly random: () => number };

/**
 * `in`: it may be asked. `out`: it had better not. `due`: out, its time is over, and it waits for its probe. `probed`: the
 * probe is on its way.
 */
export type HealthState = 'in' | 'out' | 'due' | 'probed';

/** How it was asked. `anyway`: although it was out, because nobody else was left. */
export type AskedAs = 'in' | 'probe' | 'anyway';

/** Times are spread by so much to either side: many processes must not probe together. */
const SPREAD = 0.2;

export class Health {
  readonly #rules: HealthRules;
  readonly #chance: Chance;
  #score = 0;
  /** When it may be probed; undefined while it is in. */
  #untilMs: number | undefined;
  /** Times it went out without a calm between them. */
  #times = 0;
  #wentOutAtMs = -Infinity;
  #isProbed = false;
  #askedAtMs = -Infinity;

  constructor(rules: HealthRules, chance: Chance) {
    this.#rules = rules;
    this.#chance = chance;
  }

  get state(): HealthState {
    if (this.#untilMs === undefined) return 'in';
    if (this.#isProbed) return 'probed';
    return this.#chance.now() >= this.#untilMs ? 'due' : 'out';
  }

  get isOut(): boolean {
    return this.#untilMs !== undefined;
  }

  /** How long it is still out; 0 when it is in, or its time is over. */
  get leftMs(): number {
    return this.#untilMs === undefined ? 0 : Math.max(0, this.#untilMs - this.#chance.now());
  }

  /** When it was asked last, on the same clock. */
  get askedAtMs(): number {
    return this.#askedAtMs;
  }

  /** Says how it is asked, which `succeeded`, `failed` and `done` want to know. Takes the probe's place where it is due. */
  ask(): AskedAs {
    const { state } = this;
    this.#askedAtMs = this.#chance.now();
    if (state === 'in') return 'in';
    if (state !== 'due') return 'anyway';
    this.#isProbed = true;
    return 'probe';
  }

  /** True when it came back with this. Who was asked before it went out proves nothing about what it is like since. */
  succeeded(asked: AskedAs): boolean {
    if (this.#untilMs === undefined) {
      this.#score = Math.max(0, this.#score - this.#rules.successPoints);
      return false;
    }
    if (asked === 'in') return false;
    this.comeIn();
    return true;
  }

  /** True when it went out with this, for the first time or again. */
  failed(asked: AskedAs): boolean {
    if (this.#untilMs !== undefined) {
      // Of several probes that had begun to answer the first that fails says it for all.
      if (asked !== 'probe' || this.leftMs > 0) return false;
    } else {
      this.#score += this.#rules.failurePoints;
      if (this.#score < this.#rules.outAt) return false;
    }
    this.#countTime();
    const nowMs = this.#chance.now();
    this.#wentOutAtMs = nowMs;
    this.#untilMs = nowMs + spread(Math.min(this.#rules.outMsMax, this.#rules.outMs * 2 ** (this.#times - 1)), this.#chance);
    return true;
  }

  /** To be called once after each `ask`, on every path and last: gives the probe's place back. */
  done(asked: AskedAs): void {
    if (asked === 'probe') this.#isProbed = false;
  }

  /** Another process saw it fail, and go out for so long: the next time is longer, as after a failure that was seen here. */
  failedElsewhere(ms: number): void {
    // Where it is out already, both have seen the same.
    if (this.leftMs === 0) this.#countTime();
    this.goOut(ms);
  }

  /** It is out for so long, whatever its score; never for less than it was before. */
  goOut(ms: number): void {
    this.#wentOutAtMs = this.#chance.now();
    this.#untilMs = Math.max(this.#untilMs ?? 0, this.#wentOutAtMs + ms);
  }

  /** The same, the time spread. */
  goOutAbout(ms: number): void {
    this.goOut(spread(ms, this.#chance));
  }

  /** It is in again, on probation. */
  comeIn(): void {
    this.#untilMs = undefined;
    this.#score = this.#rules.inAt;
  }

  #countTime(): void {
    if (this.#chance.now() - this.#wentOutAtMs > this.#rules.calmMs) this.#times = 0;
    this.#times += 1;
  }
}

/** A time of about so long. */
export function spread(ms: number, { random }: Chance): number {
  return ms * (1 - SPREAD + 2 * SPREAD * random());
}
