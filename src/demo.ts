/**
 * `make demo`: a gateway in front of the sandbox, shown at work through plain HTTP, as any program would use it.
 *
 * Needs no provider key and no network. Serves on until Ctrl-C; with ONCE=1 it exits after the show.
 */

import { randomBytes } from 'node:crypto';
import { createApp } from './app.ts';
import { LineWriter } from './base/line-writer.ts';
import { createLog } from './base/log.ts';
import { loadConfig } from './config/settings.ts';
import { compatRow, PROVIDER_ROWS } from './providers/index.ts';
import { startSandbox } from './sandbox/sandbox.ts';
import { VERSION } from './version.ts';

/** A pause between pieces, so that a stream can be seen arriving. */
const TOKEN_DELAY_MS = 40;
const ROUNDS_MAX = 5;

const WEATHER_TOOL = {
  name: 'weather',
  description: 'The weather in a city now.',
  parameters: { type: 'object', properties: { city: { type: 'string', enum: ['Lisbon', 'Oslo'] } }, required: ['city'] },
};
const CLOTHES_TOOL = {
  name: 'clothes',
  description: 'What to wear in some weather.',
  parameters: { type: 'object', properties: { weather: { type: 'string', enum: ['rain'] } }, required: ['weather'] },
};

type Call = { readonly id: string; readonly name: string; readonly arguments: unknown; readonly provider_state?: string };
type Message = { readonly role: string; readonly text?: string; readonly content?: readonly unknown[] };
type Reply = { readonly text: string; readonly message: Message; readonly stop_reason: string; readonly tool_calls?: readonly Call[] };
type Frame = { readonly type: string; readonly text?: string; readonly kind?: string; readonly error?: string; readonly usage?: unknown };

await show();

async function show(): Promise<void> {
  const sandbox = await startSandbox({ tokenDelayMs: TOKEN_DELAY_MS });
  const token = `demo-${randomBytes(12).toString('hex')}`;
  const { config, problems } = loadConfig(
    {
      GATEWAY_ADDR: process.env['GATEWAY_ADDR'] ?? '127.0.0.1:8080',
      GATEWAY_AUTH_TOKEN: token,
      GATEWAY_DEFAULT_PROVIDER: 'anthropic',
      GATEWAY_DRAIN_DELAY: '0',
      GATEWAY_LOG_LEVEL: 'error',
      GATEWAY_LOG_FORMAT: 'text',
      GATEWAY_HEARTBEAT_INTERVAL: '5s',
      ANTHROPIC_API_KEY: 'sandbox-key',
      ANTHROPIC_BASE_URL: sandbox.baseUrls.anthropic,
      // Responses, because Chat Completions has no reasoning to carry; the compatible host shows that protocol.
      OPENAI_API: 'responses',
      OPENAI_API_KEY: 'sandbox-key',
      OPENAI_BASE_URL: sandbox.baseUrls.openai,
      GEMINI_API_KEY: 'sandbox-key',
      GEMINI_BASE_URL: sandbox.baseUrls.gemini,
      GATEWAY_COMPAT_BASE_URL: sandbox.baseUrls.compat,
    },
    PROVIDER_ROWS,
    compatRow,
    noFile,
  );
  if (config === undefined) throw new Error(problems.join('\n'));
  const writer = new LineWriter(2);
  const log = createLog({
    level: 'error',
    format: 'text',
    isColoured: process.stderr.isTTY === true,
    write: (line) => writer.write(line),
  });
  const surroundings = { log, version: VERSION, fetch: undefined, logLinesDropped: () => writer.dropped };
  let app = createApp(config, surroundings);
  const address = await app.listen().catch(() => {
    // Somebody else has the usual port: any other will do for a demonstration.
    app = createApp({ ...config, listen: { type: 'tcp', host: '127.0.0.1', port: 0 } }, surroundings);
    return app.listen();
  });
  const client = { address, token };

  say(`A gateway is listening on ${address}, in front of a built-in fake provider at ${sandbox.origin}.`);
  await showChat(client);
  await showStream(client);
  for (const provider of ['anthropic', 'openai', 'gemini', 'compat']) await showToolLoop(client, provider);
  await showFailedStreams(client);

  const stop = async (): Promise<void> => {
    await app.drain();
    await sandbox.close();
  };
  if (process.env['ONCE'] === '1') {
    await stop();
    say('\nAll of it worked.');
    return;
  }
  sayWhatNext(client);
  process.once('SIGINT', () => void stop());
  process.once('SIGTERM', () => void stop());
}

type Client = { readonly address: string; readonly token: string };

function noFile(): string {
  throw new Error('the demonstration reads no files');
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function title(text: string): void {
  say(`\n── ${text} ${'─'.repeat(Math.max(0, 76 - text.length))}`);
}

function post(client: Client, path: string, body: unknown): Promise<Response> {
  return fetch(client.address + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function ask(client: Client, body: unknown): Promise<Reply> {
  const response = await post(client, '/v1/chat', body);
  const text = await response.text();
  if (!response.ok) throw new Error(`the gateway answered ${response.status}: ${text}`);
  return JSON.parse(text) as Reply;
}

async function showChat(client: Client): Promise<void> {
  title('A chat: POST /v1/chat');
  const request = { provider: 'anthropic', model: 'fake-chat', messages: [{ role: 'user', text: 'What is a gateway?' }] };
  say(`→ ${JSON.stringify(request)}`);
  say(`← ${JSON.stringify(await ask(client, request))}`);
}

async function showStream(client: Client): Promise<void> {
  title('A stream: POST /v1/chat/stream');
  const request = { provider: 'openai', model: 'fake-chat', messages: [{ role: 'user', text: 'Stream something.' }] };
  say(`→ ${JSON.stringify(request)}`);
  process.stdout.write('← ');
  let end: Frame | undefined;
  for await (const frame of frames(await post(client, '/v1/chat/stream', request))) {
    if (frame.type === 'text_delta') process.stdout.write(`${frame.text}│`);
    end = frame;
  }
  if (end?.type !== 'done') throw new Error(`the stream ended with ${end?.type}`);
  say(`\n  each │ is the end of one frame; then one "done" frame with usage ${JSON.stringify(end.usage)}`);
}

async function showToolLoop(client: Client, provider: string): Promise<void> {
  title(`A tool loop of two rounds on ${provider}`);
  const messages: Message[] = [{ role: 'user', text: 'What should I wear in Lisbon and Oslo?' }];
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    const reply = await ask(client, { provider, model: 'fake-tool-loop', messages, tools: [WEATHER_TOOL, CLOTHES_TOOL] });
    messages.push(reply.message);
    if (reply.stop_reason !== 'tool_use') {
      say(`  answer   ${reply.text}`);
      return;
    }
    const results = (reply.tool_calls ?? []).map((call) => {
      const content = call.name === 'weather' ? 'rain, 12 degrees' : 'a raincoat';
      const state = reply.message.content?.some((part) => JSON.stringify(part).includes('"provider_state"')) ? '  (reasoning travels along)' : '';
      say(`  round ${round}  ${call.name}(${JSON.stringify(call.arguments)}) = ${content}${state}`);
      return { type: 'tool_result', tool_call_id: call.id, content };
    });
    messages.push({ role: 'tool', content: results });
  }
  throw new Error('the tool loop did not end');
}

async function showFailedStreams(client: Client): Promise<void> {
  title('Streams that fail say so');
  const messages = [{ role: 'user', text: 'This will not end well.' }];
  say('  a provider that is cut off in mid-answer:');
  for await (const frame of frames(await post(client, '/v1/chat/stream', { model: 'fake-truncate', messages }))) {
    say(`  ← ${JSON.stringify(frame)}`);
  }
  say('  a provider that reports a failure before its first token (a status, not a stream):');
  const response = await post(client, '/v1/chat/stream', { model: 'fake-refusal', messages });
  say(`  ← HTTP ${response.status} ${await response.text()}`);
}

/** The frames of an event stream: lines are buffered across chunks, comments skipped. */
async function* frames(response: Response): AsyncGenerator<Frame> {
  if (!response.ok || response.body === null) throw new Error(`the gateway answered ${response.status}: ${await response.text()}`);
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of response.body) {
    const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('data: ')) yield JSON.parse(line.slice(6)) as Frame;
  }
}

function sayWhatNext(client: Client): void {
  title('Your turn');
  say('The gateway keeps serving until Ctrl-C. In another terminal:\n');
  say(`  export GATEWAY=${client.address} TOKEN=${client.token}\n`);
  say(`  curl $GATEWAY/v1/chat -H "Authorization: Bearer $TOKEN" \\`);
  say(`    -d '{"model":"fake-chat","messages":[{"role":"user","text":"Hello"}]}'\n`);
  say(`  curl -N $GATEWAY/v1/chat/stream -H "Authorization: Bearer $TOKEN" \\`);
  say(`    -d '{"provider":"gemini","model":"fake-chat","messages":[{"role":"user","text":"Hello"}]}'\n`);
  say(`  curl $GATEWAY/v1/models -H "Authorization: Bearer $TOKEN"`);
  say(`  curl $GATEWAY/metrics`);
}
