import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DURATION_MS_MAX, parseDuration, renderDuration } from '../../src/base/duration.ts';

const taken: readonly (readonly [text: string, ms: number])[] = [
  ['0', 0],
  ['0s', 0],
  ['-0s', 0],
  ['250ms', 250],
  ['15s', 15_000],
  ['2m', 120_000],
  ['1h', 3_600_000],
  ['1m30s', 90_000],
  ['1h1m1s1ms', 3_661_001],
  ['1h5ms', 3_600_005],
  ['90s', 90_000],
  ['007s', 7000],
  ['-1s', -1000],
  ['-1m30s', -90_000],
  ['2147483647ms', DURATION_MS_MAX],
  ['-2147483647ms', -DURATION_MS_MAX],
];

for (const [text, ms] of taken) {
  test(`parseDuration reads ${text} as ${ms} ms`, () => assert.equal(parseDuration(text), ms));
}

const refused = [
  '', '-', 's', 'ms', '1', '-0', '15', '1.5s', '1e3ms', '+1s', '1 s', ' 1s', '1s ', '1s\n', '1d', '1S', '1M', '1us', '--1s', '1s-1ms', '30s1m', '1s1s', '1m1m',
  '0x1s', '١s', '2147483648ms', '597h', '9'.repeat(400) + 'h', 'one', '1h 30m',
];

for (const text of refused) {
  test(`parseDuration refuses ${JSON.stringify(text.slice(0, 20))}`, () => assert.equal(parseDuration(text), undefined));
}

const rendered: readonly (readonly [ms: number, text: string])[] = [
  [0, '0'],
  [1, '1ms'],
  [500, '500ms'],
  [15_000, '15s'],
  [90_000, '1m30s'],
  [600_000, '10m'],
  [3_600_000, '1h'],
  [3_661_001, '1h1m1s1ms'],
  [-1000, '-1s'],
  [DURATION_MS_MAX, '596h31m23s647ms'],
];

for (const [ms, text] of rendered) {
  test(`renderDuration writes ${ms} ms as ${text}, which reads back`, () => {
    assert.equal(renderDuration(ms), text);
    assert.equal(parseDuration(text), ms);
  });
}
