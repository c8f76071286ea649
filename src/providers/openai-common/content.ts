/**
 * What both of OpenAI's APIs say in the same form: where an image or a file is, what of a part is text, and the result of a tool as
 * text.
 */

import { RawJson } from '../../base/json/value.ts';
import type { ContentPart, ImagePart, ToolResultPart } from '../../core/chat.ts';

/** Where the image is: its own URL, or a data URL. */
export function imageUrl({ source }: ImagePart): string | RawJson {
  return source.type === 'url' ? source.url : dataUrl(source.mediaType, source.base64);
}

/** Base64 needs no escaping, so megabytes of it are not scanned again. */
export function dataUrl(mediaType: string, base64: string): RawJson {
  return new RawJson(`"data:${JSON.stringify(mediaType).slice(1, -1)};base64,${base64}"`);
}

/** The words of a part, of a text file too, behind its name; undefined for what is not text, or not here. */
export function textOf(part: ContentPart): string | undefined {
  if (part.type === 'text') return part.text;
  if (part.type !== 'document' || part.mediaType !== 'text/plain' || part.source.type !== 'inline') return undefined;
  const text = Buffer.from(part.source.base64, 'base64').toString('utf8');
  return part.name === undefined ? text : `${part.name}\n\n${text}`;
}

/** What of a result is text. OpenAI's formats have no flag for a failed tool; the model is told in words. */
export function resultText({ content, isError }: ToolResultPart): string {
  const text = typeof content === 'string' ? content : content.flatMap((part) => textOf(part) ?? []).join('\n\n');
  if (!isError) return text;
  return text === '' ? 'Error' : `Error: ${text}`;
}
