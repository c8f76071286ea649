/** Whether a turn may make several calls (OpenAI, parallel function calling). */

import type { Fields } from '../../base/fields.ts';
import type { ToolChoice } from '../../core/chat.ts';
import type { Ignored } from '../field-table.ts';

/** The choice among tools with what `parallel_tool_calls` says. Without tools, or where none may be called, there is nothing that it could say. */
export function withParallel(choice: ToolChoice | undefined, fields: Fields, toolCount: number, ignored: Ignored): ToolChoice | undefined {
  const parallel = fields.boolean('parallel_tool_calls');
  if (parallel !== false) return choice;
  if (toolCount === 0 || choice?.mode === 'none') {
    ignored.add(fields.at('parallel_tool_calls'));
    return choice;
  }
  return choice === undefined ? { mode: 'auto', parallel } : { ...choice, parallel };
}
