/** The AI SDK, with the adapter that the word behind names. */

import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, isStepCount, jsonSchema, Output, streamText, tool } from 'ai';
import { PNG, result, ROUNDS_MAX, SCHEMAS, serve, TOOL_NAMES } from './serve.mjs';

const ADAPTERS = {
  chat: (baseURL, apiKey) => (model) => createOpenAI({ baseURL, apiKey }).chat(model),
  responses: (baseURL, apiKey) => createOpenAI({ baseURL, apiKey }),
  stored: (baseURL, apiKey) => createOpenAI({ baseURL, apiKey }),
  compatible: (baseURL, apiKey) => createOpenAICompatible({ name: 'gateway', baseURL, apiKey, includeUsage: true, supportsStructuredOutputs: true }),
  anthropic: (baseURL, apiKey) => createAnthropic({ baseURL, apiKey }),
};
const OPTIONS = {
  chat: { openai: { reasoningEffort: 'high' } },
  responses: { openai: { reasoningEffort: 'high', reasoningSummary: 'auto', store: false, include: ['reasoning.encrypted_content'], forceReasoning: true } },
  stored: { openai: { reasoningEffort: 'high', reasoningSummary: 'auto', forceReasoning: true } },
  compatible: { gateway: { reasoningEffort: 'high' } },
  anthropic: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } },
};
const adapter = process.argv[2];

function settingsOf({ url, token, model, isThinking, isStructured, hasImage }, calls = []) {
  const parts = [{ type: 'text', text: 'Hi' }, { type: 'file', mediaType: 'image/png', data: PNG }];
  const tools = TOOL_NAMES.map((name) => {
    const execute = (input) => {
      calls.push({ name, arguments: input });
      return result(name);
    };
    return [name, tool({ description: name, inputSchema: jsonSchema(SCHEMAS[name]), execute })];
  });
  return {
    model: ADAPTERS[adapter](`${url}/v1`, token)(model),
    messages: [{ role: 'user', content: hasImage ? parts : 'Hi' }],
    maxRetries: 0,
    ...(isStructured && { output: Output.object({ schema: jsonSchema(SCHEMAS.weather) }) }),
    // Without them it refers to what it believes to be stored.
    ...((isThinking || adapter === 'responses') && { providerOptions: OPTIONS[adapter] }),
    tools: Object.fromEntries(tools),
    stopWhen: isStepCount(ROUNDS_MAX),
  };
}

async function run(settings, isStream) {
  if (!isStream) {
    const { text, reasoningText, usage } = await generateText(settings);
    return { text, pieces: 1, thinking: reasoningText ?? '', usage: { input: usage.inputTokens, output: usage.outputTokens } };
  }
  const stream = streamText({ ...settings, onError: () => undefined });
  let pieces = 0;
  for await (const part of stream.fullStream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'text-delta') pieces += 1;
  }
  const usage = await stream.usage;
  return { text: await stream.text, pieces, thinking: (await stream.reasoningText) ?? '', usage: { input: usage.inputTokens, output: usage.outputTokens } };
}

serve({
  ask(order) {
    const { tools, ...settings } = settingsOf(order);
    return run(settings, order.isStream);
  },
  async loop(order) {
    const calls = [];
    return { ...(await run(settingsOf(order, calls), order.isStream)), calls };
  },
  async cancel(order) {
    const abort = new AbortController();
    const { tools, ...settings } = settingsOf(order);
    const stream = streamText({ ...settings, abortSignal: abort.signal, onError: () => undefined });
    for await (const part of stream.fullStream) if (part.type === 'text-delta') abort.abort();
    return { text: '' };
  },
});
