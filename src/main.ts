#!/usr/bin/env node
/** The process: environment → config → app → listen; signals and exit codes. */

import { readFileSync } from 'node:fs';
import { LineWriter } from './base/line-writer.ts';
import { createLog } from './base/log.ts';
import type { Log } from './base/log.ts';
import { createApp } from './app.ts';
import type { App } from './app.ts';
import { loadConfig, renderHelp } from './config.ts';
import type { Config, LoadedConfig } from './config.ts';
import { describeError } from './http/server.ts';
import { compatRow, PROVIDER_ROWS } from './providers/index.ts';

const USAGE_ERROR = 2;

main(process.argv.slice(2));

function main(words: readonly string[]): void {
  const [word] = words;
  if (word === '--version') process.stdout.write(`${readVersion()}\n`);
  else if (word === '--help' || word === '-h') process.stdout.write(renderHelp(PROVIDER_ROWS));
  else if (word === '--check') process.exitCode = check(load());
  else if (word === undefined) start(load());
  else {
    process.stderr.write(`gateway: unknown argument ${JSON.stringify(word)}. Try --help.\n`);
    process.exitCode = USAGE_ERROR;
  }
}

function load(): LoadedConfig {
  return loadConfig(process.env, PROVIDER_ROWS, compatRow, (path) => readFileSync(path, 'utf8'));
}

/** Validates and says so; an unknown variable counts as a problem here. */
function check(loaded: LoadedConfig): number {
  const problems = [...loaded.problems, ...loaded.unknownVariables];
  for (const warning of loaded.warnings) process.stderr.write(`warning: ${warning}\n`);
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  if (problems.length > 0) return 1;
  process.stdout.write('The configuration is good.\n');
  return 0;
}

function start(loaded: LoadedConfig): void {
  if (loaded.config === undefined) {
    for (const problem of loaded.problems) process.stderr.write(`${problem}\n`);
    process.stderr.write('Not started. `gateway --help` lists every setting.\n');
    process.exitCode = 1;
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
  const tls = readTls(config);
  if (tls instanceof Error) {
    process.stderr.write(`${tls.message}\n`);
    process.exitCode = 1;
    return;
  }
  const version = readVersion();
  const app = createApp(config, { log, version, tls, fetch: undefined, logLinesDropped: () => writer.dropped });
  const exit = (code: number): void => {
    writer.flushSync();
    process.exit(code);
  };
  stopOnSignals(app, log, exit);
  for (const { variable, value, source } of loaded.effective) log.debug('setting', { variable, value, source });
  app.listen().then(
    (address) => {
      const providers = config.providers.map((provider) => provider.name).join(', ');
      log.info(`listening on ${address}`, { version, node: process.version, providers, default_provider: config.defaultProvider });
    },
    (error: Error & { code?: string }) => {
      log.error(`GATEWAY_ADDR: cannot listen there (${error.code ?? error.name})`);
      exit(1);
    },
  );
}

function stopOnSignals(app: App, log: Log, exit: (code: number) => void): void {
  let isStopping = false;
  const stop = (signal: string): void => {
    if (isStopping) {
      log.warn(`${signal} again: stopping at once`);
      exit(1);
      return;
    }
    isStopping = true;
    log.info(`${signal}: draining`);
    void app.drain().then((isClean) => {
      log.info(isClean ? 'stopped' : 'stopped, with requests cut off at the end of GATEWAY_SHUTDOWN_GRACE');
      exit(0);
    });
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  const fail = (thrown: unknown): void => {
    log.error('an unexpected error: draining, then exiting with 1', describeError(thrown));
    if (isStopping) return exit(1);
    isStopping = true;
    void app.drain().then(() => exit(1));
  };
  process.on('uncaughtException', fail);
  process.on('unhandledRejection', fail);
}

function readTls(config: Config): { cert: string; key: string } | undefined | Error {
  if (config.tls === undefined) return undefined;
  try {
    return { cert: readFileSync(config.tls.certFile, 'utf8'), key: readFileSync(config.tls.keyFile, 'utf8') };
  } catch {
    return new Error('GATEWAY_TLS_CERT_FILE, GATEWAY_TLS_KEY_FILE: cannot be read');
  }
}

/** The version in package.json, which stands beside src and dist. */
function readVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(text) as { version: string };
  return version;
}
