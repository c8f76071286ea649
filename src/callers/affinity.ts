/**
 * What a request says about who has served its conversation, read from the body as it came: how the conversation begins, and
 * whose state an open tool loop carries.
 *
 * Nothing here is checked or refused. Whoever writes another's name into a state only changes who is asked first.
 */

import { createJsonBudget } from '../base/json/limits.ts';
import { itemsOf, memberOf } from '../base/json/member.ts';
import type { JsonObject, JsonValue } from '../base/json/value.ts';
import type { ChatRequest, Turn } from '../core/chat.ts';
import type { ConversationHead, LoopOwner } from '../core/dialect.ts';
import { stateProvider } from '../core/provider-state.ts';
import { carriedStates, isCarriedText } from './carried-state.ts';

/**
 * The system text and, of the first message of a user, the last text: agents put what all their conversations have in common
 * before it.
 */
export function headOfChat({ system, turns }: ChatRequest): ConversationHead {
  const first = turns.find(({ role }) => role === 'user');
  const texts = first?.parts.filter((part) => part.type === 'text') ?? [];
  return { system: system ?? '', user: texts.at(-1)?.text ?? '' };
}

/** Who made the state of the calls that the last results answer; undefined = no loop is open, or it carries none. */
export function loopOwnerOfChat(turns: readonly Turn[]): LoopOwner | undefined {
  if (turns.at(-1)?.role !== 'tool') return undefined;
  const called = turns.findLast(({ role }) => role !== 'tool');
  if (called?.role !== 'assistant') return undefined;
  return ownerFrom(called.parts.flatMap(({ state }) => state ?? []));
}

/** How a conversation begins in Chat Completions, Responses or Messages. */
export function headOf(source: JsonObject): ConversationHead {
  const items = conversationIn(source);
  if (typeof items === 'string') return { system: lastText(source.entries.get('instructions')), user: items };
  let system = lastText(source.entries.get('system') ?? source.entries.get('instructions'));
  for (const item of items) {
    const role = memberOf(item, 'role');
    if (role === 'user') return { system, user: lastText(memberOf(item, 'content')) };
    if (system === '' && isInstruction(item)) system = lastText(memberOf(item, 'content'));
  }
  return { system, user: '' };
}

/** Whose state an open loop carries in these formats. */
export function loopOwnerOf(source: JsonObject): LoopOwner | undefined {
  const items = conversationIn(source);
  if (typeof items === 'string') return undefined;
  // Agents tell the model something among results, or behind them (Codex: how an image was resized).
  let at = items.findLastIndex((item) => !isInstruction(item));
  if (!isResult(items[at])) return undefined;
  while (at >= 0 && !isAssistants(items[at])) at -= 1;
  const sealed: string[] = [];
  for (; at >= 0 && isAssistants(items[at]); at -= 1) sealed.push(...sealedIn(items[at]));
  const carried = sealed.filter(isCarriedText);
  const budget = createJsonBudget();
  const states = carried.flatMap((text) => {
    const some = carriedStates(text, budget);
    return Array.isArray(some) ? some.map(({ state }) => state) : [];
  });
  return ownerFrom(states) ?? (sealed.length > carried.length ? 'relayed' : undefined);
}

function ownerFrom(states: readonly string[]): LoopOwner | undefined {
  for (const state of states) {
    const provider = stateProvider(state);
    if (provider !== undefined) return { provider };
  }
  return undefined;
}

function conversationIn({ entries }: JsonObject): readonly JsonValue[] | string {
  const items = entries.get('messages') ?? entries.get('input');
  return typeof items === 'string' ? items : itemsOf(items);
}

function isInstruction(item: JsonValue): boolean {
  const role = memberOf(item, 'role');
  return role === 'system' || role === 'developer';
}

/** What a tool answered: a message of its own, a part of a user's, or an item. */
function isResult(item: JsonValue | undefined): boolean {
  if (memberOf(item, 'role') === 'tool') return true;
  const type = memberOf(item, 'type');
  if (typeof type === 'string' && type.endsWith('_output')) return true;
  return memberOf(item, 'role') === 'user' && itemsOf(memberOf(item, 'content')).some((part) => memberOf(part, 'type') === 'tool_result');
}

/** What an assistant said: a message, or an item of what it thought and called. */
function isAssistants(item: JsonValue | undefined): boolean {
  return memberOf(item, 'role') === 'assistant' || (memberOf(item, 'role') === undefined && memberOf(item, 'type') !== undefined && !isResult(item));
}

/** What is sealed of an assistant's thoughts: by the gateway in any of these places, by vendors in those of their own formats. */
function sealedIn(item: JsonValue | undefined): readonly string[] {
  const ofParts = itemsOf(memberOf(item, 'content')).flatMap((part) => [memberOf(part, 'signature'), memberOf(part, 'data')]);
  const ofCalls = [item, ...itemsOf(memberOf(item, 'tool_calls'))].map((owner) => memberOf(memberOf(memberOf(owner, 'extra_content'), 'google'), 'thought_signature'));
  const places = [memberOf(item, 'encrypted_content'), ...ofParts, ...ofCalls.filter(isCarriedText)];
  return places.filter((text) => typeof text === 'string').filter((text) => text !== '');
}

function lastText(value: JsonValue | undefined): string {
  if (typeof value === 'string') return value;
  const texts = itemsOf(value).map((part) => memberOf(part, 'text'));
  return texts.findLast((text) => typeof text === 'string') ?? '';
}
