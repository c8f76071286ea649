/** The way out through a proxy: who takes it, both forms of it, and what it says when it does not work. */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { proxyAddressFrom } from '../../src/base/proxy-address.ts';
import type { ProxyAddress } from '../../src/base/proxy-address.ts';
import type { Failure } from '../../src/core/failure.ts';
import { Scope } from '../../src/core/scope.ts';
import type { TransportSettings } from '../../src/upstream/pooled.ts';
import { proxyFor } from '../../src/upstream/proxy.ts';
import type { Transport, UpstreamResponse } from '../../src/upstream/transport.ts';
import { GET_CALL, LIMITS, SOCKET_TRANSPORTS, bodyText, failureFrom, postCall, providerAt, responseFrom, trustAnyone } from './attempts.ts';
import { createCertificate } from './certificate.ts';
import { startConnectProxy } from './connect-proxy.ts';
import { CHUNKED_HEAD, chunkOf, closedBaseUrl, freePort, okResponse, startRawServer } from './raw-server.ts';
import type { RawServer } from './raw-server.ts';

const CERTIFICATE = createCertificate('localhost', 'provider.test');
const CREDENTIALS = 'someone:p%40ss-canary-1234';
/** base64 of `someone:p@ss-canary-1234`. */
const BASIC = 'Basic c29tZW9uZTpwQHNzLWNhbmFyeS0xMjM0';

function addressOf(url: URL): ProxyAddress {
  const address = proxyAddressFrom(url);
  if (address === undefined) throw new Error('no proxy address');
  return address;
}

function withCredentials(url: URL): URL {
  return new URL(url.href.replace('//', `//${CREDENTIALS}@`));
}

function startEcho(t: TestContext, isTls: boolean): Promise<RawServer> {
  return startRawServer(t, {
    onRequest: (socket, { body }) => void socket.write(okResponse(body)),
    ...(isTls ? { certificate: CERTIFICATE } : {}),
  });
}

/** The server under a name that only the proxy knows. */
function named(server: RawServer): URL {
  const url = new URL(server.baseUrl);
  url.hostname = 'provider.test';
  return url;
}

describe('proxyFor', () => {
  const address = (text: string): ProxyAddress => addressOf(new URL(text));
  const settings = { httpsProxy: address('http://secure.test:1'), httpProxy: address('http://plain.test:2'), noProxy: [] };

  test('gives each scheme its own proxy, loopback included', () => {
    assert.equal(proxyFor(settings, new URL('https://x.example')), settings.httpsProxy);
    assert.equal(proxyFor(settings, new URL('http://x.example')), settings.httpProxy);
    assert.equal(proxyFor(settings, new URL('http://127.0.0.1:8080')), settings.httpProxy);
    assert.equal(proxyFor({ ...settings, httpProxy: undefined }, new URL('http://x.example')), undefined);
  });

  const exempt: readonly (readonly [rule: string, url: string, isExempt: boolean])[] = [
    ['*', 'https://x.example', true],
    ['x.example', 'https://x.example', true],
    ['x.example', 'https://X.Example:8443', true],
    ['x.example', 'https://api.x.example', true],
    ['x.example', 'https://notx.example', false],
    ['x.example', 'https://x.example.com', false],
    ['.x.example', 'https://api.x.example', true],
    ['.x.example', 'https://x.example', true],
    ['*.x.example', 'https://api.x.example', true],
    ['x.example:443', 'https://x.example', true],
    ['x.example:443', 'https://x.example:8443', false],
    ['x.example:80', 'http://x.example', true],
    ['x.example:8443', 'https://api.x.example:8443', true],
    ['10.0.0.1', 'https://10.0.0.1', true],
    ['0.0.1', 'https://10.0.0.1', false],
    ['.0.0.1', 'https://10.0.0.1', false],
    ['10.0.0.1:8000', 'http://10.0.0.1:8000', true],
    ['10.0.0.0/8', 'http://10.0.0.1', false],
    ['::1', 'https://[::1]:8443', true],
    ['[::1]', 'https://[::1]', true],
    ['[::1]:8443', 'https://[::1]:8443', true],
    ['[::1]:8443', 'https://[::1]', false],
    ['::1', 'https://[::2]', false],
    ['2001:db8::1', 'https://[2001:db8::1]', true],
    ['localhost', 'http://localhost:11434', true],
    ['localhost', 'http://127.0.0.1', false],
  ];
  for (const [rule, url, isExempt] of exempt) {
    test(`${isExempt ? 'exempts' : 'does not exempt'} ${url} by ${rule}`, () => {
      const found = proxyFor({ ...settings, noProxy: ['other.example', rule] }, new URL(url));
      assert.equal(found === undefined, isExempt);
    });
  }
});

for (const [name, createTransport] of SOCKET_TRANSPORTS) {
  /** A transport that takes this proxy to every provider, and trusts the certificate above. */
  function openTransport(t: TestContext, proxy: URL, settings: TransportSettings = {}): Transport {
    const transport = createTransport({ ca: CERTIFICATE.cert, proxyFor: () => addressOf(proxy), ...settings });
    t.after(() => transport.close());
    return transport;
  }

  /** The same with Node's own authorities, of whom none knows the certificate. */
  function openWaryTransport(t: TestContext, proxy: URL): Transport {
    const transport = createTransport({ proxyFor: () => addressOf(proxy) });
    t.after(() => transport.close());
    return transport;
  }

  describe(`${name}: a provider over https`, () => {
    test('is reached through one tunnel for several calls, of which the proxy sees the host only', async (t) => {
      const server = await startEcho(t, true);
      const proxy = await startConnectProxy(t);
      const transport = openTransport(t, proxy.url);
      const provider = providerAt(named(server));
      for (const body of ['{"n":1}', '{"n":2}']) assert.equal(await bodyText(await transport.send(provider, postCall(body), new Scope(), LIMITS)), body);
      assert.deepEqual(proxy.requests, [`CONNECT provider.test:${server.baseUrl.port}`]);
      assert.deepEqual(proxy.hosts, [`provider.test:${server.baseUrl.port}`]);
      assert.deepEqual(proxy.authorizations, [undefined]);
      assert.match(server.requests[0]?.head ?? '', /^POST \/chat HTTP\/1\.1\r\n/);
      assert.equal(transport.openSockets(), 1);
      transport.close();
      await proxy.unused();
    });

    test('names an IPv6 address in brackets', async (t) => {
      const proxy = await startConnectProxy(t, { onConnect: (socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n') });
      const transport = openTransport(t, proxy.url);
      failureFrom(await transport.send(providerAt(new URL('https://[2001:db8::1]:8443')), GET_CALL, new Scope(), LIMITS));
      assert.deepEqual(proxy.requests, ['CONNECT [2001:db8::1]:8443']);
    });

    test('gets a new tunnel when the kept one was closed, unseen', async (t) => {
      const server = await startRawServer(t, {
        onRequest: (socket, { body, numberOnConnection }) => {
          if (numberOnConnection === 1) socket.write(okResponse(body));
          else socket.end();
        },
        certificate: CERTIFICATE,
      });
      const proxy = await startConnectProxy(t);
      let staleRetries = 0;
      const transport = openTransport(t, proxy.url, { onStaleRetry: () => (staleRetries += 1) });
      const provider = providerAt(named(server));
      for (const body of ['{"n":1}', '{"n":2}']) {
        assert.equal(await bodyText(await transport.send(provider, postCall(body), new Scope(), LIMITS)), body);
        await new Promise(setImmediate);
      }
      assert.equal(staleRetries, 1);
      assert.equal(proxy.requests.length, 2);
    });

    test('delivers what had come before its tunnel broke, also to a receiver that was busy', async (t) => {
      let write = (text: string): void => void text;
      const server = await startRawServer(t, {
        onRequest: (socket) => {
          write = (text) => void socket.write(chunkOf(text));
          socket.write(CHUNKED_HEAD + chunkOf('first '));
        },
        certificate: CERTIFICATE,
      });
      let tunnel: readonly [caller: Socket, provider: Socket] | undefined;
      const proxy = await startConnectProxy(t, {
        onConnect: (caller) => {
          const provider = connect(Number(server.baseUrl.port), '127.0.0.1', () => caller.write('HTTP/1.1 200 OK\r\n\r\n'));
          caller.pipe(provider).pipe(caller);
          tunnel = [caller, provider];
        },
      });
      const response = responseFrom(await openTransport(t, proxy.url).send(providerAt(named(server)), postCall(), new Scope(), LIMITS));
      const [caller, provider] = tunnel ?? assert.fail('no tunnel');
      let said = '';
      const failure = await response.readChunks(async (chunk) => {
        said += chunk.toString();
        if (said !== 'first ') return;
        // The second stops the reading, so that the third waits where the tunnel was read to.
        for (const text of ['second ', 'third']) {
          const passed = once(provider, 'data');
          write(text);
          await passed;
          for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
        }
        caller.resetAndDestroy();
        provider.destroy();
        await once(caller, 'close');
        for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
      });
      assert.match(failureFrom(failure).message, /^acme answered 200, but its body did not arrive whole/);
      assert.equal(said, 'first second third');
    });

    test('whose certificate is rejected fails as without a proxy: the cause named, not retried', async (t) => {
      const server = await startEcho(t, true);
      const proxy = await startConnectProxy(t);
      const failure = failureFrom(await openWaryTransport(t, proxy.url).send(providerAt(named(server)), postCall(), new Scope(), LIMITS));
      assert.equal(failure.kind, 'unknown');
      assert.equal(failure.message, 'the TLS certificate of acme was rejected (DEPTH_ZERO_SELF_SIGNED_CERT)');
      assert.equal(failure.isRetried, false);
      assert.equal(server.requests.length, 0);
    });
  });

  test(`${name}: a provider at the end of a tunnel is verified even where NODE_TLS_REJECT_UNAUTHORIZED is 0`, async (t) => {
    const server = await startEcho(t, true);
    const proxy = await startConnectProxy(t);
    trustAnyone(t);
    const failure = failureFrom(await openWaryTransport(t, proxy.url).send(providerAt(named(server)), postCall(), new Scope(), LIMITS));
    assert.equal(failure.message, 'the TLS certificate of acme was rejected (DEPTH_ZERO_SELF_SIGNED_CERT)');
    assert.equal(server.requests.length, 0);
  });

  describe(`${name}: a provider over http`, () => {
    test('is reached in absolute form over one connection, its own name in Host', async (t) => {
      const server = await startEcho(t, false);
      const proxy = await startConnectProxy(t);
      const transport = openTransport(t, proxy.url);
      const provider = providerAt(new URL(`${named(server).origin}/v1`));
      for (const body of ['{"n":1}', '{"n":2}']) assert.equal(await bodyText(await transport.send(provider, postCall(body), new Scope(), LIMITS)), body);
      const host = `provider.test:${server.baseUrl.port}`;
      assert.deepEqual(proxy.requests, [`POST http://${host}/v1/chat`, `POST http://${host}/v1/chat`]);
      assert.deepEqual(proxy.hosts, [host, host]);
      assert.match(server.requests[0]?.head ?? '', /^POST \/v1\/chat HTTP\/1\.1\r\n/);
      assert.equal(transport.openSockets(), 1);
    });
  });

  for (const isTls of [true, false]) {
    const scheme = isTls ? 'https' : 'http';
    describe(`the proxy to a provider over ${scheme}`, () => {
      test('gets the credentials of its URL, and the provider does not', async (t) => {
        const server = await startEcho(t, isTls);
        const proxy = await startConnectProxy(t);
        const transport = openTransport(t, withCredentials(proxy.url));
        await bodyText(await transport.send(providerAt(named(server)), postCall(), new Scope(), LIMITS));
        assert.deepEqual(proxy.authorizations, [BASIC]);
        assert.doesNotMatch(server.requests[0]?.head ?? '', /proxy-authorization/i);
      });

      test('may speak TLS itself, under its own name, if it is called by one', async (t) => {
        const server = await startEcho(t, isTls);
        const proxy = await startConnectProxy(t, { certificate: CERTIFICATE });
        for (const host of ['localhost', '127.0.0.1']) {
          const transport = openTransport(t, new URL(proxy.url.href.replace('localhost', host)));
          assert.equal(await bodyText(await transport.send(providerAt(named(server)), postCall('{"n":7}'), new Scope(), LIMITS)), '{"n":7}');
        }
        assert.deepEqual(proxy.serverNames, ['localhost', false]);
      });

      test('is named when its certificate is rejected', async (t) => {
        const server = await startEcho(t, isTls);
        const proxy = await startConnectProxy(t, { certificate: CERTIFICATE });
        const failure = failureFrom(await openWaryTransport(t, proxy.url).send(providerAt(named(server)), postCall(), new Scope(), LIMITS));
        assert.equal(failure.message, 'the TLS certificate of the proxy to acme was rejected (DEPTH_ZERO_SELF_SIGNED_CERT)');
        assert.equal(failure.isRetried, false);
      });

      test('is verified even where NODE_TLS_REJECT_UNAUTHORIZED is 0', async (t) => {
        const server = await startEcho(t, isTls);
        const proxy = await startConnectProxy(t, { certificate: CERTIFICATE });
        trustAnyone(t);
        const failure = failureFrom(await openWaryTransport(t, withCredentials(proxy.url)).send(providerAt(named(server)), postCall(), new Scope(), LIMITS));
        assert.equal(failure.message, 'the TLS certificate of the proxy to acme was rejected (DEPTH_ZERO_SELF_SIGNED_CERT)');
        assert.deepEqual(proxy.requests, []);
      });

      test('is named when it cannot be reached', async (t) => {
        const transport = openTransport(t, withCredentials(await closedBaseUrl()));
        const failure = failureFrom(await transport.send(providerAt(new URL(`${scheme}://provider.test`)), postCall(), new Scope(), LIMITS));
        assert.equal(failure.kind, 'unknown');
        assert.equal(failure.message, 'the proxy to acme refused the connection (ECONNREFUSED)');
        assert.equal(failure.isRetried, true);
      });
    });
  }

  describe(`${name}: a tunnel that the proxy refuses`, () => {
    for (const [status, kind, isRetried, message] of [
      [407, 'auth', false, 'the proxy to acme rejected its credentials (HTTP 407)'],
      [403, 'unknown', false, 'the proxy to acme refused the connection (HTTP 403)'],
      [502, 'unknown', true, 'the proxy to acme refused the connection (HTTP 502)'],
      [503, 'unknown', true, 'the proxy to acme refused the connection (HTTP 503)'],
      [300, 'unknown', false, 'the proxy to acme refused the connection (HTTP 300)'],
    ] as const) {
      test(`with ${status} is a failure of kind ${kind} without the proxy's words or credentials`, async (t) => {
        const words = `<p>someone canary</p>`;
        const answer = `HTTP/1.1 ${status} Because\r\nproxy-authenticate: ${BASIC}\r\nlocation: http://elsewhere.test\r\ncontent-length: ${words.length}\r\n\r\n${words}`;
        const proxy = await startConnectProxy(t, { onConnect: (socket) => socket.write(answer) });
        const transport = openTransport(t, withCredentials(proxy.url));
        const failure = failureFrom(await transport.send(providerAt(new URL('https://provider.test')), postCall(), new Scope(), LIMITS));
        assert.deepEqual([failure.kind, failure.isRetried, failure.message, failure.detail], [kind, isRetried, message, undefined]);
        await proxy.unused();
      });
    }

    test('by closing is a failure that names the proxy', async (t) => {
      const proxy = await startConnectProxy(t, { onConnect: (socket) => socket.destroy() });
      const failure = failureFrom(await openTransport(t, proxy.url).send(providerAt(new URL('https://provider.test')), postCall(), new Scope(), LIMITS));
      assert.equal(failure.message, 'the proxy to acme closed the connection without an answer (ECONNRESET)');
    });

    test('by an answer with a larger head than the sentence on it says is a failure, and by a smaller one is none', async (t) => {
      const server = await startEcho(t, true);
      const send = async (padding: number): Promise<UpstreamResponse | Failure> => {
        const proxy = await startConnectProxy(t, { onConnect: (socket) => {
          const tunnel = connect(Number(server.baseUrl.port), '127.0.0.1');
          for (const end of [socket, tunnel]) end.on('error', () => undefined);
          socket.write(`HTTP/1.1 200 OK\r\nx-padding: ${'0'.repeat(padding)}\r\n\r\n`);
          socket.pipe(tunnel).pipe(socket);
        } });
        return openTransport(t, proxy.url).send(providerAt(named(server)), postCall(), new Scope(), LIMITS);
      };
      assert.equal(await bodyText(await send(60 * 1024)), '{"n":1}');
      assert.match(failureFrom(await send(65 * 1024)).message, /^the proxy to acme answered, but its headers or trailers have more than 65536 bytes/);
    });

    test('by an answer that is not HTTP is a failure of kind server', async (t) => {
      const proxy = await startConnectProxy(t, { onConnect: (socket) => socket.write('220 ready to send mail\r\n') });
      const failure = failureFrom(await openTransport(t, proxy.url).send(providerAt(new URL('https://provider.test')), postCall(), new Scope(), LIMITS));
      assert.equal(failure.kind, 'server');
      assert.match(failure.message, /^the proxy to acme sent an answer that is not acceptable HTTP \(HPE_/);
    });
  });

  describe(`${name}: the connect limit`, () => {
    for (const [what, words] of [
      ['a proxy that does not answer', ''],
      ['a TLS handshake in the tunnel that does not come', 'HTTP/1.1 200 OK\r\n\r\n'],
    ] as const) {
      test(`covers ${what}, and leaves no connection behind`, async (t) => {
        const proxy = await startConnectProxy(t, { onConnect: (socket) => void socket.write(words) });
        const transport = openTransport(t, proxy.url);
        const result = await transport.send(providerAt(new URL('https://provider.test')), postCall(), new Scope(), { ...LIMITS, connectMs: 100 });
        assert.equal(failureFrom(result).limit, 'GATEWAY_CONNECT_TIMEOUT');
        await proxy.unused();
      });
    }
  });

  test(`${name}: a caller who hangs up ends a tunnel that is being opened`, async (t) => {
    const proxy = await startConnectProxy(t, { onConnect: () => undefined });
    const transport = openTransport(t, proxy.url);
    const scope = new Scope();
    const sent = transport.send(providerAt(new URL('https://provider.test')), postCall(), scope, LIMITS);
    await proxy.arrived(1);
    scope.end('caller-gone');
    assert.equal(failureFrom(await sent).message, 'the caller hung up');
    await proxy.unused();
  });

  const tinyproxyAbsent = spawnSync('tinyproxy', ['-v']).error !== undefined && 'tinyproxy is not installed';

  test(`${name}: tinyproxy lets both forms through with the right password only`, { skip: tinyproxyAbsent }, async (t) => {
    const proxy = await startTinyproxy(t);
    for (const isTls of [true, false]) {
      const server = await startEcho(t, isTls);
      const provider = providerAt(new URL(`${isTls ? 'https' : 'http'}://localhost:${server.baseUrl.port}`));
      const allowed = openTransport(t, new URL(proxy.href.replace('//', '//someone:pass.canary_1234@')));
      for (const body of ['{"n":1}', '{"n":2}']) assert.equal(await bodyText(await allowed.send(provider, postCall(body), new Scope(), LIMITS)), body);
      const refused = await openTransport(t, proxy).send(provider, postCall(), new Scope(), LIMITS);
      if (isTls) {
        assert.equal(failureFrom(refused).message, 'the proxy to acme rejected its credentials (HTTP 407)');
      } else {
        assert.equal(responseFrom(refused).status, 407);
        responseFrom(refused).discard();
      }
      assert.equal(server.requests.length, 2);
    }
  });

  /** A real proxy on a free port of the loopback. */
  async function startTinyproxy(t: TestContext): Promise<URL> {
    const folder = mkdtempSync(join(tmpdir(), 'tinyproxy-'));
    const url = new URL(`http://127.0.0.1:${await freePort()}`);
    const settings = [`Port ${url.port}`, 'Listen 127.0.0.1', 'Timeout 60', 'BasicAuth someone pass.canary_1234', 'LogLevel Critical'];
    writeFileSync(join(folder, 'settings'), settings.join('\n') + '\n');
    const child = spawn('tinyproxy', ['-d', '-c', join(folder, 'settings')], { stdio: 'ignore' });
    t.after(async () => {
      child.kill('SIGKILL');
      rmSync(folder, { recursive: true });
    });
    for (let isUp = false; !isUp; ) {
      if (child.exitCode !== null) throw new Error('tinyproxy did not start');
      const socket = connect(Number(url.port), '127.0.0.1');
      isUp = await once(socket, 'connect').then(() => true, () => false);
      socket.destroy();
    }
    return url;
  }
}
