/** Somebody who may serve what a caller asked. */

import type { DialectRelay } from '../core/dialect.ts';
import type { OmittableField } from '../core/route.ts';
import type { Candidate } from '../gateway/ask.ts';

export type CallerCandidate = Candidate & {
  /** Undefined where the request is translated. */
  readonly relay: DialectRelay | undefined;
  /** Translates the request ahead of `call`, which of a large one takes a turn of the event loop of its own. */
  readonly prepare: () => void;
  /** What `call` left out of the request; empty until then. */
  readonly left: LeftOut;
};

export type LeftOut = {
  /** Paths in the caller's body. */
  ignored: readonly string[];
  /** Fields that the route's target is never sent (`omit`). */
  omitted: readonly OmittableField[];
};
