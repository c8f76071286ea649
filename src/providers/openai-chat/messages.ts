/**
 * A conversation as the messages of a Chat Completions payload (OpenAI, Chat Completions, `messages`).
 *
 * The encoding of a prefix of a conversation never depends on what follows it: providers cache by prefix. Where user
 * turns in a row have to go out as one message, that message only grows at its end. A tool's message holds nothing but
 * text: whatever else a result holds follows in a message of the user's, behind all results of the turn.
 */

import { createJsonBudget } from '../../base/json/limits.ts';
import type { JsonBudget } from '../../base/json/limits.ts';
import type { JsonOut } from '../../base/json/value.ts';
import { CallIds } from '../../core/call-id.ts';
import type { AssistantTurn, ChatRequest, ContentPart, DocumentPart, ToolCallPart, ToolResultPart, ToolTurn, UserTurn } from '../../core/chat.ts';
import { Failure } from '../../core/failure.ts';
import { dataUrl, imageUrl, resultText, textOf } from '../openai-common/content.ts';
import { openAiRule } from '../openai-common/model-rules.ts';
import type { HostProfile } from './profile.ts';
import { carriedState } from './state.ts';

/** What stands between results of tools and a user, for hosts that refuse one right behind the other. */
const ANSWER_BETWEEN: JsonOut = { role: 'assistant', content: 'OK.' };

/** What the turns of one conversation share while they are encoded, in order. `ids` is undefined where any will do. */
type Past = {
  readonly provider: string;
  readonly profile: HostProfile;
  readonly ids: CallIds | undefined;
  readonly budget: JsonBudget;
  /** What the results since the latest assistant turn hold besides text. */
  media: ContentPart[];
};

/** The messages of a request that is not refused. Failure: bad_request, for a damaged provider_state. */
export function encodeMessages(provider: string, profile: HostProfile, request: ChatRequest): JsonOut[] | Failure {
  const ids = profile.callIds === undefined ? undefined : new CallIds(profile.callIds);
  const past: Past = { provider, profile, ids, budget: createJsonBudget(), media: [] };
  const messages: JsonOut[] = [];
  if (request.system !== undefined) {
    const isDeveloper = profile.systemRole === 'by model' && openAiRule(request.model).isReasoning;
    messages.push({ role: isDeveloper ? 'developer' : 'system', content: request.system });
  }
  let isBehindResults = false;
  const sayRow = (turns: readonly UserTurn[]): void => {
    if (isBehindResults && profile.userBehindResults === 'answered') messages.push(ANSWER_BETWEEN);
    isBehindResults = false;
    messages.push(encodeUser(profile, turns));
  };
  // User turns that go out as one message once it is known what follows them.
  let row: UserTurn[] = [];
  const say = (turn: UserTurn): void => {
    if (profile.userTurns === 'merged') row.push(turn);
    else sayRow([turn]);
  };
  for (const [index, turn] of request.turns.entries()) {
    if (turn.role !== 'tool') sayMedia(past, say);
    if (turn.role === 'user') {
      say(turn);
      continue;
    }
    const encoded = turn.role === 'tool' ? encodeResults(past, turn) : encodeAssistant(past, turn, index);
    if (encoded instanceof Failure) return encoded;
    if (encoded.length === 0) continue;
    if (row.length > 0) sayRow(row);
    row = [];
    for (const message of encoded) messages.push(message);
    isBehindResults = turn.role === 'tool';
  }
  sayMedia(past, say);
  if (row.length > 0) sayRow(row);
  return messages;
}

function sayMedia(past: Past, say: (turn: UserTurn) => void): void {
  if (past.media.length > 0) say({ role: 'user', parts: past.media });
  past.media = [];
}

/** A text alone goes out as a string, which every host takes, as do those of several turns; some models have no template for lists. */
function encodeUser(profile: HostProfile, turns: readonly UserTurn[]): JsonOut {
  const parts = turns.length === 1 && turns[0] !== undefined ? turns[0].parts : turns.flatMap((turn) => turn.parts);
  const texts = parts.map(textOf);
  const isPlain = !texts.includes(undefined) && (texts.length === 1 || turns.length > 1);
  return { role: 'user', content: isPlain ? texts.join('\n\n') : parts.map((part, at) => encodeUserPart(profile, part, texts[at])) };
}

/** `text` is what `textOf` says of the part. */
function encodeUserPart(profile: HostProfile, part: ContentPart, text: string | undefined): JsonOut {
  if (part.type === 'image') return { type: 'image_url', image_url: { url: imageUrl(part) } };
  return text === undefined && part.type === 'document' ? encodePdf(profile, part) : { type: 'text', text };
}

function encodePdf({ pdf }: HostProfile, { source, mediaType, name }: DocumentPart): JsonOut {
  const address = source.type === 'url' ? source.url : dataUrl(mediaType, source.base64);
  if (pdf === 'document_url') return { type: 'document_url', document_url: address, document_name: name };
  // Data has to have a name.
  return { type: 'file', file: { filename: name ?? 'document.pdf', file_data: address } };
}

/** The turn's message; none where an empty one is refused. */
function encodeAssistant(past: Past, turn: AssistantTurn, index: number): readonly JsonOut[] | Failure {
  const { provider, profile } = past;
  const carried = carriedState(provider, profile, turn, index, past.budget);
  if (carried instanceof Failure) return carried;
  let text = '';
  const calls: JsonOut[] = [];
  for (const [partIndex, part] of turn.parts.entries()) {
    if (part.type === 'text') text += part.text;
    else calls.push(encodeToolCall(past, part, carried.signatures.get(partIndex)));
  }
  const hasCalls = calls.length > 0;
  if (text === '' && !hasCalls && profile.emptyTurns === 'dropped') return [];
  const fallback = hasCalls ? profile.lostReasoning : undefined;
  return [
    {
      role: 'assistant',
      content: text === '' && hasCalls ? null : text,
      reasoning_content: carried.reasoningContent ?? fallback,
      reasoning_details: carried.reasoningDetails,
      tool_calls: hasCalls ? calls : undefined,
    },
  ];
}

function encodeToolCall(past: Past, part: ToolCallPart, signature: string | undefined): JsonOut {
  return {
    id: past.ids?.ofCall(part.id) ?? part.id,
    type: 'function',
    function: { name: part.name, arguments: part.arguments.text },
    extra_content: signature === undefined ? undefined : { google: { thought_signature: signature } },
  };
}

function encodeResults(past: Past, turn: ToolTurn): readonly JsonOut[] {
  return turn.parts.map((part) => {
    const id = past.ids?.ofResult(part.toolCallId) ?? part.toolCallId;
    keepMedia(past, part, id);
    return { role: 'tool', tool_call_id: id, content: resultText(part) };
  });
}

/** Keeps for later what of a result is no text, behind words that say whose it is: results in a row may all have some. */
function keepMedia({ media }: Past, { content }: ToolResultPart, id: string): void {
  const parts = typeof content === 'string' ? [] : content.filter((part) => textOf(part) === undefined);
  if (parts.length > 0) media.push({ type: 'text', text: `Attached to the result of tool call ${id}:`, state: undefined }, ...parts);
}
