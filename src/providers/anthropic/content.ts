/**
 * What people and tools say to a model, as blocks of the Messages API.
 * Source: Anthropic Messages API, content blocks; vision; PDF support; tool use.
 */

import type { JsonOut } from '../../base/json/value.ts';
import { unreachable } from '../../core/chat.ts';
import type { ContentPart, DocumentPart, ImagePart, ToolResultPart } from '../../core/chat.ts';

/** The content and flag of a tool's result. An error without a word is refused, and so is one with anything but words. */
export function encodeResult({ content, isError }: ToolResultPart): { content: JsonOut; is_error: true | undefined } {
  if (typeof content === 'string') return { content: isError && content === '' ? 'Error' : content, is_error: isError || undefined };
  const blocks = content.map(encodePart);
  if (!isError) return { content: blocks, is_error: undefined };
  if (content.every(({ type }) => type === 'text')) return { content: blocks, is_error: true };
  return { content: [{ type: 'text', text: 'Error' }, ...blocks], is_error: undefined };
}

export function encodePart(part: ContentPart): JsonOut {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image':
      return { type: 'image', source: encodeImageSource(part) };
    case 'document':
      return { type: 'document', source: encodeDocumentSource(part), title: part.name };
    default:
      return unreachable(part);
  }
}

function encodeImageSource({ source }: ImagePart): JsonOut {
  return source.type === 'url' ? { type: 'url', url: source.url } : { type: 'base64', media_type: source.mediaType, data: source.base64 };
}

function encodeDocumentSource({ mediaType, source }: DocumentPart): JsonOut {
  if (source.type === 'url') return { type: 'url', url: source.url };
  if (mediaType !== 'text/plain') return { type: 'base64', media_type: mediaType, data: source.base64 };
  return { type: 'text', media_type: mediaType, data: Buffer.from(source.base64, 'base64').toString() };
}
