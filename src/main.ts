#!/usr/bin/env node
/** The process: environment → config → app → listen; signals and exit codes. */

import { readFileSync } from 'node:fs';
import { createApp } from './app.ts';
import type { App } from './app.ts';
import { describeError } from './base/describe-error.ts';
import { LineWriter } from './base/line-writer.ts';
import { createLog } from './base/log.ts';
import type { Log } from './base/log.ts';
import type { EffectiveValue } from './config/environment.ts';
import { problemFields } from './config/reload.ts';
import { renderRouting } from './config/routing-table.ts';
import { renderHelp } from './config/settings-page.ts';
import { loadConfig } from './config/settings.ts';
import type { LoadedConfig } from './config/settings.ts';
import { compatRow, PROVIDER_ROWS } from './providers/index.ts';
import { VERSION } from './version.ts';

/** 0 = stopped by a signal, or nothing is wrong. */
const FAILED = 1;
const USAGE_ERROR = 2;

/** Commands of a room of their own, which serving does not wait for. */
const COMMANDS: readonly (string | undefined)[] = ['--probe', '--doctor', '--dashboard', '--alerts'];

main(process.argv.slice(2));

function main(words: readonly string[]): void {
  const [word, extra] = words;
  if (word === '--sandbox') void import('./sandbox/command.ts').then(({ runSandbox }) => runSandbox(words));
  else if (COMMANDS.includes(word)) void run(words);
  else if (extra !== undefined) refuse(extra);
  else if (word === '--version') process.stdout.write(`${VERSION}\n`);
  else if (word === '--help' || word === '-h') process.stdout.write(renderHelp(PROVIDER_ROWS));
  else if (word === '--check') process.exitCode = check(load());
  else if (word === undefined) start(load());
  else refuse(word);
}

function refuse(word: string): void {
  process.stderr.write(`gateway: unknown argument ${JSON.stringify(word)}. Try --help.\n`);
  process.exitCode = USAGE_ERROR;
}

async function run(words: readonly string[]): Promise<void> {
  const { runCommand } = await import('./operate/commands.ts');
  const outcome = await runCommand(words, {
    load,
    print: (text) => process.stdout.write(text),
    complain: (line) => process.stderr.write(`${line}\n`),
  });
  if (typeof outcome === 'string') refuse(outcome);
  else process.exitCode = outcome;
}

function load(): LoadedConfig {
  return loadConfig(process.env, PROVIDER_ROWS, compatRow, (path) => readFileSync(path, 'utf8'));
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

function start(loaded: LoadedConfig): void {
  if (loaded.config === undefined) {
    for (const problem of loaded.problems) process.stderr.write(`${problem}\n`);
    process.stderr.write('Not started. --help lists every setting.\n');
    process.exitCode = FAILED;
    return;
  }
  const { config } = loaded;
  const writer = new LineWriter(1);
  const log = createLog({
    level: config.logLevel,
    format: config.logFormat,
    isColoured: process.stdout.isTTY === true,
    write: (line) => writer.write(line),
  });
  for (const warning of [...loaded.warnings, ...loaded.unknownVariables]) log.warn(warning);
  const app = createApp(config, { log, version: VERSION, fetch: undefined, logLinesDropped: () => writer.dropped });
  const exit = (code: number): void => {
    // A listening Unix socket leaves no file behind.
    app.close();
    writer.flushSync();
    process.exit(code);
  };
  stopOnSignals(app, log, exit);
  reloadOnSignal(app, log);
  logSettings(loaded, log);
  app.listen().then(
    (address) => {
      const providers = config.providers.map((provider) => provider.name).join(', ');
      log.info(`listening on ${address}`, { version: VERSION, node: process.version, providers, default_provider: config.defaultProvider });
    },
    (error: Error & { code?: string }) => {
      log.error(`GATEWAY_ADDR: cannot listen there (${error.code ?? error.name})`);
      exit(FAILED);
    },
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
function reloadOnSignal(app: App, log: Log): void {
  process.on('SIGHUP', () => {
    const { config, problems, warnings } = load();
    if (config === undefined) {
      log.error('SIGHUP: the old secrets, certificates and routing stay', problemFields(problems));
      return;
    }
    for (const warning of warnings) log.warn(warning);
    const { swapped, needsRestart } = app.reload(config);
    log.info('SIGHUP: secrets, certificates and routing were read again', { changed: swapped.join(', ') || 'nothing' });
    if (needsRestart.length > 0) log.warn('SIGHUP: something changed that takes a restart', { changed: needsRestart.join(', ') });
  });
}

function stopOnSignals(app: App, log: Log, exit: (code: number) => void): void {
  let isStopping = false;
  let isCut = false;
  let exitCode = 0;
  const drain = (): void => {
    isStopping = true;
    app.drain().then(
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
    void app.stop().finally(() => exit(FAILED));
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  // A bug. Whatever state it left, what is in flight gets the chance to finish, also when one comes during a drain.
  const fail = (thrown: unknown): void => {
    log.error('an unexpected error: draining, then exiting with 1', describeError(thrown));
    exitCode = FAILED;
    if (!isStopping) drain();
  };
  process.on('uncaughtException', fail);
  process.on('unhandledRejection', fail);
}
