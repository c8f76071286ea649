/** Replies made from a seeded random, and the deltas of a stream that says them. */

import { RawJson } from '../../src/base/json/value.ts';
import type { AssistantPart, ChatReply, StopReason } from '../../src/core/chat.ts';
import type { Delta } from '../../src/core/delta.ts';
import type { Random } from '../base/random.ts';

const TEXTS = ['A', 'Hello', ' world\n', '\n\n', '"\\', '😀', '\u2028', 'data: x', '\ud83d', 'x'.repeat(300)];
const ARGUMENTS = ['{}', '{"city":"Oslo"}', '{"n":12345678901234567890}', '{ "a" : [1.0,\n2] }'];
const STOPS: readonly StopReason[] = ['end_turn', 'max_tokens', 'tool_use', 'stop_sequence', 'refusal', 'unknown'];

/** Parts as a provider's codec makes them: of calls and texts that say something or have a state; each call's id is its own. */
export function randomReply(random: Random): ChatReply {
  const parts = Array.from({ length: random.below(6) }, (_, index) => randomPart(random, index));
  return {
    id: ['resp_1', 'chatcmpl-1'][random.below(3)],
    model: ['served'][random.below(2)],
    parts,
    thinking: random.pick(['', '', 'Hm.', 'Hm.\n\nWell.']),
    stopReason: random.pick(STOPS),
    usage: [{ inputTokens: 5, outputTokens: 7, cacheReadTokens: 1, cacheWriteTokens: 0, reasoningTokens: 2 }][random.below(2)],
  };
}

function randomPart(random: Random, index: number): AssistantPart {
  const state = random.below(2) === 0 ? undefined : `a.acme.${'ABCDEF'.charAt(index)}A`;
  if (random.below(2) === 0) {
    return { type: 'tool_call', id: `call_${index}`, name: random.pick(['weather', 'now']), arguments: new RawJson(random.pick(ARGUMENTS)), state };
  }
  return { type: 'text', text: state === undefined || random.below(3) > 0 ? random.pick(TEXTS) : '', state };
}

/** The deltas of a reply: thinking somewhere among its parts, texts in pieces. */
export function randomDeltas(random: Random, reply: ChatReply): readonly Delta[] {
  const deltas: Delta[] = [];
  let thinking = reply.thinking;
  const think = (chars: number): void => {
    if (thinking !== '' && chars > 0) deltas.push({ type: 'thinking', text: thinking.slice(0, chars) });
    thinking = thinking.slice(chars);
  };
  for (const part of reply.parts) {
    think(random.below(4));
    if (part.type === 'tool_call') deltas.push({ type: 'tool_call', call: part });
    else for (let rest = part.text; rest !== ''; ) {
      const chars = 1 + random.below(random.pick([3, 400]));
      deltas.push({ type: 'text', text: rest.slice(0, chars) });
      rest = rest.slice(chars);
      if (random.below(8) === 0) think(1);
    }
  }
  think(thinking.length);
  return [...deltas, { type: 'done', reply }];
}
