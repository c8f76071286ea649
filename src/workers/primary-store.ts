/**
 * Limits as a worker has them: the primary decides, for all workers together.
 *
 * Where it does not answer in time, the worker's own buckets decide. They are charged all the time, so that they know what
 * this worker let in; together the workers then let in as many times the limit as there are of them, at most.
 */

import type { Log } from '../base/log.ts';
import type { Charge, Decision, LimitStore } from '../limits/store.ts';
import type { ToPrimary } from './messages.ts';

/** An answer takes a twentieth of a millisecond, on a busy machine a few. */
const ANSWER_MS_MAX = 50;
/** Unanswered questions; beyond, the worker decides alone. */
const ASKED_MAX = 4096;

type Question = { readonly charge: Charge; readonly answer: (decision: Decision) => void };

export class PrimaryStore implements LimitStore {
  readonly #send: (message: ToPrimary) => void;
  readonly #own: LimitStore;
  readonly #log: Log;
  readonly #answerMsMax: number;
  readonly #asked = new Map<number, Question>();
  /** Leases that the primary may hold, and those that this worker's own buckets do. */
  readonly #atPrimary = new Set<string>();
  readonly #atOwn = new Set<string>();
  #lastId = 0;
  /** Whether a question was not answered in time. Nothing more is asked until that answer comes: the channel loses none. */
  #isSilent = false;

  constructor(send: (message: ToPrimary) => void, own: LimitStore, log: Log, answerMsMax = ANSWER_MS_MAX) {
    this.#answerMsMax = answerMsMax;
    this.#send = send;
    this.#own = own;
    this.#log = log;
  }

  async take(charge: Charge): Promise<Decision> {
    const own = await this.#own.take(charge);
    if (own.refusedBy === undefined) this.#atOwn.add(charge.lease);
    if (this.#isSilent || this.#asked.size >= ASKED_MAX) return own;
    const decision = await this.#ask(charge);
    if (decision === undefined) return own;
    if (decision.refusedBy !== undefined) this.#giveBackOwn(charge);
    return decision;
  }

  settle(charge: Charge, tokensMore: number): void {
    if (this.#atOwn.delete(charge.lease)) this.#own.settle(charge, tokensMore);
    if (this.#atPrimary.delete(charge.lease)) this.#send({ type: 'settle', charge, tokensMore });
  }

  close(): void {
    this.#asked.clear();
    this.#own.close();
  }

  /** What the primary answered. */
  decided(id: number, decision: Decision): void {
    if (this.#isSilent) this.#log.warn('limits: the primary answers again');
    this.#isSilent = false;
    const question = this.#asked.get(id);
    if (question === undefined) return;
    this.#asked.delete(id);
    if (decision.refusedBy !== undefined) this.#atPrimary.delete(question.charge.lease);
    question.answer(decision);
  }

  /** Undefined where the answer takes too long. */
  #ask(charge: Charge): Promise<Decision | undefined> {
    const id = (this.#lastId += 1);
    this.#atPrimary.add(charge.lease);
    this.#send({ type: 'take', id, charge });
    return new Promise((resolve) => {
      const limit = setTimeout(() => {
        if (!this.#isSilent) this.#log.warn('limits: the primary does not answer, this worker decides alone');
        this.#isSilent = true;
        // Let in by nobody: what the primary may have taken all the same is given back once it says so.
        if (!this.#atOwn.has(charge.lease)) this.#asked.set(id, { charge, answer: () => this.settle(charge, -charge.tokens) });
        resolve(undefined);
      }, this.#answerMsMax);
      this.#asked.set(id, {
        charge,
        answer: (decision) => {
          clearTimeout(limit);
          resolve(decision);
        },
      });
    });
  }

  #giveBackOwn(charge: Charge): void {
    if (this.#atOwn.delete(charge.lease)) this.#own.settle(charge, -charge.tokens);
  }
}
