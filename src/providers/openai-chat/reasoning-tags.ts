/**
 * Reasoning that stands in the text itself, between tags and before the answer: so gpt-oss writes on Bedrock.
 *
 * A stream has a pair of tags around each piece of it. Nobody promises that a tag comes whole, and behind one that was missed the
 * answer would be taken for reasoning, so what may be the beginning of a tag is held back.
 */

const OPEN_TAG = '<reasoning>';
const CLOSE_TAG = '</reasoning>';

/** What a piece says; the text comes behind the thinking. */
export type Told = { readonly thinking: string; readonly text: string };

export class ReasoningTags {
  #isInside = false;
  /** The end of what came, where it may be the beginning of a tag. */
  #begun = '';

  /** Takes the next piece. Not to be asked once there is text: tags behind it are text like any other. */
  take(piece: string): Told {
    let rest = this.#begun + piece;
    let thinking = '';
    this.#begun = '';
    while (this.#isInside || rest.startsWith(OPEN_TAG)) {
      if (!this.#isInside) rest = rest.slice(OPEN_TAG.length);
      const end = rest.indexOf(CLOSE_TAG);
      this.#isInside = end === -1;
      if (this.#isInside) {
        this.#begun = begunAtEnd(CLOSE_TAG, rest);
        return { thinking: thinking + rest.slice(0, rest.length - this.#begun.length), text: '' };
      }
      thinking += rest.slice(0, end);
      rest = rest.slice(end + CLOSE_TAG.length);
    }
    if (!OPEN_TAG.startsWith(rest)) return { thinking, text: rest };
    this.#begun = rest;
    return { thinking, text: '' };
  }

  /** The answer is over: what was begun is no tag. */
  end(): Told {
    const rest = this.#begun;
    this.#begun = '';
    return this.#isInside ? { thinking: rest, text: '' } : { thinking: '', text: rest };
  }
}

/** The longest end of a text that the tag begins with. */
function begunAtEnd(tag: string, text: string): string {
  for (let count = Math.min(tag.length - 1, text.length); count > 0; count -= 1) {
    const begun = tag.slice(0, count);
    if (text.endsWith(begun)) return begun;
  }
  return '';
}
