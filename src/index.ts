/**
 * The library: a gateway inside another program.
 *
 * Touches nothing of the process but the files that options name: no signals, no exit, no environment, no globals.
 */

import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createApp } from './app.ts';
import type { Config } from './config/config.ts';
import { loadEnvironmentOptions } from './config/environment-options.ts';
import { fixedDifferences, fixedOptions } from './config/fixed-options.ts';
import { loadOptions } from './config/options.ts';
import type { LoadedOptions } from './config/options.ts';
import { ADDRESS, PORT } from './config/setting-types.ts';
import { ConfigError } from './embedded/errors.ts';
import { createEmbeddedLog } from './embedded/log.ts';
import type { Gateway, GatewayOptions } from './embedded/types.ts';
import { compatRow, PROVIDER_ROWS } from './providers/index.ts';
import { VERSION } from './version.ts';

export type * from './callers/native/wire.ts';
export type { SettingOptions } from './config/setting-options.ts';
export { ConfigError, GatewayError } from './embedded/errors.ts';
// All of them: what a program hands on has to have a name in its own declarations.
export type * from './embedded/types.ts';

/** A gateway as the options say. Throws a ConfigError with everything that is wrong with them. */
export function createGateway(options: GatewayOptions): Gateway {
  const { config, warnings } = load(options);
  const { log, linesLost } = createEmbeddedLog(options.log, config.logLevel);
  for (const warning of warnings) log.warn(warning);
  const { authenticate } = options;
  const fixed = fixedOptions(options, config);
  let providers = config.providers.map(({ name }) => name);
  const app = createApp(config, {
    log,
    version: VERSION,
    logLinesDropped: linesLost,
    // Asked for by the type of the built-in one; what comes back is read as a Response.
    fetch: options.fetch as typeof fetch | undefined,
    readFile: readText,
    authenticate: authenticate && ((request: IncomingMessage) => authenticate.call(options, request)),
  });
  const close = (): Promise<void> => app.stop();
  return {
    chat: app.chat,
    stream: app.stream,
    models: app.models,
    get providers() {
      return providers;
    },
    handler: app.handler,
    listen: async (address) => app.listen(addressFrom(address)),
    metricsText: app.metricsText,
    reload(next) {
      const { config: nextConfig, warnings: nextWarnings } = load(next);
      for (const warning of nextWarnings) log.warn(warning);
      const { swapped } = app.reload(nextConfig);
      providers = [...new Set([...providers, ...nextConfig.providers.map(({ name }) => name)])].sort();
      return { swapped, needsRestart: fixedDifferences(fixed, fixedOptions(next, nextConfig)) };
    },
    // Not the function itself: whoever has it as a listener would hand it what happened.
    drain: () => app.drain(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The options that an environment comes to, files of secrets included. Throws a ConfigError with everything that is wrong with it. */
export function optionsFrom(environment: Readonly<Record<string, string | undefined>>): GatewayOptions {
  const { options, problems } = loadEnvironmentOptions(environment, PROVIDER_ROWS, compatRow, readText);
  if (options === undefined || problems.length > 0) throw new ConfigError(problems);
  // What was read from the environment was read by the table that these types are printed from.
  return options as GatewayOptions;
}

function load(options: unknown): LoadedOptions & { readonly config: Config } {
  const loaded = loadOptions(options, PROVIDER_ROWS, compatRow, readText);
  if (loaded.config === undefined) throw new ConfigError(loaded.problems);
  return { ...loaded, config: loaded.config };
}

function addressFrom(address: string | number): Config['listen'] {
  const type = typeof address === 'number' ? PORT : ADDRESS;
  const parsed = type.parse(String(address));
  if (parsed === undefined) throw new ConfigError([`address: expected ${type.expects}`]);
  return parsed;
}

function readText(path: string): string {
  return readFileSync(path, 'utf8');
}
