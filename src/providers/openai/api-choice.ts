/**
 * Which of OpenAI's two APIs serves a request, where the operator leaves the choice to the gateway.
 *
 * Chat Completions, which takes everything that older models can do, and Responses for what is refused there. An
 * answer says by itself which of the two gave it.
 */

import { parseLenient } from '../../base/json/lenient.ts';
import { JsonArray, JsonObject } from '../../base/json/value.ts';
import type { JsonValue } from '../../base/json/value.ts';
import { field, isObject, stringField, textEntry, textField } from '../../base/loose.ts';
import { REQUEST_FEATURES } from '../../core/adapter.ts';
import type { Adapter, RequestFeature, Support, SupportTable } from '../../core/adapter.ts';
import type { ChatRequest, Turn } from '../../core/chat.ts';
import { asMeant } from '../../core/model-name.ts';
import type { ModelNames } from '../../core/model-name.ts';
import { StreamByFormat } from '../by-model.ts';
import type { AdapterIn } from '../by-model.ts';
import { failureInside } from '../openai-common/failure.ts';
import { openAiRule } from '../openai-common/model-rules.ts';
import { isErrorType } from '../openai-responses/stream.ts';

/**
 * True when the model demands Responses, which alone calls tools while reasoning, or the conversation does, since it alone
 * takes PDFs by URL, and results of tools that are more than text. A wish to see reasoning, which Chat Completions never
 * discloses, is no demand: the operator has `OPENAI_API=responses` for that. Only Chat Completions has stop sequences.
 */
export function isForResponses(request: ChatRequest): boolean {
  const options = request.providerOptions?.entries ?? NO_OPTIONS;
  const { responses } = openAiRule(textEntry(options, 'model') ?? request.model);
  if (responses === 'always') return true;
  const hasStop = request.stop.length > 0 || (options.get('stop') ?? null) !== null;
  if (hasStop) return false;
  if (request.turns.some(isResponsesTurn)) return true;
  const tools = options.get('tools');
  return responses === 'for tools' && (tools === undefined ? request.tools.length > 0 : areResponsesTools(tools));
}

function isResponsesTurn({ parts }: Turn): boolean {
  return parts.some((part) => {
    if (part.type === 'tool_result') return typeof part.content !== 'string' && part.content.some(({ type }) => type !== 'text');
    return part.type === 'document' && part.mediaType === 'application/pdf' && part.source.type === 'url';
  });
}

const NO_OPTIONS: JsonObject['entries'] = new Map();

/** Tools as a caller wrote them for one of the two: Chat Completions has what they are in a member named after their type. */
function areResponsesTools(tools: JsonValue): boolean {
  if (!(tools instanceof JsonArray) || tools.items.length === 0) return false;
  return tools.items.every((tool) => !(tool instanceof JsonObject && (tool.entries.has('function') || tool.entries.has('custom'))));
}

/** One codec of two: each request by the API that serves it, each answer by the API that gave it. `models`: what names of models stand for. */
export function createRoutedAdapter(chat: Adapter, responses: Adapter, models?: ModelNames): Adapter {
  return {
    ...chat,
    dialect: responses.dialect,
    support: jointSupport(chat.support, responses.support),
    encodeChat: (request, isStream) => (isForResponses(asMeant(request, models)) ? responses : chat).encodeChat(request, isStream),
    decodeChat: (body, json = parseLenient(body), exact, use) => (isResponse(json) ? responses : chat).decodeChat(body, json ?? null, exact, use),
    createStreamDecoder: (use) => new StreamByFormat(adapterIn(chat, responses), chat, use),
    counting: responses.counting,
  };
}

/** Hosts leave out what a body calls itself. */
function isResponse(body: unknown): boolean {
  return stringField(body, 'object') === 'response' || (Array.isArray(field(body, 'output')) && field(body, 'choices') === undefined);
}

/** Which of the two an event is of. A first event of Responses can be as long as the request, but has a name. */
function adapterIn(chat: Adapter, responses: Adapter): AdapterIn {
  return (event, data, parsed) => {
    if (event.startsWith('response.')) return responses;
    const json = parsed === undefined ? parseLenient(data) : parsed.json;
    if (!isObject(json) || Array.isArray(field(json, 'choices'))) return chat;
    const type = event === 'error' ? event : (textField(json, 'type') ?? event);
    // Errors of either API are read alike, and those of Responses may have no other mark than their type.
    const isTelling = type.startsWith('response.') || failureInside('', json, isErrorType(type, json)) !== undefined;
    return isTelling ? responses : undefined;
  };
}

/** What becomes of a request's parts on either API. */
function jointSupport(chat: SupportTable, responses: SupportTable): SupportTable {
  const joint: Record<RequestFeature, Support> = { ...chat };
  for (const feature of REQUEST_FEATURES) joint[feature] = jointRow(chat[feature], responses[feature]);
  return joint;
}

function jointRow(chat: Support, responses: Support): Support {
  if (responses.is === 'refused') return { is: chat.is, as: `${chat.as}, by Chat Completions` };
  if (chat.is === 'refused') return { is: responses.is, as: `${responses.as}, by Responses` };
  const is = chat.is === responses.is ? chat.is : 'translated';
  return { is, as: chat.as === responses.as ? chat.as : `${chat.as}; by Responses: ${responses.as}` };
}
