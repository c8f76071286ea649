/** What a document in a request may be, whatever its dialect. The gateway itself never fetches or reads one. */

import { isUtf8 } from 'node:buffer';
import type { DocumentPart } from '../core/chat.ts';
import { isBase64 } from './image.ts';

/** What is wrong with the data of a document; undefined = nothing. */
export function documentProblem(mediaType: DocumentPart['mediaType'], base64: string): string | undefined {
  if (!isBase64(base64)) return 'must be canonical base64 (RFC 4648 section 4, padded)';
  if (mediaType === 'text/plain' && !isUtf8(Buffer.from(base64, 'base64'))) return 'must be base64 of UTF-8 text';
  return undefined;
}
