/**
 * Calls through an HTTP proxy: which providers use it, and the tunnel through it.
 *
 * https goes through a tunnel (CONNECT, RFC 9110 section 9.3.6), so the proxy sees a host name and nothing else. http is handed
 * to the proxy request by request in absolute form (RFC 9112 section 3.2.2): proxies commonly allow CONNECT to port 443 only.
 */

import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { hostnameOf } from '../base/proxy-address.ts';
import type { ProxyAddress } from '../base/proxy-address.ts';
import { ProxyError, RESPONSE_HEAD_BYTES_MAX } from './transport-failure.ts';

export type ProxySettings = {
  readonly httpsProxy: ProxyAddress | undefined;
  readonly httpProxy: ProxyAddress | undefined;
  /** Lower case. */
  readonly noProxy: readonly string[];
};

/** The proxy on the way to a URL; undefined = none. Loopback is no exception: a proxy may be there as well. */
export function proxyFor(settings: ProxySettings, url: URL): ProxyAddress | undefined {
  const proxy = url.protocol === 'https:' ? settings.httpsProxy : settings.httpProxy;
  return settings.noProxy.some((rule) => isExempt(rule, url)) ? undefined : proxy;
}

/**
 * A rule as curl reads it: `*`, or a host, which stands for its subdomains too, with or without a leading dot. Also with a
 * port, as in Go. Addresses match as they are written; networks (`10.0.0.0/8`) do not.
 */
function isExempt(rule: string, url: URL): boolean {
  if (rule === '*') return true;
  // Without brackets, several colons make an IPv6 address.
  const [, bracketed, plain, port] = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(rule) ?? [];
  if (port !== undefined && port !== (url.port || (url.protocol === 'https:' ? '443' : '80'))) return false;
  const host = (bracketed ?? plain ?? rule).replace(/^\*?\./, '');
  const hostname = hostnameOf(url);
  return hostname === host || (isIP(hostname) === 0 && hostname.endsWith(`.${host}`));
}

/** The headers with which a request in absolute form goes to the proxy: for the request only, never for a log. */
export function proxyHeaders(proxy: ProxyAddress, target: string): Record<string, string> {
  const headers: Record<string, string> = { host: target };
  if (proxy.credentials !== undefined) {
    headers['proxy-authorization'] = `Basic ${Buffer.from(proxy.credentials.reveal()).toString('base64')}`;
  }
  return headers;
}

/** Connections to the proxy itself. */
export function createProxyAgent(proxy: ProxyAddress, settings: https.AgentOptions): http.Agent {
  if (proxy.protocol === 'http:') return new http.Agent(settings);
  // Node would take the server name from the Host header, which names the provider. An address is none (RFC 6066, section 3).
  return new https.Agent({ ...settings, servername: isIP(proxy.hostname) === 0 ? proxy.hostname : '' });
}

/** Whoever waits for the connection. While the tunnel is being opened it is here, to be destroyed when the wait is over. */
export type TunnelOwner = { tunnel: { destroy(): void } | undefined };

/** An option of `http.request`, which hands it on to its agent. */
export type TunnelOptions = { readonly tunnelOwner: TunnelOwner };

/** Connections with TLS to providers, each through a tunnel of its own. What the proxy spoils is a `ProxyError`. */
export class TunnelAgent extends https.Agent {
  readonly #proxy: ProxyAddress;
  readonly #proxyAgent: http.Agent;

  constructor(proxy: ProxyAddress, settings: https.AgentOptions) {
    super(settings);
    this.#proxy = proxy;
    this.#proxyAgent = createProxyAgent(proxy, { ...settings, keepAlive: false });
  }

  override createConnection(
    options: https.RequestOptions & TunnelOptions,
    onCreated?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    const owner = options.tunnelOwner;
    const settle = (error: Error | null, tunnel: Duplex | undefined): void => {
      owner.tunnel = undefined;
      const socket = tunnel === undefined ? undefined : super.createConnection({ ...options, socket: tunnel } as https.RequestOptions);
      // With an error there is no socket, which the declared type has forgotten.
      onCreated?.(error, socket as Duplex);
    };
    owner.tunnel = openTunnel(this.#proxy, this.#proxyAgent, String(options.host), Number(options.port), settle);
    return undefined;
  }
}

/** Asks the proxy, over a connection of its agent, for one to a host. Tells the outcome once, also when what is returned is destroyed. */
export function openTunnel(
  proxy: ProxyAddress,
  agent: http.Agent,
  host: string,
  port: number,
  settle: (error: Error | null, tunnel: Duplex | undefined) => void,
): { destroy(): void } {
  const authority = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const request = http.request({
    agent,
    protocol: proxy.protocol,
    hostname: proxy.hostname,
    port: proxy.port,
    method: 'CONNECT',
    path: authority,
    headers: proxyHeaders(proxy, authority),
    maxHeaderSize: RESPONSE_HEAD_BYTES_MAX,
  });
  request.on('connect', (response, socket) => {
    // What happens on it from now on is told by TLS, which takes it over.
    socket.on('error', () => undefined);
    const { statusCode = 0 } = response;
    if (statusCode >= 200 && statusCode < 300) {
      settle(null, socket);
    } else {
      socket.destroy();
      settle(new ProxyError(statusCode), undefined);
    }
  });
  request.on('error', (error) => settle(new ProxyError(undefined, error), undefined));
  request.end();
  return request;
}
