/**
 * What people and tools say to a model, as parts of Gemini's content.
 *
 * A file has no name there, so the name is text before it. What a model cannot take in a function's response comes
 * behind the responses, as the user's own.
 * Source: Gemini API, Part and FunctionResponse; image and document understanding; function calling.
 */

import type { JsonOut, JsonOutObject } from '../../base/json/value.ts';
import type { ContentPart, DocumentPart, ImagePart, ToolResultPart } from '../../core/chat.ts';
import { Failure } from '../../core/failure.ts';
import { ruleFor } from './model-rules.ts';

/** The parts of a user's turn; `place` is the list's path. Failure: unsupported. */
export function encodeContent(model: string, content: readonly ContentPart[], place: string): JsonOut[] | Failure {
  const parts: JsonOut[] = [];
  for (const [index, part] of content.entries()) {
    if (part.type === 'text') {
      parts.push({ text: part.text });
      continue;
    }
    const file = encodeFile(model, part, `${place}[${index}]`);
    if (file instanceof Failure) return file;
    if (part.type === 'document' && part.name !== undefined) parts.push({ text: part.name });
    parts.push(file);
  }
  return parts;
}

export type FunctionResult = {
  readonly response: JsonOutObject;
  /** The response's own files; undefined = none. */
  readonly parts: readonly JsonOut[] | undefined;
  /** What has to come behind all responses. */
  readonly behind: readonly JsonOut[];
};

/** What a tool said; `place` is the result's path. Failure: unsupported. */
export function encodeResult(model: string, { content, isError }: ToolResultPart, place: string): FunctionResult | Failure {
  if (typeof content === 'string') return { response: responseOf(content, isError), parts: undefined, behind: [] };
  const holdsFiles = ruleFor(model).takesFilesInResponses;
  const words: string[] = [];
  const files: JsonOut[] = [];
  for (const [index, part] of content.entries()) {
    if (part.type === 'text') {
      words.push(part.text);
      continue;
    }
    const partPlace = `${place}.content[${index}]`;
    if (holdsFiles && part.source.type === 'url') return notInline(partPlace, 'files in the results of tools');
    const file = encodeFile(model, part, partPlace);
    if (file instanceof Failure) return file;
    if (part.type === 'document' && part.name !== undefined) {
      if (holdsFiles) words.push(part.name);
      else files.push({ text: part.name });
    }
    files.push(file);
  }
  const response = responseOf(words.join('\n'), isError);
  return holdsFiles && files.length > 0 ? { response, parts: files, behind: [] } : { response, parts: undefined, behind: files };
}

function responseOf(words: string, isError: boolean): JsonOutObject {
  return isError ? { error: words || 'Error' } : { output: words };
}

function encodeFile(model: string, part: ImagePart | DocumentPart, place: string): JsonOut | Failure {
  if (part.type === 'image') {
    const { source } = part;
    return source.type === 'url' ? notInline(place, 'images') : { inlineData: { mimeType: source.mediaType, data: source.base64 } };
  }
  const { mediaType, source } = part;
  if (source.type === 'inline') return { inlineData: { mimeType: mediaType, data: source.base64 } };
  if (mediaType === 'text/plain') return notInline(place, 'text/plain documents');
  if (!ruleFor(model).fetchesFiles) return notInline(place, 'documents for models before 2.5');
  if (!/^https:/i.test(source.url)) return new Failure('unsupported', `${place}.url: Gemini fetches documents over https only`);
  return { fileData: { mimeType: mediaType, fileUri: source.url } };
}

function notInline(place: string, what: string): Failure {
  return new Failure('unsupported', `${place}.url: Gemini takes ${what} inline only; send base64`);
}
