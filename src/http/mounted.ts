/**
 * The handler on a server of somebody else's: whatever its host did with a request before, one must never end the process.
 *
 * Of such a server nothing is known: how long a head may take, how many connections there are and what becomes of bytes that
 * are no request is its own business.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { describeError } from '../base/describe-error.ts';
import type { Handler } from './handler.ts';
import type { ServerParts } from './parts.ts';

export function createMountedHandler(currentParts: () => ServerParts, handler: Handler): (request: object, response: object) => void {
  return (handedRequest, handedResponse) => {
    // What node:http hands to a listener; frameworks add to these objects and pass them on.
    const request = handedRequest as IncomingMessage;
    const response = handedResponse as ServerResponse;
    const { log } = currentParts();
    try {
      if (response.destroyed) return;
      if (response.headersSent || response.writableEnded) {
        log.error('the handler was given a request that is answered already');
      } else if (request.httpVersionMajor !== 1) {
        log.error('the handler was given a request that is not HTTP/1');
        response.writeHead(505);
        response.end();
      } else {
        handler.take(request, response, false);
      }
    } catch (thrown) {
      log.error('the handler was given something other than a request of node:http', describeError(thrown));
    }
  };
}
