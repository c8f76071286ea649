/**
 * A Messages request (Anthropic, Messages API, create a message) as a chat.
 *
 * Takes the shapes that clients really send, their own earlier replies included. A field that is not translated is left
 * out and named, or refused by its path: see `fields.ts`; the conversation is `messages.ts`.
 */

import { Fields, textItem } from '../../base/fields.ts';
import type { JsonObject } from '../../base/json/value.ts';
import type { ChatRequest, Effort, OutputFormat, Thinking, Tool, ToolChoice } from '../../core/chat.ts';
import type { DecodedRequest, RequestBody, Translation } from '../../core/dialect.ts';
import type { Failure } from '../../core/failure.ts';
import { unsupported } from '../body.ts';
import { cacheHint } from '../cache.ts';
import { applyTable, Ignored } from '../field-table.ts';
import { Places } from '../places.ts';
import { ownName } from '../tool-name.ts';
import { decodeVendorRequest } from '../vendor-request.ts';
import { MESSAGES_FIELDS } from './fields.ts';
import { readConversation } from './messages.ts';
import { continuesThread, lostThread } from './thread.ts';
import { shownToolName } from './tool-name.ts';

export function decodeMessages(body: RequestBody): DecodedRequest | Failure {
  return decodeVendorRequest(body, translate);
}

function translate(fields: Fields, source: JsonObject, model: string): Translation | Failure {
  if (continuesThread(source)) return lostThread();
  const ignored = new Ignored();
  const places = new Places();
  const { system, turns, cache } = readConversation(fields, ignored, places);
  const tools = readTools(fields, ignored, places);
  const toolChoice = readToolChoice(fields, tools, ignored);
  const config = readConfig(fields, ignored);
  const request: ChatRequest = {
    provider: undefined,
    model,
    system,
    turns,
    maxTokens: readMaxTokens(fields),
    temperature: fields.finiteNumber('temperature'),
    topP: fields.finiteNumber('top_p'),
    stop: fields.list('stop_sequences', textItem) ?? [],
    tools: tools.taken,
    toolChoice,
    thinking: readThinking(fields, config.effort, ignored),
    output: config.output ?? readFormat(fields, 'output_format', ignored),
    cache: cacheHint(fields) ?? cache,
    user: undefined,
    providerOptions: undefined,
  };
  applyTable(MESSAGES_FIELDS, fields, ignored);
  return { request, ignored: ignored.paths, told: (sentence) => places.told(sentence, request, NAMES) };
}

/** With 0 the vendor reads the prompt into its cache and answers nothing; in a chat 0 would be no limit. */
function readMaxTokens(fields: Fields): number | undefined {
  const maxTokens = fields.count('max_tokens');
  if (maxTokens === 0) throw unsupported(fields.at('max_tokens'), 'an answer of 0 tokens cannot be asked for');
  return maxTokens;
}

/** What fields of a chat that a provider may refuse are called here. */
const NAMES = {
  output: 'output_config.format',
  'tool_choice.parallel': 'tool_choice.disable_parallel_tool_use',
  stop: 'stop_sequences',
};

type Tools = {
  readonly taken: Tool[];
  /** Names of those that only the vendor's own models know. */
  readonly leftOut: Set<string>;
};

/** The vendor's own tools, whoever runs them: their types end in a date, which a search among tools may do without. */
const VENDOR_TOOLS = /^(?:[a-z0-9_]{1,64}_20\d{6}|tool_search_tool_(?:bm25|regex))$/;

function readTools(fields: Fields, ignored: Ignored, places: Places): Tools {
  const tools: Tools = { taken: [], leftOut: new Set() };
  const names = new Set<string>();
  fields.list('tools', (item, path) => {
    const tool = Fields.from(item, path);
    const type = tool.string('type') ?? 'custom';
    if (VENDOR_TOOLS.test(type)) {
      tools.leftOut.add(tool.string('name') ?? '');
      ignored.add(path);
      return;
    }
    if (type !== 'custom') throw unsupported(tool.at('type'), "only custom tools and Anthropic's own are supported");
    const name = tool.requiredText('name');
    const shown = shownToolName(name);
    if (shown !== name) ignored.addOnce(tool, ['name']);
    const taken: Tool = {
      name: ownName(shown, tool, names),
      description: tool.string('description') || undefined,
      parameters: tool.opaqueObject('input_schema')?.raw,
      strict: tool.boolean('strict'),
    };
    tools.taken.push(places.put(taken, path));
    ignored.addUnread(tool);
  });
  return tools;
}

function readToolChoice(fields: Fields, { taken, leftOut }: Tools, ignored: Ignored): ToolChoice | undefined {
  const choice = fields.object('tool_choice');
  if (choice === undefined) return undefined;
  const type = choice.requiredOneOf('type', ['auto', 'any', 'tool', 'none']);
  const name = type === 'tool' ? shownToolName(choice.requiredText('name')) : undefined;
  const isOneAtMost = choice.boolean('disable_parallel_tool_use') === true;
  // Where no tool can be called it asks for nothing.
  const isIdle = isOneAtMost && (type === 'none' || (type === 'auto' && taken.length === 0));
  if (isIdle) ignored.add(choice.at('disable_parallel_tool_use'));
  const parallel = isOneAtMost && !isIdle ? false : undefined;
  ignored.addUnread(choice);
  if (name !== undefined) {
    const isTaken = taken.some((tool) => tool.name === name);
    if (!isTaken && leftOut.has(name)) throw unsupported(choice.at('name'), 'only its vendor runs this tool');
    return { mode: 'tool', name, parallel };
  }
  if (type !== 'any') return { mode: type === 'none' ? 'none' : 'auto', parallel };
  if (taken.length === 0 && leftOut.size > 0) throw unsupported(choice.at('type'), 'only their vendor runs these tools');
  return { mode: 'required', parallel };
}

const EFFORTS: Readonly<Record<string, Effort>> = { low: 'low', medium: 'medium', high: 'high', xhigh: 'max', max: 'max' };

/** An effort alone is for models that think unasked, as the newest do. Beside thinking that is off it means nothing here. */
function readThinking(fields: Fields, effort: Effort | undefined, ignored: Ignored): Thinking | undefined {
  const thinking = fields.object('thinking');
  if (thinking === undefined) return effort === undefined ? undefined : { enabled: true, effort };
  const type = thinking.requiredOneOf('type', ['adaptive', 'enabled', 'disabled', 'between_tools']);
  const budgetTokens = thinking.count('budget_tokens');
  ignored.addUnread(thinking);
  if (type === 'adaptive' || type === 'enabled') {
    return { enabled: true, effort: effort ?? (budgetTokens === undefined ? undefined : effortFrom(budgetTokens)) };
  }
  if (effort !== undefined) ignored.add({ parent: fields.at('output_config'), key: 'effort' });
  return { enabled: false, effort: undefined };
}

type OutputConfig = { readonly effort: Effort | undefined; readonly output: OutputFormat | undefined };

function readConfig(fields: Fields, ignored: Ignored): OutputConfig {
  const config = fields.object('output_config');
  if (config === undefined) return { effort: undefined, output: undefined };
  const effort = config.oneOf('effort', Object.keys(EFFORTS));
  const output = readFormat(config, 'format', ignored);
  ignored.addUnread(config);
  return { effort: effort === undefined ? undefined : EFFORTS[effort], output };
}

/** The form of the answer (Anthropic, structured outputs), which is always kept to there. */
function readFormat(owner: Fields, name: string, ignored: Ignored): OutputFormat | undefined {
  const format = owner.object(name);
  if (format === undefined) return undefined;
  if (format.requiredString('type') !== 'json_schema') throw unsupported(format.at('type'), 'only json_schema is supported');
  const schema = format.opaqueObject('schema')?.raw;
  if (schema === undefined) throw format.missing('schema');
  ignored.addUnread(format);
  return { schema, name: 'output', strict: true };
}

/** The effort for a budget: the ends of the ranges lie in the middle of the budgets that such efforts stand for. */
function effortFrom(budgetTokens: number): Effort {
  if (budgetTokens <= 5120) return 'low';
  if (budgetTokens <= 12_288) return 'medium';
  return budgetTokens <= 20_480 ? 'high' : 'max';
}
