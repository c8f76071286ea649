/** Host names on the way to providers, through the transports that look them up: whose are looked up, and what a silent one costs. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import type { LookupAddress } from 'node:dns';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Provider } from '../../src/core/adapter.ts';
import { Scope } from '../../src/core/scope.ts';
import type { TransportSettings } from '../../src/upstream/pooled.ts';
import type { Transport } from '../../src/upstream/transport.ts';
import { LIMITS, SOCKET_TRANSPORTS, bodyText, failureFrom, postCall, providerAt } from './attempts.ts';
import { createCertificate } from './certificate.ts';
import { startConnectProxy } from './connect-proxy.ts';
import { closedBaseUrl, okResponse, startRawServer } from './raw-server.ts';
import type { RawServer } from './raw-server.ts';

const CERTIFICATE = createCertificate('provider.test', 'proxy.test');
const HERE: LookupAddress = { address: '127.0.0.1', family: 4 };

function errorOf(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error('x'), { code });
}

function startEcho(t: TestContext, isTls = false): Promise<RawServer> {
  return startRawServer(t, {
    onRequest: (socket, { body }) => void socket.write(okResponse(body)),
    ...(isTls ? { certificate: CERTIFICATE } : {}),
  });
}

/** A provider of this host name, at the server's port. */
function named(hostname: string, server: RawServer | URL): Provider {
  const url = new URL('baseUrl' in server ? server.baseUrl : server);
  url.hostname = hostname;
  return providerAt(url, { name: hostname.split('.')[0] ?? '' });
}

async function echo(transport: Transport, provider: Provider): Promise<void> {
  assert.equal(await bodyText(await transport.send(provider, postCall('{"n":1}'), new Scope(), LIMITS)), '{"n":1}');
}

for (const [name, createTransport] of SOCKET_TRANSPORTS) {
  /** Name servers that know these names, say of `gone.test` that there is none, and are silent about `silent.test`. */
  function openTransport(t: TestContext, settings: TransportSettings = {}, known: readonly LookupAddress[] = [HERE]) {
    const asked: string[] = [];
    const transport = createTransport({
      ca: CERTIFICATE.cert,
      nameSource: {
        query(hostname, onAnswer) {
          asked.push(hostname);
          if (hostname === 'silent.test') return;
          if (hostname === 'gone.test') setImmediate(onAnswer, errorOf('ENOTFOUND'), []);
          else if (hostname === 'short.test') setImmediate(onAnswer, errorOf('EMFILE'), []);
          else setImmediate(onAnswer, null, known);
        },
        probe(hostname, onAnswer) {
          if (hostname !== 'silent.test') setImmediate(onAnswer, true);
        },
      },
      ...settings,
    });
    t.after(() => transport.close());
    return { transport, asked };
  }

  describe(`${name}: the host name of a provider`, () => {
    for (const isTls of [false, true]) {
      test(`is looked up once, and sent as it is, over ${isTls ? 'TLS' : 'TCP'}`, async (t) => {
        const server = await startRawServer(t, {
          onRequest: (socket) => void socket.write(okResponse('{}', 'connection: close\r\n')),
          ...(isTls ? { certificate: CERTIFICATE } : {}),
        });
        const { transport, asked } = openTransport(t);
        const provider = named('provider.test', server);
        for (let call = 0; call < 3; call += 1) await bodyText(await transport.send(provider, postCall(), new Scope(), LIMITS));
        assert.equal(server.connections(), 3);
        assert.deepEqual(asked, ['provider.test']);
        assert.match(server.requests[0]?.head ?? '', new RegExp(`^host: provider.test:${server.baseUrl.port}\r$`, 'im'));
      });
    }

    for (const hostname of ['127.0.0.1', 'localhost', 'api.localhost']) {
      test(`is not looked up where it is ${hostname}`, async (t) => {
        const server = await startEcho(t);
        const { transport, asked } = openTransport(t);
        await echo(transport, named(hostname, server));
        assert.deepEqual(asked, []);
      });
    }

    for (const isTls of [false, true]) {
      test(`may have several addresses, of which the first does not answer, over ${isTls ? 'TLS' : 'TCP'}`, async (t) => {
        const server = await startEcho(t, isTls);
        const { transport } = openTransport(t, {}, [{ address: '::1', family: 6 }, { address: '127.0.0.2', family: 4 }, HERE]);
        await echo(transport, named('provider.test', server));
      });
    }

    test('that does not exist is a failure that says so', async (t) => {
      const { transport } = openTransport(t);
      const failure = failureFrom(await transport.send(named('gone.test', await closedBaseUrl()), postCall(), new Scope(), LIMITS));
      assert.deepEqual([failure.message, failure.kind], ['gone has a host name that does not exist (ENOTFOUND)', 'unknown']);
    });

    test("that cannot be looked up for want of descriptors is the gateway's own failure", async (t) => {
      const { transport } = openTransport(t);
      const failure = failureFrom(await transport.send(named('short.test', await closedBaseUrl()), postCall(), new Scope(), LIMITS));
      assert.equal(failure.message, 'the gateway has no file descriptor left for a connection to short (EMFILE)');
      assert.deepEqual([failure.isOwn, failure.isRetried], [true, false]);
    });
  });

  describe(`${name}: a silent name server`, () => {
    test('ends its provider at the connect limit, and leaves 100 abandoned requests no trace with the others', async (t) => {
      const server = await startEcho(t);
      const { transport, asked } = openTransport(t);
      const silent = named('silent.test', server);
      const abandoned = Array.from({ length: 100 }, async (_, index) => {
        const scope = new Scope();
        const sent = transport.send(silent, postCall(), scope, { ...LIMITS, connectMs: 50 });
        if (index % 2 === 0) scope.end('caller-gone');
        return failureFrom(await sent);
      });
      const failures = await Promise.all(abandoned);
      assert.deepEqual(failures.slice(0, 2).map(({ message }) => message), ['the caller hung up', 'no connection to silent within 50 ms (GATEWAY_CONNECT_TIMEOUT)']);
      assert.deepEqual(asked, ['silent.test']);
      for (const hostname of ['a.test', 'b.test', 'c.test', 'localhost', '127.0.0.1']) await echo(transport, named(hostname, server));
      assert.deepEqual(asked, ['silent.test', 'a.test', 'b.test', 'c.test']);
      assert.equal(server.connections(), 5);
    });

    for (const scheme of ['http', 'https'] as const) {
      test(`of a proxy ends at the connect limit over ${scheme}`, async (t) => {
        const proxy = { protocol: 'http:', hostname: 'silent.test', port: 1, credentials: undefined } as const;
        const { transport, asked } = openTransport(t, { proxyFor: () => proxy });
        const provider = providerAt(new URL(`${scheme}://provider.test`));
        const failure = failureFrom(await transport.send(provider, postCall(), new Scope(), { ...LIMITS, connectMs: 50 }));
        assert.equal(failure.limit, 'GATEWAY_CONNECT_TIMEOUT');
        assert.deepEqual(asked, ['silent.test']);
      });
    }
  });

  for (const isTls of [false, true]) {
    test(`${name}: behind a proxy ${isTls ? 'a tunnel' : 'a request'} needs the address of the proxy alone`, async (t) => {
      const server = await startEcho(t, isTls);
      const proxy = await startConnectProxy(t, isTls ? { certificate: CERTIFICATE } : {});
      const address = { protocol: isTls ? 'https:' : 'http:', hostname: 'proxy.test', port: Number(proxy.url.port), credentials: undefined } as const;
      const { transport, asked } = openTransport(t, { proxyFor: () => address });
      await echo(transport, named('provider.test', server));
      assert.deepEqual(asked, ['proxy.test']);
    });
  }
}

// Which descriptors the built-in fetch holds while it looks a name up differs between versions of Node.
test('all transports and the lookup of names say so when no descriptor is left', () => {
  const program = fileURLToPath(new URL('out-of-descriptors.ts', import.meta.url));
  const { stdout, stderr } = spawnSync('sh', ['-c', 'ulimit -n 256 && exec "$0" --import tsx "$1"', process.execPath, program], { encoding: 'utf8', timeout: 60_000 });
  assert.equal(stderr, '');
  const own = { message: 'the gateway has no file descriptor left for a connection to acme (EMFILE)', isOwn: true, isRetried: false };
  assert.deepEqual(JSON.parse(stdout), { 'http to an address': own, 'http to a name': own, 'wire to an address': own, 'wire to a name': own, 'fetch to an address': own });
});
