/** What one caller may have stored at a provider, another cannot refer to: nowhere in a relayed request, in no spelling. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../running-gateway.ts';

const SEVERAL = { GATEWAY_MAX_RETRIES: '0', OPENAI_API: 'responses', GATEWAY_AUTH_TOKENS: 'other:another-token-of-callers' };

const CHAT = (rest: string): readonly [string, string] => ['/v1/chat/completions', `{"model":"openai/fake-chat",${rest}}`];
const RESPONSES = (rest: string): readonly [string, string] => ['/v1/responses', `{"model":"openai/fake-chat",${rest}}`];
const MESSAGES = (rest: string): readonly [string, string] => ['/v1/messages', `{"model":"anthropic/fake-chat","max_tokens":9,${rest}}`];

const HI = '"messages":[{"role":"user","content":"hi"}]';

/** A request and where its reference stands. */
const REFUSED: readonly (readonly [request: readonly [path: string, body: string], place: string])[] = [
  [CHAT('"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"f"}}]}]'), 'messages[0].content[0].file.file_id'],
  [CHAT('"messages":[{"role":"user","content":[{"type":"file","file":{"file\\u005fid":"f"}}]}]'), 'messages[0].content[0].file.file_id'],
  [CHAT('"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"f","file_id":null}}]}]'), 'messages[0].content[0].file.file_id'],
  [CHAT('"messages":[{"role":"user","content":"hi"},{"role":"assistant","audio":{"id":"audio_1"}},{"role":"user","content":"hi"}]'), 'messages[1].audio.id'],
  [CHAT(`${HI},"modalities":["text","audio"],"audio":{"format":"mp3","voice":{"id":"voice_1"}}`), 'audio.voice.id'],
  [RESPONSES('"input":"hi","previous_response_id":"resp_1"'), 'previous_response_id'],
  [RESPONSES('"input":"hi","conversation":"conv_1"'), 'conversation'],
  [RESPONSES('"input":"hi","conversation":{"id":"conv_1"}'), 'conversation.id'],
  [RESPONSES('"input":"hi","conversation":{"id":"conv_1","id":1}'), 'conversation.id'],
  [RESPONSES('"input":"hi","prompt":{"id":"pmpt_1"}'), 'prompt.id'],
  [RESPONSES('"input":"hi","prompt_cache_options":{"comparison_response_id":"resp_1"}'), 'prompt_cache_options.comparison_response_id'],
  [RESPONSES('"input":"hi","tools":[{"type":"mcp","server_label":"x","tunnel_id":"tunnel_1"}]'), 'tools[0].tunnel_id'],
  [RESPONSES('"input":[{"type":"item_reference","id":"msg_1"}]'), 'input[0]'],
  [RESPONSES('"input":[{"type":null,"id":"msg_1"}]'), 'input[0]'],
  [RESPONSES('"input":[{"role":"user","content":"hi"},{"id":"msg_1"}]'), 'input[1]'],
  [RESPONSES('"input":[{"type":"reasoning","id":"rs_1","summary":[]},{"role":"user","content":"hi"}]'), 'input[0]'],
  [RESPONSES('"input":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":""},{"role":"user","content":"hi"}]'), 'input[0]'],
  [RESPONSES('"input":[{"type":"image_generation_call","id":"ig_1"},{"role":"user","content":"hi"}]'), 'input[0]'],
  [RESPONSES('"input":"hi","tools":[{"type":"file_search","vector_store_ids":["vs_1"]}]'), 'tools[0].vector_store_ids'],
  [RESPONSES('"input":"hi","tools":[{"type":"code_interpreter","container":"cntr_1"}]'), 'tools[0].container'],
  [RESPONSES('"input":"hi","tools":[{"type":"code_interpreter","container":{"type":"auto","file_ids":["f"]}}]'), 'tools[0].container.file_ids'],
  [RESPONSES('"input":"hi","tools":[{"type":"shell","environment":{"type":"container_auto","skills":[{"type":"skill_reference","skill_id":"skill_1"}]}}]'), 'tools[0].environment.skills[0].skill_id'],
  [MESSAGES('"messages":[{"role":"user","content":[{"type":"container_upload","file_id":"f"}]}]'), 'messages[0].content[0].file_id'],
  [MESSAGES(`${HI},"container":"container_1"`), 'container'],
  [MESSAGES(`${HI},"container":{"id":"container_1"}`), 'container.id'],
  [MESSAGES(`${HI},"container":{"skills":[{"type":"anthropic","skill_id":"pptx"},{"type":"custom","skill_id":"skill_1"}]}`), 'container.skills[1].skill_id'],
  [MESSAGES(`${HI},"user_profile_id":"uprof_1"`), 'user_profile_id'],
  [MESSAGES(`${HI},"diagnostics":{"previous_message_id":null,"previous_message_id":"msg_1"}`), 'diagnostics.previous_message_id'],
  [MESSAGES(`${HI},"metadata":{"user_id":"somebody","user_id":1}`), 'metadata.user_id'],
];

test('a reference to what may be stored by another caller is refused by its place and never sent', async (t) => {
  const gateway = await startGateway(t, SEVERAL);
  for (const [[path, body], place] of REFUSED) {
    const response = await gateway.post(path, body);
    const { error } = (await response.json()) as { error: { message: string } };
    assert.deepEqual([response.status, error.message?.split(': ')[0]], [400, place], `${body}: ${error.message}`);
  }
  assert.equal(gateway.sandbox.calls.length, 0);
});

/** What a tool takes, and what a caller calls its own, is nobody else's, whatever its members are called. */
const TAKEN: readonly (readonly [path: string, body: string])[] = [
  MESSAGES(
    '"tools":[{"name":"logs","input_schema":{"type":"object","properties":{"container":{"type":"string"}}}}],"messages":[{"role":"user","content":"hi"},' +
      '{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"logs","input":{"container":"web","file_id":"7"}}]},' +
      '{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"fine"}]}]',
  ),
  CHAT(`${HI},"store":true,"metadata":{"file_id":"7"}`),
  RESPONSES('"input":[{"role":"user","content":"hi"},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"sealed"},{"type":"message","role":"assistant","id":"msg_1","content":[{"type":"output_text","text":"Hm.","annotations":[]}]},{"role":"user","content":"hi"}]'),
];

test('which answer the diagnostics of a cache compare with is left out where it may be another caller\'s', async (t) => {
  const compared = `${HI},"diagnostics":{"previous_message_id":"msg_1"}`;
  const [path, body] = MESSAGES(compared);
  const gateway = await startGateway(t, SEVERAL);
  const answer = await gateway.post(path, body);
  assert.deepEqual([answer.status, answer.headers.get('x-gateway-ignored')], [200, 'diagnostics']);
  assert.doesNotMatch(gateway.sandbox.calls.at(-1)?.body ?? 'diagnostics', /diagnostics/);
  const [, first] = MESSAGES(compared.replace('"msg_1"', 'null'));
  assert.equal((await gateway.post(path, first)).headers.get('x-gateway-ignored'), null);
  assert.match(gateway.sandbox.calls.at(-1)?.body ?? '', /"diagnostics":\{"previous_message_id":null\}/);
  const alone = await startGateway(t);
  assert.equal((await alone.post(path, body)).headers.get('x-gateway-ignored'), null);
  assert.match(alone.sandbox.calls.at(-1)?.body ?? '', /"previous_message_id":"msg_1"/);
});

test('what only looks like a reference is relayed', async (t) => {
  const gateway = await startGateway(t, SEVERAL);
  for (const [path, body] of TAKEN) {
    await (await gateway.post(path, body)).text();
    const sent = gateway.sandbox.calls.at(-1)?.body;
    assert.equal(sent, body.replace(/"(openai|anthropic)\//, '"'));
  }
});
