import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from '../../../src/base/json/parse.ts';
import { renderJson } from '../../../src/base/json/render.ts';
import { JsonObject, RawJson } from '../../../src/base/json/value.ts';
import { OPENAI_RESPONSES } from '../../../src/callers/openai-responses/dialect.ts';
import { encodeResponse } from '../../../src/callers/openai-responses/reply.ts';
import type { ChatReply, ToolCallPart } from '../../../src/core/chat.ts';
import { Failure, upstreamFailure } from '../../../src/core/failure.ts';
import { BARE_REPLY, FACTS, UNASKED_ECHO } from '../dialect-testing.ts';

const CALL: ToolCallPart = { type: 'tool_call', id: 'call_1', name: 'weather', arguments: new RawJson('{"days":1.0,\n"id":12345678901234567890}'), state: undefined };

const FULL: ChatReply = {
  id: 'resp_upstream',
  model: 'served-model',
  parts: [{ type: 'text', text: 'Hel"lo', state: 'a.acme.AA' }, CALL, { ...CALL, id: 'call_2', arguments: new RawJson('{}'), state: 'a.acme.BB' }],
  thinking: 'Hm.',
  stopReason: 'tool_use',
  usage: { inputTokens: 10, outputTokens: 20, cacheReadTokens: 3, cacheWriteTokens: 4, reasoningTokens: 5 },
};

function rendered(reply: Partial<ChatReply>): Record<string, unknown> {
  return JSON.parse(renderJson(encodeResponse({ ...BARE_REPLY, ...reply }, FACTS))) as Record<string, unknown>;
}

test('a full reply has every field of the Responses form', () => {
  assert.equal(
    renderJson(encodeResponse(FULL, FACTS)),
    '{"id":"resp_a1","object":"response","created_at":1795257683,"status":"completed","error":null,"incomplete_details":null,"model":"served-model","output":[' +
      '{"id":"rs_a1_0","type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"gateway:own=a.acme.AA"},' +
      '{"id":"msg_a1_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hel\\"lo","annotations":[]}]},' +
      '{"id":"fc_a1_2","type":"function_call","call_id":"call_1","name":"weather","status":"completed","arguments":"{\\"days\\":1.0,\\n\\"id\\":12345678901234567890}"},' +
      '{"id":"rs_a1_3","type":"reasoning","summary":[],"encrypted_content":"gateway:call=a.acme.BB"},' +
      '{"id":"fc_a1_4","type":"function_call","call_id":"call_2","name":"weather","status":"completed","arguments":"{}"}],' +
      '"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":3,"cache_write_tokens":4},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":5},"total_tokens":30},' +
      '"instructions":null,"max_output_tokens":null,"metadata":{},"parallel_tool_calls":true,"previous_response_id":null,"temperature":null,"tool_choice":"auto","tools":[],"top_p":null,"truncation":"disabled"}',
  );
});

test('a reply that says nothing has an empty output, and no usage that nobody reported', () => {
  assert.deepEqual(rendered({}), {
    id: 'resp_a1',
    object: 'response',
    created_at: 1795257683,
    status: 'completed',
    error: null,
    incomplete_details: null,
    model: 'asked-model',
    output: [],
    usage: null,
    ...UNASKED_ECHO,
  });
});

test('a reply repeats of its request what is short, digit for digit, and what was null as if nothing was said', () => {
  const source = parseJson('{"temperature":0.70,"top_p":null,"max_output_tokens":12,"tool_choice":{"type":"function","name":"weather"},"parallel_tool_calls":false,"tools":[{"type":"function","name":"weather"}]}');
  assert.ok(source instanceof JsonObject);
  const text = renderJson(encodeResponse(BARE_REPLY, { ...FACTS, request: { ...FACTS.request, source } }));
  assert.ok(
    text.endsWith(
      '"instructions":null,"max_output_tokens":12,"metadata":{},"parallel_tool_calls":false,"previous_response_id":null,"temperature":0.70,' +
        '"tool_choice":{"type":"function","name":"weather"},"tools":[],"top_p":null,"truncation":"disabled"}',
    ),
    text,
  );
});

test('the model of a reply is the one that served it, as far as anybody says', () => {
  assert.equal(rendered({ model: 'served' })['model'], 'served');
  assert.equal((JSON.parse(renderJson(encodeResponse(BARE_REPLY, { ...FACTS, servedModel: 'known' }))) as { model: string }).model, 'known');
});

test('a reply that ended early is incomplete and says why', () => {
  const parts = [{ type: 'text', text: 'Hel', state: undefined }] as const;
  const expected: Readonly<Record<ChatReply['stopReason'], string | undefined>> = {
    end_turn: undefined,
    max_tokens: 'max_output_tokens',
    tool_use: undefined,
    stop_sequence: undefined,
    refusal: 'content_filter',
    unknown: undefined,
  };
  for (const [stopReason, reason] of Object.entries(expected)) {
    const response = rendered({ parts, stopReason: stopReason as ChatReply['stopReason'] });
    assert.equal(response['status'], reason === undefined ? 'completed' : 'incomplete', stopReason);
    assert.deepEqual(response['incomplete_details'], reason === undefined ? null : { reason });
  }
});

test('a refusal without a word is a completed answer with a refusal part', () => {
  const response = rendered({ stopReason: 'refusal' });
  assert.equal(response['status'], 'completed');
  assert.deepEqual(response['output'], [
    { id: 'msg_a1_0', type: 'message', status: 'completed', role: 'assistant', content: [{ type: 'refusal', refusal: 'The request was declined.' }] },
  ]);
});

test('thinking alone is a reasoning item that is known for the gateway\'s own', () => {
  assert.deepEqual(rendered({ thinking: 'Hm.' })['output'], [{ id: 'rs_a1_0', type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 'gateway:' }]);
});

test('a text that says nothing is its reasoning alone, unless what follows would be taken for its owner', () => {
  const types = (reply: Partial<ChatReply>): unknown => (rendered(reply)['output'] as { type: string }[]).map(({ type }) => type);
  const silent = { type: 'text', text: '', state: 'a.acme.AA' } as const;
  assert.deepEqual(types({ parts: [silent] }), ['reasoning']);
  assert.deepEqual(types({ parts: [silent, { ...CALL, state: 'a.acme.BB' }] }), ['reasoning', 'reasoning', 'function_call']);
  assert.deepEqual(types({ parts: [silent, CALL] }), ['reasoning', 'function_call']);
  assert.deepEqual(types({ parts: [silent, { type: 'text', text: 'A', state: undefined }] }), ['reasoning', 'message', 'message']);
  assert.deepEqual(types({ parts: [silent, { type: 'text', text: 'A', state: 'a.acme.BB' }] }), ['reasoning', 'reasoning', 'message']);
  assert.deepEqual(types({ parts: [{ ...silent, state: undefined }] }), []);
});

test('ids have at most 64 characters of an id\'s own, and each is another', () => {
  const parts = Array.from({ length: 1000 }, () => CALL);
  const facts = { ...FACTS, answerId: '7d0f4c1e-0b0e-4a52-9f2b-0a4f6f1c9d11' };
  const response = JSON.parse(renderJson(encodeResponse({ ...BARE_REPLY, parts }, facts))) as { id: string; output: { id: string }[] };
  const ids = [response.id, ...response.output.map(({ id }) => id)];
  assert.equal(new Set(ids).size, 1001);
  for (const id of ids) assert.match(id, /^[A-Za-z0-9_-]{1,64}$/);
});

test('a failure has the body of OpenAI and the headers that its SDKs look at', () => {
  assert.deepEqual(OPENAI_RESPONSES.renderFailure(new Failure('not_found', 'No such model.'), 'r1'), {
    body: '{"error":{"message":"No such model.","type":"invalid_request_error","param":null,"code":"model_not_found"}}',
    headers: { 'x-should-retry': 'false' },
  });
  assert.deepEqual(OPENAI_RESPONSES.renderFailure(new Failure('rate_limit', 'Full.'), 'r1').headers, {});
  const limited = upstreamFailure({ provider: 'acme', status: 429, kind: 'rate_limit' });
  assert.deepEqual(OPENAI_RESPONSES.renderFailure(limited, 'r1').headers, { 'x-should-retry': 'false' });
});
