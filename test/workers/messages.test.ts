import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Charge, Decision } from '../../src/limits/store.ts';
import { decodeToPrimary, decodeToWorker } from '../../src/workers/messages.ts';
import type { ToPrimary, ToWorker } from '../../src/workers/messages.ts';

const CHARGE: Charge = {
  caller: 'batch',
  limits: { requestsPerMinute: 60, tokensPerMinute: undefined, tokensPerDay: 1_000_000, concurrent: 4 },
  tokens: 12.5,
  lease: 'a-lease',
};
const LET_IN: Decision = { refusedBy: undefined, standings: { requests_per_minute: { remaining: 59, resetMs: 1000 } } };
const REFUSED: Decision = { refusedBy: 'tokens_per_day', waitMs: 12_345.5, standings: {} };
const SNAPSHOT = [{ name: 'a_total', series: [{ labels: ['x'], values: [1, 2.5] }] }, { name: 'b', series: [] }];

const TO_WORKER: readonly ToWorker[] = [
  { type: 'start', number: 3, files: { '/run/secrets/key': 'k', '/empty': '' }, ticketKeys: 'AAAA' },
  { type: 'connection' },
  { type: 'closed' },
  { type: 'drain' },
  { type: 'stop' },
  { type: 'reload', id: 1, files: {} },
  { type: 'snapshot', id: 2 },
  { type: 'page', id: 3, text: '# HELP …' },
  { type: 'decision', id: 4, decision: LET_IN },
  { type: 'decision', id: 5, decision: REFUSED },
  { type: 'transition', transition: { of: 'target', provider: 'openai', model: 'gpt', to: 'out', cause: 'probe', forMs: 5000.25 } },
  { type: 'transition', transition: { of: 'key', provider: 'openai', key: 'digest', number: 2, model: undefined, to: 'cooling', cause: 'quota', forMs: 300_000 } },
];

const TO_PRIMARY: readonly ToPrimary[] = [
  { type: 'ready' },
  { type: 'taken' },
  { type: 'leaving' },
  { type: 'left', isClean: true, snapshot: SNAPSHOT },
  { type: 'reloaded', id: 1, changes: { swapped: ['key of openai'], needsRestart: [] } },
  { type: 'snapshot', id: 2, snapshot: SNAPSHOT },
  { type: 'page', id: 3 },
  { type: 'take', id: 4, charge: CHARGE },
  { type: 'settle', charge: CHARGE, tokensMore: -3 },
  { type: 'transition', transition: { of: 'target', provider: 'openai', model: 'gpt', to: 'in' } },
  { type: 'transition', transition: { of: 'key', provider: 'openai', key: 'digest', number: 1, model: 'gpt', to: 'cooling', cause: 'rate_limit', forMs: 1000 } },
];

/** As it comes out of the channel. */
function sent(message: object): unknown {
  return JSON.parse(JSON.stringify(message));
}

for (const message of TO_WORKER) {
  test(`a worker reads ${JSON.stringify(message).slice(0, 80)} as it was meant`, () => assert.deepEqual(decodeToWorker(sent(message)), message));
}
for (const message of TO_PRIMARY) {
  test(`a primary reads ${JSON.stringify(message).slice(0, 80)} as it was meant`, () => assert.deepEqual(decodeToPrimary(sent(message)), message));
}

/** What can stand in the place of anything else. */
const WRONG: readonly unknown[] = [undefined, null, true, -1, 1.5, NaN, Infinity, 'text', [], [[]], [null], {}, { type: 'start' }, { values: 1 }];

/** The message with each value in it, at any depth, replaced by each wrong one. */
function* spoilt(value: unknown): Generator {
  yield* WRONG;
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    for (const wrong of spoilt(inner)) yield Array.isArray(value) ? value.map((item: unknown, index) => (String(index) === key ? wrong : item)) : { ...value, [key]: wrong };
  }
}

test('a message with anything in any place is read, or dropped, and never throws', () => {
  let dropped = 0;
  let read = 0;
  for (const message of [...TO_WORKER, ...TO_PRIMARY]) {
    for (const wrong of spoilt(sent(message))) {
      for (const decoded of [decodeToWorker(wrong), decodeToPrimary(wrong)]) {
        if (decoded === undefined) dropped += 1;
        else read += 1;
      }
    }
  }
  assert.ok(dropped > 1000 && read > 100, `${dropped} ${read}`);
});

test('what is not finite, not a name or not whole is dropped', () => {
  assert.equal(decodeToPrimary({ type: 'snapshot', id: 1, snapshot: [{ name: 'a', series: [{ labels: [], values: [null] }] }] }), undefined);
  assert.equal(decodeToPrimary({ type: 'snapshot', id: 1.5, snapshot: [] }), undefined);
  assert.equal(decodeToPrimary({ type: 'settle', charge: CHARGE, tokensMore: 'all' }), undefined);
  assert.equal(decodeToPrimary({ type: 'take', id: 1, charge: { ...CHARGE, tokens: -1 } }), undefined);
  assert.equal(decodeToWorker({ type: 'decision', id: 1, decision: { refusedBy: 'luck', waitMs: 1, standings: {} } }), undefined);
  assert.equal(decodeToWorker({ type: 'start', number: 1, files: { a: 1 }, ticketKeys: '' }), undefined);
  assert.equal(decodeToWorker({ type: 'transition', transition: { of: 'target', provider: 'openai', model: 'gpt', to: 'out', cause: 'probe', forMs: -1 } }), undefined);
  assert.equal(decodeToWorker({ type: 'another' }), undefined);
});

test('a limit that is none is no limit', () => {
  const limits = { requestsPerMinute: 0, tokensPerMinute: 'many', concurrent: -1 };
  const decoded = decodeToPrimary({ type: 'take', id: 1, charge: { ...CHARGE, limits } });
  assert.deepEqual(decoded?.type === 'take' && decoded.charge.limits, { requestsPerMinute: undefined, tokensPerMinute: undefined, tokensPerDay: undefined, concurrent: undefined });
});
