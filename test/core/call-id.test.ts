import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallIds, isMadeCallId, makeCallId } from '../../src/core/call-id.ts';

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

const NINE = { accepted: /^[a-zA-Z0-9]{9}$/, length: 9 };

test('CallIds leaves an accepted id as it is', () => {
  assert.equal(new CallIds(NINE).ofCall('aB3dE6gH9'), 'aB3dE6gH9');
});

test('CallIds maps another id to the first digits of its digest, whatever came before', () => {
  const ids = new CallIds(NINE);
  assert.equal(ids.ofCall('é'), '4a99557e4');
  assert.equal(ids.ofCall('toolu_01'), '7a95b7039');
  assert.equal(new CallIds(NINE).ofCall('toolu_01'), '7a95b7039');
});

test('CallIds gives a result the form of its call', () => {
  const ids = new CallIds(NINE);
  const forms = ['toolu_01', 'aB3dE6gH9', 'toolu_02'].map((id) => ids.ofCall(id));
  assert.deepEqual(['toolu_01', 'aB3dE6gH9', 'toolu_02'].map((id) => ids.ofResult(id)), forms);
});

test('CallIds gives a natural id another form when a mapped one has it already', () => {
  const ids = new CallIds(NINE);
  const mapped = ids.ofCall('toolu_01');
  const natural = ids.ofCall(mapped);
  assert.notEqual(natural, mapped);
  assert.match(natural, NINE.accepted);
  assert.equal(ids.ofResult(mapped), natural);
  assert.equal(ids.ofResult('toolu_01'), mapped);
});

test('CallIds gives a mapped id another form when a natural one has it already', () => {
  const ids = new CallIds(NINE);
  assert.equal(ids.ofCall('7a95b7039'), '7a95b7039');
  assert.notEqual(ids.ofCall('toolu_01'), '7a95b7039');
  assert.equal(ids.ofResult('7a95b7039'), '7a95b7039');
});

test('CallIds tells the calls of an id that is used in several turns apart, each with its result', () => {
  const ids = new CallIds({ accepted: /^[\w-]+$/, length: 32 });
  const forms = Array.from({ length: 4 }, () => {
    const form = ids.ofCall('call_0');
    assert.equal(ids.ofResult('call_0'), form);
    return form;
  });
  assert.equal(forms[0], 'call_0');
  assert.equal(new Set(forms).size, 4);
});

test('CallIds keeps 20 000 ids apart in nine characters, alike each time, a used id included', () => {
  const given = Array.from({ length: 20_000 }, (_, i) => (i % 3 === 0 ? 'call_0' : `call_${i}`));
  const formsOf = () => {
    const ids = new CallIds(NINE);
    return given.map((id) => ids.ofCall(id));
  };
  const forms = formsOf();
  assert.equal(new Set(forms).size, given.length);
  assert.ok(forms.every((form) => NINE.accepted.test(form)));
  assert.deepEqual(formsOf(), forms);
});

test('CallIds keeps ids apart that differ in characters which UTF-8 cannot carry', () => {
  const ids = new CallIds(NINE);
  assert.notEqual(ids.ofCall('\ud800'), ids.ofCall('\ud801'));
});
