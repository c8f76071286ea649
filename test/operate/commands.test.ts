/** The commands as the process runs them: their words, what they print, their exit codes. */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { loadConfig } from '../../src/config/config.ts';
import { runCommand } from '../../src/operate/commands.ts';
import { probe } from '../../src/operate/probe.ts';
import { compatRow, PROVIDER_ROWS } from '../../src/providers/index.ts';
import { startSandbox } from '../../src/sandbox/index.ts';
import { PROVIDER_KEY, sandboxEnvironment } from '../running-gateway.ts';
import { createCertificate } from '../upstream/certificate.ts';
import { closedBaseUrl, startRawServer } from '../upstream/raw-server.ts';

type Ended = { readonly outcome: number | string; readonly out: string; readonly err: string };

async function run(words: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Ended> {
  let [out, err] = ['', ''];
  const outcome = await runCommand(words, {
    load: () => loadConfig(environment, PROVIDER_ROWS, compatRow, () => ''),
    readFile: () => '',
    print: (text) => (out += text),
    complain: (line) => (err += `${line}\n`),
  });
  return { outcome, out, err };
}

async function environmentOf(t: TestContext): Promise<Record<string, string>> {
  const sandbox = await startSandbox({ key: PROVIDER_KEY });
  t.after(() => sandbox.close());
  return sandboxEnvironment(sandbox);
}

describe('--doctor', () => {
  test('prints a table, and ends with 0 where nothing is wrong', async (t) => {
    const { outcome, out, err } = await run(['--doctor'], await environmentOf(t));
    assert.deepEqual([outcome, err], [0, '']);
    assert.match(out, /^openai\n {2}name {5}ok/m);
    assert.match(out, /\nNothing is wrong\.\n$/);
    assert.doesNotMatch(out, /^ {2}chat/m);
  });

  test('--json prints one line of JSON, and ends with 1 where something is wrong', async (t) => {
    const { outcome, out } = await run(['--doctor', '--json'], { ...(await environmentOf(t)), OPENAI_API_KEY: 'a-wrong-key' });
    assert.equal(outcome, 1);
    const report = JSON.parse(out) as { ok: boolean; providers: { provider: string; ok: boolean }[] };
    assert.deepEqual([report.ok, report.providers.map(({ provider, ok }) => `${provider} ${ok}`)], [false, ['anthropic true', 'compat true', 'gemini true', 'openai false']]);
    assert.equal(out.indexOf('\n'), out.length - 1);
  });

  test('--chat=… asks the default provider for a bare model, a named one for its own, and others for one of their list', async (t) => {
    const environment = { ...(await environmentOf(t)), GATEWAY_DEFAULT_PROVIDER: 'gemini' };
    const { outcome, out } = await run(['--doctor', '--json', '--chat=openai/fake-long-1,org/other-model'], environment);
    assert.equal(outcome, 0);
    const { providers } = JSON.parse(out) as { providers: { provider: string; checks: { check: string; detail: string }[] }[] };
    assert.deepEqual(providers.map(({ provider, checks }) => [provider, checks.find(({ check }) => check === 'chat')?.detail]), [
      ['anthropic', 'fake-chat answered'], ['compat', 'fake-chat answered'], ['gemini', 'org/other-model answered'], ['openai', 'fake-long-1 answered'],
    ]);
  });

  test('--chat=… with two models of one provider asks nobody: one of them would be called good unseen', async (t) => {
    const { outcome, out, err } = await run(['--doctor', '--chat=openai/fake-status-403,openai/fake-chat'], await environmentOf(t));
    assert.deepEqual([outcome, out, err], [1, '', 'gateway: --chat names two models of openai, and asks one of each provider\n']);
  });

  test('says what is wrong with the configuration as a start does, and asks nobody', async () => {
    const { outcome, out, err } = await run(['--doctor', '--json'], { GATEWAY_ADRR: ':1', GATEWAY_MAX_RETRIES: 'many', OPENAI_API_KEY: PROVIDER_KEY });
    assert.deepEqual([outcome, out], [1, '']);
    assert.match(err, /^warning: GATEWAY_ADRR: there is no such setting/m);
    assert.match(err, /^GATEWAY_MAX_RETRIES: expected a whole number/m);
    assert.match(err, /^GATEWAY_AUTH_TOKEN: required/m);
    assert.ok(!err.includes(PROVIDER_KEY));
  });
});

test('a word that a command does not know is given back', async () => {
  assert.equal((await run(['--doctor', '--jason'])).outcome, '--jason');
  assert.equal((await run(['--doctor', '--chats'])).outcome, '--chats');
  assert.equal((await run(['--dashboard', '--json'])).outcome, '--json');
  assert.equal((await run(['--alerts', 'x'])).outcome, 'x');
});

describe('--probe', () => {
  async function listening(t: TestContext, status: number, certificate?: { key: string; cert: string }): Promise<string> {
    const answer = (_: IncomingMessage, response: ServerResponse): void => void response.writeHead(status, { location: '/elsewhere' }).end('{}');
    const server = certificate === undefined ? createServer(answer) : createTlsServer(certificate, answer);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    return `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  test('ends with 0 and in silence when the URL answers 200', async (t) => {
    assert.deepEqual(await run(['--probe', `${await listening(t, 200)}/healthz`]), { outcome: 0, out: '', err: '' });
  });

  for (const status of [204, 307, 401, 503]) {
    test(`ends with 1 and a sentence when it answers ${status}`, async (t) => {
      const origin = await listening(t, status);
      const { outcome, err } = await run(['--probe', `${origin.replace('//', '//user:canary@')}/readyz?token=canary`]);
      assert.deepEqual([outcome, err], [1, `gateway: ${origin}/readyz answered ${status}, expected 200\n`]);
    });
  }

  test('ends with 1 when nobody answers, now or in time', async (t) => {
    const { origin } = await closedBaseUrl();
    assert.deepEqual(await run(['--probe', origin]), { outcome: 1, out: '', err: `gateway: ${origin}/ could not be asked (ECONNREFUSED)\n` });
    const silent = await startRawServer(t, {});
    assert.match((await probe(silent.baseUrl.href, 20)) ?? '', /did not answer within 20 ms$/);
  });

  test('takes any certificate of this machine itself, and of others none that is not good', async (t) => {
    const url = await listening(t, 200, createCertificate('gateway.example'));
    assert.equal(await probe(url), undefined);
    assert.match((await probe(url.replace('127.0.0.1', '[::ffff:127.0.0.1]'))) ?? '', /DEPTH_ZERO_SELF_SIGNED_CERT/);
  });

  test('ends with 1, as health checks know it, when it is not used right', async () => {
    for (const words of [[], ['localhost:8080'], ['ftp://localhost'], ['http://localhost', 'x']]) {
      const { outcome, err } = await run(['--probe', ...words]);
      assert.equal(outcome, 1);
      assert.match(err, /^gateway: --probe /);
    }
  });
});
