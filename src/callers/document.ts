/** What a document in a request may be, whatever its dialect. The gateway itself never fetches or reads one. */

import { isUtf8 } from 'node:buffer';
import { FieldProblem } from '../base/fields.ts';
import type { Path } from '../base/fields.ts';
import { DOCUMENT_TYPES } from '../core/chat.ts';
import type { DocumentPart } from '../core/chat.ts';
import { unsupported } from './body.ts';
import { dataUrl, isBase64, isWebUrl } from './image.ts';

/** What is wrong with the data of a document; undefined = nothing. */
export function documentProblem(mediaType: DocumentPart['mediaType'], base64: string): string | undefined {
  if (!isBase64(base64)) return 'must be canonical base64 (RFC 4648 section 4, padded)';
  if (mediaType === 'text/plain' && !isUtf8(Buffer.from(base64, 'base64'))) return 'must be base64 of UTF-8 text';
  return undefined;
}

/** A document that the request holds. Throws a FieldProblem where it is none, or of a type that no provider is asked to read. */
export function inlineDocument(mediaType: string, base64: string, name: string | undefined, path: Path): DocumentPart {
  const known = DOCUMENT_TYPES.find((type) => type === mediaType);
  if (known === undefined) throw unsupported(path, `only ${DOCUMENT_TYPES.join(' and ')} are supported`);
  const problem = documentProblem(known, base64);
  if (problem !== undefined) throw new FieldProblem(path, problem);
  return { type: 'document', mediaType: known, source: { type: 'inline', base64 }, name };
}

/** The document that a data URL holds. */
export function documentFromData(url: string, name: string | undefined, path: Path): DocumentPart {
  const data = dataUrl(url);
  if (data === undefined) throw new FieldProblem(path, 'must be a data URL in base64');
  return inlineDocument(data.mediaType, data.base64, name, path);
}

/** The PDF at an address. */
export function pdfAt(url: string, name: string | undefined, path: Path): DocumentPart {
  if (!isWebUrl(url)) throw new FieldProblem(path, 'must be an absolute http or https URL');
  return { type: 'document', mediaType: 'application/pdf', source: { type: 'url', url }, name };
}
