/** Every format that callers may speak. A new one is a folder beside this file and a line here. */

import type { CallerDialect } from '../core/dialect.ts';
import { NATIVE } from './native/dialect.ts';

/** The gateway's own comes first: it answers what belongs to no dialect. */
export const DIALECTS: readonly [CallerDialect, ...CallerDialect[]] = [NATIVE];
