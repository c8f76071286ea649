/**
 * Requests to the sandbox's Messages API, checked as strictly as the provider does.
 *
 * Reasoning is signed over its text and over everything before it, so that a block which comes back altered, in another
 * place or after another conversation is refused. An id of a call tells how many blocks of reasoning came before it.
 * Source: Anthropic Messages API, create a message; tool use; extended thinking (preserving blocks).
 */

import { itemsOf } from '../../base/json/member.ts';
import { parseJson } from '../../base/json/parse.ts';
import { JsonArray, JsonObject } from '../../base/json/value.ts';
import { field, isObject, listField, numberField, stringField, textField } from '../../base/loose.ts';
import { Complaint, conversationFacts, digest, sign, tokenCount, toolTokens, wordCount } from '../protocol.ts';
import type { Ask, Choice, Incoming, Tool, Turn, TurnDocument } from '../protocol.ts';
import { first } from '../shape.ts';
import { cachePlan, checkMarks } from './caching.ts';
import { invalid } from './complaint.ts';
import { outputOf } from './output.ts';
import { SEALED } from './reply.ts';
import { BETA_REQUESTS, REQUESTS, wording } from './shapes.ts';
import type { Requests } from './shapes.ts';

/** Under a beta of its own the vendor holds conversations. */
const THREAD_BETA = /(^|,) *message-threads-/;
/** Under betas of their own the vendor takes instructions between the messages. */
const SYSTEM_BETA = /(^|,) *mid-conversation-(system|tool-changes)-/;
/** Under one of its own it takes the older name of `output_config.format`, which LiteLLM and CrewAI send. */
const FORMAT_BETA = /(^|,) *structured-outputs-2025-11-13/;

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
  const version = textField(headers, 'anthropic-version');
  if (version === undefined) return invalid('anthropic-version: header is required');
  const json = parseJson(incoming.body);
  if (!(json instanceof JsonObject)) return invalid('The request body is not valid JSON');
  const betas = textField(headers, 'anthropic-beta') ?? '';
  const body = bodyOf(incoming.body, betas);
  const requests = SYSTEM_BETA.test(betas) ? BETA_REQUESTS : REQUESTS;
  const mismatch = requests[kind](body, []);
  if (mismatch !== undefined) return invalid(wording(mismatch));
  const sampling = ['temperature', 'top_p', 'top_k'].find((name) => field(body, name) !== undefined);
  if (version !== '2023-06-01' && sampling !== undefined) return invalid(`${sampling}: Extra inputs are not permitted`);
  const spoken = listField(body, 'messages').map((value, index) => ({ value, index })).filter(({ value }) => stringField(value, 'role') !== 'system');
  const messages = spoken.map(({ value }) => messageFrom(value));
  const allPrefixes = conversationPrefixes(json);
  const prefixes = [...spoken.map(({ index }) => allPrefixes[index] ?? ''), allPrefixes.at(-1) ?? ''];
  const output = outputOf(body);
  if (output instanceof Complaint) return output;
  return (
    checkThread(body, betas) ?? checkFields(body) ?? checkMarks(body) ?? checkMessages(messages) ?? checkCalls(messages) ?? checkSignatures(messages, prefixes)
    ?? checkReasoningKept(messages, stringField(field(body, 'thinking'), 'type')) ?? { ...askFrom(body, messages, prefixes), output }
  );
}

function messageFrom(value: unknown): Message {
  const content = field(value, 'content');
  const isText = typeof content === 'string';
  const blocks = isText ? [{ type: 'text', text: content }] : listField(value, 'content').filter(isObject);
  return { role: stringField(value, 'role') === 'user' ? 'user' : 'assistant', blocks, isText };
}

function bodyOf(text: string, betas: string): unknown {
  const body = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const { output_format: format, ...rest } = body;
  if (format === undefined || !FORMAT_BETA.test(betas)) return body;
  return { ...rest, output_config: { ...(rest['output_config'] as object | undefined), format } };
}

/** A digest of everything before each message, and last of the whole conversation. */
function conversationPrefixes(json: JsonObject): string[] {
  const rawOf = (name: string): string => {
    const value = json.entries.get(name);
    return value instanceof JsonArray ? told(value.raw.text) : String(value);
  };
  let prefix = digest(rawOf('system') + rawOf('tools'));
  const prefixes = [prefix];
  for (const item of itemsOf(json.entries.get('messages'))) {
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

/** No conversation is held, so each is lost by its second turn: clients then send all of it again. */
function checkThread(body: unknown, betas: string): Complaint | undefined {
  const thread = field(body, 'thread') ?? undefined;
  if (thread === undefined) return undefined;
  if (!THREAD_BETA.test(betas)) return invalid('thread: Extra inputs are not permitted');
  return field(thread, 'type') === 'continue' ? new Complaint(404, 'thread: the conversation was not found', { code: 'thread_not_found' }) : undefined;
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
  const cites = listField(body, 'messages').flatMap((message) => listField(message, 'content')).some((block) => field(field(block, 'citations'), 'enabled') === true);
  if (cites && field(field(body, 'output_config'), 'format')) return invalid('output_config.format: Structured outputs cannot be used with citations.');
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
  const tools = listField(body, 'tools').map(toolFrom);
  const system = stringField(body, 'system') ?? textOf(listField(body, 'system'));
  // Nothing is cached unless it is asked for.
  const facts = { ...conversationFacts(system, messages.map(turnFrom), tools), cachedTokens: 0 };
  const costs = {
    ofTool: (tool: unknown) => toolTokens(toolFrom(tool)),
    ofText: (block: unknown) => wordCount(textOf([block])),
    ofBlock: (role: string, block: Block) => tokenCount(turnFrom({ role: role === 'assistant' ? role : 'user', blocks: [block], isText: false })),
  };
  return {
    model: stringField(body, 'model') ?? '',
    isStream: field(body, 'stream') === true,
    facts,
    tools,
    choice: choiceFrom(field(body, 'tool_choice')),
    maxTokens: numberField(body, 'max_tokens'),
    stop: listField(body, 'stop_sequences').map(String),
    isThinkingAsked: ['adaptive', 'enabled'].includes(stringField(field(body, 'thinking'), 'type') ?? ''),
    seed: prefixes.at(-1) ?? '',
    isUsageStreamed: true,
    isLines: true,
    isSerial: field(field(body, 'tool_choice'), 'disable_parallel_tool_use') === true,
    ...cachePlan(body, costs),
  };
}

function toolFrom(tool: unknown): Tool {
  return { name: stringField(tool, 'name') ?? '', schema: field(tool, 'input_schema') };
}

function textOf(blocks: readonly unknown[]): string {
  return blocks.map((block) => stringField(block, 'text') ?? '').filter((text) => text !== '').join(' ');
}

function turnFrom({ role, blocks }: Message): Turn {
  const ofType = (type: string): readonly Block[] => blocks.filter((block) => block['type'] === type);
  const text = textOf(ofType('text'));
  if (role === 'assistant') return { by: 'assistant', text, calls: ofType('tool_use').map((block) => JSON.stringify(block['input'])) };
  const results = ofType('tool_result').map((block) => stringField(block, 'content') ?? textOf(listField(block, 'content')));
  const shown = [...blocks, ...ofType('tool_result').flatMap((block) => listField(block, 'content'))];
  const documents = shown.filter((block) => field(block, 'type') === 'document').map((block) => textOfDocument(field(block, 'source')));
  return { by: 'user', text, imageCount: shown.filter((block) => field(block, 'type') === 'image').length, documents, results };
}

function textOfDocument(source: unknown): TurnDocument {
  if (field(source, 'type') === 'text') return stringField(source, 'data');
  return field(source, 'type') === 'content' ? (stringField(source, 'content') ?? textOf(listField(source, 'content'))) : undefined;
}

function choiceFrom(choice: unknown): Choice {
  const type = stringField(choice, 'type');
  if (type === 'tool') return { mode: 'tool', name: stringField(choice, 'name') ?? '' };
  return { mode: type === 'any' ? 'required' : type === 'none' ? 'none' : 'auto' };
}
