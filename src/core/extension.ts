/** The parts of a request that not every codec knows how to say. */

import type { SupportTable } from './adapter.ts';
import type { ChatRequest } from './chat.ts';
import { Failure } from './failure.ts';

/** What becomes of them where a codec knows none. */
export const NO_EXTENSIONS = {
  'user document (pdf inline)': { is: 'refused', as: 'not taken' },
  'user document (pdf url)': { is: 'refused', as: 'not taken' },
  'user document (text)': { is: 'refused', as: 'not taken' },
  'tool_result image': { is: 'refused', as: 'results are text' },
  'tool_result document': { is: 'refused', as: 'results are text' },
  'tools strict': { is: 'refused', as: 'not enforced' },
  'tool_choice.parallel false': { is: 'refused', as: 'not enforced' },
  output: { is: 'refused', as: 'not enforced' },
  'output.schema': { is: 'refused', as: 'not enforced' },
  'output.strict false': { is: 'refused', as: 'not enforced' },
  cache: { is: 'ignored', as: 'no field for it' },
  'cache.ttl long': { is: 'ignored', as: 'no field for it' },
  user: { is: 'ignored', as: 'no field for it' },
} as const satisfies Partial<SupportTable>;

/** Refuses, by its path, the first of them. `cache` and `user` are hints, and nothing is lost without them. */
export function refuseExtensions(provider: string, { output, tools, toolChoice, turns }: ChatRequest): Failure | undefined {
  if (output !== undefined) return refused(provider, 'output');
  if (toolChoice?.parallel !== undefined) return refused(provider, 'tool_choice.parallel');
  const strict = tools.findIndex((tool) => tool.strict === true);
  if (strict !== -1) return refused(provider, `tools[${strict}].strict`);
  for (const [index, { parts }] of turns.entries()) {
    for (const [at, part] of parts.entries()) {
      if (part.type === 'document') return refused(provider, `messages[${index}].content[${at}]`);
      if (part.type === 'tool_result' && typeof part.content !== 'string') return refused(provider, `messages[${index}].content[${at}].content`);
    }
  }
  return undefined;
}

function refused(provider: string, place: string): Failure {
  return new Failure('unsupported', `${place}: not supported for ${provider}`);
}
