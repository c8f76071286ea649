/**
 * Limits as a worker has them: the primary decides, for all workers together.
 *
 * A primary that is slow is waited for, because a worker that decides alone lets in too many. Only where it is gone, or says
 * nothing for a second, the worker's own buckets do. These are charged with what the primary admits, so that they know what this
 * worker let in; together the workers then let in as many times the limit as there are of them, at most.
 */

import type { Log } from '../base/log.ts';
import type { Charge, Decision, LimitStore, LocalStore } from '../limits/store.ts';
import type { ToPrimary } from './messages.ts';

/** An answer takes a twentieth of a millisecond; on a machine with far too much to do, some tenths of a second. */
const ANSWER_MS_MAX = 1000;
/** Unanswered questions; beyond, the worker decides alone. */
const ASKED_MAX = 4096;

type Question = {
  readonly charge: Charge;
  /** With undefined, there is no answer. */
  readonly answer: (decision: Decision | undefined) => void;
};

export class PrimaryStore implements LimitStore {
  readonly #send: (message: ToPrimary) => boolean;
  readonly #own: LocalStore;
  readonly #log: Log;
  readonly #answerMsMax: number;
  readonly #asked = new Map<number, Question>();
  /** Leases that the primary may hold, and those that this worker's own buckets do. */
  readonly #atPrimary = new Set<string>();
  readonly #atOwn = new Set<string>();
  #lastId = 0;
  /** Whether a question was not answered in time. Nothing more is asked until that answer comes: the channel loses none. */
  #isSilent = false;

  /** `send` returns false where nobody is there to hear it. */
  constructor(send: (message: ToPrimary) => boolean, own: LocalStore, log: Log, answerMsMax = ANSWER_MS_MAX) {
    this.#answerMsMax = answerMsMax;
    this.#send = send;
    this.#own = own;
    this.#log = log;
  }

  async take(charge: Charge): Promise<Decision> {
    if (this.#isSilent || this.#asked.size >= ASKED_MAX) return this.#takeOwn(charge);
    const id = (this.#lastId += 1);
    const decision = await this.#ask(id, charge);
    if (decision?.refusedBy !== undefined) return decision;
    const own = this.#takeOwn(charge);
    if (decision !== undefined) return decision;
    if (own.refusedBy === undefined) return own;
    // Let in by nobody: what the primary may have taken all the same is given back once it says so.
    if (this.#asked.has(id)) this.#asked.set(id, { charge, answer: () => this.settle(charge, -charge.tokens) });
    return own;
  }

  settle(charge: Charge, tokensMore: number): void {
    if (this.#atOwn.delete(charge.lease)) this.#own.settle(charge, tokensMore);
    if (this.#atPrimary.delete(charge.lease)) this.#send({ type: 'settle', charge, tokensMore });
  }

  close(): void {
    this.gone();
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

  /** The primary is gone, and answers nobody any more. */
  gone(): void {
    const questions = [...this.#asked.values()];
    this.#asked.clear();
    for (const { answer } of questions) answer(undefined);
  }

  #takeOwn(charge: Charge): Decision {
    const own = this.#own.take(charge);
    if (own.refusedBy === undefined) this.#atOwn.add(charge.lease);
    return own;
  }

  /** Undefined where there is no answer, or it takes too long. */
  #ask(id: number, charge: Charge): Promise<Decision | undefined> {
    return new Promise((resolve) => {
      // A process that was held up finds its timers before what has come meanwhile: that is read first.
      const limit = setTimeout(() => setImmediate(() => this.#giveUp(id, resolve)), this.#answerMsMax);
      const answer = (decision: Decision | undefined): void => {
        clearTimeout(limit);
        resolve(decision);
      };
      this.#atPrimary.add(charge.lease);
      this.#asked.set(id, { charge, answer });
      if (this.#send({ type: 'take', id, charge })) return;
      this.#asked.delete(id);
      this.#atPrimary.delete(charge.lease);
      answer(undefined);
    });
  }

  #giveUp(id: number, resolve: (decision: undefined) => void): void {
    if (!this.#asked.has(id)) return;
    if (!this.#isSilent) this.#log.warn('limits: the primary does not answer, this worker decides alone');
    this.#isSilent = true;
    resolve(undefined);
  }
}
