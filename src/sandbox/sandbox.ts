/**
 * A fake provider on the loopback: Anthropic Messages, OpenAI Chat Completions and Responses, Gemini generateContent, and a
 * compatible dialect of the second, as strict as the real ones and failing on demand.
 *
 * It stands behind the demonstration, the tests and rehearsals of failures. The model's name says what happens: `MODELS`
 * lists the well-behaved, `FAULTS` the others; a test writes its own by `reply`. Of earlier requests it remembers what the
 * providers do, prompts that were cached and responses that were stored, and it knows nothing of the gateway.
 */
/// <reference lib="esnext.disposable" preserve="true" />

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { keep } from '../base/keep.ts';
import { ANTHROPIC } from './anthropic/protocol.ts';
import { PromptCache } from './cache.ts';
import { recordCall } from './calls.ts';
import type { Call, ProtocolName, RecordedCall } from './calls.ts';
import type { CloudIdentity } from './cloud-identity.ts';
import { askEndpoint } from './clouds/endpoints.ts';
import { Ledger } from './clouds/ledger.ts';
import { cloudRowOf } from './clouds/rows.ts';
import { control } from './control.ts';
import { FAULTS } from './faults.ts';
import type { Fault } from './faults.ts';
import { GEMINI } from './gemini/protocol.ts';
import { COMPATIBLE, OPENAI } from './openai-chat/protocol.ts';
import { RESPONSES } from './openai-responses/protocol.ts';
import { Complaint, decodedPath, digest, jsonReply } from './protocol.ts';
import type { Ask, Incoming, Memory, Protocol, Reply } from './protocol.ts';
import { Replies } from './replies.ts';
import type { Order } from './replies.ts';
import { matchName, writeScript } from './script.ts';
import type { ReplyFunction, ScriptedReply } from './scripted-reply.ts';
import { Wire, sendReply } from './wire.ts';

export type SandboxSettings = {
  /** 0, the default, takes a free port. */
  readonly port?: number;
  readonly host?: string;
  /** The only key accepted; without it any key is. */
  readonly key?: string;
  /** Pause before each piece of streamed text; 0 by default. */
  readonly tokenDelayMs?: number;
  /** What its clouds take for the time, in milliseconds since 1970; this machine's clock by default. */
  readonly now?: () => number;
};

/** A running sandbox. */
export type Sandbox = {
  /** Its origin, without a path. */
  readonly url: string;
  /** What to set as each provider's base URL. */
  readonly baseUrls: { readonly anthropic: string; readonly openai: string; readonly gemini: string; readonly compat: string };
  /** Variables that point the vendors' SDKs at it, and a gateway. */
  readonly environment: Readonly<Record<string, string>>;
  /** The last 200 requests, oldest first; fewer where their bodies are more than 64 MiB together. */
  readonly calls: readonly RecordedCall[];
  /** Who a gateway is to its clouds: what it gets tokens and keys by. */
  readonly clouds: CloudIdentity;
  /**
   * Writes what a model answers: each request gets the next reply, and the last goes on; without any the model answers by its
   * name again. `*` is any model without replies of its own. Requests that the provider would refuse are refused all the same.
   * Throws a TypeError for what is no reply.
   */
  reply(model: string, ...replies: readonly (ScriptedReply | ReplyFunction<RecordedCall>)[]): void;
  /** Forgets replies, calls, what was cached and how often anything failed. */
  reset(): void;
  openConnections(): number;
  /** Cuts every connection and stops listening. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};

const PROTOCOLS: readonly { readonly prefix: string; readonly name: ProtocolName; readonly protocol: Protocol }[] = [
  { prefix: '/anthropic', name: 'anthropic', protocol: ANTHROPIC },
  { prefix: '/openai/v1/responses', name: 'openai-responses', protocol: RESPONSES },
  { prefix: '/openai/v1', name: 'openai-chat', protocol: OPENAI },
  { prefix: '/gemini', name: 'gemini', protocol: GEMINI },
  { prefix: '/compat/v1', name: 'compat', protocol: COMPATIBLE },
];

/** Most often a base URL lacks its end. */
const NO_SUCH_PATH = jsonReply(404, '{"error":"no such path; base URLs end in /anthropic, /openai/v1, /gemini or /compat/v1, those of clouds as theirs do"}');
/** As much as the strictest of the real ones takes. */
const BODY_BYTES_MAX = 32 * 1024 * 1024;
/** How many flaky conversations are told apart; the oldest is forgotten. */
const FLAKY_MAX = 1000;

type State = Pick<Sandbox, 'reply' | 'reset'> & {
  readonly key: string | undefined;
  readonly tokenDelayMs: number;
  readonly calls: Call[];
  readonly replies: Replies<RecordedCall>;
  readonly flakyCounts: Map<string, number>;
  readonly cache: PromptCache;
  readonly memory: Memory;
  readonly ledger: Ledger;
};

/** Starts a sandbox; rejects when the port is taken. */
export async function startSandbox(settings: SandboxSettings = {}): Promise<Sandbox> {
  const { port = 0, host = '127.0.0.1', key, tokenDelayMs = 0, now = Date.now } = settings;
  let url = '';
  const state = createState(key, tokenDelayMs, new Ledger(now, () => url));
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    // A rejection that nobody takes would end the tests around it.
    serve(state, request, response).catch((thrown: unknown) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(`The sandbox failed: ${thrown instanceof Error ? thrown.message : typeof thrown}`);
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen({ port, host });
  await once(server, 'listening');
  url = `http://${host.includes(':') ? `[${host}]` : host}:${(server.address() as AddressInfo).port}`;
  const close = async (): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return {
    url,
    baseUrls: baseUrlsOf(url),
    environment: environmentOf(url, key ?? ANY_KEY),
    calls: state.calls,
    clouds: state.ledger,
    reply: state.reply,
    reset: state.reset,
    openConnections: () => sockets.size,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function createState(key: string | undefined, tokenDelayMs: number, ledger: Ledger): State {
  const calls: Call[] = [];
  const replies = new Replies<RecordedCall>();
  const flakyCounts = new Map<string, number>();
  const cache = new PromptCache();
  const memory: Memory = { responses: new Map() };
  return {
    key, tokenDelayMs, calls, replies, flakyCounts, cache, memory, ledger,
    reply: (model, ...given) => replies.set(model, given),
    reset() {
      calls.length = 0;
      replies.clear();
      flakyCounts.clear();
      cache.clear();
      memory.responses.clear();
      ledger.reset();
    },
  };
}

const ANY_KEY = 'sandbox-key';

function baseUrlsOf(url: string): Sandbox['baseUrls'] {
  return { anthropic: `${url}/anthropic`, openai: `${url}/openai/v1`, gemini: `${url}/gemini`, compat: `${url}/compat/v1` };
}

/** Under the names that the SDKs of the vendors, the AI SDK, LangChain and the gateway read. */
function environmentOf(url: string, key: string): Readonly<Record<string, string>> {
  const { anthropic, openai, gemini } = baseUrlsOf(url);
  return {
    ANTHROPIC_BASE_URL: anthropic, ANTHROPIC_API_KEY: key,
    OPENAI_BASE_URL: openai, OPENAI_API_KEY: key,
    GEMINI_BASE_URL: gemini, GOOGLE_GEMINI_BASE_URL: gemini, GEMINI_API_KEY: key, GOOGLE_GENERATIVE_AI_API_KEY: key,
  };
}

async function serve(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const wire = new Wire(response);
  const body = await readBody(request);
  if (body === undefined) return;
  const controlled = control(state, request.method ?? '', request.url ?? '', body);
  if (controlled !== undefined) return sendReply(wire, controlled, 0);
  const call = recordCall(state.calls, request, body);
  response.once('close', () => (call.closedEarly = !wire.isDone && !response.writableFinished));
  await answer(state, wire, call, request.socket.localPort ?? 0);
}

/** The body as text; undefined when the peer left before its end. Reads on past the limit, but keeps only the excess that shows it. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bodyBytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      if (bodyBytes <= BODY_BYTES_MAX) chunks.push(chunk);
      bodyBytes += chunk.length;
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks).toString();
}

async function answer(state: State, wire: Wire, call: Call, port: number): Promise<void> {
  const url = urlOf(call.path);
  const entered = enter(state, call, url);
  if (!('protocol' in entered)) return sendReply(wire, entered, 0);
  const { prefix, protocol, incoming, isGuarded } = entered;
  wire.isBinary = false;
  const key = protocol.keyOf(incoming);
  const decoded = (isGuarded ? undefined : checkKey(state, protocol, key)) ?? protocol.resource(incoming) ?? decodeChat(protocol, incoming, state.memory);
  if (decoded instanceof Complaint) return sendReply(wire, protocol.renderComplaint(decoded), 0);
  if (typeof decoded === 'string') return sendReply(wire, jsonReply(200, decoded), 0);
  call.model = decoded.model;
  call.isStream = decoded.isStream;
  const order = decoded.isCount === true ? undefined : await state.replies.take(decoded.model, call);
  if (order instanceof Complaint) return sendReply(wire, protocol.renderComplaint(order), 0);
  const answered = withCacheFigures(state.cache, decoded);
  const script = writeScript(answered, order?.blocks);
  const good = protocol.render(answered, script);
  wire.isBinary = good.isBinary ?? false;
  const fault = faultOf(answered, order);
  if (fault === undefined) {
    protocol.keep?.(answered, script, state.memory);
    return sendReply(wire, good, state.tokenDelayMs);
  }
  const exchange = {
    wire, protocol, ask: answered, key: key ?? '', otherOrigin: `http://localhost:${port}`, tokenDelayMs: state.tokenDelayMs,
    good,
    askedCount: () => countUp(state.flakyCounts, digest(JSON.stringify([prefix, answered.model, answered.facts.userText]))),
  };
  await fault.row.act(exchange, fault.n);
}

/** A request at the protocol that it is for. */
type Entered = { readonly prefix: string; readonly protocol: Protocol; readonly incoming: Incoming; readonly isGuarded: boolean };

/** Finds the protocol, or the answer where there is none: in a cloud also that of whoever keeps its doors. */
function enter(state: State, call: Call, url: URL): Entered | Reply {
  const { method, headers, body } = call;
  const atPath = (path: string): Incoming => ({ method, headers, body, path: decodedPath(path), query: url.searchParams });
  const own = PROTOCOLS.find(({ prefix }) => `${url.pathname}/`.startsWith(`${prefix}/`));
  if (own !== undefined) {
    call.protocol = own.name;
    return { prefix: own.prefix, protocol: own.protocol, incoming: atPath(url.pathname.slice(own.prefix.length)), isGuarded: false };
  }
  const cloud = cloudRowOf(url.pathname);
  if (cloud === undefined) return askEndpoint(atPath(url.pathname), state.ledger) ?? NO_SUCH_PATH;
  const { row: { name, protocol, guard, enter: adapt }, found } = cloud;
  call.protocol = name;
  const isKey = (text: string): boolean => state.key === undefined || state.key === text;
  const refused = guard({ request: { method, headers, body, url: call.path }, ledger: state.ledger, isKey });
  if (refused !== undefined) return refused;
  const plain = atPath(url.pathname.slice(found[0].length));
  const incoming = adapt === undefined ? plain : adapt(plain, found);
  return incoming instanceof Complaint ? protocol.renderComplaint(incoming) : { prefix: found[0], protocol, incoming, isGuarded: true };
}

/** The way in which an answer is to fail: as it was written, or else by the model's name. */
function faultOf(ask: Ask, order: Order | undefined): ReturnType<typeof matchName<Fault>> {
  if (order === undefined) return matchName(FAULTS, ask.model);
  const name = order.status === undefined ? order.fault : `fake-status-${order.status}`;
  return name === undefined ? undefined : matchName(FAULTS, name);
}

/** Also of two slashes, which would begin a host, and of what is no path at all. */
function urlOf(path: string): URL {
  const text = path.startsWith('/') ? `http://sandbox${path}` : path;
  return new URL(URL.canParse(text) ? text : 'http://sandbox');
}

/** A protocol that has no words for a missing key needs none. */
function checkKey(state: State, protocol: Protocol, key: string | undefined): Complaint | undefined {
  if (protocol.missingKey === undefined) return undefined;
  if (key === undefined) return protocol.missingKey;
  return state.key === undefined || state.key === key ? undefined : protocol.wrongKey;
}

function decodeChat(protocol: Protocol, incoming: Incoming, memory: Memory): Ask | Complaint {
  if (Buffer.byteLength(incoming.body) > BODY_BYTES_MAX) return new Complaint(413, 'Request exceeds the maximum size');
  return protocol.decode(incoming, memory) ?? new Complaint(404, `Not found: ${incoming.method} ${incoming.path}`);
}

/** The request with what the cache has of it. */
function withCacheFigures(cache: PromptCache, ask: Ask): Ask {
  if (ask.cache === undefined || ask.isCount === true) return ask;
  const { readTokens, writeTokens } = cache.serve(ask.cache);
  return { ...ask, facts: { ...ask.facts, cachedTokens: readTokens, cacheWriteTokens: writeTokens } };
}

function countUp(counts: Map<string, number>, key: string): number {
  const count = (counts.get(key) ?? 0) + 1;
  keep(counts, key, count, FLAKY_MAX);
  return count;
}
