/** How a conversation begins, and whose state an open tool loop carries, in each format. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ANTHROPIC } from '../../src/callers/anthropic/dialect.ts';
import { NATIVE } from '../../src/callers/native/dialect.ts';
import { OPENAI_CHAT } from '../../src/callers/openai-chat/dialect.ts';
import { OPENAI_RESPONSES } from '../../src/callers/openai-responses/dialect.ts';
import type { CallerDialect, DecodedRequest } from '../../src/core/dialect.ts';
import { Failure } from '../../src/core/failure.ts';
import { decodedBy } from './dialect-testing.ts';

type Body = Readonly<Record<string, unknown>>;

function read(dialect: CallerDialect, body: Body): DecodedRequest {
  const decoded = decodedBy(dialect, { model: 'm', max_tokens: 1, ...body });
  if (decoded instanceof Failure) throw new Error(decoded.message);
  return decoded;
}

/** One dialect's way to say the same. */
type Sample = {
  readonly dialect: CallerDialect;
  /** A system text, then a user's message of two texts, then more. */
  readonly begun: Body;
  /** A user's message alone, as short as it can be said. */
  readonly bare: Body;
  /** A call that carries this state, then `answered`, then `after`. */
  readonly loop: (state: string | undefined, answered: boolean, after: readonly unknown[]) => Body;
  /** A user's message, as an item of the conversation. */
  readonly said: unknown;
  /** The open loop of one that was relayed; absent where vendors seal nothing. */
  readonly relayed?: Body;
};

const said = { role: 'user', content: 'Go' };

const SAMPLES: readonly Sample[] = [
  {
    dialect: NATIVE,
    begun: { system: 'Be brief.', messages: [{ role: 'user', content: [{ type: 'text', text: 'Rules' }, { type: 'text', text: 'Hello' }] }, { role: 'assistant', text: 'Hi' }, { role: 'user', text: 'More' }] },
    bare: { messages: [{ role: 'user', text: 'Hello' }] },
    said: { role: 'user', text: 'Go' },
    loop: (state, answered, after) => ({
      messages: [
        { role: 'user', text: 'Go' },
        { role: 'assistant', content: [{ type: 'text', text: 'Wait' }, { type: 'tool_call', id: 'c1', name: 'look', ...(state && { provider_state: state }) }] },
        ...(answered ? [{ role: 'tool', content: [{ type: 'tool_result', tool_call_id: 'c1', content: 'ok' }] }] : []),
        ...after,
      ],
    }),
  },
  {
    dialect: OPENAI_CHAT,
    begun: { messages: [{ role: 'developer', content: 'Be brief.' }, { role: 'user', content: [{ type: 'text', text: 'Rules' }, { type: 'text', text: 'Hello' }] }, { role: 'assistant', content: 'Hi' }, { role: 'user', content: 'More' }] },
    bare: { messages: [{ role: 'user', content: 'Hello' }] },
    said,
    loop: (state, answered, after) => ({
      messages: [
        said,
        { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' }, ...(state && { extra_content: { google: { thought_signature: `gateway:own=${state}` } } }) }] },
        ...(answered ? [{ role: 'tool', tool_call_id: 'c1', content: 'ok' }] : []),
        ...after,
      ],
    }),
  },
  {
    dialect: OPENAI_RESPONSES,
    begun: { instructions: 'Be brief.', input: [{ role: 'user', content: [{ type: 'input_text', text: 'Rules' }, { type: 'input_text', text: 'Hello' }] }, { role: 'assistant', content: 'Hi' }, { role: 'user', content: 'More' }] },
    bare: { input: 'Hello' },
    said,
    loop: (state, answered, after) => ({
      input: [
        said,
        ...(state === undefined ? [] : [{ type: 'reasoning', id: 'r1', summary: [], encrypted_content: `gateway:own=${state}` }]),
        { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
        ...(answered ? [{ type: 'function_call_output', call_id: 'c1', output: 'ok' }] : []),
        ...after,
      ],
    }),
    relayed: { input: [said, { type: 'reasoning', id: 'r1', summary: [], encrypted_content: 'gAAAAB' }, { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' }, { type: 'function_call_output', call_id: 'c1', output: 'ok' }] },
  },
  {
    dialect: ANTHROPIC,
    begun: { system: [{ type: 'text', text: 'Rules' }, { type: 'text', text: 'Be brief.' }], messages: [{ role: 'user', content: [{ type: 'text', text: 'Rules' }, { type: 'text', text: 'Hello' }] }, { role: 'assistant', content: 'Hi' }, { role: 'user', content: 'More' }] },
    bare: { messages: [{ role: 'user', content: 'Hello' }] },
    said,
    loop: (state, answered, after) => ({
      messages: [
        said,
        { role: 'assistant', content: [...(state === undefined ? [] : [{ type: 'thinking', thinking: '', signature: `gateway:own=${state}` }]), { type: 'tool_use', id: 'c1', name: 'look', input: {} }] },
        ...(answered ? [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'ok' }] }] : []),
        ...after,
      ],
    }),
    relayed: { messages: [said, { role: 'assistant', content: [{ type: 'redacted_thinking', data: 'EqQBCk' }, { type: 'tool_use', id: 'c1', name: 'look', input: {} }] }, { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'ok' }, { type: 'text', text: 'Go on' }] }] },
  },
];

for (const { dialect, begun, bare, said: more, loop, relayed } of SAMPLES) {
  describe(dialect.name, () => {
    test('a conversation begins with its system text and the last text of the first message of a user', () => {
      assert.deepEqual(read(dialect, begun).head(), { system: 'Be brief.', user: 'Hello' });
      assert.deepEqual(read(dialect, bare).head(), { system: '', user: 'Hello' });
    });

    test('an open tool loop is owned by the provider whose state its call carries', () => {
      assert.deepEqual(read(dialect, loop('gemini.my-Gemini_2.e30', true, [])).loopOwner(), { provider: 'my-Gemini_2' });
      assert.equal(read(dialect, loop(undefined, true, [])).loopOwner(), undefined);
    });

    test('a loop is over once a user speaks, and none is open before a tool has answered', () => {
      assert.equal(read(dialect, loop('gemini.gemini.e30', true, [more])).loopOwner(), undefined);
      assert.equal(read(dialect, loop('gemini.gemini.e30', false, [])).loopOwner(), undefined);
      assert.equal(read(dialect, bare).loopOwner(), undefined);
    });

    test('of a loop only the last answered turn counts', () => {
      const items = (body: Body): readonly unknown[] => (body['messages'] ?? body['input']) as readonly unknown[];
      const name = dialect === OPENAI_RESPONSES ? 'input' : 'messages';
      const both = [...items(loop('gemini.first.e30', true, [])), ...items(loop('gemini.second.e30', true, [])).slice(1)];
      assert.deepEqual(read(dialect, { [name]: both }).loopOwner(), { provider: 'second' });
    });

    test('a turn that carries none is not owned by the provider of the turn before it', () => {
      const name = dialect === OPENAI_RESPONSES ? 'input' : 'messages';
      const items = (body: Body): readonly unknown[] => body[name] as readonly unknown[];
      const both = [...items(loop('gemini.first.e30', true, [])), ...items(loop(undefined, true, [])).slice(1)];
      assert.equal(read(dialect, { [name]: both }).loopOwner(), undefined);
    });

    test('what no gateway has written belongs to nobody', () => {
      if (dialect === NATIVE) return assert.equal(read(dialect, loop('nonsense', true, [])).loopOwner(), undefined);
      assert.equal(read(dialect, loop('nonsense', true, [])).loopOwner(), undefined);
      assert.equal(read(dialect, loop('gemini.x.e30,own=', true, [])).loopOwner(), undefined);
    });

    if (dialect !== NATIVE) {
      test('instructions behind the results of a loop do not end it, nor does what is said among them', () => {
        const told = { role: dialect === ANTHROPIC ? 'system' : 'developer', content: 'Resized.' };
        assert.deepEqual(read(dialect, loop('gemini.gemini.e30', true, [told])).loopOwner(), { provider: 'gemini' });
        const { input } = loop('gemini.gemini.e30', true, [told, { type: 'function_call_output', call_id: 'c2', output: 'ok' }]);
        if (input !== undefined) assert.deepEqual(read(dialect, { input }).loopOwner(), { provider: 'gemini' });
      });
    }

    if (relayed !== undefined) {
      test("what the vendor sealed belongs to whom it is relayed to", () => assert.equal(read(dialect, relayed).loopOwner(), 'relayed'));
    }
  });
}

test('the first system text counts, by whichever name it comes, and nothing that another says', () => {
  const [system, developer] = [{ role: 'system', content: 'Be brief.' }, { role: 'developer', content: 'Be kind.' }];
  const head = (...messages: readonly unknown[]): unknown => read(OPENAI_CHAT, { messages }).head();
  assert.deepEqual(head(system, developer, said), { system: 'Be brief.', user: 'Go' });
  assert.deepEqual(head({ role: 'assistant', content: 'Hi' }, system, said), { system: 'Be brief.', user: 'Go' });
  assert.deepEqual(head(system), { system: 'Be brief.', user: '' });
});

test('what is sealed for nobody owns no loop, and a state of the turn itself does', () => {
  const loop = (message: object): unknown => read(OPENAI_CHAT, { messages: [said, { role: 'assistant', ...message }, { role: 'tool', tool_call_id: 'c1', content: 'ok' }] }).loopOwner();
  const signed = (signature: string): object => ({ extra_content: { google: { thought_signature: signature } } });
  assert.equal(loop({ tool_calls: [{ id: 'c1', ...signed('CsMBAQ==') }] }), undefined);
  assert.deepEqual(loop({ tool_calls: [{ id: 'c1' }], ...signed('gateway:text=gemini.acme.e30') }), { provider: 'acme' });
  const unsigned = [said, { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm', signature: '' }, { type: 'tool_use', id: 'c1', name: 'look', input: {} }] }, { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1' }] }];
  assert.equal(read(ANTHROPIC, { messages: unsigned }).loopOwner(), undefined);
});

test('hostile bodies have a beginning and an owner, or none, and never throw', () => {
  for (const [dialect, body] of [
    [OPENAI_CHAT, { messages: 'text' }], [OPENAI_CHAT, { messages: [null, 1, [], { role: 'tool' }] }], [OPENAI_CHAT, { messages: [{ role: 'assistant' }, { role: 'tool' }] }],
    [OPENAI_RESPONSES, {}], [OPENAI_RESPONSES, { input: [{ type: 'x_output' }] }], [OPENAI_RESPONSES, { input: { a: 1 }, instructions: {} }],
    [ANTHROPIC, { system: {}, messages: [{ role: 'user', content: [[], { type: 'tool_result' }] }] }], [ANTHROPIC, { messages: [{ role: 'user', content: [{ text: 1 }, 'x'] }] }],
  ] as const) {
    const decoded = read(dialect, body);
    assert.equal(typeof decoded.head().user, 'string');
    assert.equal(decoded.loopOwner(), undefined);
  }
});
