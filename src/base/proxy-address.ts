/** An HTTP proxy as the usual variables name it, e.g. `http://user:password@proxy.example.com:3128`. */

import { Secret } from './secret.ts';

export type ProxyAddress = {
  /** How the proxy itself is spoken to. */
  readonly protocol: 'http:' | 'https:';
  /** Without the brackets of an IPv6 address. */
  readonly hostname: string;
  readonly port: number;
  /** `user:password`, percent-decoded; undefined = none. */
  readonly credentials: Secret | undefined;
};

/** The address in a URL; undefined when its user name or password is not valid percent-encoding. */
export function proxyAddressFrom(url: URL): ProxyAddress | undefined {
  const protocol = url.protocol === 'https:' ? 'https:' : 'http:';
  const defaultPort = protocol === 'https:' ? 443 : 80;
  const port = url.port === '' ? defaultPort : Number(url.port);
  const hostname = hostnameOf(url);
  if (url.username === '' && url.password === '') return { protocol, hostname, port, credentials: undefined };
  try {
    const credentials = new Secret(`${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`);
    return { protocol, hostname, port, credentials };
  } catch {
    return undefined;
  }
}

/** The host of a URL as sockets take it: brackets belong to the URL of an IPv6 address, not to the address. */
export function hostnameOf(url: URL): string {
  return url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
}
