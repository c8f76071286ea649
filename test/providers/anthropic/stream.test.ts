import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { replyToolCalls } from '../../../src/core/chat.ts';
import type { Delta } from '../../../src/core/delta.ts';
import { createRandom } from '../../base/random.ts';
import { decodeChunks, endOf } from '../../decode-stream.ts';
import { TWINS, adapter, failureOf, fixture, replyOf, stateContent } from './fixtures.ts';

const START = '{"type":"message_start","message":{"id":"m","model":"x","content":[],"usage":{"input_tokens":5,"output_tokens":1}}}';
const STOP = '{"type":"message_stop"}';

function start(block: string, index = 0): string {
  return `{"type":"content_block_start","index":${index},"content_block":${block}}`;
}
function piece(delta: string, index = 0): string {
  return `{"type":"content_block_delta","index":${index},"delta":${delta}}`;
}
function stop(index = 0): string {
  return `{"type":"content_block_stop","index":${index}}`;
}
function ending(reason: string, usage = 'null'): string {
  return `{"type":"message_delta","delta":{"stop_reason":"${reason}"},"usage":${usage}}`;
}
const TEXT_BLOCK = start('{"type":"text","text":""}');
const CALL_BLOCK = start('{"type":"tool_use","id":"t1","name":"look","input":{}}');
function textPiece(text: string, index = 0): string {
  return piece(`{"type":"text_delta","text":${JSON.stringify(text)}}`, index);
}
function inputPiece(json: string, index = 0): string {
  return piece(`{"type":"input_json_delta","partial_json":${JSON.stringify(json)}}`, index);
}

/** The deltas for events given as their JSON, then the end of the bytes. */
function decode(...events: string[]): Delta[] {
  return decodeChunks(adapter, events.map((event) => Buffer.from(`data: ${event}\n\n`)));
}

describe('a stream', () => {
  for (const name of TWINS) {
    test(`${name}: ends as the whole reply would, wherever the bytes are split`, () => {
      const bytes = fixture(`${name}.sse`);
      const whole = adapter.decodeChat(fixture(`${name}.json`).toString());
      const unsplit = decodeChunks(adapter, [bytes]);
      assert.deepEqual(endOf(unsplit), whole);
      for (let at = 1; at < bytes.length; at += 1) {
        assert.deepEqual(decodeChunks(adapter, [bytes.subarray(0, at), bytes.subarray(at)]), unsplit, `split at ${at}`);
      }
      assert.deepEqual(decodeChunks(adapter, [...bytes].map((byte) => Buffer.of(byte))), unsplit);
    });

    test(`${name}: its deltas add up to the reply`, () => {
      const deltas = decodeChunks(adapter, [fixture(`${name}.sse`)]);
      const reply = replyOf(endOf(deltas));
      const joined = (type: 'text' | 'thinking') => deltas.map((delta) => (delta.type === type ? delta.text : '')).join('');
      assert.equal(joined('text'), reply.parts.map((part) => (part.type === 'text' ? part.text : '')).join(''));
      assert.equal(joined('thinking'), reply.thinking);
      assert.deepEqual(
        deltas.flatMap((delta) => (delta.type === 'tool_call' ? [delta.call] : [])),
        reply.parts.filter((part) => part.type === 'tool_call'),
      );
      assert.ok(deltas.every((delta) => (delta.type !== 'text' && delta.type !== 'thinking') || delta.text !== ''));
    });

    test(`${name}: cut anywhere before message_stop, it has failed`, () => {
      const bytes = fixture(`${name}.sse`);
      const complete = bytes.indexOf('"message_stop"}') + '"message_stop"}'.length;
      for (let at = 0; at <= complete; at += 1) {
        const failure = failureOf(endOf(decodeChunks(adapter, [bytes.subarray(0, at)])));
        assert.equal(failure.message, 'anthropic ended the stream before the answer was complete', `cut at ${at}`);
      }
    });
  }

  test('passes text on as it arrives', () => {
    const decoder = adapter.createStreamDecoder();
    const deltas: Delta[] = [];
    const sink = (delta: Delta): void => void deltas.push(delta);
    for (const event of [START, TEXT_BLOCK, textPiece('a')]) decoder.frame('', event, sink);
    assert.deepEqual(deltas, [{ type: 'text', text: 'a' }]);
  });

  test('gives a call once its arguments are whole and something follows', () => {
    const events = [START, CALL_BLOCK, inputPiece(''), inputPiece('{"a":'), inputPiece('1.0}'), stop(), ending('tool_use'), STOP];
    const deltas = decode(...events);
    assert.deepEqual(deltas.map((delta) => delta.type), ['tool_call', 'done']);
    const [made] = deltas;
    assert.ok(made?.type === 'tool_call');
    assert.equal(made.call.arguments.text, '{"a":1.0}');
  });

  test('passes over a blank text in a call', () => {
    const second = start('{"type":"tool_use","id":"t2","name":"look","input":{}}', 1);
    const deltas = decode(START, CALL_BLOCK, inputPiece('{"a":1}'), textPiece('\n'), stop(), second, inputPiece('{}', 1), stop(1), ending('tool_use'), STOP);
    assert.deepEqual(replyToolCalls(replyOf(endOf(deltas))).map((call) => call.arguments.text), ['{"a":1}', '{}']);
    assert.deepEqual(deltas.map((delta) => delta.type), ['tool_call', 'tool_call', 'done']);
  });

  test('takes null for no arguments, as in a whole message, and blank pieces', () => {
    for (const pieces of [[inputPiece('nu'), inputPiece('ll')], [inputPiece(' '), inputPiece('\n')], [piece('{"type":"input_json_delta","partial_json":null}')]]) {
      const [made] = decode(START, CALL_BLOCK, ...pieces, stop(), ending('tool_use'), STOP);
      assert.ok(made?.type === 'tool_call');
      assert.equal(made.call.arguments.text, '{}');
    }
  });

  test('reads the event name where the data has no type, and skips pings unread', () => {
    const deltas: Delta[] = [];
    const decoder = adapter.createStreamDecoder();
    decoder.frame('ping', 'pong', (delta) => deltas.push(delta));
    decoder.frame('message_delta', '{"delta":{"stop_reason":"end_turn"}}', (delta) => deltas.push(delta));
    decoder.frame('message_stop', '{}', (delta) => deltas.push(delta));
    assert.deepEqual(deltas.map((delta) => delta.type), ['done']);
  });

  test('ignores what follows its end, also a further end', () => {
    assert.deepEqual(decode(START, ending('end_turn'), STOP, STOP, 'junk', TEXT_BLOCK, '[DONE]').map((delta) => delta.type), ['done']);
  });

  test('ignores unknown events and pieces, and a block that comes in such pieces', () => {
    const reply = replyOf(
      endOf(
        decode(
          START,
          '{"type":"weather","rain":true}',
          start('{"type":"hologram","x":1}'),
          piece('{"type":"hologram_delta","x":2}'),
          stop(),
          start('{"type":"text","text":""}', 1),
          piece('{"type":"tint_delta"}', 1),
          textPiece('ok', 1),
          stop(1),
          ending('end_turn'),
          STOP,
        ),
      ),
    );
    assert.deepEqual(reply.parts, [{ type: 'text', text: 'ok', state: undefined }]);
  });

  test('passes over a blank frame and a [DONE], wherever they come', () => {
    const filled = [START, TEXT_BLOCK, textPiece('ok'), stop(), ending('end_turn'), STOP].flatMap((frame) => ['', ' ', '[DONE]', frame]);
    const reply = replyOf(endOf(decode(...filled, '', '[DONE]')));
    assert.deepEqual(reply.parts, [{ type: 'text', text: 'ok', state: undefined }]);
    assert.equal(failureOf(endOf(decode(START, TEXT_BLOCK, textPiece('ok'), '[DONE]'))).message, 'anthropic ended the stream before the answer was complete');
  });

  test('adds nothing for a piece that lacks what it is to add', () => {
    const reply = replyOf(
      endOf(
        decode(
          START,
          start('{"type":"thinking","thinking":"a","signature":""}'),
          piece('{"type":"thinking_delta","thinking":null}'),
          piece('{"type":"signature_delta","signature":"s"}'),
          piece('{"type":"signature_delta"}'),
          stop(),
          start('{"type":"text","text":"b"}', 1),
          piece('{"type":"text_delta"}', 1),
          stop(1),
          ending('end_turn'),
          STOP,
        ),
      ),
    );
    assert.deepEqual(stateContent(reply.parts[0]), { before: [{ type: 'thinking', thinking: 'a', signature: 's' }] });
    assert.deepEqual([reply.thinking, reply.parts[0]?.type === 'text' && reply.parts[0].text], ['a', 'b']);
  });

  test('carries a whole block of an unknown type, and never takes a call or reasoning for a fragment', () => {
    const reply = replyOf(
      endOf(
        decode(
          START,
          start('{"type":"hologram","x":1.0}'),
          stop(),
          start('{"type":"thinking","thinking":"","signature":""}', 1),
          piece('{"type":"tint_delta"}', 1),
          piece('{"type":"signature_delta","signature":"s"}', 1),
          stop(1),
          start('{"type":"tool_use","id":"t","name":"n","input":{}}', 2),
          piece('{"type":"tint_delta"}', 2),
          stop(2),
          ending('tool_use'),
          STOP,
        ),
      ),
    );
    assert.deepEqual(stateContent(reply.parts[0]), {
      before: [{ type: 'hologram', x: 1 }, { type: 'thinking', thinking: '', signature: 's' }],
    });
    assert.deepEqual(replyToolCalls(reply).map(({ id }) => id), ['t']);
  });

  test('takes more than 128 calls', () => {
    const calls = Array.from({ length: 200 }, (_, i) => [start(`{"type":"tool_use","id":"t${i}","name":"n","input":{}}`, i), stop(i)]);
    assert.equal(replyToolCalls(replyOf(endOf(decode(START, ...calls.flat(), ending('tool_use'), STOP)))).length, 200);
  });

  test('takes blocks whole from hosts that do not stream them', () => {
    const deltas = decode(
      START,
      start('{"type":"thinking","thinking":"Hm","signature":"s"}'),
      stop(),
      start('{"type":"text","text":"Hi"}', 1),
      stop(1),
      start('{"type":"tool_use","id":"t","name":"n","input":{"a":1e2}}', 2),
      stop(2),
      ending('tool_use'),
      STOP,
    );
    assert.deepEqual(deltas.slice(0, 2), [{ type: 'thinking', text: 'Hm' }, { type: 'text', text: 'Hi' }]);
    const made = deltas[2];
    assert.ok(made?.type === 'tool_call');
    assert.equal(made.call.arguments.text, '{"a":1e2}');
  });

  test('needs neither indexes nor stops of blocks', () => {
    const reply = replyOf(
      endOf(
        decode(
          START,
          '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
          '{"type":"content_block_delta","index":null,"delta":{"type":"text_delta","text":"a"}}',
          '{"type":"content_block_delta","delta":{"type":"text_delta","text":"b"}}',
          '{"type":"content_block_start","content_block":{"type":"tool_use","id":"t","name":"n"}}',
          ending('tool_use'),
          STOP,
        ),
      ),
    );
    assert.deepEqual(reply.parts.map((part) => part.type), ['text', 'tool_call']);
  });

  test('begins with the blocks that message_start has already', () => {
    const first = '{"type":"message_start","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"n","input":{"a":1.0}},{"type":"text","text":"x"}]}}';
    const deltas = decode(first, ending('tool_use'), STOP);
    assert.deepEqual(deltas.map((delta) => delta.type), ['tool_call', 'text', 'done']);
  });

  test('puts a compacted summary together', () => {
    const reply = replyOf(
      endOf(
        decode(
          START,
          start('{"type":"compaction","content":""}'),
          piece('{"type":"compaction_delta","content":"So "}'),
          piece('{"type":"compaction_delta","content":"far."}'),
          piece('{"type":"compaction_delta","content":null}'),
          stop(),
          ending('end_turn'),
          STOP,
        ),
      ),
    );
    const state = reply.parts[0]?.state ?? '';
    const carried = Buffer.from(state.split('.')[2] ?? '', 'base64url').toString();
    assert.equal(carried, '{"before":[{"type":"compaction","content":"So far."}]}');
  });
});

describe('usage in a stream', () => {
  const usageOf = (first: string, ...later: string[]) =>
    replyOf(
      endOf(
        decode(
          `{"type":"message_start","message":{"usage":${first}}}`,
          ...later.map((usage) => ending('end_turn', usage)),
          STOP,
        ),
      ),
    ).usage;

  test('totals replace earlier ones and are never added', () => {
    const usage = usageOf('{"input_tokens":10,"output_tokens":1}', '{"input_tokens":12,"output_tokens":7}', '{"output_tokens":9}');
    assert.deepEqual([usage?.inputTokens, usage?.outputTokens], [12, 9]);
  });

  test('null does not replace', () => {
    const usage = usageOf(
      '{"input_tokens":10,"cache_read_input_tokens":4,"output_tokens":1}',
      '{"input_tokens":null,"cache_read_input_tokens":null,"output_tokens":2,"output_tokens_details":{"thinking_tokens":1}}',
      '{"output_tokens":null,"output_tokens_details":null}',
    );
    assert.deepEqual(usage, { inputTokens: 14, outputTokens: 2, cacheReadTokens: 4, cacheWriteTokens: 0, reasoningTokens: 1 });
  });

  test('may come between the pieces of a block, and behind the reason for the end', () => {
    const counted = '{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":3}}';
    const reply = replyOf(endOf(decode(START, TEXT_BLOCK, textPiece('a'), counted, textPiece('b'), stop(), ending('max_tokens'), counted, STOP)));
    assert.deepEqual([reply.parts, reply.stopReason], [[{ type: 'text', text: 'ab', state: undefined }], 'max_tokens']);
  });

  test('may come only at the end, or not at all', () => {
    assert.equal(usageOf('null', '{"input_tokens":3,"output_tokens":2}')?.inputTokens, 3);
    assert.equal(usageOf('null', 'null'), undefined);
  });
});

describe('a stream fails', () => {
  const errors: [string, string][] = [
    ['overloaded_error', 'server'],
    ['api_error', 'server'],
    ['timeout_error', 'server'],
    ['rate_limit_error', 'rate_limit'],
    ['authentication_error', 'auth'],
    ['permission_error', 'auth'],
    ['billing_error', 'auth'],
    ['not_found_error', 'not_found'],
    ['invalid_request_error', 'bad_request'],
    ['request_too_large', 'bad_request'],
    ['conflict_error', 'server'],
    ['brand_new_error', 'server'],
  ];
  for (const [type, kind] of errors) {
    test(`on an error event of type ${type}, as ${kind}`, () => {
      const deltas = decode(START, TEXT_BLOCK, textPiece('a'), `{"type":"error","error":{"type":"${type}","message":"words"}}`, STOP);
      const failure = failureOf(endOf(deltas));
      assert.equal(failure.kind, kind);
      assert.ok(failure.message.includes(`code ${type}`) && !failure.message.includes('words'));
      assert.equal(failure.detail, 'words');
    });
  }

  for (const data of ['{"type":"overloaded_error","message":"words"}', '{"error":{"type":"overloaded_error","message":"words"}}', '{"error":"words"}', '{"message":"words"}']) {
    test(`on an event that is called error, whatever its shape: ${data}`, () => {
      const good = [START, TEXT_BLOCK, textPiece('a')].map((event) => `data: ${event}\n\n`).join('');
      const rest = [stop(), ending('end_turn'), STOP].map((event) => `data: ${event}\n\n`).join('');
      const failure = failureOf(endOf(decodeChunks(adapter, [Buffer.from(`${good}event: error\ndata: ${data}\n\n${rest}`)])));
      assert.deepEqual([failure.kind, failure.detail], ['server', 'words']);
    });
  }

  const nonsense: [string, string[], string][] = [
    ['on a frame that is not JSON', [START, '{"type":'], 'an event of the stream is not a JSON object'],
    ['on a frame that is not an object', ['[]'], 'an event of the stream is not a JSON object'],
    ['on a block that is not an object', [start('7')], 'a content block of the stream is not an object'],
    ['on a piece without a block', [textPiece('a')], 'a piece in its stream belongs to no open content block'],
    ['on a piece for another block', [TEXT_BLOCK, textPiece('a', 1)], 'a piece in its stream belongs to no open content block'],
    ['on a piece after the stop', [TEXT_BLOCK, stop(), textPiece('a')], 'a piece in its stream belongs to no open content block'],
    ['on text in a call', [CALL_BLOCK, textPiece('a')], 'a piece in its stream belongs to no open content block'],
    ['on reasoning in a text', [TEXT_BLOCK, piece('{"type":"thinking_delta","thinking":"a"}')], 'a piece in its stream belongs to no open content block'],
    ['on arguments that are not JSON', [CALL_BLOCK, inputPiece('{"a"'), stop(), ending('tool_use')], 'the arguments of a tool call are not a JSON object'],
    ['on arguments that are not an object', [CALL_BLOCK, inputPiece('[1]'), stop(), ending('tool_use')], 'the arguments of a tool call are not a JSON object'],
    ['on arguments that are an object where a text is due', [CALL_BLOCK, piece('{"type":"input_json_delta","partial_json":{"a":1}}'), stop(), ending('tool_use')], 'the arguments of a tool call are not a JSON object'],
    ['on a call without a name', [start('{"type":"tool_use","id":"t"}'), stop(), ending('tool_use')], 'a tool call has no name'],
    ['on an unfinished call before another block', [CALL_BLOCK, inputPiece('{'), stop(), start('{"type":"text"}', 1)], 'the arguments of a tool call are not a JSON object'],
  ];
  for (const [when, events, what] of nonsense) {
    test(when, () => {
      const failure = failureOf(endOf(decode(...events, STOP)));
      assert.equal(failure.kind, 'server');
      assert.equal(failure.message, `anthropic answered 200, but ${what}`);
    });
  }

  test('as a refusal when it refuses without content, or in the middle of a call', () => {
    for (const call of [[], [CALL_BLOCK, inputPiece('{"a'), stop()]]) assert.equal(failureOf(endOf(decode(START, ...call, ending('refusal'), STOP))).kind, 'refusal');
  });

  test('beyond 32 Mi characters of answer, in however many pieces', () => {
    const decoder = adapter.createStreamDecoder();
    const messages: string[] = [];
    const sink = (delta: Delta): void => {
      if (delta.type === 'failed') messages.push(delta.failure.message);
    };
    decoder.frame('', TEXT_BLOCK, sink);
    const half = textPiece('x'.repeat(16 * 1024 * 1024 - 200));
    decoder.frame('', half, sink);
    decoder.frame('', half, sink);
    assert.deepEqual(messages, []);
    decoder.frame('', textPiece('x'.repeat(400)), sink);
    assert.deepEqual(messages, ["anthropic answered 200, but the reply is longer than 33554432 characters, which is the gateway's limit"]);
  });

  test('but an endless row of empty pieces is bounded too', () => {
    const decoder = adapter.createStreamDecoder();
    const types: string[] = [];
    decoder.frame('', CALL_BLOCK, (delta) => types.push(delta.type));
    const empty = inputPiece('');
    for (let i = 0; i <= (32 * 1024 * 1024) / 16 && types.length === 0; i += 1) decoder.frame('', empty, (delta) => types.push(delta.type));
    assert.deepEqual(types, ['failed']);
  });
});

test('a stream that ends with neither content nor a reason is no answer, as a whole one is none', () => {
  for (const events of [[STOP], [START, STOP], [START, TEXT_BLOCK, stop(), ending('pause_turn'), STOP]]) {
    const failure = failureOf(endOf(decode(...events)));
    assert.deepEqual([failure.kind, failure.message], ['server', 'anthropic answered 200, but the reply has neither content nor a reason for its end']);
  }
  assert.deepEqual(replyOf(endOf(decode(START, ending('end_turn'), STOP))).parts, []);
});

test('max_tokens inside a call leaves the call out, whole arguments or not', () => {
  for (const pieces of [['{"a":1}'], ['{"a'], ['']]) {
    const deltas = decode(START, TEXT_BLOCK, textPiece('a'), stop(), start('{"type":"tool_use","id":"t","name":"n","input":{}}', 1), ...pieces.map((json) => inputPiece(json, 1)), stop(1), ending('max_tokens'), STOP);
    assert.deepEqual(deltas.map((delta) => delta.type), ['text', 'done']);
    assert.equal(replyOf(endOf(deltas)).stopReason, 'max_tokens');
  }
});

test('max_tokens behind what a tool of the provider found leaves that with its call', () => {
  const call = '{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}';
  const found = '{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}';
  const reply = replyOf(endOf(decode(START, TEXT_BLOCK, textPiece('a'), stop(), start(call, 1), stop(1), start(found, 2), stop(2), ending('max_tokens'), STOP)));
  assert.deepEqual(stateContent(reply.parts[1]), { before: JSON.parse(`[${call},${found}]`) as unknown });
});

test('max_tokens inside reasoning leaves it out of the turn, unless its signature has come, but not out of what was disclosed', () => {
  const thinking = start('{"type":"thinking","thinking":"","signature":""}');
  const words = piece('{"type":"thinking_delta","thinking":"Hm"}');
  const signature = piece('{"type":"signature_delta","signature":"s"}');
  const cut = replyOf(endOf(decode(START, thinking, words, stop(), ending('max_tokens'), STOP)));
  assert.deepEqual([cut.parts, cut.thinking], [[], 'Hm']);
  const body = (block: string): string => `{"content":[${block}],"stop_reason":"max_tokens"}`;
  const cutWhole = replyOf(adapter.decodeChat(body('{"type":"thinking","thinking":"Hm","signature":""}')));
  assert.deepEqual([cutWhole.parts, cutWhole.thinking], [[], 'Hm']);
  const whole = replyOf(endOf(decode(START, thinking, words, signature, stop(), ending('max_tokens'), STOP)));
  assert.deepEqual(stateContent(whole.parts[0]), { before: [{ type: 'thinking', thinking: 'Hm', signature: 's' }] });
  assert.equal(whole.stopReason, 'max_tokens');
});

test('4 000 random frames never throw, and end exactly once', () => {
  const random = createRandom(20);
  const scraps = [
    'null', '7', '"x"', '[]', '{}', 'true', '-1', '{"type":"text"}', '{"type":"text","text":"a","citations":[1,{}]}',
    '{"type":"tool_use"}', '{"type":"tool_use","id":"i","name":"n","input":{}}', '{"type":"thinking","thinking":3}',
    '{"type":"server_tool_use","input":[]}', '{"type":"text_delta","text":"a"}', '{"type":"text_delta"}',
    '{"type":"input_json_delta","partial_json":"{"}', '{"type":"input_json_delta","partial_json":{}}',
    '{"type":"signature_delta"}', '{"type":"citations_delta","citation":null}', '{"type":"citations_delta","citation":{"a":1}}',
    '{"type":"compaction_delta","content":null}', '{"stop_reason":"max_tokens"}', '{"stop_reason":{}}', '{"input_tokens":1e99}',
    '{"content":[7,{"type":"text","text":"p"}],"usage":[]}',
  ];
  const types = [
    'message_start', 'content_block_start', 'content_block_delta', 'content_block_delta', 'content_block_stop',
    'message_delta', 'ping', 'noise', '__proto__',
  ];
  let decoder = adapter.createStreamDecoder();
  let ends = 0;
  const sink = (delta: Delta): void => {
    if (delta.type === 'done' || delta.type === 'failed') ends += 1;
  };
  for (let i = 0; i < 4000; i += 1) {
    const scrap = (): string => random.pick(scraps);
    const index = random.pick(['0', '1', '"0"', 'null', '-1', '0.5']);
    const end = random.below(60);
    const type = end === 0 ? 'message_stop' : end === 1 ? 'error' : random.pick(types);
    const frame = `{"type":"${type}","index":${index},"content_block":${scrap()},"delta":${scrap()},"message":${scrap()},"usage":${scrap()},"error":${scrap()}}`;
    decoder.frame(random.pick(['', 'ping', 'message_stop', type]), random.below(40) === 0 ? frame.slice(0, random.below(frame.length)) : frame, sink);
    if (random.below(25) === 0) {
      decoder.end(sink);
      assert.equal(ends, 1);
      decoder = adapter.createStreamDecoder();
      ends = 0;
    }
  }
});

test('two streams of one adapter do not mix', () => {
  const [one, two] = [adapter.createStreamDecoder(), adapter.createStreamDecoder()];
  const said: string[] = [];
  const sink = (delta: Delta): void => {
    if (delta.type === 'done') said.push(delta.reply.parts.map((part) => (part.type === 'text' ? part.text : '')).join());
  };
  for (const event of [TEXT_BLOCK, textPiece('1')]) one.frame('', event, sink);
  for (const event of [TEXT_BLOCK, textPiece('2'), STOP]) two.frame('', event, sink);
  one.frame('', STOP, sink);
  assert.deepEqual(said, ['2', '1']);
});
