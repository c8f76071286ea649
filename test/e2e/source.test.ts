/**
 * The source run as it is read: a Node that strips types needs no build and no package. Where Node cannot, there is
 * nothing to try; that nothing but types has to be stripped is the type check's to say (erasableSyntaxOnly).
 */

import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startSandbox } from '../../src/sandbox/index.ts';
import { sandboxEnvironment, TOKEN, user } from '../running-gateway.ts';
import { makeFolder } from './built-program.ts';
import { ROOT, RunningProcess } from './running-process.ts';

if (process.features.typescript === 'strip') {
  const mayUseNet = process.allowedNodeEnvironmentFlags.has('--allow-net') ? ['--allow-net'] : [];

  test('src serves as it is, allowed to read nothing but itself', async (t) => {
    const folder = makeFolder(t);
    cpSync(join(ROOT, 'src'), join(folder, 'src'), { recursive: true });
    const sandbox = await startSandbox({});
    t.after(() => sandbox.close());
    const flags = ['--permission', ...mayUseNet, `--allow-fs-read=${join(folder, 'src/')}`];
    const running = new RunningProcess(t, [process.execPath, ...flags, 'src/main.ts'], sandboxEnvironment(sandbox), folder);
    const response = await fetch(`${await running.address()}/v1/chat`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}` },
      body: JSON.stringify({ model: 'fake-chat', messages: [user('from source')] }),
    });
    assert.equal(response.status, 200);
    assert.match(await response.text(), /from source/);
    running.child.kill('SIGTERM');
    assert.equal((await running.exited).code, 0);
  });

  test('the demonstration runs from src', async (t) => {
    const environment = { ONCE: '1', GATEWAY_ADDR: '127.0.0.1:0' };
    const { code, err } = await new RunningProcess(t, [process.execPath, 'src/demo.ts'], environment).exited;
    assert.equal(code, 0, err);
  });
}
