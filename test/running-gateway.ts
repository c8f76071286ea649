/** A real gateway in front of the sandbox, on loopback, closed after the test. */

import { Agent, request as sendRequest } from 'node:http';
import { Readable } from 'node:stream';
import { createApp } from '../src/app.ts';
import type { App, AppSurroundings } from '../src/app.ts';
import { createLog } from '../src/base/log.ts';
import { loadConfig } from '../src/config/config.ts';
import { PLAIN_TARGET } from '../src/core/route.ts';
import type { CallerRules, Route, Target } from '../src/core/route.ts';
import { compatRow, PROVIDER_ROWS } from '../src/providers/index.ts';
import { startSandbox } from '../src/sandbox/index.ts';
import type { Sandbox } from '../src/sandbox/index.ts';

export const TOKEN = 'a-caller-token-for-tests';
const ROUTING_FILE = '/routing.json';
export const PROVIDER_KEY = 'sk-provider-key-canary-0123456789';

export type RunningGateway = {
  readonly url: string;
  readonly app: App;
  readonly sandbox: Sandbox;
  /** Log lines so far, parsed. */
  readonly logLines: readonly Readonly<Record<string, unknown>>[];
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  chat(body: object): Promise<{ status: number; body: ReplyBody }>;
  stream(body: object): Promise<Frame[]>;
};

export type Part = {
  readonly type: string;
  readonly text?: string;
  readonly id?: string;
  readonly name?: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
  readonly provider_state?: string;
};
export type Message = { readonly role: string; readonly text?: string; readonly content?: readonly unknown[] };
export type ReplyBody = {
  readonly id?: string;
  readonly provider?: string;
  readonly model?: string;
  readonly text?: string;
  readonly thinking?: string;
  readonly message: { readonly role: string; readonly content: readonly Part[] };
  readonly stop_reason?: string;
  readonly tool_calls?: readonly Part[];
  readonly usage?: Readonly<Record<string, number>>;
  readonly raw?: unknown;
  readonly kind?: string;
  readonly error?: string;
};
export type Frame = Partial<ReplyBody> & { readonly type: string; readonly tool_call?: Part };

/** Over what every gateway here calls its provider where a test does not say: `GATEWAY_TRANSPORT=http make test ONLY='faults|streams'`. */
const { GATEWAY_TRANSPORT = 'wire' } = process.env;

/** Environment that points every provider of the sandbox at it. */
export function sandboxEnvironment(sandbox: Sandbox): Record<string, string> {
  return {
    GATEWAY_ADDR: '127.0.0.1:0',
    GATEWAY_TRANSPORT,
    GATEWAY_AUTH_TOKEN: TOKEN,
    GATEWAY_DRAIN_DELAY: '0',
    GATEWAY_RETRY_BASE_DELAY: '1ms',
    GATEWAY_RETRY_MAX_DELAY: '5ms',
    GATEWAY_LOG_LEVEL: 'debug',
    ANTHROPIC_API_KEY: PROVIDER_KEY,
    ANTHROPIC_BASE_URL: sandbox.baseUrls.anthropic,
    OPENAI_API_KEY: PROVIDER_KEY,
    OPENAI_BASE_URL: sandbox.baseUrls.openai,
    GEMINI_API_KEY: PROVIDER_KEY,
    GEMINI_BASE_URL: sandbox.baseUrls.gemini,
    GATEWAY_COMPAT_BASE_URL: sandbox.baseUrls.compat,
  };
}

/** A route over these targets, each as `provider/model` or with what else is said of it. */
export function routeOf(name: string, ...targets: readonly (string | (Partial<Target> & Pick<Target, 'provider' | 'model'>))[]): Route {
  const targetOf = (text: string): Target => {
    const [provider = '', ...model] = text.split('/');
    return { ...PLAIN_TARGET, provider, model: model.join('/') };
  };
  return { name, targets: targets.map((target) => (typeof target === 'string' ? targetOf(target) : { ...PLAIN_TARGET, ...target })), isSpread: false, hedgeAfterMs: undefined };
}

/** Routes, and callers' rules by label. */
type Ruled = { readonly routes?: readonly Route[]; readonly callers?: Readonly<Record<string, CallerRules>>; readonly routingFile?: (sandbox: Sandbox) => object };

/** Starts sandbox and gateway; `environment` adds to or replaces the settings above, `surroundings` what the app is given besides. */
export async function startGateway(
  t: { after(close: () => Promise<void>): void },
  environment: Record<string, string> | ((sandbox: Sandbox) => Record<string, string>) = {},
  { routes = [], callers = {}, routingFile, ...surroundings }: Partial<AppSurroundings> & Ruled = {},
): Promise<RunningGateway> {
  const sandbox = await startSandbox(surroundings.clock === undefined ? {} : { now: surroundings.clock.wall });
  const own = typeof environment === 'function' ? environment(sandbox) : environment;
  const readFile = (path: string): string => {
    if (routingFile === undefined || path !== ROUTING_FILE) throw new Error('no files in this test');
    return JSON.stringify(routingFile(sandbox));
  };
  const loaded = loadConfig({ ...sandboxEnvironment(sandbox), ...(routingFile && { GATEWAY_ROUTING_FILE: ROUTING_FILE }), ...own }, PROVIDER_ROWS, compatRow, readFile);
  if (loaded.config === undefined) throw new Error(loaded.problems.join('\n'));
  const routing = { ...loaded.config.routing, routes: new Map(routes.map((route) => [route.name, route])), callers: new Map(Object.entries(callers)) };
  const config = routes.length + Object.keys(callers).length === 0 ? loaded.config : { ...loaded.config, routing };
  const logLines: Record<string, unknown>[] = [];
  const log = createLog({
    level: loaded.config.logLevel,
    format: 'json',
    write: (line) => void logLines.push(JSON.parse(line) as Record<string, unknown>),
  });
  // The process is the test's and the sandbox's too, and a busy machine holds all three up.
  const app = createApp(config, {
    log, version: 'test', fetch: undefined, readFile, logLinesDropped: () => 0, metricsPageMs: 0, watchesLoad: false, ...surroundings,
  });
  const url = await app.listen();
  const agent = new Agent({ keepAlive: true });
  t.after(async () => {
    agent.destroy();
    app.close();
    await sandbox.close();
  });
  return {
    url,
    app,
    sandbox,
    get logLines() {
      // Before metrics are read, everything that is over is logged.
      app.snapshot();
      return logLines;
    },
    post: (path, body, headers) => ask(agent, 'POST', url + path, headers, typeof body === 'string' ? body : JSON.stringify(body)),
    get: (path, headers) => ask(agent, 'GET', url + path, headers),
    async chat(body) {
      const answer = await ask(agent, 'POST', `${url}/v1/chat`, {}, JSON.stringify(body));
      return { status: answer.status, body: (await answer.json()) as ReplyBody };
    },
    async stream(body) {
      const answer = await ask(agent, 'POST', `${url}/v1/chat/stream`, {}, JSON.stringify(body));
      const text = await answer.text();
      if (answer.status !== 200) throw new Error(`${answer.status} ${text}`);
      return framesOf(text);
    },
  };
}

/** As fetch does it, by node:http: below the test runner's hooks a fetch costs several times as much, and some tests ask thousands of times. */
function ask(agent: Agent, method: string, url: string, headers: Record<string, string> = {}, body?: string): Promise<Response> {
  return new Promise((resolve, reject) => {
    const request = sendRequest(url, { method, agent, headers: { authorization: `Bearer ${TOKEN}`, ...headers } });
    request.on('error', reject).on('response', (answer) => {
      resolve(new Response(Readable.toWeb(answer), { status: answer.statusCode ?? 0, headers: answer.headers as Record<string, string> }));
    });
    request.end(body);
  });
}

/** The frames of a whole stream's text; comments are skipped, anything else unexpected throws. */
export function framesOf(text: string): Frame[] {
  const records = text.split('\n\n');
  if (records.pop() !== '') throw new Error('the stream does not end with a blank line');
  return records
    .filter((record) => !record.startsWith(':'))
    .map((record) => {
      if (!record.startsWith('data: ') || record.includes('\n')) throw new Error(`not one data line: ${record}`);
      return JSON.parse(record.slice(6)) as Frame;
    });
}

/** Has the sandbox answer the model `held` only once this is called: what is in flight stays so for as long as a test needs it. */
export function holdReplies(sandbox: Sandbox): () => void {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  sandbox.reply('held', async () => {
    await released;
    return 'Held.';
  });
  return release;
}

/** One user message. */
export function user(text: string): Message {
  return { role: 'user', text };
}
