/** Where the server accepts connections: a TCP address or a Unix socket. */

import { once } from 'node:events';
import { lstatSync, unlinkSync } from 'node:fs';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { Config } from '../config/settings.ts';

type Address = Config['listen'];

/**
 * Starts listening; resolves with where, e.g. `http://127.0.0.1:8080` or `unix:/run/gateway.sock`. A socket file that a dead
 * process left behind is removed first. Rejects with an error with a `code` when the address cannot be had, e.g. because
 * a living process listens there.
 */
export async function listen(server: Server, address: Address, scheme: string): Promise<string> {
  try {
    await listenOnce(server, address);
  } catch (thrown) {
    if (address.type !== 'unix' || !(await removeStaleSocket(address.path))) throw thrown;
    await listenOnce(server, address);
  }
  const bound = server.address() as AddressInfo | string;
  return typeof bound === 'string' ? `unix:${bound}` : `${scheme}://${hostOf(bound)}:${bound.port}`;
}

async function listenOnce(server: Server, address: Address): Promise<void> {
  if (address.type === 'unix') server.listen(address.path);
  else server.listen(address.port, address.host);
  await once(server, 'listening');
}

/** Removes a socket on which nobody answers; true when it did. Any other file is left alone. */
async function removeStaleSocket(path: string): Promise<boolean> {
  try {
    if (!lstatSync(path).isSocket() || !(await isRefused(path))) return false;
    unlinkSync(path);
    return true;
  } catch {
    // Not there, or not ours to touch: whoever wanted to listen has the better error.
    return false;
  }
}

function isRefused(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.on('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
  });
}

function hostOf(address: AddressInfo): string {
  if (address.address === '::' || address.address === '0.0.0.0') return 'localhost';
  return address.family === 'IPv6' ? `[${address.address}]` : address.address;
}
