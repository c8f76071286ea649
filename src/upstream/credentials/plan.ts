/** Whether two plans of credentials are the same, secrets included. */

import { isObject } from '../../base/loose.ts';
import { Secret } from '../../base/secret.ts';
import type { CredentialPlan } from '../../core/credential-plan.ts';

/** Whole plans, or what two of them come from. */
export function isSamePlan<P extends CredentialPlan | CredentialPlan['plan']>(one: P, other: P): boolean {
  return isSame(one, other);
}

/** Plans are a few levels deep. */
function isSame(one: unknown, other: unknown): boolean {
  if (one instanceof Secret && other instanceof Secret) return one.reveal() === other.reveal();
  if (one instanceof URL && other instanceof URL) return one.href === other.href;
  if (!isObject(one) || !isObject(other)) return one === other;
  const names = Object.keys({ ...one, ...other });
  return names.every((name) => isSame(one[name], other[name]));
}
