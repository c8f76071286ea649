/**
 * A Responses request (OpenAI, Responses API, create a response) as a chat.
 *
 * Takes the shapes that clients really send. A field that is not translated is left out and named, or refused by its
 * path: see `fields.ts`. Nothing is stored, so whatever refers to something stored is refused.
 */

import { textItem } from '../../base/fields.ts';
import type { Fields } from '../../base/fields.ts';
import type { JsonObject } from '../../base/json/value.ts';
import type { ChatRequest, OutputFormat, Thinking } from '../../core/chat.ts';
import type { DecodedRequest, RequestBody, Translation } from '../../core/dialect.ts';
import type { Failure } from '../../core/failure.ts';
import { unsupported } from '../body.ts';
import { applyTable, Ignored } from '../field-table.ts';
import { readMaxTokens } from '../openai-common/max-tokens.ts';
import { readFormat } from '../openai-common/output.ts';
import { withParallel } from '../openai-common/parallel.ts';
import { readEffort } from '../openai-common/thinking.ts';
import { Places } from '../places.ts';
import { decodeVendorRequest } from '../vendor-request.ts';
import { RESPONSES_FIELDS } from './fields.ts';
import { readConversation } from './items.ts';
import { ToolNames } from './tool-names.ts';
import { readTools } from './tools.ts';

export function decodeResponses(body: RequestBody): DecodedRequest | Failure {
  return decodeVendorRequest(body, translate);
}

function translate(fields: Fields, source: JsonObject, model: string): Translation {
  const ignored = new Ignored();
  const places = new Places();
  const names = new ToolNames(source);
  const { system, turns, added } = readConversation(fields, names, ignored, places);
  const { tools, toolChoice } = readTools(fields, added, names, ignored, places);
  const request: ChatRequest = {
    provider: undefined,
    model,
    system,
    turns,
    maxTokens: readMaxTokens(fields, 'max_output_tokens', ignored),
    temperature: fields.finiteNumber('temperature'),
    topP: fields.finiteNumber('top_p'),
    stop: [],
    tools,
    toolChoice: withParallel(toolChoice, fields, tools.length, ignored),
    thinking: readThinking(fields, ignored),
    output: readOutput(fields, ignored),
    cache: undefined,
    user: undefined,
    providerOptions: undefined,
  };
  checkInclude(fields, ignored);
  applyTable(RESPONSES_FIELDS, fields, ignored);
  return { request, ignored: ignored.paths, told: (sentence) => places.told(sentence, request, NAMES) };
}

/** What fields of a chat that a provider may refuse are called here. */
const NAMES = {
  output: 'text.format',
  thinking: 'reasoning.effort',
  max_tokens: 'max_output_tokens',
  'tool_choice.parallel': 'parallel_tool_calls',
};

function readThinking(fields: Fields, ignored: Ignored): Thinking | undefined {
  const reasoning = fields.object('reasoning');
  if (reasoning === undefined) return undefined;
  const thinking = readEffort(reasoning, 'effort');
  ignored.addUnread(reasoning);
  return thinking;
}

function readOutput(fields: Fields, ignored: Ignored): OutputFormat | undefined {
  const text = fields.object('text');
  const format = text?.object('format');
  const output = format === undefined ? undefined : readFormat(format, undefined, ignored);
  if (text !== undefined) ignored.addUnread(text);
  return output;
}

/** What is asked for in addition: sealed reasoning is always there, other things belong to tools that nobody runs. */
function checkInclude(fields: Fields, ignored: Ignored): void {
  fields.list('include', (item, path) => {
    const name = textItem(item, path);
    if (name === 'message.output_text.logprobs') throw unsupported(path, 'the answer has no log probabilities');
    if (name !== 'reasoning.encrypted_content') ignored.add(path);
  });
}
