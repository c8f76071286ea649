/** An exchange that ended early, as the failure that its caller is told. */

import { unreachable } from './chat.ts';
import { Failure } from './failure.ts';
import type { ScopeEnd } from './scope.ts';

/** What a caller is told when its exchange ended early; `deadlineSetting` names the limit behind 'deadline'. */
export function scopeFailure(reason: ScopeEnd, deadlineSetting: string): Failure {
  switch (reason) {
    case 'caller-gone':
      return new Failure('unknown', 'the caller hung up', { isRetried: false });
    case 'caller-stalled':
      return new Failure('unknown', 'the caller stopped reading for longer than GATEWAY_WRITE_STALL_TIMEOUT allows', {
        isRetried: false,
        limit: 'GATEWAY_WRITE_STALL_TIMEOUT',
      });
    case 'deadline':
      return new Failure('unknown', `the request took longer than ${deadlineSetting} allows`, {
        isRetried: false,
        limit: deadlineSetting,
      });
    case 'shutdown':
      return new Failure('unknown', 'the gateway is shutting down', { isRetried: false, status: 503 });
    case 'outpaced':
      return new Failure('unknown', 'another target answered earlier', { isRetried: false });
    default:
      return unreachable(reason);
  }
}
