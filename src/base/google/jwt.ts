/** A JSON Web Token signed by RS256 (RFC 7515), as Google's token endpoint takes it from a service account. */

import { sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** The token in its compact form. */
export function signedJwt(header: Readonly<Record<string, string>>, claims: Readonly<Record<string, string | number>>, key: KeyObject): string {
  const content = `${part({ ...header, alg: 'RS256' })}.${part(claims)}`;
  return `${content}.${rs256(content, key)}`;
}

/** The signature, in base64url. */
export function rs256(content: string, key: KeyObject): string {
  return sign('sha256', Buffer.from(content), key).toString('base64url');
}

function part(json: object): string {
  return Buffer.from(JSON.stringify(json)).toString('base64url');
}
