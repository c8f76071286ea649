/**
 * What held the event loop longest: for each costly body and answer, in each format of callers, the longest
 * turn of the gateway in CPU time of its main thread, the least of several tries. `make bench ONLY=turns`, BODIES=image for the
 * names that hold this. Bodies are as large as the default limit allows. The aim is 50 ms. Linux only (reads /proc).
 */

import { once } from 'node:events';
import { request as sendRequest } from 'node:http';
import { CALLER_FORMATS, COSTLY_BODIES } from '../costly-bodies.ts';
import type { Asked } from '../costly-bodies.ts';
import { renderTable } from './figures.ts';
import { startWatchedGateway, TOKEN } from './programs.ts';
import type { Program } from './programs.ts';
import { COSTLY_ANSWERS } from './costly-answers.ts';

const TRIES = Number(process.env['TRIES'] ?? 3);
const BODY_BYTES_MAX = 16 * 1024 * 1024;
/** The first requests of a process run code that was never compiled, which is not what is measured. */
const WARM_UP_BYTES = 256 * 1024;
const SETTLE_MS = 10;

type Way = { readonly name: string; readonly format: keyof typeof CALLER_FORMATS; readonly provider: string };

/** Callers and providers, in every format; two of one format are relayed. */
const WAYS: readonly Way[] = [
  { name: 'native to gemini', format: 'native', provider: 'gemini' },
  { name: 'native to chat', format: 'native', provider: 'compat' },
  { name: 'chat, relayed', format: 'chat', provider: 'openai' },
  { name: 'chat to messages', format: 'chat', provider: 'anthropic' },
  { name: 'responses, relayed', format: 'responses', provider: 'openai' },
  { name: 'responses to chat', format: 'responses', provider: 'compat' },
  { name: 'messages, relayed', format: 'messages', provider: 'anthropic' },
  { name: 'messages to chat', format: 'messages', provider: 'compat' },
];

/** The longest turn in milliseconds, a figure a way, and what was answered. */
export type Turns = { readonly name: string; readonly status: string; readonly longestMs: readonly number[] };

export type FoundTurns = { readonly bodies: readonly Turns[]; readonly answers: readonly Turns[] };

export async function measureTurns(upstream: Program): Promise<FoundTurns> {
  const chosen = new RegExp(process.env['BODIES'] ?? '');
  const gateway = await startWatchedGateway(upstream);
  for (const bodyOf of Object.values(COSTLY_BODIES)) {
    for (const { format, provider } of WAYS) await post(gateway, CALLER_FORMATS[format].path, bodyOf(CALLER_FORMATS[format], { provider, model: 'whole' }, WARM_UP_BYTES));
  }
  const bodies: Turns[] = [];
  for (const [name, bodyOf] of Object.entries(COSTLY_BODIES).filter(([name]) => chosen.test(name))) {
    bodies.push(await measure(gateway, name, 'whole', (format, asked) => bodyOf(format, asked, BODY_BYTES_MAX)));
  }
  const answers: Turns[] = [];
  for (const name of Object.keys(COSTLY_ANSWERS).filter((name) => chosen.test(name))) {
    answers.push(await measure(gateway, name, name, (format, asked) => Buffer.from(format.body(asked, [format.turn('user', '"x"')]))));
  }
  gateway.stop();
  return { bodies, answers };
}

async function measure(gateway: Program, name: string, model: string, bodyOf: (format: (typeof CALLER_FORMATS)[Way['format']], asked: Asked) => Buffer): Promise<Turns> {
  const statuses = new Set<number>();
  const longestMs: number[] = [];
  for (const { format, provider } of WAYS) {
    const body = bodyOf(CALLER_FORMATS[format], { provider, model });
    let least = Infinity;
    for (let tries = 0; tries < TRIES; tries += 1) {
      await longestTurnMs(gateway);
      statuses.add(await post(gateway, CALLER_FORMATS[format].path, body));
      least = Math.min(least, await longestTurnMs(gateway));
    }
    longestMs.push(least);
  }
  return { name, status: [...statuses].join(), longestMs };
}

/** Since the last call. */
async function longestTurnMs({ child }: Program): Promise<number> {
  if (child === undefined) throw new Error('nobody watches it');
  // So that the turn in which the answer went out is over.
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  child.send('how long?');
  const [longestMs] = (await once(child, 'message')) as [number];
  return longestMs;
}

function post({ host, port }: Program, path: string, body: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = sendRequest({ host, port, path, method: 'POST', headers: { authorization: `Bearer ${TOKEN}`, 'content-length': body.length } });
    request.on('response', (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    });
    request.on('error', reject);
    request.end(body);
  });
}

export function renderTurns({ bodies, answers }: FoundTurns): string {
  const head = ['HTTP', ...WAYS.map(({ name }) => name)];
  const rows = (found: readonly Turns[]): readonly (readonly string[])[] => found.map(({ name, status, longestMs }) => [name, status, ...longestMs.map((ms) => ms.toFixed(0))]);
  return `What held the event loop longest: ms of CPU of its longest turn, the least of ${TRIES}.\n\n${renderTable([['a body of 16 MiB', ...head], ...rows(bodies)])}\n${renderTable([['an answer', ...head], ...rows(answers)])}\n`;
}
