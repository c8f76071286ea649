import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { Pacer, PIECES_PER_TURN } from '../../src/base/pacer.ts';
import type { Pausable } from '../../src/base/pacer.ts';

/** Says when it was paused and resumed, as a socket does. */
class FakeSocket extends EventEmitter {
  readonly did: string[] = [];

  pause(): this {
    this.did.push('pause');
    return this;
  }

  resume(): this {
    this.did.push('resume');
    this.emit('resume');
    return this;
  }
}

function pacerOf(socket: FakeSocket): Pacer {
  return new Pacer(socket as unknown as Pausable);
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function count(pacer: Pacer, pieces: number): void {
  for (let i = 0; i < pieces; i += 1) pacer.count(1);
}

test('Pacer leaves a socket alone that brings few pieces', async () => {
  const socket = new FakeSocket();
  count(pacerOf(socket), PIECES_PER_TURN - 1);
  await nextTurn();
  assert.deepEqual(socket.did, []);
});

test('Pacer lets a socket rest for a turn after many pieces, once, however many still come', async () => {
  const socket = new FakeSocket();
  const pacer = pacerOf(socket);
  count(pacer, 10 * PIECES_PER_TURN);
  assert.deepEqual(socket.did, ['pause']);
  await nextTurn();
  assert.deepEqual(socket.did, ['pause', 'resume']);
  count(pacer, PIECES_PER_TURN - 1);
  assert.deepEqual(socket.did, ['pause', 'resume']);
  count(pacer, 1);
  await nextTurn();
  assert.deepEqual(socket.did, ['pause', 'resume', 'pause', 'resume']);
});

test('Pacer counts a large piece as the many events that it may hold', async () => {
  const socket = new FakeSocket();
  const pacer = pacerOf(socket);
  for (let i = 0; i < 3; i += 1) pacer.count(64 * 1024);
  assert.deepEqual(socket.did, []);
  pacer.count(64 * 1024);
  assert.deepEqual(socket.did, ['pause']);
  await nextTurn();
  assert.deepEqual(socket.did, ['pause', 'resume']);
});

test('Pacer keeps a socket at rest that somebody else resumes, and lets go of it afterwards', async () => {
  const socket = new FakeSocket();
  count(pacerOf(socket), PIECES_PER_TURN);
  socket.resume();
  assert.deepEqual(socket.did, ['pause', 'resume', 'pause']);
  await nextTurn();
  assert.equal(socket.did.at(-1), 'resume');
  assert.equal(socket.listenerCount('resume'), 0);
});
