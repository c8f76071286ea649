/**
 * The connections to one provider: two agents of node:http, never the global one, whose timeouts and sharing nobody set.
 *
 * Knows nothing of calls and their limits.
 */

import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

const AGENT_SETTINGS = {
  keepAlive: true,
  // The most recently used socket is the least likely to have been closed; the others may go idle and close.
  scheduling: 'lifo',
  maxFreeSockets: 256,
  noDelay: true,
  // For idle sockets: closes them before common load balancers do (60 s), or earlier where the provider said so.
  timeout: 50_000,
  // Node gives each address of a host 250 ms by default, which distant networks exceed whatever the connect limit is.
  autoSelectFamilyAttemptTimeout: 1000,
} as const;

/** The connections to one provider. */
export class ConnectionPool {
  /** Keeps its connections and uses them again. */
  readonly kept: http.Agent;
  /** For a call that a kept socket failed, since the next kept one may be as stale: its connections are new, and closed afterwards. */
  readonly fresh: http.Agent;
  #isClosed = false;

  /** `protocol` as in a URL: `http:` or `https:`. */
  constructor(protocol: string) {
    const AgentClass = protocol === 'https:' ? https.Agent : http.Agent;
    this.kept = new AgentClass(AGENT_SETTINGS);
    this.fresh = new AgentClass({ ...AGENT_SETTINGS, keepAlive: false });
    this.#guardIdleSockets();
  }

  /**
   * An idle socket that receives anything is closed: no request is open, so the bytes would be taken for the answer to
   * the next one. Newer versions of Node do this themselves, Node 20 does not.
   */
  #guardIdleSockets(): void {
    const agent = this.kept;
    const keepSocketAlive = agent.keepSocketAlive.bind(agent) as (socket: Duplex) => unknown;
    const reuseSocket = agent.reuseSocket.bind(agent);
    agent.keepSocketAlive = (socket) => {
      if (this.#isClosed || socket.readableLength > 0) return false;
      socket.on('data', destroyThis);
      return keepSocketAlive(socket);
    };
    agent.reuseSocket = (socket, request) => {
      socket.off('data', destroyThis);
      reuseSocket(socket, request);
    };
  }

  /** Closes idle sockets now, and the others once their response has ended. */
  close(): void {
    this.#isClosed = true;
    for (const sockets of Object.values(this.kept.freeSockets)) {
      for (const socket of sockets ?? []) socket.destroy();
    }
  }

  /** Sockets in use and idle. */
  openSockets(): number {
    return countSockets(this.kept.sockets) + countSockets(this.kept.freeSockets) + countSockets(this.fresh.sockets);
  }
}

function destroyThis(this: Duplex): void {
  this.destroy();
}

function countSockets(byHost: NodeJS.ReadOnlyDict<Socket[]>): number {
  let count = 0;
  for (const sockets of Object.values(byHost)) count += sockets?.length ?? 0;
  return count;
}
