/** The efforts of OpenAI's formats (OpenAI, reasoning models, reasoning effort) as a chat's. */

import type { Fields } from '../../base/fields.ts';
import type { Thinking } from '../../core/chat.ts';

const EFFORTS: ReadonlyMap<string, Thinking> = new Map([
  ['none', { enabled: false, effort: undefined }],
  ['minimal', { enabled: true, effort: 'low' }],
  ['low', { enabled: true, effort: 'low' }],
  ['medium', { enabled: true, effort: 'medium' }],
  ['high', { enabled: true, effort: 'high' }],
  ['xhigh', { enabled: true, effort: 'max' }],
  ['max', { enabled: true, effort: 'max' }],
]);

/** What the effort in the field `name` asks for; undefined = nothing. Throws a FieldProblem for an unknown one. */
export function readEffort(fields: Fields, name: string): Thinking | undefined {
  const effort = fields.oneOf(name, [...EFFORTS.keys()]);
  return effort === undefined ? undefined : EFFORTS.get(effort);
}
