/** Variables that look like settings and are none: platforms inject some, and people mistype others. */

import { hintOf, nearest } from '../base/nearest.ts';
import type { Environment } from './environment.ts';
import { quoted } from './masking.ts';
import { SETTINGS } from './settings.ts';
import type { Setting } from './settings.ts';

const PREFIX = 'GATEWAY_';
/** Other words for a setting than its own. */
const OTHER_WORDS: Readonly<Record<string, string>> = { ADDRESS: 'GATEWAY_ADDR', HOST: 'GATEWAY_ADDR', PORT: 'GATEWAY_ADDR' };

/** Each one sentence, with what was probably meant. */
export function unknownVariables(environment: Environment): string[] {
  const known = (SETTINGS as readonly Setting[]).flatMap(({ variable, type }) =>
    type.shown === 'never' ? [variable, `${variable}_FILE`] : [variable],
  );
  // The routing file names variables of keys as it likes.
  const read = environment.effective.flatMap(({ variable, value }) => (value === '[set]' ? [variable, `${variable}_FILE`] : []));
  const unknown = environment.names().filter((name) => name.startsWith(PREFIX) && !known.includes(name) && !read.includes(name));
  return unknown.map((name) => `${/^\w+$/.test(name) ? name : quoted(name)}: there is no such setting${hintOf(meantBy(name, known))}`);
}

/** The setting that a name was probably meant to be: one that the word is a part of, or else the nearest, without what all begin with. */
function meantBy(name: string, known: readonly string[]): string | undefined {
  const word = name.slice(PREFIX.length);
  if (Object.hasOwn(OTHER_WORDS, word)) return OTHER_WORDS[word];
  const whole = known.find((variable) => `_${variable}_`.includes(`_${word}_`));
  if (whole !== undefined) return whole;
  const words = known.map((variable) => (variable.startsWith(PREFIX) ? variable.slice(PREFIX.length) : variable));
  const near = nearest(word, words);
  return near === undefined ? undefined : known[words.indexOf(near)];
}
