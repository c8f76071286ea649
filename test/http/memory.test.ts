/** Too little memory for new work. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Admission } from '../../src/http/admission.ts';
import { containerBytes, heapShare, MemoryHealth, watchMemory } from '../../src/http/memory.ts';
import { startSandbox } from '../../src/sandbox/index.ts';
import { buildProgram } from '../e2e/built-program.ts';
import { RunningProcess } from '../e2e/running-process.ts';
import { sandboxEnvironment, TOKEN, user } from '../running-gateway.ts';

const PROGRAM = join(buildProgram(), 'dist/main.js');
const MB = 1024 * 1024;

/** How many of a hundred chats would be let in. */
function letIn(health: MemoryHealth): number {
  let count = 0;
  for (let chat = 0; chat < 100; chat += 1) if (!health.refuses()) count += 1;
  return count;
}

type Reading = { readonly heap: number } | { readonly resident: number };

const histories: readonly (readonly [what: string, readings: readonly Reading[], isRefused: boolean])[] = [
  ['nothing is known', [], false],
  ['a collection leaves 85 %', [{ heap: 0.85 }], false],
  ['a collection leaves more than 85 %', [{ heap: 0.86 }], true],
  ['a collection leaves 80 % after that', [{ heap: 0.9 }, { heap: 0.8 }], true],
  ['a collection leaves less than 80 % after that', [{ heap: 0.9 }, { heap: 0.79 }], false],
  ['more than 85 % is resident', [{ resident: 0.86 }], true],
  ['80 % is resident after that', [{ resident: 0.86 }, { resident: 0.8 }], true],
  ['less than 80 % is resident after that', [{ resident: 0.86 }, { resident: 0.79 }], false],
  ['the heap is full though little is resident', [{ heap: 0.9 }, { resident: 0.1 }], true],
  ['the heap has room though too much is resident', [{ resident: 0.9 }, { heap: 0.1 }], true],
  ['both have recovered', [{ heap: 0.9 }, { resident: 0.9 }, { heap: 0.5 }, { resident: 0.5 }], false],
  ['nothing was collected for nine looks', [{ heap: 0.9 }, ...Array.from({ length: 9 }, () => ({ resident: 0 }))], true],
];

for (const [what, readings, isRefused] of histories) {
  test(`MemoryHealth ${isRefused ? 'refuses' : 'lets in'} new work when ${what}`, () => {
    const health = new MemoryHealth();
    for (const reading of readings) {
      if ('heap' in reading) health.collected(reading.heap);
      else health.looked(reading.resident);
    }
    assert.equal(letIn(health), isRefused ? 0 : 100);
  });
}

test('MemoryHealth lets in ever more where nothing tells whether memory is free, and nobody after the next bad sign', () => {
  const health = new MemoryHealth();
  const look = (resident = 0.5): number => {
    health.looked(resident);
    return letIn(health);
  };
  health.collected(0.9);
  for (let looks = 1; looks < 10; looks += 1) assert.equal(look(), 0);
  assert.deepEqual([look(), look(), look(), look()], [1, 2, 4, 8]);
  health.collected(0.86);
  assert.deepEqual([letIn(health), look()], [0, 0]);
});

test('MemoryHealth takes resident memory that grows for a bad sign, and not what stays as it is', () => {
  const health = new MemoryHealth();
  const looks = (resident: number): number[] => Array.from({ length: 11 }, () => (health.looked(resident), letIn(health)));
  assert.deepEqual(looks(0.9), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
  assert.deepEqual(looks(0.91), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
});

test('MemoryHealth goes on for as long as a process may live', () => {
  const health = new MemoryHealth();
  health.collected(0.9);
  for (let looks = 0; looks < 5000; looks += 1) health.looked(0);
  assert.equal(letIn(health), 100);
});

test('heapShare leaves aside what V8 keeps for young objects', () => {
  const young = Number.parseInt(process.versions.v8, 10) >= 13 ? 112 : 64;
  assert.equal(heapShare({ used_heap_size: 400 * MB, heap_size_limit: (500 + young) * MB }), 0.8);
  assert.equal(heapShare({ used_heap_size: 8 * MB, heap_size_limit: 64 * MB }), 0.5);
});

test('containerBytes is the limit of the container, where it has one', () => {
  assert.equal(containerBytes(512 * MB, 4096 * MB), 512 * MB);
  for (const none of [undefined, 0, 4096 * MB, 2 ** 63, 18446744073709552000]) assert.equal(containerBytes(none, 4096 * MB), undefined);
});

test('Admission asks for memory last, and takes no place where there is none', () => {
  let asked = 0;
  const admission = new Admission(1, () => false, () => ++asked > 1);
  assert.deepEqual([admission.enter(), admission.enter()], [undefined, 'concurrency']);
  assert.equal(asked, 1);
  admission.leave();
  assert.equal(admission.enter(), 'memory');
  assert.equal(admission.count, 0);
});

test('watchMemory reports what collections leave, until it is stopped', async () => {
  const health = new MemoryHealth();
  const seen = new Promise<number>((resolve) => (health.collected = resolve));
  const stop = watchMemory(health);
  let share: number | undefined;
  void seen.then((heap) => (share = heap));
  // Until V8 has had enough.
  const held: unknown[] = [];
  while (share === undefined) {
    for (let i = 0; i < 1000; i += 1) held.push({ i, text: `x${i}` });
    if (held.length > 1_000_000) held.length = 0;
    await new Promise((resolve) => setImmediate(resolve));
  }
  stop();
  assert.ok(share > 0 && share < 1);
});

test('a gateway whose heap fills refuses new chats before it dies, and serves again once the others are gone', async (t) => {
  const sandbox = await startSandbox({});
  t.after(() => sandbox.close());
  const gateway = new RunningProcess(t, [process.execPath, '--max-old-space-size=96', PROGRAM], { ...sandboxEnvironment(sandbox), GATEWAY_LOG_LEVEL: 'info' });
  const url = await gateway.address();
  const held: AbortController[] = [];
  const ask = (body: string, signal?: AbortSignal): Promise<Response> =>
    fetch(`${url}/v1/chat`, { method: 'POST', headers: { authorization: `Bearer ${TOKEN}` }, body, ...(signal === undefined ? {} : { signal }) });
  const stalled = JSON.stringify({ provider: 'openai', model: 'fake-stall', messages: Array.from({ length: 10_000 }, () => user('a turn of a long conversation')) });
  const small = JSON.stringify({ provider: 'openai', model: 'fake-chat', messages: [user('x')] });

  // Each stays with the provider, and its conversation in the heap, until one is refused.
  let refused: Response | undefined;
  while (refused === undefined && held.length < 500) {
    const calls = sandbox.calls.length;
    const controller = new AbortController();
    const answer = ask(stalled, controller.signal).then((response) => (refused = response), () => undefined);
    held.push(controller);
    while (sandbox.calls.length === calls && refused === undefined) {
      await Promise.race([answer, new Promise((resolve) => setImmediate(resolve))]);
      assert.equal(gateway.child.exitCode ?? gateway.child.signalCode, null, gateway.err);
    }
  }
  assert.equal(refused?.status, 429);
  assert.equal(refused.headers.get('retry-after'), '1');
  assert.match(await refused.text(), /too little memory/);
  assert.ok(held.length > 3);
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
  assert.match(await (await fetch(`${url}/metrics`)).text(), /gateway_requests_refused_total\{reason="memory"\} \d/);

  for (const controller of held) controller.abort();
  let status = 429;
  while (status === 429) {
    const response = await ask(small);
    await response.arrayBuffer();
    status = response.status;
  }
  assert.equal(status, 200);
});
