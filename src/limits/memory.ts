/** Callers' limits in the memory of this process. */

import { accountOf } from './account.ts';
import type { Account } from './account.ts';
import type { LocalStore } from './store.ts';

/** `now`: milliseconds of a clock that never goes back. Keeps an account for each label that it was ever asked about, which configurations name. */
export function createMemoryStore(now: () => number): LocalStore {
  const accounts = new Map<string, Account>();
  return {
    // hot: per request
    take({ caller, limits, tokens }) {
      const account = accountOf(accounts, caller);
      const nowMs = now();
      const refusal = account.refusalOf(limits, tokens, nowMs);
      if (refusal === undefined) account.take(limits, tokens, nowMs);
      const standings = account.standings(limits, nowMs);
      return refusal === undefined ? { refusedBy: undefined, standings } : { ...refusal, standings };
    },
    // hot: per request
    settle({ caller, limits }, tokensMore) {
      accountOf(accounts, caller).settle(limits, tokensMore, now());
    },
    close() {},
  };
}
