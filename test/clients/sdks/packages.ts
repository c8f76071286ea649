/** Which packages the clients are, and where they are kept between runs. */

import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Node itself is among them: most of the others ask for a newer one than the gateway. */
const NPM: Readonly<Record<string, string>> = {
  node: '24.21.0',
  openai: '7.57.0',
  '@anthropic-ai/sdk': '1.12.0',
  ai: '7.0.173',
  '@ai-sdk/openai': '4.0.118',
  '@ai-sdk/openai-compatible': '3.0.92',
  '@ai-sdk/anthropic': '4.0.105',
  zod: '4.6.7',
  '@anthropic-ai/claude-code': '2.1.330',
  '@openai/codex': '0.169.0',
};

/** An environment for each row: they ask for different versions of each other. */
const PIP: Readonly<Record<PythonEnvironment, readonly string[]>> = {
  python: ['openai==3.54.0', 'anthropic==2.12.0'],
  langchain: ['langchain-openai==1.7.3', 'langchain-anthropic==1.7.7'],
  pydantic: ['pydantic-ai-slim[openai,anthropic]==2.68.0'],
  // It wants the second for its tools, and does not say so.
  litellm: ['litellm==1.106.2', 'mcp==2.3.0'],
  llm: ['llm==0.36'],
};

export type PythonEnvironment = 'python' | 'langchain' | 'pydantic' | 'litellm' | 'llm';
export type Runtime = 'node' | PythonEnvironment;

/** Where everything is installed: outside the tree. */
export const FOLDER = process.env['CLIENTS_DIR'] ?? join(tmpdir(), 'gateway-clients');

/** Installs what is not there yet, in these versions, and puts the programs beside the packages, where Node finds those. */
export function install(): void {
  mkdirSync(FOLDER, { recursive: true });
  once('npm', JSON.stringify({ private: true, dependencies: NPM }), (manifest) => {
    writeFileSync(join(FOLDER, 'package.json'), manifest);
    // Some of them fetch their program when they are installed.
    must('npm', ['install', '--no-audit', '--no-fund', '--no-package-lock', '--ignore-scripts=false']);
  });
  for (const [name, requirements] of Object.entries(PIP)) {
    once(name, requirements.join('\n'), () => {
      must('python3', ['-m', 'venv', name]);
      must(join(FOLDER, name, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', ...requirements]);
    });
  }
  cpSync(fileURLToPath(new URL('node', import.meta.url)), join(FOLDER, 'programs/node'), { recursive: true });
  cpSync(fileURLToPath(new URL('python', import.meta.url)), join(FOLDER, 'programs/python'), { recursive: true });
}

/** The command that runs a program. */
export function commandOf(runtime: Runtime, program: string): readonly [command: string, file: string] {
  if (runtime === 'node') return [join(FOLDER, 'node_modules/.bin/node'), join(FOLDER, 'programs/node', program)];
  return [join(FOLDER, runtime, 'bin/python'), join(FOLDER, 'programs/python', program)];
}

/** Does it unless it was done before with the same text. */
function once(name: string, text: string, act: (text: string) => void): void {
  const file = join(FOLDER, `${name}.installed`);
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return;
  act(text);
  writeFileSync(file, text);
}

function must(command: string, words: readonly string[]): void {
  const { status, error } = spawnSync(command, words, { cwd: FOLDER, stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) throw new Error(`${command} ${words.join(' ')}: ${error?.message ?? `exit code ${status}`}`);
}
