/** What changes in how targets and keys stand, as data: told to the log, to metrics and to other processes. */

export type Transition =
  | {
      readonly of: 'target';
      readonly provider: string;
      readonly model: string;
      readonly to: 'out';
      /** `failures`: too many. `probe`: the one that was let through failed. `not_found`: the provider has no such model. */
      readonly cause: 'failures' | 'probe' | 'not_found';
      /** A duration, since clocks of processes differ. */
      readonly forMs: number;
    }
  | { readonly of: 'target'; readonly provider: string; readonly model: string; readonly to: 'in' }
  | {
      readonly of: 'key';
      readonly provider: string;
      /** `ProviderKey.id`. */
      readonly key: string;
      /** `ProviderKey.number`. */
      readonly number: number;
      /** Undefined = for all models. */
      readonly model: string | undefined;
      readonly to: 'cooling';
      readonly cause: 'rate_limit' | 'quota' | 'rejected';
      readonly forMs: number;
    };

export type TransitionListener = (transition: Transition) => void;
