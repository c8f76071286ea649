/**
 * The one connection to a Redis or Valkey: pipelined, bounded, timed, and made again after a failure. Knows no limits.
 *
 * It counts as up once a script has run on it, so that whoever asks while it is not is told so at once and waits for nothing:
 * a frozen engine costs those it has not answered yet one answer's time, and nobody after them. Failures are counted in a
 * row; the third sends the engine out for a second, doubled with each further one up to 30 s.
 */

import { connect as connectPlain, isIP } from 'node:net';
import type { LookupFunction, Socket } from 'node:net';
import { connect as connectSecure } from 'node:tls';
import type { EngineAddress } from '../base/engine-address.ts';
import { Health } from '../base/health.ts';
import type { AskedAs, HealthRules } from '../base/health.ts';
import { encodeCommand, RespDecoder, RespError } from '../base/resp.ts';
import type { RespReply } from '../base/resp.ts';
import type { Script } from './engine-scripts.ts';

export type EngineTimings = {
  /** From the last of the bytes that ask to an answer. */
  readonly answerMs: number;
  /** Looking up the name, TCP and TLS. Nobody waits for it. */
  readonly connectMs: number;
  /** The first time out, and the longest. */
  readonly outMs: number;
  readonly outMsMax: number;
};

/** Times out are spread by a fifth to either side: the longest is 30 s. */
export const ENGINE_TIMINGS: EngineTimings = { answerMs: 50, connectMs: 1000, outMs: 1000, outMsMax: 25_000 };

/** What went wrong: of a closed set, for a metric. */
export type EngineCause = 'auth' | 'connection' | 'database' | 'full' | 'loading' | 'moved' | 'out_of_memory' | 'other' | 'protocol' | 'read_only' | 'timeout';

export type EngineFailure = {
  readonly cause: EngineCause;
  /** The engine's error code or the platform's, nothing of what they say beside it; undefined where there is none. */
  readonly code: string | undefined;
};

export type EngineListeners = {
  /** A connection can be used. `wasOut`: the engine had been out before. */
  onReady(wasOut: boolean): void;
  /** Three failures in a row: the engine is not asked for a while. */
  onOut(failure: EngineFailure): void;
  /** Every failure, also those that others follow. */
  onFailure(failure: EngineFailure): void;
};

export type EngineSurroundings = {
  readonly timings: EngineTimings;
  readonly now: () => number;
  /** How its name is looked up; undefined = as the platform does. */
  readonly lookup: LookupFunction | undefined;
  readonly ca: string | undefined;
};

/** A script, and words that say first how many of them are keys. */
type Run = { readonly script: Script; readonly words: readonly string[] };

/** Undefined: no answer will come, and nobody knows whether the command was carried out. */
type AnswerReceiver = (reply: RespReply | undefined) => void;

type Pending = {
  readonly onAnswer: AnswerReceiver;
  readonly isAnswer: Script['isAnswer'];
  /** What to send where the engine does not know the script's digest; undefined = it is no script, or was sent whole. */
  readonly whole: (() => string) | undefined;
  /** Whether a good answer shows that the engine is well. One that is full still settles, but no longer decides. */
  readonly isProof: boolean;
  /** Infinity until its bytes were handed to the socket. */
  sentAtMs: number;
};

/** Beyond it, whoever asks is told that nothing can be asked: more than an engine answers in the time that an answer may take. */
const PENDING_MAX = 4096;
/** Scripts return a few numbers. */
const REPLY_BOUNDS = { stringBytesMax: 1024, valuesMax: 32 };
/** It goes out with three failures and no decision between them; after a good probe, with the next one. */
const HEALTH: Omit<HealthRules, 'outMs' | 'outMsMax'> = { failurePoints: 1, successPoints: 3, outAt: 3, inAt: 2, calmMs: 60_000 };
/** A connection that was closed after so long had been idle: that is no failure in a row with the one before it. */
const STABLE_AFTER_MS = 10_000;
/** Tells a middlebox, and the kernel, that the connection is alive. */
const KEEP_ALIVE_MS = 20_000;

/** By the engine's error code. */
const CAUSES: Readonly<Record<string, EngineCause>> = {
  ASK: 'moved',
  LOADING: 'loading',
  MOVED: 'moved',
  NOAUTH: 'auth',
  NOPERM: 'auth',
  OOM: 'out_of_memory',
  READONLY: 'read_only',
  WRONGPASS: 'auth',
};

export class EngineConnection {
  readonly #address: EngineAddress;
  readonly #listeners: EngineListeners;
  readonly #probe: Run;
  readonly #timings: EngineTimings;
  readonly #now: () => number;
  readonly #lookup: LookupFunction | undefined;
  /** Certificates in PEM that are trusted instead of Node's own. */
  readonly #ca: string | undefined;
  #socket: Socket | undefined;
  #isReady = false;
  #readyAtMs = 0;
  #isClosed = false;
  readonly #health: Health;
  /** How this connection came to be. */
  #asked: AskedAs = 'in';
  /** In the order of their commands. */
  readonly #pending: Pending[] = [];
  /** Commands that go out together at the end of this turn of the event loop: one system call for all. */
  #outgoing = '';
  #isFlushing = false;
  /** Until the oldest answer is overdue. */
  #answerTimer: NodeJS.Timeout | undefined;
  /** Until connecting has taken too long, or the time out is over. */
  #connectTimer: NodeJS.Timeout | undefined;

  /** Connects at once. `probe` is run first on each connection; only its answer makes it ready. */
  constructor(
    address: EngineAddress,
    probe: Run,
    listeners: EngineListeners,
    { timings, now, lookup, ca }: EngineSurroundings,
  ) {
    this.#address = address;
    this.#probe = probe;
    this.#listeners = listeners;
    this.#timings = timings;
    this.#now = now;
    this.#lookup = lookup;
    this.#ca = ca;
    this.#health = new Health({ ...HEALTH, outMs: timings.outMs, outMsMax: timings.outMsMax }, { now, random: Math.random });
    this.#connect();
  }

  /** Whether the engine would be asked now. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /**
   * Runs a script. False when the engine cannot be asked now; else `onAnswer` is called once, in any case. An error that the
   * engine answers with is an answer.
   */
  // hot: per request
  run(script: Script, words: readonly string[], onAnswer: AnswerReceiver): boolean {
    if (!this.#isReady) return false;
    if (this.#pending.length >= PENDING_MAX) {
      this.#listeners.onFailure({ cause: 'full', code: undefined });
      return false;
    }
    this.#ask(script, words, onAnswer);
    return true;
  }

  /** What was asked for leaves, and is not waited for. */
  close(): void {
    this.#isClosed = true;
    this.#flush();
    this.#socket?.unref().destroySoon();
    for (const { onAnswer } of this.#drop()) onAnswer(undefined);
  }

  #ask(script: Script, words: readonly string[], onAnswer: AnswerReceiver): void {
    const whole = (): string => encodeCommand(['EVAL', script.text, ...words]);
    this.#send(encodeCommand(['EVALSHA', script.digest, ...words]), { onAnswer, isAnswer: script.isAnswer, whole, isProof: script === this.#probe.script });
  }

  #send(command: string, pending: Omit<Pending, 'sentAtMs'>): void {
    // Who waits for an answer keeps the process alive, who is merely connected does not.
    if (this.#pending.length === 0) this.#socket?.ref();
    this.#pending.push({ ...pending, sentAtMs: Infinity });
    this.#outgoing += command;
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#isFlushing = false;
    if (this.#outgoing === '' || this.#socket === undefined) return;
    this.#socket.write(this.#outgoing);
    this.#outgoing = '';
    const nowMs = this.#now();
    for (let at = this.#pending.length - 1; at >= 0; at -= 1) {
      const pending = this.#pending[at];
      if (pending === undefined || pending.sentAtMs !== Infinity) break;
      pending.sentAtMs = nowMs;
    }
    this.#watchAnswers();
  }

  #watchAnswers(): void {
    const [oldest] = this.#pending;
    if (this.#answerTimer !== undefined || oldest === undefined || oldest.sentAtMs === Infinity) return;
    const waitMs = Math.max(0, oldest.sentAtMs + this.#timings.answerMs - this.#now());
    this.#answerTimer = setTimeout(() => {
      // A turn that took long ends with timers before what has arrived meanwhile is read.
      setImmediate(() => {
        this.#answerTimer = undefined;
        if (this.#isOverdue()) this.#fail('timeout', undefined);
        else this.#watchAnswers();
      });
    }, waitMs).unref();
  }

  #isOverdue(): boolean {
    const [oldest] = this.#pending;
    return oldest !== undefined && this.#now() - oldest.sentAtMs >= this.#timings.answerMs;
  }

  #connect(): void {
    this.#asked = this.#health.ask();
    const { isTls, hostname, port } = this.#address;
    const decoder = new RespDecoder((reply) => {
      if (this.#socket === socket) this.#answered(reply);
    }, REPLY_BOUNDS);
    const target = { host: hostname, port, ...(this.#lookup && { lookup: this.#lookup }) };
    // An address is no server name (RFC 6066, section 3). Verification is said, because what is not said is what
    // NODE_TLS_REJECT_UNAUTHORIZED says.
    const servername = isIP(hostname) === 0 ? hostname : '';
    const socket: Socket = isTls
      ? connectSecure({ ...target, servername, rejectUnauthorized: true, ca: this.#ca }, () => this.#greet())
      : connectPlain(target, () => this.#greet());
    this.#socket = socket;
    socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS).unref();
    socket.on('data', (chunk: Buffer) => {
      if (this.#socket === socket && !decoder.feed(chunk)) this.#fail('protocol', undefined);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (this.#socket === socket) this.#lose(error.code);
    });
    socket.on('close', () => {
      if (this.#socket === socket) this.#lose(undefined);
    });
    this.#connectTimer = setTimeout(() => this.#fail('timeout', undefined), this.#timings.connectMs).unref();
  }

  /** Says who we are, and runs the probe; what is refused of it is a failure. */
  #greet(): void {
    clearTimeout(this.#connectTimer);
    const { user, password, database } = this.#address;
    if (password !== undefined) this.#greetWith(['AUTH', ...(user === undefined ? [] : [user]), password.reveal()]);
    if (database !== 0) this.#greetWith(['SELECT', String(database)]);
    this.#ask(this.#probe.script, this.#probe.words, (reply) => {
      if (reply instanceof RespError) this.#failBy(reply);
      else if (reply !== undefined) this.#ready();
    });
  }

  #greetWith(words: readonly string[]): void {
    const onAnswer = (reply: RespReply | undefined): void => {
      if (!(reply instanceof RespError)) return;
      const { cause, code } = failureFrom(reply);
      // Engines have no code for a database that they have not.
      this.#fail(cause === 'other' && words[0] === 'SELECT' ? 'database' : cause, code);
    };
    this.#send(encodeCommand(words), { onAnswer, isAnswer: isGreeted, whole: undefined, isProof: false });
  }

  #ready(): void {
    this.#isReady = true;
    this.#readyAtMs = this.#now();
    const wasOut = this.#asked === 'probe';
    // A probe proves that it may be asked, not that it decides.
    if (wasOut) this.#health.succeeded(this.#asked);
    this.#endProbe();
    this.#listeners.onReady(wasOut);
  }

  // hot: per request
  #answered(reply: RespReply): void {
    const pending = this.#pending.shift();
    if (pending === undefined) return this.#fail('protocol', undefined);
    if (reply instanceof RespError && reply.code === 'NOSCRIPT' && pending.whole !== undefined) {
      return this.#send(pending.whole(), { ...pending, whole: undefined });
    }
    if (!(reply instanceof RespError) && !pending.isAnswer(reply)) {
      // Nobody knows what became of it.
      this.#pending.unshift(pending);
      return this.#fail('protocol', undefined);
    }
    if (this.#pending.length === 0) this.#socket?.unref();
    const wasReady = this.#isReady;
    pending.onAnswer(reply);
    if (!wasReady) return;
    if (reply instanceof RespError) this.#countRefusal(reply);
    else if (pending.isProof) this.#health.succeeded('in');
  }

  /** An error that a good connection answered with. It stays: an engine that loads its data, or is full, may answer the next one. */
  #countRefusal(error: RespError): void {
    const failure = failureFrom(error);
    if (this.#health.failed('in')) this.#leave(failure, true);
    else this.#listeners.onFailure(failure);
  }

  #failBy(error: RespError): void {
    const { cause, code } = failureFrom(error);
    this.#fail(cause, code);
  }

  /** The engine closed the connection, or the way to it did. */
  #lose(code: string | undefined): void {
    const isIdle = this.#isReady && this.#pending.length === 0 && this.#now() - this.#readyAtMs >= STABLE_AFTER_MS;
    if (isIdle) this.#health.succeeded('in');
    this.#fail('connection', code);
  }

  /** The connection is no good. */
  #fail(cause: EngineCause, code: string | undefined): void {
    const wasOut = this.#health.isOut;
    this.#health.failed(this.#asked);
    this.#endProbe();
    this.#leave({ cause, code }, !wasOut && this.#health.isOut);
  }

  #endProbe(): void {
    this.#health.done(this.#asked);
    this.#asked = 'in';
  }

  /** Another connection is made, at once or after the time out. */
  #leave(failure: EngineFailure, wentOut: boolean): void {
    const unanswered = this.#drop();
    this.#listeners.onFailure(failure);
    if (wentOut) this.#listeners.onOut(failure);
    this.#reconnect();
    for (const { onAnswer } of unanswered) onAnswer(undefined);
  }

  #reconnect(): void {
    if (this.#isClosed) return;
    const { state, leftMs } = this.#health;
    if (state !== 'out') this.#connect();
    // Timers may be early by a part of a millisecond.
    else this.#connectTimer = setTimeout(() => this.#reconnect(), leftMs + 1).unref();
  }

  /** Forgets the connection; returns whom nobody will answer. */
  #drop(): readonly Pending[] {
    clearTimeout(this.#connectTimer);
    clearTimeout(this.#answerTimer);
    this.#answerTimer = undefined;
    const socket = this.#socket;
    this.#socket = undefined;
    this.#isReady = false;
    this.#outgoing = '';
    if (!this.#isClosed) socket?.destroy();
    return this.#pending.splice(0);
  }
}

/** What AUTH and SELECT answer. */
function isGreeted(reply: RespReply): boolean {
  return reply === 'OK';
}

function failureFrom({ code, text }: RespError): EngineFailure {
  // An older engine wraps what a command in a script met.
  const inner = code === 'ERR' ? (/ -(OOM|READONLY|NOPERM|MISCONF) /.exec(text)?.[1] ?? code) : code;
  // And has no code for a wrong password, a newer one none for a long command without any.
  const cause = inner === 'ERR' && /\b(?:password|auth|unauthenticated)\b/i.test(text) ? 'auth' : 'other';
  return { cause: CAUSES[inner] ?? cause, code: inner };
}
