/** openai, Responses. The word behind says which way of streaming: the events themselves, or the package's helper. */

import OpenAI from 'openai';
import { PNG, result, ROUNDS_MAX, SCHEMAS, serve, TOOL_NAMES } from './serve.mjs';

const isHelper = process.argv[2] === 'helper';
const tools = TOOL_NAMES.map((name) => ({ type: 'function', name, description: name, parameters: SCHEMAS[name], strict: true }));

function clientOf({ url, token }) {
  return new OpenAI({ apiKey: token, baseURL: `${url}/v1` });
}

function bodyOf({ model, isThinking, isStructured, hasImage }) {
  const structured = { text: { format: { type: 'json_schema', name: 'place', strict: true, schema: SCHEMAS.weather } } };
  const image = { type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'auto' };
  const content = hasImage ? [{ type: 'input_text', text: 'Hi' }, image] : 'Hi';
  const thinking = { reasoning: { effort: 'high', summary: 'auto' } };
  return { model, input: [{ role: 'user', content }], store: false, include: ['reasoning.encrypted_content'], ...(isThinking && thinking), ...(isStructured && structured) };
}

async function answer(client, body, isStream) {
  if (!isStream) return { response: await client.responses.create(body), pieces: 1 };
  let pieces = 0;
  if (isHelper) {
    const stream = client.responses.stream(body);
    stream.on('response.output_text.delta', () => (pieces += 1));
    return { response: await stream.finalResponse(), pieces };
  }
  let response;
  for await (const event of await client.responses.create({ ...body, stream: true })) {
    if (event.type === 'response.output_text.delta') pieces += 1;
    if (event.type === 'response.completed') response = event.response;
  }
  if (response === undefined) return { response: { output: [] }, pieces };
  return { response, pieces };
}

/** The helper adds what it parsed, which is no field of the API. */
function withoutParsed(item) {
  const { parsed_arguments: _arguments, ...rest } = item;
  return item.type === 'message' ? { ...rest, content: item.content.map(({ parsed: _parsed, ...part }) => part) } : rest;
}

function seen({ response: { output, usage }, pieces }) {
  const textOf = (type, list) => output.filter((item) => item.type === type).flatMap((item) => item[list] ?? []).map(({ text }) => text ?? '').join('');
  return {
    text: textOf('message', 'content'),
    pieces,
    thinking: textOf('reasoning', 'summary'),
    usage: { input: usage?.input_tokens, output: usage?.output_tokens },
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
      const asked = answered.response.output.filter(({ type }) => type === 'function_call');
      if (asked.length === 0) return { ...seen(answered), calls };
      body.input.push(...answered.response.output.map(withoutParsed));
      for (const call of asked) {
        calls.push({ name: call.name, arguments: JSON.parse(call.arguments) });
        body.input.push({ type: 'function_call_output', call_id: call.call_id, output: result(call.name) });
      }
    }
    return { text: '', calls };
  },
  async cancel(order) {
    if (isHelper) {
      const stream = clientOf(order).responses.stream(bodyOf(order));
      await new Promise((resolve) => stream.once('response.output_text.delta', resolve));
      stream.abort();
      await stream.done().catch(() => undefined);
    } else {
      const stream = await clientOf(order).responses.create({ ...bodyOf(order), stream: true });
      for await (const event of stream) if (event.type === 'response.output_text.delta') break;
    }
    return { text: '' };
  },
});
