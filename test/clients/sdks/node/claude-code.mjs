/** @anthropic-ai/claude-code, without a screen. It always streams. */

import { AgentError, runAgent } from './agent.mjs';
import { serve } from './serve.mjs';

function wordsOf(model) {
  return ['-p', 'Hi', '--model', model, '--output-format', 'stream-json', '--verbose', '--include-partial-messages', '--tools', 'Glob,Read', '--allowedTools', 'Glob,Read'];
}

function variablesOf({ url, token, model }) {
  return {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_AUTH_TOKEN: token,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    CLAUDE_CODE_MAX_RETRIES: '0',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    IS_SANDBOX: '1',
  };
}

/** Its prompts are cached, and that is counted apart. */
function inputOf({ input_tokens: fresh, cache_read_input_tokens: read, cache_creation_input_tokens: written }) {
  return fresh + (read ?? 0) + (written ?? 0);
}

async function run(order) {
  let last;
  let pieces = 0;
  const calls = [];
  const complaints = await runAgent('claude', wordsOf(order.model), variablesOf(order), (line) => {
    if (line.type === 'result') last = line;
    if (line.type === 'stream_event' && line.event.delta?.type === 'text_delta') pieces += 1;
    if (line.type !== 'assistant') return;
    for (const block of line.message.content) if (block.type === 'tool_use') calls.push({ name: block.name, arguments: block.input });
  });
  if (last === undefined) throw new AgentError(complaints);
  if (last.is_error) throw new AgentError(last.result);
  return { text: last.result, pieces, calls, usage: { input: inputOf(last.usage), output: last.usage.output_tokens } };
}

serve({
  ask: run,
  loop: run,
  async cancel(order) {
    await runAgent('claude', wordsOf(order.model), variablesOf(order), (line, end) => {
      if (line.type === 'stream_event' && line.event.delta?.type === 'text_delta') end();
    });
    return { text: '' };
  },
});
