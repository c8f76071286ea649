/** What is sent with a call, whichever transport sends it: the path, and the headers with the key. */

import type { ProviderKey } from '../core/adapter.ts';
import type { Destination, OutboundCall } from './transport.ts';

const USER_AGENT = 'chat-completion-gateway';

/** Path and query of the call below the provider's base URL. */
export function outboundPath(provider: Destination, call: Pick<OutboundCall, 'path'>): string {
  const base = provider.baseUrl.pathname;
  return base === '/' ? call.path : base + call.path;
}

/**
 * The headers of the call, the key among them: for the request only, never for a log.
 * Asks for an uncompressed body, since a compressed one has no bound before it is decoded.
 */
export function outboundHeaders(provider: Destination, call: OutboundCall, key: ProviderKey | undefined): Record<string, string> {
  // Spread last: the other order makes a slow object, and cost 10 µs a request in node:http.
  const headers: Record<string, string> = { 'accept-encoding': 'identity', 'user-agent': USER_AGENT, ...call.headers };
  if (provider.headers !== undefined) for (const name of Object.keys(provider.headers)) headers[name] = provider.headers[name] ?? '';
  if (key !== undefined) headers[provider.keyHeader.name] = provider.keyHeader.prefix + key.secret.reveal();
  return headers;
}
