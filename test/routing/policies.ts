/**
 * How others choose between a first and a second target: models of their documented defaults, not the products. Each makes at
 * most the calls that its vendors' defaults make, on the same traces as the gateway's own loop.
 */

import type { Failure } from '../../src/core/failure.ts';
import type { Name, World } from './world.ts';
import { NAMES } from './world.ts';

export type Call = (name: Name) => Promise<'good' | Failure>;

/** What is remembered between requests; then one request, which makes calls until one is good or it gives up. */
export type Policy = (world: World) => (call: Call) => Promise<boolean>;

const RETRIES = 2;

/** Outlier detection of Envoy: out after so many failures in a row, for base × times, looked at every 10 s; all out = nobody is. */
const outlierDetection = (inARow: number, baseS: number): Policy => (world) => {
  const hosts = { a: { failures: 0, times: 0, untilS: 0 }, b: { failures: 0, times: 0, untilS: 0 } };
  const isOut = (name: Name): boolean => hosts[name].untilS > Math.floor(world.nowS / 10) * 10;
  return async (call) => {
    for (let attempt = 0, last: Name | undefined; attempt <= RETRIES; attempt += 1) {
      const usable = NAMES.filter((name) => !isOut(name));
      const order = usable.length === 0 ? NAMES : usable;
      const name: Name = order.find((one) => one !== last) ?? order[0] ?? 'a';
      last = name;
      const host = hosts[name];
      const result = await call(name);
      // What is not 5xx ends the row.
      host.failures = result === 'good' || result.kind === 'rate_limit' ? 0 : host.failures + 1;
      if (result === 'good') return true;
      if (host.failures < inARow || isOut(name)) continue;
      host.times += 1;
      host.failures = 0;
      host.untilS = world.nowS + Math.min(300, baseS * host.times);
    }
    return false;
  };
};

const backOff = (world: World, attempt: number): Promise<void> =>
  new Promise((resolve) => world.clock.after(Math.min(8000, 500 * 2 ** attempt) * (1 - 0.25 * world.random()), resolve));

/** A group a target, fallbacks between the groups: each group uses up its own retries first. */
const fallbackGroups: Policy = (world) => async (call) => {
  for (const name of NAMES) {
    for (let attempt = 0; attempt <= RETRIES; attempt += 1) {
      if ((await call(name)) === 'good') return true;
      if (attempt < RETRIES) await backOff(world, attempt);
    }
  }
  return false;
};

/** Both in one group, chosen at random: over half failed in this minute = 5 s cooldown, all cooling = refused. */
const oneGroup: Policy = (world) => {
  const counts = { a: { minute: -1, asked: 0, failed: 0, untilS: 0 }, b: { minute: -1, asked: 0, failed: 0, untilS: 0 } };
  return async (call) => {
    for (let attempt = 0; attempt <= RETRIES; attempt += 1) {
      const usable = NAMES.filter((one) => counts[one].untilS <= world.nowS);
      const name = usable[Math.floor(world.random() * usable.length)];
      if (name === undefined) return false;
      const count = counts[name];
      const result = await call(name);
      const minute = Math.floor(world.nowS / 60);
      if (count.minute !== minute) {
        count.asked = 0;
        count.failed = 0;
      }
      count.minute = minute;
      count.asked += 1;
      if (result === 'good') return true;
      count.failed += 1;
      if (result.kind === 'rate_limit' || (count.asked >= 2 && count.failed / count.asked > 0.5)) count.untilS = world.nowS + 5;
    }
    return false;
  };
};

/** Adaptive throttling of the SRE book, K = 2 over two minutes, before the target that has another behind it. */
const throttling: Policy = (world) => {
  const seen: Record<Name, { readonly atS: number; readonly isGood: boolean | undefined }[]> = { a: [], b: [] };
  return async (call) => {
    for (const name of NAMES) {
      const recent = (seen[name] = seen[name].filter(({ atS }) => atS > world.nowS - 120));
      const accepts = recent.filter(({ isGood }) => isGood === true).length;
      const requests = recent.filter(({ isGood }) => isGood === undefined).length;
      recent.push({ atS: world.nowS, isGood: undefined });
      if (name === 'a' && world.random() < (requests - 2 * accepts) / (requests + 1)) continue;
      const isGood = (await call(name)) === 'good';
      seen[name].push({ atS: world.nowS, isGood });
      if (isGood) return true;
    }
    return false;
  };
};

export const POLICIES = {
  'Envoy, defaults': outlierDetection(5, 30),
  'Envoy AI Gateway, example': outlierDetection(1, 5),
  'LiteLLM, groups and fallbacks': fallbackGroups,
  'LiteLLM, one group': oneGroup,
  'SRE book, K = 2': throttling,
} satisfies Readonly<Record<string, Policy>>;
