/** A model's name is the only text of a caller that reaches a URL, and a cloud's URL has it in its path. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../src/core/failure.ts';
import { modelSegment } from '../../src/providers/anthropic/host.ts';
import { PROVIDER_ROWS } from '../../src/providers/index.ts';
import { outboundPath } from '../../src/upstream/outbound.ts';
import { createRandom } from '../base/random.ts';
import { randomModelName } from '../fuzz/fuzzers.ts';
import { requestOf } from '../loops/codecs.ts';
import { providerAt } from '../upstream/attempts.ts';

const PLACE = '\\/v1(?:beta1)?\\/projects\\/p1\\/locations\\/l1';
const SEGMENT = '(?!\\.{1,2}(?:\\/|$))[\\w.~@%-]+';
const PATHS: Readonly<Record<string, RegExp>> = {
  vertex: new RegExp(`^${PLACE}\\/(endpoints\\/openapi\\/chat\\/completions|publishers\\/anthropic\\/models\\/${SEGMENT}:(streamR|r)awPredict|publishers\\/google\\/(models|tunedModels)(\\/(?!\\.{1,2}(\\/|:))[\\w.~!*'()%-]+)+:(generateContent|streamGenerateContent\\?alt=sse))$`),
  bedrock: new RegExp(`^\\/(anthropic\\/v1\\/messages|openai\\/v1\\/chat\\/completions|model\\/${SEGMENT}\\/invoke(-with-response-stream)?)$`),
};

for (const name of ['vertex', 'bedrock']) {
  const row = PROVIDER_ROWS.find((candidate) => candidate.name === name);
  test(`2,000 names stay in their place of the paths of ${name}`, () => {
    assert.ok(row !== undefined);
    const adapter = row.createAdapter(name, { openAiApi: 'auto', project: { id: 'p1', location: 'l1' } });
    const seen = new Set<string>();
    for (let seed = 1; seed <= 2000; seed += 1) {
      const random = createRandom(seed);
      const model = random.pick(['', 'claude-', 'anthropic.', 'anthropic.x:', 'xai/']) + randomModelName(random);
      const call = adapter.encodeChat(requestOf({ model }), random.below(2) === 0);
      if (call instanceof Failure) {
        assert.equal(call.status, 400);
        continue;
      }
      const path = outboundPath(providerAt(new URL('http://127.0.0.1:1')), call);
      const { pathname, search, hash } = new URL(`http://127.0.0.1:1${path}`);
      assert.equal(pathname + search + hash, path, JSON.stringify(model));
      assert.match(path, PATHS[name] ?? /^$/, JSON.stringify(model));
      seen.add(/messages|completions|awPredict|invoke|generate/i.exec(path)?.[0] ?? '');
    }
    assert.ok(seen.size >= 3, [...seen].join());
  });
}

test('a name that a URL would resolve away, or that is no text, is no segment of a path', () => {
  assert.deepEqual(['.', '..', '\ud800', '...', 'a/b', 'é'].map(modelSegment), [undefined, undefined, undefined, '...', 'a%2Fb', '%C3%A9']);
});
