/** @openai/codex, without a screen. It always streams. */

import { fileURLToPath } from 'node:url';
import { AgentError, runAgent } from './agent.mjs';
import { serve } from './serve.mjs';

function wordsOf({ url, model, isStructured }) {
  const provider = `{name="gateway",base_url="${url}/v1",wire_api="responses",env_key="GATEWAY_TOKEN",request_max_retries=0,stream_max_retries=0}`;
  const settings = ['model_provider="gateway"', `model_providers.gateway=${provider}`, 'web_search="disabled"'];
  const structured = isStructured ? ['--output-schema', fileURLToPath(new URL('place.json', import.meta.url))] : [];
  return ['exec', '--json', '--skip-git-repo-check', '-m', model, ...structured, ...settings.flatMap((setting) => ['-c', setting]), 'Hi'];
}

async function run(order) {
  let text = '';
  let usage;
  let failure;
  const calls = [];
  const complaints = await runAgent('codex', wordsOf(order), { GATEWAY_TOKEN: order.token }, (line) => {
    if (line.type === 'item.completed' && line.item.type === 'agent_message') text = line.item.text;
    if (line.type === 'item.completed' && line.item.type === 'command_execution') calls.push({ name: 'command', arguments: line.item.command });
    if (line.type === 'turn.completed') usage = line.usage;
    if (line.type === 'turn.failed') failure = line.error.message;
  });
  if (failure !== undefined) throw new AgentError(failure);
  if (usage === undefined) throw new AgentError(complaints);
  return { text, calls, usage: { input: usage.input_tokens, output: usage.output_tokens } };
}

serve({ ask: run, loop: run });
