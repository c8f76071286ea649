/**
 * Names of tools (Anthropic, tool use), which may be twice as long here as elsewhere, as Claude Code makes them of an MCP
 * server's and a tool's.
 *
 * Other vendors' models are shown a shorter one. Which tool it stands for is known from the request itself, so a call of it
 * goes back under its own name.
 */

import { itemsOf, memberOf } from '../../base/json/member.ts';
import type { JsonObject } from '../../base/json/value.ts';
import type { ChatReply } from '../../core/chat.ts';
import type { AnswerFacts } from '../../core/dialect.ts';
import { fittingName, NAME_CHARS_MAX } from '../tool-name.ts';

export function shownToolName(name: string): string {
  return fittingName(name, name);
}

/** The reply with the tools' own names in its calls. */
export function withOwnToolNames(reply: ChatReply, { request }: AnswerFacts): ChatReply {
  if (!reply.parts.some((part) => part.type === 'tool_call' && part.name.length === NAME_CHARS_MAX)) return reply;
  const names = ownToolNames(request.source);
  const parts = reply.parts.map((part) => {
    const name = part.type === 'tool_call' ? names.get(part.name) : undefined;
    return part.type !== 'tool_call' || name === undefined ? part : { ...part, name };
  });
  return { ...reply, parts };
}

/** The names of a request's tools by those that are shown in their place. */
function ownToolNames(source: JsonObject | undefined): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const tool of itemsOf(memberOf(source, 'tools'))) {
    const name = memberOf(tool, 'name');
    if (typeof name === 'string' && name.length > NAME_CHARS_MAX) names.set(shownToolName(name), name);
  }
  return names;
}
