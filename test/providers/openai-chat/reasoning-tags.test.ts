import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReasoningTags } from '../../../src/providers/openai-chat/reasoning-tags.ts';

/** What the pieces say, up to the text, which is nobody's but the text's. */
function toldOf(pieces: readonly string[]): readonly [thinking: string, text: string] {
  const tags = new ReasoningTags();
  let thinking = '';
  let text = '';
  for (const piece of pieces) {
    const told = text === '' ? tags.take(piece) : { thinking: '', text: piece };
    thinking += told.thinking;
    text += told.text;
  }
  const last = tags.end();
  return [thinking + last.thinking, text + last.text];
}

const CASES: readonly (readonly [whole: string, thinking: string, text: string])[] = [
  ['<reasoning>a</reasoning><reasoning>b<</reasoning>c</reasoning>', 'ab<', 'c</reasoning>'],
  ['<reasoning></reasoning>a<reasoning>b', '', 'a<reasoning>b'],
  ['<reasoning>a</reasonin', 'a</reasonin', ''],
  ['<reasonin', '', '<reasonin'],
  ['<b>c', '', '<b>c'],
  ['', '', ''],
];

test('reasoning between tags before the text is told apart from it, wherever two cuts fall', () => {
  for (const [whole, thinking, text] of CASES) {
    for (let first = 0; first <= whole.length; first += 1) {
      for (let second = first; second <= whole.length; second += 1) {
        const pieces = [whole.slice(0, first), whole.slice(first, second), whole.slice(second)];
        assert.deepEqual(toldOf(pieces), [thinking, text], JSON.stringify(pieces));
      }
    }
  }
});

test('no more is held back than may be the beginning of a tag', () => {
  const tags = new ReasoningTags();
  assert.deepEqual(tags.take('<reasoning>a <b> </reas'), { thinking: 'a <b> ', text: '' });
  assert.deepEqual(tags.take('on> c'), { thinking: '</reason> c', text: '' });
});
