/** One contract, held by all transports. Where `fetch` cannot do what is asked, the test's name says so. */

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Scope } from '../../src/core/scope.ts';
import type { ScopeEnd } from '../../src/core/scope.ts';
import { createFetchTransport } from '../../src/upstream/fetch.ts';
import { createHttpTransport } from '../../src/upstream/http.ts';
import type { Transport } from '../../src/upstream/transport.ts';
import { createWireTransport } from '../../src/upstream/wire.ts';
import { BODY_BYTES_MAX, GET_CALL, LIMITS, bodyText, createGate, failureFrom, postCall, providerAt, responseFrom } from './attempts.ts';
import { createCertificate } from './certificate.ts';
import { CHUNKED_HEAD, LAST_CHUNK, chunkOf, closedBaseUrl, okResponse, startRawServer } from './raw-server.ts';

const CONTRACTS = [
  { name: 'http', isFetch: false, create: (): Transport => createHttpTransport() },
  { name: 'wire', isFetch: false, create: (): Transport => createWireTransport() },
  { name: 'fetch', isFetch: true, create: (): Transport => createFetchTransport() },
];

/** Handlers that answer every request with the given bytes and then do `after`. */
function answering(bytes: string | Buffer, after: (socket: Socket) => void = () => undefined) {
  return { onRequest: (socket: Socket): void => void socket.write(bytes, () => after(socket)) };
}

const endIt = (socket: Socket): void => void socket.end();
const resetIt = (socket: Socket): void => void socket.resetAndDestroy();

for (const { name, isFetch, create } of CONTRACTS) {
  const open = (t: TestContext): Transport => {
    const transport = create();
    t.after(() => transport.close());
    return transport;
  };

  describe(`${name}: the request`, () => {
    test('carries method, path below the base URL, body, key, and the fixed headers', async (t) => {
      const server = await startRawServer(t, answering(okResponse('{}')));
      const provider = providerAt(new URL('/api/v1', server.baseUrl));
      await bodyText(await open(t).send(provider, postCall('{"ü":1}', '/chat?beta=1'), new Scope(), LIMITS));
      const [request] = server.requests;
      assert.match(request?.head ?? '', /^POST \/api\/v1\/chat\?beta=1 HTTP\/1\.1\r\n/);
      assert.match(request?.head ?? '', /^content-type: application\/json\r$/im);
      assert.match(request?.head ?? '', /^authorization: Bearer sk-test-0123456789\r$/im);
      assert.match(request?.head ?? '', /^accept-encoding: identity\r$/im);
      assert.match(request?.head ?? '', /^user-agent: chat-completion-gateway\r$/im);
      assert.match(request?.head ?? '', /^content-length: 8\r$/im);
      assert.match(request?.head ?? '', new RegExp(`^host: ${server.baseUrl.host}\r$`, 'im'));
      assert.equal(Buffer.from(request?.body ?? '', 'latin1').toString(), '{"ü":1}');
    });

    test('has neither body nor key header when there is none', async (t) => {
      const server = await startRawServer(t, answering(okResponse('{}')));
      await bodyText(await open(t).send(providerAt(server.baseUrl, { keys: [] }), GET_CALL, new Scope(), LIMITS));
      assert.match(server.requests[0]?.head ?? '', /^GET \/models HTTP\/1\.1\r\n/);
      assert.doesNotMatch(server.requests[0]?.head ?? '', /^(authorization|content-length|transfer-encoding):/im);
    });

    test('that HTTP cannot carry is a failure that does not quote it', async (t) => {
      const server = await startRawServer(t, answering(okResponse('{}')));
      const call = { ...postCall(), headers: { 'x-broken': 'secret\nx' } };
      const failure = failureFrom(await open(t).send(providerAt(server.baseUrl), call, new Scope(), LIMITS));
      assert.equal(failure.kind, 'unknown');
      assert.equal(failure.isRetried, false);
      assert.equal(failure.message, 'the request to acme has a header or path that HTTP cannot carry');
      assert.equal(server.connections(), 0);
    });

    test('to an IPv6 address is not taken for a name to look up', async (t) => {
      const { port } = await closedBaseUrl();
      const result = await open(t).send(providerAt(new URL(`http://[::1]:${port}`)), postCall(), new Scope(), LIMITS);
      assert.doesNotMatch(failureFrom(result).message, /ENOTFOUND|EAI_AGAIN/);
    });
  });

  describe(`${name}: a whole response`, () => {
    test('gives status, lower-case headers and body', async (t) => {
      const server = await startRawServer(t, answering('HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\n{}'));
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      assert.equal(response.status, 429);
      assert.equal(response.headers['retry-after'], '7');
      assert.deepEqual(await response.readBody(BODY_BYTES_MAX), Buffer.from('{}'));
    });

    test('may be empty', async (t) => {
      const server = await startRawServer(t, answering(okResponse('')));
      assert.equal(await bodyText(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS)), '');
    });

    test('may have no body by its status', async (t) => {
      const server = await startRawServer(t, answering('HTTP/1.1 204 No Content\r\n\r\n'));
      assert.equal(await bodyText(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS)), '');
    });

    test('may end with the connection', async (t) => {
      const server = await startRawServer(t, answering('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nwhole', endIt));
      assert.equal(await bodyText(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS)), 'whole');
    });

    test('may have exactly as many bytes as allowed', async (t) => {
      const server = await startRawServer(t, answering(okResponse('12345')));
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      assert.deepEqual(await response.readBody(5), Buffer.from('12345'));
    });

    test('with one byte more is a failure', async (t) => {
      const server = await startRawServer(t, answering(okResponse('123456')));
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      const failure = failureFrom(await response.readBody(5));
      assert.equal(failure.kind, 'server');
      assert.equal(failure.message, "acme answered 200, but its body has more than 5 bytes, which is the gateway's limit");
      assert.equal(failure.isRetried, false);
    });

    test('without end is cut at the limit, and the connection with it', async (t) => {
      const zeros = chunkOf('0'.repeat(60_000));
      const server = await startRawServer(t, {
        onRequest: (socket) => {
          const push = (): void => {
            while (!socket.destroyed && socket.write(zeros));
          };
          socket.on('drain', push);
          socket.write(CHUNKED_HEAD);
          push();
        },
      });
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      assert.equal(failureFrom(await response.readBody(BODY_BYTES_MAX)).kind, 'server');
      await server.closed(1);
    });

    test('is not read when it is compressed', async (t) => {
      const body = gzipSync('{"secret":"plain"}');
      const head = `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${body.length + 1}\r\n\r\n`;
      const server = await startRawServer(t, answering(Buffer.concat([Buffer.from(head), body])));
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      const failure = failureFrom(await response.readBody(BODY_BYTES_MAX));
      assert.equal(failure.kind, 'server');
      assert.equal(failure.message, 'acme answered 200, but its body is compressed, which was not asked for');
      await server.closed(1);
    });

    test('of encoding identity is read', async (t) => {
      const server = await startRawServer(t, answering(okResponse('{}', 'content-encoding: identity\r\n')));
      assert.equal(await bodyText(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS)), '{}');
    });

    test('after 103 Early Hints is the one that counts', async (t) => {
      const server = await startRawServer(t, answering(`HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${okResponse('{"n":1}')}`));
      assert.equal(await bodyText(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS)), '{"n":1}');
    });

    test('before the request was read to its end is delivered, and the connection closed', async (t) => {
      const delivered = createGate();
      const server = await startRawServer(t, {
        onConnection: (socket) => {
          socket.once('data', () => {
            socket.pause();
            socket.end(okResponse('{"early":true}', 'connection: close\r\n'));
            void delivered.opened.then(() => socket.resume());
          });
        },
      });
      const call = postCall('x'.repeat(8 * 1024 * 1024));
      const result = await open(t).send(providerAt(server.baseUrl), call, new Scope(), LIMITS);
      assert.equal(await bodyText(result), '{"early":true}');
      delivered.open();
      await server.closed(1);
    });
  });

  describe(`${name}: a redirect`, () => {
    for (const status of [301, 302, 303, 307, 308]) {
      test(`of status ${status} is returned and never followed, wherever it points`, async (t) => {
        const other = await startRawServer(t, answering(okResponse('{}')));
        const locations = [`http://localhost:${other.baseUrl.port}/steal`, `//127.0.0.1:${other.baseUrl.port}/steal`, '/elsewhere', 'http://[broken', ''];
        const server = await startRawServer(t, {
          onRequest: (socket) => {
            const location = locations[server.requests.length - 1] ?? '';
            socket.write(`HTTP/1.1 ${status} Moved\r\nlocation: ${location}\r\ncontent-length: 0\r\n\r\n`);
          },
        });
        const transport = open(t);
        for (const _ of locations) {
          const response = responseFrom(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
          assert.equal(response.status, status);
          assert.equal((await response.readBody(10)).toString(), '');
        }
        assert.equal(server.requests.length, locations.length);
        assert.equal(other.connections(), 0);
      });
    }
  });

  describe(`${name}: no response`, () => {
    test('because nothing listens', async (t) => {
      const failure = failureFrom(await open(t).send(providerAt(await closedBaseUrl()), postCall(), new Scope(), LIMITS));
      assert.equal(failure.kind, 'unknown');
      assert.equal(failure.isRetried, true);
      assert.equal(failure.upstreamStatus, 0);
      assert.equal(failure.message, 'acme refused the connection (ECONNREFUSED)');
    });

    test('because the host does not exist', async (t) => {
      const failure = failureFrom(await open(t).send(providerAt(new URL('http://no-such-host.invalid')), postCall(), new Scope(), LIMITS));
      assert.equal(failure.kind, 'unknown');
      assert.equal(failure.isRetried, true);
      assert.match(failure.message, /^acme has a host name that .* \((ENOTFOUND|EAI_AGAIN)\)$/);
    });

    test('because the connection is reset once the request is in', async (t) => {
      const server = await startRawServer(t, { onRequest: resetIt });
      const failure = failureFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      assert.equal(failure.kind, 'unknown');
      assert.equal(failure.isRetried, true);
      assert.match(failure.message, /^acme closed the connection without an answer \([A-Z_]+\)$/);
      assert.equal(server.requests.length, 1);
    });

    test('because the connection is closed once the request is in', async (t) => {
      const server = await startRawServer(t, { onRequest: endIt });
      const failure = failureFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      assert.equal(failure.kind, 'unknown');
      assert.match(failure.message, /^acme closed the connection without an answer \([A-Z_]+\)$/);
      assert.equal(server.requests.length, 1);
    });

    test('because the head is cut in the middle', async (t) => {
      const server = await startRawServer(t, answering('HTTP/1.1 200 OK\r\ncontent-', endIt));
      const failure = failureFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      assert.ok(failure.isRetried);
    });

    test('because nobody vouches for the certificate, which is not tried again', async (t) => {
      const server = await startRawServer(t, { ...answering(okResponse('{}')), certificate: createCertificate() });
      const failure = failureFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      assert.equal(failure.kind, 'unknown');
      assert.equal(failure.isRetried, false);
      assert.equal(failure.message, 'the TLS certificate of acme was rejected (DEPTH_ZERO_SELF_SIGNED_CERT)');
      assert.equal(server.requests.length, 0);
    });

    for (const [what, bytes] of [
      ['it is not HTTP', 'SSH-2.0-OpenSSH_9.6\r\n\r\n'],
      ['it has two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}x'],
    ] as const) {
      test(`that is acceptable, because ${what}`, async (t) => {
        const server = await startRawServer(t, answering(bytes));
        const failure = failureFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
        assert.equal(failure.kind, 'server');
        assert.match(failure.message, /^acme sent an answer that is not acceptable HTTP \([A-Z_]+\)$/);
        await server.closed(1);
      });
    }

    test('within the limit on its head, which is not tried again', async (t) => {
      const server = await startRawServer(t, answering(okResponse('{}', `x-large: ${'x'.repeat(100_000)}\r\n`)));
      const failure = failureFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      assert.equal(failure.kind, 'server');
      assert.match(failure.message, /^acme answered, but its headers or trailers have more .*, which is the gateway's limit \([A-Z_]+\)$/);
      assert.equal(failure.isRetried, false);
      await server.closed(1);
    });

    test(`but another protocol (101) closes the connection${isFetch ? '; fetch does not say why' : ''}`, async (t) => {
      const server = await startRawServer(t, answering('HTTP/1.1 101 Switching\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\nhello'));
      const failure = failureFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      assert.equal(failure.kind, isFetch ? 'unknown' : 'server');
      await server.closed(1);
    });
  });

  describe(`${name}: a body that does not arrive whole`, () => {
    const json = '{"text":"a complete answer"}';
    for (const [how, cut] of [['reset', resetIt], ['closed', endIt]] as const) {
      for (const bytes of [0, 1, 14, json.length - 1]) {
        test(`is a failure when the connection is ${how} after ${bytes} of ${json.length} bytes`, async (t) => {
          const whole = okResponse(json);
          // The head is read before the cut, so that a reset cannot overtake it.
          const head = createGate();
          const server = await startRawServer(t, answering(whole.slice(0, whole.length - json.length + bytes), (socket) => void head.opened.then(() => cut(socket))));
          const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
          head.open();
          const failure = failureFrom(await response.readBody(BODY_BYTES_MAX));
          assert.equal(failure.kind, 'server');
          assert.equal(failure.upstreamStatus, 200);
          assert.match(failure.message, /^acme answered 200, but its body did not arrive whole( \([A-Z_]+\))?$/);
        });
      }
    }

    test(`is ${isFetch ? 'delivered by fetch' : 'a failure'} when the connection that alone ends it is reset`, async (t) => {
      const head = createGate();
      const server = await startRawServer(t, answering(`HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n${json}`, (socket) => void head.opened.then(() => resetIt(socket))));
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      head.open();
      const body = await response.readBody(BODY_BYTES_MAX);
      if (isFetch) assert.deepEqual(body, Buffer.from(json));
      else assert.equal(failureFrom(body).kind, 'server');
    });

    for (const [what, rest] of [
      ['before the last chunk', chunkOf('{"text":')],
      ['inside a chunk', '20\r\n{"text":'],
      ['inside the last chunk', `${chunkOf('{}')}0\r\n`],
    ] as const) {
      test(`is a failure when the chunked framing is cut ${what}`, async (t) => {
        const server = await startRawServer(t, answering(CHUNKED_HEAD + rest, endIt));
        const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
        assert.equal(failureFrom(await response.readBody(BODY_BYTES_MAX)).kind, 'server');
      });
    }

    test('is a failure when the chunked framing is broken', async (t) => {
      const server = await startRawServer(t, answering(`${CHUNKED_HEAD}${chunkOf('{}')}zz\r\n`));
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      assert.equal(failureFrom(await response.readBody(BODY_BYTES_MAX)).kind, 'server');
      await server.closed(1);
    });

    test(`is ${isFetch ? 'delivered by fetch' : 'a failure'} when more follows than was announced, and the connection is closed`, async (t) => {
      const server = await startRawServer(t, answering(`${okResponse('{"text":')}"lost"}`));
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      const body = await response.readBody(BODY_BYTES_MAX);
      if (isFetch) assert.deepEqual(body, Buffer.from('{"text":'));
      else assert.equal(failureFrom(body).kind, 'server');
      await server.closed(1);
    });

    test('is a failure also when nobody was reading at the time', async (t) => {
      const gate = createGate();
      const server = await startRawServer(t, answering(`${CHUNKED_HEAD}${chunkOf('{')}`, (socket) => void gate.opened.then(() => resetIt(socket))));
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      gate.open();
      await server.closed(1);
      assert.equal(failureFrom(await response.readBody(BODY_BYTES_MAX)).kind, 'server');
    });
  });

  describe(`${name}: a stream`, () => {
    test('hands over its chunks in order and ends with undefined', async (t) => {
      const server = await startRawServer(t, answering(CHUNKED_HEAD + chunkOf('one ') + chunkOf('two ') + chunkOf('three') + LAST_CHUNK));
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      let text = '';
      const failure = await response.readChunks((chunk) => {
        assert.ok(Buffer.isBuffer(chunk));
        text += chunk.toString();
      });
      assert.equal(failure, undefined);
      assert.equal(text, 'one two three');
    });

    test('waits for the promise of its receiver before the next chunk', async (t) => {
      const server = await startRawServer(t, answering(CHUNKED_HEAD + chunkOf('a') + chunkOf('b') + chunkOf('c') + LAST_CHUNK));
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      const events: string[] = [];
      const failure = await response.readChunks(async (chunk) => {
        events.push(`start ${chunk.toString()}`);
        await new Promise(setImmediate);
        events.push(`end ${chunk.toString()}`);
      });
      assert.equal(failure, undefined);
      assert.deepEqual(events.map((event) => event.split(' ')[0]), events.map((_, index) => (index % 2 === 0 ? 'start' : 'end')));
      assert.equal(events.filter((event) => event.startsWith('end')).map((event) => event.slice(4)).join(''), 'abc');
    });

    for (const [how, answer] of [['false', false], ['a promise of false', Promise.resolve(false as const)]] as const) {
      test(`stops, and closes the connection, when the receiver answers ${how}`, async (t) => {
        const server = await startRawServer(t, answering(CHUNKED_HEAD + chunkOf('a')));
        const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
        let calls = 0;
        const failure = await response.readChunks(() => {
          calls += 1;
          return answer;
        });
        assert.equal(failure, undefined);
        assert.equal(calls, 1);
        await server.closed(1);
      });
    }

    for (const [how, receive] of [
      ['throws', (): void => { throw new RangeError('bug'); }],
      ['rejects', (): Promise<void> => Promise.reject(new RangeError('bug'))],
    ] as const) {
      test(`rejects, and closes the connection, when the receiver ${how}`, async (t) => {
        const server = await startRawServer(t, answering(CHUNKED_HEAD + chunkOf('a')));
        const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
        await assert.rejects(response.readChunks(receive), { name: 'RangeError', message: 'bug' });
        await server.closed(1);
      });
    }

    test('is not read when it is compressed', async (t) => {
      const server = await startRawServer(t, answering('HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ntransfer-encoding: chunked\r\n\r\n'));
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      assert.equal(failureFrom(await response.readChunks(() => assert.fail('read'))).kind, 'server');
      await server.closed(1);
    });

    for (const [how, cut] of [['reset', resetIt], ['closed', endIt]] as const) {
      test(`that is ${how} in the middle is a failure, after what had come`, async (t) => {
        const read = createGate();
        const server = await startRawServer(t, answering(CHUNKED_HEAD + chunkOf('data: 1\n\n'), (socket) => void read.opened.then(() => cut(socket))));
        const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
        let text = '';
        const failure = failureFrom(await response.readChunks((chunk) => {
          text += chunk.toString();
          read.open();
        }));
        assert.equal(failure.kind, 'server');
        assert.equal(text, 'data: 1\n\n');
      });
    }

    test('that is cut while the receiver is busy fails once the receiver is ready', async (t) => {
      const read = createGate();
      const server = await startRawServer(t, answering(CHUNKED_HEAD + chunkOf('a'), (socket) => void read.opened.then(() => resetIt(socket))));
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      let isReady = false;
      const failure = await response.readChunks(async () => {
        read.open();
        await server.closed(1);
        isReady = true;
      });
      assert.equal(isReady, true);
      assert.equal(failureFrom(failure).kind, 'server');
    });

    test('of 50 MB stays with the provider while its receiver is busy', async (t) => {
      const piece = Buffer.from(chunkOf('x'.repeat(64 * 1024)));
      const pieces = 800;
      let accepted = 0;
      const server = await startRawServer(t, {
        onRequest: (socket) => {
          socket.write(CHUNKED_HEAD);
          const push = (): void => {
            if (accepted === pieces) socket.write(LAST_CHUNK);
            else socket.write(piece, () => {
              accepted += 1;
              push();
            });
          };
          push();
        },
      });
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      let chunksWhileBusy = 0;
      let acceptedWhileBusy = 0;
      let bytes = 0;
      const failure = await response.readChunks((chunk) => {
        bytes += chunk.length;
        if (chunksWhileBusy > 0) return undefined;
        chunksWhileBusy += 1;
        return untilStalled(() => accepted).then(() => {
          acceptedWhileBusy = accepted;
          assert.equal(bytes, chunk.length);
        });
      });
      assert.equal(failure, undefined);
      assert.equal(bytes, pieces * 64 * 1024);
      // What the kernel's two buffers hold, and a little of our own.
      assert.ok(acceptedWhileBusy < pieces / 3, `${acceptedWhileBusy} of ${pieces} pieces were accepted`);
    });
  });

  describe(`${name}: the time limits`, () => {
    test('end an attempt that gets no answer', async (t) => {
      const server = await startRawServer(t, { onRequest: () => undefined });
      const failure = failureFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), { ...LIMITS, attemptMs: 50 }));
      assert.equal(failure.kind, 'unknown');
      assert.equal(failure.isRetried, true);
      assert.equal(failure.limit, 'GATEWAY_ATTEMPT_TIMEOUT');
      assert.equal(failure.message, 'no complete answer from acme within 50 ms (GATEWAY_ATTEMPT_TIMEOUT)');
      await server.closed(1);
    });

    test('end a large request that the provider does not read', async (t) => {
      const given = createGate();
      const server = await startRawServer(t, {
        onConnection: (socket) => {
          socket.pause();
          void given.opened.then(() => socket.resume());
        },
      });
      const limits = { ...LIMITS, attemptMs: 300 };
      const failure = failureFrom(await open(t).send(providerAt(server.baseUrl), postCall('x'.repeat(16 * 1024 * 1024)), new Scope(), limits));
      assert.equal(failure.limit, 'GATEWAY_ATTEMPT_TIMEOUT');
      given.open();
      await server.closed(1);
    });

    test('end a body that stops', async (t) => {
      const server = await startRawServer(t, answering('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{'));
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), { ...LIMITS, attemptMs: 300 }));
      const failure = failureFrom(await response.readBody(BODY_BYTES_MAX));
      assert.equal(failure.limit, 'GATEWAY_ATTEMPT_TIMEOUT');
      await server.closed(1);
    });

    test('end a response that nobody reads', async (t) => {
      const server = await startRawServer(t, answering(`${CHUNKED_HEAD}${chunkOf('a')}`));
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), { ...LIMITS, attemptMs: 300 }));
      await server.closed(1);
      assert.equal(failureFrom(await response.readBody(BODY_BYTES_MAX)).limit, 'GATEWAY_ATTEMPT_TIMEOUT');
    });

    test('end a stream that falls silent, as the failure of the provider', async (t) => {
      const server = await startRawServer(t, answering(CHUNKED_HEAD + chunkOf('a')));
      const limits = { ...LIMITS, idleMs: 60 };
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), limits));
      const failure = failureFrom(await response.readChunks(() => response.startIdleLimit()));
      assert.equal(failure.kind, 'server');
      assert.equal(failure.limit, 'GATEWAY_STREAM_IDLE_TIMEOUT');
      assert.equal(failure.message, 'acme was silent for 60 ms inside a stream (GATEWAY_STREAM_IDLE_TIMEOUT)');
      await server.closed(1);
    });

    test('let a stream last beyond the attempt limit once it has begun, and count its silence anew with every chunk', async (t) => {
      let sent = 0;
      const server = await startRawServer(t, {
        onRequest: (socket) => {
          socket.write(CHUNKED_HEAD);
          const timer = setInterval(() => {
            sent += 1;
            socket.write(sent < 12 ? chunkOf('a') : LAST_CHUNK);
            if (sent === 12) clearInterval(timer);
          }, 50);
        },
      });
      const limits = { ...LIMITS, attemptMs: 500, idleMs: 400 };
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), limits));
      response.startIdleLimit();
      assert.equal(await response.readChunks(() => undefined), undefined);
      assert.equal(sent, 12);
    });

    test('leave a begun stream without idle limit alone', async (t) => {
      const server = await startRawServer(t, {
        onRequest: (socket) => {
          socket.write(CHUNKED_HEAD + chunkOf('a'));
          setTimeout(() => socket.write(LAST_CHUNK), 400);
        },
      });
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), { ...LIMITS, attemptMs: 300 }));
      response.startIdleLimit();
      response.startIdleLimit();
      assert.equal(await response.readChunks(() => undefined), undefined);
    });

    test('do not count time in which the receiver is busy as silence', async (t) => {
      const server = await startRawServer(t, answering(CHUNKED_HEAD + chunkOf('a'), (socket) => void slow.opened.then(() => socket.write(LAST_CHUNK))));
      const slow = createGate();
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), { ...LIMITS, idleMs: 300 }));
      response.startIdleLimit();
      const failure = await response.readChunks(async () => {
        await new Promise((resolve) => setTimeout(resolve, 350));
        slow.open();
      });
      assert.equal(failure, undefined);
    });

    test(`cover a TLS handshake that never ends${isFetch ? ', with the attempt limit since fetch does not show the connection, and drops it in its own time' : ''}`, async (t) => {
      const server = await startRawServer(t, { onConnection: () => undefined });
      const provider = providerAt(new URL(`https://127.0.0.1:${server.baseUrl.port}`));
      const limits = isFetch ? { ...LIMITS, attemptMs: 100 } : { ...LIMITS, connectMs: 100 };
      const failure = failureFrom(await open(t).send(provider, postCall(), new Scope(), limits));
      assert.equal(failure.kind, 'unknown');
      assert.equal(failure.isRetried, true);
      assert.equal(failure.limit, isFetch ? 'GATEWAY_ATTEMPT_TIMEOUT' : 'GATEWAY_CONNECT_TIMEOUT');
      if (!isFetch) await server.closed(1);
    });

    test('leave no timer behind, however an attempt ends', async (t) => {
      const server = await startRawServer(t, {
        onRequest: (socket, { head }) => {
          if (head.startsWith('GET')) socket.write(okResponse('{}'));
          else if (head.includes('/cut')) socket.end(CHUNKED_HEAD + chunkOf('a'));
          else if (head.includes('/stream')) socket.write(CHUNKED_HEAD + chunkOf('a'));
          else socket.resetAndDestroy();
        },
      });
      const transport = open(t);
      const provider = providerAt(server.baseUrl);
      const limits = { connectMs: 3_600_001, attemptMs: 3_600_002, idleMs: 3_600_003 };
      const before = longTimers();
      await bodyText(await transport.send(provider, GET_CALL, new Scope(), limits));
      failureFrom(await transport.send(provider, postCall('{}', '/reset'), new Scope(), limits));
      failureFrom(await responseFrom(await transport.send(provider, postCall('{}', '/cut'), new Scope(), limits)).readBody(9));
      const stream = responseFrom(await transport.send(provider, postCall('{}', '/stream'), new Scope(), limits));
      stream.startIdleLimit();
      assert.equal(longTimers(), before + 1);
      stream.discard();
      stream.startIdleLimit();
      assert.equal(longTimers(), before);
    });
  });

  describe(`${name}: the end of the exchange`, () => {
    const phrases: Readonly<Record<ScopeEnd, string>> = {
      'caller-gone': 'the caller hung up',
      'caller-stalled': 'the caller stopped reading',
      deadline: "the request's time was over",
      shutdown: 'the gateway is shutting down',
      outpaced: 'another target answered earlier',
    };
    for (const reason of ['caller-gone', 'caller-stalled', 'deadline', 'shutdown'] as const) {
      test(`before the attempt (${reason}) means that nothing is sent`, async (t) => {
        const server = await startRawServer(t, answering(okResponse('{}')));
        const scope = new Scope();
        scope.end(reason);
        const failure = failureFrom(await open(t).send(providerAt(server.baseUrl), postCall(), scope, LIMITS));
        assert.equal(failure.kind, 'unknown');
        assert.equal(failure.isRetried, false);
        assert.equal(failure.message, phrases[reason]);
        assert.equal(server.connections(), 0);
      });
    }

    test(`while connecting closes the connection${isFetch ? ', which fetch does in its own time' : ''}`, async (t) => {
      const connected = createGate();
      const server = await startRawServer(t, { onConnection: connected.open });
      const scope = new Scope();
      const sending = open(t).send(providerAt(new URL(`https://127.0.0.1:${server.baseUrl.port}`)), postCall(), scope, LIMITS);
      await connected.opened;
      scope.end('caller-gone');
      assert.equal(failureFrom(await sending).message, 'the caller hung up');
      if (!isFetch) await server.closed(1);
    });

    test('right after the call is answered at once', async (t) => {
      const server = await startRawServer(t, answering(okResponse('{}')));
      const scope = new Scope();
      const sending = open(t).send(providerAt(server.baseUrl), postCall(), scope, LIMITS);
      scope.end('shutdown');
      assert.equal(failureFrom(await sending).message, 'the gateway is shutting down');
    });

    test('while waiting for the answer closes the connection', async (t) => {
      const server = await startRawServer(t, { onRequest: () => undefined });
      const scope = new Scope();
      const sending = open(t).send(providerAt(server.baseUrl), postCall(), scope, LIMITS);
      await server.arrived(1);
      scope.end('deadline');
      const failure = failureFrom(await sending);
      assert.equal(failure.message, "the request's time was over");
      assert.equal(failure.isRetried, false);
      await server.closed(1);
    });

    test('between headers and body is found when the body is read', async (t) => {
      const server = await startRawServer(t, answering(CHUNKED_HEAD + chunkOf('{')));
      const scope = new Scope();
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), scope, LIMITS));
      scope.end('caller-gone');
      assert.equal(failureFrom(await response.readBody(9)).message, 'the caller hung up');
      await server.closed(1);
    });

    test('inside a body closes the connection', async (t) => {
      const server = await startRawServer(t, answering('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{'));
      const scope = new Scope();
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), scope, LIMITS));
      const reading = response.readBody(BODY_BYTES_MAX);
      scope.end('caller-gone');
      const failure = failureFrom(await reading);
      assert.equal(failure.kind, 'unknown');
      assert.equal(failure.isRetried, false);
      await server.closed(1);
    });

    test('inside a stream closes the connection', async (t) => {
      const server = await startRawServer(t, answering(CHUNKED_HEAD + chunkOf('a')));
      const scope = new Scope();
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), scope, LIMITS));
      response.startIdleLimit();
      const failure = failureFrom(await response.readChunks(() => scope.end('caller-stalled')));
      assert.equal(failure.message, 'the caller stopped reading');
      await server.closed(1);
    });

    test('while the receiver is busy fails the stream once the receiver is ready', async (t) => {
      const server = await startRawServer(t, answering(CHUNKED_HEAD + chunkOf('a')));
      const scope = new Scope();
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), scope, LIMITS));
      const told: string[] = [];
      const failure = await response.readChunks(() =>
        new Promise((resolve) => {
          // The slot is the receiver's while it waits.
          scope.onEnd(() => {
            told.push('receiver');
            resolve();
          });
          setImmediate(() => scope.end('caller-gone'));
        }),
      );
      assert.deepEqual(told, ['receiver']);
      assert.equal(failureFrom(failure).message, 'the caller hung up');
      await server.closed(1);
    });

    test('closes the connection also when a busy receiver did not take the slot', async (t) => {
      const server = await startRawServer(t, answering(CHUNKED_HEAD + chunkOf('a')));
      const scope = new Scope();
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), scope, LIMITS));
      const failure = await response.readChunks(async () => {
        scope.end('caller-gone');
        await server.closed(1);
      });
      assert.equal(failureFrom(failure).message, 'the caller hung up');
    });

    test('after the body has no effect: nobody holds the slot, and the connection is kept', async (t) => {
      const server = await startRawServer(t, answering(okResponse('{}')));
      const transport = open(t);
      const scope = new Scope();
      await bodyText(await transport.send(providerAt(server.baseUrl), postCall(), scope, LIMITS));
      scope.end('caller-gone');
      await new Promise(setImmediate);
      await bodyText(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      assert.equal(server.connections(), 1);
    });

    test('is for somebody else to hear while the response lies unread', async (t) => {
      const server = await startRawServer(t, answering(CHUNKED_HEAD + chunkOf('a')));
      const scope = new Scope();
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), scope, LIMITS));
      let isTold = false;
      scope.onEnd(() => {
        isTold = true;
      });
      response.discard();
      scope.end('caller-gone');
      assert.equal(isTold, true);
    });
  });

  describe(`${name}: discard`, () => {
    test('closes the connection of an unread response', async (t) => {
      const server = await startRawServer(t, answering(okResponse('x'.repeat(200_000))));
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      response.discard();
      response.discard();
      await server.closed(1);
    });

    test('keeps the connection of a response read to its end', async (t) => {
      const server = await startRawServer(t, answering(okResponse('{}')));
      const transport = open(t);
      const response = responseFrom(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      await response.readBody(9);
      response.discard();
      await new Promise(setImmediate);
      await bodyText(await transport.send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      assert.equal(server.connections(), 1);
    });

    test('inside a stream ends it without a failure', async (t) => {
      const server = await startRawServer(t, answering(CHUNKED_HEAD + chunkOf('a')));
      const response = responseFrom(await open(t).send(providerAt(server.baseUrl), postCall(), new Scope(), LIMITS));
      assert.equal(await response.readChunks(() => response.discard()), undefined);
      await server.closed(1);
    });
  });
}

/** Resolves once `count` has stood still for 300 turns of the event loop. */
async function untilStalled(count: () => number): Promise<void> {
  let last = -1;
  for (let still = 0; still < 300; still += 1) {
    await new Promise(setImmediate);
    if (count() !== last) still = 0;
    last = count();
  }
}

/** How many timers of this process are set. */
function longTimers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
}
