import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RawJson } from '../../../src/base/json/value.ts';
import type { JsonOutObject } from '../../../src/base/json/value.ts';
import { replyToolCalls } from '../../../src/core/chat.ts';
import type { AssistantPart, ChatReply, Turn } from '../../../src/core/chat.ts';
import { encodeState } from '../../../src/core/provider-state.ts';
import { sentText } from '../../sent-text.ts';
import { decodeChunks, endOf } from '../../decode-stream.ts';
import { adapter, assistant, body, call, failureOf, fixture, payload, payloadText, replyOf, request, result, text, user } from './fixtures.ts';

/** The request that follows a reply: its turn unchanged, and a result for every call. */
function nextTurns(reply: ChatReply): Turn[] {
  return [user('Go'), assistant(...reply.parts), ...replyToolCalls(reply).map((made) => result(made.id)), user('On')];
}

/** The text of a whole reply's content array. */
function contentText(source: string): string {
  const found = /"content":(\[.*\]),"stop_reason"/s.exec(source)?.[1];
  assert.ok(found !== undefined);
  return found;
}

describe('a reply sent back', () => {
  test('is what the provider wrote, block by block and byte by byte', () => {
    const source = fixture('tools.json').toString();
    const sent = payloadText({ turns: nextTurns(replyOf(adapter.decodeChat(source))) });
    assert.ok(sent.includes(`{"role":"assistant","content":${contentText(source)}}`));
  });

  test('has the blocks of server tools, citations and callers, without the caller that is the default', () => {
    const source = fixture('server-tools.json').toString();
    const sent = payloadText({ turns: nextTurns(replyOf(adapter.decodeChat(source))) });
    const expected = contentText(source).replace(',"caller":{"type":"direct"}', '');
    assert.ok(sent.includes(`{"role":"assistant","content":${expected}}`));
  });

  test('is the same after a stream', () => {
    for (const name of ['tools', 'server-tools']) {
      const streamed = replyOf(endOf(decodeChunks(adapter, [fixture(`${name}.sse`)])));
      const whole = replyOf(adapter.decodeChat(fixture(`${name}.json`).toString()));
      assert.equal(payloadText({ turns: nextTurns(streamed) }), payloadText({ turns: nextTurns(whole) }));
    }
  });

  test('keeps reasoning whatever its keys’ order, spacing and escapes', () => {
    const source = body('{ "signature" : "c2ln\\/", "thinking":"\\u00e4\\ud83d\\ude00\\ud800", "type":"thinking" },{"type":"text","text":"a"}');
    const { messages } = payload({ turns: nextTurns(replyOf(adapter.decodeChat(source))) });
    assert.deepEqual(messages[1]?.content, [
      { type: 'thinking', thinking: 'ä😀\ud800', signature: 'c2ln/' },
      { type: 'text', text: 'a' },
    ]);
  });

  test('keeps reasoning that stands alone, and before a text that is dropped', () => {
    const thinking = (signature: string) => `{"type":"thinking","thinking":"","signature":"${signature}"}`;
    const source = body(`${thinking('1')},{"type":"text","text":" "},${thinking('2')}`);
    const { messages } = payload({ turns: nextTurns(replyOf(adapter.decodeChat(source))) });
    assert.deepEqual(messages[1]?.content, [
      { type: 'thinking', thinking: '', signature: '1' },
      { type: 'thinking', thinking: '', signature: '2' },
    ]);
  });

  test('can always be read again, odd as its blocks may be', () => {
    const odd = [
      '{"type":"thinking","thinking":null,"signature":null,"extra":1}',
      '{"type":"thinking"}',
      '{"type":"redacted_thinking","data":7}',
      '{"type":"server_tool_use","type":"server_tool_use","input":{"a":1,"a":2}}',
      '{"type":"future_tool_result","content":[[[]]],"score":1.0}',
      '{"type":"text","text":"a","citations":[{}],"extra":{}}',
      '{"type":"text","text":"a","citations":[7]}',
      '{"type":"tool_use","id":"t1","name":"n","input":{},"caller":{},"toolset_name":"set","extra":1}',
      '{"type":"tool_use","id":"t2","name":"n","input":{},"caller":"x","toolset_name":7}',
    ];
    const encoded = adapter.encodeChat(request({ turns: nextTurns(replyOf(adapter.decodeChat(body(odd.join(','))))) }), false);
    assert.ok('body' in encoded);
    assert.ok(sentText(encoded).includes('"caller":{},"toolset_name":"set"'));
    assert.ok(sentText(encoded).includes('"score":1.0'));
  });

  test('without its state is still a turn', () => {
    const { parts } = replyOf(adapter.decodeChat(fixture('tools.json').toString()));
    const stripped = parts.map((part): AssistantPart => ({ ...part, state: undefined }));
    const { messages } = payload({ turns: [user('Go'), assistant(...stripped), result('toolu_01'), result('toolu_02')] });
    assert.deepEqual(messages[1]?.content.map((block) => (block as { type: string }).type), ['text', 'tool_use', 'tool_use']);
  });
});

describe('a state', () => {
  const made = (content: JsonOutObject) => encodeState('anthropic', 'anthropic', content);
  const raw = (json: string) => new RawJson(json);

  const forgeries: [string, AssistantPart][] = [
    ['that is no state', text('a', 'hello')],
    ['that is cut', text('a', made({ before: [raw('{"type":"redacted_thinking","data":"x"}')] }).slice(0, -3))],
    ['of nothing', text('a', made({}))],
    ['with an empty list', text('a', made({ before: [] }))],
    ['with an unknown field', text('a', made({ before: [raw('{"type":"redacted_thinking","data":"x"}')], model: 'x' }))],
    ['whose blocks are no list', text('a', made({ before: raw('{"type":"thinking"}') }))],
    ['with a block that is no object', text('a', made({ before: ['thinking'] }))],
    ['with a block without a type', text('a', made({ before: [raw('{"thinking":"x"}')] }))],
    ['with a block type that is no string', text('a', made({ before: [raw('{"type":["thinking"]}')] }))],
    ['with a text block', text('a', made({ before: [raw('{"type":"text","text":"x"}')] }))],
    ['with a document', text('a', made({ before: [raw('{"type":"document"}')] }))],
    ['with an image', text('a', made({ before: [raw('{"type":"image"}')] }))],
    ['with a call', text('a', made({ before: [raw('{"type":"tool_use","id":"x","name":"n","input":{}}')] }))],
    ['with a result', text('a', made({ before: [raw('{"type":"tool_result","tool_use_id":"x"}')] }))],
    ['with a prototype for a type', text('a', made({ before: [raw('{"type":"__proto__"}')] }))],
    ['with a further field in reasoning', text('a', made({ before: [raw('{"type":"thinking","thinking":"","cache_control":{}}')] }))],
    ['with a further string in redacted reasoning', text('a', made({ before: [raw('{"type":"redacted_thinking","data":"","x":""}')] }))],
    ['with reasoning of another type', text('a', made({ before: [raw('{"type":"thinking","thinking":{}}')] }))],
    ['with a doubled key', text('a', made({ before: [raw('{"type":"thinking","type":"redacted_thinking"}')] }))],
    ['with own fields that are no object', text('a', made({ own: ['citations'] }))],
    ['with unknown own fields', text('a', made({ own: { cache_control: raw('{"type":"ephemeral"}') } }))],
    ['with unknown own fields beside a known one', call('c', '{}', made({ own: raw('{"toolset_name":"a","cache_control":{}}') }))],
    ['with citations that are no list', text('a', made({ own: { citations: 'x' } }))],
    ['with empty citations', text('a', made({ own: { citations: [] } }))],
    ['with citations that are no objects', text('a', made({ own: { citations: ['x'] } }))],
    ["with a call's fields on a text", text('a', made({ own: { caller: raw('{"type":"x"}') } }))],
    ["with a text's fields on a call", call('c', '{}', made({ own: { citations: [raw('{"type":"x"}')] } }))],
    ['with doubled own fields', call('c', '{}', made({ own: raw('{"toolset_name":"a","toolset_name":"b"}') }))],
  ];
  for (const [what, part] of forgeries) {
    test(`${what} is a bad request that names the part`, () => {
      const turns = [user('Go'), assistant(text('before'), part), ...(part.type === 'tool_call' ? [result('c')] : [])];
      const failure = failureOf(adapter.encodeChat(request({ turns }), false));
      assert.equal(failure.kind, 'bad_request');
      assert.equal(failure.message, 'messages[1].content[1].provider_state: damaged, or not made by this gateway');
    });
  }

  test('refused beside a thinking budget is a bad request too', () => {
    const turns = [user('Go'), assistant(call('c', '{}', 'junk')), result('c')];
    const fields = { turns, model: 'claude-haiku-4-5', thinking: { enabled: true, effort: undefined } };
    assert.equal(failureOf(adapter.encodeChat(request(fields), false)).kind, 'bad_request');
  });
});
