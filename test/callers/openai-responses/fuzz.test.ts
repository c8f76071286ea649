/** What always holds for the Responses dialect, over seeded random input. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OPENAI_RESPONSES } from '../../../src/callers/openai-responses/dialect.ts';
import { ResponseEvents } from '../../../src/callers/openai-responses/stream.ts';
import type { Delta } from '../../../src/core/delta.ts';
import { Failure } from '../../../src/core/failure.ts';
import { createRandom } from '../../base/random.ts';
import type { Random } from '../../base/random.ts';
import { mutateJson, mutateText } from '../../fuzz/mutate.ts';
import { decodedBy, eventsOf, FACTS } from '../dialect-testing.ts';
import { randomDeltas, randomReply } from '../random-reply.ts';

/** A request that uses every kind of field, item and part. */
const FULL = {
  model: 'm',
  instructions: 'Be brief.',
  input: [
    { role: 'developer', content: 'Be kind.' },
    { role: 'user', content: [{ type: 'input_text', text: 'Look' }, { type: 'input_image', image_url: 'https://example.org/a.png', detail: 'auto' }] },
    { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 'gateway:own=a.b.AA,text=a.b.BB' },
    { type: 'message', id: 'msg_1', status: 'completed', role: 'assistant', content: [{ type: 'output_text', text: 'A', annotations: [] }, { type: 'refusal', refusal: 'B' }] },
    { type: 'reasoning', summary: [], encrypted_content: 'gateway:text=a.b.CC' },
    { type: 'function_call', id: 'fc_1', status: 'completed', call_id: 'c', name: 'n', arguments: '{"a":1}' },
    { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'x' }] },
    { role: 'system', content: 'Later.' },
  ],
  max_output_tokens: 5,
  temperature: 0.5,
  top_p: 0.9,
  stream: true,
  tools: [{ type: 'function', name: 'n', description: 'N', parameters: { type: 'object' }, strict: true }, { type: 'web_search' }],
  tool_choice: { type: 'function', name: 'n' },
  parallel_tool_calls: true,
  reasoning: { effort: 'low', summary: 'auto' },
  text: { format: { type: 'text' }, verbosity: 'low' },
  include: ['reasoning.encrypted_content'],
  store: false,
};

test('a damaged Responses request is a chat or a failure of the caller, and nothing throws', () => {
  const outcomes = { taken: 0, refused: 0 };
  for (let seed = 0; seed < 2000; seed += 1) {
    const random = createRandom(seed);
    const text = JSON.stringify(mutateJson(random, FULL));
    const decoded = decodedBy(OPENAI_RESPONSES, random.below(4) === 0 ? mutateText(random, text) : text);
    const outcome = decoded instanceof Failure ? decoded : decoded.translate(decoded.model);
    if (outcome instanceof Failure) {
      outcomes.refused += 1;
      assert.equal(outcome.status, 400, `seed ${seed}`);
      assert.ok(outcome.message.length < 1000, `seed ${seed}`);
    } else {
      outcomes.taken += 1;
      assert.ok(outcome.request.turns.length > 0, `seed ${seed}`);
      assert.ok(outcome.ignored.length <= 21, `seed ${seed}`);
    }
  }
  assert.ok(outcomes.taken > 200 && outcomes.refused > 200, JSON.stringify(outcomes));
});

test('any sequence of deltas is a stream that a strict client can follow', () => {
  for (let seed = 0; seed < 1500; seed += 1) {
    const random = createRandom(seed);
    const frames = new ResponseEvents(FACTS);
    const stream = deltasOf(random).map((delta) => frames.render(delta)).join('');
    try {
      follow(stream);
    } catch (error) {
      throw new Error(`seed ${seed}: ${stream}`, { cause: error });
    }
  }
});

/** The deltas of a good stream, or the beginning of one that fails. */
function deltasOf(random: Random): readonly Delta[] {
  const deltas = randomDeltas(random, randomReply(random));
  if (random.below(4) > 0) return deltas;
  return [...deltas.slice(0, random.below(deltas.length)), { type: 'failed', failure: new Failure('server', 'acme failed') }];
}

type Fields = Readonly<Record<string, unknown>>;
type Item = { readonly id: string; readonly type: string } & Fields;

/** Reads a stream as the helper of an SDK does, which puts the response together and checks each step. */
function follow(stream: string): void {
  const events = eventsOf(stream).map(({ name, data }) => {
    const event = JSON.parse(data) as Fields;
    assert.equal(event['type'], name);
    return event;
  });
  const done: Item[] = [];
  const ids = new Set<string>();
  let responseId: unknown;
  let open: { item: Item; pieces: string; steps: readonly string[] } | undefined;
  let isEnded = false;
  for (const [index, event] of events.entries()) {
    assert.equal(event['sequence_number'], index);
    assert.ok(!isEnded || event['type'] === 'error', 'nothing but an error stands behind the end');
    const type = String(event['type']).replace(/^response\./, '');
    if (type === 'created') {
      assert.equal(index, 0);
      responseId = (event['response'] as Fields)['id'];
    } else if (type === 'in_progress') {
      assert.equal(index, 1);
    } else if (type === 'output_item.added') {
      assert.equal(open, undefined);
      assert.equal(event['output_index'], done.length);
      const item = event['item'] as Item;
      assert.ok(!ids.has(item.id));
      ids.add(item.id);
      open = { item, pieces: '', steps: [] };
    } else if (type === 'output_item.done') {
      assert.ok(open !== undefined);
      const item = event['item'] as Item;
      assert.equal(item.id, open.item.id);
      assert.equal(item.type, open.item.type);
      assert.match(open.steps.join(' '), STEPS[item.type] ?? /$^/);
      assert.equal(open.pieces, saidBy(item));
      done.push(item);
      open = undefined;
    } else if (type === 'completed' || type === 'incomplete' || type === 'failed') {
      const response = event['response'] as Fields;
      assert.equal(response['id'], responseId);
      assert.equal(response['status'], type);
      if (type === 'failed') assert.equal(events[index + 1]?.['type'], 'error');
      else assert.deepEqual([response['output'], open], [done, undefined]);
      isEnded = true;
    } else if (type === 'error') {
      assert.ok(isEnded && index === events.length - 1);
    } else {
      assert.ok(open !== undefined);
      assert.equal(event['item_id'], open.item.id);
      assert.equal(event['output_index'], done.length);
      const delta = event['delta'];
      open = { item: open.item, pieces: open.pieces + (typeof delta === 'string' ? delta : ''), steps: [...open.steps, type] };
    }
  }
  assert.ok(isEnded);
}

const STEPS: Readonly<Record<string, RegExp>> = {
  message: /^content_part\.added (output_text\.delta )*output_text\.done content_part\.done$|^content_part\.added refusal\.delta refusal\.done content_part\.done$/,
  reasoning: /^$|^reasoning_summary_part\.added (reasoning_summary_text\.delta )+reasoning_summary_text\.done reasoning_summary_part\.done$/,
  function_call: /^function_call_arguments\.delta function_call_arguments\.done$/,
};

/** What the pieces of an item come to. */
function saidBy(item: Item): unknown {
  if (item.type === 'function_call') return item['arguments'];
  const pieces = (item.type === 'message' ? item['content'] : item['summary']) as readonly { text?: string; refusal?: string }[];
  return pieces.map(({ text, refusal }) => text ?? refusal).join('');
}
