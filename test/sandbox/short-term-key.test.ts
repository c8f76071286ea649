import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Secret } from '../../src/base/secret.ts';
import { shortTermKey } from '../../src/sandbox/clouds/short-term-key.ts';
import { readVectors, vectorsAbsent } from '../vectors.ts';

const AT_MS = Date.UTC(2026, 10, 21, 10, 30);

test('a short-term key is a presigned request behind its prefix, whose version was not signed', () => {
  const credentials = { accessKeyId: 'AKIDOWN', secretAccessKey: new Secret('own secret'), sessionToken: new Secret('own/session==') };
  const key = shortTermKey(credentials, 'eu-west-1', AT_MS, 900);
  assert.ok(key.startsWith('bedrock-api-key-'));
  const url = Buffer.from(key.slice('bedrock-api-key-'.length), 'base64').toString();
  assert.match(
    url,
    /^bedrock\.amazonaws\.com\/\?Action=CallWithBearerToken&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIDOWN%2F20261121%2Feu-west-1%2Fbedrock%2Faws4_request&X-Amz-Date=20261121T103000Z&X-Amz-Expires=900&X-Amz-Security-Token=own%2Fsession%3D%3D&X-Amz-Signature=[0-9a-f]{64}&X-Amz-SignedHeaders=host&Version=1$/,
  );
});

type Vector = {
  readonly region: string;
  readonly access_key: string;
  readonly secret_key: string;
  readonly session_token?: string;
  readonly expires_s: number;
  readonly token: string;
};

test('a short-term key is that of AWS\'s own generator', { skip: vectorsAbsent }, () => {
  const { vectors } = readVectors<{ vectors: readonly Vector[] }>('bedrock-short-term-key');
  assert.ok(vectors.length >= 2);
  for (const vector of vectors) {
    const credentials = {
      accessKeyId: vector.access_key,
      secretAccessKey: new Secret(vector.secret_key),
      sessionToken: vector.session_token === undefined ? undefined : new Secret(vector.session_token),
    };
    assert.equal(shortTermKey(credentials, vector.region, AT_MS, vector.expires_s), vector.token);
  }
});
