import { equal, match, notEqual } from 'node:assert/strict';
import test from 'node:test';
import { givenCallId, shownCallId } from '../../../src/callers/anthropic/call-id.ts';
import { createRandom } from '../../base/random.ts';

for (const id of ['toolu_01', 'call_abc', 'gwcall_0123', 'gwid', 'a-b_c', '_', '0']) {
  test(`the id ${id} fits and stays`, () => {
    equal(shownCallId(id), id);
    equal(givenCallId(id), id);
  });
}

for (const id of ['functions.weather:0', 'a b', 'é', '😀', '\n', 'gwid_x', 'gwid_', shownCallId('a.b')]) {
  test(`the id ${JSON.stringify(id)} is shown in another form and comes back`, () => {
    match(shownCallId(id), /^gwid_[A-Za-z0-9_-]+$/);
    notEqual(shownCallId(id), id);
    equal(givenCallId(shownCallId(id)), id);
  });
}

for (const id of ['gwid_', 'gwid_%', 'gwid_Y==', 'gwid_Zm9vYh', 'gwid_gIA', 'gwid_a']) {
  test(`the id ${id} of a caller was never shown and stays`, () => equal(givenCallId(id), id));
}

test('any well-formed id comes back as it was', () => {
  const random = createRandom(7);
  for (let i = 0; i < 2000; i += 1) {
    const id = Array.from({ length: 1 + random.below(12) }, () => random.pick(['gwid_', 'a', '-', '.', ':', 'é', '😀', '\0', 'Zm9v'])).join('');
    equal(givenCallId(shownCallId(id)), id);
    match(shownCallId(id), /^[A-Za-z0-9_-]+$/);
  }
});
