import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway, user } from '../running-gateway.ts';
import type { Message, ReplyBody, RunningGateway } from '../running-gateway.ts';
import { DIALECTS, assistant, encode, replyOf, requestOf, result, thoughtfulBody, user as userTurn } from './codecs.ts';
import { sentText } from '../sent-text.ts';

const TOOLS = [
  { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
  { name: 'clothes', parameters: { type: 'object', properties: { weather: { type: 'string' } } } },
];

async function step(gateway: RunningGateway, provider: string, messages: Message[]): Promise<ReplyBody> {
  const { status, body } = await gateway.chat({ provider, model: 'fake-tool-loop', messages, tools: TOOLS });
  assert.equal(status, 200, `${provider}: ${JSON.stringify(body)}`);
  messages.push(body.message);
  for (const call of body.tool_calls ?? []) {
    messages.push({ role: 'tool', content: [{ type: 'tool_result', tool_call_id: call.id, content: 'rain' }] });
  }
  return body;
}

const NAMES = ['anthropic', 'openai', 'gemini', 'compat'] as const;

const MOVES = NAMES.flatMap((from) => NAMES.filter((name) => name !== from).map((to) => ({ from, to })));

for (const openAiApi of ['chat', 'responses']) {
  for (const { from, to } of MOVES.filter((move) => openAiApi === 'chat' || Object.values(move).includes('openai'))) {
    test(`a loop begun on ${from} goes on at ${to}, and back again, with OpenAI's ${openAiApi} API`, async (t) => {
      const gateway = await startGateway(t, { OPENAI_API: openAiApi });
      const messages: Message[] = [user('What to wear?')];
      assert.equal((await step(gateway, from, messages)).stop_reason, 'tool_use');
      assert.equal((await step(gateway, to, messages)).stop_reason, 'tool_use');
      const ended = await step(gateway, from, messages);
      assert.equal(ended.stop_reason, 'end_turn');
      assert.match(ended.text ?? '', /rain/);
      messages.push(user('Once more?'));
      assert.equal((await step(gateway, to, messages)).stop_reason, 'tool_use');
    });
  }
}

for (const from of DIALECTS) {
  for (const to of DIALECTS.filter(({ label }) => label !== from.label)) {
    test(`nothing of ${from.label}'s states is in what ${to.label} is sent`, () => {
      const { parts } = replyOf(from.adapter.decodeChat(thoughtfulBody(from.adapter.dialect)));
      const results = parts.flatMap((part) => (part.type === 'tool_call' ? [result(part.id)] : []));
      const turns = [userTurn('Go'), assistant(...parts), ...results];
      const body = sentText(encode(to.adapter, requestOf({ model: to.model, turns })));
      for (const trace of ['sig-', 'sealed-', 'first', 'executableCode', 'web_search', 'commentary', 'cited_text']) {
        assert.ok(!body.includes(trace), `${trace} in ${body}`);
      }
      assert.ok(body.includes('Words') && body.includes('12345678901234567890'), body);
    });
  }
}

test('a loop moves in every round, by the same provider or another, streamed or not', async (t) => {
  const gateway = await startGateway(t);
  const messages: Message[] = [];
  for (const [at, provider] of [...NAMES, ...NAMES].entries()) {
    if (at % 4 === 0) messages.push(user(`Question ${at}`));
    const request = { provider, model: 'fake-interleaved', messages, tools: TOOLS };
    const frames = await gateway.stream(request);
    const done = frames.at(-1);
    assert.equal(done?.type, 'done', JSON.stringify(done));
    messages.push(done?.message as Message);
    const calls = frames.filter((frame) => frame.type === 'tool_call').map((frame) => frame.tool_call);
    const content = calls.map((call) => ({ type: 'tool_result', tool_call_id: call?.id, content: 'ok' }));
    if (content.length > 0) messages.push({ role: 'tool', content });
    else messages.push(user('On'));
  }
  assert.ok(messages.length > 12);
});
