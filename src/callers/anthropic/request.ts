/**
 * A Messages request (Anthropic, Messages API, create a message) as a chat.
 *
 * Takes the shapes that clients really send, their own earlier replies included. A field that is not translated is left
 * out and named, or refused by its path: see `fields.ts`; the conversation is `messages.ts`.
 */

import { Fields, textItem } from '../../base/fields.ts';
import type { ChatRequest, Effort, Thinking, Tool, ToolChoice } from '../../core/chat.ts';
import type { DecodedRequest, Translation } from '../../core/dialect.ts';
import type { Failure } from '../../core/failure.ts';
import { caught, decodeBody, unsupported } from '../body.ts';
import { applyTable, Ignored } from '../field-table.ts';
import { readModel } from '../model.ts';
import { MESSAGES_FIELDS } from './fields.ts';
import { readConversation } from './messages.ts';

/** Decodes one body. Failures: bad_request, and unsupported once it is translated. Never throws, whatever the bytes. */
// hot: per request
export function decodeMessages(body: Buffer): DecodedRequest | Failure {
  return decodeBody(body, (fields, source) => ({
    provider: undefined,
    model: readModel(fields),
    isStream: fields.boolean('stream') ?? false,
    wantsUsage: true,
    source,
    translate: (model) => caught(() => translate(fields, model)),
  }));
}

function translate(fields: Fields, model: string): Translation {
  const ignored = new Ignored();
  const { system, turns } = readConversation(fields, ignored);
  const tools = readTools(fields, ignored);
  const request: ChatRequest = {
    provider: undefined,
    model,
    system,
    turns,
    maxTokens: fields.count('max_tokens') || undefined,
    temperature: fields.finiteNumber('temperature'),
    topP: fields.finiteNumber('top_p'),
    stop: fields.list('stop_sequences', textItem) ?? [],
    tools: tools.taken,
    toolChoice: readToolChoice(fields, tools, ignored),
    thinking: readThinking(fields, ignored),
    output: undefined,
    cache: undefined,
    user: undefined,
    providerOptions: undefined,
  };
  applyTable(MESSAGES_FIELDS, fields, ignored);
  return { request, ignored: ignored.paths };
}

type Tools = {
  readonly taken: Tool[];
  /** Names of those that only the maker's own models know. */
  readonly leftOut: Set<string>;
};

/** The maker's own tools, whoever runs them: their types end in a date. */
const MAKERS_OWN = /^[a-z_]{1,64}_20\d{6}$/;

function readTools(fields: Fields, ignored: Ignored): Tools {
  const tools: Tools = { taken: [], leftOut: new Set() };
  fields.list('tools', (item, path) => {
    const tool = Fields.from(item, path);
    const type = tool.string('type') ?? 'custom';
    if (MAKERS_OWN.test(type)) {
      tools.leftOut.add(tool.string('name') ?? '');
      ignored.add(path);
      return;
    }
    if (type !== 'custom') throw unsupported(tool.at('type'), "only custom tools and the maker's own are taken");
    tools.taken.push({
      name: tool.requiredText('name'),
      description: tool.string('description') || undefined,
      parameters: tool.opaqueObject('input_schema')?.raw,
    strict: undefined,
    });
    ignored.addUnread(tool);
  });
  return tools;
}

function readToolChoice(fields: Fields, { taken, leftOut }: Tools, ignored: Ignored): ToolChoice | undefined {
  const choice = fields.object('tool_choice');
  if (choice === undefined) return undefined;
  const type = choice.requiredOneOf('type', ['auto', 'any', 'tool', 'none']);
  const name = type === 'tool' ? choice.requiredText('name') : undefined;
  if (choice.boolean('disable_parallel_tool_use') === true) {
    throw unsupported(choice.at('disable_parallel_tool_use'), 'at most one call a turn cannot be asked for');
  }
  ignored.addUnread(choice);
  if (name !== undefined) {
    const isTaken = taken.some((tool) => tool.name === name);
    if (!isTaken && leftOut.has(name)) throw unsupported(choice.at('name'), "it is a tool of the maker's own");
    return { mode: 'tool', name, parallel: undefined };
  }
  if (type !== 'any') return { mode: type === 'none' ? 'none' : 'auto', parallel: undefined };
  if (taken.length === 0 && leftOut.size > 0) throw unsupported(choice.at('type'), "all tools are the maker's own");
  return { mode: 'required', parallel: undefined };
}

const EFFORTS: Readonly<Record<string, Effort>> = { low: 'low', medium: 'medium', high: 'high', xhigh: 'max', max: 'max' };

/** The effort for a budget: the ends of the ranges lie in the middle of the budgets that such efforts stand for. */
const EFFORT_BY_BUDGET: readonly (readonly [budgetTokensMax: number, effort: Effort])[] = [
  [5120, 'low'],
  [12_288, 'medium'],
  [20_480, 'high'],
  [Infinity, 'max'],
];

/** An effort alone is for models that think unasked, as the newest do. Beside thinking that is off it means nothing here. */
function readThinking(fields: Fields, ignored: Ignored): Thinking | undefined {
  const effort = readEffort(fields, ignored);
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

/** What `output_config` says, which is the effort alone: a format of the answer has no equal in a chat. */
function readEffort(fields: Fields, ignored: Ignored): Effort | undefined {
  const config = fields.object('output_config');
  if (config === undefined) return undefined;
  if (config.any('format') !== undefined) throw unsupported(config.at('format'), 'only plain text can be asked for');
  const effort = config.oneOf('effort', Object.keys(EFFORTS));
  ignored.addUnread(config);
  return effort === undefined ? undefined : EFFORTS[effort];
}

function effortFrom(budgetTokens: number): Effort | undefined {
  return EFFORT_BY_BUDGET.find(([budgetTokensMax]) => budgetTokens <= budgetTokensMax)?.[1];
}
