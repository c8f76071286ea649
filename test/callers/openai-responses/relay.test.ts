import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OPENAI_RESPONSES } from '../../../src/callers/openai-responses/dialect.ts';
import { Failure } from '../../../src/core/failure.ts';
import { sentText } from '../../sent-text.ts';
import { decodedBy } from '../dialect-testing.ts';

/** The body that is passed on; why not, where it is not. */
function relayedFrom(body: string, allowsStored = false): string {
  const decoded = decodedBy(OPENAI_RESPONSES, body);
  if (decoded instanceof Failure) return assert.fail(decoded.message);
  const relayed = OPENAI_RESPONSES.relay?.encode(decoded, 'm', { caller: 'shop', allowsStored, isVendor: true }) ?? assert.fail();
  return relayed instanceof Failure ? relayed.message : sentText(relayed);
}

test('an input that is no list names nothing that is stored', () => {
  for (const body of ['{"model":"m","input":"Hi","store":false}', '{"model":"m","store":false}']) assert.equal(relayedFrom(body), body);
});

test('what is stored may be named by its id only where the operator allows it', () => {
  const body = '{"model":"m","input":[{"type":"item_reference","id":"rs_1"}],"store":false}';
  assert.match(relayedFrom(body), /^input\[0\]/);
  assert.equal(relayedFrom(body, true), body);
});
