import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isMadeCallId } from '../../../src/core/call-id.ts';
import { replyText, replyToolCalls } from '../../../src/core/chat.ts';
import { adapter, body, failureOf, fixture, replyOf, stateContent } from './fixtures.ts';

const TEXT = '{"type":"text","text":"Hi"}';
const CALL = '{"type":"tool_use","id":"toolu_1","name":"look","input":{"a":1}}';

describe('decodeChat', () => {
  test('reads text, id, model, stop reason and usage', () => {
    assert.deepEqual(adapter.decodeChat(fixture('text.json').toString()), {
      id: 'msg_text',
      model: 'claude-haiku-5-5',
      parts: [{ type: 'text', text: 'Good mörgen, wörld 🌍 — bye.', state: undefined }],
      thinking: '',
      stopReason: 'end_turn',
      usage: { inputTokens: 19, outputTokens: 9, cacheReadTokens: 5, cacheWriteTokens: 3, reasoningTokens: 0 },
    });
  });

  test('keeps text blocks apart, and the calls between them in place', () => {
    const reply = replyOf(adapter.decodeChat(body(`${TEXT},${TEXT},${CALL},{"type":"text","text":"!"}`)));
    assert.deepEqual(reply.parts.map((part) => part.type), ['text', 'text', 'tool_call', 'text']);
    assert.equal(replyText(reply), 'HiHi!');
  });

  test('discloses reasoning apart from text, and counts its tokens', () => {
    const reply = replyOf(adapter.decodeChat(fixture('tools.json').toString()));
    assert.equal(reply.thinking, 'Two cities, so two calls.');
    assert.equal(replyText(reply), 'I will look both up.');
    assert.deepEqual(reply.usage, { inputTokens: 500, outputTokens: 77, cacheReadTokens: 100, cacheWriteTokens: 0, reasoningTokens: 30 });
  });

  test('gives arguments as they are written', () => {
    const calls = replyToolCalls(replyOf(adapter.decodeChat(fixture('tools.json').toString())));
    assert.deepEqual(
      calls.map((made) => [made.id, made.name, made.arguments.text]),
      [
        ['toolu_01', 'weather', '{"city":"Oslo","n":12345678901234567890,"x":1.0,"10":1e-7,"2":null}'],
        ['toolu_02', 'now', '{}'],
      ],
    );
  });

  test('carries every other block in the state of the part that follows it', () => {
    const { parts } = replyOf(adapter.decodeChat(fixture('tools.json').toString()));
    assert.deepEqual(parts.map(stateContent), [
      { before: [{ type: 'thinking', thinking: 'Two cities, so two calls.', signature: 'c2lnLTE=' }] },
      { before: [{ type: 'redacted_thinking', data: 'cmVkYWN0ZWQ=' }] },
      { before: [{ type: 'thinking', thinking: '', signature: 'c2lnLTI=' }] },
    ]);
  });

  test('carries citations and callers with their part, blocks at the end on an empty text', () => {
    const { parts } = replyOf(adapter.decodeChat(fixture('server-tools.json').toString()));
    const contents = parts.map(stateContent) as ({ before?: { type: string }[]; own?: object } | undefined)[];
    assert.deepEqual(
      parts.map((part, index) => [
        part.type === 'text' ? part.text : part.id,
        contents[index]?.before?.map(({ type }) => type),
        Object.keys(contents[index]?.own ?? {}),
      ]),
      [
        ['The tide ', ['server_tool_use', 'web_search_tool_result'], []],
        ['is high at 1.50', undefined, ['citations']],
        ['.', undefined, []],
        ['toolu_03', undefined, ['caller']],
        ['toolu_04', undefined, []],
        ['', ['thinking'], []],
      ],
    );
  });

  test('drops what is no block, and blocks that only a user sends', () => {
    const { parts } = replyOf(adapter.decodeChat(body(`{"x":2},"three",{"type":"document"},${TEXT},{"type":7},{"type":"Big-Word"}`)));
    assert.deepEqual(parts, [{ type: 'text', text: 'Hi', state: undefined }]);
  });

  test('carries a block of a type that nobody knows yet in the state of what follows it', () => {
    const { parts } = replyOf(adapter.decodeChat(body(`{"type":"hologram","text":"a","x":1.0},${TEXT}`)));
    assert.deepEqual(parts.map((part) => part.type === 'text' && part.text), ['Hi']);
    assert.deepEqual(stateContent(parts[0]), { before: [{ type: 'hologram', text: 'a', x: 1 }] });
  });

  test('keeps a blank text, and gives no part to an empty one', () => {
    const { parts } = replyOf(adapter.decodeChat(body('{"type":"text","text":""},{"type":"text","text":"\\n"},{"type":"text"}')));
    assert.deepEqual(parts, [{ type: 'text', text: '\n', state: undefined }]);
  });

  test('takes an empty answer as it is', () => {
    const reply = replyOf(adapter.decodeChat(body('')));
    assert.deepEqual([reply.parts, reply.stopReason, reply.usage], [[], 'end_turn', undefined]);
  });

  test('reads null and absent citations as none', () => {
    const blocks = '{"type":"text","text":"a","citations":null},{"type":"text","text":"b","citations":[]}';
    assert.deepEqual(replyOf(adapter.decodeChat(body(blocks))).parts.map((part) => part.state), [undefined, undefined]);
  });

  test('reads absent and null arguments as none', () => {
    const blocks = '{"type":"tool_use","id":"a","name":"n"},{"type":"tool_use","id":"b","name":"n","input":null}';
    const calls = replyToolCalls(replyOf(adapter.decodeChat(body(blocks))));
    assert.deepEqual(calls.map((made) => made.arguments.text), ['{}', '{}']);
  });

  test('makes an id where one is missing or comes twice', () => {
    const blocks = `${CALL},${CALL},{"type":"tool_use","name":"look","input":{}}`;
    const ids = replyToolCalls(replyOf(adapter.decodeChat(body(blocks)))).map((made) => made.id);
    assert.equal(ids[0], 'toolu_1');
    assert.ok(isMadeCallId(ids[1] ?? '') && isMadeCallId(ids[2] ?? '') && ids[1] !== ids[2]);
  });

  const malformed: [string, string][] = [
    ['', 'its body is not a JSON object'],
    ['<html>busy</html>', 'its body is not a JSON object'],
    ['[]', 'its body is not a JSON object'],
    ['{}', 'the reply has no content'],
    ['{"content":"Hi"}', 'the reply has no content'],
    [body('{"type":"tool_use","id":"a","input":{}}'), 'a tool call has no name'],
    [body('{"type":"tool_use","id":"a","name":"n","input":[1]}'), 'the arguments of a tool call are not an object'],
  ];
  for (const [source, what] of malformed) {
    test(`${source || 'an empty body'} is a failure of the provider`, () => {
      const failure = failureOf(adapter.decodeChat(source));
      assert.equal(failure.kind, 'server');
      assert.equal(failure.message, `anthropic answered 200, but ${what}`);
    });
  }

  test('an error inside a 200 has the kind of its type', () => {
    const kinds: [string, string][] = [
      ['{"type":"error","error":{"type":"overloaded_error","message":"x"}}', 'server'],
      ['{"type":"error","error":{"type":"rate_limit_error","message":"x"}}', 'rate_limit'],
      ['{"type":"error","error":{"type":"invalid_request_error","message":"x"}}', 'bad_request'],
      ['{"error":{"type":"rate_limit_error","message":"x"}}', 'rate_limit'],
      ['{"error":"out of order"}', 'server'],
      ['{"type":"error"}', 'server'],
    ];
    for (const [source, kind] of kinds) assert.equal(failureOf(adapter.decodeChat(source)).kind, kind, source);
    for (const none of ['null', '""']) replyOf(adapter.decodeChat(body(TEXT, `"stop_reason":"end_turn","error":${none}`)));
  });
});

describe('the stop reason', () => {
  const reasons: [string, string][] = [
    ['"end_turn"', 'end_turn'],
    ['"max_tokens"', 'max_tokens'],
    ['"model_context_window_exceeded"', 'max_tokens'],
    ['"stop_sequence"', 'stop_sequence'],
    ['"tool_use"', 'tool_use'],
    ['"refusal"', 'refusal'],
    ['"pause_turn"', 'unknown'],
    ['"constructor"', 'unknown'],
    ['null', 'unknown'],
    ['7', 'unknown'],
  ];
  for (const [reason, expected] of reasons) {
    test(`${reason} with text is ${expected}`, () => {
      assert.equal(replyOf(adapter.decodeChat(body(TEXT, `"stop_reason":${reason}`))).stopReason, expected);
    });
  }

  test('is tool_use wherever there are calls to run, whatever it claims', () => {
    for (const reason of ['end_turn', 'tool_use', 'pause_turn', 'max_tokens']) {
      const reply = replyOf(adapter.decodeChat(body(`${CALL},${TEXT}`, `"stop_reason":"${reason}"`)));
      assert.equal(reply.stopReason, 'tool_use', reason);
    }
  });

  test('max_tokens inside a call takes the call away, since arguments are missing', () => {
    const reply = replyOf(adapter.decodeChat(fixture('cut-call.json').toString()));
    assert.equal(reply.stopReason, 'max_tokens');
    assert.deepEqual(reply.parts.map((part) => part.type), ['text']);
  });

  test('a stop inside reasoning takes it away, since it has no signature, but not out of what was disclosed', () => {
    const blocks = `{"type":"thinking","thinking":"H","signature":"s"},${TEXT},{"type":"thinking","thinking":"m","signature":""}`;
    for (const reason of ['max_tokens', 'refusal']) {
      const reply = replyOf(adapter.decodeChat(body(blocks, `"stop_reason":"${reason}"`)));
      assert.deepEqual([reply.parts.length, reply.thinking], [1, 'Hm'], reason);
      assert.deepEqual(stateContent(reply.parts[0]), { before: [{ type: 'thinking', thinking: 'H', signature: 's' }] });
    }
  });

  test('max_tokens inside a text leaves what there is of it, and what it cites', () => {
    const { parts } = replyOf(adapter.decodeChat(body('{"type":"text","text":"Hi","citations":[{"a":1}]}', '"stop_reason":"max_tokens"')));
    assert.deepEqual([parts[0]?.type === 'text' && parts[0].text, stateContent(parts[0])], ['Hi', { own: { citations: [{ a: 1 }] } }]);
  });

  test('pause_turn behind nothing but a call of a tool of the provider leaves that to go on with', () => {
    const call = '{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}';
    const { parts, stopReason } = replyOf(adapter.decodeChat(body(call, '"stop_reason":"pause_turn"')));
    assert.deepEqual([stopReason, parts.map(stateContent)], ['unknown', [{ before: [JSON.parse(call)] }]]);
  });

  test('max_tokens after reasoning that is signed or sealed leaves it in its place', () => {
    for (const block of ['{"type":"thinking","thinking":"","signature":"s"}', '{"type":"redacted_thinking","data":"d"}']) {
      const reply = replyOf(adapter.decodeChat(body(`${TEXT},${block}`, '"stop_reason":"max_tokens"')));
      assert.deepEqual(stateContent(reply.parts[1]), { before: [JSON.parse(block)] });
    }
  });

  test('a stop behind what a tool of the provider found leaves that with its call', () => {
    const search = '{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}';
    for (const reason of ['max_tokens', 'refusal']) {
      const reply = replyOf(adapter.decodeChat(body(`${TEXT},${search}`, `"stop_reason":"${reason}"`)));
      assert.deepEqual(stateContent(reply.parts[1]), { before: JSON.parse(`[${search}]`) as unknown }, reason);
    }
  });

  test('refusal with some text is a reply without its calls, which nobody is to run', () => {
    const reply = replyOf(adapter.decodeChat(body(`${CALL},${TEXT}`, '"stop_reason":"refusal","stop_details":null')));
    assert.equal(reply.stopReason, 'refusal');
    assert.deepEqual(reply.parts, [{ type: 'text', text: 'Hi', state: undefined }]);
  });

  test('refusal without content is a failure that names the category', () => {
    const details = '"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"No."}';
    for (const content of ['', '{"type":"text","text":""}', '{"type":"redacted_thinking","data":"x"}', CALL, `${CALL},${CALL}`]) {
      const failure = failureOf(adapter.decodeChat(body(content, details)));
      assert.equal(failure.kind, 'refusal', content);
      assert.equal(failure.message, 'anthropic declined the request (HTTP 200, code cyber)');
      assert.equal(failure.detail, 'No.');
    }
  });

  test('refusal without details is a failure all the same', () => {
    const failure = failureOf(adapter.decodeChat(body('', '"stop_reason":"refusal","stop_details":null')));
    assert.equal(failure.message, 'anthropic declined the request (HTTP 200, code refusal)');
  });
});

describe('usage', () => {
  const usageOf = (usage: string) => replyOf(adapter.decodeChat(body(TEXT, `"stop_reason":"end_turn","usage":${usage}`))).usage;

  test('counts what a cache served and stored as input', () => {
    assert.deepEqual(usageOf('{"input_tokens":1,"cache_read_input_tokens":20,"cache_creation_input_tokens":300,"output_tokens":4}'), {
      inputTokens: 321,
      outputTokens: 4,
      cacheReadTokens: 20,
      cacheWriteTokens: 300,
      reasoningTokens: 0,
    });
  });

  test('is undefined when nothing was reported, and lenient with nonsense', () => {
    assert.equal(usageOf('null'), undefined);
    assert.equal(usageOf('{}'), undefined);
    assert.equal(usageOf('{"input_tokens":"many","output_tokens":-1}'), undefined);
    assert.equal(usageOf('{"input_tokens":null,"cache_read_input_tokens":null,"output_tokens":3}')?.inputTokens, 0);
    assert.equal(usageOf('{"input_tokens":3}')?.outputTokens, 0);
  });
});
