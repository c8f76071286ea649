/** What only the fetch transport does: it takes the function of an embedder. */

import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { Failure } from '../../src/core/failure.ts';
import { Scope } from '../../src/core/scope.ts';
import { createFetchTransport } from '../../src/upstream/fetch.ts';
import { BODY_BYTES_MAX, LIMITS, bodyText, createGate, failureFrom, postCall, providerAt, responseFrom } from './attempts.ts';

const PROVIDER = providerAt(new URL('https://user:password@api.example.com:8443/v1'));

describe('fetch: a function that an embedder brings', () => {
  test('is called once, as a function, with URL, method, headers, body, signal and redirect', async () => {
    const calls: { readonly self: unknown; readonly input: unknown; readonly init: RequestInit | undefined }[] = [];
    async function ownFetch(this: unknown, input: unknown, init?: RequestInit): Promise<Response> {
      calls.push({ self: this, input, init });
      return new Response('{"n":1}', { status: 201, headers: { 'X-Own': 'yes' } });
    }
    const response = responseFrom(await createFetchTransport(ownFetch).send(PROVIDER, postCall('{}', '/chat?x=1'), new Scope(), LIMITS));
    assert.equal(response.status, 201);
    assert.equal(response.headers['x-own'], 'yes');
    assert.deepEqual(await response.readBody(BODY_BYTES_MAX), Buffer.from('{"n":1}'));
    assert.equal(calls.length, 1);
    const [call] = calls;
    assert.equal(call?.self, undefined);
    assert.equal(call?.input, 'https://api.example.com:8443/v1/chat?x=1');
    assert.equal(call?.init?.method, 'POST');
    assert.equal(call?.init?.redirect, 'manual');
    assert.deepEqual(Object.fromEntries(new Headers(call?.init?.headers)), {
      'accept-encoding': 'identity',
      authorization: 'Bearer sk-test-0123456789',
      'content-type': 'application/json',
      'user-agent': 'chat-completion-gateway',
    });
    assert.equal(call?.init?.body, '{}');
    assert.equal(call?.init?.signal?.aborted, false);
  });

  test('may answer without a body', async () => {
    const transport = createFetchTransport(async () => new Response(null, { status: 204 }));
    assert.equal(await bodyText(await transport.send(PROVIDER, postCall(), new Scope(), LIMITS)), '');
  });

  test('whose body breaks while the receiver is busy has what came before that handed over', async () => {
    const source: { controller?: ReadableStreamDefaultController<Uint8Array> } = {};
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void (source.controller = controller) });
    const response = responseFrom(await createFetchTransport(async () => new Response(body)).send(PROVIDER, postCall(), new Scope(), LIMITS));
    source.controller?.enqueue(Buffer.from('a'));
    let text = '';
    const failure = failureFrom(await response.readChunks(async (chunk) => {
      text += chunk.toString();
      if (text !== 'a') return;
      await new Promise(setImmediate);
      source.controller?.enqueue(Buffer.from('b'));
      source.controller?.error(new TypeError('terminated'));
      await new Promise(setImmediate);
    }));
    assert.equal(text, 'ab');
    assert.equal(failure.kind, 'server');
  });

  test('may fail with anything', async () => {
    const transport = createFetchTransport(() => Promise.reject('sk-secret'));
    const failure = failureFrom(await transport.send(PROVIDER, postCall(), new Scope(), LIMITS));
    assert.equal(failure.kind, 'unknown');
    assert.equal(failure.message, 'acme could not be reached');
  });

  test('may throw', async () => {
    const transport = createFetchTransport(() => {
      throw new TypeError('sk-secret');
    });
    assert.equal(failureFrom(await transport.send(PROVIDER, postCall(), new Scope(), LIMITS)).message, 'acme could not be reached');
  });

  test('that answers although it was aborted is not listened to', async () => {
    const gate = createGate();
    const transport = createFetchTransport(() => gate.opened.then(() => new Response('{}')));
    const scope = new Scope();
    const sending = transport.send(PROVIDER, postCall(), scope, LIMITS);
    scope.end('caller-gone');
    gate.open();
    assert.equal(failureFrom(await sending).message, 'the caller hung up');
  });

  test('is waited for no longer than the call, though it does not honour the signal', async () => {
    const scope = new Scope();
    const sent = createFetchTransport(() => new Promise(() => undefined)).send(PROVIDER, postCall(), scope, LIMITS);
    scope.end('caller-gone');
    assert.equal(failureFrom(await sent).message, 'the caller hung up');
  });

  test('may answer with a body of its own, which is waited for no longer either', async () => {
    let cancelled = 0;
    const body = new ReadableStream({ cancel: () => void (cancelled += 1) });
    const scope = new Scope();
    const response = responseFrom(await createFetchTransport(async () => new Response(body)).send(PROVIDER, postCall(), scope, LIMITS));
    const read = response.readBody(BODY_BYTES_MAX);
    scope.end('caller-gone');
    const failure = await read;
    assert.ok(failure instanceof Failure);
    assert.deepEqual([failure.message, cancelled], ['the caller hung up', 1]);
  });

  test("may answer with a stream of Node's in place of a web one, as node-fetch does", async () => {
    const scope = new Scope();
    const whole = Readable.from([Buffer.from('{"n":'), Buffer.from('1}')]);
    const endless = new Readable({ read() {} });
    endless.push('a');
    const bodies = [whole, endless];
    const transport = createFetchTransport(async () => ({ status: 200, headers: new Headers(), body: bodies.shift() }) as unknown as Response);
    assert.equal(await bodyText(await transport.send(PROVIDER, postCall(), scope, LIMITS)), '{"n":1}');
    const response = responseFrom(await transport.send(PROVIDER, postCall(), scope, LIMITS));
    const failure = failureFrom(await response.readChunks(() => void scope.end('caller-gone')));
    assert.equal(failure.message, 'the caller hung up');
    await new Promise((resolve) => endless.on('close', resolve));
  });

  test('may answer with a body that nobody can read, such as that of one response for every call, and leaves no timer behind', async () => {
    const same = new Response('{}');
    const transport = createFetchTransport(async () => same);
    assert.equal(await bodyText(await transport.send(PROVIDER, postCall(), new Scope(), LIMITS)), '{}');
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    const again = responseFrom(await transport.send(PROVIDER, postCall(), new Scope(), LIMITS));
    assert.equal(failureFrom(await again.readBody(BODY_BYTES_MAX)).message, 'acme answered 200, but its body did not arrive whole (ERR_INVALID_STATE)');
    assert.equal(timers(), before);
  });

  test('leaves the sockets to itself', () => {
    const transport = createFetchTransport();
    transport.close();
    assert.equal(transport.openSockets(), 0);
  });
});
