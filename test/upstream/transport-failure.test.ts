import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { codeFrom, connectionFailure, cutFailure, encodingFailure, ProxyError } from '../../src/upstream/transport-failure.ts';

function errorWith(code: unknown, message = 'connect to 10.0.0.1:443 with sk-secret'): Error {
  return Object.assign(new Error(message), { code });
}

describe('connectionFailure', () => {
  for (const [how, error, code] of [
    ['a socket', errorWith('EMFILE'), 'EMFILE'],
    ['the whole machine', errorWith('ENFILE'), 'ENFILE'],
    ['fetch', new TypeError('fetch failed', { cause: errorWith('EMFILE') }), 'EMFILE'],
    ['one of several addresses', Object.assign(new AggregateError([errorWith('ECONNREFUSED'), errorWith('EMFILE')]), { code: 'ECONNREFUSED' }), 'EMFILE'],
  ] as const) {
    test(`is the gateway's own where ${how} had no descriptor: not retried, a limit of its own`, () => {
      const failure = connectionFailure('acme', error);
      assert.deepEqual([failure.kind, failure.status, failure.isOwn, failure.isRetried, failure.retryAfterMs], ['rate_limit', 429, true, false, 1000]);
      assert.equal(failure.message, `the gateway has no file descriptor left for a connection to acme (${code})`);
    });
  }

  test("is the gateway's own where it was a proxy that there was no descriptor for", () => {
    const failure = connectionFailure('acme', new ProxyError(undefined, errorWith('EMFILE')));
    assert.equal(failure.message, 'the gateway has no file descriptor left for a connection to the proxy to acme (EMFILE)');
    assert.equal(failure.isOwn, true);
  });

  for (const [code, kind, isRetried, message] of [
    ['ECONNREFUSED', 'unknown', true, 'acme refused the connection (ECONNREFUSED)'],
    ['ECONNRESET', 'unknown', true, 'acme closed the connection without an answer (ECONNRESET)'],
    ['EPIPE', 'unknown', true, 'acme closed the connection without an answer (EPIPE)'],
    ['UND_ERR_SOCKET', 'unknown', true, 'acme closed the connection without an answer (UND_ERR_SOCKET)'],
    ['ENOTFOUND', 'unknown', true, 'acme has a host name that does not exist (ENOTFOUND)'],
    ['EAI_AGAIN', 'unknown', true, 'acme has a host name that could not be looked up (EAI_AGAIN)'],
    ['EHOSTUNREACH', 'unknown', true, 'acme could not be reached (EHOSTUNREACH)'],
    ['UND_ERR_HEADERS_TIMEOUT', 'unknown', true, 'acme could not be reached (UND_ERR_HEADERS_TIMEOUT)'],
    ['CERT_HAS_EXPIRED', 'unknown', false, 'the TLS certificate of acme was rejected (CERT_HAS_EXPIRED)'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'unknown', false, 'the TLS certificate of acme was rejected (ERR_TLS_CERT_ALTNAME_INVALID)'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'unknown', false, 'the TLS certificate of acme was rejected (UNABLE_TO_VERIFY_LEAF_SIGNATURE)'],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'unknown', false, 'acme requires a TLS client certificate, which the gateway does not have (ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED)'],
    ['ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE', 'unknown', true, 'acme could not be reached (ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE)'],
    ['INVALID_CA', 'unknown', false, 'the TLS certificate of acme was rejected (INVALID_CA)'],
    ['HPE_HEADER_OVERFLOW', 'server', false, "acme answered, but its headers or trailers have more than 65536 bytes, which is the gateway's limit (HPE_HEADER_OVERFLOW)"],
    ['UND_ERR_HEADERS_OVERFLOW', 'server', false, "acme answered, but its headers or trailers have more bytes than fetch takes, which is the gateway's limit (UND_ERR_HEADERS_OVERFLOW)"],
    ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'server', true, 'acme sent an answer that is not acceptable HTTP (UND_ERR_RES_CONTENT_LENGTH_MISMATCH)'],
  ] as const) {
    test(`says of ${code}: ${message}`, () => {
      const failure = connectionFailure('acme', errorWith(code));
      assert.equal(failure.kind, kind);
      assert.equal(failure.isRetried, isRetried);
      assert.equal(failure.message, message);
      assert.equal(failure.detail, undefined);
      assert.deepEqual([failure.code, failure.isAtProxy], [code, false]);
    });
  }

  test('tells the proxy from the provider behind it', () => {
    const failures = [new ProxyError(undefined, errorWith('ECONNREFUSED')), new ProxyError(407), new ProxyError(502)].map((error) => connectionFailure('acme', error));
    assert.deepEqual(failures.map(({ kind, code, isAtProxy }) => [kind, code, isAtProxy]), [['unknown', 'ECONNREFUSED', true], ['auth', undefined, true], ['unknown', undefined, true]]);
  });

  test('finds the code in the cause of an error', () => {
    const error = new TypeError('fetch failed', { cause: errorWith('ECONNREFUSED') });
    assert.equal(connectionFailure('acme', error).message, 'acme refused the connection (ECONNREFUSED)');
  });

  test('repeats nothing of an error without a code', () => {
    assert.equal(connectionFailure('acme', new Error('sk-secret')).message, 'acme could not be reached');
    assert.equal(connectionFailure('acme', 'sk-secret').message, 'acme could not be reached');
  });

  test('takes a code named like a property of every object for an ordinary one', () => {
    assert.equal(codeFrom(errorWith('constructor')), undefined);
  });
});

describe('codeFrom', () => {
  for (const code of ['', 'e', 'lower_case', 'WITH SPACE', 'A'.repeat(65), 42, undefined, null]) {
    test(`does not take ${JSON.stringify(code) ?? 'undefined'} for a code`, () => assert.equal(codeFrom(errorWith(code)), undefined));
  }

  test('takes upper-case letters, digits and underscores', () => assert.equal(codeFrom(errorWith('E2BIG')), 'E2BIG'));
});

describe('cutFailure', () => {
  test('names the status, and the code where there is one', () => {
    assert.equal(cutFailure('acme', 200, errorWith('ECONNRESET')).message, 'acme answered 200, but its body did not arrive whole (ECONNRESET)');
    assert.equal(cutFailure('acme', 503, undefined).message, 'acme answered 503, but its body did not arrive whole');
    assert.equal(cutFailure('acme', 503, undefined).upstreamStatus, 503);
  });

  test("names the gateway's limit that ended it, which is no fault of the provider's", () => {
    const failure = cutFailure('acme', 200, errorWith('HPE_CHUNK_EXTENSIONS_OVERFLOW'));
    assert.equal(failure.message, "acme answered 200, but the extensions of a chunk have more than 16384 bytes, which is the gateway's limit");
    assert.deepEqual([failure.isOwn, failure.isRetried], [true, false]);
  });
});

describe('encodingFailure', () => {
  test('accepts a body without encoding, and identity', () => {
    assert.equal(encodingFailure('acme', 200, {}), undefined);
    assert.equal(encodingFailure('acme', 200, { 'content-encoding': '' }), undefined);
    assert.equal(encodingFailure('acme', 200, { 'content-encoding': 'Identity' }), undefined);
  });

  for (const encoding of ['gzip', 'br', 'deflate', 'zstd', 'identity, gzip', 'x-unheard-of']) {
    test(`refuses ${encoding}`, () => assert.equal(encodingFailure('acme', 200, { 'content-encoding': encoding })?.kind, 'server'));
  }
});
