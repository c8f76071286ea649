/** A request as one target of a route is sent it: with what the operator adds where the request is silent, without what the operator takes out. */

import type { ChatRequest } from './chat.ts';
import { unreachable } from './chat.ts';
import type { OmittableField, Target, TargetDefaults } from './route.ts';

export type AppliedTarget = {
  readonly request: ChatRequest;
  /** What the request said and this target is not sent, in the order of the operator's list. */
  readonly omitted: readonly OmittableField[];
};

/** What an operator says of a target that changes what it is sent. */
type Rules = Pick<Target, 'defaults' | 'omit'>;

const NOTHING: readonly OmittableField[] = [];

/** Whether all requests go to the target as they came. */
export function isUnchanging({ defaults, omit }: Rules): boolean {
  return defaults === undefined && omit.length === 0;
}

/**
 * The request with the target's defaults for what it does not set itself, each whole or not at all, and without what the
 * target is never sent: that goes for defaults, too. Depends on nothing else, so that equal beginnings stay equal.
 */
// hot: per request
export function applyTarget(request: ChatRequest, target: Rules): AppliedTarget {
  if (isUnchanging(target)) return { request, omitted: NOTHING };
  const { defaults, omit } = target;
  const omitted: OmittableField[] = [];
  let applied = defaults === undefined ? request : withDefaults(request, defaults);
  for (const field of omit) {
    if (without(request, field) !== request) omitted.push(field);
    applied = without(applied, field);
  }
  return { request: applied, omitted };
}

function withDefaults(request: ChatRequest, defaults: TargetDefaults): ChatRequest {
  return {
    ...request,
    maxTokens: request.maxTokens ?? defaults.maxTokens,
    temperature: request.temperature ?? defaults.temperature,
    topP: request.topP ?? defaults.topP,
    stop: request.stop.length === 0 ? (defaults.stop ?? request.stop) : request.stop,
    thinking: request.thinking ?? defaults.thinking,
    providerOptions: request.providerOptions ?? defaults.providerOptions,
  };
}

/** The same request where it does not set the field. */
function without(request: ChatRequest, field: OmittableField): ChatRequest {
  switch (field) {
    case 'max_tokens':
      return request.maxTokens === undefined ? request : { ...request, maxTokens: undefined };
    case 'temperature':
      return request.temperature === undefined ? request : { ...request, temperature: undefined };
    case 'top_p':
      return request.topP === undefined ? request : { ...request, topP: undefined };
    case 'stop':
      return request.stop.length === 0 ? request : { ...request, stop: [] };
    case 'thinking':
      return request.thinking === undefined ? request : { ...request, thinking: undefined };
    case 'tool_choice.parallel':
      return request.toolChoice?.parallel === undefined ? request : { ...request, toolChoice: { ...request.toolChoice, parallel: undefined } };
    case 'cache':
      return request.cache === undefined ? request : { ...request, cache: undefined };
    case 'user':
      return request.user === undefined ? request : { ...request, user: undefined };
    case 'provider_options':
      return request.providerOptions === undefined ? request : { ...request, providerOptions: undefined };
    default:
      return unreachable(field);
  }
}
