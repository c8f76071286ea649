/** openai, Chat Completions. The word behind says which way of streaming: by hand, or by the package's helper. */

import OpenAI from 'openai';
import { PNG, result, ROUNDS_MAX, SCHEMAS, serve, TOOL_NAMES } from './serve.mjs';

const isHelper = process.argv[2] === 'helper';
const tools = TOOL_NAMES.map((name) => ({ type: 'function', function: { name, description: name, parameters: SCHEMAS[name] } }));

function clientOf({ url, token }) {
  return new OpenAI({ apiKey: token, baseURL: `${url}/v1` });
}

function bodyOf({ model, isThinking, isStructured, hasImage }) {
  const structured = { response_format: { type: 'json_schema', json_schema: { name: 'place', strict: true, schema: SCHEMAS.weather } } };
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } };
  const content = hasImage ? [{ type: 'text', text: 'Hi' }, image] : 'Hi';
  return { model, messages: [{ role: 'user', content }], ...(isThinking && { reasoning_effort: 'high' }), ...(isStructured && structured) };
}

/** One answer: its message as it goes back, and what was seen. */
async function answer(client, body, isStream) {
  if (!isStream) {
    const { choices, usage } = await client.chat.completions.create(body);
    return { message: choices[0].message, usage, pieces: 1 };
  }
  const streamed = { ...body, stream_options: { include_usage: true } };
  if (isHelper) {
    const stream = client.chat.completions.stream(streamed);
    let pieces = 0;
    stream.on('content', () => (pieces += 1));
    const { choices, usage } = await stream.finalChatCompletion();
    return { message: choices[0].message, usage, pieces };
  }
  const message = { role: 'assistant', content: '' };
  let usage;
  let pieces = 0;
  for await (const chunk of await client.chat.completions.create({ ...streamed, stream: true })) {
    usage = chunk.usage ?? usage;
    const delta = chunk.choices[0]?.delta;
    if (delta?.content) {
      message.content += delta.content;
      pieces += 1;
    }
    if (delta?.reasoning_content) message.thinking = (message.thinking ?? '') + delta.reasoning_content;
    for (const { index, id, function: part } of delta?.tool_calls ?? []) {
      message.tool_calls ??= [];
      const call = (message.tool_calls[index] ??= { id, type: 'function', function: { name: '', arguments: '' } });
      call.function.name += part.name ?? '';
      call.function.arguments += part.arguments ?? '';
    }
  }
  return { message, usage, pieces };
}

function seen({ message, usage, pieces }) {
  return {
    text: message.content ?? '',
    pieces,
    thinking: message.reasoning_content ?? message.thinking ?? '',
    usage: { input: usage?.prompt_tokens, output: usage?.completion_tokens },
  };
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
      const { thinking, ...message } = answered.message;
      if (!message.tool_calls?.length) return { ...seen(answered), calls };
      body.messages.push(message);
      for (const call of message.tool_calls) {
        calls.push({ name: call.function.name, arguments: JSON.parse(call.function.arguments) });
        body.messages.push({ role: 'tool', tool_call_id: call.id, content: result(call.function.name) });
      }
    }
    return { text: '', calls };
  },
  async cancel(order) {
    if (isHelper) {
      const stream = clientOf(order).chat.completions.stream(bodyOf(order));
      await new Promise((resolve) => stream.once('content', resolve));
      stream.abort();
      await stream.done().catch(() => undefined);
    } else {
      const stream = await clientOf(order).chat.completions.create({ ...bodyOf(order), stream: true });
      for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    }
    return { text: '' };
  },
});
