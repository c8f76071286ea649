/** What only transports over sockets of their own do: they keep connections, and know when one was kept too long. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Failure } from '../../src/core/failure.ts';
import { Scope } from '../../src/core/scope.ts';
import { createFetchTransport } from '../../src/upstream/fetch.ts';
import type { TransportSettings } from '../../src/upstream/pooled.ts';
import type { Transport } from '../../src/upstream/transport.ts';
import { createWireTransport } from '../../src/upstream/wire.ts';
import { BODY_BYTES_MAX, GET_CALL, LIMITS, SOCKET_TRANSPORTS, bodyText, createGate, failureFrom, postCall, providerAt, responseFrom, trustAnyone } from './attempts.ts';
import { createCertificate } from './certificate.ts';
import { CHUNKED_HEAD, LAST_CHUNK, chunkOf, okResponse, startRawServer } from './raw-server.ts';

const CERTIFICATE = createCertificate();
const TLS_VERSIONS = ['TLSv1.2', 'TLSv1.3'] as const;

/** Interim responses before the real one. */
const INTERIM = `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n${okResponse('{"n":1}')}`;

/** Resolves once the transport has no socket; a test that waits in vain runs into the runner's limit. */
async function noSockets(transport: Transport): Promise<void> {
  while (transport.openSockets() !== 0) await new Promise(setImmediate);
}

/** Lets a transport put a socket back into its pool. */
async function pooled(): Promise<void> {
  await new Promise(setImmediate);
}

/** Passes bytes on between a provider and its callers; `end` puts some of its own behind those of the provider. */
async function startFront(t: TestContext, { protocol, port }: URL): Promise<{ readonly baseUrl: URL; end(bytes: string): void }> {
  const callers = new Set<Socket>();
  const server = net.createServer((caller) => {
    const provider = net.connect(Number(port), '127.0.0.1');
    for (const socket of [caller, provider]) socket.on('error', () => undefined).on('close', () => void [caller.destroy(), provider.destroy()]);
    callers.add(caller);
    caller.pipe(provider).pipe(caller);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const caller of callers) caller.destroy();
    server.close();
  });
  const { port: own } = server.address() as net.AddressInfo;
  return {
    baseUrl: new URL(`${protocol}//127.0.0.1:${own}`),
    end: (bytes) => callers.forEach((caller) => caller.end(bytes)),
  };
}

for (const [name, createTransport] of SOCKET_TRANSPORTS) {
  /** A transport that trusts the certificate above, and the names of the providers whose stale sockets it met. */
  function openTransport(t: TestContext, settings: TransportSettings = {}): { readonly transport: Transport; readonly staleRetries: string[] } {
    const staleRetries: string[] = [];
    const transport = createTransport({ ...settings, ca: CERTIFICATE.cert, onStaleRetry: (provider) => staleRetries.push(provider) });
    t.after(() => transport.close());
    return { transport, staleRetries };
  }

  test(`${name}: a thousand interim responses are passed over, and one more is a failure that names the limit`, async (t) => {
    for (const [count, status] of [[1000, '103 Early Hints'], [1001, '103 Early Hints'], [1001, '100 Continue']] as const) {
      const server = await startRawServer(t, {
        onRequest: (socket, { body }) => void socket.write(`HTTP/1.1 ${status}\r\n\r\n`.repeat(count) + okResponse(body)),
      });
      const { transport } = openTransport(t);
      const outcome = await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS);
      if (count === 1000) assert.equal(await bodyText(outcome), '{"n":1}');
      else assert.deepEqual([failureFrom(outcome).message, failureFrom(outcome).isOwn], ["acme sent more than 1000 interim responses (HTTP 1xx), which is the gateway's limit", true]);
      await server.closed(count === 1000 ? 0 : 1);
    }
  });

  describe(`${name}: a kept socket that the provider closed`, () => {
    for (const [how, certificate, cut] of [
      ['by a reset', undefined, (socket: Socket) => socket.resetAndDestroy()],
      ['in order', undefined, (socket: Socket) => socket.end()],
      ['in order over TLS', CERTIFICATE, (socket: Socket) => socket.end()],
    ] as const) {
      test(`${how} is replaced unseen: 300 calls, no failure`, async (t) => {
        const server = await startRawServer(t, {
          onRequest: (socket, { body, numberOnConnection }) => {
            if (numberOnConnection === 1) socket.write(okResponse(body));
            else cut(socket);
          },
          ...(certificate === undefined ? {} : { certificate }),
        });
        const { transport, staleRetries } = openTransport(t);
        const provider = providerAt(server.baseUrl);
        for (let call = 1; call <= 300; call += 1) {
          const body = `{"call":${call}}`;
          assert.equal(await bodyText(await transport.send(provider, postCall(body), new Scope(), LIMITS)), body);
          await pooled();
        }
        // Every second call found the socket of the one before; the one after it found none, since a fresh socket is not kept.
        assert.equal(staleRetries.length, 150);
        assert.equal(staleRetries[0], 'acme');
        assert.equal(server.requests.length, 450);
      });
    }

    test('right after its answer costs no call either, whoever is faster', async (t) => {
      const server = await startRawServer(t, { onRequest: (socket, { body }) => void socket.end(okResponse(body)) });
      const { transport } = openTransport(t);
      for (let call = 1; call <= 300; call += 1) {
        const body = `{"call":${call}}`;
        assert.equal(await bodyText(await transport.send(providerAt(server.baseUrl), postCall(body), new Scope(), LIMITS)), body);
        if (call % 3 === 0) await pooled();
      }
    });

    test('is replaced once: a second reset is a failure', async (t) => {
      const server = await startRawServer(t, {
        onRequest: (socket) => {
          if (server.requests.length === 1) socket.write(okResponse('{}'));
          else socket.resetAndDestroy();
        },
      });
      const { transport, staleRetries } = openTransport(t);
      await bodyText(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      await pooled();
      const failure = failureFrom(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      assert.equal(failure.message, 'acme closed the connection without an answer (ECONNRESET)');
      assert.equal(server.requests.length, 3);
      assert.equal(staleRetries.length, 1);
    });

    test('after one byte of an answer is a failure: the call may have been served', async (t) => {
      const server = await startRawServer(t, {
        onRequest: (socket, { numberOnConnection }) => {
          if (numberOnConnection === 1) socket.write(okResponse('{}'));
          else socket.end('H');
        },
      });
      const { transport, staleRetries } = openTransport(t);
      await bodyText(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      await pooled();
      failureFrom(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      assert.equal(server.requests.length, 2);
      assert.deepEqual(staleRetries, []);
    });

    test('is not replaced once the exchange has ended', async (t) => {
      const scope = new Scope();
      const server = await startRawServer(t, {
        onRequest: (socket, { numberOnConnection }) => {
          if (numberOnConnection === 1) socket.write(okResponse('{}'));
          else scope.end('caller-gone');
        },
      });
      const { transport, staleRetries } = openTransport(t);
      await bodyText(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      await pooled();
      failureFrom(await transport.send(providerAt(server.baseUrl), postCall(), scope, LIMITS));
      await noSockets(transport);
      assert.equal(server.requests.length, 2);
      assert.deepEqual(staleRetries, []);
    });

    test('is replaced under the same limits: the second try has the rest of the attempt', async (t) => {
      const server = await startRawServer(t, {
        onRequest: (socket, { numberOnConnection }) => {
          if (server.requests.length === 1) socket.write(okResponse('{}'));
          else if (numberOnConnection === 2) socket.resetAndDestroy();
        },
      });
      const { transport } = openTransport(t);
      await bodyText(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      await pooled();
      const failure = failureFrom(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), { ...LIMITS, attemptMs: 500 }));
      assert.equal(failure.limit, 'GATEWAY_ATTEMPT_TIMEOUT');
      assert.equal(server.requests.length, 3);
      await noSockets(transport);
    });
  });

  describe(`${name}: an answer that nobody asked for`, () => {
    test('on an idle socket closes it, and never reaches the next call: 100 calls', async (t) => {
      const server = await startRawServer(t, {
        onRequest: (socket, { body }) => {
          socket.write(okResponse(body));
          // Sent once the first answer has been taken, as a second one for nobody.
          void taken?.opened.then(() => socket.write(okResponse('{"poison":true}')));
        },
      });
      let taken: ReturnType<typeof createGate> | undefined;
      const { transport, staleRetries } = openTransport(t);
      for (let call = 1; call <= 100; call += 1) {
        taken = createGate();
        const body = `{"call":${call}}`;
        assert.equal(await bodyText(await transport.send(providerAt(server.baseUrl), postCall(body), new Scope(), LIMITS)), body);
        await pooled();
        assert.equal(transport.openSockets(), 1);
        taken.open();
        await server.closed(call);
        assert.equal(transport.openSockets(), 0);
      }
      assert.equal(server.connections(), 100);
      assert.deepEqual(staleRetries, []);
    });

    test('in the same packet as the real one closes the socket', async (t) => {
      const server = await startRawServer(t, { onRequest: (socket, { body }) => void socket.write(okResponse(body) + okResponse('{"poison":true}')) });
      const { transport } = openTransport(t);
      for (let call = 1; call <= 20; call += 1) {
        const body = `{"call":${call}}`;
        assert.equal(await bodyText(await transport.send(providerAt(server.baseUrl), postCall(body), new Scope(), LIMITS)), body);
        await server.closed(call);
      }
      assert.equal(server.connections(), 20);
    });

    test('that is but a line break behind the real one closes the socket', async (t) => {
      const server = await startRawServer(t, { onRequest: (socket, { body }) => void socket.write(`${okResponse(body)}\r\n`) });
      const { transport } = openTransport(t);
      for (let call = 1; call <= 3; call += 1) {
        assert.equal(await bodyText(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS)), '{"n":1}');
        await pooled();
      }
    });

    test('while the receiver of the last chunk is busy closes the socket', async (t) => {
      const busy = createGate();
      const poisoned = createGate();
      const server = await startRawServer(t, {
        onRequest: (socket, { numberOnConnection }) => {
          assert.equal(numberOnConnection, 1);
          // Two chunks in one packet: while the receiver holds the first one, the second waits in our buffer.
          socket.write(CHUNKED_HEAD + chunkOf('a') + chunkOf('b') + LAST_CHUNK);
          void busy.opened.then(() => socket.write(okResponse('{"poison":true}'), poisoned.open));
        },
      });
      const { transport } = openTransport(t);
      const response = responseFrom(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      let text = '';
      const failure = await response.readChunks(async (chunk) => {
        text += chunk.toString();
        if (text !== 'a') return;
        busy.open();
        await poisoned.opened;
        // A few turns more, in which the bytes arrive here.
        for (let turn = 0; turn < 20; turn += 1) await pooled();
      });
      assert.equal(failure, undefined);
      assert.equal(text, 'ab');
      await noSockets(transport);
    });
  });

  describe(`${name}: a receiver that always answers with a promise`, () => {
    test('does not cost the connection', async (t) => {
      const server = await startRawServer(t, { onRequest: (socket) => void socket.write(CHUNKED_HEAD + chunkOf('a') + chunkOf('b') + LAST_CHUNK) });
      const { transport } = openTransport(t);
      for (let call = 0; call < 10; call += 1) {
        const response = responseFrom(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
        assert.equal(await response.readChunks(() => Promise.resolve()), undefined);
        await pooled();
      }
      assert.equal(server.connections(), 1);
    });
  });

  describe(`${name}: informational responses`, () => {
    test('before the real one are ignored', async (t) => {
      const server = await startRawServer(t, { onRequest: (socket) => void socket.write(INTERIM) });
      const { transport } = openTransport(t);
      assert.equal(await bodyText(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS)), '{"n":1}');
    });
  });

  describe(`${name}: the limits on a reused socket`, () => {
    for (const seconds of [1, 2]) {
      test(`are the call's own, whatever Keep-Alive: timeout=${seconds} the last answer said`, async (t) => {
        const server = await startRawServer(t, {
          onRequest: (socket) => {
            if (server.requests.length === 1) socket.write(okResponse('{}', `connection: keep-alive\r\nkeep-alive: timeout=${seconds}\r\n`));
          },
        });
        const { transport, staleRetries } = openTransport(t);
        await bodyText(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
        await pooled();
        // On the socket that is kept, longer than the second after which the agent's own timer would fire.
        const limits = { ...LIMITS, attemptMs: seconds === 1 ? 500 : 1300 };
        const failure = failureFrom(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), limits));
        assert.equal(failure.limit, 'GATEWAY_ATTEMPT_TIMEOUT');
        assert.equal(server.requests.length, 2);
        assert.deepEqual(staleRetries, []);
        assert.equal(server.connections(), seconds === 1 ? 2 : 1);
      });
    }

    test('begin with the attempt: no connect limit where nothing is connected', async (t) => {
      const server = await startRawServer(t, {
        onRequest: (socket) => void (server.requests.length === 1 ? socket.write(okResponse('{}')) : setTimeout(() => socket.write(okResponse('{"late":1}')), 300)),
      });
      const { transport } = openTransport(t);
      await bodyText(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      await pooled();
      const result = await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), { ...LIMITS, connectMs: 100 });
      assert.equal(await bodyText(result), '{"late":1}');
      assert.equal(server.connections(), 1);
    });

    for (const [how, certificate] of [['TCP', undefined], ['TLS', CERTIFICATE]] as const) {
      test(`end the connect limit with the connection over ${how}`, async (t) => {
        const server = await startRawServer(t, {
          onRequest: (socket) => void setTimeout(() => socket.write(okResponse('{"late":1}')), 450),
          ...(certificate === undefined ? {} : { certificate }),
        });
        const { transport } = openTransport(t);
        const result = await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), { ...LIMITS, connectMs: 300 });
        assert.equal(await bodyText(result), '{"late":1}');
      });
    }

    test('name the attempt where that is the shorter one', async (t) => {
      const server = await startRawServer(t, { onConnection: () => undefined });
      const { transport } = openTransport(t);
      const provider = providerAt(new URL(`https://127.0.0.1:${server.baseUrl.port}`));
      const failure = failureFrom(await transport.send(provider, postCall(), new Scope(), { ...LIMITS, attemptMs: 100 }));
      assert.equal(failure.limit, 'GATEWAY_ATTEMPT_TIMEOUT');
    });
  });

  test(`${name}: a provider is verified even where NODE_TLS_REJECT_UNAUTHORIZED is 0`, async (t) => {
    const server = await startRawServer(t, { onRequest: (socket) => void socket.write(okResponse('{}')), certificate: CERTIFICATE });
    const transport = createTransport();
    t.after(() => transport.close());
    trustAnyone(t);
    const failure = failureFrom(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
    assert.equal(failure.message, 'the TLS certificate of acme was rejected (DEPTH_ZERO_SELF_SIGNED_CERT)');
    assert.equal(server.requests.length, 0);
  });

  for (const maxVersion of TLS_VERSIONS) test(`${name}: a certificate of another name is rejected at every connection (${maxVersion})`, async (t) => {
    const certificate = createCertificate('other.test');
    const server = await startRawServer(t, { onRequest: (socket) => void socket.write(okResponse('{}')), certificate, maxVersion });
    const transport = createTransport({ ca: certificate.cert });
    t.after(() => transport.close());
    const provider = providerAt(new URL(server.baseUrl.href.replace('127.0.0.1', 'localhost')));
    for (let call = 0; call < 3; call += 1) {
      const failure = failureFrom(await transport.send(provider, postCall(), new Scope(), LIMITS));
      assert.equal(failure.message, 'the TLS certificate of acme was rejected (ERR_TLS_CERT_ALTNAME_INVALID)');
    }
    assert.equal(server.requests.length, 0);
  });

  for (const maxVersion of TLS_VERSIONS) test(`${name}: a TLS session goes on at the next connection (${maxVersion})`, async (t) => {
    const isResumed: boolean[] = [];
    const server = await startRawServer(t, {
      onConnection: (socket) => isResumed.push((socket as TLSSocket).isSessionReused()),
      onRequest: (socket) => void socket.end(okResponse('{}', 'connection: close\r\n')),
      certificate: CERTIFICATE,
      maxVersion,
    });
    const { transport } = openTransport(t);
    for (let call = 1; call <= 3; call += 1) {
      await bodyText(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      await noSockets(transport);
    }
    assert.deepEqual(isResumed, [false, true, true]);
  });

  test(`${name}: a provider that wants a certificate of its callers is a failure that says so, and is not tried again`, async (t) => {
    const server = await startRawServer(t, { certificate: CERTIFICATE, wantsCertificate: true });
    const { transport } = openTransport(t);
    const failure = failureFrom(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
    assert.equal(failure.message, 'acme requires a TLS client certificate, which the gateway does not have (ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED)');
    assert.equal(failure.isRetried, false);
  });

  test(`${name}: a body that the connection alone ends is a failure where TLS broke before the end`, async (t) => {
    const server = await startRawServer(t, { onRequest: (socket) => void socket.write('HTTP/1.1 200 OK\r\n\r\nhalf'), certificate: CERTIFICATE });
    const front = await startFront(t, server.baseUrl);
    const { transport } = openTransport(t);
    const response = responseFrom(await transport.send(providerAt(front.baseUrl), postCall(), new Scope(), LIMITS));
    const body = response.readBody(BODY_BYTES_MAX);
    front.end('no TLS');
    assert.match(failureFrom(await body).message, /^acme answered 200, but its body did not arrive whole \(ERR_SSL_/);
  });

  describe(`${name}: sockets`, () => {
    test('are kept and used again, the most recent one first', async (t) => {
      const server = await startRawServer(t, { onRequest: (socket, { body }) => void socket.write(okResponse(body)) });
      const { transport } = openTransport(t);
      const provider = providerAt(server.baseUrl);
      for (let call = 0; call < 50; call += 1) {
        await bodyText(await transport.send(provider, call % 2 === 0 ? postCall() : GET_CALL, new Scope(), LIMITS));
        await pooled();
      }
      assert.equal(server.connections(), 1);
      assert.equal(transport.openSockets(), 1);
    });

    test('are not shared between providers, even at one address', async (t) => {
      const server = await startRawServer(t, { onRequest: (socket) => void socket.write(okResponse('{}')) });
      const { transport } = openTransport(t);
      await bodyText(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      await pooled();
      await bodyText(await transport.send(providerAt(server.baseUrl, { name: 'other' }), postCall(), new Scope(), LIMITS));
      assert.equal(server.connections(), 2);
    });

    test('are closed when they were idle for as long as the provider lets them be', async (t) => {
      const server = await startRawServer(t, { onRequest: (socket) => void socket.write(okResponse('{}', 'keep-alive: timeout=2\r\n')) });
      const { transport } = openTransport(t);
      await bodyText(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      await server.closed(1);
      await noSockets(transport);
    });

    test('are not kept for more than five minutes, since their host may have another address by then', async (t) => {
      const server = await startRawServer(t, { onRequest: (socket) => void socket.write(okResponse('{}')) });
      const { transport } = openTransport(t);
      const now = performance.now.bind(performance);
      let passedMs = 0;
      t.mock.method(performance, 'now', () => now() + passedMs);
      // Never idle for long. After the eighth call the first connection is 343 s old.
      for (let call = 1; call <= 9; call += 1) {
        await bodyText(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
        await pooled();
        assert.equal(server.connections(), call <= 8 ? 1 : 2);
        passedMs += 49_000;
      }
    });

    test('are not kept after connection: close', async (t) => {
      const server = await startRawServer(t, { onRequest: (socket) => void socket.write(okResponse('{}', 'connection: close\r\n')) });
      const { transport } = openTransport(t);
      for (let call = 1; call <= 100; call += 1) {
        assert.equal(await bodyText(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS)), '{}');
      }
      assert.equal(server.connections(), 100);
      await noSockets(transport);
    });

    test('are closed when the answer came before the request was read', async (t) => {
      const server = await startRawServer(t, {
        onConnection: (socket) => {
          socket.once('data', () => {
            socket.pause();
            socket.write(okResponse('{"early":true}'));
          });
        },
      });
      const { transport } = openTransport(t);
      const call = postCall('x'.repeat(16 * 1024 * 1024));
      assert.equal(await bodyText(await transport.send(providerAt(server.baseUrl), call, new Scope(), LIMITS)), '{"early":true}');
      await noSockets(transport);
    });

    test('do not leak, however an attempt ends', async (t) => {
      const server = await startRawServer(t, {
        onRequest: (socket, { head }) => {
          if (head.includes('/reset')) socket.resetAndDestroy();
          else if (head.includes('/cut')) socket.end(CHUNKED_HEAD + chunkOf('a'));
          else if (head.includes('/stream')) socket.write(CHUNKED_HEAD + chunkOf('a'));
          else if (head.includes('/upgrade')) socket.write('HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n');
          else if (head.includes('/broken')) socket.write('nonsense\r\n\r\n');
          else if (!head.includes('/silent')) socket.write(okResponse('{}'));
        },
      });
      const { transport } = openTransport(t);
      const provider = providerAt(server.baseUrl);
      for (let round = 0; round < 10; round += 1) {
        await Promise.all(
          ['/ok', '/reset', '/cut', '/stream', '/upgrade', '/broken', '/silent'].map(async (path) => {
            const limits = path === '/silent' ? { ...LIMITS, attemptMs: 30 } : LIMITS;
            const result = await transport.send(provider, postCall('{}', path), new Scope(), limits);
            if (result instanceof Failure) return;
            if (path === '/stream') await result.readChunks(() => false);
            else await result.readBody(BODY_BYTES_MAX);
          }),
        );
      }
      transport.close();
      await noSockets(transport);
      await server.closed(server.connections());
      assert.equal(server.openSockets(), 0);
    });

    for (const [when, isBusy] of [['came in very many pieces', false], ['found its receiver busy until the end', true]] as const) {
      test(`are kept after an answer that ${when}`, async (t) => {
        const server = await startRawServer(t, { onRequest: (socket) => void socket.write(CHUNKED_HEAD + chunkOf('x'.repeat(170)).repeat(1000) + LAST_CHUNK) });
        const { transport } = openTransport(t);
        for (let call = 0; call < 3; call += 1) {
          let bytes = 0;
          const response = responseFrom(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
          const failure = await response.readChunks((chunk) => {
            bytes += chunk.length;
            return isBusy && bytes % 1700 === 0 ? pooled() : undefined;
          });
          assert.deepEqual([failure, bytes], [undefined, 170_000]);
          for (let turn = 0; turn < 5; turn += 1) await pooled();
        }
        assert.equal(server.connections(), 1);
      });
    }

    test('keep nothing alive of the call that they were opened for', async (t) => {
      setFlagsFromString('--expose-gc');
      const collect = runInNewContext('gc') as () => void;
      const server = await startRawServer(t, { onRequest: (socket) => void socket.write(okResponse('{}')) });
      const { transport } = openTransport(t);
      const sent = await (async () => {
        const call = postCall();
        await bodyText(await transport.send(providerAt(server.baseUrl), call, new Scope(), LIMITS));
        return new WeakRef(call);
      })();
      for (let look = 0; look < 20 && sent.deref() !== undefined; look += 1) {
        await pooled();
        collect();
      }
      assert.equal(sent.deref(), undefined);
      assert.equal(transport.openSockets(), 1);
    });

    test('keep no listener of a call that is over', async (t) => {
      const server = await startRawServer(t, { onRequest: (socket) => void socket.write(okResponse('{}')) });
      const warnings: string[] = [];
      const onWarning = (warning: Error): void => void warnings.push(warning.name);
      process.on('warning', onWarning);
      t.after(() => process.off('warning', onWarning));
      const { transport } = openTransport(t);
      for (let call = 0; call < 30; call += 1) {
        await bodyText(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
        await pooled();
      }
      await pooled();
      assert.equal(server.connections(), 1);
      assert.deepEqual(warnings, []);
    });
  });

  describe(`${name}: close`, () => {
    test('closes idle sockets at once', async (t) => {
      const server = await startRawServer(t, { onRequest: (socket) => void socket.write(okResponse('{}')) });
      const { transport } = openTransport(t);
      await bodyText(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      await pooled();
      transport.close();
      await server.closed(1);
      await noSockets(transport);
    });

    test('lets a response finish, then closes its socket', async (t) => {
      const closed = createGate();
      const server = await startRawServer(t, {
        onRequest: (socket) => {
          socket.write(CHUNKED_HEAD + chunkOf('a'));
          void closed.opened.then(() => socket.write(chunkOf('b') + LAST_CHUNK));
        },
      });
      const { transport } = openTransport(t);
      const response = responseFrom(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      transport.close();
      closed.open();
      assert.deepEqual(await response.readBody(9), Buffer.from('ab'));
      await server.closed(1);
    });
  });
}

test('wire: a socket that the provider may have closed is not used, even before it is', async (t) => {
  const server = await startRawServer(t, { onRequest: (socket) => void socket.write(okResponse('{}', 'keep-alive: timeout=100\r\n')) });
  const transport = createWireTransport();
  t.after(() => transport.close());
  const call = async (): Promise<string> => bodyText(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
  await call();
  const laterMs = performance.now() + 50_000;
  t.mock.method(performance, 'now', () => laterMs);
  await call();
  assert.equal(server.connections(), 2);
  await server.closed(1);
});

test('100 Continue is more than fetch accepts: a failure, not a wrong answer', async (t) => {
  const server = await startRawServer(t, { onRequest: (socket) => void socket.write(INTERIM) });
  const result = await createFetchTransport().send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS);
  // Newer versions of fetch may learn to ignore it.
  if (result instanceof Failure) assert.equal(result.kind, 'unknown');
  else assert.equal(await bodyText(result), '{"n":1}');
});
