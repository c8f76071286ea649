/** What every client is asked to do at every provider, and what makes that good. */

import { setTimeout as pause } from 'node:timers/promises';
import type { RecordedCall } from '../../../src/sandbox/index.ts';
import { startGateway, TOKEN } from '../../running-gateway.ts';
import type { RunningGateway } from '../../running-gateway.ts';
import { asRelayed, MAKERS, stateIn } from '../exchange.ts';
import { Child, PROGRAM_ENDED } from './child.ts';
import type { Order, Seen } from './child.ts';
import { PROVIDERS, reasonOf } from './clients.ts';
import type { Case, Client, Provider } from './clients.ts';
import { checkFixture, IS_RECORDING } from './fixtures.ts';
import type { RequestName } from './fixtures.ts';
import { startProxy } from './proxy.ts';
import type { Exchange, Proxy } from './proxy.ts';

/** `cannot` = tried, and failed because of the client itself; `none` = there is nothing to try. Each has its reason. */
export type Verdict = { readonly is: 'ok' | 'cannot' | 'none' | 'FAIL'; readonly why: string };
export type Row = {
  readonly client: Client;
  readonly provider: Provider;
  readonly cases: Readonly<Record<Case, Verdict>>;
};
/** What a client's user reads of a failed stream when the connection is destroyed behind the error, and when it ends in order. */
export type Ending = { readonly client: Client; readonly provider: Provider; readonly model: string; readonly destroyed: string; readonly orderly: string };

const OK: Verdict = { is: 'ok', why: '' };
const CUTS = ['fake-truncate', 'fake-reset-mid', 'fake-error-mid'];
/** A provider's status, and the gateway's for it. */
const STATUSES: readonly (readonly [asked: number, answered: number])[] = [[400, 400], [401, 502], [404, 404], [429, 429], [500, 502], [503, 502]];
const CANCEL_MS_MAX = 20_000;
/** Where what clients send is recorded: it is translated for all of them, and takes a loop that lost its state. */
const RECORDED_AT: Provider = 'gemini';
/** What has to be asked for that. */
const RECORDED: readonly Case[] = ['chat', 'stream', 'image', 'structured', 'thinking', 'state', 'state streamed', 'sends'];

type Trial = {
  readonly client: Client;
  readonly provider: Provider;
  readonly gateway: RunningGateway;
  /** Ends in order what the gateway breaks off. */
  readonly orderly: Proxy;
  readonly endings: Ending[];
  readonly recorded: Map<RequestName, readonly Exchange[]>;
  /** Asks with a model of the sandbox. */
  run(operation: Order['operation'], model: string, more?: Partial<Order>): Promise<Ran>;
};

/** What the client made of it, what it sent and got, and what the provider got. */
type Ran = { readonly seen: Seen; readonly sent: readonly Exchange[]; readonly upstream: readonly RecordedCall[] };

/** One client at every provider, in front of a gateway of its own. */
export async function tryClient(client: Client, tell: (row: Row) => void): Promise<readonly Ending[]> {
  const ends: (() => unknown)[] = [];
  const settings = { GATEWAY_COMPAT_NAME: 'compat', GATEWAY_MAX_RETRIES: '0', ...(client.dialect === 'messages' && { OPENAI_API: 'responses' }) };
  const gateway = await startGateway({ after: (end) => void ends.push(end as () => unknown) }, settings);
  const proxy = await startProxy(gateway.url, { isOrderly: false });
  const orderly = await startProxy(gateway.url, { isOrderly: true });
  const start = (): Child => new Child(client.runtime, client.program, client.words);
  let child = start();
  const endings: Ending[] = [];
  const recorded = new Map<RequestName, readonly Exchange[]>();
  try {
    for (const provider of IS_RECORDING ? [RECORDED_AT] : PROVIDERS) {
      const run: Trial['run'] = async (operation, model, more = {}) => {
        // The list is cut at its front; what is in it is not replaced.
        const before = new Set(gateway.sandbox.calls);
        if (child.hasEnded) child = start();
        const seen = await child.run({ operation, url: proxy.url, token: TOKEN, model: `${provider}/${model}`, ...more });
        const sent = proxy.takeExchanges();
        const name = recordedName(client, operation, model, more);
        if (provider === RECORDED_AT && name !== undefined && !recorded.has(name)) recorded.set(name, sent);
        return { seen, sent, upstream: gateway.sandbox.calls.filter((call) => !before.has(call)) };
      };
      const trial: Trial = { client, provider, gateway, orderly, endings, recorded, run };
      const cases = {} as Record<Case, Verdict>;
      for (const name of CASE_NAMES) cases[name] = IS_RECORDING && !RECORDED.includes(name) ? { is: 'none', why: 'recording' } : await judged(trial, name);
      tell({ client, provider, cases });
    }
  } finally {
    child.close();
    proxy.close();
    orderly.close();
    for (const end of ends) await end();
  }
  return endings;
}

/** The name of a request that is recorded; an agent streams whatever it is asked. */
function recordedName({ isAgent }: Client, operation: Order['operation'], model: string, { isStream, hasImage, isThinking, isStructured }: Partial<Order>): RequestName | undefined {
  const isStreamed = isStream === true || isAgent;
  if (operation === 'loop' && model === 'fake-tool-loop' && isThinking === true) return isStreamed ? 'loop streamed' : 'loop';
  if (operation !== 'ask') return undefined;
  if (model === 'fake-thinking' && !isStreamed) return 'thinking';
  if (model !== 'fake-chat') return undefined;
  if (isStructured === true) return isStreamed ? undefined : 'structured';
  return hasImage === true ? 'image' : isStreamed ? 'stream' : 'chat';
}

async function judged(trial: Trial, name: Case): Promise<Verdict> {
  const { client, provider } = trial;
  const lacks = client.lacks[name];
  if (lacks !== undefined) return { is: 'none', why: lacks };
  const verdict = await CASES[name](trial);
  const cannot = reasonOf(client, name, provider);
  if (cannot === undefined || verdict.is === 'none') return verdict;
  return verdict.is === 'FAIL' ? { is: 'cannot', why: cannot } : { is: 'FAIL', why: `it can, although "${cannot}"` };
}

const CASES: Readonly<Record<Case, (trial: Trial) => Promise<Verdict>>> = {
  chat: async ({ run }) => answered((await run('ask', 'fake-chat')).seen, 'Hello from fake-chat! You wrote: '),
  stream: async ({ run }) => {
    const { seen } = await run('ask', 'fake-chat', { isStream: true });
    if ((seen.pieces ?? 0) < 2) return fail(seen, 'not in pieces');
    return answered(seen, 'Hello from fake-chat! You wrote: ');
  },
  loop: (trial) => tryLoop(trial, false),
  'loop streamed': (trial) => tryLoop(trial, true),
  state: (trial) => tryState(trial, false),
  'state streamed': (trial) => tryState(trial, true),
  parallel: async ({ client, run }) => {
    const { seen, upstream } = await run('loop', 'fake-parallel');
    if (client.isAgent ? upstream.length < 2 : (seen.calls?.length ?? 0) < 3 || upstream.length !== 2) return fail(seen, `${seen.calls?.length} calls, ${upstream.length} requests`);
    return answered(seen, 'The tools say: ');
  },
  image: async ({ run }) => answered((await run('ask', 'fake-chat', { hasImage: true })).seen, 'I see 1 image.'),
  structured: async ({ run }) => {
    for (const isStream of [false, true]) {
      const { seen } = await run('ask', 'fake-chat', { isStream, isStructured: true });
      if (!hasCity(seen.text)) return fail(seen, `no JSON of the schema, ${isStream ? 'streamed' : 'whole'}`);
    }
    return OK;
  },
  thinking: tryThinking,
  usage: async ({ run }) => {
    for (const isStream of [false, true]) {
      const { seen } = await run('ask', 'fake-chat', { isStream });
      if (!((seen.usage?.input ?? 0) > 0 && (seen.usage?.output ?? 0) > 0)) return fail(seen, `no usage, ${isStream ? 'streamed' : 'whole'}`);
    }
    return OK;
  },
  cancel: async ({ run }) => {
    const { seen, upstream } = await run('cancel', 'fake-stall-mid', { isStream: true });
    if (seen.error !== undefined) return fail(seen, 'raised');
    for (let waitedMs = 0; waitedMs < CANCEL_MS_MAX; waitedMs += 50) {
      if (upstream.some(({ closedEarly }) => closedEarly)) return OK;
      await pause(50);
    }
    return fail(seen, 'the upstream call went on');
  },
  failures: tryFailures,
  cut: tryCuts,
  relay: tryRelay,
  sends: async ({ client, provider, recorded }) => {
    if (provider !== RECORDED_AT) return { is: 'none', why: `recorded at ${RECORDED_AT}` };
    const why = checkFixture(client, recorded);
    return why === undefined ? OK : { is: 'FAIL', why };
  },
};

export const CASE_NAMES = Object.keys(CASES) as readonly Case[];

function answered(seen: Seen, text: string): Verdict {
  return seen.error === undefined && seen.text?.includes(text) === true ? OK : fail(seen, `no "${text}"`);
}

function hasCity(text = ''): boolean {
  try {
    return typeof (JSON.parse(text) as { readonly city?: unknown }).city === 'string';
  } catch {
    return false;
  }
}

function fail(seen: Seen, why: string): Verdict {
  const { error, text } = seen;
  const instead = error === undefined ? JSON.stringify(text) : `${error.classes[0]} ${error.status ?? ''} ${error.message}`;
  return { is: 'FAIL', why: `${why}; ${instead.slice(0, 600)}` };
}

/** A client that loses what a provider wants back gets on where the model does not reason unasked. */
async function tryLoop(trial: Trial, isStream: boolean): Promise<Verdict> {
  const { client, provider, run } = trial;
  const verdict = loopVerdict(trial, await run('loop', 'fake-tool-loop', { isStream }));
  const isLost = reasonOf(client, isStream ? 'state streamed' : 'state', provider) !== undefined;
  return verdict.is === 'FAIL' && isLost ? loopVerdict(trial, await run('loop', 'fake-plain-loop', { isStream })) : verdict;
}

function loopVerdict({ client }: Trial, { seen, upstream }: Ran): Verdict {
  const names = (seen.calls ?? []).map(({ name }) => name).join(' ');
  if (client.isAgent ? upstream.length < 3 : names !== 'weather weather clock' || upstream.length !== 3) return fail(seen, `called ${names} in ${upstream.length} requests`);
  return answered(seen, 'The tools say: ');
}

/** Whether what the provider wants back comes back, by the second request of a loop. */
async function tryState({ client, provider, run }: Trial, isStream: boolean): Promise<Verdict> {
  const { seen, upstream } = await run('loop', 'fake-tool-loop', { isStream, isThinking: true });
  // An agent may ask for other things before.
  const second = client.isAgent ? upstream.at(-1) : upstream[1];
  if (second === undefined) return fail(seen, 'one request');
  const state = stateIn(provider, second);
  if (state === 'none') return { is: 'none', why: 'this API of the provider has none' };
  return state === 'kept' && upstream.length >= 3 ? OK : fail(seen, `the state was ${state}, ${upstream.length} requests`);
}

async function tryThinking({ client, provider, run }: Trial): Promise<Verdict> {
  for (const isStream of [false, true]) {
    const { seen, upstream } = await run('ask', 'fake-thinking', { isStream, isThinking: true });
    if (seen.error !== undefined) return fail(seen, 'raised');
    const isHidden = provider === 'openai' && upstream[0]?.path.includes('/responses') !== true;
    if (isHidden) return { is: 'none', why: 'this API of the provider discloses none' };
    if (seen.thinking?.includes('Somebody wrote to me.') !== true) return fail(seen, `no reasoning ${isStream ? 'streamed' : 'whole'} from ${client.dialect}`);
  }
  return OK;
}

async function tryFailures({ client, gateway, run }: Trial): Promise<Verdict> {
  for (const [asked, status] of STATUSES) {
    for (const isStream of [false, true]) {
      const { seen, upstream } = await run('ask', `fake-status-${asked}`, { isStream });
      const why = wrongError(client, seen, status);
      if (why !== undefined) return fail(seen, `provider's ${asked}: ${why}`);
      if (upstream.length !== 1 && !client.isAgent) return fail(seen, `provider's ${asked}: asked ${upstream.length} times`);
    }
  }
  const { seen } = await run('ask', 'fake-chat', { token: 'wrong', url: gateway.url });
  const why = wrongError(client, seen, 401);
  return why === undefined ? OK : fail(seen, `a wrong token: ${why}`);
}

function wrongError({ classes, retold }: Client, { error }: Seen, status: number): string | undefined {
  if (error === undefined) return 'nothing raised';
  const name = classes[status] ?? '';
  if (!error.classes.includes(name)) return `${error.classes.join(' < ')} instead of ${name}`;
  return error.status === null || error.status === status || error.status === retold[status] ? undefined : `status ${error.status} instead of ${status}`;
}

/** A stream that ends too early is raised, whichever way, as what the client has for it. What is left of the sentence is told apart. */
async function tryCuts({ client, provider, endings, orderly, run }: Trial): Promise<Verdict> {
  let verdict = OK;
  for (const model of CUTS) {
    const inOrder = await run('ask', model, { isStream: true, url: orderly.url });
    const body = orderly.takeExchanges().at(-1)?.answer ?? '';
    const sentences = [...body.matchAll(/"message":("(?:[^"\\]|\\.)*")/g)].map(([, text = '""']) => JSON.parse(text) as string);
    const destroyed = await run('ask', model, { isStream: true });
    const sentence = sentences.at(-1) ?? '?';
    endings.push({ client, provider, model, destroyed: told(destroyed.seen, sentence), orderly: told(inOrder.seen, sentence) });
    const { error } = destroyed.seen;
    if (error === undefined || error.classes[0] === PROGRAM_ENDED) verdict = fail(destroyed.seen, `${model}: nothing raised`);
    else if (!error.classes.includes(client.classes.cut)) verdict = fail(destroyed.seen, `${model}: ${error.classes.join(' < ')} instead of ${client.classes.cut}`);
  }
  return verdict;
}

/** A request to the dialect's vendor arrives as the client sent it, but for what the gateway says that it changes. */
async function tryRelay({ client, provider, run }: Trial): Promise<Verdict> {
  if (provider !== MAKERS[client.dialect]) return { is: 'none', why: 'translated' };
  const { seen, sent, upstream } = await run('loop', 'fake-tool-loop', { isStream: true, isThinking: true });
  const posted = sent.filter(({ path }) => !path.includes('/models'));
  if (upstream.length < 2 || posted.length < upstream.length) return fail(seen, `${posted.length} requests, ${upstream.length} arrived`);
  const bodies = posted.filter(({ body }) => body !== '').map(({ body }) => asRelayed(body));
  const changed = upstream.findIndex(({ body }, index) => JSON.stringify(JSON.parse(body)) !== bodies[index]);
  if (changed === -1) return OK;
  return { is: 'FAIL', why: `sent ${bodies[changed]}, arrived ${upstream[changed]?.body}` };
}

function told({ error }: Seen, sentence: string): string {
  if (error === undefined) return 'QUIET';
  return error.message.includes(sentence) ? 'sentence' : `raises "${error.message.slice(0, 60)}"`;
}
