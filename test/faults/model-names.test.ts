/** A model's name is the only text of a caller that reaches a URL. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../base/random.ts';
import { FUZZERS, GEMINI_PATH, randomModelName } from '../fuzz/fuzzers.ts';
import { startGateway, user } from '../running-gateway.ts';
import { answerJson, environmentFor, inParallel, PROVIDERS, startUpstream } from './upstream.ts';

test('2,000 names stay in their place of every adapter\'s path', () => {
  for (let seed = 1; seed <= 2000; seed += 1) FUZZERS['modelNames']?.(createRandom(seed), []);
});

const NAMES = ['..', '.', '%2e%2e', '../../v1/files?key=', 'a#b', 'a?key=x', 'models/..', 'models/../../x', '//host/x', 'http://host/', 'x:countTokens', 'x\r\nhost: y', '\0'];

for (const transport of ['http', 'wire', 'fetch']) {
  test(`names arrive at a provider over ${transport} as one model, or not at all`, async (t) => {
    const paths: Record<string, string[]> = { anthropic: [], openai: [], gemini: [] };
    const upstream = await startUpstream(t, (response, request) => {
      const provider = PROVIDERS.find((name) => request.headers['x-goog-api-key'] ? name === 'gemini' : request.headers['x-api-key'] ? name === 'anthropic' : name === 'openai');
      paths[provider ?? '']?.push(request.url ?? '');
      answerJson(response, 404, '{}');
    });
    const gateway = await startGateway(t, { ...environmentFor(upstream), GATEWAY_TRANSPORT: transport });
    const names = [...NAMES, ...Array.from({ length: 150 }, (_, seed) => randomModelName(createRandom(seed)))];
    await inParallel(names.length, 8, async (index) => {
      // The others have it in no URL: what reads like one shows that of them.
      for (const provider of index < NAMES.length ? PROVIDERS : (['gemini'] as const)) {
        const { status } = await gateway.chat({ provider, model: names[index], messages: [user('x')] });
        assert.ok(status === 400 || status === 404, `${status} for ${JSON.stringify(names[index])}`);
      }
    });
    assert.deepEqual([...new Set(paths['anthropic'])], ['/v1/messages']);
    assert.deepEqual([...new Set(paths['openai'])], ['/chat/completions']);
    for (const path of paths['gemini'] ?? []) assert.match(path, GEMINI_PATH);
    assert.ok((paths['gemini'] ?? []).length > 50, `only ${paths['gemini']?.length} names were sent`);
  });
}
