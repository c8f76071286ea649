/** Tools of the Responses API that take plain text, through the real server, against the sandbox. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway, user } from '../../running-gateway.ts';
import type { Frame, Message, ReplyBody } from '../../running-gateway.ts';

const TOOLS = [{ type: 'custom', name: 'weather', description: 'tells it' }];

for (const isStream of [false, true]) {
  test(`a loop over a custom tool goes round by replaying the message, ${isStream ? 'streamed' : 'whole'}`, async (t) => {
    const gateway = await startGateway(t, { OPENAI_API: 'responses' });
    const messages: Message[] = [user('What to wear?')];
    const step = async (): Promise<ReplyBody | Frame> => {
      const request = { provider: 'openai', model: 'fake-tool-loop', messages, provider_options: { tools: TOOLS } };
      const ended = isStream ? (await gateway.stream(request)).at(-1) : (await gateway.chat(request)).body;
      const message = ended?.message;
      if (ended === undefined || message === undefined) throw new Error(JSON.stringify(ended));
      messages.push(message);
      for (const part of message.content) {
        if (part.type === 'tool_call') messages.push({ role: 'tool', content: [{ type: 'tool_result', tool_call_id: part.id, content: 'rain' }] });
      }
      return ended;
    };
    const asked = await step();
    assert.equal(asked.stop_reason, 'tool_use');
    const calls = (asked.message?.content ?? []).filter(({ type }) => type === 'tool_call');
    assert.deepEqual(calls.map(({ name, arguments: args }) => [name, Object.keys(args ?? {}), typeof args?.['input']])[0], ['weather', ['input'], 'string']);
    while ((await step()).stop_reason === 'tool_use') assert.ok(messages.length < 20, 'a loop without end');
    const { input } = JSON.parse(gateway.sandbox.calls.at(-1)?.body ?? '') as { input: { type?: string; input?: string; call_id?: string }[] };
    const sent = input.filter(({ type }) => type === 'custom_tool_call');
    assert.deepEqual(sent.slice(0, calls.length).map(({ input: text }) => text), calls.map(({ arguments: args }) => args?.['input']));
    assert.deepEqual(input.filter(({ type }) => type === 'custom_tool_call_output').map(({ call_id: id }) => id), sent.map(({ call_id: id }) => id));
    assert.ok(input.every(({ type }) => type !== 'function_call' && type !== 'function_call_output'), JSON.stringify(input));
  });
}
