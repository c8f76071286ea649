import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NETWORKS } from '../../src/config/setting-types.ts';
import { callerAddress } from '../../src/http/caller-address.ts';

const trusted = NETWORKS.parse('10.0.0.0/8, 192.0.2.1 2001:db8:1::/48');
const none = NETWORKS.parse('10.255.255.255');
assert.ok(trusted !== undefined && none !== undefined);

const PEER = '10.0.0.1';
const CALLER = '198.51.100.7';

const lists: readonly (readonly [list: string, expected: string])[] = [
  [CALLER, CALLER],
  [` ${CALLER} `, CALLER],
  [`203.0.113.9, ${CALLER}`, CALLER],
  [`203.0.113.9, ${CALLER}, 10.1.2.3, 192.0.2.1`, CALLER],
  [`${CALLER}:4711`, CALLER],
  ['2001:db8::7', '2001:db8::7'],
  ['2001:DB8:0:0::7', '2001:db8::7'],
  ['[2001:db8::7]', '2001:db8::7'],
  ['[2001:db8::7]:4711', '2001:db8::7'],
  [`::ffff:${CALLER}`, CALLER],
  ['::FFFF:c633:6407', CALLER],
  [`[::ffff:${CALLER}]:80`, CALLER],
  ['203.0.113.9, 2001:db8:1::5', '203.0.113.9'],
  // All of them are trusted: the farthest.
  ['10.0.0.3, 10.0.0.2', '10.0.0.3'],
  // What cannot be read ends the search.
  ['', PEER],
  ['unknown', PEER],
  ['_hidden', PEER],
  [`${CALLER}, unknown`, PEER],
  [`${CALLER}, , 10.0.0.2`, '10.0.0.2'],
  [`${CALLER}, unknown, 10.0.0.2`, '10.0.0.2'],
  [`${CALLER},`, PEER],
  ['198.51.100', PEER],
  ['198.51.100.007', PEER],
  ['0x7f.1', PEER],
  [`${CALLER}:port`, PEER],
  [`${CALLER}:123456`, PEER],
  [`${CALLER} evil`, PEER],
  ['fe80::1%evil', PEER],
  ['[fe80::1%evil]:1', PEER],
  ['[::1', PEER],
  [`[${CALLER}]`, CALLER],
  ['\u001b[31m', PEER],
];

for (const [list, expected] of lists) {
  test(`callerAddress takes X-Forwarded-For ${JSON.stringify(list)} from a trusted proxy for ${expected}`, () => {
    assert.equal(callerAddress(PEER, { 'x-forwarded-for': list }, trusted), expected);
  });
}

const forwarded: readonly (readonly [header: string, expected: string])[] = [
  [`for=${CALLER}`, CALLER],
  [`For="${CALLER}:4711";proto=https`, CALLER],
  [`proto=http;by=10.0.0.1; for=${CALLER} ;host=a`, CALLER],
  ['for="[2001:db8::7]:4711"', '2001:db8::7'],
  ['for="[2001:db8::7]"', '2001:db8::7'],
  [`for=203.0.113.9, for=${CALLER};by=10.0.0.2, for=10.0.0.2`, CALLER],
  [`for=${CALLER}, for=unknown`, PEER],
  [`for=${CALLER}, for="_gazonk", for=10.0.0.2`, '10.0.0.2'],
  [`for=${CALLER}, proto=http`, PEER],
  ['', PEER],
  ['for=', PEER],
  // What a caller wrote into Host is no element of its own.
  [`for=${CALLER};host="x, for=203.0.113.9"`, CALLER],
  [`for=${CALLER};host="x, for=203.0.113.9;a="`, CALLER],
  [`for=${CALLER};host="x\\", for=203.0.113.9;a=\\""`, CALLER],
  [`for=${CALLER};host="x, for=203.0.113.9`, PEER],
  [`xfor=203.0.113.9;for=${CALLER}`, CALLER],
];

for (const [header, expected] of forwarded) {
  test(`callerAddress takes Forwarded ${header} from a trusted proxy for ${expected}`, () => {
    assert.equal(callerAddress(PEER, { forwarded: header }, trusted), expected);
  });
}

test('callerAddress believes no header of anybody else', () => {
  const headers = { forwarded: 'for=203.0.113.9', 'x-forwarded-for': '203.0.113.9' };
  assert.equal(callerAddress(CALLER, headers, trusted), CALLER);
  assert.equal(callerAddress(PEER, headers, none), PEER);
  assert.equal(callerAddress(undefined, headers, trusted), undefined);
});

test('callerAddress gives the other end in one spelling', () => {
  assert.equal(callerAddress('::ffff:198.51.100.7', {}, trusted), CALLER);
  assert.equal(callerAddress('::ffff:10.0.0.1', { 'x-forwarded-for': CALLER }, trusted), CALLER);
  assert.equal(callerAddress('fe80::1%eth0', {}, trusted), 'fe80::1');
});

test('callerAddress believes two headers only where they agree', () => {
  assert.equal(callerAddress(PEER, { forwarded: `for="${CALLER}:1"`, 'x-forwarded-for': `1.1.1.1, ${CALLER}` }, trusted), CALLER);
  assert.equal(callerAddress(PEER, { forwarded: 'for=203.0.113.9', 'x-forwarded-for': CALLER }, trusted), PEER);
});

test('callerAddress follows a chain of trusted proxies for so long only', () => {
  assert.equal(callerAddress(PEER, { 'x-forwarded-for': `${CALLER}${', 10.0.0.2'.repeat(15)}` }, trusted), CALLER);
  assert.equal(callerAddress(PEER, { 'x-forwarded-for': `${CALLER}${', 10.0.0.2'.repeat(16)}` }, trusted), '10.0.0.2');
});

test('callerAddress gets through the longest header quickly', () => {
  for (const piece of ['"', 'for="', '\\', 'for=1,', '";', '[', ',', '1:']) {
    const text = piece.repeat(16_384 / piece.length);
    callerAddress(PEER, { forwarded: text, 'x-forwarded-for': text }, trusted);
  }
});

const networks: readonly (readonly [text: string, isTaken: boolean])[] = [
  ['10.0.0.1', true], ['10.0.0.0/8,192.168.0.0/16', true], ['::1', true], ['fd00::/8', true], ['0.0.0.0/0', true], ['::/0', true],
  ['10.0.0.0/33', false], ['::/129', false], ['localhost', false], ['10.0.0', false], ['10.0.0.1/', false], ['10.0.0.1/a', false], ['10.0.0.1:80', false], ['fe80::1%eth0', false],
];

for (const [text, isTaken] of networks) {
  test(`NETWORKS ${isTaken ? 'takes' : 'refuses'} ${text}`, () => assert.equal(NETWORKS.parse(text) !== undefined, isTaken));
}
