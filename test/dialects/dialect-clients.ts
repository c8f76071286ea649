/** What tests of the dialects share. */

import assert from 'node:assert/strict';

/** A provider for each protocol that the gateway speaks to providers. */
export const PROVIDERS = ['anthropic', 'openai', 'gemini', 'compat'] as const;

/** What came before the connection broke; fails when it ended in order. */
export async function brokenText(response: Response): Promise<string> {
  assert.equal(response.status, 200);
  assert.ok(response.body !== null);
  let text = '';
  const decoder = new TextDecoder();
  const reading = (async () => {
    for await (const bytes of response.body as AsyncIterable<Uint8Array>) text += decoder.decode(bytes, { stream: true });
  })();
  await assert.rejects(reading, 'the stream ended in order');
  return text;
}
