/** Engines for tests: one that answers what a test says, and a real one where it is installed. With what a store tells its surroundings. */

import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import type { TestContext } from 'node:test';
import tls from 'node:tls';
import { parseEngineAddress } from '../../src/base/engine-address.ts';
import type { EngineAddress } from '../../src/base/engine-address.ts';
import type { LogFields } from '../../src/base/log.ts';
import { encodeCommand, RespDecoder, RespError } from '../../src/base/resp.ts';
import type { RespReply } from '../../src/base/resp.ts';
import { createEngineStore } from '../../src/limits/engine.ts';
import type { EngineStore, EngineStoreOptions } from '../../src/limits/engine.ts';
import { PROBE, RENEW, SETTLE, TAKE } from '../../src/limits/engine-scripts.ts';
import type { Charge, Decision, LocalStore } from '../../src/limits/store.ts';
import { freePort } from '../upstream/raw-server.ts';

/** Things that happen, and a wait for any of them. */
export class Happenings<T> {
  readonly all: T[] = [];
  readonly #waiting: (() => void)[] = [];

  add(item: T): void {
    this.all.push(item);
    for (const wake of this.#waiting.splice(0)) wake();
  }

  async until(condition: (all: readonly T[]) => boolean): Promise<readonly T[]> {
    while (!condition(this.all)) await new Promise<void>((wake) => this.#waiting.push(wake));
    return this.all;
  }
}

/** What a command of a store is, in short: `AUTH a b`, `TAKE ann x`, `RENEW ann a,b`. */
export function describeCommand(words: readonly string[]): string {
  const [name = '', digest = ''] = words;
  if (name !== 'EVALSHA' && name !== 'EVAL') return words.join(' ');
  const script = [TAKE, SETTLE, RENEW].find(({ digest: own, text }) => digest === own || digest === text);
  const kind = script === TAKE ? 'TAKE' : script === SETTLE ? 'SETTLE' : script === RENEW ? 'RENEW' : 'other';
  const args = words.slice(3 + Number(words[2]));
  const caller = /\{(.*)\}/.exec(words[3] ?? '')?.[1] ?? '';
  const rest =
    kind === 'TAKE' ? `${args[5]} ${args[10]}` : kind === 'SETTLE' ? `${args[5]} ${args.slice(9).join(',')}` : args.slice(1).join(',');
  return `${name === 'EVAL' ? 'EVAL ' : ''}${kind} ${caller} ${rest}`;
}

const OK = '+OK\r\n';
export const ADMITTED = '*5\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n';

/** What is answered to a command; undefined = nothing. The probe and the greeting are answered well unless this says otherwise. */
export type Script = (words: readonly string[], socket: Socket) => string | undefined;

export type ScriptedEngine = {
  readonly address: EngineAddress;
  /** Every command but probes, as `describeCommand` says it. */
  readonly commands: Happenings<string>;
  /** Connections accepted. */
  readonly connections: Happenings<Socket>;
  script: Script;
};

export type ScriptedOptions = {
  /** Before the `@` of the URL, with it. */
  readonly credentials?: string;
  readonly database?: number;
  readonly certificate?: { readonly key: string; readonly cert: string };
  readonly host?: string;
};

export function isProbe(words: readonly string[]): boolean {
  return words[3] === PROBE.words[1];
}

/** Answers everything well: a take is admitted. */
export const wellAnswered: Script = ([name]) => (name === 'EVALSHA' || name === 'EVAL' ? ADMITTED : OK);

export async function startScriptedEngine(t: TestContext, script: Script = wellAnswered, options: ScriptedOptions = {}): Promise<ScriptedEngine> {
  const accept = (socket: Socket): void => {
    engine.connections.add(socket);
    socket.on('error', () => undefined);
    const decoder = new RespDecoder(
      (reply) => {
        const words = reply as readonly string[];
        if (!isProbe(words)) engine.commands.add(describeCommand(words));
        const answer = engine.script(words, socket);
        if (answer !== undefined) socket.write(answer);
      },
      { stringBytesMax: 65_536, valuesMax: 4096 },
    );
    socket.on('data', (chunk: Buffer) => {
      if (!decoder.feed(chunk)) throw new Error('a store sent what is no command');
    });
  };
  const { certificate, credentials = '', database = 0, host = '127.0.0.1' } = options;
  const server = certificate === undefined ? net.createServer({ noDelay: true }, accept) : tls.createServer(certificate, accept).on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const engine: ScriptedEngine = {
    address: addressOf(`${certificate === undefined ? 'redis' : 'rediss'}://${credentials}${host}:${(server.address() as net.AddressInfo).port}/${database}`),
    commands: new Happenings(),
    connections: new Happenings(),
    script,
  };
  t.after(() => {
    for (const socket of engine.connections.all) socket.destroy();
    server.close();
  });
  return engine;
}

export function addressOf(url: string): EngineAddress {
  const address = parseEngineAddress(url);
  if (address === undefined) throw new Error(`no engine: ${url}`);
  return address;
}

/** The process's own buckets as a test wants them: each take is noted, and refused from `admits` on. */
export class FakeLocal implements LocalStore {
  admits = Infinity;
  readonly taken: string[] = [];
  readonly settled: string[] = [];
  refused = 0;
  isClosed = false;

  take({ lease }: Charge): Decision {
    if (this.taken.length >= this.admits) {
      this.refused += 1;
      return { refusedBy: 'tokens_per_day', waitMs: 1, standings: {} };
    }
    this.taken.push(lease);
    return { refusedBy: undefined, standings: {} };
  }

  settle({ lease }: Charge, tokensMore: number): void {
    this.settled.push(`${lease} ${tokensMore}`);
  }

  close(): void {
    this.isClosed = true;
  }
}

export type Surrounded = {
  readonly store: EngineStore;
  readonly local: FakeLocal;
  /** As `message {fields}`. */
  readonly lines: Happenings<string>;
  readonly failures: Happenings<string>;
  /** Resolves once the engine would be asked. */
  up(): Promise<void>;
};

/** No answer is late, however slow the machine is. */
const PATIENT = { answerMs: 60_000, connectMs: 60_000, outMs: 1 };

/** A store on that engine, closed with the test. */
export function createStore(t: TestContext, address: EngineAddress, options: Partial<EngineStoreOptions> = {}): Surrounded {
  const local = new FakeLocal();
  const lines = new Happenings<string>();
  const failures = new Happenings<string>();
  const store = createEngineStore({
    address,
    fallback: local,
    log: { warn: (message: string, fields?: LogFields) => lines.add(`${message} ${JSON.stringify(fields)}`) },
    onAnswer: () => undefined,
    onFailure: (cause) => failures.add(cause),
    ...options,
    timings: { ...PATIENT, ...options.timings },
  });
  t.after(() => store.close());
  const up = async (): Promise<void> => {
    while (!store.isUp) await new Promise((resolve) => setTimeout(resolve, 1));
  };
  return { store, local, lines, failures, up };
}

/** Undefined where none is installed. */
export const REDIS_SERVER = ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0);

export class RealEngine {
  readonly port: number;
  #child: ChildProcess | undefined;

  constructor(port: number) {
    this.port = port;
  }

  get address(): EngineAddress {
    return addressOf(`redis://127.0.0.1:${this.port}`);
  }

  async start(): Promise<void> {
    const child = spawn(REDIS_SERVER ?? '', ['--port', String(this.port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--daemonize', 'no', '--dir', tmpdir()], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.#child = child;
    let said = '';
    await new Promise<void>((resolve, reject) => {
      child.stdout.on('data', (chunk: Buffer) => {
        said += chunk.toString();
        if (said.includes('eady to accept connections')) resolve();
      });
      child.on('error', reject);
      child.on('exit', () => reject(new Error(said)));
    });
  }

  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name);
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  }

  /** The replies to these commands, on a connection of their own. */
  async ask(...commands: readonly string[]): Promise<readonly RespReply[]> {
    const socket = net.connect(this.port, '127.0.0.1');
    const replies: RespReply[] = [];
    const decoder = new RespDecoder((reply) => replies.push(reply), { stringBytesMax: 65_536, valuesMax: 4096 });
    socket.write(commands.map((command) => encodeCommand(command.split(' '))).join(''));
    for await (const chunk of socket) {
      decoder.feed(chunk as Buffer);
      if (replies.length === commands.length) break;
    }
    for (const reply of replies) if (reply instanceof RespError) throw new Error(reply.text);
    return replies;
  }
}

/** A real engine on a port that is free, stopped with the test. */
export async function startRealEngine(t: TestContext): Promise<RealEngine> {
  for (let triesLeft = 3; ; triesLeft -= 1) {
    const engine = new RealEngine(await freePort());
    t.after(() => engine.stop());
    try {
      await engine.start();
      return engine;
    } catch (error) {
      // Somebody else was given the port meanwhile.
      if (triesLeft === 0) throw error;
    }
  }
}
