/**
 * Where a request came from, for the log: the connection's other end or, where that is a trusted proxy, who the proxy
 * says it was.
 *
 * Whatever a header holds, only an IP address leaves here. A caller can write anything into these headers; what a
 * trusted proxy added stands at their right end, so they are read from there, until the first address that is not trusted.
 */

import type { IncomingHttpHeaders } from 'node:http';
import { isIPv4, isIPv6, Socket, SocketAddress } from 'node:net';
import type { BlockList } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Config } from '../config/config.ts';

/** Longer chains of trusted proxies are not followed. */
const HOPS_MAX = 16;
const MAPPED = '::ffff:';

/**
 * The address behind `peer`, the connection's other end; undefined where that is unknown, as on a Unix socket. An element
 * that names no address ends the search: the last proxy is all that is known. So does a doubt: a request that has both
 * headers, of which a proxy usually writes one and passes the other on, has to name one address in both.
 */
export function callerAddress(peer: string | undefined, headers: IncomingHttpHeaders, trusted: BlockList): string | undefined {
  const address = peer === undefined ? undefined : addressFrom(peer.replace(/%.*$/, ''));
  const { forwarded, 'x-forwarded-for': list } = headers;
  // Most requests have neither, and looking an address up costs 2 µs.
  if (address === undefined || (forwarded ?? list) === undefined || !isTrusted(address, trusted)) return address;
  const fromForwarded = forwarded === undefined ? undefined : behind(address, forwardedFor(forwarded), trusted);
  const fromList = list === undefined ? undefined : behind(address, String(list).split(','), trusted);
  if (fromForwarded !== undefined && fromList !== undefined && fromForwarded !== fromList) return address;
  return fromForwarded ?? fromList ?? address;
}

/** Of a connection without a request, where the log is to have it: its other end. */
export function connectionAddress(socket: Duplex, { logsAddress, trustedProxies }: Config): string | undefined {
  return logsAddress && socket instanceof Socket ? callerAddress(socket.remoteAddress, {}, trustedProxies) : undefined;
}

/** The nearest address that is not trusted, or the last that could be read. `nodes` are ordered as in the header: the nearest last. */
function behind(proxy: string, nodes: readonly string[], trusted: BlockList): string {
  let last = proxy;
  for (const node of nodes.slice(-HOPS_MAX).reverse()) {
    const address = addressFrom(withoutPort(node.trim()));
    if (address === undefined) return last;
    last = address;
    if (!isTrusted(address, trusted)) return address;
  }
  return last;
}

/** `192.0.2.1:80`, `[2001:db8::1]:80` and `[2001:db8::1]` without what is not the address. */
function withoutPort(node: string): string {
  return /^\[([^\]]*)\](?::\d{1,5})?$/.exec(node)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(node)?.[1] ?? node;
}

/** In one spelling, an IPv4 address inside IPv6 as IPv4; undefined when the text is no address. A zone means nothing elsewhere. */
function addressFrom(text: string): string | undefined {
  if (isIPv4(text)) return text;
  // How a socket that listens to both names every IPv4 address; any other spelling takes 3 µs.
  if (text.startsWith(MAPPED) && isIPv4(text.slice(MAPPED.length))) return text.slice(MAPPED.length);
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const { address } = new SocketAddress({ address: text, family: 'ipv6' });
  return address.startsWith(MAPPED) && address.includes('.') ? address.slice(MAPPED.length) : address;
}

function isTrusted(address: string, trusted: BlockList): boolean {
  return trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/**
 * The `for` of each element of a `Forwarded` header (RFC 7239, section 4), without quotes; empty where an element has none.
 * Commas and semicolons inside quotes separate nothing: a proxy may repeat a caller's Host there.
 */
function forwardedFor(header: string): string[] {
  const nodes = [''];
  for (const [token] of header.matchAll(/,|;|(?:"(?:[^"\\]|\\.)*"|[^",;])+|"/g)) {
    // A quote that nothing closes: where elements end cannot be told.
    if (token === '"') return [];
    const node = /^\s*for=(?:"([^"\\]*)"|([^\s"]*))\s*$/i.exec(token);
    if (token === ',') nodes.push('');
    else if (node !== null) nodes[nodes.length - 1] = node[1] ?? node[2] ?? '';
  }
  return nodes;
}
