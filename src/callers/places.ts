/**
 * Where the parts and tools of a translated request stand in the body that the caller sent.
 *
 * What is wrong with a request is found behind the dialects, too, and said in the words of the gateway's own format:
 * `messages[1].content[0]: …`. These are turned into the caller's own.
 */

import { renderPath } from '../base/fields.ts';
import type { Path } from '../base/fields.ts';
import type { ChatRequest, Part, Tool } from '../core/chat.ts';

/** A place in a conversation: a turn, one of its parts, and what lies in that part, which other formats may not have. */
const PLACE = /\bmessages\[(\d+)\](?:\.content\[(\d+)\](?:\.content\[\d+\])?(?:\.[a-z_]+)?)?/g;
/** A tool, before one of its fields. */
const TOOL = /^tools\[(\d+)\](?=\.)/;
/** A field beside the conversation, and one inside it. */
const FIELD = /^([a-z_]+)(?:\.([a-z_]+))?(?=: )/;

export class Places {
  readonly #paths = new Map<Part | Tool | undefined, Path>();

  /** Remembers where a part or a tool stands, and returns it. */
  put<T extends Part | Tool>(part: T, path: Path | undefined): T {
    if (path !== undefined) this.#paths.set(part, path);
    return part;
  }

  /** Remembers that a part stands where the one did that it replaces. */
  move<T extends Part>(from: Part, to: T): T {
    return this.put(to, this.#paths.get(from));
  }

  /** The sentence with the caller's own places. `fields` says what fields of a chat are called: `name` or `name.inner`. */
  told(sentence: string, { turns, tools }: Pick<ChatRequest, 'turns' | 'tools'>, fields: Readonly<Record<string, string | undefined>>): string {
    const [place = '', name = '', inner = ''] = FIELD.exec(sentence) ?? [];
    const called = fields[`${name}.${inner}`] ?? fields[name];
    if (called !== undefined) return called + sentence.slice(place.length);
    const told = sentence.replace(TOOL, (named, tool: string) => this.#placeOf(tools[Number(tool)]) ?? named);
    return told.replace(PLACE, (named, turn: string, part: string | undefined) => {
      const found = this.#placeOf(turns[Number(turn)]?.parts[Number(part ?? 0)]);
      if (found === undefined) return named;
      return part === undefined ? itemOf(found) : found;
    });
  }

  #placeOf(named: Part | Tool | undefined): string | undefined {
    const path = this.#paths.get(named);
    return path && renderPath(path);
  }
}

/** The item of the conversation in which a path lies: `input[3]` of `input[3].content[0]`. */
function itemOf(path: string): string {
  return /^\w+\[\d+\]/.exec(path)?.[0] ?? path;
}
