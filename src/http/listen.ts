/** Where the server accepts connections: a TCP address or a Unix socket. */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { linkSync, lstatSync, renameSync, unlinkSync } from 'node:fs';
import { connect } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import type { Config } from '../config/config.ts';

type Address = Config['listen'];

/** Callers that the kernel lets wait to be accepted, where the system allows as many; the usual 511 are soon full. */
const BACKLOG = 4096;

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
  if (address.type === 'unix') server.listen({ path: address.path, backlog: BACKLOG });
  else server.listen({ port: address.port, host: address.host, backlog: BACKLOG });
  await once(server, 'listening');
}

/** Removes a socket on which nobody answers; true when it did. Any other file is left alone. */
async function removeStaleSocket(path: string): Promise<boolean> {
  try {
    const found = identityOf(path);
    if (found === undefined || !(await isRefused(path)) || identityOf(path) !== found) return false;
    return removeIfSame(path, found);
  } catch {
    // Not there, or not ours to touch: whoever wanted to listen has the better error.
    return false;
  }
}

/** Which socket it is; undefined for any other file. A new one may get the number of the one before. */
function identityOf(path: string): string | undefined {
  const file = lstatSync(path, { bigint: true });
  return file.isSocket() ? `${file.dev}:${file.ino}:${file.mtimeNs}` : undefined;
}

/**
 * Removes the file if it is the one that was found to be dead. Another starter may have put its own there since, even
 * between two calls of the system; so it is moved out of the way first, which only one can do, and looked at again.
 */
function removeIfSame(path: string, found: string): boolean {
  const aside = `${path}.${randomUUID()}`;
  renameSync(path, aside);
  try {
    const isSame = identityOf(aside) === found;
    if (!isSame) linkSync(aside, path);
    return isSame;
  } finally {
    unlinkSync(aside);
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
