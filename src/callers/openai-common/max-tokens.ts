/** How long an answer may be (OpenAI, request body). */

import type { Fields } from '../../base/fields.ts';
import type { Ignored } from '../field-table.ts';

/** The most tokens that the field `name` allows; undefined = it says nothing. 0, which OpenAI refuses, limits nothing in a chat, and is named. */
export function readMaxTokens(fields: Fields, name: string, ignored: Ignored): number | undefined {
  const maxTokens = fields.count(name);
  if (maxTokens !== 0) return maxTokens;
  ignored.add(fields.at(name));
  return undefined;
}
