/** The demonstration as a newcomer sees it, in a terminal of 80 columns. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { buildProgram } from './built-program.ts';
import { RunningProcess } from './running-process.ts';

const DEMO = [process.execPath, join(buildProgram(), 'dist/demo.js')];

test("the demonstration fits 80 columns, shows a schema kept by four providers, answers two vendors' SDKs by the other vendor, shows a cut stream from both sides and a route whose first target goes out and comes back", async (t) => {
  const { code, out, err } = await new RunningProcess(t, DEMO, { ONCE: '1', GATEWAY_ADDR: '127.0.0.1:0' }).exited;
  assert.equal(code, 0, err);
  assert.deepEqual(out.split('\n').filter((line) => [...line].length > 80), []);
  assert.deepEqual(out.match(/^  (anthropic|openai|gemini|compat) +\{"sky":"clear","degrees":1\}$/gm)?.length, 4);
  assert.match(out, /"object":"chat\.completion"[^]*Served by anthropic\/fake-chat\n[^]*"type":"message"[^]*Served by openai\/fake-chat\n/);
  assert.match(out, /read to the end[^]*"Hello from "\n[^]*No error\.[^]*"type":"error", "kind":"server"/);
  assert.equal(out.match(/^← \d: target openai\/fake-second, attempts 2, fallback anthropic=server$/gm)?.length, 8);
  assert.match(out, /^← 9: target openai\/fake-second, fallback anthropic=out\n[^]*\n← then: target anthropic\/fake-first$/m);
});

test('the demonstration serves on with the token of the environment, and says goodbye at Ctrl-C', async (t) => {
  const token = 'a-token-for-the-demonstration';
  const running = new RunningProcess(t, DEMO, { GATEWAY_ADDR: '127.0.0.1:0', GATEWAY_AUTH_TOKEN: token });
  const [, address = ''] = await running.printed(/export GATEWAY=(\S+)\n/);
  await running.printed(/lists them\.\n/);
  assert.deepEqual(running.out.split('\n').filter((line) => [...line].length > 80), []);
  assert.equal((await fetch(`${address}/v1/models`, { headers: { authorization: `Bearer ${token}` } })).status, 200);
  running.child.kill('SIGINT');
  const { code, out } = await running.exited;
  assert.equal(code, 0);
  assert.match(out, /Goodbye\.\n$/);
});

test('the demonstration says in a line what is wrong with its environment', async (t) => {
  const { code, err } = await new RunningProcess(t, DEMO, { GATEWAY_ADDR: 'nowhere' }).exited;
  assert.equal(code, 1);
  assert.match(err, /^GATEWAY_ADDR: .*\n$/);
});
