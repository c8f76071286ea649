import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { amzDate, canonicalRequest, signatureHeaders } from '../../../src/base/aws/signature.ts';
import type { AwsCredentials, SignableRequest } from '../../../src/base/aws/signature.ts';
import { Secret } from '../../../src/base/secret.ts';
import { readVectors, vectorsAbsent } from '../../vectors.ts';

/** AWS's own example keys. */
const CREDENTIALS: AwsCredentials = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: new Secret('wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'),
  sessionToken: undefined,
};
const AT_MS = Date.UTC(2015, 7, 30, 12, 36);
const SCOPE = { region: 'us-east-1', service: 'service' };

function get(path: string, headers: Record<string, string> = {}): SignableRequest {
  return { method: 'GET', path, headers: { host: 'example.amazonaws.com', ...headers }, body: '' };
}

function signatureOf(request: SignableRequest, scope = SCOPE, credentials = CREDENTIALS): string | undefined {
  return /Signature=([0-9a-f]{64})$/.exec(signatureHeaders(request, credentials, scope, AT_MS)['authorization'] ?? '')?.[1];
}

function canonicalLines(request: SignableRequest): readonly string[] {
  return canonicalRequest(request, 'digest').split('\n');
}

test('a signature is that of the example in the documentation of AWS', () => {
  const request = {
    method: 'GET',
    path: '/?Action=ListUsers&Version=2010-05-08',
    headers: { host: 'iam.amazonaws.com', 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
    body: '',
  };
  const headers = signatureHeaders(request, CREDENTIALS, { region: 'us-east-1', service: 'iam' }, AT_MS);
  assert.deepEqual(headers, {
    'x-amz-date': '20150830T123600Z',
    authorization:
      'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, '
      + 'Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
  });
});

test('a signature is that of the simplest case of the test suite of AWS, however the same path is written', () => {
  const expected = '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31';
  for (const path of ['/', '//', '/./', '/example/..', '/example1/example2/../..', '']) assert.equal(signatureOf(get(path)), expected, path);
});

test('a canonical path is encoded once more than the path on the wire', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['/model/a%3A0/invoke', '/model/a%253A0/invoke'],
    ['/model/a:0/invoke', '/model/a%3A0/invoke'],
    ['/model/arn%3Aaws%3Ax%2Fy/invoke', '/model/arn%253Aaws%253Ax%252Fy/invoke'],
    ["/a!'()*b", '/a%21%27%28%29%2Ab'],
    ['/-._~/é', '/-._~/%C3%A9'],
    ['/a//b/', '/a/b/'],
    ['/a/b/..', '/a/'],
  ];
  for (const [path, canonical] of cases) assert.equal(canonicalLines(get(path))[1], canonical);
});

test('a canonical query is sorted by name and then by value, and encoded in one way', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['/?b=2&a=1', 'a=1&b=2'],
    ['/?a=b&a=a', 'a=a&a=b'],
    ['/?a-b=1&a=2', 'a=2&a-b=1'],
    ['/?a', 'a='],
    ['/?a=b=c', 'a=b%3Dc'],
    ['/?a=%2f', 'a=%2F'],
    ['/?a=%', 'a=%25'],
    ['/?p=ሴ', 'p=%E1%88%B4'],
  ];
  for (const [path, canonical] of cases) assert.equal(canonicalLines(get(path))[2], canonical);
});

test('canonical headers are sorted, trimmed, and have single spaces', () => {
  const lines = canonicalLines(get('/', { 'x-b': ' two   spaces ', 'x-a': '1' }));
  assert.deepEqual(lines.slice(3), ['host:example.amazonaws.com', 'x-a:1', 'x-b:two spaces', '', 'host;x-a;x-b', 'digest']);
});

test('a session token is sent and signed', () => {
  const headers = signatureHeaders(get('/'), { ...CREDENTIALS, sessionToken: new Secret('session==') }, SCOPE, AT_MS);
  assert.equal(headers['x-amz-security-token'], 'session==');
  assert.match(headers['authorization'] ?? '', /SignedHeaders=host;x-amz-date;x-amz-security-token,/);
});

test('a signature differs with the method, the path, a header, the body, the day, the region, the service and the key', () => {
  const request = get('/a');
  const others = [
    signatureOf({ ...request, method: 'POST' }),
    signatureOf(get('/b')),
    signatureOf(get('/a', { 'x-a': '1' })),
    signatureOf({ ...request, body: 'x' }),
    signatureOf(request, { ...SCOPE, region: 'eu-west-1' }),
    signatureOf(request, { ...SCOPE, service: 'other' }),
    signatureOf(request, SCOPE, { ...CREDENTIALS, secretAccessKey: new Secret('other') }),
  ];
  assert.equal(new Set([signatureOf(request), ...others]).size, others.length + 1);
});

test('a secret signs for several regions, services and days in turn', () => {
  const eu = { ...SCOPE, region: 'eu-west-1' };
  const [first, second] = [signatureOf(get('/a')), signatureOf(get('/a'), eu)];
  assert.deepEqual([signatureOf(get('/a')), signatureOf(get('/a'), eu)], [first, second]);
  const tomorrow = signatureHeaders(get('/a'), CREDENTIALS, SCOPE, AT_MS + 86_400_000);
  assert.deepEqual(tomorrow, signatureHeaders(get('/a'), { ...CREDENTIALS, secretAccessKey: new Secret(CREDENTIALS.secretAccessKey.reveal()) }, SCOPE, AT_MS + 86_400_000));
});

test('a time is written as signatures have it', () => {
  assert.equal(amzDate(Date.UTC(2026, 10, 21, 10, 30, 0, 999)), '20261121T103000Z');
});

type Vector = {
  readonly name: string;
  readonly method: string;
  readonly url: string;
  readonly body: string;
  readonly service: string;
  readonly region: string;
  readonly access_key: string;
  readonly secret_key: string;
  readonly session_token: string | null;
  readonly amz_date: string;
  readonly canonical_request: string;
  readonly headers: Readonly<Record<string, string>>;
};

const OF_THE_SIGNATURE = ['authorization', 'x-amz-date', 'x-amz-security-token'];

test('requests to Bedrock are signed as AWS\'s own library does', { skip: vectorsAbsent }, () => {
  const { vectors } = readVectors<{ vectors: readonly Vector[] }>('sigv4-bedrock');
  assert.ok(vectors.length >= 6);
  for (const vector of vectors) {
    const url = new URL(vector.url);
    const expected = Object.fromEntries(Object.entries(vector.headers).map(([name, value]) => [name.toLowerCase(), value]));
    const signed = Object.fromEntries(Object.entries(expected).filter(([name]) => !OF_THE_SIGNATURE.includes(name)));
    const request = { method: vector.method, path: url.pathname + url.search, headers: { host: url.host, ...signed }, body: vector.body };
    const credentials = {
      accessKeyId: vector.access_key,
      secretAccessKey: new Secret(vector.secret_key),
      sessionToken: vector.session_token === null ? undefined : new Secret(vector.session_token),
    };
    const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(vector.amz_date)?.map(Number) ?? [];
    const atMs = Date.UTC(year ?? 0, (month ?? 0) - 1, day, hour, minute, second);
    const headers = signatureHeaders(request, credentials, vector, atMs);
    const canonical = canonicalRequest(
      { ...request, headers: { ...request.headers, ...Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'authorization')) } },
      createHash('sha256').update(vector.body).digest('hex'),
    );
    assert.equal(canonical, vector.canonical_request, vector.name);
    assert.deepEqual({ ...signed, ...headers }, expected, vector.name);
  }
});
