/** Every format that callers may speak. A new one is a folder beside this file and a line here. */

import type { CallerDialect } from '../core/dialect.ts';
import { ANTHROPIC } from './anthropic/dialect.ts';
import { NATIVE } from './native/dialect.ts';
import { OPENAI_CHAT } from './openai-chat/dialect.ts';
import { OPENAI_RESPONSES } from './openai-responses/dialect.ts';

/** The gateway's own comes first: it answers what belongs to no dialect. */
export const DIALECTS: readonly [CallerDialect, ...CallerDialect[]] = [NATIVE, OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC];
