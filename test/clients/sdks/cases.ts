/** What every client is asked to do at every provider, and what makes that good. */

import { setTimeout as pause } from 'node:timers/promises';
import type { RecordedCall } from '../../../src/sandbox/index.ts';
import { startGateway, TOKEN } from '../../running-gateway.ts';
import type { RunningGateway } from '../../running-gateway.ts';
import { Child, PROGRAM_ENDED } from './child.ts';
import type { Order, Seen } from './child.ts';
import type { Case, Client } from './clients.ts';
import { startOrderlyProxy } from './orderly-proxy.ts';
import type { OrderlyProxy } from './orderly-proxy.ts';

export const PROVIDERS = ['anthropic', 'openai', 'gemini', 'compat'] as const;
export type Provider = (typeof PROVIDERS)[number];

/** `without` = the client cannot do this; a failure has its reason. */
export type Verdict = { readonly is: 'ok' | 'without' | 'FAIL'; readonly why: string };
export type State = 'kept' | 'lost' | 'none';
export type Row = {
  readonly client: Client;
  readonly provider: Provider;
  readonly cases: Readonly<Record<string, Verdict>>;
};
/** What a client's user reads of a failed stream when the connection is destroyed behind the error, and when it ends in order. */
export type Ending = { readonly client: Client; readonly provider: Provider; readonly model: string; readonly destroyed: string; readonly orderly: string };

const OK: Verdict = { is: 'ok', why: '' };
const CUTS = ['fake-truncate', 'fake-reset-mid', 'fake-error-mid'];
/** A provider's status, and the gateway's for it. */
const STATUSES: readonly (readonly [asked: number, answered: number])[] = [[400, 400], [401, 502], [404, 404], [429, 429], [500, 502], [503, 502]];
const CANCEL_MS_MAX = 20_000;

type Trial = {
  readonly client: Client;
  readonly provider: Provider;
  readonly gateway: RunningGateway;
  readonly proxy: OrderlyProxy;
  readonly endings: Ending[];
  /** Asks with a model of the sandbox. */
  run(operation: Order['operation'], model: string, more?: Partial<Order>): Promise<{ seen: Seen; upstream: readonly RecordedCall[] }>;
};

/** One client at every provider, in front of a gateway of its own. */
export async function tryClient(client: Client, tell: (row: Row) => void): Promise<readonly Ending[]> {
  const ends: (() => unknown)[] = [];
  const settings = { GATEWAY_COMPAT_NAME: 'compat', GATEWAY_MAX_RETRIES: '0', ...(client.dialect === 'messages' && { OPENAI_API: 'responses' }) };
  const gateway = await startGateway({ after: (end) => void ends.push(end as () => unknown) }, settings);
  const proxy = await startOrderlyProxy(gateway.url);
  const start = (): Child => new Child(client.runtime, client.program, client.words);
  let child = start();
  const endings: Ending[] = [];
  try {
    for (const provider of PROVIDERS) {
      const run: Trial['run'] = async (operation, model, more = {}) => {
        // The list is cut at its front; what is in it is not replaced.
        const before = new Set(gateway.sandbox.calls);
        if (child.hasEnded) child = start();
        const seen = await child.run({ operation, url: gateway.url, token: TOKEN, model: `${provider}/${model}`, ...more });
        return { seen, upstream: gateway.sandbox.calls.filter((call) => !before.has(call)) };
      };
      const trial: Trial = { client, provider, gateway, proxy, endings, run };
      const cases: Record<string, Verdict> = {};
      for (const [name, judge] of Object.entries(CASES)) {
        const why = client.without[name as Case];
        cases[name] = why === undefined ? await judge(trial) : { is: 'without', why };
      }
      tell({ client, provider, cases });
    }
  } finally {
    child.close();
    proxy.close();
    for (const end of ends) await end();
  }
  return endings;
}

export const CASES: Readonly<Record<Case | 'state' | 'state streamed', (trial: Trial) => Promise<Verdict>>> = {
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
};

function answered(seen: Seen, text: string): Verdict {
  return seen.error === undefined && seen.text?.includes(text) === true ? OK : fail(seen, `no "${text}"`);
}

function fail(seen: Seen, why: string): Verdict {
  const { error, text } = seen;
  const instead = error === undefined ? JSON.stringify(text) : `${error.classes[0]} ${error.status ?? ''} ${error.message}`;
  return { is: 'FAIL', why: `${why}; ${instead.slice(0, 600)}` };
}

async function tryLoop({ client, run }: Trial, isStream: boolean): Promise<Verdict> {
  const { seen, upstream } = await run('loop', 'fake-tool-loop', { isStream });
  const lost = stateOf(client, isStream);
  if (lost !== true && upstream.length === 2 && seen.error?.status === 400) return { is: 'without', why: `this provider insists on its state; ${lost}` };
  const names = (seen.calls ?? []).map(({ name }) => name).join(' ');
  if (client.isAgent ? upstream.length < 3 : names !== 'weather weather clock' || upstream.length !== 3) return fail(seen, `called ${names} in ${upstream.length} requests`);
  return answered(seen, 'The tools say: ');
}

/** Whether what the provider wants back comes back, by the second request of a loop. */
async function tryState({ client, provider, run }: Trial, isStream: boolean): Promise<Verdict> {
  if (client.without[isStream ? 'loop streamed' : 'loop'] !== undefined) return { is: 'without', why: 'no loop' };
  const { seen, upstream } = await run('loop', 'fake-tool-loop', { isStream, isThinking: true });
  // An agent may ask for other things before.
  const second = client.isAgent ? upstream.at(-1) : upstream[1];
  if (second === undefined) return fail(seen, 'one request');
  const state = stateIn(provider, second);
  const expected = stateOf(client, isStream);
  if (state === 'none') return { is: 'without', why: 'this API of the provider has none' };
  if (expected !== true) return state === 'lost' ? { is: 'without', why: expected } : fail(seen, 'the state came back, against expectation');
  return state === 'kept' && upstream.length >= 3 ? OK : fail(seen, `the state was ${state}, ${upstream.length} requests`);
}

function stateOf({ state }: Client, isStream: boolean): true | string {
  return isStream ? state.streamed : state.whole;
}

function stateIn(provider: Provider, { path, body }: RecordedCall): State {
  switch (provider) {
    case 'anthropic':
      return /"signature":"[^"]|"redacted_thinking"/.test(body) ? 'kept' : 'lost';
    case 'openai':
      return !path.includes('/responses') ? 'none' : /"encrypted_content":"[^"]/.test(body) ? 'kept' : 'lost';
    case 'gemini':
      return /"thoughtSignature":"(?!skip_|context_)/.test(body) ? 'kept' : 'lost';
    case 'compat':
      return 'none';
  }
}

async function tryThinking({ client, provider, run }: Trial): Promise<Verdict> {
  for (const isStream of [false, true]) {
    const { seen, upstream } = await run('ask', 'fake-thinking', { isStream, isThinking: true });
    if (seen.error !== undefined) return fail(seen, 'raised');
    const isHidden = provider === 'openai' && upstream[0]?.path.includes('/responses') !== true;
    if (isHidden) return { is: 'without', why: 'this API of the provider discloses none' };
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

function wrongError({ classes }: Client, { error }: Seen, status: number): string | undefined {
  if (error === undefined) return 'nothing raised';
  const name = classes[status] ?? '';
  if (!error.classes.includes(name)) return `${error.classes.join(' < ')} instead of ${name}`;
  return error.status === null || error.status === status ? undefined : `status ${error.status} instead of ${status}`;
}

/** A stream that ends too early is raised, whichever way. What is left of the sentence is told apart. */
async function tryCuts({ client, provider, endings, proxy, run }: Trial): Promise<Verdict> {
  let verdict = OK;
  for (const model of CUTS) {
    const orderly = await run('ask', model, { isStream: true, url: proxy.url });
    const sentences = [...proxy.lastBody().matchAll(/"message":("(?:[^"\\]|\\.)*")/g)].map(([, text = '""']) => JSON.parse(text) as string);
    const destroyed = await run('ask', model, { isStream: true });
    const sentence = sentences.at(-1) ?? '?';
    endings.push({ client, provider, model, destroyed: told(destroyed.seen, sentence), orderly: told(orderly.seen, sentence) });
    if (destroyed.seen.error === undefined || destroyed.seen.error.classes[0] === PROGRAM_ENDED) verdict = fail(destroyed.seen, `${model}: nothing raised`);
  }
  return verdict;
}

function told({ error }: Seen, sentence: string): string {
  if (error === undefined) return 'QUIET';
  return error.message.includes(sentence) ? 'sentence' : `raises "${error.message.slice(0, 60)}"`;
}
