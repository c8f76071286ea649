/**
 * The addresses of host names, for every socket of a transport.
 *
 * The platform looks a name up in a thread (getaddrinfo), and Node gives two of its four threads to that. A lookup that a silent
 * name server holds takes ten seconds and more, cannot be called off, and two of them stop every other. So a name is looked up
 * once for all who wait for it; answers are kept for a short time, and bridge a failing renewal; and while one thread is
 * taken, the other is for names alone of which a name server has just been seen to answer.
 *
 * `dns.resolve` needs no thread, and so can see that. But it reads neither the hosts file nor the search domains: an address
 * from it could send a key to another machine than the one the operator named.
 */

import dns from 'node:dns';
import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { checkDescriptors } from './descriptor-shortage.ts';

/** Told the addresses, at least one, or why there are none. */
export type AddressReceiver = (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void;

/** Whom names are asked of. Both tell their outcome once, later. */
export type NameSource = {
  /** Looks a name up, however long that takes. */
  readonly query: (hostname: string, onAnswer: AddressReceiver) => void;
  /** Whether a name server answers for a name, whatever it says; takes no thread, and some seconds where several are silent. */
  readonly probe: (hostname: string, onAnswer: (isAnswered: boolean) => void) => void;
};

/** Lookups at the same time: as many as Node has threads for. More would queue where nobody can choose among them. */
const LOOKUPS_MAX = 2;
/** A lookup that takes longer waits for a name server; a usual one is done in a tenth of it. */
const SLOW_MS = 1000;
const PROBE_TRIES = 2;
/** An answer that is younger is used as it is. Short enough to follow a provider that moves, long enough for a burst. */
const FRESH_MS = 10_000;
/** How long the last good answer bridges lookups that fail: an outage of name servers, not the life of an address. */
const STALE_MS_MAX = 60 * 60 * 1000;
/** How long somebody with a last good answer waits for a new one. Below what a person notices in a chat. */
const PATIENCE_MS = 500;
/** While the last good answer is in use, a failed lookup is tried again after this (RFC 8767, section 5). */
const RENEWAL_PAUSE_MS = 30_000;
/**
 * Most who wait for one name: as many chats may begin while it is first looked up. Those who gave up count, each with some 3 KB
 * for its socket, until its lookup ends, which is half a minute at worst.
 */
const WAITING_MAX = 10_000;

const LOOPBACK: readonly LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/** What is known of a name. There are as many as providers and proxies. */
type Name = {
  readonly hostname: string;
  /** The last good answer, and when it came; -Infinity = there is none. */
  addresses: readonly LookupAddress[];
  answeredAtMs: number;
  failedAtMs: number;
  /** Whether the last lookup took longer than a usual one. */
  isSlow: boolean;
  state: 'idle' | 'queued' | 'running';
  queuedAtMs: number;
  startedAtMs: number;
  /** Whether its name servers answer, as far as that is known since it was queued. */
  probe: 'none' | 'asking' | 'answered';
  patience: NodeJS.Timeout | undefined;
  waiting: AddressReceiver[];
};

export class NameLookup {
  readonly #source: NameSource;
  readonly #now: () => number;
  readonly #names = new Map<string, Name>();
  readonly #running = new Set<Name>();
  readonly #queued = new Set<Name>();

  /** `now` gives milliseconds of a clock that never jumps. */
  constructor(source: NameSource = PLATFORM, now: () => number = () => performance.now()) {
    this.#source = source;
    this.#now = now;
  }

  /** What sockets take as their option `lookup`. They ask for no address, which needs no lookup, and for no family. */
  readonly lookup: LookupFunction = (hostname, { all }, callback) => {
    this.#addressesOf(hostname, (error, addresses) => {
      const [first] = addresses;
      if (error !== null || first === undefined) callback(error ?? lookupError('ENOTFOUND'), []);
      else if (all === true) callback(null, [...addresses]);
      else callback(null, first.address, first.family);
    });
  };

  #addressesOf(hostname: string, onAnswer: AddressReceiver): void {
    // RFC 6761, section 6.3.
    if (hostname === 'localhost' || hostname.endsWith('.localhost')) {
      answerLater(onAnswer, null, LOOPBACK);
      return;
    }
    const name = this.#nameOf(hostname);
    const nowMs = this.#now();
    const ageMs = nowMs - name.answeredAtMs;
    const isRenewed = ageMs >= FRESH_MS && nowMs - name.failedAtMs >= RENEWAL_PAUSE_MS;
    if (name.state === 'idle' && (isRenewed || ageMs >= STALE_MS_MAX)) this.#enqueue(name);
    else if (name.state === 'queued') this.#startQueued();
    const isPatient = name.state !== 'idle' && nowMs - name.queuedAtMs < PATIENCE_MS;
    const isFull = name.waiting.length >= WAITING_MAX;
    if (ageMs < STALE_MS_MAX && (isFull || !isPatient)) answerLater(onAnswer, null, name.addresses);
    else if (isFull) answerLater(onAnswer, lookupError('EAI_AGAIN'), []);
    else name.waiting.push(onAnswer);
  }

  #nameOf(hostname: string): Name {
    let name = this.#names.get(hostname);
    if (name === undefined) {
      name = {
        hostname,
        addresses: [],
        answeredAtMs: -Infinity,
        failedAtMs: -Infinity,
        isSlow: false,
        state: 'idle',
        queuedAtMs: -Infinity,
        startedAtMs: -Infinity,
        probe: 'none',
        patience: undefined,
        waiting: [],
      };
      this.#names.set(hostname, name);
    }
    return name;
  }

  #enqueue(name: Name): void {
    name.state = 'queued';
    name.queuedAtMs = this.#now();
    name.patience = setTimeout(() => this.#bridge(name), PATIENCE_MS);
    this.#queued.add(name);
    this.#startQueued();
  }

  /** Starts whatever may start, in the order of asking: a name of which nothing is known only where it leaves a thread free. */
  #startQueued(): void {
    for (const name of this.#queued) {
      if (this.#running.size === 0 || (this.#running.size < LOOKUPS_MAX && name.probe === 'answered')) this.#start(name);
      else if (name.probe === 'none' && !name.isSlow) this.#probe(name);
    }
  }

  #probe(name: Name): void {
    name.probe = 'asking';
    this.#source.probe(name.hostname, (isAnswered) => {
      // It may have been looked up meanwhile, and be queued again.
      if (name.probe === 'asking') name.probe = isAnswered ? 'answered' : 'none';
      if (isAnswered) this.#startQueued();
    });
  }

  #start(name: Name): void {
    this.#queued.delete(name);
    name.state = 'running';
    name.probe = 'none';
    name.startedAtMs = this.#now();
    this.#running.add(name);
    this.#source.query(name.hostname, (error, addresses) => this.#settle(name, error, addresses));
  }

  /** The new answer is late: the last good one has to do. */
  #bridge(name: Name): void {
    if (this.#now() - name.answeredAtMs < STALE_MS_MAX) answerAll(name, null, name.addresses);
  }

  #settle(name: Name, error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]): void {
    const nowMs = this.#now();
    clearTimeout(name.patience);
    this.#running.delete(name);
    name.state = 'idle';
    name.isSlow = nowMs - name.startedAtMs > SLOW_MS;
    if (error === null) {
      name.addresses = addresses;
      name.answeredAtMs = nowMs;
    } else {
      name.failedAtMs = nowMs;
      // The name servers did answer: there is no such name any more.
      if (error.code === 'ENOTFOUND') name.answeredAtMs = -Infinity;
    }
    if (nowMs - name.answeredAtMs < STALE_MS_MAX) answerAll(name, null, name.addresses);
    else answerAll(name, error, []);
    this.#startQueued();
  }
}

/** Never before the asker has returned, as sockets expect it. */
function answerLater(onAnswer: AddressReceiver, error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]): void {
  process.nextTick(onAnswer, error, addresses);
}

function answerAll(name: Name, error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]): void {
  const { waiting } = name;
  name.waiting = [];
  for (const onAnswer of waiting) onAnswer(error, addresses);
}

function lookupError(code: string): NodeJS.ErrnoException {
  const error: NodeJS.ErrnoException = new Error('the name could not be looked up');
  error.code = code;
  return error;
}

/** Whom names are asked of where nobody says otherwise. */
export const PLATFORM: NameSource = {
  /** Hosts file, search domains and name servers, in a thread. */
  query(hostname, onAnswer) {
    dns.lookup(hostname, { all: true, hints: dns.ADDRCONFIG }, (error, addresses) => {
      if (error === null) onAnswer(null, addresses);
      else checkDescriptors((shortage) => onAnswer(shortage ?? error, []));
    });
  },

  /** Name servers alone, over a socket of the event loop. That they refuse is an answer too. */
  probe(hostname, onAnswer) {
    const resolver = new dns.Resolver({ timeout: SLOW_MS / PROBE_TRIES, tries: PROBE_TRIES });
    resolver.resolve4(hostname, (error) => onAnswer(error === null || error.code !== dns.TIMEOUT));
  },
};
