import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { describe, test } from 'node:test';
import { Scope } from '../../src/core/scope.ts';
import { SocketRoom } from '../../src/upstream/socket-room.ts';
import { LIMITS, SOCKET_TRANSPORTS, bodyText, postCall, providerAt } from './attempts.ts';
import { okResponse, startRawServer } from './raw-server.ts';

function opened(room: SocketRoom, count: number): Duplex[] {
  return Array.from({ length: count }, () => {
    const socket = new Duplex({ read: () => undefined, write: () => undefined });
    room.opened(socket);
    return socket;
  });
}

const destroyed = (sockets: readonly Duplex[]): readonly boolean[] => sockets.map((socket) => socket.destroyed);

describe('SocketRoom', () => {
  test('closes the socket that was idle longest once there are too many, and never one in use', () => {
    const room = new SocketRoom(3);
    const sockets = opened(room, 3);
    for (const socket of sockets) room.startIdle(socket);
    const [first] = sockets;
    assert.ok(first);
    room.endIdle(first);
    const more = opened(room, 1);
    assert.deepEqual(destroyed([...sockets, ...more]), [false, true, false, false]);
    const evenMore = opened(room, 5);
    assert.deepEqual(destroyed([...sockets, ...more, ...evenMore]), [false, true, true, false, false, false, false, false, false]);
  });

  test('lets none stay idle beyond its bound', () => {
    const room = new SocketRoom(2);
    const sockets = opened(room, 4);
    for (const socket of sockets) room.startIdle(socket);
    assert.deepEqual(destroyed(sockets), [true, true, false, false]);
  });

  test('counts no socket that has closed', async () => {
    const room = new SocketRoom(2);
    const sockets = opened(room, 2);
    const [first, second] = sockets;
    assert.ok(first && second);
    room.startIdle(first);
    second.destroy();
    await new Promise(setImmediate);
    const [third] = opened(room, 1);
    assert.deepEqual([first.destroyed, third?.destroyed], [false, false]);
  });

  test('keeps at most 512 idle, whatever else is allowed', () => {
    const room = new SocketRoom();
    const sockets = opened(room, 514);
    for (const socket of sockets) room.startIdle(socket);
    assert.equal(sockets.filter((socket) => socket.destroyed).length, 2);
    assert.deepEqual(destroyed(sockets.slice(0, 3)), [true, true, false]);
  });
});

for (const [name, createTransport] of SOCKET_TRANSPORTS) {
  test(`${name}: a provider's idle socket gives way to another provider's call, and its own calls still succeed`, async (t) => {
    const servers = await Promise.all([1, 2, 3].map(() => startRawServer(t, { onRequest: (socket, { body }) => void socket.write(okResponse(body)) })));
    const transport = createTransport({ socketsMax: 2 });
    t.after(() => transport.close());
    const providers = servers.map((server, index) => providerAt(server.baseUrl, { name: `p${index}` }));
    const callAll = async (): Promise<void> => {
      for (const provider of providers) {
        assert.equal(await bodyText(await transport.send(provider, postCall(), new Scope(), LIMITS)), '{"n":1}');
        await new Promise(setImmediate);
      }
    };
    await callAll();
    await servers[0]?.closed(1);
    assert.deepEqual(servers.map((server) => server.openSockets()), [0, 1, 1]);
    for (let round = 0; round < 20; round += 1) await callAll();
    assert.equal(transport.openSockets(), 2);
  });
}
