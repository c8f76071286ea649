/** Large texts of providers: parsed step by step before a codec reads them, and handed on in turns, so that nobody else waits for it. */

import { parseLargeLenient } from '../base/json/lenient.ts';
import { createReplyBudget } from '../base/json/limits.ts';
import { parseLargeReplied } from '../base/json/parse.ts';
import type { ParsedText } from '../base/json/parse.ts';
import { JsonProblem } from '../base/json/value.ts';
import { nextTurn } from '../base/turn.ts';
import type { Delta } from '../core/delta.ts';
import { Failure, problemReply } from '../core/failure.ts';

/** Failure: server, for what is no JSON or beyond a limit on it. `what` says what is wrong where the text is no JSON. */
export async function parseLargeText(provider: string, text: string, what: string, budget = createReplyBudget()): Promise<ParsedText | Failure> {
  await nextTurn();
  const exact = await parseLargeReplied(text, nextTurn, undefined, budget);
  if (exact instanceof JsonProblem) return problemReply(provider, exact, what);
  return { json: await parseLargeLenient(text, nextTurn), exact, values: budget.valuesMax - budget.valuesLeft };
}

/** What a large event says is handed on so much at a time: a few milliseconds, whatever it is. */
const TURN_CHARS = 256 * 1024;
/** What a piece of it costs beside its text. */
const PIECE_CHARS = 1024;

/** What a large event says, as much at a time as one turn of the event loop hands on; the last may be less. */
export function* turnsOf(deltas: readonly Delta[]): Generator<readonly Delta[]> {
  let turn: Delta[] = [];
  let chars = 0;
  for (const delta of deltas) {
    for (const piece of piecesOf(delta)) {
      turn.push(piece);
      chars += charsOf(piece);
      if (chars < TURN_CHARS) continue;
      yield turn;
      turn = [];
      chars = 0;
    }
  }
  if (turn.length > 0) yield turn;
}

/** A text as long as it is handed on at once, cut between two characters; anything else as it is. */
function* piecesOf(delta: Delta): Generator<Delta> {
  const { type } = delta;
  if ((type !== 'text' && type !== 'thinking') || delta.text.length <= TURN_CHARS) return yield delta;
  const { text } = delta;
  for (let at = 0; at < text.length; ) {
    const isWithin = (text.charCodeAt(at + TURN_CHARS - 1) & 0xfc00) === 0xd800;
    const end = at + TURN_CHARS - (isWithin ? 1 : 0);
    yield { type, text: text.slice(at, end) };
    at = end;
  }
}

function charsOf(delta: Delta): number {
  if (delta.type === 'tool_call') return PIECE_CHARS + delta.call.arguments.text.length;
  return PIECE_CHARS + ('text' in delta ? delta.text.length : 0);
}
