/**
 * Whether tool calls and their results match, as every provider demands of a conversation.
 *
 * Does not look at what a turn says, and knows no provider's further rules.
 */

import type { AssistantTurn, ToolTurn, Turn } from './chat.ts';
import { unreachable } from './chat.ts';
import { Failure } from './failure.ts';

/** The calls of the nearest assistant turn, by id. */
type Calls = {
  /** Where each call stands that has no result yet, in order. */
  readonly open: Map<string, Place>;
  readonly answered: Set<string>;
};

/** Indexes into `messages` and its `content`. */
type Place = { readonly turn: number; readonly part: number };

/**
 * The first breach of these rules, or undefined: a result answers a call of the nearest assistant turn before it;
 * no call is answered twice; every call is answered before the next user or assistant turn and before the end;
 * the calls of one turn have different ids. A breach is a bad_request (400) that names message, part and id.
 * Takes time linear in the number of parts.
 */
// hot: per request
export function checkConversation(turns: readonly Turn[]): Failure | undefined {
  const calls: Calls = { open: new Map(), answered: new Set() };
  for (const [index, turn] of turns.entries()) {
    const failure = checkTurn(calls, turn, index);
    if (failure !== undefined) return failure;
  }
  return checkAnswered(calls, 'by the end of messages');
}

function checkTurn(calls: Calls, turn: Turn, index: number): Failure | undefined {
  switch (turn.role) {
    case 'user':
      return checkAnswered(calls, `before messages[${index}]`);
    case 'assistant':
      return checkAnswered(calls, `before messages[${index}]`) ?? openCalls(calls, turn, index);
    case 'tool':
      return answerCalls(calls, turn, index);
    default:
      return unreachable(turn);
  }
}

function checkAnswered(calls: Calls, deadline: string): Failure | undefined {
  for (const [id, place] of calls.open) return breach(place, 'tool_call', id, ` is not answered ${deadline}`);
  return undefined;
}

function openCalls(calls: Calls, turn: AssistantTurn, index: number): Failure | undefined {
  calls.answered.clear();
  for (const [partIndex, part] of turn.parts.entries()) {
    if (part.type !== 'tool_call') continue;
    const place = { turn: index, part: partIndex };
    if (calls.open.has(part.id)) return breach(place, 'this message has another tool_call with id', part.id);
    calls.open.set(part.id, place);
  }
  return undefined;
}

function answerCalls(calls: Calls, turn: ToolTurn, index: number): Failure | undefined {
  for (const [partIndex, { toolCallId }] of turn.parts.entries()) {
    if (calls.open.delete(toolCallId)) {
      calls.answered.add(toolCallId);
      continue;
    }
    const place = { turn: index, part: partIndex };
    return calls.answered.has(toolCallId)
      ? breach(place, 'tool_call', toolCallId, ' has been answered already')
      : breach(place, 'the assistant message before it has no tool_call with the id', toolCallId);
  }
  return undefined;
}

/** Longest piece of an id, which is the caller's own text, that a sentence repeats. */
const ID_CHARS_MAX = 64;

function breach(place: Place, before: string, id: string, behind = ''): Failure {
  const quote = JSON.stringify(id.length > ID_CHARS_MAX ? `${id.slice(0, ID_CHARS_MAX)}…` : id);
  return new Failure('bad_request', `messages[${place.turn}].content[${place.part}]: ${before} ${quote}${behind}`, { quotes: [quote] });
}
