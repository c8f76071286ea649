/**
 * A chat request as a Chat Completions payload (OpenAI, Chat Completions, request body). Nothing here knows a host by
 * name; its peculiarities come as a profile.
 */

import { mergePatch } from '../../base/json/merge.ts';
import type { JsonOut, JsonOutObject } from '../../base/json/value.ts';
import type { UpstreamCall } from '../../core/adapter.ts';
import type { ChatRequest, Tool } from '../../core/chat.ts';
import { Failure } from '../../core/failure.ts';
import { encodeCacheLife } from '../openai-common/cache.ts';
import { encodeThinking } from '../openai-common/thinking.ts';
import { parametersOf } from '../openai-common/tools.ts';
import { encodeMessages } from './messages.ts';
import type { HostProfile } from './profile.ts';
import { refusalOf, takesStrictTools } from './refusals.ts';

/**
 * The call for a request. `sentModel`: what its model is called there, where that hides which one it is. Failures: unsupported;
 * bad_request, for a damaged provider_state.
 */
export function encodeChatCall(
  provider: string,
  profile: HostProfile,
  request: ChatRequest,
  isStream: boolean,
  sentModel: string,
): UpstreamCall | Failure {
  const refused = refusalOf(provider, profile, request);
  if (refused !== undefined) return refused;
  const messages = encodeMessages(provider, profile, request);
  if (messages instanceof Failure) return messages;
  const payload: JsonOutObject = {
    model: sentModel,
    messages,
    [profile.maxTokensField]: request.maxTokens,
    temperature: request.temperature,
    top_p: request.topP,
    stop: request.stop.length > 0 ? request.stop : undefined,
    ...encodeTools(profile, request),
    ...encodeThinking(profile.thinking, request),
    ...encodeOutput(profile, request),
    ...encodeHints(profile, request),
    stream: isStream ? true : undefined,
    stream_options: isStream && profile.sendsStreamOptions ? { include_usage: true } : undefined,
  };
  const body = request.providerOptions === undefined ? payload : mergePatch(payload, request.providerOptions);
  return { method: 'POST', path: '/chat/completions', headers: encodeHeaders(profile, request, isStream), body };
}

function encodeHeaders({ cacheKey }: HostProfile, { cache }: ChatRequest, isStream: boolean): UpstreamCall['headers'] {
  const headers = { 'content-type': 'application/json', accept: isStream ? 'text/event-stream' : 'application/json' };
  return cacheKey === 'x-grok-conv-id' && cache?.key !== undefined ? { ...headers, [cacheKey]: cache.key } : headers;
}

/**
 * `tools`, `tool_choice` and `parallel_tool_calls`. The last two without tools are an error to the API, so only a forced
 * choice, which needs tools, is sent alone.
 */
function encodeTools(profile: HostProfile, { model, tools, toolChoice }: ChatRequest): JsonOutObject {
  if (tools.length === 0 && toolChoice === undefined) return {};
  const isStrictTaken = takesStrictTools(profile, model);
  const encode = (tool: Tool): JsonOut => encodeTool(tool, isStrictTaken);
  const isParallelSent = tools.length > 0 && profile.parallelToolCalls === 'sent';
  const fields = (sent: readonly Tool[], choice: JsonOut | undefined): JsonOutObject => ({
    tools: sent.length > 0 ? sent.map(encode) : undefined,
    parallel_tool_calls: isParallelSent ? toolChoice?.parallel : undefined,
    tool_choice: choice,
  });
  if (toolChoice?.mode === 'tool') {
    const named = tools.filter((tool) => tool.name === toolChoice.name);
    if (profile.namedToolChoice === 'narrowed' && named.length > 0) return fields(named, 'required');
    return fields(tools, { type: 'function', function: { name: toolChoice.name } });
  }
  const isChoiceSent = tools.length > 0 || toolChoice?.mode === 'required';
  return fields(tools, isChoiceSent ? toolChoice?.mode : undefined);
}

function encodeTool(tool: Tool, isStrictTaken: boolean): JsonOut {
  const { name, description, strict } = tool;
  return { type: 'function', function: { name, description, parameters: parametersOf(tool), strict: isStrictTaken ? strict : undefined } };
}

function encodeOutput({ requiresParameters }: HostProfile, { output }: ChatRequest): JsonOutObject {
  if (output === undefined) return {};
  const { name, strict, schema } = output;
  return {
    response_format: schema === undefined ? { type: 'json_object' } : { type: 'json_schema', json_schema: { name, strict, schema } },
    provider: requiresParameters ? { require_parameters: true } : undefined,
  };
}

/** What nothing is lost without: who asks, and which beginning is worth keeping. */
function encodeHints(profile: HostProfile, { model, user, cache }: ChatRequest): JsonOutObject {
  return {
    prompt_cache_key: profile.cacheKey === 'prompt_cache_key' ? cache?.key : undefined,
    ...(profile.userField === undefined ? {} : { [profile.userField]: user }),
    ...(profile.cacheLife === undefined ? {} : encodeCacheLife(model, cache, '30m')),
  };
}
