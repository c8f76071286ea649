/** The parts of a request that not every codec knows how to say. */

import type { ChatRequest } from './chat.ts';
import { Failure } from './failure.ts';

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
