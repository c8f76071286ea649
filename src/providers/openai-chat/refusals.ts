/** What a host cannot be asked, by its profile: refused before any call rather than left out, or asked for in vain. */

import { isKeptToOneCall } from '../../core/chat.ts';
import type { ChatRequest, ContentPart, OutputFormat, Tool } from '../../core/chat.ts';
import { Failure } from '../../core/failure.ts';
import { plainModelName } from '../../core/model-name.ts';
import { refuseContent, textByUrl } from '../refused-content.ts';
import type { Objection } from '../refused-content.ts';
import type { HostProfile } from './profile.ts';

/** The failure for the first part of a request that the host cannot be asked; undefined when it can be asked all of it. */
export function refusalOf(provider: string, profile: HostProfile, request: ChatRequest): Failure | undefined {
  const unenforced = unenforcedFormat(provider, profile, request);
  if (unenforced !== undefined) return unenforced;
  if (isKeptToOneCall(request) && profile.parallelToolCalls === 'refused') {
    return new Failure('unsupported', `tool_choice.parallel: ${provider} cannot be limited to one call at a time`);
  }
  return refuseContent(request.turns, (part, isResult) => objectionTo(provider, profile, part, isResult));
}

/** The failure for a form of the answer, or of calls, that the host does not hold its models to. */
export function unenforcedFormat(provider: string, profile: HostProfile, { model, output, tools }: ChatRequest): Failure | undefined {
  const refused = output && outputRefusal(provider, profile, model, output, tools);
  if (refused !== undefined) return refused;
  const strict = takesStrictTools(profile, model) ? -1 : tools.findIndex((tool) => tool.strict === true);
  return strict === -1 ? undefined : new Failure('unsupported', `tools[${strict}].strict: ${provider} does not enforce a tool's parameters for this model; leave strict out`);
}

/** Whether calls of the model can be held to the parameters of its tools. */
export function takesStrictTools({ strictTools }: HostProfile, model: string): boolean {
  return strictTools === 'sent' || (strictTools === 'gpt-oss' && isGptOss(model));
}

function outputRefusal(
  provider: string,
  profile: HostProfile,
  model: string,
  { schema, strict }: OutputFormat,
  tools: readonly Tool[],
): Failure | undefined {
  const refuse = (field: string, why: string): Failure => new Failure('unsupported', `${field}: ${provider} ${why}`);
  if (profile.output === 'none') return refuse('output', 'is not known to enforce JSON output');
  if (schema === undefined || profile.output === 'schema') return undefined;
  if (profile.output === 'json_object') return refuse('output.schema', 'can enforce JSON output, but no schema');
  if (!isGptOss(model)) return refuse('output.schema', 'does not enforce a schema for this model');
  if (!strict) return refuse('output.strict', 'enforces a schema only if it is strict');
  return tools.length > 0 ? refuse('output.schema', 'takes no tools beside a schema') : undefined;
}

function isGptOss(model: string): boolean {
  return plainModelName(model).startsWith('gpt-oss-');
}

function objectionTo(provider: string, { pdf, resultMedia }: HostProfile, part: ContentPart, isResult: boolean): Objection | undefined {
  if (part.type === 'text') return undefined;
  if (part.type === 'document') {
    if (part.mediaType === 'text/plain') return textByUrl(part);
    if (pdf === 'refused') return { field: '', why: `${provider} takes no PDF` };
    if (part.source.type === 'url' && pdf === 'file') return { field: '.url', why: `${provider} takes a PDF inline only; send base64` };
  }
  return isResult && resultMedia === 'refused' ? { field: '', why: `${provider} takes only text in a tool result` } : undefined;
}
