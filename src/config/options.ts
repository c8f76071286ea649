/**
 * What an embedder passes, read as strictly as the environment: settings under camel-case names, providers, callers.
 *
 * A row of the table of settings is an option at once, unless it is of a process alone. A problem names its path and, where
 * there is one, the nearest known name; never a value that could be a secret.
 */

import { LOG_LEVELS } from '../base/log.ts';
import type { ProviderRow } from '../core/adapter.ts';
import { CALLER_LABEL, isCallerLabel } from '../core/caller.ts';
import { configFrom, warnIfShort } from './config.ts';
import type { Config } from './config.ts';
import { createMask } from './masking.ts';
import { providersFrom } from './option-providers.ts';
import { described, entriesOf, isRecord, OF_A_PROCESS, optionOf, optionRows, OptionSource, refuseUnknown } from './option-source.ts';
import type { Options } from './option-source.ts';
import { readRoutingOption } from './routing-file.ts';
import { SECRET } from './setting-types.ts';
import { readSettings } from './settings.ts';
import type { Source } from './source.ts';

/** What is no setting. The functions among these are nobody's business here. */
const OTHER_OPTIONS = ['providers', 'callers', 'routing', 'fetch', 'log', 'authenticate'];

export type LoadedOptions = {
  /** Undefined when there is a problem. */
  readonly config: Config | undefined;
  /** One line each, naming the path and what is expected. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
};

/** The configuration that the options describe, or every problem with them at once. The rest is as for `loadConfig`. */
export function loadOptions(
  options: unknown,
  rows: readonly ProviderRow[],
  compatRow: (name: string) => ProviderRow,
  readFile: (path: string) => string,
): LoadedOptions {
  if (!isRecord(options)) return { config: undefined, problems: [`options: expected an object, got ${described(options)}`], warnings: [] };
  const source = new OptionSource(options, readFile);
  checkNames(source, options);
  checkFunctions(source, options);
  const settings = readSettings(source);
  const callers = callersFrom(source, options['callers']);
  const providers = providersFrom(source, options['providers'], rows, compatRow, { openAiApi: settings.openAiApi }, readFile);
  const { routing } = options;
  const routingFile = routing === undefined ? undefined : readRoutingOption(source, 'routing', routing);
  const providerNames = isRecord(options['providers']) ? Object.keys(options['providers']) : [];
  for (const name of routingFile?.providers.keys() ?? []) {
    if (!providerNames.includes(name)) routingFile?.complaints.problemAt(['providers', name], `is not among providers${routingFile.complaints.hint(name, providerNames)}`);
  }
  const routingFileName = routing === undefined ? undefined : 'routing';
  // Who calls is for `authenticate` to say, and for each call.
  const config = configFrom(source, settings, { callers, labels: undefined, providers, providerNames, routingFileName, routingFile }, readFile);
  const { problems, warnings } = source;
  // A token in the place of a name is not shown either.
  const masked = createMask(source.secrets);
  return { config: problems.length === 0 ? config : undefined, problems: problems.map(masked), warnings: warnings.map(masked) };
}

function checkNames(source: Source, options: Options): void {
  const known = [...optionRows().keys(), ...OTHER_OPTIONS];
  const elsewhere = new Map(Object.entries(OF_A_PROCESS).map(([variable, advice]) => [optionOf(variable), advice]));
  refuseUnknown(source, '', options, known, (name) => elsewhere.get(name));
}

function checkFunctions(source: Source, options: Options): void {
  for (const name of ['fetch', 'authenticate']) {
    const value = options[name];
    if (value !== undefined && typeof value !== 'function') source.problems.push(`${name}: expected a function, got ${described(value)}`);
  }
  const { log } = options;
  if (log === undefined) return;
  if (typeof log !== 'object' || log === null) {
    source.problems.push(`log: expected an object with ${LOG_LEVELS.join(', ')}, such as console, got ${described(log)}`);
    return;
  }
  for (const level of LOG_LEVELS) {
    const value: unknown = level in log ? log[level as keyof typeof log] : undefined;
    if (typeof value !== 'function') source.problems.push(`log.${level}: expected a function, got ${described(value)}`);
  }
}

/** Labels are shown, tokens never. */
function callersFrom(source: OptionSource, value: unknown): Config['callers'] {
  const callers: Config['callers'][number][] = [];
  for (const [index, [label, token]] of entriesOf(source, 'callers', value, 'a token by each label').entries()) {
    if (!isCallerLabel(label)) {
      // It could be a token in the wrong place.
      source.problems.push(`callers, entry ${index + 1}: expected ${CALLER_LABEL}`);
      continue;
    }
    const path = `callers.${label}`;
    const secret = source.parse(path, token, SECRET);
    if (secret === undefined) continue;
    const same = callers.find((caller) => caller.token.reveal() === secret.reveal());
    if (same !== undefined) source.problems.push(`${path}: has the same token as callers.${same.label}`);
    warnIfShort(source, path, secret);
    callers.push({ label, token: secret });
  }
  return callers;
}
