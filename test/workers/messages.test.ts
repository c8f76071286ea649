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
  ...(['failures', 'probe', 'not_found'] as const).map((cause) => ({ type: 'transition', transition: { of: 'target', provider: 'openai', model: 'gpt', to: 'out', cause, forMs: 5000.25 } }) as const),
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
  ...(['rate_limit', 'quota', 'rejected'] as const).map((cause) => ({ type: 'transition', transition: { of: 'key', provider: 'openai', key: 'digest', number: 1, model: 'gpt', to: 'cooling', cause, forMs: 1000 } }) as const),
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

/** What may be missing: of limits and standings each, and what only some decisions and transitions have. */
const OPTIONAL = ['requestsPerMinute', 'tokensPerMinute', 'tokensPerDay', 'concurrent', 'requests_per_minute', 'refusedBy', 'waitMs', 'model'];
const SIGNED = ['tokensMore', 'values', 'remaining', 'resetMs'];
const WHOLE = ['id', 'number'];

/** Whether what was read has everything that was meant, each of its kind. */
function isLike(read: unknown, meant: unknown, name = ''): boolean {
  if (read === undefined) return meant === undefined || OPTIONAL.includes(name);
  if (typeof meant === 'number') return typeof read === 'number' && Number.isFinite(read) && (read >= 0 || SIGNED.includes(name)) && (Number.isInteger(read) || !WHOLE.includes(name));
  if (Array.isArray(meant)) return Array.isArray(read) && read.every((item) => isLike(item, meant[0], name));
  if (typeof meant !== 'object' || meant === null || typeof read !== 'object' || read === null) return typeof read === typeof meant;
  if (name === 'files') return Object.values(read).every((text) => typeof text === 'string');
  return Object.entries(meant).every(([key, inner]) => isLike((read as Record<string, unknown>)[key], inner, key));
}

test('a message with anything in any place is read as one of its kind, or dropped, and never throws', () => {
  let dropped = 0;
  let read = 0;
  for (const [messages, decode, others] of [[TO_WORKER, decodeToWorker, decodeToPrimary], [TO_PRIMARY, decodeToPrimary, decodeToWorker]] as const) {
    for (const message of messages) {
      for (const wrong of spoilt(sent(message))) {
        others(wrong);
        const decoded = decode(wrong);
        if (decoded === undefined) dropped += 1;
        else read += 1;
        assert.ok(decoded === undefined || isLike(decoded, message), JSON.stringify(wrong));
      }
    }
  }
  assert.ok(dropped > 1000 && read > 50, `${dropped} ${read}`);
});

test('what is not finite, not a name or not whole is dropped', () => {
  assert.equal(decodeToPrimary({ type: 'snapshot', id: 1, snapshot: [{ name: 'a', series: [{ labels: [], values: [null] }] }] }), undefined);
  assert.equal(decodeToPrimary({ type: 'snapshot', id: 1.5, snapshot: [] }), undefined);
  assert.equal(decodeToPrimary({ type: 'settle', charge: CHARGE, tokensMore: 'all' }), undefined);
  assert.equal(decodeToPrimary({ type: 'take', id: 1, charge: { ...CHARGE, tokens: -1 } }), undefined);
  for (const limits of [undefined, null, 4]) assert.equal(decodeToPrimary({ type: 'take', id: 1, charge: { ...CHARGE, limits } }), undefined);
  // Nobody is let in by what is not there.
  for (const decision of [undefined, null, {}, { standings: null }]) assert.equal(decodeToWorker({ type: 'decision', id: 1, decision }), undefined);
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
