import { equal } from 'node:assert/strict';
import test from 'node:test';
import { isValue, renderFieldTable } from '../../src/callers/field-table.ts';

test('renderFieldTable prints a row for each field, in order', () => {
  equal(
    renderFieldTable({
      model: { is: 'mapped', as: '`model`' },
      user: { is: 'tolerated', as: 'only a hint' },
      n: { is: 'refused', as: 'only one answer can be asked for', unless: isValue(1) },
      audio: { is: 'refused', as: 'the answer is text only' },
    }),
    '| field | what becomes of it |\n|---|---|\n' +
      '| `model` | `model` |\n' +
      '| `user` | left out: only a hint |\n' +
      '| `n` | refused unless it has its default value: only one answer can be asked for |\n' +
      '| `audio` | refused: the answer is text only |\n',
  );
});
