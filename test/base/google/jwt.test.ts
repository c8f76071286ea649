import assert from 'node:assert/strict';
import { createPrivateKey, verify } from 'node:crypto';
import { test } from 'node:test';
import { rs256, signedJwt } from '../../../src/base/google/jwt.ts';
import { readVectors, vectorsAbsent } from '../../vectors.ts';
import { RSA } from './keys.ts';

test('signedJwt gives header, claims and a signature that the public key verifies', () => {
  const [header = '', claims = '', signature = ''] = signedJwt({ typ: 'JWT', kid: 'k1' }, { iss: 'a@example.com', iat: 1, exp: 3601 }, RSA.privateKey).split('.');
  assert.deepEqual(JSON.parse(Buffer.from(header, 'base64url').toString()), { typ: 'JWT', kid: 'k1', alg: 'RS256' });
  assert.deepEqual(JSON.parse(Buffer.from(claims, 'base64url').toString()), { iss: 'a@example.com', iat: 1, exp: 3601 });
  assert.ok(verify('sha256', Buffer.from(`${header}.${claims}`), RSA.publicKey, Buffer.from(signature, 'base64url')));
});

type Vectors = {
  readonly service_account: { readonly private_key: string };
  readonly assertions: Readonly<Record<string, { readonly jwt: string }>>;
};

test('rs256 signs as Google\'s own library does', { skip: vectorsAbsent }, () => {
  const { service_account: account, assertions } = readVectors<Vectors>('google-jwt');
  const key = createPrivateKey(account.private_key);
  assert.ok(Object.keys(assertions).length >= 3);
  for (const { jwt } of Object.values(assertions)) {
    const at = jwt.lastIndexOf('.');
    assert.equal(rs256(jwt.slice(0, at), key), jwt.slice(at + 1));
  }
});
