/**
 * What the gateway costs beside the least that a proxy on the same platform can: `make bench`. Ratios within one run mean
 * something, absolute figures only on your machine. Linux only (reads /proc).
 *
 * ONLY=costs,latency,memory,start,growth,turns,workers takes some of the parts, ROWS=native some of the dialects, ROUNDS=5. JSON=file
 * keeps every figure of every round. GATEWAY_TRANSPORT=http measures that transport. PEER=http://host:port/path of a peer in
 * OpenAI's format with PEER_PID, PEER_TOKEN and PEER_MODEL: let it reach the upstream whose address is printed, at
 * UPSTREAM_PORT if you choose one.
 */

import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { isSteady, measureCosts, renderCosts } from './costs.ts';
import { measureGrowth, renderGrowth } from './growth.ts';
import { measureLatency, renderLatency } from './latency.ts';
import { measureMemory, renderMemory } from './memory.ts';
import { startUpstream } from './programs.ts';
import { measureStart, renderStart } from './start.ts';
import { measureTurns, renderTurns } from './turns.ts';
import { measureWorkers, renderWorkers } from './workers.ts';

const parts = (process.env['ONLY'] ?? 'costs,latency,memory,start,growth,turns,workers').split(',');
const upstream = await startUpstream();
const results: Record<string, unknown> = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length };
say(`node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'an unknown processor'}; upstream at http://127.0.0.1:${upstream.port}/v1\n\n`);

if (parts.includes('costs')) {
  const itself = await isSteady(upstream);
  results['itself'] = itself;
  say(`A floor beside itself: ${itself.text}${itself.isSteady ? '' : '. The machine is too busy: trust no ratio below'}.\n\n`);
  if (!itself.isSteady) process.exitCode = 1;
  const costs = await measureCosts(upstream);
  results['costs'] = costs;
  say(renderCosts(costs));
}
if (parts.includes('latency')) {
  const latency = await measureLatency(upstream);
  results['latency'] = latency;
  say(renderLatency(latency));
}
if (parts.includes('memory')) {
  const memory = await measureMemory(upstream);
  results['memory'] = memory;
  say(renderMemory(memory));
}
if (parts.includes('start')) {
  const starts = await measureStart(upstream);
  results['start'] = starts;
  say(renderStart(starts));
}
if (parts.includes('growth')) {
  const growth = await measureGrowth(upstream);
  results['growth'] = growth;
  say(renderGrowth(growth));
}
if (parts.includes('turns')) {
  const turns = await measureTurns(upstream);
  results['turns'] = turns;
  say(renderTurns(turns));
}
if (parts.includes('workers')) {
  const workers = await measureWorkers(upstream);
  results['workers'] = workers;
  say(renderWorkers(workers));
}
if (process.env['JSON'] !== undefined) writeFileSync(process.env['JSON'], `${JSON.stringify(results, undefined, 2)}\n`);
process.exit();

function say(text: string): void {
  process.stdout.write(text);
}
