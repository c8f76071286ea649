/** SIGHUP: secrets, certificates and routing from files change under load, or stay as they are. */

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { startSandbox } from '../../src/sandbox/index.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { framesOf, sandboxEnvironment, user } from '../running-gateway.ts';
import { until } from '../streams/wires.ts';
import { createCertificate } from '../upstream/certificate.ts';
import { buildProgram, makeFolder } from './built-program.ts';
import { RunningProcess } from './running-process.ts';

const GATEWAY: readonly string[] = [process.execPath, join(buildProgram(), 'dist/main.js')];

const OLD = { token: 'token-of-callers-canary-1', key: 'sk-provider-canary-1', metrics: 'token-of-metrics-canary-1' };
const NEW = { token: 'token-of-callers-canary-2', key: 'sk-provider-canary-2', metrics: 'token-of-metrics-canary-2' };
type Secrets = typeof OLD;

/** A volume as Kubernetes mounts secrets: files link into `..data`, which links to a folder that is replaced as a whole. */
class SecretVolume {
  readonly folder: string;
  #version = 0;

  constructor(t: TestContext, secrets: Secrets) {
    this.folder = makeFolder(t);
    this.replace(secrets);
    for (const name of Object.keys(secrets)) symlinkSync(join('..data', name), join(this.folder, name));
  }

  replace(secrets: Secrets): void {
    this.#version += 1;
    const version = `..version-${this.#version}`;
    mkdirSync(join(this.folder, version));
    for (const [name, value] of Object.entries(secrets)) writeFileSync(join(this.folder, version, name), `${value}\n`);
    symlinkSync(version, join(this.folder, '..data_tmp'));
    renameSync(join(this.folder, '..data_tmp'), join(this.folder, '..data'));
  }
}

type Started = { readonly sandbox: Sandbox; readonly volume: SecretVolume; readonly running: RunningProcess; readonly address: string };

/** A gateway whose every secret is in the volume. */
async function start(t: TestContext, more: Readonly<Record<string, string>> = {}): Promise<Started> {
  const sandbox = await startSandbox({});
  t.after(() => sandbox.close());
  const volume = new SecretVolume(t, OLD);
  const { GATEWAY_AUTH_TOKEN: _, OPENAI_API_KEY: __, ...environment } = sandboxEnvironment(sandbox);
  const running = new RunningProcess(t, GATEWAY, {
    ...environment,
    GATEWAY_AUTH_TOKEN_FILE: join(volume.folder, 'token'),
    OPENAI_API_KEY_FILE: join(volume.folder, 'key'),
    GATEWAY_METRICS_TOKEN_FILE: join(volume.folder, 'metrics'),
    ...more,
  });
  return { sandbox, volume, running, address: await running.address() };
}

function ask(address: string, path: string, token: string, model: string): Promise<Response> {
  return fetch(address + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ provider: 'openai', model, messages: [user('Hello')] }),
  });
}

function askMetrics(address: string, token: string): Promise<number> {
  return fetch(`${address}/metrics`, { headers: { authorization: `Bearer ${token}` } }).then((response) => response.status);
}

test('SIGHUP swaps tokens and keys of a volume that was replaced; what is in flight keeps the old ones', async (t) => {
  const { sandbox, volume, running, address } = await start(t);
  const whole = ask(address, '/v1/chat', OLD.token, 'fake-late-500');
  const stream = ask(address, '/v1/chat/stream', OLD.token, 'fake-late-500');
  await until(() => sandbox.calls.length === 2);
  volume.replace(NEW);
  running.child.kill('SIGHUP');
  await running.printed(/"changed":"token of default, metrics token, key of openai"/);
  assert.equal((await ask(address, '/v1/chat', OLD.token, 'fake-chat')).status, 401);
  assert.equal((await ask(address, '/v1/chat', NEW.token, 'fake-chat')).status, 200);
  assert.deepEqual([await askMetrics(address, OLD.metrics), await askMetrics(address, NEW.metrics)], [401, 200]);
  assert.equal((await whole).status, 200);
  assert.equal(framesOf(await (await stream).text()).at(-1)?.type, 'done');
  assert.deepEqual(sandbox.calls.map(({ headers }) => headers.authorization), [`Bearer ${OLD.key}`, `Bearer ${OLD.key}`, `Bearer ${NEW.key}`]);
  assert.ok(!(running.out + running.err).includes('canary'));
});

test('a bad file under SIGHUP changes nothing, and is said in one line without its content', async (t) => {
  const { volume, running, address } = await start(t);
  volume.replace({ ...NEW, key: 'two canary words' });
  running.child.kill('SIGHUP');
  const [line] = await running.printed(/.*nothing was changed, since what was read is not valid.*/);
  const { level, problems } = JSON.parse(line) as Record<string, string>;
  assert.equal(level, 'error');
  assert.equal(problems, 'OPENAI_API_KEY_FILE: expected 1 to 4000 printable ASCII characters without a space');
  assert.equal((await ask(address, '/v1/chat', OLD.token, 'fake-chat')).status, 200);
  assert.equal((await ask(address, '/v1/chat', NEW.token, 'fake-chat')).status, 401);
  assert.ok(!running.out.includes('canary'));
});

test('SIGHUP swaps the routing file, or says everything that is wrong with it in one line; no stream is cut', async (t) => {
  const file = join(makeFolder(t), 'routing.json');
  const write = (routing: object): void => writeFileSync(file, JSON.stringify(routing));
  write({});
  const { sandbox, running, address } = await start(t, { GATEWAY_ROUTING_FILE: file, SECOND_KEY: 'sk-provider-canary-3' });
  const streams = Array.from({ length: 20 }, () => ask(address, '/v1/chat/stream', OLD.token, 'fake-late-500'));
  await until(() => sandbox.calls.length === streams.length);
  write({ routes: { smart: { targets: [{ provider: 'opnai', model: 'm' }] } }, callers: { bach: {} } });
  running.child.kill('SIGHUP');
  const [line] = await running.printed(/.*nothing was changed, since what was read is not valid.*/);
  const { level, problems } = JSON.parse(line) as Record<string, string>;
  assert.equal(level, 'error');
  assert.match(problems ?? '', /^GATEWAY_ROUTING_FILE: routes\.smart\.targets\[0\]\.provider: .* did you mean openai\?; GATEWAY_ROUTING_FILE: callers\.bach: no caller has this label/);
  write({
    providers: { second: { like: 'openai', keys: ['SECOND_KEY'] } },
    routes: { smart: { targets: [{ provider: 'second', model: 'm' }] } },
    callers: { default: { concurrent: 100 } },
  });
  running.child.kill('SIGHUP');
  await running.printed(/"changed":"key of second, provider second, route smart, limits of default"/);
  for (const stream of streams) assert.equal(framesOf(await (await stream).text()).at(-1)?.type, 'done');
  assert.ok(!(running.out + running.err).includes('canary'));
});

test('SIGHUP with nothing new says so, and a changed proxy takes a restart', async (t) => {
  const file = join(makeFolder(t), 'proxy');
  writeFileSync(file, 'http://someone:canary-1@proxy.test:3128');
  const { running } = await start(t, { HTTPS_PROXY_FILE: file });
  running.child.kill('SIGHUP');
  await running.printed(/"changed":"nothing"/);
  assert.doesNotMatch(running.out, /restart/);
  writeFileSync(file, 'http://someone:canary-2@proxy.test:3128');
  running.child.kill('SIGHUP');
  const [line] = await running.printed(/.*takes a restart.*/);
  assert.equal((JSON.parse(line) as Record<string, string>)['changed'], 'HTTPS_PROXY');
  assert.ok(!running.out.includes('canary'));
});

test('SIGHUP swaps the certificate of new connections; a stream on an old one goes on', async (t) => {
  const [first, second] = [createCertificate(), createCertificate()];
  const folder = makeFolder(t);
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const write = ({ cert, key }: typeof first): void => {
    writeFileSync(certFile, cert);
    writeFileSync(keyFile, key);
  };
  write(first);
  const { sandbox, running, address } = await start(t, { GATEWAY_TLS_CERT_FILE: certFile, GATEWAY_TLS_KEY_FILE: keyFile });
  assert.match(address, /^https:/);
  const stream = askTls(`${address}/v1/chat/stream`, first.cert, 'fake-late-500');
  await until(() => sandbox.calls.length === 1);
  write(second);
  running.child.kill('SIGHUP');
  await running.printed(/"changed":"certificate"/);
  assert.equal((await askTls(`${address}/v1/chat`, second.cert, 'fake-chat')).status, 200);
  await assert.rejects(askTls(`${address}/v1/chat`, first.cert, 'fake-chat'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  assert.equal(framesOf((await stream).text).at(-1)?.type, 'done');
  // The new certificate with the old key, be that of its own kind or of another: nothing changes.
  const { privateKey } = generateKeyPairSync('ed25519');
  for (const [index, key] of [first.key, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()].entries()) {
    write({ ...second, key });
    running.child.kill('SIGHUP');
    await until(() => running.out.split('"SIGHUP: ').length === index + 3);
    assert.match(running.out.split('"SIGHUP: ').at(-1) ?? '', /"problems":"GATEWAY_TLS_KEY_FILE: is not the key of the certificate/);
    assert.equal((await askTls(`${address}/v1/chat`, second.cert, 'fake-chat')).status, 200);
  }
});

/** A chat over a TLS connection of its own, with nobody trusted but this certificate. */
function askTls(url: string, ca: string, model: string): Promise<{ readonly status: number | undefined; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${OLD.token}` };
    const request = https.request(url, { method: 'POST', agent: false, ca, servername: 'localhost', headers });
    request.on('error', reject).on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (more: string) => (text += more));
      response.on('end', () => resolve({ status: response.statusCode, text }));
    });
    request.end(JSON.stringify({ provider: 'openai', model, messages: [user('Hello')] }));
  });
}
