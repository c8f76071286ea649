import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestFeature } from '../../src/core/adapter.ts';
import type { AssistantPart, ContentPart, Turn } from '../../src/core/chat.ts';
import { makeCallId } from '../../src/core/call-id.ts';
import { sentText } from '../sent-text.ts';
import { createRandom } from '../base/random.ts';
import type { Random } from '../base/random.ts';
import { CLOUD_CODECS, CODECS, DIALECTS, assistant, call, encode, piecesOf, replyOf, requestOf, text, thoughtfulBody, user } from './codecs.ts';
import type { Codec } from './codecs.ts';

/** The parts of one turn of each dialect's, with the states that the provider of that codec gave them. */
const THOUGHTFUL: readonly (readonly AssistantPart[])[] = DIALECTS.map(
  ({ adapter }) => replyOf(adapter.decodeChat(thoughtfulBody(adapter.dialect))).parts,
);

/** A conversation with every kind of turn: own and foreign states, ids that are odd or used again, results in any order. */
function conversation(random: Random, codec: Codec): Turn[] {
  const own = replyOf(codec.adapter.decodeChat(thoughtfulBody(codec.adapter.dialect))).parts;
  const turns: Turn[] = [];
  for (let round = 0; round < 3; round += 1) {
    for (let again = 0; again <= random.below(2); again += 1) turns.push(question(random, codec));
    for (let step = random.below(3); step > 0; step -= 1) {
      const parts = random.pick([own, random.pick(THOUGHTFUL), oddCalls(random)]);
      turns.push(assistant(...parts), ...results(random, parts, codec));
    }
    if (random.below(4) > 0) turns.push(assistant(...(random.below(3) > 0 ? [text(random.pick(['answer', ' ', '\n']))] : [])));
  }
  turns.push(user('last'));
  return turns;
}

function oddCalls(random: Random): AssistantPart[] {
  const ids = ['call_0', makeCallId(), 'functions.look:0', 'x'.repeat(70), 'abcDEF123', '7a95b7039', 'toolu_01', 'é'];
  const chosen = ids.filter(() => random.below(3) === 0);
  return [text('Words'), ...chosen.map((id) => call(id, '{"2":1.0,"1":12345678901234567890}'))];
}

const IMAGE: ContentPart = { type: 'image', source: { type: 'inline', mediaType: 'image/png', base64: 'iVBORw==' } };
const PDF: ContentPart = { type: 'document', mediaType: 'application/pdf', source: { type: 'inline', base64: 'JVBERi0=' }, name: 'a.pdf' };
const NOTE: ContentPart = { type: 'document', mediaType: 'text/plain', source: { type: 'inline', base64: 'V29yZHM=' }, name: undefined };

/** Words, and those parts that the codec does not refuse. */
function shown({ adapter }: Codec, parts: readonly (readonly [RequestFeature, ContentPart])[]): readonly ContentPart[] {
  const taken = parts.flatMap(([feature, part]) => (adapter.support[feature].is === 'refused' ? [] : [part]));
  return [{ type: 'text', text: 'a chart', state: undefined }, ...taken];
}

function question(random: Random, codec: Codec): Turn {
  if (random.below(2) === 0) return user(`question ${random.below(100)}`);
  return { role: 'user', parts: shown(codec, [['user image (inline)', IMAGE], ['user document (pdf inline)', PDF], ['user document (text)', NOTE]]) };
}

function results(random: Random, parts: readonly AssistantPart[], codec: Codec): Turn[] {
  const turns = parts.flatMap((part): Turn[] => {
    if (part.type !== 'tool_call') return [];
    const content = random.pick(['', 'ok', shown(codec, [['tool_result image', IMAGE], ['tool_result document', PDF]])]);
    return [{ role: 'tool', parts: [{ type: 'tool_result', toolCallId: part.id, content, isError: random.below(3) === 0 }] }];
  });
  if (random.below(2) === 0) turns.reverse();
  if (random.below(2) === 0 || turns.length === 0) return turns;
  return [{ role: 'tool', parts: turns.flatMap((turn) => (turn.role === 'tool' ? turn.parts : [])) }];
}

/** Lengths at which every call has its result. */
function wholeLengths(turns: readonly Turn[]): number[] {
  const lengths: number[] = [];
  for (let length = 1; length < turns.length; length += 1) {
    const [last, next] = [turns[length - 1], turns[length]];
    const isOpen = last?.role === 'assistant' && last.parts.some((part) => part.type === 'tool_call');
    if (!isOpen && next?.role !== 'tool') lengths.push(length);
  }
  return lengths;
}

/** Without the mark of where the cached part ends, which moves on with the last block and is no part of what is cached. */
function unmarked(piece: string): string {
  return piece.replace(/,"cache_control":\{[^}]*\}/, '');
}

for (const codec of [...CODECS, ...CLOUD_CODECS]) {
  const { label, adapter, model } = codec;
  test(`${label} encodes the same bytes each time, and a longer conversation as the shorter one and more`, () => {
    const tools = [{ name: 'look', description: undefined, parameters: undefined, strict: undefined }];
    let compared = 0;
    for (let seed = 1; seed <= 25; seed += 1) {
      const turns = conversation(createRandom(seed), codec);
      const bodyOf = (length: number): string => sentText(encode(adapter, requestOf({ model, system: 'Be brief.', tools, cache: { key: 'k', ttl: 'long' }, turns: turns.slice(0, length) })));
      const whole = bodyOf(turns.length);
      assert.equal(bodyOf(turns.length), whole);
      const pieces = piecesOf(adapter.dialect, whole).map(unmarked);
      for (const length of wholeLengths(turns)) {
        const shorter = piecesOf(adapter.dialect, bodyOf(length)).map(unmarked);
        assert.deepEqual(pieces.slice(0, shorter.length), shorter, `seed ${seed}, ${length} turns`);
        assert.notEqual(shorter.length, 0);
        compared += 1;
      }
    }
    assert.ok(compared > 100, `${compared} compared`);
  });
}
