/**
 * A transport whose attempts are authorised first, where their provider has credentials that are no key.
 *
 * Neither a codec nor the transport beneath learns of it: what goes out is a call with more headers.
 */

import { Failure } from '../core/failure.ts';
import type { Scope } from '../core/scope.ts';
import { AttemptWatch } from './attempt-watch.ts';
import type { Authorization, Grant } from './credentials/authorization.ts';
import { outboundPath } from './outbound.ts';
import type { AttemptLimits, Destination, OutboundCall, Transport, UpstreamResponse } from './transport.ts';

/** `authorizationOf`: undefined for a provider that has keys, or needs none. */
export function createAuthorizedTransport(inner: Transport, authorizationOf: (provider: string) => Authorization | undefined): Transport {
  return {
    send(provider, call, scope, limits, key) {
      const authorization = authorizationOf(provider.name);
      if (authorization === undefined) return inner.send(provider, call, scope, limits, key);
      return sendAuthorized(inner, authorization, provider, call, scope, limits);
    },
    close: () => inner.close(),
    openSockets: () => inner.openSockets(),
  };
}

async function sendAuthorized(
  inner: Transport,
  authorization: Authorization,
  provider: Destination,
  call: OutboundCall,
  scope: Scope,
  limits: AttemptLimits,
): Promise<UpstreamResponse | Failure> {
  const startedAtMs = performance.now();
  const headers = provider.headers === undefined ? call.headers : { ...call.headers, ...provider.headers };
  const outgoing = { method: call.method, host: provider.baseUrl.host, path: outboundPath(provider, call), headers, body: call.body };
  const given = authorization.grant(outgoing);
  const grant = given instanceof Promise ? await within(provider, scope, limits, given) : given;
  if (grant instanceof Failure) return grant;
  const response = await inner.send(provider, { ...call, headers: { ...call.headers, ...grant.headers } }, scope, { ...limits, startedAtMs });
  if (response instanceof Failure) return response;
  if (response.status >= 400 && grant.refused(response)) response.isCredentialMended = true;
  return response;
}

/** What a credential comes to, unless the attempt's time or its exchange is over first. The asking goes on for others. */
function within(provider: Destination, scope: Scope, limits: AttemptLimits, grant: Promise<Grant | Failure>): Promise<Grant | Failure> {
  return new Promise((resolve, reject) => {
    const watch = new AttemptWatch(provider.name, scope, limits);
    watch.waiter = {
      onStop(failure) {
        watch.release();
        resolve(failure);
      },
    };
    watch.startWait();
    watch.startAttemptLimit();
    grant.then((given) => {
      watch.release();
      resolve(given);
    }, reject);
  });
}
