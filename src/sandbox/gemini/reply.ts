/**
 * Answers of the sandbox's Gemini API, whole and streamed.
 *
 * The first call of each step is signed, and so is the last part of an answer that was thought about; a signature covers
 * its part, so that one on another part, or on a part that was merged with another, is refused.
 * Source: Gemini API, generateContent; thought signatures.
 */

import { renderJson } from '../../base/json/render.ts';
import { RawJson } from '../../base/json/value.ts';
import type { JsonOut, JsonOutObject } from '../../base/json/value.ts';
import { stringField } from '../../base/loose.ts';
import { digest, joined, jsonReply, sign, streamReply } from '../protocol.ts';
import type { Ask, Piece, Reply, Script, Usage } from '../protocol.ts';

const JSON_CONTENT = { 'content-type': 'application/json; charset=UTF-8' };

/** The script as the answer to a request. */
export function renderReply(ask: Ask, script: Script): Reply {
  return ask.isStream ? streamReply(renderStream(ask, script), ask.isLines ? {} : JSON_CONTENT) : renderWhole(ask, script);
}

/** The signature of a part. Arguments are left out of it, since clients write them anew. */
export function signatureOf(part: Readonly<Record<string, unknown>>): string {
  const name = stringField(part['functionCall'], 'name');
  return name === undefined ? sign('text', String(part['text'] ?? '')) : sign('call', name);
}

const FINISH_REASONS = {
  end: 'STOP', tool_calls: 'STOP', max_tokens: 'MAX_TOKENS', stop_sequence: 'STOP', refusal: 'SAFETY', blocked: 'PROHIBITED_CONTENT',
} as const satisfies Record<Script['ending'], string>;

/** The parts of an answer; text in one part for a whole answer, in many for a stream. */
function partsFrom(ask: Ask, script: Script): { readonly part: JsonOutObject; readonly tokens: number }[] {
  const parts: { part: JsonOutObject; tokens: number }[] = [];
  const add = (part: JsonOutObject, tokens: number): void => void parts.push({ part, tokens });
  const hasThought = script.blocks.some((block) => block.type === 'thinking');
  const isDisclosed = ask.isThinkingAsked || ask.model === 'fake-thinking';
  let hasCall = false;
  for (const [index, block] of script.blocks.entries()) {
    if (block.type === 'thinking') {
      if (isDisclosed) add({ text: joined(block), thought: true }, 0);
    } else if (block.type === 'text') {
      for (const text of ask.isStream ? block.pieces : [joined(block)]) add({ text }, ask.isStream ? 1 : block.pieces.length);
    } else if (block.type === 'call' && !block.isCut) {
      const id = ask.model === 'fake-parallel' ? undefined : digest(ask.seed + index).slice(0, 8);
      const call: JsonOutObject = { functionCall: { name: block.name, args: new RawJson(block.argumentsText), id } };
      add(hasCall ? call : { ...call, thoughtSignature: sign('call', block.name) }, 2);
      hasCall = true;
    }
  }
  return hasCall || !hasThought ? parts : withSignedEnd(ask, parts);
}

/** Streams sign an empty part of their own, since the text before it has been sent. */
function withSignedEnd(ask: Ask, parts: { part: JsonOutObject; tokens: number }[]): { part: JsonOutObject; tokens: number }[] {
  const last = parts.at(-1);
  if (ask.isStream || last === undefined || last.part['thought'] === true) {
    return [...parts, { part: { text: '', thoughtSignature: sign('text', '') }, tokens: 0 }];
  }
  return [...parts.slice(0, -1), { ...last, part: { ...last.part, thoughtSignature: signatureOf(last.part) } }];
}

function chunkOf(ask: Ask, parts: readonly JsonOutObject[], finishReason: string | undefined, usage: JsonOut | undefined): JsonOutObject {
  const content = finishReason === 'SAFETY' && parts.length === 0 ? undefined : { parts: parts.length === 0 ? [{ text: '' }] : parts, role: 'model' };
  return { candidates: [{ content, finishReason, index: 0 }], usageMetadata: usage, modelVersion: ask.model, responseId: ask.seed.slice(0, 22) };
}

function blockedChunk(ask: Ask, usage: JsonOut | undefined): JsonOutObject {
  return { promptFeedback: { blockReason: FINISH_REASONS.blocked }, usageMetadata: usage, modelVersion: ask.model, responseId: ask.seed.slice(0, 22) };
}

function renderUsage(usage: Usage | undefined, outputTokens = 0): JsonOutObject | undefined {
  if (usage === undefined) return undefined;
  return {
    promptTokenCount: usage.inputTokens,
    candidatesTokenCount: outputTokens === 0 ? undefined : outputTokens,
    totalTokenCount: usage.inputTokens + outputTokens + usage.reasoningTokens,
    cachedContentTokenCount: usage.cachedTokens === 0 ? undefined : usage.cachedTokens,
    thoughtsTokenCount: usage.reasoningTokens === 0 ? undefined : usage.reasoningTokens,
  };
}

function renderWhole(ask: Ask, script: Script): Reply {
  const usage = renderUsage(script.usage, answerTokens(script));
  const parts = partsFrom(ask, script).map(({ part }) => part);
  const chunk = script.ending === 'blocked' ? blockedChunk(ask, usage) : chunkOf(ask, parts, FINISH_REASONS[script.ending], usage);
  return jsonReply(200, renderJson(chunk));
}

/** Thoughts are counted apart. */
function answerTokens({ usage }: Script): number {
  return usage === undefined ? 0 : usage.outputTokens - usage.reasoningTokens;
}

function renderStream(ask: Ask, script: Script): Piece[] {
  const total = renderUsage(script.usage, answerTokens(script));
  if (script.ending === 'blocked') return framed(ask, [{ chunk: blockedChunk(ask, total), isText: false }]);
  let tokens = 0;
  const chunks = partsFrom(ask, script).map(({ part, tokens: more }) => {
    tokens += more;
    const isText = part['text'] !== '' && part['text'] !== undefined && part['thought'] !== true;
    return { chunk: chunkOf(ask, [part], undefined, renderUsage(script.usage, tokens)), isText };
  });
  return framed(ask, [...chunks, { chunk: chunkOf(ask, [], FINISH_REASONS[script.ending], total), isText: false }]);
}

/** As events with `alt=sse`, else as the elements of one array. */
function framed(ask: Ask, chunks: readonly { readonly chunk: JsonOutObject; readonly isText: boolean }[]): Piece[] {
  return chunks.map(({ chunk, isText }, index) => {
    const json = renderJson(chunk);
    const element = `${index === 0 ? '[' : ',\r\n'}${json}${index === chunks.length - 1 ? ']' : ''}`;
    return { bytes: ask.isLines ? `data: ${json}\r\n\r\n` : element, isText };
  });
}
