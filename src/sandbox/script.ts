/**
 * What the fake model says, decided by its name and the conversation alone.
 *
 * Deterministic and without memory: the same request gets the same answer, and the rounds of a tool loop are counted
 * from the turns that come with each request. Knows no wire format.
 */

import { renderJson } from '../base/json/render.ts';
import { joined, piecesOf, slicesOf, wordCount } from './protocol.ts';
import type { Ask, Block, ConversationFacts, Ending, Output, Script, Tool } from './protocol.ts';
import { sampleArguments, sampleValue } from './schema/sample.ts';

type Model = {
  readonly meaning: string;
  /** `tools` are those that may be called; N is the number in the model's name. */
  readonly play: (ask: Ask, tools: readonly Tool[], n: number) => readonly Block[];
  readonly ending?: Ending;
};

/** The models by name; an `N` in a name stands for a number. Any other name is `fake-chat`. */
export const MODELS: Readonly<Record<string, Model>> = {
  'fake-chat': {
    meaning: 'a short friendly answer that quotes the last user text and counts images and documents; thinks when asked to',
    play: (ask) => [text(chatAnswer(ask))],
  },
  'fake-tool-loop': {
    meaning: 'calls the first tool twice at once, then the last one once, then answers from the results; reasons before each step',
    play: playToolLoop,
  },
  'fake-plain-loop': {
    meaning: 'the same calls and answer without a reasoning model behind them, so nothing has to come back',
    play: (ask, tools) => playToolLoop(ask, tools).filter((block) => !isReasoning(block)),
  },
  'fake-parallel': {
    meaning: 'calls every tool at once, at least three calls, then answers; on Gemini the calls have no ids',
    play: ({ facts }, tools) =>
      tools.length === 0 || facts.round > 0 ? [text(resultsAnswer(facts))] : callsOf(tools, Math.max(3, tools.length)),
  },
  'fake-interleaved': {
    meaning: 'reasons before each of two calls of one turn, then answers from the results and ends with reasoning',
    play: ({ facts }, tools) => {
      if (tools.length === 0 || facts.round > 0) return [text(resultsAnswer(facts)), thinking('They may want more.')];
      const [first, second] = callsOf(tools.slice(0, 1), 2) as [Block, Block];
      return [thinking('This first.'), first, thinking('And this.', true), second];
    },
  },
  'fake-json-numbers': {
    meaning: 'calls the first tool with numbers that a double cannot hold and integer-like keys, then answers',
    play: ({ facts }, [tool]) =>
      tool === undefined || facts.round > 0 ? [text(resultsAnswer(facts))] : [call(tool.name, JSON_NUMBERS)],
  },
  'fake-thinking': { meaning: 'discloses its reasoning, asked or not, then answers', play: (ask) => [THINKING, text(chatAnswer(ask))] },
  'fake-refusal': { meaning: 'declines without a word', play: () => [], ending: 'refusal' },
  'fake-refusal-partial': { meaning: 'declines after some words', play: () => [text('I would rather not go on with this.')], ending: 'refusal' },
  'fake-blocked': { meaning: 'the prompt itself is blocked, in the way nearest to that', play: () => [], ending: 'blocked' },
  'fake-empty': { meaning: 'a good end without any text', play: () => [] },
  'fake-long-N': {
    meaning: 'an answer of N pieces',
    play: (_ask, _tools, n) => [{ type: 'text', pieces: Array.from({ length: Math.min(n, PIECES_MAX) }, (_, index) => `word${index + 1} `) }],
  },
  'fake-no-usage': { meaning: 'reports no usage', play: (ask) => [text(chatAnswer(ask))] },
};

const PIECES_MAX = 1_000_000;
const QUOTE_CHARS_MAX = 60;
const JSON_NUMBERS = '{"big":12345678901234567890,"one":1.0,"tiny":1e-7,"2":"second","1":"first"}';
const THINKING = thinking('Somebody wrote to me. A short and friendly answer will do.');
const REDACTED_TOKENS = 8;
const JSON_PIECE_CHARS = 8;

/** The row of a table whose names may end in an `N` or `NNN`, and the number that stands there (0 without one); the letter itself is no number. */
export function matchName<T>(table: Readonly<Record<string, T>>, model: string): { row: T; n: number } | undefined {
  const digits = /(?<=-)\d{1,9}$/.exec(model)?.[0];
  const stem = model.slice(0, model.length - (digits?.length ?? 0));
  if (Object.hasOwn(table, model) && !/-N+$/.test(model)) return { row: table[model] as T, n: 0 };
  const name = [`${stem}N`, `${stem}NNN`].find((candidate) => digits !== undefined && Object.hasOwn(table, candidate));
  return name === undefined ? undefined : { row: table[name] as T, n: Number(digits) };
}

/** The answer to a request: the blocks that were written for it, or what the model says of its own. */
export function writeScript(ask: Ask, written?: readonly Block[]): Script {
  const { row, n } = matchName(MODELS, ask.model) ?? { row: MODELS['fake-chat'] as Model, n: 0 };
  const played = written ?? playedBlocks(ask, row, n);
  const stopped = stopAtSequence(played, ask.stop);
  const limited = limitTokens(stopped.blocks, ask.maxTokens ?? Number.POSITIVE_INFINITY);
  const reasoningTokens = limited.blocks.reduce((total, block) => total + (isReasoning(block) ? tokensOf(block) : 0), 0);
  const natural = limited.blocks.some((block) => block.type === 'call') ? 'tool_calls' : 'end';
  const ending = (written === undefined ? row.ending : undefined) ?? (limited.isCut ? 'max_tokens' : stopped.sequence !== undefined ? 'stop_sequence' : natural);
  return {
    blocks: limited.blocks,
    ending,
    stopSequence: ending === 'stop_sequence' ? stopped.sequence : undefined,
    usage: ask.model === 'fake-no-usage' ? undefined : {
      inputTokens: ask.facts.inputTokens,
      cachedTokens: ask.facts.cachedTokens,
      cacheWriteTokens: ask.facts.cacheWriteTokens,
      outputTokens: limited.tokens,
      reasoningTokens: Math.min(reasoningTokens, limited.tokens),
    },
  };
}

function playedBlocks(ask: Ask, model: Model, n: number): readonly Block[] {
  const { choice } = ask;
  const named = choice.mode === 'tool' ? ask.tools.filter((tool) => tool.name === choice.name) : [];
  if (named.length > 0) return callsOf(named, 1);
  const blocks = model.play(ask, choice.mode === 'none' ? [] : ask.tools, n);
  if (choice.mode === 'required' && !blocks.some(isCall)) return callsOf(ask.tools.slice(-1), 1);
  const thought = ask.isThinkingAsked && blocks.length > 0 && !blocks.some(isReasoning) ? [THINKING, ...blocks] : blocks;
  const firstCall = thought.findIndex(isCall);
  if (firstCall !== -1) return ask.isSerial === true ? thought.slice(0, firstCall + 1) : thought;
  const { output } = ask;
  return output === undefined || model.ending !== undefined ? thought : thought.map((block) => (block.type === 'text' ? formed(ask, output) : block));
}

function playToolLoop(ask: Ask, tools: readonly Tool[]): readonly Block[] {
  const { round } = ask.facts;
  if (tools.length === 0) return [THINKING, text(chatAnswer(ask))];
  if (round === 0) return [thinking('Two look-ups first.'), { type: 'redacted' }, text('Let me look that up.'), ...callsOf(tools.slice(0, 1), 2)];
  if (round === 1) return [thinking('One more look-up.', true), ...callsOf(tools.slice(-1), 1)];
  return [thinking('That is all I need.'), text(resultsAnswer(ask.facts))];
}

export function text(content: string): Block {
  return { type: 'text', pieces: piecesOf(content) };
}

export function thinking(content: string, isOmitted = false): Block {
  return { type: 'thinking', pieces: piecesOf(content), isOmitted };
}

export function call(name: string, argumentsText: string): Block {
  return { type: 'call', name, argumentsText, isCut: false };
}

/** Some calls, of the tools in turn, each with other arguments where the schema allows. */
function callsOf(tools: readonly Tool[], howMany: number): Block[] {
  if (tools.length === 0) return [];
  return Array.from({ length: howMany }, (_, index) => {
    const tool = tools[index % tools.length] as Tool;
    return call(tool.name, renderJson(sampleArguments(tool.schema, index)));
  });
}

/** The answer in the form that was asked for; what the schema leaves open is made up. */
function formed(ask: Ask, output: Output): Block {
  const value = output.schema === undefined ? { answer: chatAnswer(ask) } : sampleValue(output.schema, { ...output, variant: 0 });
  const json = renderJson(value);
  const content: unknown = output.isBare === true ? JSON.parse(json) : json;
  return { type: 'text', pieces: slicesOf(String(content), JSON_PIECE_CHARS) };
}

function chatAnswer({ model, facts }: Ask): string {
  const quote = Array.from(facts.userText.slice(0, 2 * QUOTE_CHARS_MAX)).slice(0, QUOTE_CHARS_MAX).join('');
  return `Hello from ${model}! You wrote: ${quote}${mediaSeen(facts)} This answer was made up on your own machine.`;
}

function mediaSeen({ imageCount, documentCount }: ConversationFacts): string {
  const counted = (what: string, count: number): string => (count === 0 ? '' : ` I ${what}${count === 1 ? '' : 's'}.`);
  return counted(`see ${imageCount} image`, imageCount) + counted(`read ${documentCount} document`, documentCount);
}

function resultsAnswer(facts: ConversationFacts): string {
  if (facts.results.length === 0) return 'There was nothing to look up.';
  return `The tools say: ${facts.results.map((result) => result.slice(0, QUOTE_CHARS_MAX)).join('; ')}. That settles it.${mediaSeen(facts)}`;
}

function isCall(block: Block): boolean {
  return block.type === 'call';
}

function isReasoning(block: Block): boolean {
  return block.type === 'thinking' || block.type === 'redacted';
}

function tokensOf(block: Block): number {
  if (block.type === 'redacted') return REDACTED_TOKENS;
  return block.type === 'call' ? 1 + wordCount(block.argumentsText) : block.pieces.length;
}

/** Ends the answer before the first stop sequence in its text. */
function stopAtSequence(blocks: readonly Block[], sequences: readonly string[]): { blocks: readonly Block[]; sequence: string | undefined } {
  for (const [index, block] of blocks.entries()) {
    if (block.type !== 'text') continue;
    const whole = joined(block);
    const found = sequences
      .map((sequence) => ({ sequence, at: whole.indexOf(sequence) }))
      .filter(({ at }) => at !== -1)
      .sort((a, b) => a.at - b.at)[0];
    if (found === undefined) continue;
    const kept = found.at === 0 ? [] : [text(whole.slice(0, found.at))];
    return { blocks: [...blocks.slice(0, index), ...kept], sequence: found.sequence };
  }
  return { blocks, sequence: undefined };
}

/** Ends the answer where its tokens are used up. Reasoning is not split, but counts no more than there is. */
function limitTokens(blocks: readonly Block[], tokensMax: number): { blocks: readonly Block[]; tokens: number; isCut: boolean } {
  const kept: Block[] = [];
  let tokens = 0;
  for (const block of blocks) {
    const left = tokensMax - tokens;
    const needed = tokensOf(block);
    if (needed <= left) {
      kept.push(block);
      tokens += needed;
      continue;
    }
    if (block.type === 'text' && left > 0) kept.push({ ...block, pieces: block.pieces.slice(0, left) });
    if (block.type === 'thinking') kept.push(block);
    if (block.type === 'call' && left > 0) {
      kept.push({ ...block, argumentsText: block.argumentsText.slice(0, block.argumentsText.length / 2), isCut: true });
    }
    return { blocks: kept, tokens: tokensMax, isCut: true };
  }
  return { blocks: kept, tokens, isCut: false };
}
