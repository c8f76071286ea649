/**
 * How a client goes on from an answer: the answer put together from a stream, and the turn that the client appends for it,
 * as a template for each kind of thing that it brings back. `make clients` records the templates, tests fill them.
 */

import { createHash } from 'node:crypto';
import type { Dialect, Provider } from './sdks/clients.ts';

export type Json = null | boolean | number | string | readonly Json[] | JsonMembers;
export type JsonMembers = { readonly [name: string]: Json };

/** What a client brings back for each type of part, and for the result of a call. `{{name}}` stands for what the answer has there. */
export type Returns = {
  readonly parts: Readonly<Record<string, JsonMembers>>;
  readonly result: JsonMembers;
};

/** Who is sent a dialect's requests as they came. */
export const MAKERS: Readonly<Record<Dialect, Provider>> = { chat: 'openai', responses: 'openai', messages: 'anthropic' };

const ID_NAMES = ['id', 'call_id'];

/** Where a dialect keeps its history. */
export function historyName(dialect: Dialect): 'messages' | 'input' {
  return dialect === 'responses' ? 'input' : 'messages';
}

/** The parts of an answer, each of a type, whether it came whole or as a stream. */
export function partsOf(dialect: Dialect, answer: string): readonly JsonMembers[] {
  const isWhole = answer.startsWith('{');
  const events = isWhole ? [JSON.parse(answer) as JsonMembers] : eventsOf(answer);
  switch (dialect) {
    case 'chat': {
      const message = isWhole ? chatMessage(events) : foldedMessage(events);
      return [{ ...message, type: 'message' }];
    }
    case 'responses': {
      const response = isWhole ? events[0] : (events.find(({ type }) => type === 'response.completed')?.['response'] as JsonMembers | undefined);
      return listOf(response?.['output']);
    }
    case 'messages':
      return isWhole ? listOf(events[0]?.['content']) : foldedBlocks(events);
  }
}

/** The ids of an answer's calls. */
export function callsOf(dialect: Dialect, parts: readonly JsonMembers[]): readonly JsonMembers[] {
  if (dialect === 'chat') return parts.flatMap((part) => listOf(part['tool_calls']));
  return parts.filter(({ type }) => type === 'function_call' || type === 'tool_use');
}

/** What a client appends to its history for an answer with calls. */
export function turnFor(dialect: Dialect, { parts: templates, result }: Returns, parts: readonly JsonMembers[]): readonly JsonMembers[] {
  const results = callsOf(dialect, parts).map((call) => filled(result, call));
  if (dialect === 'chat') {
    const calls = callsOf(dialect, parts).map((made) => filled(templates['call'] ?? {}, made));
    return [{ ...filled(templates['message'] ?? {}, parts[0] ?? {}), tool_calls: calls }, ...results];
  }
  const returned = parts.flatMap((part) => {
    const template = templates[String(part['type'])];
    if (template === undefined) return [];
    // Codex brings it back; of the calls that were recorded none had one.
    const { namespace } = part;
    return [namespace === undefined ? filled(template, part) : { ...filled(template, part), namespace }];
  });
  if (dialect === 'responses') return [...returned, ...results];
  return [{ role: 'assistant', content: returned }, { role: 'user', content: results }];
}

/** The templates for what a client appended for an answer. */
export function returnsFrom(dialect: Dialect, parts: readonly JsonMembers[], appended: readonly JsonMembers[]): Returns {
  const templates: Record<string, JsonMembers> = {};
  const calls = callsOf(dialect, parts);
  if (dialect === 'chat') {
    const { tool_calls: made, ...message } = appended[0] ?? {};
    templates['message'] = template(message, parts[0] ?? {});
    templates['call'] = template(listOf(made)[0] ?? {}, calls[0] ?? {});
    return { parts: templates, result: template(appended[1] ?? {}, calls[0] ?? {}) };
  }
  const isResult = ({ type }: JsonMembers): boolean => type === 'function_call_output' || type === 'tool_result';
  const all = dialect === 'responses' ? appended : appended.flatMap(({ content }) => listOf(content));
  for (const part of parts) {
    const type = String(part['type']);
    // By its type, or as a reference to its id.
    const isOfType = (item: JsonMembers): boolean => (item['type'] ?? 'message') === type || (item['id'] !== undefined && item['id'] === part['id']);
    const alike = all.filter((item) => !isResult(item) && isOfType(item));
    const at = parts.filter((other) => other['type'] === type).indexOf(part);
    const same = alike.find((item) => ID_NAMES.some((name) => item[name] !== undefined && item[name] === part[name])) ?? alike[at];
    if (same !== undefined) templates[type] = { ...templates[type], ...template(same, part) };
  }
  return { parts: templates, result: template(all.find(isResult) ?? {}, calls[0] ?? {}) };
}

/** Whether a provider's own request has what it wants back; `none` = its API has no such thing. */
export function stateIn(provider: Provider, { path, body }: { readonly path: string; readonly body: string }): 'kept' | 'lost' | 'none' {
  switch (provider) {
    case 'anthropic':
      return /"signature":"[^"]|"redacted_thinking"/.test(body) ? 'kept' : 'lost';
    case 'openai':
      return !path.includes('/responses') ? 'none' : /"encrypted_content":"[^"]|"type":"item_reference","id":"rs_/.test(body) ? 'kept' : 'lost';
    case 'gemini':
      return /"thoughtSignature":"(?!skip_|context_)/.test(body) ? 'kept' : 'lost';
    case 'compat':
      return 'none';
  }
}

type Sent = { model: string; user?: string; safety_identifier?: string; prompt_cache_key?: string; metadata?: { user_id?: string } };

/** The body as the vendor gets it: the model without its prefix, and digests for names of users and caches. */
export function asRelayed(text: string): string {
  const body = JSON.parse(text) as Sent;
  const hashed = (kind: string, name: string): string => createHash('sha256').update(JSON.stringify([kind, 'default', name])).digest('hex');
  body.model = body.model.slice(body.model.indexOf('/') + 1);
  if (body.user !== undefined) body.user = hashed('user', body.user);
  if (body.safety_identifier !== undefined) body.safety_identifier = hashed('user', body.safety_identifier);
  if (body.prompt_cache_key !== undefined) body.prompt_cache_key = hashed('cache', body.prompt_cache_key);
  if (body.metadata?.user_id !== undefined) body.metadata.user_id = hashed('user', body.metadata.user_id);
  return JSON.stringify(body);
}

function template(value: JsonMembers, of: JsonMembers): JsonMembers {
  return templated(value, of, of) as JsonMembers;
}

function templated(value: Json, of: Json | undefined, answered: JsonMembers): Json {
  if (typeof value === 'string') {
    const id = ID_NAMES.find((name) => answered[name] === value);
    return id === undefined ? value : `{{${id}}}`;
  }
  if (Array.isArray(value)) return (value as readonly Json[]).map((item, index) => templated(item, Array.isArray(of) ? (of as readonly Json[])[index] : undefined, answered));
  if (!isMembers(value)) return value;
  const members: Record<string, Json> = {};
  for (const [name, member] of Object.entries(value)) {
    const made = isMembers(of) ? of[name] : undefined;
    const isTaken = made !== undefined && made !== null && name !== 'type' && name !== 'role' && (JSON.stringify(made) === JSON.stringify(member) || name === 'arguments' || name === 'input');
    members[name] = isTaken ? `{{${name}}}` : templated(member, made, answered);
  }
  return members;
}

/** A template with what an answer has; what the answer lacks is left away. */
function filled(value: JsonMembers, of: JsonMembers): JsonMembers {
  return (fill(value, of, of) ?? {}) as JsonMembers;
}

function fill(value: Json, of: Json | undefined, answered: JsonMembers): Json | undefined {
  if (typeof value === 'string') {
    const name = /^\{\{(\w+)\}\}$/.exec(value)?.[1];
    if (name === undefined) return value;
    return (isMembers(of) ? of[name] : undefined) ?? answered[name];
  }
  if (Array.isArray(value)) return (value as readonly Json[]).map((item, index) => fill(item, Array.isArray(of) ? (of as readonly Json[])[index] : undefined, answered) ?? null);
  if (!isMembers(value)) return value;
  const members: Record<string, Json> = {};
  for (const [name, member] of Object.entries(value)) {
    const isPlace = typeof member === 'string' && member.startsWith('{{');
    const made = fill(member, isPlace ? of : isMembers(of) ? of[name] : undefined, answered);
    if (made !== undefined) members[name] = made;
  }
  return members;
}

function isMembers(value: Json | undefined): value is JsonMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function listOf(value: Json | undefined): readonly JsonMembers[] {
  return Array.isArray(value) ? (value as readonly Json[]).filter(isMembers) : [];
}

function eventsOf(text: string): readonly JsonMembers[] {
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data) as JsonMembers);
}

function chatMessage(events: readonly JsonMembers[]): JsonMembers {
  return (listOf(events[0]?.['choices'])[0]?.['message'] ?? {}) as JsonMembers;
}

/** The message of a stream, as helpers put it together: texts joined, anything else the last. */
function foldedMessage(events: readonly JsonMembers[]): JsonMembers {
  const message: Record<string, Json> = {};
  const calls: Record<string, Json>[] = [];
  for (const delta of events.flatMap(({ choices }) => listOf(choices).map((choice) => choice['delta'] as JsonMembers))) {
    for (const [name, value] of Object.entries(delta)) {
      if (name !== 'tool_calls') message[name] = joined(name, message[name], value);
    }
    for (const { index, ...call } of listOf(delta['tool_calls'])) {
      const made = (calls[Number(index)] ??= {});
      for (const [name, value] of Object.entries(call)) {
        const before = (made[name] ?? {}) as JsonMembers;
        const pieces = isMembers(value) ? Object.entries(value).map(([key, piece]): [string, Json] => [key, joined(key, before[key], piece)]) : [];
        made[name] = isMembers(value) ? { ...before, ...Object.fromEntries(pieces) } : value;
      }
    }
  }
  return calls.length === 0 ? message : { ...message, tool_calls: calls };
}

const WHOLE_NAMES = ['role', 'id', 'type', 'name'];

function joined(name: string, before: Json | undefined, piece: Json): Json {
  return typeof before === 'string' && typeof piece === 'string' && !WHOLE_NAMES.includes(name) ? before + piece : piece;
}

function foldedBlocks(events: readonly JsonMembers[]): readonly JsonMembers[] {
  const blocks: Record<string, Json>[] = [];
  const inputs = new Map<number, string>();
  for (const event of events) {
    const index = Number(event['index']);
    if (event['type'] === 'content_block_start') blocks[index] = { ...(event['content_block'] as JsonMembers) };
    const block = blocks[index];
    if (event['type'] !== 'content_block_delta' || block === undefined) continue;
    const { type: _type, ...delta } = event['delta'] as JsonMembers;
    for (const [name, piece] of Object.entries(delta)) {
      if (name === 'partial_json') inputs.set(index, (inputs.get(index) ?? '') + String(piece));
      else block[name] = joined(name, block[name], piece);
    }
  }
  return blocks.map((block, index) => (inputs.has(index) ? { ...block, input: JSON.parse(inputs.get(index) || '{}') as Json } : block));
}
