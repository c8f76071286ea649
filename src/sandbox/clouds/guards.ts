/**
 * Who may call the clouds' own APIs: a key, a token that was given for it, or a signature. What does not is refused as each cloud
 * does it, before the request is looked at.
 */

import { stringField } from '../../base/loose.ts';
import { jsonReply } from '../protocol.ts';
import type { Complaint, Reply } from '../protocol.ts';
import type { Audience, Ledger } from './ledger.ts';
import { SHORT_TERM_PREFIX } from './short-term-key.ts';
import { shortTermComplaint, signatureComplaint } from './signature.ts';
import type { Signed } from './signature.ts';

/** What is there to be checked. */
export type Entrance = {
  readonly request: Signed;
  readonly ledger: Ledger;
  /** Whether a text is the key of the sandbox. */
  readonly isKey: (key: string) => boolean;
};

/** The refusal; undefined = may enter. */
export type Guard = (entrance: Entrance) => Reply | undefined;

/** Azure OpenAI, and Claude on Foundry, which has one more header for keys. */
export function guardAzure(...keyHeaders: readonly string[]): Guard {
  return (entrance) => {
    const { request } = entrance;
    const keys = keyHeaders.flatMap((name) => stringField(request.headers, name) ?? []);
    if (keys.some(entrance.isKey) || hasToken(entrance, 'azure')) return undefined;
    if (keys.length > 0) {
      return refusal({ error: { code: '401', message: 'Access denied due to invalid subscription key or wrong API endpoint.' } });
    }
    const message = 'Unauthorized. Access token is missing, invalid, audience is incorrect (https://cognitiveservices.azure.com or https://ai.azure.com), or have expired.';
    return refusal({ statusCode: 401, message });
  };
}

/** A service of AWS: signed, or by a key in the header named, or as a bearer; Bedrock's may be short-term. */
export function guardAws(service: string, ...keyHeaders: readonly string[]): Guard {
  return ({ request, ledger, isKey }) => {
    const bearer = bearerOf(request);
    const key = keyHeaders.map((name) => stringField(request.headers, name)).find((value) => value !== undefined) ?? bearer;
    const isShortTerm = service === 'bedrock' && key?.startsWith(SHORT_TERM_PREFIX) === true;
    if (key !== undefined && !isShortTerm && isKey(key)) return undefined;
    const complaint = isShortTerm
      ? shortTermComplaint(key, ledger.region, ledger)
      : signatureComplaint(request, { region: ledger.region, service }, ledger);
    return complaint === undefined ? undefined : awsRefusal(complaint, ledger);
  };
}

/** With the time, by which clients that are off correct themselves. */
function awsRefusal({ status, message, code = '' }: Complaint, { now }: Ledger): Reply {
  return jsonReply(status, JSON.stringify({ message }), { 'x-amzn-errortype': `${code}:http://internal.amazon.com/coral/com.amazon.coral.service/`, date: new Date(now()).toUTCString() });
}

/** Vertex: a token; a key where there is no project. */
export function guardGoogle(entrance: Entrance): Reply | undefined {
  const key = stringField(entrance.request.headers, 'x-goog-api-key');
  const isExpress = !entrance.request.url.includes('/projects/');
  if (hasToken(entrance, 'google') || (isExpress && key !== undefined && entrance.isKey(key))) return undefined;
  const message = 'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.';
  const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'ACCESS_TOKEN_EXPIRED', domain: 'googleapis.com' }];
  return refusal({ error: { code: 401, message, status: 'UNAUTHENTICATED', details } });
}

function hasToken({ request, ledger }: Entrance, audience: Audience): boolean {
  return ledger.isToken(bearerOf(request), audience);
}

function bearerOf(request: Signed): string | undefined {
  return /^Bearer (.+)$/.exec(stringField(request.headers, 'authorization') ?? '')?.[1];
}

function refusal(body: object): Reply {
  return jsonReply(401, JSON.stringify(body));
}
