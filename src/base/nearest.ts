/** The known word that a mistyped one was probably meant to be. */

/** Longer words are not looked up: the cost grows with the product of the lengths. */
const WORD_CHARS_MAX = 128;

/**
 * The nearest of the known words, the first of several equally near. Undefined when none is within 2 edits or a
 * third of the word's length, whichever is more, or when less than half of the word would remain. An edit is an
 * insertion, deletion, replacement or swap of neighbours (Damerau-Levenshtein distance); another case is none.
 */
export function nearest(word: string, known: readonly string[]): string | undefined {
  if (word.length > WORD_CHARS_MAX) return undefined;
  let best: string | undefined;
  let bestDistance = Math.min(Math.max(2, Math.floor(word.length / 3)), Math.floor(word.length / 2)) + 1;
  const lowered = word.toLowerCase();
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = editDistance(lowered, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** How a sentence about a word that is not known ends: `; did you mean x?`, or nothing where no other was meant. */
export function hintOf(meant: string | undefined): string {
  return meant === undefined ? '' : `; did you mean ${meant}?`;
}

/** Row by row over the usual table; a swap looks back two rows. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1];
      let cost = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
      );
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        cost = Math.min(cost, at(beforeLast, column - 2) + 1);
      }
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity;
}
