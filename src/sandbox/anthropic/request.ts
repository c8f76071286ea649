/**
 * Requests to the sandbox's Messages API, checked as strictly as the provider does.
 *
 * Reasoning is signed over its text and over everything before it, so that a block which comes back altered, in another
 * place or after another conversation is refused. An id of a call tells how many blocks of reasoning came before it.
 * Source: Anthropic Messages API, create a message; tool use; extended thinking (preserving blocks).
 */

import { parseJson } from '../../base/json/parse.ts';
import { JsonArray, JsonObject } from '../../base/json/value.ts';
import { field, isObject, listField, numberField, stringField } from '../../base/loose.ts';
import { Complaint, conversationFacts, digest, sign } from '../protocol.ts';
import type { Ask, Choice, Incoming, Turn } from '../protocol.ts';
import {
  anyObject, anything, base64, boolean, count, first, listOf, matching, nullable, number, object, oneOf, openObject, string, stringOr, tagged,
} from '../shape.ts';
import type { Mismatch, Shape } from '../shape.ts';
import { SEALED } from './reply.ts';

const CACHE = nullable(object({ type: oneOf('ephemeral') }, { ttl: oneOf('5m', '1h') }));
const TEXT = object({ type: string, text: string }, { cache_control: CACHE, citations: nullable(anything) });
const MEDIA_TYPE = oneOf('image/jpeg', 'image/png', 'image/gif', 'image/webp');
const IMAGE = object(
  {
    type: string,
    source: tagged('type', {
      base64: object({ type: string, media_type: MEDIA_TYPE, data: base64 }),
      url: object({ type: string, url: matching(/^https?:\/\//) }),
      file: object({ type: string, file_id: string }),
    }),
  },
  { cache_control: CACHE },
);
const CALL_ID = matching(/^[a-zA-Z0-9_-]+$/);
const USER_BLOCKS = {
  text: TEXT,
  image: IMAGE,
  tool_result: object(
    { type: string, tool_use_id: CALL_ID },
    { content: stringOr(listOf(tagged('type', { text: TEXT, image: IMAGE }))), is_error: boolean, cache_control: CACHE },
  ),
};
const ASSISTANT_BLOCKS = {
  text: TEXT,
  thinking: object({ type: string, thinking: string, signature: string }),
  redacted_thinking: object({ type: string, data: string }),
  tool_use: object(
    { type: string, id: CALL_ID, name: matching(/^[a-zA-Z0-9_-]{1,128}$/), input: anyObject },
    { caller: openObject({ type: string }), cache_control: CACHE },
  ),
};
const message = (blocks: Readonly<Record<string, Shape>>): Shape =>
  object({ role: string, content: stringOr(listOf(tagged('type', blocks))) });
const DISPLAY = { display: nullable(oneOf('summarized', 'omitted', 'updates')) };
const PARALLEL = { disable_parallel_tool_use: boolean };
const ROLES = { user: message(USER_BLOCKS), assistant: message(ASSISTANT_BLOCKS) };
/** Under betas of their own the maker takes instructions between the messages. */
const SYSTEM_BETA = /(^|,) *mid-conversation-(system|tool-changes)-/;
const COUNTED_TOO = {
  system: stringOr(listOf(TEXT)),
  tools: listOf(object(
    { name: matching(/^[a-zA-Z0-9_-]{1,128}$/), input_schema: openObject({ type: oneOf('object') }) },
    { type: oneOf('custom'), description: string, strict: boolean, cache_control: CACHE, defer_loading: boolean, eager_input_streaming: boolean },
  )),
  tool_choice: tagged('type', {
    auto: object({ type: string }, PARALLEL),
    any: object({ type: string }, PARALLEL),
    tool: object({ type: string, name: string }, PARALLEL),
    none: object({ type: string }),
  }),
  thinking: tagged('type', {
    adaptive: object({ type: string }, DISPLAY),
    enabled: object({ type: string, budget_tokens: count }, DISPLAY),
    disabled: object({ type: string }),
    between_tools: object({ type: string }),
  }),
  output_config: object({}, { effort: oneOf('low', 'medium', 'high', 'xhigh', 'max'), format: anyObject }),
  cache_control: CACHE,
  context_management: anyObject,
};
const UNCOUNTED = {
  metadata: object({}, { user_id: nullable(string) }),
  stop_sequences: listOf(matching(/\S/)),
  stream: boolean,
  temperature: number,
  top_p: number,
  top_k: count,
  service_tier: oneOf('auto', 'standard_only'),
  container: nullable(string),
};

/** What is asked for: a message, or the count of its tokens; by roles. */
type Requests = { readonly message: Shape; readonly count: Shape };
const requestsWith = (roles: Readonly<Record<string, Shape>>): Requests => {
  const counted = { model: string, messages: listOf(tagged('role', roles)) };
  return { message: object({ ...counted, max_tokens: count }, { ...COUNTED_TOO, ...UNCOUNTED }), count: object(counted, COUNTED_TOO) };
};
const REQUESTS = requestsWith(ROLES);
const BETA_REQUESTS = requestsWith({ ...ROLES, system: message({ text: TEXT }) });

function wording({ path, is, expected, allowed, value }: Mismatch): string {
  // The variant is named where it is one of content, not where it is a role.
  const steps = path.map((step) => (typeof step === 'object' ? (['user', 'assistant', 'system'].includes(step.tag) ? [] : [step.tag]) : [step])).flat();
  const place = steps.join('.');
  if (is === 'unknown') return `${place}: Extra inputs are not permitted`;
  if (is === 'missing') return `${place}: Field required`;
  if (allowed.length > 0 && steps.at(-1) === 'type') {
    return `${steps.slice(0, -1).join('.')}: Input tag '${String(value)}' found using 'type' does not match any of the expected tags: ${expected}`;
  }
  return `${place}: Input should be ${expected.replace(/^an? /, 'a valid ')}`;
}

type Block = Readonly<Record<string, unknown>>;
type Message = { readonly role: 'user' | 'assistant'; readonly blocks: readonly Block[]; readonly isText: boolean };

/** The request as the fake model sees it, or what the provider would say is wrong with it. */
export function decodeRequest(incoming: Incoming): Ask | Complaint {
  return decodeAs('message', incoming);
}

/** The same where only tokens are to be counted. */
export function decodeCount(incoming: Incoming): Ask | Complaint {
  const ask = decodeAs('count', incoming);
  return ask instanceof Complaint ? ask : { ...ask, isCount: true };
}

function decodeAs(kind: keyof Requests, incoming: Incoming): Ask | Complaint {
  const { headers } = incoming;
  const version = header(headers['anthropic-version']);
  if (version === undefined) return invalid('anthropic-version: header is required');
  const json = parseJson(incoming.body);
  if (!(json instanceof JsonObject)) return invalid('The request body is not valid JSON');
  const body: unknown = JSON.parse(incoming.body);
  const requests = SYSTEM_BETA.test(header(headers['anthropic-beta']) ?? '') ? BETA_REQUESTS : REQUESTS;
  const mismatch = requests[kind](body, []);
  if (mismatch !== undefined) return invalid(wording(mismatch));
  const sampling = ['temperature', 'top_p', 'top_k'].find((name) => field(body, name) !== undefined);
  if (version !== '2023-06-01' && sampling !== undefined) return invalid(`${sampling}: Extra inputs are not permitted`);
  const spoken = listField(body, 'messages').map((value, index) => ({ value, index })).filter(({ value }) => stringField(value, 'role') !== 'system');
  const messages = spoken.map(({ value }) => messageFrom(value));
  const allPrefixes = conversationPrefixes(json);
  const prefixes = [...spoken.map(({ index }) => allPrefixes[index] ?? ''), allPrefixes.at(-1) ?? ''];
  return (
    checkFields(body) ?? checkMessages(messages) ?? checkCalls(messages) ?? checkSignatures(messages, prefixes)
    ?? checkReasoningKept(messages, stringField(field(body, 'thinking'), 'type')) ?? askFrom(body, messages, prefixes)
  );
}

function messageFrom(value: unknown): Message {
  const content = field(value, 'content');
  const isText = typeof content === 'string';
  const blocks = isText ? [{ type: 'text', text: content }] : listField(value, 'content').filter(isObject);
  return { role: stringField(value, 'role') === 'user' ? 'user' : 'assistant', blocks, isText };
}

/** A digest of everything before each message, and last of the whole conversation. */
function conversationPrefixes(json: JsonObject): string[] {
  const rawOf = (name: string): string => {
    const value = json.entries.get(name);
    return value instanceof JsonArray ? told(value.raw.text) : String(value);
  };
  let prefix = digest(rawOf('system') + rawOf('tools'));
  const prefixes = [prefix];
  const messages = json.entries.get('messages');
  for (const item of messages instanceof JsonArray ? messages.items : []) {
    if (item instanceof JsonObject) prefix = digest(prefix + told(item.raw.text));
    prefixes.push(prefix);
  }
  return prefixes;
}

/**
 * What the model is told, as text: without marks of what is cached, which move from request to request, and with a text
 * in one form, whether it was written as a string or as the only block of a list.
 */
function told(json: string): string {
  return json.replace(/,"cache_control":\{[^{}]*\}/g, '').replace(/"content":\[\{"type":"text","text":("(?:[^"\\]|\\.)*")\}\]/, '"content":$1');
}

function invalid(message: string): Complaint {
  return new Complaint(400, message);
}

function checkFields(body: unknown): Complaint | undefined {
  const tools = listField(body, 'tools').map((tool) => stringField(tool, 'name'));
  const choice = field(body, 'tool_choice');
  const thinking = field(body, 'thinking');
  const budget = numberField(thinking, 'budget_tokens');
  const isForced = ['any', 'tool'].includes(stringField(choice, 'type') ?? '');
  if (new Set(tools).size < tools.length) return invalid('tools: Tool names must be unique.');
  if (choice !== undefined && tools.length === 0) return invalid('tool_choice: may only be specified while providing `tools`');
  const named = stringField(choice, 'name');
  if (named !== undefined && !tools.includes(named)) return invalid(`tool_choice.tool: Tool '${named}' not found in provided tools`);
  if (budget !== undefined && budget < 1024) return invalid('thinking.enabled.budget_tokens: Input should be greater than or equal to 1024');
  if (budget !== undefined && budget >= (numberField(body, 'max_tokens') ?? Infinity)) return invalid('`max_tokens` must be greater than `thinking.budget_tokens`');
  if (budget !== undefined && isForced) return invalid('Thinking may not be enabled when tool_choice forces tool use.');
  return undefined;
}

function checkMessages(messages: readonly Message[]): Complaint | undefined {
  if (messages.length === 0) return invalid('messages: at least one message is required');
  if (messages[0]?.role !== 'user') return invalid('messages: first message must use the "user" role');
  if (messages.at(-1)?.role !== 'user') {
    return invalid('This model does not support assistant message prefill. The conversation must end with a user message.');
  }
  return first(messages, ({ role, blocks }, index) => {
    if (role === messages[index - 1]?.role) {
      return invalid(`messages: roles must alternate between "user" and "assistant", but found multiple "${role}" roles in a row`);
    }
    if (blocks.length === 0) return invalid(`messages.${index}: all messages must have non-empty content except for the optional final assistant message`);
    const texts = blocks.flatMap((block) => (block['type'] === 'text' ? [stringField(block, 'text') ?? ''] : []));
    if (texts.includes('')) return invalid('messages: text content blocks must be non-empty');
    if (texts.some((text) => text.trim() === '')) return invalid('messages: text content blocks must contain non-whitespace text');
    return undefined;
  });
}

/** Every call is answered once, at the beginning of the very next message. */
function checkCalls(messages: readonly Message[]): Complaint | undefined {
  const seen = new Set<string>();
  return first(messages, ({ role, blocks }, index) => {
    const calls = index === 0 ? [] : idsOf(messages[index - 1], 'tool_use');
    if (role === 'assistant') {
      const ids = idsOf(messages[index], 'tool_use');
      const twice = ids.find((id) => seen.has(id) || !seen.add(id));
      return twice === undefined ? undefined : invalid(`messages.${index}.content: \`tool_use\` ids must be unique`);
    }
    const results = idsOf(messages[index], 'tool_result');
    const silent = blocks.findIndex((block) => block['is_error'] === true && (block['content'] ?? '') === '');
    if (silent !== -1) return invalid(`messages.${index}.content.${silent}.tool_result: content cannot be empty if \`is_error\` is true`);
    const stray = results.find((id) => !calls.includes(id));
    if (stray !== undefined) {
      return invalid(`messages.${index}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`);
    }
    const twice = results.find((id, at) => results.indexOf(id) !== at);
    if (twice !== undefined) return invalid(`messages.${index}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${twice}`);
    const leadingCount = blocks.findIndex((block) => block['type'] !== 'tool_result');
    const leading = leadingCount === -1 ? results : results.slice(0, leadingCount);
    const missing = calls.filter((id) => !leading.includes(id));
    return missing.length === 0 ? undefined : invalid(`messages.${index - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`);
  });
}

function idsOf(message: Message | undefined, type: 'tool_use' | 'tool_result'): string[] {
  const key = type === 'tool_use' ? 'id' : 'tool_use_id';
  return (message?.blocks ?? []).flatMap((block) => (block['type'] === type ? [String(block[key])] : []));
}

/** Reasoning has to come back as it was made, after what it was made after. */
function checkSignatures(messages: readonly Message[], prefixes: readonly string[]): Complaint | undefined {
  return first(messages, ({ blocks }, index) => {
    let before = prefixes[index] ?? '';
    return first(blocks, (block, at) => {
      if (!isReasoning(block)) return undefined;
      const isSealed = block['type'] === 'redacted_thinking';
      const signature = stringField(block, isSealed ? 'data' : 'signature') ?? '';
      const place = `messages.${index}.content.${at}`;
      const ownPart = sign(isSealed ? SEALED : 'thinking', stringField(block, 'thinking') ?? '');
      if (signature.slice(0, ownPart.length) !== ownPart) {
        return invalid(isSealed ? `${place}: Invalid \`data\` in \`redacted_thinking\` block` : `${place}: Invalid \`signature\` in \`thinking\` block`);
      }
      if (signature.slice(ownPart.length) !== sign('before', before)) {
        return invalid(`${place}: The block is bound to a different conversation. Blocks of reasoning must be sent back with everything before them unchanged.`);
      }
      before = digest(before + signature);
      return undefined;
    });
  });
}

function isReasoning(block: Block | undefined): boolean {
  return block?.['type'] === 'thinking' || block?.['type'] === 'redacted_thinking';
}

/** Inside a tool loop the last turn's reasoning may not be left out, unless reasoning is off. */
function checkReasoningKept(messages: readonly Message[], thinkingType: string | undefined): Complaint | undefined {
  const index = messages.length - 2;
  const blocks = messages[index]?.blocks ?? [];
  if (thinkingType === 'disabled' || idsOf(messages.at(-1), 'tool_result').length === 0) return undefined;
  const isLost = (block: Block, at: number): boolean => {
    const made = /^toolu_01(\d)/.exec(block['type'] === 'tool_use' ? String(block['id']) : '')?.[1];
    return made !== undefined && Number(made) !== blocks.slice(0, at).filter(isReasoning).length;
  };
  const hasLost = blocks.some(isLost);
  if ((hasLost || (thinkingType === 'enabled' && !hasReasonedLoop(messages))) && !isReasoning(blocks[0])) {
    return invalid(`messages.${index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${String(blocks[0]?.['type'])}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`);
  }
  if (!hasLost) return undefined;
  return invalid(`messages.${index}.content: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`);
}

/** With a budget a model may reason before the first call of a loop only, so one message that begins so is enough. */
function hasReasonedLoop(messages: readonly Message[]): boolean {
  const from = messages.findLastIndex(({ role, blocks }) => role === 'user' && blocks[0]?.['type'] !== 'tool_result') + 1;
  return messages.slice(from).some(({ blocks }) => isReasoning(blocks[0]));
}

function askFrom(body: unknown, messages: readonly Message[], prefixes: readonly string[]): Ask {
  const tools = listField(body, 'tools').map((tool) => ({ name: stringField(tool, 'name') ?? '', schema: field(tool, 'input_schema') }));
  const system = stringField(body, 'system') ?? textOf(listField(body, 'system'));
  return {
    model: stringField(body, 'model') ?? '',
    isStream: field(body, 'stream') === true,
    facts: conversationFacts(system, messages.map(turnFrom), tools),
    tools,
    choice: choiceFrom(field(body, 'tool_choice')),
    maxTokens: numberField(body, 'max_tokens'),
    stop: listField(body, 'stop_sequences').map(String),
    isThinkingAsked: ['adaptive', 'enabled'].includes(stringField(field(body, 'thinking'), 'type') ?? ''),
    seed: prefixes.at(-1) ?? '',
    isUsageStreamed: true,
    isLines: true,
  };
}

function textOf(blocks: readonly unknown[]): string {
  return blocks.map((block) => stringField(block, 'text') ?? '').filter((text) => text !== '').join(' ');
}

function turnFrom({ role, blocks }: Message): Turn {
  const ofType = (type: string): readonly Block[] => blocks.filter((block) => block['type'] === type);
  const text = textOf(ofType('text'));
  if (role === 'assistant') return { by: 'assistant', text, calls: ofType('tool_use').map((block) => JSON.stringify(block['input'])) };
  const results = ofType('tool_result').map((block) => stringField(block, 'content') ?? textOf(listField(block, 'content')));
  return { by: 'user', text, imageCount: ofType('image').length, results };
}

function choiceFrom(choice: unknown): Choice {
  const type = stringField(choice, 'type');
  if (type === 'tool') return { mode: 'tool', name: stringField(choice, 'name') ?? '' };
  return { mode: type === 'any' ? 'required' : type === 'none' ? 'none' : 'auto' };
}

/** A header that came once and not empty. */
export function header(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
