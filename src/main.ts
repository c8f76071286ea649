#!/usr/bin/env node
/** The process: environment → config → app → listen; signals and exit codes. */

import { readFileSync } from 'node:fs';
import { createApp } from './app.ts';
import type { AppSurroundings } from './app.ts';
import { describeError } from './base/describe-error.ts';
import { LineWriter, WHOLE_WRITE_BYTES } from './base/line-writer.ts';
import { createLog } from './base/log.ts';
import type { Log } from './base/log.ts';
import { isKeptFromNetwork } from './base/network-permission.ts';
import { loadConfig } from './config/config.ts';
import type { Config, LoadedConfig } from './config/config.ts';
import type { EffectiveValue } from './config/environment.ts';
import { readOnce } from './config/read-once.ts';
import { placesOf, problemFields } from './config/reload.ts';
import { renderRouting } from './config/routing-table.ts';
import { renderHelp } from './config/settings-page.ts';
import { listen } from './http/listen.ts';
import { createMemoryStore } from './limits/memory.ts';
import { createMetrics } from './metrics.ts';
import { compatRow, PROVIDER_ROWS } from './providers/index.ts';
import { VERSION } from './version.ts';
import type { Changes, Files } from './workers/messages.ts';

/** 0 = stopped by a signal, or nothing is wrong. */
const FAILED = 1;
const USAGE_ERROR = 2;

/** Commands of a room of their own, which serving does not wait for. */
const COMMANDS: readonly (string | undefined)[] = ['--probe', '--doctor', '--dashboard', '--alerts'];

/** What is nothing without connections: these, and serving. */
const NETWORKED: readonly (string | undefined)[] = [undefined, '--probe', '--doctor', '--sandbox'];

/** What a primary starts its workers with, and nobody else. */
const WORKER = '--worker';

main(process.argv.slice(2));

function main(words: readonly string[]): void {
  const [word, extra] = words;
  if (word !== undefined && word !== WORKER) bearLostOutput();
  if (NETWORKED.includes(word) && isKeptFromNetwork(process)) fail("Node's permission model keeps this process from the network: start it with --allow-net");
  else if (word === '--sandbox') void import('./sandbox/command.ts').then(({ runSandbox }) => runSandbox(words));
  else if (COMMANDS.includes(word)) void run(words);
  else if (extra !== undefined) refuse(extra);
  else if (word === '--version') process.stdout.write(`${VERSION}\n`);
  else if (word === '--help' || word === '-h') process.stdout.write(renderHelp(PROVIDER_ROWS));
  else if (word === '--check') process.exitCode = check(load());
  else if (word === WORKER) void work();
  else if (word === undefined) void start(load());
  else refuse(word);
}

/** Who reads what a command prints may have read enough (`--help | head`). What is lost for another reason, as on a full disk, is a failure. */
function bearLostOutput(): void {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code !== 'EPIPE') fail(`stdout cannot be written (${code})`);
  });
  process.stderr.on('error', () => {});
}

function fail(why: string): void {
  process.stderr.write(`gateway: ${why}\n`);
  process.exitCode = FAILED;
}

function refuse(word: string): void {
  process.stderr.write(`gateway: unknown argument ${JSON.stringify(word)}. Try --help.\n`);
  process.exitCode = USAGE_ERROR;
}

async function run(words: readonly string[]): Promise<void> {
  const { runCommand } = await import('./operate/commands.ts');
  const outcome = await runCommand(words, {
    load,
    readFile: readText,
    print: (text) => process.stdout.write(text),
    complain: (line) => process.stderr.write(`${line}\n`),
  });
  if (typeof outcome === 'string') refuse(outcome);
  else if (outcome !== 0) process.exitCode = outcome;
}

/** The configuration, and the files that it was read from. */
type Loaded = LoadedConfig & { readonly files: Files };

function load(): Loaded {
  const files = new Map<string, string>();
  const loaded = loadConfig(process.env, PROVIDER_ROWS, compatRow, readOnce(readText, files));
  return { ...loaded, files: Object.fromEntries(files) };
}

/** The same from what a primary has read: files may have changed since, for the worse too. */
function loadFrom(files: Files): LoadedConfig {
  const texts = new Map(Object.entries(files));
  return loadConfig(process.env, PROVIDER_ROWS, compatRow, (path) => {
    const text = texts.get(path);
    if (text === undefined) throw new Error('the primary had no such file');
    return text;
  });
}

function readText(path: string): string {
  return readFileSync(path, 'utf8');
}

/** Validates, says so, and prints the routing as it was understood; an unknown variable counts as a problem here. */
function check(loaded: LoadedConfig): number {
  const problems = [...loaded.problems, ...loaded.unknownVariables];
  for (const warning of loaded.warnings) process.stderr.write(`warning: ${warning}\n`);
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  if (problems.length > 0) return FAILED;
  const table = loaded.config === undefined ? '' : renderRouting(loaded.config);
  process.stdout.write(`The configuration is good.\n${table}`);
  return 0;
}

/** What a process serves with: a gateway, or the primary of several. */
type Serving = {
  listen(): Promise<string>;
  drain(): Promise<boolean>;
  stop(): Promise<void>;
  reload(next: Config, files: Files): Changes | Promise<Changes>;
  close(): void;
};

async function start(loaded: Loaded): Promise<void> {
  const { config } = loaded;
  if (config === undefined) {
    for (const problem of loaded.problems) process.stderr.write(`${problem}\n`);
    process.stderr.write('Not started. --help lists every setting.\n');
    process.exitCode = FAILED;
    return;
  }
  const { log, writer } = openLog(config);
  logSettings(loaded, log);
  for (const warning of [...loaded.warnings, ...loaded.unknownVariables]) log.warn(warning);
  const serving = config.workers === 1 ? createApp(config, surroundings(log, writer)) : await createPrimary(config, loaded.files, log, writer);
  const exit = (code: number): void => {
    // A listening Unix socket leaves no file behind.
    serving.close();
    void writer.flush().then(() => process.exit(code));
  };
  stopOnSignals(serving, log, exit);
  reloadOnSignal(serving, log);
  serving.listen().then(
    (address) => {
      const providers = config.providers.map((provider) => provider.name).join(', ');
      const workers = config.workers === 1 ? undefined : config.workers;
      log.info(`listening on ${address}`, { version: VERSION, node: process.version, providers, default_provider: config.defaultProvider, workers });
      // Who starts a gateway waits for this line, and should not for those that come together with it.
      void writer.flush();
    },
    (error: Error & { code?: string; syscall?: string; permission?: string }) => {
      const why = error.code ?? error.name;
      const isOfProcess = error.permission === 'ChildProcess' || error.syscall?.startsWith('spawn') === true;
      log.error(isOfProcess ? `GATEWAY_WORKERS: a process cannot be started (${why})` : `GATEWAY_ADDR: cannot listen there (${why})`);
      exit(FAILED);
    },
  );
}

/** One log for all processes. `worker` is this one's number. */
function openLog({ logLevel, logFormat, workers }: Config, worker?: number): { readonly log: Log; readonly writer: LineWriter } {
  const isShared = workers > 1;
  const writer = isShared ? new LineWriter(1, undefined, WHOLE_WRITE_BYTES) : new LineWriter(1);
  const log = createLog({
    level: logLevel,
    format: logFormat,
    isColoured: process.stdout.isTTY === true,
    write: (line) => writer.write(line),
    ...(isShared ? { lineBytesMax: WHOLE_WRITE_BYTES - 1 } : {}),
    ...(worker === undefined ? {} : { fields: { worker } }),
  });
  return { log, writer };
}

function surroundings(log: Log, writer: LineWriter): AppSurroundings {
  return { log, version: VERSION, fetch: undefined, readFile: readText, logLinesDropped: () => writer.dropped };
}

async function createPrimary(config: Config, files: Files, log: Log, writer: LineWriter): Promise<Serving> {
  const { Primary } = await import('./workers/primary.ts');
  const metrics = createMetrics({ version: VERSION, logLinesDropped: () => writer.dropped, upstreamSockets: () => 0 });
  const scheme = config.tls === undefined ? 'http' : 'https';
  const primary = new Primary(config, {
    log,
    metrics,
    files,
    places: placesOf(config),
    program: process.argv[1] ?? '',
    limits: config.limitsEngine === undefined ? createMemoryStore(() => performance.now()) : undefined,
    listen: (server) => listen(server, config.listen, scheme),
  });
  return {
    listen: () => primary.listen(),
    drain: () => primary.drain(),
    stop: () => primary.stop(),
    reload: (next, read) => primary.reload(read, placesOf(next)),
    close: () => primary.close(),
  };
}

/** One of several processes: it serves what its primary hands it. */
async function work(): Promise<void> {
  const { joinPrimary } = await import('./workers/worker.ts');
  const primary = await joinPrimary();
  if (primary === undefined) return refuse(WORKER);
  const { config } = loadFrom(primary.files);
  if (config === undefined) throw new Error('a worker does not read what its primary did');
  const { log, writer } = openLog(config, primary.number);
  // An engine is asked by each worker itself.
  const limits = config.limitsEngine === undefined ? { limitStore: primary.limitStore(createMemoryStore(() => performance.now()), log) } : {};
  const app = createApp(config, { ...surroundings(log, writer), ...limits, metricsPage: () => primary.metricsPage(), transitions: primary, ticketKeys: primary.ticketKeys });
  failOnErrors(log, () => primary.leave());
  primary.serve(
    {
      take: (socket) => app.take(socket),
      drain: (listenerClosed) => app.drain(listenerClosed),
      stop: () => app.stop(),
      reload(files) {
        const { config: next } = loadFrom(files);
        return next === undefined ? { swapped: [], needsRestart: [] } : app.reload(next);
      },
      snapshot: () => app.snapshot(),
      exit(code) {
        app.close();
        void writer.flush().then(() => process.exit(code));
      },
    },
    log,
  );
}

/** One line for what is set, one at debug for what is not. */
function logSettings({ effective }: LoadedConfig, log: Log): void {
  const isDefault = ({ source }: EffectiveValue): boolean => source === 'default';
  const set = effective.filter((setting) => !isDefault(setting));
  log.info('settings', Object.fromEntries(set.map(({ variable, value, source }) => [variable, `${value} (${source})`])));
  log.debug('defaults', Object.fromEntries(effective.filter(isDefault).map(({ variable, value }) => [variable, value])));
}

/** SIGHUP: the files of secrets, certificates and routing are read again. Either all of it is good, or everything stays as it is. */
function reloadOnSignal(serving: Serving, log: Log): void {
  process.on('SIGHUP', () => {
    const { config, problems, warnings, files } = load();
    if (config === undefined) {
      log.error('SIGHUP: nothing was changed, since what was read is not valid', problemFields(problems));
      return;
    }
    for (const warning of warnings) log.warn(warning);
    const changes = serving.reload(config, files);
    if (changes instanceof Promise) void changes.then((all) => logReload(all, log));
    else logReload(changes, log);
  });
}

function logReload({ swapped, needsRestart }: Changes, log: Log): void {
  log.info('SIGHUP: secrets, certificates and routing were read again', { changed: swapped.join(', ') || 'nothing' });
  if (needsRestart.length > 0) log.warn('SIGHUP: something changed that takes a restart', { changed: needsRestart.join(', ') });
}

function stopOnSignals(serving: Serving, log: Log, exit: (code: number) => void): void {
  let isStopping = false;
  let isCut = false;
  let exitCode = 0;
  const drain = (): void => {
    isStopping = true;
    serving.drain().then(
      (isClean) => {
        if (isCut) return;
        log.info(isClean ? 'stopped' : 'stopped, with requests cut off at the end of GATEWAY_SHUTDOWN_GRACE');
        exit(exitCode);
      },
      () => exit(FAILED),
    );
  };
  const stop = (signal: string): void => {
    if (!isStopping) {
      log.info(`${signal}: draining`);
      drain();
      return;
    }
    isCut = true;
    log.warn(`${signal} again: stopping at once`);
    void serving.stop().finally(() => exit(FAILED));
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  failOnErrors(log, () => {
    exitCode = FAILED;
    if (!isStopping) drain();
  });
}

/** A bug. Whatever state it left, what is in flight gets the chance to finish, also when one comes during a drain. */
function failOnErrors(log: Log, drain: () => void): void {
  const fail = (thrown: unknown): void => {
    log.error('an unexpected error: draining, then exiting with 1', describeError(thrown));
    drain();
  };
  process.on('uncaughtException', fail);
  process.on('unhandledRejection', fail);
}
