/** What both of OpenAI's APIs say in the same form: an image's address, and the result of a tool as text. */

import { RawJson } from '../../base/json/value.ts';
import type { ImagePart, ToolResultPart } from '../../core/chat.ts';

/** Where the image is: its own URL, or a data URL. */
export function imageUrl({ source }: ImagePart): string | RawJson {
  if (source.type === 'url') return source.url;
  // Base64 needs no escaping, so megabytes of it are not scanned again.
  const mediaType = JSON.stringify(source.mediaType).slice(1, -1);
  return new RawJson(`"data:${mediaType};base64,${source.base64}"`);
}

/** OpenAI's formats have no flag for a failed tool; the model is told in words. */
export function resultText({ content, isError }: ToolResultPart): string {
  if (typeof content !== 'string') throw new Error('parts of a tool result are refused before');
  if (!isError) return content;
  return content === '' ? 'Error' : `Error: ${content}`;
}
