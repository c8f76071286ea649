import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryAfterMs } from '../../src/base/retry-after.ts';

const now = Date.UTC(1994, 10, 6, 8, 49, 7);

const values: readonly (readonly [retryAfter: string, ms: number | undefined])[] = [
  ['2', 2000],
  ['1.5', 1500],
  ['0.25', 250],
  ['1.1', 1100],
  ['007', 7000],
  [' 3 ', 3000],
  ['999999', 999_999_000],
  ['99999999999999999999', 99999999999999999999000],
  ['2, 3', 2000],
  ['0, 3', 3000],
  ['x, 3', 3000],
  ['0', undefined],
  ['0.0', undefined],
  ['0.0001', undefined],
  ['-1', undefined],
  ['+1', undefined],
  ['', undefined],
  ['abc', undefined],
  ['1e3', undefined],
  ['1.', undefined],
  ['.5', undefined],
  ['0x10', undefined],
  ['Infinity', undefined],
  ['NaN', undefined],
  ['2s', undefined],
  ['9'.repeat(65), undefined],
  ['1'.padEnd(10_240), undefined],
  // The three formats of an HTTP date, 30 s ahead.
  ['Sun, 06 Nov 1994 08:49:37 GMT', 30_000],
  ['Sunday, 06-Nov-94 08:49:37 GMT', 30_000],
  ['Sun Nov  6 08:49:37 1994', 30_000],
  ['Wed Nov 16 08:49:37 1994', 864_030_000],
  ['Sun, 06 Nov 1994 08:49:60 GMT', 53_000],
  ['Mon, 06 Nov 1995 08:49:07 GMT', 31_536_000_000],
  ['Thu, 29 Feb 1996 00:00:00 GMT', 41_440_253_000],
  // Past, or not a date.
  ['Sun, 06 Nov 1994 08:49:07 GMT', undefined],
  ['Sun, 06 Nov 1994 08:49:06 GMT', undefined],
  ['Sun, 06 Nov 1994 08:49:37 UTC', undefined],
  ['Sun, 06 Nov 1994 08:49:37 +0000', undefined],
  ['Sun, 06 Nov 1994 08:49:37', undefined],
  ['Sun, 6 Nov 1994 08:49:37 GMT', undefined],
  ['06 Nov 1994 08:49:37 GMT', undefined],
  ['Sun, 06 Noy 1995 08:49:37 GMT', undefined],
  ['Sun, 31 Nov 1995 08:49:37 GMT', undefined],
  ['Sun, 29 Feb 1995 08:49:37 GMT', undefined],
  ['Sun, 00 Nov 1995 08:49:37 GMT', undefined],
  ['Sun, 06 Nov 1995 24:00:00 GMT', undefined],
  ['Sun, 06 Nov 1995 08:60:00 GMT', undefined],
  ['Sun, 06 Nov 1995 08:00:61 GMT', undefined],
  ['1995-11-06T08:49:37Z', undefined],
  ['1995', 1_995_000],
];

for (const [value, ms] of values) {
  test(`retryAfterMs reads ${JSON.stringify(value.slice(0, 40))} as ${ms}`, () => {
    assert.equal(retryAfterMs({ 'retry-after': value }, now), ms);
  });
}

test('retryAfterMs takes a two-digit year more than 50 years ahead for one of the past', () => {
  assert.equal(retryAfterMs({ 'retry-after': 'Friday, 06-Nov-26 00:00:30 GMT' }, Date.UTC(2026, 10, 6)), 30_000);
  assert.equal(retryAfterMs({ 'retry-after': 'Friday, 06-Nov-77 00:00:30 GMT' }, Date.UTC(2026, 10, 6)), undefined);
  assert.equal(
    retryAfterMs({ 'retry-after': 'Friday, 06-Nov-76 00:00:00 GMT' }, Date.UTC(2026, 10, 6)),
    Date.UTC(2076, 10, 6) - Date.UTC(2026, 10, 6),
  );
});

test('retryAfterMs prefers retry-after-ms, which may have a fraction', () => {
  assert.equal(retryAfterMs({ 'retry-after-ms': '1500.4', 'retry-after': '9' }, now), 1500);
});

test('retryAfterMs falls back to retry-after when retry-after-ms is unusable', () => {
  for (const value of ['0', '-5', 'soon', '', '0.4', 'Sun, 06 Nov 1994 08:49:37 GMT', '1'.repeat(65)]) {
    assert.equal(retryAfterMs({ 'retry-after-ms': value, 'retry-after': '9' }, now), 9000);
  }
});

test('retryAfterMs takes the first usable of several headers', () => {
  assert.equal(retryAfterMs({ 'retry-after': ['abc', '0', '4', '5'] }, now), 4000);
  assert.equal(retryAfterMs({ 'retry-after-ms': ['x'.repeat(100), '70'] }, now), 70);
  assert.equal(retryAfterMs({ 'retry-after': [] }, now), undefined);
});

test('retryAfterMs of headers without either is undefined', () => {
  assert.equal(retryAfterMs({ 'content-type': '2', 'retry-after': undefined }, now), undefined);
});
