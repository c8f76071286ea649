import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMadeCallId, makeCallId, mappedCallId } from '../../src/core/call-id.ts';

test('makeCallId makes another id each time', () => {
  const ids = Array.from({ length: 1000 }, makeCallId);
  assert.equal(new Set(ids).size, 1000);
});

test('makeCallId makes what isMadeCallId knows', () => {
  const id = makeCallId();
  assert.match(id, /^gwcall_[0-9a-f]{24}$/);
  assert.equal(isMadeCallId(id), true);
});

const foreignIds = [
  '',
  'gwcall_',
  'toolu_01',
  'gwcall_0123456789abcdef0123456',
  'gwcall_0123456789abcdef012345678',
  'gwcall_0123456789ABCDEF01234567',
  'xgwcall_0123456789abcdef01234567',
  'gwcall_0123456789abcdef01234567\n',
];

for (const id of foreignIds) {
  test(`isMadeCallId does not know ${JSON.stringify(id)}`, () => assert.equal(isMadeCallId(id), false));
}

const nineAlphanumeric = /^[a-zA-Z0-9]{9}$/;

test('mappedCallId leaves an accepted id as it is', () => {
  assert.equal(mappedCallId('aB3dE6gH9', nineAlphanumeric, 9), 'aB3dE6gH9');
});

test('mappedCallId maps another id to the first characters of its digest', () => {
  assert.equal(mappedCallId('toolu_01', nineAlphanumeric, 9), '7a95b7039');
  assert.equal(mappedCallId('é', nineAlphanumeric, 9), '4a99557e4');
});

test('mappedCallId maps the same id to the same, and others to others', () => {
  const mapped = (id: string): string => mappedCallId(id, nineAlphanumeric, 9);
  assert.equal(mapped('call_1'), mapped('call_1'));
  assert.notEqual(mapped('call_1'), mapped('call_2'));
  assert.match(mapped('call_1'), nineAlphanumeric);
});
