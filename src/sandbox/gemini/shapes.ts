/**
 * The shapes of requests to the sandbox's Gemini API.
 *
 * Source: Gemini API, generateContent; countTokens; cachedContents.
 */

import {
  anyObject, anything, base64, boolean, count, integer, listOf, mapOf, matching, number, object, oneOf, string,
} from '../shape.ts';
import type { Shape } from '../shape.ts';

const BLOB_TYPE = matching(/^(?:(?:image|audio|video|text)\/[a-z0-9.+-]+|application\/(?:pdf|json|xml|rtf))$/);
/** What a function may answer besides JSON. */
const RESPONSE_TYPE = oneOf('image/png', 'image/jpeg', 'image/webp', 'application/pdf', 'text/plain');
const RESPONSE_PART = object({}, {
  inlineData: object({ mimeType: RESPONSE_TYPE, data: base64 }, { displayName: string }),
  fileData: object({ fileUri: string, mimeType: RESPONSE_TYPE }, { displayName: string }),
});
const PART = object({}, {
  text: string,
  thought: boolean,
  thoughtSignature: string,
  inlineData: object({ mimeType: BLOB_TYPE, data: base64 }, { displayName: string }),
  fileData: object({ fileUri: string }, { mimeType: string }),
  functionCall: object({ name: string }, { id: string, args: anyObject }),
  functionResponse: object({ response: anyObject }, { name: string, id: string, parts: listOf(RESPONSE_PART), willContinue: boolean, scheduling: string }),
  executableCode: anyObject,
  codeExecutionResult: anyObject,
  videoMetadata: anyObject,
});
export const DATA_FIELDS = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse', 'executableCode', 'codeExecutionResult'];
const CONTENT = object({ parts: listOf(PART) }, { role: string });
/** The subset of OpenAPI that `parameters` takes. */
const SCHEMA: Shape = (value, path) => OPENAPI(value, path);
const OPENAPI = object({}, {
  type: string, format: string, title: string, description: string, nullable: boolean, enum: listOf(string), example: anything, pattern: string,
  items: SCHEMA, properties: mapOf(SCHEMA), required: listOf(string), anyOf: listOf(SCHEMA), propertyOrdering: listOf(string),
  minItems: anything, maxItems: anything, minProperties: anything, maxProperties: anything, minLength: anything, maxLength: anything, minimum: number, maximum: number,
});
const DECLARATION = object({ name: string }, {
  description: string, parameters: SCHEMA, parametersJsonSchema: anything, response: SCHEMA, responseJsonSchema: anything, behavior: string,
});
const REQUEST_TOOLS = listOf(object({}, { functionDeclarations: listOf(DECLARATION), googleSearch: anyObject, codeExecution: anyObject, urlContext: anyObject }));
const TOOL_CONFIG = object({}, {
  functionCallingConfig: object({}, { mode: oneOf('MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED'), allowedFunctionNames: listOf(string) }),
  retrievalConfig: anyObject,
});
export const REQUEST = object({}, {
  model: string,
  contents: listOf(CONTENT),
  systemInstruction: CONTENT,
  tools: REQUEST_TOOLS,
  toolConfig: TOOL_CONFIG,
  safetySettings: listOf(object({ category: string, threshold: string })),
  cachedContent: string,
  serviceTier: string,
  store: boolean,
  generationConfig: object({}, {
    maxOutputTokens: count, temperature: number, topP: number, topK: count, stopSequences: listOf(string), candidateCount: count, seed: integer,
    responseMimeType: string, responseSchema: SCHEMA, responseJsonSchema: anything, responseModalities: listOf(string),
    presencePenalty: number, frequencyPenalty: number, responseLogprobs: boolean, logprobs: count, mediaResolution: string,
    speechConfig: anyObject, imageConfig: anyObject,
    thinkingConfig: object({}, {
      includeThoughts: boolean,
      thinkingBudget: integer,
      thinkingLevel: oneOf(...['minimal', 'low', 'medium', 'high', 'xhigh'].flatMap((level) => [level, level.toUpperCase()])),
    }),
  }),
});

export const STORED = object({ model: string }, {
  contents: listOf(CONTENT), systemInstruction: CONTENT, tools: REQUEST_TOOLS, toolConfig: TOOL_CONFIG, ttl: matching(/^\d+(\.\d+)?s$/), expireTime: string,
  displayName: string, name: string,
});
export const COUNT = object({}, { contents: listOf(CONTENT), generateContentRequest: anyObject });
