/**
 * Requests to the sandbox's Gemini API, checked as strictly as the provider does.
 *
 * Names are camelCase only: the API takes others too, but no client of it should send them.
 * Source: Gemini API, generateContent; function calling; thought signatures.
 */

import { parseLenient } from '../../base/json/lenient.ts';
import { renderJson } from '../../base/json/render.ts';
import { field, isObject, listField, numberField, stringField } from '../../base/loose.ts';
import { Complaint, conversationFacts, digest } from '../protocol.ts';
import type { Ask, Choice, Incoming, Tool, Turn, TurnDocument } from '../protocol.ts';
import { first } from '../shape.ts';
import { complaintOf, invalid } from './complaint.ts';
import { outputOf } from './output.ts';
import { signatureOf } from './reply.ts';
import { COUNT, DATA_FIELDS, REQUEST, STORED } from './shapes.ts';

type Part = Readonly<Record<string, unknown>>;
type Content = { readonly role: string; readonly parts: readonly Part[] };

/** The path without the version, of which there are two. */
export function unversioned(path: string): string {
  return path.replace(/^\/v1(beta)?(?=\/)/, '');
}

/** The request as the fake model sees it, or what the provider would say is wrong with it; undefined for another path. */
export function decodeRequest(incoming: Incoming): Ask | Complaint | undefined {
  const match = /^\/(models|tunedModels)\/(.+):(generateContent|streamGenerateContent|countTokens)$/.exec(unversioned(incoming.path));
  if (match === null || incoming.method !== 'POST') return undefined;
  const isLines = incoming.query.get('alt') === 'sse';
  const isCount = match[3] === 'countTokens';
  const target = { model: match[2] ?? '', isStream: match[3] === 'streamGenerateContent', isLines, isCount };
  const json = parseLenient(incoming.body);
  const body = isCount ? countedIn(json, `${match[1]}/${match[2]}`) : json;
  if (body instanceof Complaint) return body;
  if (!isObject(body)) return invalid('Invalid JSON payload received. Unexpected token.');
  const mismatch = REQUEST(body, []);
  if (mismatch !== undefined) return complaintOf(mismatch);
  const contents = contentsOf(body);
  const output = outputOf(body);
  if (output instanceof Complaint) return output;
  return (
    checkContents(contents) ?? checkParts(contents) ?? checkCallsAnswered(contents) ?? checkSignatures(contents)
    ?? checkTools(body) ?? checkConfig(body) ?? { ...askFrom(body, contents, target), output }
  );
}

function contentsOf(body: unknown): readonly Content[] {
  return listField(body, 'contents').map((content) => ({ role: stringField(content, 'role') ?? 'user', parts: listField(content, 'parts').filter(isObject) }));
}

/** What is to be counted: contents alone, or a whole request, which has to name the model of the path. */
function countedIn(json: unknown, model: string): unknown {
  const mismatch = COUNT(json, []);
  if (mismatch !== undefined) return complaintOf(mismatch);
  const request = field(json, 'generateContentRequest');
  if (request === undefined || field(request, 'model') === model) return request ?? json;
  return invalid('The model in generate_content_request must be that of the path.', 'generate_content_request.model');
}

/** What is stored to be used later, as it is confirmed. Its name tells what it costs, so nothing has to be kept. */
export function storeContent(incoming: Incoming): string | Complaint {
  const body = parseLenient(incoming.body);
  if (!isObject(body)) return invalid('Invalid JSON payload received. Unexpected token.');
  const mismatch = STORED(body, []);
  if (mismatch !== undefined) return complaintOf(mismatch);
  const system = listField(field(body, 'systemInstruction'), 'parts').filter(isObject);
  const { inputTokens } = conversationFacts(textOf(system), contentsOf(body).map(turnFrom), toolsFrom(body));
  return renderJson({
    name: `cachedContents/${digest(incoming.body).slice(0, 16)}-${inputTokens}`, model: stringField(body, 'model'), displayName: stringField(body, 'displayName'),
    createTime: STORED_AT, updateTime: STORED_AT, expireTime: stringField(body, 'expireTime') ?? '2026-01-01T01:00:00Z', usageMetadata: { totalTokenCount: inputTokens },
  });
}

const STORED_AT = '2026-01-01T00:00:00Z';

function cachedTokensOf(name: string): number | undefined {
  const tokens = /^cachedContents\/[0-9a-f]{16}-(\d{1,9})$/.exec(name)?.[1];
  return tokens === undefined ? undefined : Number(tokens);
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
    const isSound = (part: Part): boolean => {
      const signature = part['thoughtSignature'];
      return signature === undefined || DUMMY_SIGNATURES.includes(String(signature)) || signature === signatureOf(part);
    };
    return parts.every(isSound) ? undefined : invalid('Corrupted thought signature.');
  });
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
  const has = (declaration: unknown, name: string): boolean => field(declaration, name) !== undefined;
  if (declarations.some((declaration) => has(declaration, 'parameters') && has(declaration, 'parametersJsonSchema'))) {
    return invalid('parameters and parameters_json_schema are mutually exclusive.');
  }
  if (mode === 'ANY' && names.length === 0) return invalid('Function calling config is set without function_declarations.');
  if (allowed.length > 0 && mode !== 'ANY' && mode !== 'VALIDATED') return invalid('allowed_function_names should only be set when the function calling mode is ANY or VALIDATED.');
  return allowed.every((name) => names.includes(name)) ? undefined : invalid('allowed_function_names should be a subset of the names of function_declarations.');
}

function checkConfig(body: unknown): Complaint | undefined {
  const config = field(body, 'generationConfig');
  const thinking = field(config, 'thinkingConfig');
  const cached = stringField(body, 'cachedContent');
  if (cached !== undefined && cachedTokensOf(cached) === undefined) return new Complaint(403, 'CachedContent not found (or permission denied)');
  if (cached !== undefined && ['systemInstruction', 'tools', 'toolConfig'].some((name) => field(body, name) !== undefined)) {
    return invalid('CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config.\n\nProposed fix: move those values to CachedContent from GenerateContent request.');
  }
  if (field(thinking, 'thinkingBudget') !== undefined && field(thinking, 'thinkingLevel') !== undefined) return invalid('You can only set one of thinking budget and thinking level.');
  if (listField(config, 'stopSequences').length > 5) return invalid('The number of stop sequences must not exceed 5.');
  return undefined;
}

function askFrom(body: unknown, contents: readonly Content[], target: { model: string; isStream: boolean; isLines: boolean; isCount: boolean }): Ask {
  const tools = toolsFrom(body);
  const config = field(body, 'generationConfig');
  const system = listField(field(body, 'systemInstruction'), 'parts').filter(isObject);
  const facts = conversationFacts(textOf(system), contents.map(turnFrom), tools);
  const stored = cachedTokensOf(stringField(body, 'cachedContent') ?? '');
  return {
    model: target.model,
    isStream: target.isStream,
    facts: stored === undefined ? facts : { ...facts, inputTokens: facts.inputTokens + stored, cachedTokens: stored },
    tools,
    choice: choiceFrom(field(field(body, 'toolConfig'), 'functionCallingConfig')),
    maxTokens: numberField(config, 'maxOutputTokens'),
    stop: listField(config, 'stopSequences').map(String),
    isThinkingAsked: field(field(config, 'thinkingConfig'), 'includeThoughts') === true,
    seed: digest(JSON.stringify(contents)),
    isUsageStreamed: true,
    isLines: target.isLines,
    isCount: target.isCount,
  };
}

function toolsFrom(body: unknown): Tool[] {
  return declarationsOf(body).map((tool) => ({
    name: stringField(tool, 'name') ?? '',
    schema: field(tool, 'parametersJsonSchema') ?? field(tool, 'parameters'),
  }));
}

function textOf(parts: readonly Part[]): string {
  return parts.filter((part) => part['thought'] !== true).map((part) => stringField(part, 'text') ?? '').filter((text) => text !== '').join(' ');
}

function turnFrom(content: Content): Turn {
  const { role, parts } = content;
  const text = textOf(parts);
  if (role === 'model') {
    return { by: 'assistant', text, calls: partsOf(content, 'functionCall').map((call) => JSON.stringify(field(call, 'args') ?? {})) };
  }
  const results = partsOf(content, 'functionResponse').map((result) => {
    const response = field(result, 'response');
    return stringField(response, 'output') ?? stringField(response, 'error') ?? JSON.stringify(response);
  });
  const shown = [...parts, ...partsOf(content, 'functionResponse').flatMap((response) => listField(response, 'parts'))];
  const media = shown.flatMap((part) => field(part, 'inlineData') ?? field(part, 'fileData') ?? []);
  const isImage = (item: unknown): boolean => /^image\//.test(stringField(item, 'mimeType') ?? 'image/');
  const documents = media.filter((item) => !isImage(item)).map(textOfBlob);
  return { by: 'user', text, imageCount: media.filter(isImage).length, documents, results };
}

function textOfBlob(blob: unknown): TurnDocument {
  const isText = stringField(blob, 'mimeType')?.startsWith('text/') === true;
  return isText ? Buffer.from(stringField(blob, 'data') ?? '', 'base64').toString() : undefined;
}

function choiceFrom(config: unknown): Choice {
  const mode = stringField(config, 'mode');
  const [name] = listField(config, 'allowedFunctionNames');
  if (mode === 'ANY' && name !== undefined) return { mode: 'tool', name: String(name) };
  return { mode: mode === 'ANY' ? 'required' : mode === 'NONE' ? 'none' : 'auto' };
}
