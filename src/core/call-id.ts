/** Identifiers of tool calls: made where a provider gives none, mapped where the next one would refuse them. */

import { randomId } from '../base/random-id.ts';
import { sha256 } from '../base/sha256.ts';

const MADE_PREFIX = 'gwcall_';

/** A fresh id, for a call whose provider gave none. Unique in any conversation: 96 random bits. */
export function makeCallId(): string {
  return MADE_PREFIX + randomId().slice(0, 24);
}

/** The id of one more call of an answer, which is added to `taken`: a fresh one where the provider gave none, or one that another call has. */
export function ownCallId(given: string | undefined, taken: Set<string>): string {
  const id = given === undefined || taken.has(given) ? makeCallId() : given;
  taken.add(id);
  return id;
}

/** True for an id that `makeCallId` made, which the provider has never seen. */
export function isMadeCallId(id: string): boolean {
  return /^gwcall_[0-9a-f]{24}$/.test(id);
}

/** The ids that a provider takes. `length` hex digits are among them. */
export type CallIdForm = { readonly accepted: RegExp; readonly length: number };

/**
 * The ids of one conversation in a form that the provider takes: an id that it accepts stays, another becomes
 * the first `length` hex digits of its SHA-256. No two calls get the same form, also where a mapped id meets a
 * natural one, or a host uses an id again in a later turn: who comes first keeps the form, so the encoding of a
 * conversation's beginning never depends on what follows. Ask in the order of the conversation.
 */
export class CallIds {
  readonly #form: CallIdForm;
  readonly #taken = new Set<string>();
  /** By id: the form of its latest call, and how many forms were tried so far. */
  readonly #latest = new Map<string, { readonly form: string; readonly tries: number }>();

  constructor(form: CallIdForm) {
    this.#form = form;
  }

  /** The form for a call. */
  ofCall(id: string): string {
    let tries = this.#latest.get(id)?.tries ?? 0;
    let form: string;
    do form = this.#candidate(id, tries++);
    while (this.#taken.has(form));
    this.#taken.add(form);
    this.#latest.set(id, { form, tries });
    return form;
  }

  /** The form for a result: that of the latest call with the id. */
  ofResult(id: string): string {
    return this.#latest.get(id)?.form ?? this.ofCall(id);
  }

  #candidate(id: string, tries: number): string {
    if (tries === 0 && this.#form.accepted.test(id)) return id;
    const source = tries === 0 ? id : `${tries}\0${id}`;
    return sha256(source).slice(0, this.#form.length);
  }
}
