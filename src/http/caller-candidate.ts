/** Somebody who may serve what a caller asked. */

import type { DialectRelay } from '../core/dialect.ts';
import type { OmittableField } from '../core/route.ts';
import type { Candidate } from '../gateway/ask.ts';

export type CallerCandidate = Candidate & {
  /** Undefined where the request is translated. */
  readonly relay: DialectRelay | undefined;
  /** Makes what the call is made of, where that takes as long as the call itself. */
  readonly prepare: () => void;
  /** What the call lacks of the request, once it was made. */
  readonly left: LeftOut;
};

export type LeftOut = {
  /** Where in the caller's body it stands. */
  ignored: readonly string[];
  /** By the operator's word. */
  omitted: readonly OmittableField[];
};
