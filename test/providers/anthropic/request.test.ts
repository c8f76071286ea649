import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { RawJson } from '../../../src/base/json/value.ts';
import type { ChatRequest, Effort, Tool, Turn } from '../../../src/core/chat.ts';
import { Failure } from '../../../src/core/failure.ts';
import { encodeState } from '../../../src/core/provider-state.ts';
import { createRandom } from '../../base/random.ts';
import { adapter, assistant, call, options, payload, payloadText, request, result, text, user } from './fixtures.ts';

const LOOK: Tool = { name: 'look', description: 'Looks', parameters: new RawJson('{"type":"object","properties":{"b":{},"a":{}}}'), strict: undefined };

describe('encodeChat maps', () => {
  test('a plain request to the smallest payload, with max_tokens 4096', () => {
    assert.equal(
      payloadText({}),
      '{"model":"claude-opus-5-5","max_tokens":4096,"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]}',
    );
  });

  test('method, path and headers, without a key', () => {
    const encoded = adapter.encodeChat(request(), false);
    assert.ok(!(encoded instanceof Failure));
    assert.equal(encoded.method, 'POST');
    assert.equal(encoded.path, '/messages');
    assert.deepEqual(encoded.headers, { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' });
  });

  test('every plain field under its name', () => {
    const { messages, ...fields } = payload({
      system: 'Be brief.',
      maxTokens: 10,
      temperature: 0.5,
      topP: 0.9,
      stop: ['END', '\n'],
    });
    assert.equal(messages.length, 1);
    assert.deepEqual(fields, {
      model: 'claude-opus-5-5',
      max_tokens: 10,
      system: 'Be brief.',
      temperature: 0.5,
      top_p: 0.9,
      stop_sequences: ['END', '\n'],
    });
  });

  test('a stream to stream: true, and a whole reply to nothing', () => {
    assert.equal((JSON.parse(payloadText({}, true)) as { stream: boolean }).stream, true);
    assert.ok(!('stream' in payload({})));
  });

  test('images inline and by URL', () => {
    const turn: Turn = {
      role: 'user',
      parts: [
        { type: 'image', source: { type: 'inline', mediaType: 'image/png', base64: 'AAAA' } },
        { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } },
        { type: 'text', text: 'Look', state: undefined },
      ],
    };
    assert.deepEqual(payload({ turns: [turn] }).messages, [
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
          { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } },
          { type: 'text', text: 'Look' },
        ],
      },
    ]);
  });

  test('a tool with its schema as it is written', () => {
    assert.ok(
      payloadText({ tools: [LOOK] }).includes(
        '"tools":[{"name":"look","description":"Looks","input_schema":{"type":"object","properties":{"b":{},"a":{}}}}]',
      ),
    );
  });

  test('a tool without parameters to an empty object schema', () => {
    const bare: Tool = { name: 'now', description: undefined, parameters: undefined, strict: undefined };
    assert.deepEqual(payload({ tools: [bare] })['tools'], [{ name: 'now', input_schema: { type: 'object', properties: {} } }]);
  });

  const schemas: [string, string][] = [
    ['{"properties":{"n":{"minimum":1.0}}}', '{"type":"object","properties":{"n":{"minimum":1.0}}}'],
    ['{}', '{"type":"object"}'],
    ['{ "type": "object" }', '{ "type": "object" }'],
    ['{"a":{"type":"string"}}', '{"type":"object","a":{"type":"string"}}'],
  ];
  for (const [schema, sent] of schemas) {
    test(`the schema ${schema} to ${sent}`, () => {
      const tool: Tool = { name: 'n', description: undefined, parameters: new RawJson(schema), strict: undefined };
      assert.ok(payloadText({ tools: [tool] }).includes(`"input_schema":${sent}}`));
    });
  }

  const choices: [ChatRequest['toolChoice'], unknown][] = [
    [{ mode: 'auto', parallel: undefined }, { type: 'auto' }],
    [{ mode: 'none', parallel: undefined }, { type: 'none' }],
    [{ mode: 'required', parallel: undefined }, { type: 'any' }],
    [{ mode: 'tool', name: 'look', parallel: undefined }, { type: 'tool', name: 'look' }],
    [undefined, undefined],
  ];
  for (const [toolChoice, sent] of choices) {
    test(`tool_choice ${toolChoice?.mode}`, () => {
      assert.deepEqual(payload({ tools: [LOOK], toolChoice })['tool_choice'], sent);
    });
  }

  test('tool_choice without tools only where it is forced', () => {
    assert.equal(payload({ toolChoice: { mode: 'auto', parallel: undefined } })['tool_choice'], undefined);
    assert.equal(payload({ toolChoice: { mode: 'none', parallel: undefined } })['tool_choice'], undefined);
    assert.deepEqual(payload({ toolChoice: { mode: 'required', parallel: undefined } })['tool_choice'], { type: 'any' });
    assert.deepEqual(payload({ toolChoice: { mode: 'tool', name: 'x', parallel: undefined } })['tool_choice'], { type: 'tool', name: 'x' });
  });

  test('provider_options over everything, null removing and numbers digit for digit', () => {
    const sent = payloadText({
      temperature: 1,
      providerOptions: options('{"temperature":0.50,"max_tokens":null,"metadata":{"user_id":"u"},"big":12345678901234567890}'),
    });
    assert.ok(sent.includes('"temperature":0.50'));
    assert.ok(sent.includes('"metadata":{"user_id":"u"}'));
    assert.ok(sent.includes('"big":12345678901234567890'));
    assert.ok(!sent.includes('max_tokens'));
  });
});

describe('messages', () => {
  test('a call keeps its arguments as they are written', () => {
    const args = '{"10":1.0,"2":12345678901234567890, "__proto__":{"x":1e-7}}';
    const sent = payloadText({ turns: [user('Go'), assistant(call('c1', args)), result('c1')] });
    assert.ok(sent.includes(`{"type":"tool_use","id":"c1","name":"look","input":${args}}`));
  });

  test('the results of several tool turns and what the user says next are one message, results first', () => {
    const turns = [user('Go'), assistant(call('c1'), call('c2')), result('c2', 'two'), result('c1', 'one', true), user('And?')];
    assert.deepEqual(payload({ turns }).messages[2], {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'c2', content: 'two' },
        { type: 'tool_result', tool_use_id: 'c1', content: 'one', is_error: true },
        { type: 'text', text: 'And?' },
      ],
    });
  });

  test('turns of one role after each other are one message', () => {
    const turns = [user('a'), user('b'), assistant(text('c')), assistant(text('d'))];
    assert.deepEqual(payload({ turns }).messages, [
      { role: 'user', content: [{ type: 'text', text: 'a' }, { type: 'text', text: 'b' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'c' }, { type: 'text', text: 'd' }] },
    ]);
  });

  test('a blank text of the assistant is left out, and a turn of nothing else with it', () => {
    const turns = [user('a'), assistant(text(' \n')), user('b'), assistant(), user('c'), assistant(text('\t'), text('d'))];
    assert.deepEqual(payload({ turns }).messages, [
      { role: 'user', content: [{ type: 'text', text: 'a' }, { type: 'text', text: 'b' }, { type: 'text', text: 'c' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'd' }] },
    ]);
  });

  test('a blank text of the user is sent, since the refusal is the answer', () => {
    assert.deepEqual(payload({ turns: [user(' ')] }).messages, [{ role: 'user', content: [{ type: 'text', text: ' ' }] }]);
  });

  test('an id that would be refused is mapped, alike for the call and its result', () => {
    const mapped = createHash('sha256').update('call:ä|1').digest('hex').slice(0, 32);
    const { messages } = payload({ turns: [user('Go'), assistant(call('call:ä|1')), result('call:ä|1')] });
    assert.deepEqual(messages[1]?.content, [{ type: 'tool_use', id: mapped, name: 'look', input: {} }]);
    assert.deepEqual(messages[2]?.content, [{ type: 'tool_result', tool_use_id: mapped, content: 'ok' }]);
  });

  test("another provider's state is ignored", () => {
    const foreign = encodeState('gemini', 'gemini', { signature: 'x' });
    const sibling = encodeState('anthropic', 'relay', { before: [{ type: 'redacted_thinking', data: 'x' }] });
    const { messages } = payload({ turns: [user('Go'), assistant(text('', foreign), text('a', sibling)), user('On')] });
    assert.deepEqual(messages[1], { role: 'assistant', content: [{ type: 'text', text: 'a' }] });
  });

  test('the messages of a longer conversation begin with those of every shorter one', () => {
    const random = createRandom(7);
    for (let round = 0; round < 200; round += 1) {
      const turns = conversation(random.below);
      let earlier: string[] = [];
      for (let length = 1; length <= turns.length; length += 1) {
        const fields = { turns: turns.slice(0, length), thinking: { enabled: true, effort: undefined } };
        assert.equal(payloadText(fields), payloadText(fields));
        const { messages } = payload(fields);
        const blocks = messages.flatMap(({ role, content }) => content.map((block) => `${role} ${JSON.stringify(block)}`));
        assert.deepEqual(blocks.slice(0, earlier.length), earlier, `round ${round}, ${length} turns`);
        earlier = blocks;
      }
    }
  });
});

/** A conversation that obeys the tool rules, else at random. */
function conversation(below: (max: number) => number): Turn[] {
  const turns: Turn[] = [];
  for (let i = 0; i < 8; i += 1) {
    const kind = below(4);
    if (kind === 0) turns.push(user(`u${i}`));
    else if (kind === 1) turns.push(assistant(text(below(3) === 0 ? ' ' : `a${i}`)));
    else if (kind === 2) turns.push(assistant());
    else {
      const state = encodeState('anthropic', 'anthropic', { before: [{ type: 'thinking', thinking: '', signature: `s${i}` }] });
      turns.push(assistant(call(`c${i}a`, '{"a":1}', below(2) === 0 ? state : undefined), call(`c${i}:b`)));
      turns.push(result(`c${i}a`), result(`c${i}:b`));
    }
  }
  return turns;
}

describe('thinking', () => {
  const on = (effort?: Effort) => ({ enabled: true, effort });

  function thinkingOf(fields: Partial<ChatRequest>): unknown {
    const { max_tokens, thinking, output_config } = payload(fields);
    return { max_tokens, ...(thinking === undefined ? {} : { thinking }), ...(output_config === undefined ? {} : { output_config }) };
  }

  test('not asked for sends nothing', () => {
    assert.deepEqual(thinkingOf({ model: 'claude-haiku-4-5' }), { max_tokens: 4096 });
  });

  for (const effort of ['low', 'medium', 'high', 'max'] as const) {
    test(`on with effort ${effort} is adaptive for a new model`, () => {
      assert.deepEqual(thinkingOf({ thinking: on(effort) }), {
        max_tokens: 4096,
        thinking: { type: 'adaptive', display: 'summarized' },
        output_config: { effort },
      });
    });
  }

  test('on without an effort leaves the effort to the model', () => {
    assert.deepEqual(thinkingOf({ thinking: on() }), { max_tokens: 4096, thinking: { type: 'adaptive', display: 'summarized' } });
  });

  const budgets: [Effort | undefined, number][] = [['low', 2048], ['medium', 8192], ['high', 16_384], ['max', 24_576], [undefined, 8192]];
  for (const [effort, budget] of budgets) {
    test(`on with effort ${effort} is a budget for an old model, and raises our max_tokens`, () => {
      assert.deepEqual(thinkingOf({ model: 'claude-sonnet-4-5-20250929', thinking: on(effort) }), {
        max_tokens: budget + 4096,
        thinking: { type: 'enabled', budget_tokens: budget },
      });
    });
  }

  const clamps: [number, number | undefined][] = [
    [20_000, 16_384], [10_000, 8976], [2049, 1025], [2000, 1024], [1025, 1024], [1024, undefined], [1, undefined],
  ];
  for (const [maxTokens, budget] of clamps) {
    test(`a budget stays below the caller's max_tokens ${maxTokens}`, () => {
      const thinking = budget === undefined ? { type: 'disabled' } : { type: 'enabled', budget_tokens: budget };
      assert.deepEqual(thinkingOf({ model: 'claude-opus-4-1', maxTokens, thinking: on('high') }), { max_tokens: maxTokens, thinking });
    });
  }

  test('a budget gives way to a forced tool choice, which models with one refuse', () => {
    const fields = { model: 'claude-opus-4-5', thinking: on(), tools: [LOOK] };
    assert.deepEqual(thinkingOf({ ...fields, toolChoice: { mode: 'required', parallel: undefined } }), { max_tokens: 4096, thinking: { type: 'disabled' } });
    assert.deepEqual(thinkingOf({ ...fields, toolChoice: { mode: 'auto', parallel: undefined } }), {
      max_tokens: 12_288,
      thinking: { type: 'enabled', budget_tokens: 8192 },
    });
  });

  test('a budget gives way inside a tool loop that does not begin with reasoning', () => {
    const state = (type: string) => encodeState('anthropic', 'anthropic', { before: [{ type }] });
    const type = (first: string | undefined, ...more: Turn[]) => {
      const turns = [user('Go'), assistant(call('c', '{}', first)), result('c'), ...more];
      return (payload({ model: 'claude-haiku-4-5', thinking: on(), turns })['thinking'] as { type: string }).type;
    };
    assert.equal(type(undefined), 'disabled');
    assert.equal(type(undefined, user('And?')), 'disabled');
    assert.equal(type(state('server_tool_use')), 'disabled');
    assert.equal(type(state('thinking')), 'enabled');
    assert.equal(type(state('redacted_thinking')), 'enabled');
    assert.equal(type(undefined, assistant(text('Done')), user('More')), 'enabled');
  });

  test('a budget stays in a loop that began with reasoning, though models then call on without', () => {
    const state = encodeState('anthropic', 'anthropic', { before: [{ type: 'thinking', thinking: 'x', signature: 's' }] });
    const type = (...turns: Turn[]) =>
      (payload({ model: 'claude-haiku-4-5', thinking: on(), turns: [user('Go'), ...turns] })['thinking'] as { type: string }).type;
    const step = (id: string, first?: string): Turn[] => [assistant(call(id, '{}', first)), result(id)];
    assert.equal(type(...step('a', state), ...step('b'), ...step('c')), 'enabled');
    assert.equal(type(...step('a'), ...step('b', state)), 'enabled');
    assert.equal(type(...step('a', state), assistant(text('Done')), user('More'), ...step('b')), 'disabled');
    assert.equal(type(assistant(text(' '), call('a', '{}', state)), result('a')), 'enabled');
  });

  test('an id that another host used in several turns is told apart, each call with its result', () => {
    const turns = [user('Go'), assistant(call('call_0')), result('call_0'), assistant(call('call_0')), result('call_0')];
    const ids = payload({ turns }).messages.flatMap(({ content }) => content.map((block) => {
      const { id, tool_use_id } = block as { id?: string; tool_use_id?: string };
      return id ?? tool_use_id;
    }));
    assert.deepEqual(ids.slice(1, 3), ['call_0', 'call_0']);
    assert.equal(ids[3], ids[4]);
    assert.match(String(ids[3]), /^[0-9a-f]{32}$/);
  });

  test('a failed tool that says nothing gets a word, since an empty error is refused', () => {
    const turns = [user('Go'), assistant(call('a'), call('b')), result('a', '', true), result('b', '')];
    assert.deepEqual(payload({ turns }).messages[2]?.content, [
      { type: 'tool_result', tool_use_id: 'a', content: 'Error', is_error: true },
      { type: 'tool_result', tool_use_id: 'b', content: '' },
    ]);
  });

  test('provider_options can overrule the table', () => {
    const providerOptions = options('{"thinking":{"type":"enabled","display":null,"budget_tokens":1024}}');
    assert.deepEqual(payload({ thinking: on(), providerOptions })['thinking'], { type: 'enabled', budget_tokens: 1024 });
  });
});
