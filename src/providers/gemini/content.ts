/**
 * What people and tools say to a model, as parts of Gemini's content.
 *
 * A file has no name there, so the name is text before it. What a model cannot take in a function's response comes
 * behind the responses, as the user's own.
 * Source: Gemini API, Part and FunctionResponse; image and document understanding; function calling.
 */

import type { JsonOut, JsonOutObject } from '../../base/json/value.ts';
import type { ContentPart, DocumentPart, ImagePart, ToolResultPart } from '../../core/chat.ts';
import type { Objection } from '../refused-content.ts';
import { ruleFor } from './model-rules.ts';

/** Why a file that the request does not hold cannot be told. */
export function urlObjection(model: string, part: ContentPart, isResult: boolean): Objection | undefined {
  if (part.type === 'text' || part.source.type !== 'url') return undefined;
  const inlineOnly = (what: string): Objection => ({ field: '.url', why: `Gemini takes ${what} inline only; send base64` });
  const { takesFilesInResponses, fetchesFiles } = ruleFor(model);
  if (isResult && takesFilesInResponses) return inlineOnly('files in the results of tools');
  if (part.type === 'image') return inlineOnly('images');
  if (part.mediaType === 'text/plain') return inlineOnly('text/plain documents');
  if (!fetchesFiles) return inlineOnly('documents for models before 2.5');
  return /^https:/i.test(part.source.url) ? undefined : { field: '.url', why: 'Gemini fetches documents over https only' };
}

/** The parts of a user's turn. */
export function encodeContent(content: readonly ContentPart[]): JsonOut[] {
  return content.flatMap((part) => {
    if (part.type === 'text') return { text: part.text };
    const file = encodeFile(part);
    return part.type === 'document' && part.name !== undefined ? [{ text: part.name }, file] : file;
  });
}

export type FunctionResult = {
  readonly response: JsonOutObject;
  /** The response's own files; undefined = none. */
  readonly parts: readonly JsonOut[] | undefined;
  /** What has to come behind all responses. */
  readonly behind: readonly JsonOut[];
};

/** What a tool said. */
export function encodeResult(model: string, { content, isError }: ToolResultPart): FunctionResult {
  if (typeof content === 'string') return { response: responseOf(content, isError), parts: undefined, behind: [] };
  const holdsFiles = ruleFor(model).takesFilesInResponses;
  const words: string[] = [];
  const files: JsonOut[] = [];
  for (const part of content) {
    if (part.type === 'text') words.push(part.text);
    else if (!holdsFiles) files.push(...encodeContent([part]));
    else {
      if (part.type === 'document' && part.name !== undefined) words.push(part.name);
      files.push(encodeFile(part));
    }
  }
  const response = responseOf(words.join('\n'), isError);
  return holdsFiles && files.length > 0 ? { response, parts: files, behind: [] } : { response, parts: undefined, behind: files };
}

function responseOf(words: string, isError: boolean): JsonOutObject {
  return isError ? { error: words || 'Error' } : { output: words };
}

function encodeFile(part: ImagePart | DocumentPart): JsonOut {
  const { source } = part;
  const mimeType = part.type === 'document' ? part.mediaType : part.source.type === 'inline' ? part.source.mediaType : undefined;
  return source.type === 'url' ? { fileData: { mimeType, fileUri: source.url } } : { inlineData: { mimeType, data: source.base64 } };
}
