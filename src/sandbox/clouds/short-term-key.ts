/**
 * Short-term API keys of Amazon Bedrock, which nobody issues: such a key is a presigned request, in base64. To the gateway it is a key
 * like any other.
 *
 * Source: AWS, "Generate an Amazon Bedrock API key"; equal to AWS's own generator.
 */

import { presignedQuery } from '../../base/aws/signature.ts';
import type { AwsCredentials } from '../../base/aws/signature.ts';

export const SHORT_TERM_PREFIX = 'bedrock-api-key-';
const SHORT_TERM_HOST = 'bedrock.amazonaws.com';
const SHORT_TERM_PATH = '/?Action=CallWithBearerToken';
/** Twelve hours. */
export const SHORT_TERM_SECONDS_MAX = 43_200;

/** A key for one region, good for so long from `atMs` on, or until the credentials expire. */
export function shortTermKey(credentials: AwsCredentials, region: string, atMs: number, expiresS: number): string {
  const request = { method: 'POST', path: SHORT_TERM_PATH, headers: { host: SHORT_TERM_HOST }, body: '' };
  const query = presignedQuery(request, credentials, { region, service: 'bedrock' }, atMs, expiresS);
  return SHORT_TERM_PREFIX + Buffer.from(`${SHORT_TERM_HOST}/?${query}&Version=1`).toString('base64');
}
