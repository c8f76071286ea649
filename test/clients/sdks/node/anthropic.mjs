/** @anthropic-ai/sdk. The word behind says which way of streaming: the events themselves, or the package's helper. */

import Anthropic from '@anthropic-ai/sdk';
import { PNG, result, ROUNDS_MAX, SCHEMAS, serve, TOOL_NAMES } from './serve.mjs';

const isHelper = process.argv[2] === 'helper';
const tools = TOOL_NAMES.map((name) => ({ name, description: name, input_schema: SCHEMAS[name] }));

function clientOf({ url, token }) {
  return new Anthropic({ apiKey: token, baseURL: url });
}

function bodyOf({ model, isThinking, isStructured, hasImage }) {
  const structured = { output_config: { format: { type: 'json_schema', schema: SCHEMAS.weather } } };
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } };
  const content = hasImage ? [{ type: 'text', text: 'Hi' }, image] : 'Hi';
  const thinking = { thinking: { type: 'enabled', budget_tokens: 1024 } };
  return { model, max_tokens: 4000, messages: [{ role: 'user', content }], ...(isThinking && thinking), ...(isStructured && structured) };
}

async function answer(client, body, isStream) {
  if (!isStream) return { message: await client.messages.create(body), pieces: 1 };
  let pieces = 0;
  if (isHelper) {
    const stream = client.messages.stream(body);
    stream.on('text', () => (pieces += 1));
    return { message: await stream.finalMessage(), pieces };
  }
  const message = { content: [], usage: {} };
  const inputs = new Map();
  for await (const event of await client.messages.create({ ...body, stream: true })) {
    if (event.type === 'content_block_start') message.content[event.index] = { ...event.content_block };
    if (event.type === 'message_delta') message.usage = event.usage;
    if (event.type !== 'content_block_delta') continue;
    const block = message.content[event.index];
    const { delta } = event;
    if (delta.type === 'text_delta') {
      block.text += delta.text;
      pieces += 1;
    }
    if (delta.type === 'thinking_delta') block.thinking += delta.thinking;
    if (delta.type === 'signature_delta') block.signature = delta.signature;
    if (delta.type === 'input_json_delta') inputs.set(block, (inputs.get(block) ?? '') + delta.partial_json);
  }
  for (const [block, text] of inputs) block.input = JSON.parse(text || '{}');
  return { message, pieces };
}

function seen({ message: { content, usage }, pieces }) {
  const textOf = (name) => content.filter(({ type }) => type === name).map((block) => block[name]).join('');
  return { text: textOf('text'), pieces, thinking: textOf('thinking'), usage: { input: usage.input_tokens, output: usage.output_tokens } };
}

serve({
  async ask(order) {
    return seen(await answer(clientOf(order), bodyOf(order), order.isStream));
  },
  async loop(order) {
    const body = { ...bodyOf(order), tools };
    const calls = [];
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const answered = await answer(clientOf(order), body, order.isStream);
      const asked = answered.message.content.filter(({ type }) => type === 'tool_use');
      if (asked.length === 0) return { ...seen(answered), calls };
      body.messages.push({ role: 'assistant', content: answered.message.content });
      calls.push(...asked.map(({ name, input }) => ({ name, arguments: input })));
      body.messages.push({ role: 'user', content: asked.map(({ id, name }) => ({ type: 'tool_result', tool_use_id: id, content: result(name) })) });
    }
    return { text: '', calls };
  },
  async cancel(order) {
    if (isHelper) {
      const stream = clientOf(order).messages.stream(bodyOf(order));
      await new Promise((resolve) => stream.once('text', resolve));
      stream.abort();
      await stream.done().catch(() => undefined);
    } else {
      const stream = await clientOf(order).messages.create({ ...bodyOf(order), stream: true });
      for await (const event of stream) if (event.type === 'content_block_delta') break;
    }
    return { text: '' };
  },
});
