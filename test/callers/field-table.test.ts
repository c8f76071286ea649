import { equal } from 'node:assert/strict';
import test from 'node:test';
import { isValue, renderFieldTable } from '../../src/callers/field-table.ts';

test('renderFieldTable prints a row for each field, in order', () => {
  equal(
    renderFieldTable({
      model: { is: 'mapped', as: '`model`' },
      user: { is: 'tolerated', as: 'a hint' },
      n: { is: 'refused', as: 'one answer a request', unless: isValue(1) },
      audio: { is: 'refused', as: 'the answer is text' },
    }),
    '| field | what becomes of it |\n|---|---|\n' +
      '| `model` | `model` |\n' +
      '| `user` | left out: a hint |\n' +
      '| `n` | refused unless its value asks for nothing: one answer a request |\n' +
      '| `audio` | refused: the answer is text |\n',
  );
});
