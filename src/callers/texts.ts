/** Texts of a conversation, whatever its dialect. */

import type { Path } from '../base/fields.ts';
import type { TextPart, UserTurn } from '../core/chat.ts';
import type { Places } from './places.ts';

export function plainText(text: string): TextPart {
  return { type: 'text', text, state: undefined };
}

/** Between the parts of a system text, and between such texts. */
export const PARAGRAPH = '\n\n';
/** Between the texts of a tool's result: without, the end of one and the beginning of the next would be one word. */
export const LINE = '\n';

/** Instructions that come in the middle of a conversation, where a chat has no other place for them. */
export function laterInstructions(text: string, places: Places, path: Path | undefined): UserTurn {
  return { role: 'user', parts: [places.put(plainText(`<system>\n${text}\n</system>`), path)] };
}
