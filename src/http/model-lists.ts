/**
 * The model lists of all providers, kept for a while: clients ask for them at every start, and a list is up to fifty calls.
 *
 * Kept are ten minutes, at most 5,000 models of a provider and 256 characters of a text: some MiB a provider at worst.
 */

import { bounded } from '../base/redact.ts';
import type { Provider } from '../core/adapter.ts';
import type { ModelInfo } from '../core/chat.ts';
import { beyondLimit, Failure } from '../core/failure.ts';
import { Scope } from '../core/scope.ts';
import { createCallRecord } from '../gateway/call-record.ts';
import type { CallContext } from '../gateway/gateway.ts';

const KEPT_MS = 600_000;
/** So long a provider that failed is not asked again: each time costs those who wait its retries. */
const FAILURE_KEPT_MS = 10_000;
/** All that one provider's list may take, lest a silent one keeps all others from being seen. */
const FETCH_MS_MAX = 15_000;
const MODELS_MAX = 5000;
/** No longer name can be asked for. */
const TEXT_CHARS_MAX = 256;
/** More kinds of input than any model takes. */
const INPUT_KINDS_MAX = 16;

export type ModelsOutcome = readonly ModelInfo[] | Failure;

/** What a list is fetched for. */
export type ModelsAsker = Pick<CallContext, 'scope' | 'record' | 'extraHeaders'>;

export type ModelListsSurroundings = {
  /** All pages of one provider. */
  readonly ask: (provider: Provider, context: CallContext) => Promise<ModelsOutcome>;
  readonly onFailure: (provider: Provider, failure: Failure, requestId: string) => void;
  /** For how long an operator lets a request last at most. */
  readonly requestTimeoutMs: number;
  /** Milliseconds of a clock that never jumps. */
  readonly now: () => number;
};

/** What is known of one provider. */
type Entry = {
  models: readonly ModelInfo[] | undefined;
  fetchedAtMs: number;
  failure: Failure | undefined;
  failedAtMs: number;
};

/** A fetch in flight, shared by those who wait for it. It ends when the last of them is gone. */
type Fetching = { readonly provider: string; readonly scope: Scope; readonly done: Promise<void>; waiting: number };

export class ModelLists {
  readonly #surroundings: ModelListsSurroundings;
  /** By provider, of which there are as many as are configured. */
  readonly #entries = new Map<string, Entry>();
  readonly #fetching = new Map<string, Fetching>();

  constructor(surroundings: ModelListsSurroundings) {
    this.#surroundings = surroundings;
  }

  /**
   * The models of each of the providers, up to ten minutes old, or older while it fails; the failure of one that never had
   * any. Undefined when the asker's exchange ended first.
   */
  async of(providers: readonly Provider[], asker: ModelsAsker): Promise<readonly ModelsOutcome[] | undefined> {
    const awaited = providers.filter((provider) => !this.#isFresh(provider)).map((provider) => this.#fetchingOf(provider, asker));
    if (awaited.length > 0) await this.#wait(awaited, asker.scope);
    if (asker.scope.ended !== undefined) return undefined;
    return providers.map((provider) => {
      const { models, failure } = this.#entryOf(provider);
      const outcome = models ?? failure;
      if (outcome === undefined) throw new Error('a list was waited for and is not there');
      return outcome;
    });
  }

  #entryOf({ name }: Provider): Entry {
    let entry = this.#entries.get(name);
    if (entry === undefined) {
      entry = { models: undefined, fetchedAtMs: 0, failure: undefined, failedAtMs: 0 };
      this.#entries.set(name, entry);
    }
    return entry;
  }

  #isFresh(provider: Provider): boolean {
    const { models, fetchedAtMs, failure, failedAtMs } = this.#entryOf(provider);
    const nowMs = this.#surroundings.now();
    return (models !== undefined && nowMs - fetchedAtMs < KEPT_MS) || (failure !== undefined && nowMs - failedAtMs < FAILURE_KEPT_MS);
  }

  #fetchingOf(provider: Provider, asker: ModelsAsker): Fetching {
    const inFlight = this.#fetching.get(provider.name);
    if (inFlight !== undefined) return inFlight;
    const scope = new Scope();
    const done = this.#fetch(provider, scope, asker).finally(() => this.#forget(fetching));
    const fetching: Fetching = { provider: provider.name, scope, done, waiting: 0 };
    this.#fetching.set(provider.name, fetching);
    return fetching;
  }

  #forget(fetching: Fetching): void {
    if (this.#fetching.get(fetching.provider) === fetching) this.#fetching.delete(fetching.provider);
  }

  async #fetch(provider: Provider, scope: Scope, asker: ModelsAsker): Promise<void> {
    const { ask, onFailure, requestTimeoutMs, now } = this.#surroundings;
    const { requestId } = asker.record;
    const record = createCallRecord(requestId);
    record.provider = provider.name;
    const isOwnLimit = FETCH_MS_MAX < requestTimeoutMs;
    const timeoutMs = Math.min(FETCH_MS_MAX, requestTimeoutMs);
    const timer = setTimeout(() => scope.end('deadline'), timeoutMs);
    const deadline = { atMs: performance.now() + timeoutMs, setting: isOwnLimit ? 'a list of models' : 'GATEWAY_REQUEST_TIMEOUT' };
    const models = bound(provider, await ask(provider, { scope, deadline, record, extraHeaders: asker.extraHeaders }).finally(() => clearTimeout(timer)));
    asker.record.attempts += record.attempts;
    // Fetches of several providers run side by side.
    asker.record.upstreamMs = Math.max(asker.record.upstreamMs, record.upstreamMs);
    if (scope.ended === 'caller-gone') return;
    const entry = this.#entryOf(provider);
    if (models instanceof Failure) {
      entry.failure = models;
      entry.failedAtMs = now();
      onFailure(provider, models, requestId);
    } else {
      entry.models = models;
      entry.fetchedAtMs = now();
      entry.failure = undefined;
    }
  }

  /** Until all are done, or the exchange ends; fetches that nobody waits for any more are ended. */
  async #wait(awaited: readonly Fetching[], scope: Scope): Promise<void> {
    for (const fetching of awaited) fetching.waiting += 1;
    await new Promise<void>((resolve, reject) => {
      scope.onEnd(resolve);
      Promise.all(awaited.map(({ done }) => done)).then(() => resolve(), reject);
    });
    scope.onEnd(undefined);
    for (const fetching of awaited) {
      fetching.waiting -= 1;
      if (fetching.waiting > 0) continue;
      // Who asks while it is ending begins another.
      this.#forget(fetching);
      fetching.scope.end('caller-gone');
    }
  }
}

/** The list within the bounds of what is kept. */
function bound({ name }: Provider, models: ModelsOutcome): ModelsOutcome {
  if (models instanceof Failure) return models;
  if (models.length > MODELS_MAX) return beyondLimit(name, 200, `its model list has more than ${MODELS_MAX} models`);
  return models
    .filter(({ id }) => id.length <= TEXT_CHARS_MAX)
    .map((model) => ({
      ...model,
      displayName: boundedText(model.displayName),
      input: model.input?.slice(0, INPUT_KINDS_MAX).map((kind) => bounded(kind, TEXT_CHARS_MAX)),
      deprecatedAt: boundedText(model.deprecatedAt),
    }));
}

function boundedText(text: string | undefined): string | undefined {
  return text === undefined ? undefined : bounded(text, TEXT_CHARS_MAX);
}
