/** The programs that are measured, each a process, and what the operating system says of them. Linux only (reads /proc). */

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { request as sendRequest } from 'node:http';
import { fileURLToPath } from 'node:url';

export const TOKEN = 'a-token-for-the-benchmark';

export type Program = {
  readonly name: string;
  readonly pid: number;
  readonly host: string;
  readonly port: number;
  /** What talks to it over a channel of Node's; undefined for what the operator started. */
  readonly child: ChildProcess | undefined;
  stop(): void;
};

const children = new Set<ChildProcess>();
process.on('exit', () => children.forEach((child) => child.kill('SIGKILL')));

export function startUpstream(): Promise<Program> {
  return start('upstream', ['--import', 'tsx', here('upstream.ts'), process.env['UPSTREAM_PORT'] ?? '0']);
}

export function startFloor(name: 'bare' | 'translating', upstream: Program): Promise<Program> {
  return start(name, [here('floor.mjs'), String(upstream.port), name]);
}

/** The built gateway with everything on that is on by default, for the upstream in the role of four providers. */
export function startGateway(upstream: Program, flags: readonly string[] = [], environment: Readonly<Record<string, string>> = {}): Promise<Program> {
  return start('gateway', [...flags, here('../../dist/main.js')], { ...gatewayEnvironment(upstream), ...environment });
}

/** One that tells the length of its turns. */
export function startWatchedGateway(upstream: Program): Promise<Program> {
  return start('gateway', ['--import', here('loop-watch.mjs'), here('../../dist/main.js')], gatewayEnvironment(upstream), ['ipc']);
}

function gatewayEnvironment(upstream: Program): Readonly<Record<string, string>> {
  const base = `http://127.0.0.1:${upstream.port}`;
  return {
    GATEWAY_ADDR: '127.0.0.1:0',
    GATEWAY_TRANSPORT: process.env['GATEWAY_TRANSPORT'] ?? 'wire',
    GATEWAY_AUTH_TOKEN: TOKEN,
    GATEWAY_COMPAT_BASE_URL: `${base}/v1`,
    OPENAI_API_KEY: 'sk-bench',
    OPENAI_BASE_URL: `${base}/v1`,
    ANTHROPIC_API_KEY: 'sk-ant-bench',
    ANTHROPIC_BASE_URL: base,
    GEMINI_API_KEY: 'bench',
    GEMINI_BASE_URL: base,
  };
}

export function here(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

/** A program of Node, once it has printed where it listens: a port, or an address in a line of its own. */
export function start(name: string, words: readonly string[], environment: Readonly<Record<string, string>> = {}, channel: readonly 'ipc'[] = []): Promise<Program> {
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit', ...channel], env: { PATH: process.env['PATH'], ...environment } });
  children.add(child);
  return new Promise((resolve, reject) => {
    let text = '';
    child.on('exit', (code) => {
      children.delete(child);
      reject(new Error(`${words.join(' ')} exited with ${code}`));
    });
    child.stdout?.setEncoding('utf8').on('data', (more: string) => {
      if (text === '\n') return;
      text += more;
      const port = /^(\d+)$|listening on http:\/\/[^:]+:(\d+)/m.exec(text);
      if (port === null) return;
      // What is logged from here on is read and dropped.
      text = '\n';
      resolve({ name, pid: child.pid ?? 0, host: '127.0.0.1', port: Number(port[1] ?? port[2]), child, stop: () => void child.kill('SIGKILL') });
    });
  });
}

/** Resolves when the program has answered there with 200. */
export function askHealth({ host, port }: Program): Promise<void> {
  return new Promise((resolve, reject) => {
    sendRequest({ host, port, path: '/healthz', agent: false }, (response) => {
      response.resume().on('end', () => (response.statusCode === 200 ? resolve() : reject(new Error(`/healthz: ${response.statusCode}`))));
    }).on('error', reject).end();
  });
}

/** CPU time of all threads of a process and of its children, in microseconds. */
export function cpuUs(pid: number): number {
  let us = 0;
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    us += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ', 1)[0]) / 1000;
  }
  return childrenOf(pid).reduce((sum, child) => sum + cpuUs(child), us);
}

export function childrenOf(pid: number): readonly number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' '));
  return children.filter((child) => child !== '').map(Number);
}

export function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}
