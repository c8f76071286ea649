/** A failure's sentence for people who are not to see a secret. */

import type { Failure } from './failure.ts';

/** The gateway's own sentence. Only what it quotes of others is searched: a key such as `ollama` would garble the rest. */
export function sentenceOf({ message, quotes }: Failure, redact: (text: string) => string): string {
  let sentence = message;
  for (const quote of quotes) {
    const masked = redact(quote);
    if (masked !== quote) sentence = sentence.replaceAll(quote, () => masked);
  }
  return sentence;
}
