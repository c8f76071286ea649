/**
 * What an engine is asked to do, as scripts, and what their answers mean. Pure.
 *
 * A caller has two keys, which hash to one slot: `gw:{label}`, the times at which its three buckets are full again (GCRA's
 * theoretical arrival times, in milliseconds by the engine's clock: those of the replicas cannot matter), and `gw:{label}:c`,
 * its places with the time at which each is given up. Both expire by themselves once they say nothing any more. An engine cuts
 * the fractions off what a script answers.
 */

import { createHash } from 'node:crypto';
import { remaining } from '../base/gcra.ts';
import type { RespReply } from '../base/resp.ts';
import type { CallerLimits, LimitName } from '../core/route.ts';
import { BUCKET_KINDS, bucketsOf } from './account.ts';
import type { Charge, Decision, Standing, Standings } from './store.ts';

/** A script and the digest by which an engine remembers it. */
export type Script = {
  readonly text: string;
  readonly digest: string;
  /** Whether an engine that ran it may answer so; what answers otherwise is none. */
  readonly isAnswer: (reply: RespReply) => boolean;
};

function scriptFrom(text: string, isAnswer: Script['isAnswer']): Script {
  return { text, digest: createHash('sha1').update(text).digest('hex'), isAnswer };
}

/** A place that nobody renews is given up after so long. */
const LEASE_MS = 60_000;
/** Places that one command renews or gives back: Lua passes no more than some thousand values at once. */
export const LEASES_MAX = 1000;

/** What `TAKE` answers where the places are taken. */
const PLACES = 4;

const CLOCK = `local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
`;

/**
 * No debt is longer: 28 years. In microseconds it still has the 15 digits that an answer's number may have; one more and a
 * single caller's debt would cost every caller the connection.
 */
const BACKLOG_MS_MAX = 900_000_000_000;

/**
 * In the order of BUCKET_KINDS. Of each the words hold its limit (0 = none), its period, and what is taken or settled. Lua's own
 * `%.14g` would lose 0.1 ms a step.
 */
const BUCKETS_HEAD = `local names, stored = {'r', 'm', 'd'}, redis.call('HMGET', KEYS[1], 'r', 'm', 'd')
local times, longest = {}, 1000
local function keep(i, at)
  times[i] = math.min(at, now + ${BACKLOG_MS_MAX})
  longest = math.max(longest, times[i] - now)
end
local function save(i) redis.call('HSET', KEYS[1], names[i], string.format('%.3f', times[i])) end
local function bucket(i) return tonumber(ARGV[i * 3 - 2]), tonumber(ARGV[i * 3 - 1]), tonumber(ARGV[i * 3]) end
for i = 1, 3 do keep(i, math.max(tonumber(stored[i] or '0') or 0, now)) end
`;

/**
 * Takes all or nothing. What it writes first is what a full engine refuses: within a script it does not look again. Answers the
 * limit that refused (0 = none), the wait in milliseconds, and how long until each bucket is full again, in microseconds.
 */
export const TAKE = scriptFrom(`${CLOCK}${BUCKETS_HEAD}local which, worst = 0, 0.0005
for i = 1, 3 do
  local limit, period, n = bucket(i)
  if limit > 0 then
    local wait = times[i] + math.min(n, limit) * period / limit - now - period
    if wait > worst then which, worst = i, wait end
  end
end
local places, id, ttl = tonumber(ARGV[10]), ARGV[11], tonumber(ARGV[12])
if places > 0 and redis.call('ZCOUNT', KEYS[2], '(' .. string.format('%.3f', now), '+inf') >= places then which, worst = ${PLACES}, 1000 end
if which == 0 then
  for i = 1, 3 do
    local limit, period, n = bucket(i)
    if limit > 0 then
      keep(i, times[i] + n * period / limit)
      save(i)
    end
  end
  redis.call('PEXPIRE', KEYS[1], math.ceil(longest))
  if places > 0 then
    redis.call('ZADD', KEYS[2], now + ttl, id)
    redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
    redis.call('PEXPIRE', KEYS[2], ttl * 2)
  end
end
local answer = {which, math.ceil(worst)}
for i = 1, 3 do answer[i + 2] = math.floor((times[i] - now) * 1000 + 0.5) end
return answer
`, isDecision);

/** Gives places back, which a full engine lets do, and adds what is settled, be it less than nothing. */
export const SETTLE = scriptFrom(`${CLOCK}${BUCKETS_HEAD}local ids = {unpack(ARGV, 10)}
if #ids > 0 then redis.call('ZREM', KEYS[2], unpack(ids)) end
for i = 1, 3 do
  local limit, period, n = bucket(i)
  if limit > 0 and n ~= 0 then
    keep(i, times[i] + n * period / limit)
    save(i)
  end
end
redis.call('PEXPIRE', KEYS[1], math.ceil(longest))
return 0
`, isAny);

/** Holds places for another while, also those that the engine has forgotten or never knew. */
export const RENEW = scriptFrom(`${CLOCK}local places = {}
for i = 2, #ARGV do
  places[#places + 1] = now + ARGV[1]
  places[#places + 1] = ARGV[i]
end
redis.call('ZADD', KEYS[1], unpack(places))
redis.call('PEXPIRE', KEYS[1], ARGV[1] * 2)
return 0
`, isAny);

/** A take for nobody that writes as any does: the first that a connection is asked. No label has a colon. */
export const PROBE = {
  script: TAKE,
  words: takeWords({
    caller: ':probe',
    limits: { requestsPerMinute: 60_000, tokensPerMinute: undefined, tokensPerDay: undefined, concurrent: undefined },
    tokens: 0,
    lease: '',
  }),
};

// hot: per request
export function takeWords({ caller, limits, tokens, lease }: Charge): readonly string[] {
  return [...bucketWords(caller, limits, 1, tokens), String(limits.concurrent ?? 0), lease, String(LEASE_MS)];
}

/** At most `LEASES_MAX` leases. */
export function settleWords(caller: string, limits: CallerLimits, tokensMore: number, leases: readonly string[]): readonly string[] {
  return [...bucketWords(caller, limits, 0, tokensMore), ...leases];
}

/** 1 to `LEASES_MAX` leases. */
export function renewWords(caller: string, leases: readonly string[]): readonly string[] {
  return ['1', placesKey(caller), String(LEASE_MS), ...leases];
}

function bucketWords(caller: string, limits: CallerLimits, requests: number, tokens: number): string[] {
  const words = ['2', `gw:{${caller}}`, placesKey(caller), '0', '0', '0', '0', '0', '0', '0', '0', '0'];
  for (const { index, limit, periodMs, of } of bucketsOf(limits)) {
    const at = 3 + index * 3;
    words[at] = String(limit);
    words[at + 1] = String(periodMs);
    words[at + 2] = String(of === 'requests' ? requests : tokens);
  }
  return words;
}

function placesKey(caller: string): string {
  return `gw:{${caller}}:c`;
}

/** What the answer of `TAKE` means; undefined when it is none of its answers. */
// hot: per request
export function decisionFrom(reply: RespReply | undefined, limits: CallerLimits): Decision | undefined {
  const [which, waitMs, ...backlogs] = numbersFrom(reply);
  if (which === undefined || waitMs === undefined || backlogs.length !== BUCKET_KINDS.length) return undefined;
  const standings: Partial<Record<keyof Standings, Standing>> = {};
  let refusedBy: LimitName | undefined = which === PLACES ? 'concurrent' : undefined;
  for (const bucket of bucketsOf(limits)) {
    const resetMs = (backlogs[bucket.index] ?? 0) / 1000;
    standings[bucket.name] = { remaining: remaining(resetMs, bucket, 0), resetMs };
    if (which === bucket.index + 1) refusedBy = bucket.name;
  }
  if (which === 0) return { refusedBy: undefined, standings };
  return refusedBy === undefined ? undefined : { refusedBy, waitMs, standings };
}

// hot: per request
function isDecision(reply: RespReply): boolean {
  const numbers = numbersFrom(reply);
  const [which = Infinity] = numbers;
  return which <= PLACES && numbers.length === 2 + BUCKET_KINDS.length && numbers.every((number) => number >= 0);
}

/** What is not looked at. */
function isAny(): boolean {
  return true;
}

/** Empty where the reply is something else. */
function numbersFrom(reply: RespReply | undefined): readonly number[] {
  const numbers: number[] = [];
  if (!Array.isArray(reply)) return numbers;
  for (const item of reply as readonly RespReply[]) {
    if (typeof item !== 'number') return [];
    numbers.push(item);
  }
  return numbers;
}
