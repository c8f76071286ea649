/** The way to providers as an operator sets it up: proxies, and authorities of one's own. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { startSandbox } from '../../src/sandbox/index.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { sandboxEnvironment, TOKEN, user } from '../running-gateway.ts';
import { createCertificate } from '../upstream/certificate.ts';
import { startConnectProxy } from '../upstream/connect-proxy.ts';
import { startTlsFront } from '../upstream/tls-front.ts';
import { buildProgram, makeFolder } from './built-program.ts';
import { RunningProcess } from './running-process.ts';

const GATEWAY: readonly string[] = [process.execPath, join(buildProgram(), 'dist/main.js')];
const CERTIFICATE = createCertificate('provider.test');

async function startSandboxFor(t: TestContext): Promise<Sandbox> {
  const sandbox = await startSandbox({});
  t.after(() => sandbox.close());
  return sandbox;
}

type Answer = { readonly status: number; readonly kind?: string; readonly error?: string };

async function chat(address: string, provider: string): Promise<Answer> {
  const response = await fetch(`${address}/v1/chat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({ provider, model: 'fake-chat', messages: [user('Hello')] }),
  });
  return { ...((await response.json()) as object), status: response.status };
}

/** A file with the certificate, for NODE_EXTRA_CA_CERTS. */
function caFile(t: TestContext, cert: string): string {
  const file = join(makeFolder(t), 'ca.pem');
  writeFileSync(file, cert);
  return file;
}

test('NODE_EXTRA_CA_CERTS makes a provider with a private certificate trusted; without it, it is refused once and says why', async (t) => {
  const sandbox = await startSandboxFor(t);
  const certificate = createCertificate();
  const port = await startTlsFront(t, sandbox.baseUrls.openai, certificate);
  const environment = { ...sandboxEnvironment(sandbox), OPENAI_BASE_URL: `https://localhost:${port}/openai/v1` };
  const trusting = new RunningProcess(t, GATEWAY, { ...environment, NODE_EXTRA_CA_CERTS: caFile(t, certificate.cert) });
  assert.equal((await chat(await trusting.address(), 'openai')).status, 200);
  const wary = new RunningProcess(t, GATEWAY, environment);
  const { status, kind, error } = await chat(await wary.address(), 'openai');
  assert.deepEqual([status, kind], [502, 'unknown']);
  assert.equal(error, 'the TLS certificate of openai was rejected (DEPTH_ZERO_SELF_SIGNED_CERT)');
  await wary.printed(/"attempts":1,/);
  assert.equal(sandbox.calls.length, 1);
});

test('NODE_TLS_REJECT_UNAUTHORIZED=0 is refused at start and under --check, whichever transport is chosen', async (t) => {
  const environment = { GATEWAY_AUTH_TOKEN: TOKEN, OPENAI_API_KEY: 'sk-canary-0123456789', NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  for (const [words, transport] of [[[], 'http'], [[], 'fetch'], [['--check'], 'fetch']] as const) {
    const { code, err } = await new RunningProcess(t, [...GATEWAY, ...words], { ...environment, GATEWAY_TRANSPORT: transport }).exited;
    assert.equal(code, 1);
    assert.match(err, /^NODE_TLS_REJECT_UNAUTHORIZED: 0 would hand keys .* NODE_EXTRA_CA_CERTS$/m);
  }
});

test('providers are reached through the proxies of the environment, but for the hosts of NO_PROXY', async (t) => {
  const sandbox = await startSandboxFor(t);
  const tlsPort = await startTlsFront(t, sandbox.baseUrls.openai, CERTIFICATE);
  const { port } = new URL(sandbox.url);
  const [secure, plain] = [await startConnectProxy(t), await startConnectProxy(t)];
  const proxyFile = join(makeFolder(t), 'proxy');
  writeFileSync(proxyFile, secure.url.href.replace('//', '//someone:canary-password@'));
  const running = new RunningProcess(t, GATEWAY, {
    ...sandboxEnvironment(sandbox),
    OPENAI_BASE_URL: `https://provider.test:${tlsPort}/openai/v1`,
    ANTHROPIC_BASE_URL: `http://elsewhere.test:${port}/anthropic`,
    HTTPS_PROXY_FILE: proxyFile,
    http_proxy: plain.url.href.replace('//', '//someone:canary-password@'),
    NO_PROXY: 'other.test,127.0.0.1',
    NODE_EXTRA_CA_CERTS: caFile(t, CERTIFICATE.cert),
  });
  const address = await running.address();
  for (const provider of ['openai', 'anthropic', 'gemini']) assert.equal((await chat(address, provider)).status, 200, provider);
  assert.deepEqual(secure.requests, [`CONNECT provider.test:${tlsPort}`]);
  assert.deepEqual(plain.requests, [`POST http://elsewhere.test:${port}/anthropic/v1/messages`]);
  const authorization = `Basic ${Buffer.from('someone:canary-password').toString('base64')}`;
  assert.deepEqual([...secure.authorizations, ...plain.authorizations], [authorization, authorization]);
  assert.equal(sandbox.calls.length, 3);
  for (const { headers } of sandbox.calls) assert.equal(headers['proxy-authorization'], undefined);
  for (const secret of ['canary', authorization.slice(6)]) assert.ok(!(running.out + running.err).includes(secret));
});

test('a proxy that refuses its credentials is a failure of kind auth that does not show them', async (t) => {
  const sandbox = await startSandboxFor(t);
  const proxy = await startConnectProxy(t, {
    onConnect: (socket) => socket.write('HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic realm="canary-password"\r\n\r\n'),
  });
  const running = new RunningProcess(t, GATEWAY, {
    ...sandboxEnvironment(sandbox),
    OPENAI_BASE_URL: 'https://provider.test/v1',
    HTTPS_PROXY: proxy.url.href.replace('//', '//someone:canary-password@'),
  });
  const { status, kind, error } = await chat(await running.address(), 'openai');
  assert.deepEqual([status, kind, error], [502, 'auth', 'the proxy to openai rejected its credentials (HTTP 407)']);
  assert.equal(proxy.requests.length, 1);
  await running.printed(/"kind":"auth"/);
  assert.ok(!(running.out + running.err).includes('canary'));
});
