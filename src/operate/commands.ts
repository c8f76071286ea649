/**
 * The commands beside serving: each prints something and is over. This room is loaded only when one of them is asked for, so
 * that serving does not start later because of them.
 */

import type { Config, LoadedConfig } from '../config/config.ts';
import { renderAlerts } from './alerts.ts';
import { renderDashboard } from './dashboard.ts';
import { examineProviders } from './doctor.ts';
import type { ChatWish } from './doctor.ts';
import { probe } from './probe.ts';
import { renderReport } from './report.ts';

const FAILED = 1;

/** What a command works with. */
export type Desk = {
  /** Reads the configuration. */
  readonly load: () => LoadedConfig;
  /** A file's text; throws an error with a `code`. */
  readonly readFile: (path: string) => string;
  /** To stdout. */
  readonly print: (text: string) => void;
  /** To stderr: a line without its end. */
  readonly complain: (line: string) => void;
};

/** Runs the command that the words ask for. Resolves with the exit code, or with the word that means nothing to it. */
export async function runCommand([command, ...words]: readonly string[], desk: Desk): Promise<number | string> {
  if (command === '--probe') return runProbe(words, desk);
  if (command === '--doctor') return runDoctor(words, desk);
  const [extra] = words;
  if (extra !== undefined) return extra;
  desk.print(command === '--dashboard' ? renderDashboard() : renderAlerts());
  return 0;
}

/** No exit code but 0 and 1: health checks of containers know no other. */
async function runProbe([url = '', extra]: readonly string[], { complain }: Desk): Promise<number> {
  const problem = extra === undefined ? await probe(url) : '--probe takes one URL';
  if (problem === undefined) return 0;
  complain(`gateway: ${problem}`);
  return FAILED;
}

const CHAT = '--chat';

async function runDoctor(words: readonly string[], { load, readFile, print, complain }: Desk): Promise<number | string> {
  const unknown = words.find((word) => word !== '--json' && word !== CHAT && !word.startsWith(`${CHAT}=`));
  if (unknown !== undefined) return unknown;
  const loaded = load();
  const { config, problems, warnings, unknownVariables } = loaded;
  for (const warning of [...warnings, ...unknownVariables]) complain(`warning: ${warning}`);
  if (config === undefined) {
    for (const problem of problems) complain(problem);
    complain('Nothing was examined. --help lists every setting.');
    return FAILED;
  }
  const wish = chatWish(words, config);
  if (typeof wish === 'string') {
    complain(`gateway: ${wish}`);
    return FAILED;
  }
  const report = await examineProviders(config, loaded, wish, { readFile });
  print(words.includes('--json') ? `${JSON.stringify(report)}\n` : renderReport(report));
  return report.ok ? 0 : FAILED;
}

/**
 * `--chat` alone takes models of the providers' own lists; `--chat=provider/model,…` names them, for the default provider also
 * `--chat=model`. A text says what is wrong with the words.
 */
function chatWish(words: readonly string[], { providers, defaultProvider }: Config): ChatWish | string {
  const wishes = words.filter((word) => word.startsWith(CHAT));
  if (wishes.length === 0) return undefined;
  const names = wishes.flatMap((word) => word.slice(CHAT.length + 1).split(',')).filter((name) => name !== '');
  const models = new Map<string, string>();
  for (const name of names) {
    const [prefix = ''] = name.split('/', 1);
    const isPrefixed = providers.some((provider) => provider.name === prefix) && name.length > prefix.length + 1;
    const provider = isPrefixed ? prefix : defaultProvider;
    if (models.has(provider)) return `${CHAT} names two models of ${provider}, and asks one of each provider`;
    models.set(provider, isPrefixed ? name.slice(prefix.length + 1) : name);
  }
  return models;
}
