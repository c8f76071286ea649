import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostnameOf, proxyAddressFrom } from '../../src/base/proxy-address.ts';

test('proxyAddressFrom reads scheme, host and port, or the usual port of the scheme', () => {
  assert.deepEqual(proxyAddressFrom(new URL('http://proxy.test:3128')), { protocol: 'http:', hostname: 'proxy.test', port: 3128, credentials: undefined });
  assert.deepEqual(proxyAddressFrom(new URL('http://proxy.test'))?.port, 80);
  assert.deepEqual(proxyAddressFrom(new URL('https://proxy.test'))?.port, 443);
  assert.deepEqual(proxyAddressFrom(new URL('https://[::1]:8443')), { protocol: 'https:', hostname: '::1', port: 8443, credentials: undefined });
});

test('proxyAddressFrom decodes user name and password, either of which may be empty', () => {
  assert.equal(proxyAddressFrom(new URL('http://someone:p%40ss%3A@proxy.test'))?.credentials?.reveal(), 'someone:p@ss:');
  assert.equal(proxyAddressFrom(new URL('http://token@proxy.test'))?.credentials?.reveal(), 'token:');
  assert.equal(proxyAddressFrom(new URL('http://:pass@proxy.test'))?.credentials?.reveal(), ':pass');
});

test('proxyAddressFrom gives nothing for credentials that cannot be decoded', () => {
  assert.equal(proxyAddressFrom(new URL('http://someone:%ff@proxy.test')), undefined);
});

test('hostnameOf leaves out the brackets of an IPv6 address', () => {
  assert.equal(hostnameOf(new URL('https://[2001:db8::1]:1')), '2001:db8::1');
  assert.equal(hostnameOf(new URL('https://x.example')), 'x.example');
});
