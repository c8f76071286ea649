/**
 * `make demo`: a gateway in front of the sandbox, shown at work through plain HTTP, as any program would use it.
 *
 * Needs no provider key and no network. Serves on until Ctrl-C; with ONCE=1 it exits after the show. GATEWAY_AUTH_TOKEN
 * and GATEWAY_ADDR or PORT are read as by the gateway; without them the token is a fresh one and the port 8080 or any.
 */

import { randomBytes } from 'node:crypto';
import { createApp } from './app.ts';
import { LineWriter } from './base/line-writer.ts';
import { createLog } from './base/log.ts';
import { loadConfig } from './config/config.ts';
import { compatRow, PROVIDER_ROWS } from './providers/index.ts';
import { startSandbox } from './sandbox/index.ts';
import type { Sandbox } from './sandbox/index.ts';
import { VERSION } from './version.ts';

/** A pause between pieces, so that a stream can be seen arriving. */
const TOKEN_DELAY_MS = 40;
const ROUNDS_MAX = 5;
/** Between requests while a target is out, and most of them: three times as long as it may be out. */
const PROBE_PAUSE_MS = 250;
const PROBES_MAX = 72;
/** Of a terminal as it opens on most machines. */
const COLUMNS = 80;

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

const PROVIDERS = ['anthropic', 'openai', 'gemini', 'compat'];
const FIRST = 'anthropic/fake-first';
const ROUTES = `smart=${FIRST},openai/fake-second`;
const ROUTED = { model: 'smart', messages: [{ role: 'user', text: 'Hello?' }] };
const FORECAST = {
  type: 'json',
  schema: {
    type: 'object',
    properties: { sky: { type: 'string', enum: ['clear', 'grey'] }, degrees: { type: 'integer' } },
    required: ['sky', 'degrees'],
    additionalProperties: false,
  },
};

type Call = { readonly id: string; readonly name: string; readonly arguments: unknown; readonly provider_state?: string };
type Message = { readonly role: string; readonly text?: string; readonly content?: readonly unknown[] };
type Reply = { readonly text: string; readonly message: Message; readonly stop_reason: string; readonly tool_calls?: readonly Call[] };
type Frame = {
  readonly type: string;
  readonly text?: string;
  readonly kind?: string;
  readonly error?: string;
  readonly usage?: Readonly<Record<string, number>>;
};

await show();

async function show(): Promise<void> {
  const sandbox = await startSandbox({ tokenDelayMs: TOKEN_DELAY_MS });
  const { GATEWAY_ADDR, PORT, GATEWAY_AUTH_TOKEN, ONCE } = process.env;
  const token = GATEWAY_AUTH_TOKEN ?? `demo-${randomBytes(12).toString('hex')}`;
  const { config, problems } = loadConfig(
    {
      GATEWAY_ADDR: GATEWAY_ADDR ?? `127.0.0.1:${PORT ?? 8080}`,
      GATEWAY_AUTH_TOKEN: token,
      GATEWAY_DEFAULT_PROVIDER: 'anthropic',
      GATEWAY_ALLOWED_ORIGINS: process.env['GATEWAY_ALLOWED_ORIGINS'],
      GATEWAY_DRAIN_DELAY: '0',
      GATEWAY_LOG_LEVEL: 'error',
      GATEWAY_LOG_FORMAT: 'text',
      GATEWAY_HEARTBEAT_INTERVAL: '5s',
      GATEWAY_ROUTES: ROUTES,
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
  if (config === undefined) {
    process.stderr.write(`${problems.join('\n')}\n`);
    process.exitCode = 1;
    await sandbox.close();
    return;
  }
  const writer = new LineWriter(2);
  const log = createLog({
    level: 'error',
    format: 'text',
    isColoured: process.stderr.isTTY === true,
    write: (line) => writer.write(line),
  });
  const surroundings = { log, version: VERSION, fetch: undefined, readFile: () => '', logLinesDropped: () => writer.dropped };
  let app = createApp(config, surroundings);
  const address = await app.listen().catch((error: unknown) => {
    if (GATEWAY_ADDR !== undefined || PORT !== undefined) throw error;
    // Somebody else has the usual port: any other will do for a demonstration.
    app = createApp({ ...config, listen: { type: 'tcp', host: '127.0.0.1', port: 0 } }, surroundings);
    return app.listen();
  });
  const client = { address, token };

  say(`A gateway is listening on ${address},`);
  say(`in front of a built-in fake provider at ${sandbox.url}.`);
  await showChat(client);
  await showStream(client);
  await showToolLoops(client);
  await showOutputs(client);
  await showSdks(client);
  await showCutStream(client, sandbox.baseUrls.openai);
  await showRefusal(client);
  await showRoute(client, sandbox);

  const stop = async (): Promise<void> => {
    await app.drain();
    await sandbox.close();
    await writer.flush();
  };
  if (ONCE === '1') {
    await stop();
    say('\nAll of it worked.');
    return;
  }
  sayWhatNext(client);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      // Over the ^C that the terminal shows.
      say('\rStopped. Goodbye.');
      void stop();
    });
  }
}

type Client = { readonly address: string; readonly token: string };

function noFile(): string {
  throw new Error('the demonstration reads no files');
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Text below `mark`, its lines broken between words. */
function sayBelow(mark: string, text: string): void {
  const indent = ' '.repeat(mark.length);
  let line = mark;
  for (const word of text.split(' ')) {
    if (line.length + word.length > COLUMNS && line.trim() !== mark.trim()) {
      say(line.trimEnd());
      line = indent;
    }
    line += `${word} `;
  }
  say(line.trimEnd());
}

/** JSON that can be broken between its fields; of an opaque string its beginning. */
function sayJson(mark: string, value: unknown): void {
  const json = JSON.stringify(value).replaceAll(/("|\]|\}|\d|null),(?=["{[])/g, '$1, ');
  sayBelow(mark, json.replaceAll(/[^\s"]{60,}/g, (opaque) => `${opaque.slice(0, 40)}…`));
}

function title(text: string): void {
  say(`\n── ${text} ${'─'.repeat(Math.max(0, COLUMNS - 4 - text.length))}`);
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
  sayJson('→ ', request);
  sayJson('← ', await ask(client, request));
}

async function showStream(client: Client): Promise<void> {
  title('A stream: POST /v1/chat/stream');
  const request = { provider: 'openai', model: 'fake-chat', messages: [{ role: 'user', text: 'Stream something.' }] };
  sayJson('→ ', request);
  process.stdout.write('← ');
  let column = 2;
  let end: Frame | undefined;
  for await (const frame of frames(await post(client, '/v1/chat/stream', request))) {
    const shown = frame.type === 'text_delta' ? `${frame.text}│` : '';
    // A piece ends with its word's space; the next goes to a new line where it would not fit.
    process.stdout.write(column + shown.length > COLUMNS ? `\n  ${shown}` : shown);
    column = column + shown.length > COLUMNS ? 2 + shown.length : column + shown.length;
    end = frame;
  }
  if (end?.type !== 'done') throw new Error(`the stream ended with ${end?.type}`);
  say('\n  Each │ ends an event. The last one says "done", with the whole message and:');
  sayJson('  ', end.usage);
}

/** The same loop everywhere; what a provider wants back travels in the message, unseen. */
async function showToolLoops(client: Client): Promise<void> {
  title('A tool loop, the same on four providers');
  for (const provider of PROVIDERS) await showToolLoop(client, provider);
}

async function showToolLoop(client: Client, provider: string): Promise<void> {
  say(`  ${provider}`);
  const messages: Message[] = [{ role: 'user', text: 'What should I wear in Lisbon and Oslo?' }];
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    const reply = await ask(client, { provider, model: 'fake-tool-loop', messages, tools: [WEATHER_TOOL, CLOTHES_TOOL] });
    messages.push(reply.message);
    if (reply.stop_reason !== 'tool_use') {
      sayBelow('    answer   ', reply.text);
      return;
    }
    const results = (reply.tool_calls ?? []).map((call) => {
      const content = call.name === 'weather' ? 'rain, 12 degrees' : 'a raincoat';
      const hasState = reply.message.content?.some((part) => JSON.stringify(part).includes('"provider_state"'));
      say(`    round ${round}  ${call.name}(${JSON.stringify(call.arguments)}) = ${content}${hasState ? ' (+ reasoning)' : ''}`);
      return { type: 'tool_result', tool_call_id: call.id, content };
    });
    messages.push({ role: 'tool', content: results });
  }
  throw new Error('the tool loop did not end');
}

/** A schema that all of them enforce, each asked in its own words. */
async function showOutputs(client: Client): Promise<void> {
  title('An answer that fits a schema, from the same four');
  const messages = [{ role: 'user', text: 'Lisbon tomorrow?' }];
  sayJson('→ ', { messages, output: FORECAST });
  for (const provider of PROVIDERS) {
    const { text } = await ask(client, { provider, model: 'fake-chat', messages, output: FORECAST });
    say(`  ${provider.padEnd(11)}${text}`);
  }
}

/** The same chat as the SDKs of two vendors send it, each answered by the other vendor. */
async function showSdks(client: Client): Promise<void> {
  title("Two vendors' SDKs, each answered by the other vendor");
  const messages = [{ role: 'user', content: 'Who are you?' }];
  await showSdk(client, "OpenAI's SDK", '/v1/chat/completions', { model: 'anthropic/fake-chat', messages });
  await showSdk(client, "Anthropic's SDK", '/v1/messages', { model: 'openai/fake-chat', max_tokens: 100, messages });
}

async function showSdk(client: Client, sdk: string, path: string, request: object): Promise<void> {
  say(`  ${sdk}: POST ${path}`);
  sayJson('  → ', request);
  const response = await post(client, path, request);
  const reply: unknown = await response.json();
  if (!response.ok) throw new Error(`the gateway answered ${response.status}: ${JSON.stringify(reply)}`);
  sayJson('  ← ', reply);
  say(`    Served by ${response.headers.get('x-gateway-target')}`);
}

/** A provider that is cut off in mid-answer, as a program sees it that asks it directly, and as the gateway tells it. */
async function showCutStream(client: Client, providerUrl: string): Promise<void> {
  title('A stream that the provider cuts off');
  const messages = [{ role: 'user', text: 'This will not end well.' }];
  const chat = { model: 'fake-truncate', messages: [{ role: 'user', content: messages[0]?.text }], stream: true };
  const response = await fetch(`${providerUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer sandbox-key', 'content-type': 'application/json' },
    body: JSON.stringify(chat),
  });
  const pieces = [...(await response.text()).matchAll(/"content":"([^"]*)"/g)].map(([, piece]) => piece);
  say('  Asked directly, and read to the end of the body as simple clients do:');
  sayBelow('  ← ', `"${pieces.join('')}"`);
  say('    No error. Half an answer has been taken for a whole one.');
  say('  Through the gateway:');
  for await (const frame of frames(await post(client, '/v1/chat/stream', { provider: 'openai', model: 'fake-truncate', messages }))) sayJson('  ← ', frame);
}

async function showRefusal(client: Client): Promise<void> {
  title('A failure before the first event is a status, not a stream');
  const response = await post(client, '/v1/chat/stream', { model: 'fake-refusal', messages: [{ role: 'user', text: 'No?' }] });
  say(`← HTTP ${response.status}`);
  sayJson('  ', await response.json());
}

/** An outage as the callers of a route see it: in the headers. */
async function showRoute(client: Client, sandbox: Sandbox): Promise<void> {
  title('A route: its first target fails, the second answers');
  let isDown = true;
  sandbox.reply('fake-first', () => (isDown ? { status: 503 } : undefined));
  say(`  GATEWAY_ROUTES=${ROUTES}`);
  sayJson('→ ', ROUTED);
  for (let request = 1; request <= 9; request += 1) say(`← ${request}: ${await askRoute(client)}`);
  say('  It failed eight times in a row, so it is out: no request waits for it now.');
  say('  Now it works again. After a few seconds one request is sent to it as a probe:');
  isDown = false;
  for (let probes = 0; probes < PROBES_MAX; probes += 1) {
    const served = await askRoute(client);
    if (served === `target ${FIRST}`) return say(`← then: ${served}`);
    await new Promise((resolve) => setTimeout(resolve, PROBE_PAUSE_MS));
  }
  throw new Error('the first target did not come back');
}

/** Who served, and for whom, in the words of the answer's headers. */
async function askRoute(client: Client): Promise<string> {
  const response = await post(client, '/v1/chat', ROUTED);
  if (!response.ok) throw new Error(`the gateway answered ${response.status}: ${await response.text()}`);
  await response.text();
  const values = ['target', 'attempts', 'fallback'].map((name) => [name, response.headers.get(`x-gateway-${name}`)]);
  return values.filter(([, value]) => value !== null).map((pair) => pair.join(' ')).join(', ');
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
  say(`  export GATEWAY=${client.address}`);
  say(`  export TOKEN=${client.token}\n`);
  const curl = (path: string, provider: string): void => {
    say(`  curl -N $GATEWAY${path} -H "Authorization: Bearer $TOKEN" \\`);
    say(`    -d '{"provider": "${provider}", "model": "fake-chat",`);
    say(`         "messages": [{"role": "user", "text": "Hello"}]}'\n`);
  };
  curl('/v1/chat', 'anthropic');
  curl('/v1/chat/stream', 'gemini');
  say('  curl $GATEWAY/v1/models -H "Authorization: Bearer $TOKEN"');
  say('  curl $GATEWAY/metrics\n');
  say('  SDKs: OPENAI_BASE_URL=$GATEWAY/v1 OPENAI_API_KEY=$TOKEN, or');
  say('        ANTHROPIC_BASE_URL=$GATEWAY ANTHROPIC_AUTH_TOKEN=$TOKEN\n');
  say('  Other models misbehave: fake-truncate, fake-status-503, fake-stall-mid …');
  say('  src/sandbox/README.md lists them.');
}
