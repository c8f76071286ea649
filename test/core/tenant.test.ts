import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { Failure } from '../../src/core/failure.ts';
import { hashedName, tenantRequest } from '../../src/core/tenant.ts';
import { requestOf } from '../loops/codecs.ts';

test('a name leaves as SHA-256 of the JSON text of its kind, its caller and itself', () => {
  assert.equal(hashedName('user', 'shop', 'ann', 'user'), createHash('sha256').update('["user","shop","ann"]').digest('hex'));
  const names = [hashedName('user', 'a', 'b', 'user'), hashedName('cache', 'a', 'b', 'user'), hashedName('user', 'a","b', '', 'user'), hashedName('user', 'a', '","b', 'user')];
  assert.equal(new Set(names).size, names.length);
});

test('a request without a user and a key of its cache leaves as it is', () => {
  for (const cache of [undefined, { key: undefined, ttl: 'long' as const }]) {
    const request = requestOf({ cache });
    assert.equal(tenantRequest(request, 'shop'), request);
  }
});

test('the user and the key of the cache are named apart for each caller, and nothing else changes', () => {
  const request = requestOf({ user: 'ann', cache: { key: 'k', ttl: 'short' }, system: 'Be brief.' });
  assert.deepEqual(tenantRequest(request, 'shop'), {
    ...request,
    user: hashedName('user', 'shop', 'ann', 'user'),
    cache: { key: hashedName('cache', 'shop', 'k', 'user'), ttl: 'short' },
  });
  assert.notDeepEqual(tenantRequest(request, 'shop'), tenantRequest(request, 'desk'));
});

test('a name beyond 64 Ki characters is refused, since its digest would hold up everybody else', () => {
  const long = 'x'.repeat(65_537);
  for (const [place, request] of [['user', requestOf({ user: long })], ['cache.key', requestOf({ cache: { key: long, ttl: undefined } })]] as const) {
    const refused = tenantRequest(request, 'shop');
    assert.ok(refused instanceof Failure);
    assert.equal(refused.message, `${place}: must not be longer than 65536 characters`);
    assert.equal(refused.kind, 'bad_request');
  }
  assert.ok(!(tenantRequest(requestOf({ user: 'x'.repeat(65_536) }), 'shop') instanceof Failure));
});
