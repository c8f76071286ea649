/** Every provider the gateway can have. A new vendor is a codec beside this file and a line here; a host is a row in its table. */

import type { ProviderRow } from '../core/adapter.ts';
import { ANTHROPIC_ROW } from './anthropic/adapter.ts';
import { FOUNDRY_ROW } from './azure/adapter.ts';
import { BEDROCK_ROW, CLAUDE_AWS_ROW } from './bedrock/adapter.ts';
import { GEMINI_ROW } from './gemini/adapter.ts';
import { HOST_ROWS } from './hosts.ts';
import { OPENAI_ROW } from './openai/adapter.ts';
import { VERTEX_ROW } from './vertex/adapter.ts';

export { compatRow } from './hosts.ts';

/** One row a provider; the order is that of the tables people read. */
export const PROVIDER_ROWS: readonly ProviderRow[] = [ANTHROPIC_ROW, OPENAI_ROW, GEMINI_ROW, ...HOST_ROWS, FOUNDRY_ROW, BEDROCK_ROW, CLAUDE_AWS_ROW, VERTEX_ROW];
