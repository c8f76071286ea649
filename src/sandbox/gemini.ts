/**
 * The sandbox's Gemini API: requests checked as strictly as the provider does, answers in its format.
 *
 * The first call of each step is signed, and so is the last part of an answer that was thought about; a signature covers its part, so
 * that one on another part, or on a part that was merged with another, is refused.
 * Source: Gemini API, generateContent; function calling; thought signatures; errors; models.
 */

import { RawJson, parseLenient, renderJson } from '../base/json.ts';
import type { JsonOut, JsonOutObject } from '../base/json.ts';
import { field, isObject, listField, numberField, stringField } from '../base/loose.ts';
import {
  CONTEXT_TOKENS, Complaint, MODELS_PER_PAGE, MODEL_IDS, OUTPUT_TOKENS_MAX,
  conversationFacts, digest, joined, jsonReply, sign, streamReply,
} from './protocol.ts';
import type { Ask, Choice, Incoming, Piece, Protocol, Reply, Script, Tool, Turn, Usage } from './protocol.ts';
import {
  anyObject, anything, base64, boolean, count, first, integer, listOf, mapOf, number, object, oneOf, string,
} from './shape.ts';
import type { Mismatch, Shape } from './shape.ts';

export const GEMINI: Protocol = {
  keyOf: ({ headers, query }) => {
    const sent = headers['x-goog-api-key'];
    return typeof sent === 'string' && sent !== '' ? sent : (query.get('key') ?? undefined);
  },
  missingKey: new Complaint(403, "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API."),
  wrongKey: new Complaint(400, 'API key not valid. Please pass a valid API key.', { code: 'API_KEY_INVALID' }),
  decode,
  models: (incoming) => (incoming.path === '/v1beta/models' && incoming.method === 'GET' ? renderModels(incoming.query) : undefined),
  render: (ask, script) => (ask.isStream ? streamReply(renderStream(ask, script), ask.isLines ? {} : JSON_CONTENT) : renderWhole(ask, script)),
  renderComplaint: (complaint) => jsonReply(complaint.status, renderError(complaint)),
  renderErrorEvent: (complaint) => `data: ${renderError(complaint)}\r\n\r\n`,
  overloaded: new Complaint(503, 'The model is overloaded. Please try again later.'),
  quotaExhausted: new Complaint(429, 'You exceeded your current quota, please check your plan and billing details.', { code: 'GenerateRequestsPerDayPerProjectPerModel' }),
};

const JSON_CONTENT = { 'content-type': 'application/json; charset=UTF-8' };

// What a request may hold. Names are camelCase only: the API takes others too, but no client of it should send them.

const PART = object({}, {
  text: string,
  thought: boolean,
  thoughtSignature: string,
  inlineData: object({ mimeType: string, data: base64 }),
  fileData: object({ fileUri: string }, { mimeType: string }),
  functionCall: object({ name: string }, { id: string, args: anyObject }),
  functionResponse: object({ response: anyObject }, { name: string, id: string, parts: listOf(anyObject), willContinue: boolean, scheduling: string }),
  executableCode: anyObject,
  codeExecutionResult: anyObject,
  videoMetadata: anyObject,
});
const DATA_FIELDS = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse', 'executableCode', 'codeExecutionResult'];
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
const REQUEST = object({}, {
  model: string,
  contents: listOf(CONTENT),
  systemInstruction: CONTENT,
  tools: listOf(object({}, { functionDeclarations: listOf(DECLARATION), googleSearch: anyObject, codeExecution: anyObject, urlContext: anyObject })),
  toolConfig: object({}, {
    functionCallingConfig: object({}, { mode: oneOf('MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED'), allowedFunctionNames: listOf(string) }),
    retrievalConfig: anyObject,
  }),
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

/** A path as the API writes it: `contents[0].parts[1].function_call`. */
function placeOf(path: Mismatch['path']): string {
  return path.reduce<string>((place, step) => {
    if (typeof step === 'object') return place;
    if (typeof step === 'number') return `${place}[${step}]`;
    const name = step.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return place === '' ? name : `${place}.${name}`;
  }, '');
}

function complaintOf({ path, is, expected, value }: Mismatch): Complaint {
  const place = placeOf(path);
  if (is === 'unknown') {
    const parent = placeOf(path.slice(0, -1));
    return invalid(`Invalid JSON payload received. Unknown name "${String(path.at(-1))}"${parent === '' ? '' : ` at '${parent}'`}: Cannot find field.`, parent);
  }
  if (is === 'missing') return invalid(`* GenerateContentRequest.${place}: ${String(path.at(-1))} is not specified`, place);
  return invalid(`Invalid value at '${place}' (expected ${expected}), ${JSON.stringify(value)?.slice(0, 100)}`, place);
}

function invalid(message: string, param?: string): Complaint {
  return new Complaint(400, message, param === undefined ? {} : { param });
}

type Part = Readonly<Record<string, unknown>>;
type Content = { readonly role: string; readonly parts: readonly Part[] };

function decode(incoming: Incoming): Ask | Complaint | undefined {
  const match = /^\/v1beta\/(models|tunedModels)\/(.+):(generateContent|streamGenerateContent)$/.exec(incoming.path);
  if (match === null || incoming.method !== 'POST') return undefined;
  const body = parseLenient(incoming.body);
  if (!isObject(body)) return invalid('Invalid JSON payload received. Unexpected token.');
  const mismatch = REQUEST(body, []);
  if (mismatch !== undefined) return complaintOf(mismatch);
  const contents = listField(body, 'contents').map((content) => ({
    role: stringField(content, 'role') ?? 'user',
    parts: listField(content, 'parts').filter(isObject),
  }));
  return (
    checkContents(contents) ?? checkParts(contents) ?? checkCallsAnswered(contents) ?? checkSignatures(contents) ?? checkTools(body) ?? checkThinking(body)
    ?? askFrom(body, contents, { model: match[2] ?? '', isStream: match[3] === 'streamGenerateContent', isLines: incoming.query.get('alt') === 'sse' })
  );
}

function checkContents(contents: readonly Content[]): Complaint | undefined {
  if (contents.length === 0) return invalid('* GenerateContentRequest.contents: contents is not specified', 'contents');
  if (contents.at(-1)?.role !== 'user') return invalid('Please ensure that multiturn requests end with a user role or a function response.');
  return first(contents, ({ role, parts }, index) => {
    if (role !== 'user' && role !== 'model') return invalid('Please use a valid role: user, model.');
    if (parts.length === 0) return invalid(`* GenerateContentRequest.contents[${index}].parts: contents.parts must not be empty.`);
    return role === contents[index - 1]?.role ? invalid('Please ensure that multiturn requests alternate between user and model.') : undefined;
  });
}

function checkParts(contents: readonly Content[]): Complaint | undefined {
  return first(contents, ({ parts }, index) => first(parts, (part, at) => {
    const place = `* GenerateContentRequest.contents[${index}].parts[${at}]`;
    if (DATA_FIELDS.filter((name) => part[name] !== undefined).length !== 1) return invalid(`${place}.data: required oneof field 'data' must have one initialized field`);
    if (part['text'] === '' && part['thoughtSignature'] === undefined) return invalid('Unable to submit request because it must have a text parameter. Add a text parameter and try again.');
    const response = part['functionResponse'];
    if (response !== undefined && !stringField(response, 'name')) return invalid(`${place}.function_response.name: Name cannot be empty.`);
    return undefined;
  }));
}

/** A turn with calls is followed by one that answers each of them, and by nothing else. */
function checkCallsAnswered(contents: readonly Content[]): Complaint | undefined {
  return first(contents, ({ role, parts }, index) => {
    if (role === 'model') {
      return parts.some((part) => part['functionCall'] !== undefined) && index === 0
        ? invalid('Please ensure that function call turn comes immediately after a user turn or after a function response turn.')
        : undefined;
    }
    const calls = partsOf(contents[index - 1], 'functionCall');
    const responses = partsOf(contents[index], 'functionResponse');
    if (calls.length === 0 && responses.length > 0) return invalid('Please ensure that function response turn comes immediately after a function call turn.');
    if (calls.length !== responses.length) return invalid('Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.');
    const isAnswered = calls.every((call) => responses.some((response) =>
      stringField(response, 'name') === stringField(call, 'name') && stringField(response, 'id') === stringField(call, 'id')));
    return isAnswered || parts.length === 0 ? undefined : invalid('Please ensure that the function response parts have the names and ids of the function call parts of the function call turn.');
  });
}

function partsOf(content: Content | undefined, name: string): unknown[] {
  return (content?.parts ?? []).flatMap((part) => (part[name] === undefined ? [] : [part[name]]));
}

const DUMMY_SIGNATURES = ['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go'];

function checkSignatures(contents: readonly Content[]): Complaint | undefined {
  const lastUserAt = contents.findLastIndex(({ role, parts }) => role === 'user' && parts.some((part) => part['functionResponse'] === undefined));
  return first(contents, ({ role, parts }, index) => {
    if (role !== 'model') return undefined;
    const firstCall = parts.find((part) => part['functionCall'] !== undefined);
    if (index > lastUserAt && firstCall !== undefined && firstCall['thoughtSignature'] === undefined) {
      return invalid(`Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${stringField(firstCall['functionCall'], 'name')}\` , position ${index + 1}.`);
    }
    const isSound = (part: Part): boolean =>
      part['thoughtSignature'] === undefined || DUMMY_SIGNATURES.includes(String(part['thoughtSignature'])) || part['thoughtSignature'] === signatureOf(part);
    return parts.every(isSound) ? undefined : invalid('Corrupted thought signature.');
  });
}

/** The arguments are left out, since clients write them anew. */
function signatureOf(part: Part | JsonOutObject): string {
  const name = stringField(part['functionCall'], 'name');
  return name === undefined ? sign('text', String(part['text'] ?? '')) : sign('call', name);
}

function declarationsOf(body: unknown): unknown[] {
  return listField(body, 'tools').flatMap((tool) => listField(tool, 'functionDeclarations'));
}

function checkTools(body: unknown): Complaint | undefined {
  const declarations = declarationsOf(body);
  const names = declarations.map((declaration) => stringField(declaration, 'name') ?? '');
  const wrong = names.find((name) => !/^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/.test(name));
  const config = field(field(body, 'toolConfig'), 'functionCallingConfig');
  const allowed = listField(config, 'allowedFunctionNames').map(String);
  const mode = stringField(config, 'mode');
  if (wrong !== undefined) return invalid('Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.');
  if (new Set(names).size < names.length) return invalid('Duplicate function declaration found.');
  if (declarations.some((declaration) => field(declaration, 'parameters') !== undefined && field(declaration, 'parametersJsonSchema') !== undefined)) {
    return invalid('parameters and parameters_json_schema are mutually exclusive.');
  }
  if (mode === 'ANY' && names.length === 0) return invalid('Function calling config is set without function_declarations.');
  if (allowed.length > 0 && mode !== 'ANY' && mode !== 'VALIDATED') return invalid('allowed_function_names should only be set when the function calling mode is ANY or VALIDATED.');
  return allowed.every((name) => names.includes(name)) ? undefined : invalid('allowed_function_names should be a subset of the names of function_declarations.');
}

function checkThinking(body: unknown): Complaint | undefined {
  const config = field(body, 'generationConfig');
  const thinking = field(config, 'thinkingConfig');
  if (field(thinking, 'thinkingBudget') !== undefined && field(thinking, 'thinkingLevel') !== undefined) return invalid('You can only set one of thinking budget and thinking level.');
  if (listField(config, 'stopSequences').length > 5) return invalid('The number of stop sequences must not exceed 5.');
  return undefined;
}

function askFrom(body: unknown, contents: readonly Content[], target: { model: string; isStream: boolean; isLines: boolean }): Ask {
  const tools: Tool[] = declarationsOf(body).map((tool) => ({
    name: stringField(tool, 'name') ?? '',
    schema: field(tool, 'parametersJsonSchema') ?? field(tool, 'parameters'),
  }));
  const config = field(body, 'generationConfig');
  const system = listField(field(body, 'systemInstruction'), 'parts').filter(isObject);
  return {
    model: target.model,
    isStream: target.isStream,
    facts: conversationFacts(textOf(system), contents.map(turnFrom), tools),
    tools,
    choice: choiceFrom(field(field(body, 'toolConfig'), 'functionCallingConfig')),
    maxTokens: numberField(config, 'maxOutputTokens'),
    stop: listField(config, 'stopSequences').map(String),
    isThinkingAsked: field(field(config, 'thinkingConfig'), 'includeThoughts') === true,
    seed: digest(JSON.stringify(contents)),
    isUsageStreamed: true,
    isLines: target.isLines,
  };
}

function textOf(parts: readonly Part[]): string {
  return parts.filter((part) => part['thought'] !== true).map((part) => stringField(part, 'text') ?? '').filter((text) => text !== '').join(' ');
}

function turnFrom(content: Content): Turn {
  const { role, parts } = content;
  if (role === 'model') return { by: 'assistant', text: textOf(parts), calls: partsOf(content, 'functionCall').map((call) => JSON.stringify(field(call, 'args') ?? {})) };
  const results = partsOf(content, 'functionResponse').map((result) => {
    const response = field(result, 'response');
    return stringField(response, 'output') ?? stringField(response, 'error') ?? JSON.stringify(response);
  });
  return { by: 'user', text: textOf(parts), imageCount: parts.filter((part) => part['inlineData'] !== undefined || part['fileData'] !== undefined).length, results };
}

function choiceFrom(config: unknown): Choice {
  const mode = stringField(config, 'mode');
  const [name] = listField(config, 'allowedFunctionNames');
  if (mode === 'ANY' && name !== undefined) return { mode: 'tool', name: String(name) };
  return { mode: mode === 'ANY' ? 'required' : mode === 'NONE' ? 'none' : 'auto' };
}

// What it answers.

const FINISH_REASONS = {
  end: 'STOP', tool_calls: 'STOP', max_tokens: 'MAX_TOKENS', stop_sequence: 'STOP', refusal: 'SAFETY', blocked: 'PROHIBITED_CONTENT',
} as const satisfies Record<Script['ending'], string>;

/** The parts of an answer; text in one part for a whole answer, in many for a stream. */
function partsFrom(ask: Ask, script: Script): { readonly part: JsonOutObject; readonly tokens: number }[] {
  const parts: { part: JsonOutObject; tokens: number }[] = [];
  const add = (part: JsonOutObject, tokens: number): void => void parts.push({ part, tokens });
  const hasThought = script.blocks.some((block) => block.type === 'thinking');
  const isDisclosed = ask.isThinkingAsked || ask.model === 'fake-thinking';
  let hasCall = false;
  for (const [index, block] of script.blocks.entries()) {
    if (block.type === 'thinking') {
      if (isDisclosed) add({ text: joined(block), thought: true }, 0);
    } else if (block.type === 'text') {
      for (const text of ask.isStream ? block.pieces : [joined(block)]) add({ text }, ask.isStream ? 1 : block.pieces.length);
    } else if (block.type === 'call' && !block.isCut) {
      const id = ask.model === 'fake-parallel' ? undefined : digest(ask.seed + index).slice(0, 8);
      const call: JsonOutObject = { functionCall: { name: block.name, args: new RawJson(block.argumentsText), id } };
      add(hasCall ? call : { ...call, thoughtSignature: sign('call', block.name) }, 2);
      hasCall = true;
    }
  }
  return hasCall || !hasThought ? parts : withSignedEnd(ask, parts);
}

/** Streams sign an empty part of their own, since the text before it has been sent. */
function withSignedEnd(ask: Ask, parts: { part: JsonOutObject; tokens: number }[]): { part: JsonOutObject; tokens: number }[] {
  const last = parts.at(-1);
  if (ask.isStream || last === undefined || last.part['thought'] === true) {
    return [...parts, { part: { text: '', thoughtSignature: sign('text', '') }, tokens: 0 }];
  }
  return [...parts.slice(0, -1), { ...last, part: { ...last.part, thoughtSignature: signatureOf(last.part) } }];
}

function chunkOf(ask: Ask, parts: readonly JsonOutObject[], finishReason: string | undefined, usage: JsonOut | undefined): JsonOutObject {
  const content = finishReason === 'SAFETY' && parts.length === 0 ? undefined : { parts: parts.length === 0 ? [{ text: '' }] : parts, role: 'model' };
  return { candidates: [{ content, finishReason, index: 0 }], usageMetadata: usage, modelVersion: ask.model, responseId: ask.seed.slice(0, 22) };
}

function blockedChunk(ask: Ask, usage: JsonOut | undefined): JsonOutObject {
  return { promptFeedback: { blockReason: FINISH_REASONS.blocked }, usageMetadata: usage, modelVersion: ask.model, responseId: ask.seed.slice(0, 22) };
}

function renderUsage(usage: Usage | undefined, outputTokens = 0): JsonOutObject | undefined {
  if (usage === undefined) return undefined;
  return {
    promptTokenCount: usage.inputTokens,
    candidatesTokenCount: outputTokens,
    totalTokenCount: usage.inputTokens + outputTokens + usage.reasoningTokens,
    cachedContentTokenCount: usage.cachedTokens === 0 ? undefined : usage.cachedTokens,
    thoughtsTokenCount: usage.reasoningTokens === 0 ? undefined : usage.reasoningTokens,
  };
}

function renderWhole(ask: Ask, script: Script): Reply {
  const usage = renderUsage(script.usage, answerTokens(script));
  const parts = partsFrom(ask, script).map(({ part }) => part);
  return jsonReply(200, renderJson(script.ending === 'blocked' ? blockedChunk(ask, usage) : chunkOf(ask, parts, FINISH_REASONS[script.ending], usage)));
}

/** Thoughts are counted apart. */
function answerTokens({ usage }: Script): number {
  return usage === undefined ? 0 : usage.outputTokens - usage.reasoningTokens;
}

function renderStream(ask: Ask, script: Script): Piece[] {
  const total = renderUsage(script.usage, answerTokens(script));
  if (script.ending === 'blocked') return framed(ask, [{ chunk: blockedChunk(ask, total), isText: false }]);
  let tokens = 0;
  const chunks = partsFrom(ask, script).map(({ part, tokens: more }) => {
    tokens += more;
    const isText = part['text'] !== '' && part['text'] !== undefined && part['thought'] !== true;
    return { chunk: chunkOf(ask, [part], undefined, renderUsage(script.usage, tokens)), isText };
  });
  return framed(ask, [...chunks, { chunk: chunkOf(ask, [], FINISH_REASONS[script.ending], total), isText: false }]);
}

/** As events with `alt=sse`, else as the elements of one array. */
function framed(ask: Ask, chunks: readonly { readonly chunk: JsonOutObject; readonly isText: boolean }[]): Piece[] {
  return chunks.map(({ chunk, isText }, index) => {
    const json = renderJson(chunk);
    const element = `${index === 0 ? '[' : ',\r\n'}${json}${index === chunks.length - 1 ? ']' : ''}`;
    return { bytes: ask.isLines ? `data: ${json}\r\n\r\n` : element, isText };
  });
}

const STATUS_NAMES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT', 401: 'UNAUTHENTICATED', 402: 'RESOURCE_EXHAUSTED', 403: 'PERMISSION_DENIED', 404: 'NOT_FOUND', 409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED', 499: 'CANCELLED', 500: 'INTERNAL', 503: 'UNAVAILABLE', 504: 'DEADLINE_EXCEEDED',
};

const DETAIL = 'type.googleapis.com/google.rpc.';

function renderError({ status, message, code, param, retryAfterS }: Complaint): string {
  const details: JsonOutObject[] = [];
  if (param !== undefined) details.push({ '@type': `${DETAIL}BadRequest`, fieldViolations: [{ field: param, description: message }] });
  if (code !== undefined && status === 429) details.push({ '@type': `${DETAIL}QuotaFailure`, violations: [{ quotaId: code }] });
  if (code !== undefined && status !== 429) details.push({ '@type': `${DETAIL}ErrorInfo`, reason: code, domain: 'googleapis.com' });
  if (retryAfterS !== undefined) details.push({ '@type': `${DETAIL}RetryInfo`, retryDelay: `${retryAfterS}s` });
  const error = { code: status, message, status: STATUS_NAMES[status] ?? 'UNKNOWN', details: details.length === 0 ? undefined : details };
  return renderJson({ error });
}

/** A page of two, whatever `pageSize` says. One of the models cannot chat. */
function renderModels(query: URLSearchParams): string {
  const from = Number(query.get('pageToken') ?? 0);
  const all = [...MODEL_IDS, 'fake-embedding'];
  const models = all.slice(from, from + MODELS_PER_PAGE).map((id) => ({
    name: `models/${id}`, displayName: `Sandbox ${id}`, inputTokenLimit: CONTEXT_TOKENS, outputTokenLimit: OUTPUT_TOKENS_MAX,
    supportedGenerationMethods: [id === 'fake-embedding' ? 'embedContent' : 'generateContent'],
  }));
  const next = from + MODELS_PER_PAGE;
  return renderJson({ models, nextPageToken: next < all.length ? String(next) : undefined });
}
