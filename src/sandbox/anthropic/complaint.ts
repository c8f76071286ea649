/** A request that Anthropic refuses. */

import { Complaint } from '../protocol.ts';

export function invalid(message: string): Complaint {
  return new Complaint(400, message);
}
