/** Whether cost grows with size and no faster: CPU time of large chats beside those of a tenth of the size. */

import { renderTable, spread } from './figures.ts';
import { BareCaller, requestBytes, warmUp } from './load.ts';
import { cpuUs, startGateway } from './programs.ts';
import type { Program } from './programs.ts';
import { ROWS } from './rows.ts';
import type { Row } from './rows.ts';

const TRIES = 5;
const WARM_UP_CHATS = 4000;
const IMAGE_BYTES = 8_000_000;

type Chat = { readonly path: string; readonly body: string };
/** A chat of some size, and how often it is repeated for a figure: small ones are too short to measure alone. */
type Growing = { readonly name: string; readonly full: number; readonly repeated: number; readonly chatOf: (size: number) => Chat };

const GROWING: readonly Growing[] = [
  { name: 'turns', full: 200, repeated: 100, chatOf: (size) => whole(Array.from({ length: size }, (_, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', text: `Turn ${i}. ${'Some words. '.repeat(20)}` }))) },
  { name: 'bytes of an inline image', full: IMAGE_BYTES, repeated: 3, chatOf: (size) => whole([{ role: 'user', content: [{ type: 'image', media_type: 'image/png', data: 'imag'.repeat(size / 4) }] }]) },
  { name: 'tokens of one stream', full: 100_000, repeated: 1, chatOf: (size) => streamed(`tokens-${size}`) },
  { name: 'fragments of one argument', full: 512, repeated: 50, chatOf: (size) => streamed(`fragments-${size}`) },
];

/** CPU time of one chat in microseconds, a figure a try. */
export type Growth = { readonly name: string; readonly size: number; readonly tenthUs: readonly number[]; readonly fullUs: readonly number[] };

export async function measureGrowth(upstream: Program): Promise<readonly Growth[]> {
  const gateway = await startGateway(upstream);
  const [row] = ROWS as readonly [Row];
  await warmUp(gateway, requestBytes(row.toGateway('whole', false)), WARM_UP_CHATS);
  const found: Growth[] = [];
  for (const { name, full, repeated, chatOf } of GROWING) {
    const tenth = Math.round(full / 10);
    const [small, large] = [requestBytes(chatOf(tenth)), requestBytes(chatOf(full))];
    await costUs(gateway, small, 10 * repeated);
    const growth = { name, size: full, tenthUs: [] as number[], fullUs: [] as number[] };
    for (let tries = 0; tries < TRIES; tries += 1) {
      growth.tenthUs.push(await costUs(gateway, small, 10 * repeated));
      growth.fullUs.push(await costUs(gateway, large, repeated));
    }
    found.push(growth);
  }
  gateway.stop();
  return found;
}

async function costUs(program: Program, request: Buffer, chats: number): Promise<number> {
  const caller = new BareCaller(program);
  const before = cpuUs(program.pid);
  for (let left = chats; left > 0; left -= 1) await caller.ask(request);
  caller.close();
  return (cpuUs(program.pid) - before) / chats;
}

function whole(messages: readonly object[]): Chat {
  const turns = messages.length > 1 ? [...messages, { role: 'user', text: 'x' }] : messages;
  return { path: '/v1/chat', body: JSON.stringify({ provider: 'compat', model: 'whole', messages: turns }) };
}

function streamed(model: string): Chat {
  return { path: '/v1/chat/stream', body: JSON.stringify({ provider: 'compat', model, messages: [{ role: 'user', text: 'Hello' }] }) };
}

export function renderGrowth(found: readonly Growth[]): string {
  const rows = found.map(({ name, size, tenthUs, fullUs }) => {
    const [small, large] = [spread(tenthUs).median, spread(fullUs).median];
    return [`${size} ${name}`, (large / 1000).toFixed(2), (small / 1000).toFixed(2), (large / small).toFixed(1)];
  });
  return `${renderTable([['ms of CPU of one chat', 'all', 'a tenth', 'ratio (10 is linear)'], ...rows])}\n`;
}
