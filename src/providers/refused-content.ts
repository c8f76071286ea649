/** What people and tools say that a provider cannot be told, found before anything is encoded. */

import type { ContentPart, Turn } from '../core/chat.ts';
import { Failure } from '../core/failure.ts';

/** Why a part cannot be told. `field` is the one to blame; empty = the part as a whole. */
export type Objection = { readonly field: '' | '.url'; readonly why: string };

/** Text that the caller does not hold has no form in either of OpenAI's APIs. */
export function textByUrl(part: ContentPart): Objection | undefined {
  const isTextByUrl = part.type === 'document' && part.mediaType === 'text/plain' && part.source.type === 'url';
  return isTextByUrl ? { field: '.url', why: 'a text document goes inline only' } : undefined;
}

/** The failure for the first part to which there is an objection, naming its place. `isResult` = it is part of a tool's result. */
export function refuseContent(turns: readonly Turn[], objectionTo: (part: ContentPart, isResult: boolean) => Objection | undefined): Failure | undefined {
  for (const [index, turn] of turns.entries()) {
    if (turn.role === 'assistant') continue;
    for (const [at, part] of turn.parts.entries()) {
      const isResult = part.type === 'tool_result';
      const said = isResult ? part.content : [part];
      if (typeof said === 'string') continue;
      for (const [inner, content] of said.entries()) {
        const objection = objectionTo(content, isResult);
        if (objection === undefined) continue;
        const place = `messages[${index}].content[${at}]${isResult ? `.content[${inner}]` : ''}`;
        return new Failure('unsupported', `${place}${objection.field}: ${objection.why}`);
      }
    }
  }
  return undefined;
}
