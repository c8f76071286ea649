/** The README's examples of existing SDKs, each run as it stands with the packages themselves. */

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { blocksOf, readPage } from '../../readme.ts';
import { startGateway, TOKEN } from '../../running-gateway.ts';
import { FOLDER } from './packages.ts';

/** What runs a block of each language, and the clients whose answer it prints, in order. */
const LANGUAGES: Readonly<Record<string, { readonly command: readonly [command: string, file: string]; readonly clients: readonly string[] }>> = {
  python: { command: [join(FOLDER, 'langchain/bin/python'), 'example.py'], clients: ['openai', 'anthropic', 'langchain'] },
  ts: { command: [join(FOLDER, 'node_modules/.bin/node'), 'example.mjs'], clients: ['ai-sdk'] },
  sh: { command: ['sh', 'example.sh'], clients: ['Claude Code', 'Codex'] },
};
/** The fake provider quotes what it was asked, an agent's wishes included. */
const ANSWER = /Hello from \S+! You wrote: /g;

export type Tried = { readonly name: string; /** Undefined = good. */ readonly why: string | undefined };

export async function tryExamples(): Promise<readonly Tried[]> {
  const [, section = ''] = /\n## Existing SDKs\n([^]*?)\n## /.exec(readPage('README.md')) ?? [];
  const tried: Tried[] = [];
  for (const { language, text } of blocksOf(section)) tried.push(await tryExample(language, text));
  for (const language of Object.keys(LANGUAGES)) {
    if (!tried.some(({ name }) => name.startsWith(language))) tried.push({ name: language, why: 'the README has no example' });
  }
  return tried;
}

async function tryExample(language: string, text: string): Promise<Tried> {
  const known = LANGUAGES[language];
  if (known === undefined) return { name: language, why: 'of no language that is known here' };
  const { command: [command, file], clients } = known;
  const name = `${language}: ${clients.join(', ')}`;
  const ends: (() => unknown)[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'gateway-example-'));
  ends.push(() => rmSync(folder, { recursive: true, force: true }));
  try {
    const gateway = await startGateway({ after: (end) => void ends.push(end as () => unknown) });
    // Node looks for packages beside the program.
    symlinkSync(join(FOLDER, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, file), text);
    // Codex works in repositories only.
    spawnSync('git', ['init', '--quiet'], { cwd: folder });
    const path = [join(FOLDER, 'node_modules/.bin'), process.env['PATH'] ?? ''].join(delimiter);
    const child = spawn(command, [file], { cwd: folder, env: { PATH: path, HOME: folder, GATEWAY: gateway.url, TOKEN, IS_SANDBOX: '1' }, stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (more: string) => (out += more));
    child.stderr.setEncoding('utf8').on('data', (more: string) => (err += more));
    const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
    const answers = [...out.matchAll(ANSWER)].length;
    if (code === 0 && answers === clients.length) return { name, why: undefined };
    return { name, why: `exit code ${String(code)}, ${answers} answers; ${out.slice(0, 400)} ${err.slice(-400)}` };
  } finally {
    for (const end of ends) await end();
  }
}
