/**
 * What people and tools say to a model, as blocks of the Messages API.
 * Source: Anthropic Messages API, content blocks; vision; PDF support; tool use.
 */

import type { JsonOut } from '../../base/json/value.ts';
import { unreachable } from '../../core/chat.ts';
import type { ContentPart, DocumentPart, ImagePart, ToolResultPart } from '../../core/chat.ts';
import { Failure } from '../../core/failure.ts';

/** The blocks of a list of parts; `place` is the list's path. Failure: unsupported. */
export function encodeContent(parts: readonly ContentPart[], place: string): JsonOut[] | Failure {
  const blocks: JsonOut[] = [];
  for (const [index, part] of parts.entries()) {
    const block = encodePart(part, `${place}[${index}]`);
    if (block instanceof Failure) return block;
    blocks.push(block);
  }
  return blocks;
}

/** The content and flag of a tool's result. An error without a word is refused, and so is one with anything but words. */
export function encodeResult({ content, isError }: ToolResultPart, place: string): { content: JsonOut; is_error: true | undefined } | Failure {
  if (typeof content === 'string') return { content: isError && content === '' ? 'Error' : content, is_error: isError || undefined };
  const blocks = encodeContent(content, `${place}.content`);
  if (blocks instanceof Failure) return blocks;
  if (!isError) return { content: blocks, is_error: undefined };
  if (content.every(({ type }) => type === 'text')) return { content: blocks, is_error: true };
  return { content: [{ type: 'text', text: 'Error' }, ...blocks], is_error: undefined };
}

function encodePart(part: ContentPart, place: string): JsonOut | Failure {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image':
      return { type: 'image', source: encodeImageSource(part) };
    case 'document': {
      const source = encodeDocumentSource(part);
      if (source === undefined) return new Failure('unsupported', `${place}.url: Anthropic fetches no text/plain documents; send base64`);
      return { type: 'document', source, title: part.name };
    }
    default:
      return unreachable(part);
  }
}

function encodeImageSource({ source }: ImagePart): JsonOut {
  return source.type === 'url' ? { type: 'url', url: source.url } : { type: 'base64', media_type: source.mediaType, data: source.base64 };
}

/** Undefined for a text to be fetched: what a URL leads to is taken for a PDF. */
function encodeDocumentSource({ mediaType, source }: DocumentPart): JsonOut | undefined {
  if (source.type === 'url') return mediaType === 'text/plain' ? undefined : { type: 'url', url: source.url };
  if (mediaType !== 'text/plain') return { type: 'base64', media_type: mediaType, data: source.base64 };
  return { type: 'text', media_type: mediaType, data: Buffer.from(source.base64, 'base64').toString() };
}
