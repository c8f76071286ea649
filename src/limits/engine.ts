/**
 * Limits that several gateways share, kept by a Redis or Valkey.
 *
 * The engine decides while it answers in time; else the process's own buckets do, for that same request. These are charged
 * with whatever the engine admits, so that they are warm when they are needed. What is given back while the engine is away is
 * told it when it is back, and the places of all running requests with that.
 */

import type { LookupFunction } from 'node:net';
import { engineName } from '../base/engine-address.ts';
import type { EngineAddress } from '../base/engine-address.ts';
import type { Log } from '../base/log.ts';
import { RespError } from '../base/resp.ts';
import type { RespReply } from '../base/resp.ts';
import type { CallerLimits } from '../core/route.ts';
import { ENGINE_TIMINGS, EngineConnection } from './engine-connection.ts';
import type { EngineCause, EngineFailure, EngineTimings } from './engine-connection.ts';
import { decisionFrom, LEASES_MAX, PROBE, RENEW, renewWords, SETTLE, settleWords, TAKE, takeWords } from './engine-scripts.ts';
import type { Charge, Decision, LimitStore, LocalStore } from './store.ts';

/** Three times in the life of a lease, so that a gateway may miss two. */
const RENEW_MS = 20_000;
/** What is settled waits so long for the next question, to travel with it. */
const PAY_WITHIN_MS = 2;
/** Places that were given back while the engine was away, and are remembered. It gives up the others by itself. */
const LEASES_OWED_MAX = 10_000;

export type EngineStore = LimitStore & {
  /** Whether the engine would be asked now. */
  readonly isUp: boolean;
};

export type EngineStoreOptions = {
  readonly address: EngineAddress;
  /** Decides where the engine does not; closed with this one. */
  readonly fallback: LocalStore;
  /** One warning each time the engine goes out or is back. */
  readonly log: Pick<Log, 'warn'>;
  /** How long the engine took to decide. */
  readonly onAnswer: (answerMs: number) => void;
  readonly onFailure: (cause: EngineCause) => void;
  /** Milliseconds of a clock that never goes back; `performance.now` where absent. */
  readonly now?: () => number;
  readonly timings?: Partial<EngineTimings & { readonly renewMs: number }>;
  /** How its name is looked up: with those of providers, so that a silent name server holds no more threads than it must. */
  readonly lookup?: LookupFunction | undefined;
  /** Certificates in PEM that are trusted instead of Node's own. */
  readonly ca?: string;
};

/** A charge that was taken, here or there. */
type Running = {
  readonly charge: Charge;
  readonly isEngineCharged: boolean;
  readonly isLocallyCharged: boolean;
};

/** What the engine has yet to be told of a caller. */
type Owed = { readonly limits: CallerLimits; readonly tokensMore: number; readonly leases: string[] };

/** Connects at once. Nothing of it keeps the process alive. */
export function createEngineStore(options: EngineStoreOptions): EngineStore {
  const { address, fallback, log, onAnswer, onFailure, now = () => performance.now(), timings } = options;
  /** By lease. As many as requests are running. */
  const running = new Map<string, Running>();
  /** By caller. */
  const owed = new Map<string, Owed>();
  let leasesOwed = 0;
  let payTimer: NodeJS.Timeout | undefined;
  const engine = engineName(address);
  const connection = new EngineConnection(address, PROBE, { onReady, onOut, onFailure: ({ cause }) => onFailure(cause) }, {
    timings: { ...ENGINE_TIMINGS, ...timings },
    now,
    lookup: options.lookup,
    ca: options.ca,
  });
  const renewTimer = setInterval(renewAndPay, timings?.renewMs ?? RENEW_MS).unref();

  function onReady(wasOut: boolean): void {
    if (wasOut) log.warn('the engine of GATEWAY_LIMITS_URL answers again', { engine });
    renewAndPay();
  }

  function onOut({ cause, code }: EngineFailure): void {
    log.warn('the engine of GATEWAY_LIMITS_URL does not answer; until it does, each process counts limits alone', { engine, cause, error: code });
  }

  // hot: per request
  function take(charge: Charge): Decision | Promise<Decision> {
    if (!connection.isReady) return takeLocally(charge, false);
    payAll();
    const startedAtMs = now();
    return new Promise((resolve) => {
      const isAsked = connection.run(TAKE, takeWords(charge), (reply) => resolve(decided(charge, reply, startedAtMs)));
      if (!isAsked) resolve(takeLocally(charge, false));
    });
  }

  function decided(charge: Charge, reply: RespReply | undefined, startedAtMs: number): Decision {
    const decision = decisionFrom(reply, charge.limits);
    // Where nobody answered, the place may have been taken.
    if (decision === undefined) return takeLocally(charge, reply === undefined);
    onAnswer(now() - startedAtMs);
    if (decision.refusedBy !== undefined) return decision;
    running.set(charge.lease, { charge, isEngineCharged: true, isLocallyCharged: fallback.take(charge).refusedBy === undefined });
    return decision;
  }

  function takeLocally(charge: Charge, mayHoldPlace: boolean): Decision {
    const decision = fallback.take(charge);
    if (decision.refusedBy === undefined) running.set(charge.lease, { charge, isEngineCharged: false, isLocallyCharged: true });
    else if (mayHoldPlace) owe(charge, 0);
    return decision;
  }

  function settle(charge: Charge, tokensMore: number): void {
    const taken = running.get(charge.lease);
    if (taken === undefined) return;
    running.delete(charge.lease);
    if (taken.isLocallyCharged) fallback.settle(charge, tokensMore);
    owe(charge, taken.isEngineCharged ? tokensMore : 0);
    pay();
  }

  function owe({ caller, limits, lease }: Charge, tokensMore: number): void {
    oweAll(caller, limits, tokensMore, limits.concurrent === undefined ? [] : [lease]);
  }

  function oweAll(caller: string, limits: CallerLimits, tokensMore: number, more: readonly string[]): void {
    if (tokensMore === 0 && more.length === 0) return;
    const before = owed.get(caller);
    const leases = before?.leases ?? [];
    const added = more.slice(0, LEASES_OWED_MAX - leasesOwed);
    leases.push(...added);
    leasesOwed += added.length;
    // What takes a place alone says nothing of the limits that tokens are owed to.
    const limitsOwed = tokensMore === 0 ? (before?.limits ?? limits) : limits;
    owed.set(caller, { limits: limitsOwed, tokensMore: (before?.tokensMore ?? 0) + tokensMore, leases });
  }

  function pay(): void {
    if (payTimer === undefined && owed.size > 0 && connection.isReady) payTimer = setTimeout(payAll, PAY_WITHIN_MS).unref();
  }

  function payAll(): void {
    clearTimeout(payTimer);
    payTimer = undefined;
    for (const [caller, { limits, tokensMore, leases }] of owed) {
      const paid = leases.slice(0, LEASES_MAX);
      const isAsked = connection.run(SETTLE, settleWords(caller, limits, tokensMore, paid), (reply) => {
        // After an error nothing was carried out. Without an answer nobody knows: tokens must not be settled twice, a place may be.
        if (reply instanceof RespError) oweAll(caller, limits, tokensMore, paid);
        else if (reply === undefined) oweAll(caller, limits, 0, paid);
      });
      if (!isAsked) return;
      owed.delete(caller);
      leasesOwed -= leases.length;
      // What one command does not carry comes in another.
      oweAll(caller, limits, 0, leases.slice(LEASES_MAX));
    }
  }

  /** What an error sent back is owed again, and there may be no next question for it to travel with. */
  function renewAndPay(): void {
    renewAll();
    payAll();
  }

  /** Also of those whose places the engine never knew, or has forgotten. */
  function renewAll(): void {
    const leasesOf = new Map<string, string[]>();
    for (const { charge } of running.values()) {
      if (charge.limits.concurrent === undefined) continue;
      const leases = leasesOf.get(charge.caller) ?? [];
      leases.push(charge.lease);
      leasesOf.set(charge.caller, leases);
    }
    for (const [caller, leases] of leasesOf) {
      // What fails is renewed with the next ones.
      while (leases.length > 0) connection.run(RENEW, renewWords(caller, leases.splice(0, LEASES_MAX)), () => undefined);
    }
  }

  return {
    take,
    settle,
    get isUp() {
      return connection.isReady;
    },
    close() {
      clearInterval(renewTimer);
      payAll();
      connection.close();
      fallback.close();
    },
  };
}
