/** What real clients send and bring back, as `make clients` recorded it of them, at every provider. */

import assert from 'node:assert/strict';
import { request as sendRequest } from 'node:http';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { startGateway, TOKEN } from '../running-gateway.ts';
import type { RunningGateway } from '../running-gateway.ts';
import { asRelayed, callsOf, historyName, MAKERS, partsOf, stateIn, turnFor } from './exchange.ts';
import type { JsonMembers, Returns } from './exchange.ts';
import { CLIENTS, PROVIDERS, reasonOf } from './sdks/clients.ts';
import type { Client, Provider } from './sdks/clients.ts';
import { readFixture } from './sdks/fixtures.ts';
import type { ClientFixture, RequestName } from './sdks/fixtures.ts';

const ROUNDS_MAX = 6;
const THINKING = ['reasoning_effort', 'reasoning', 'thinking'];

type Answer = { readonly status: number; readonly contentType: string; readonly text: string };
type Trial = { readonly client: Client; readonly fixture: ClientFixture; readonly gateway: RunningGateway; readonly provider: Provider };

async function eachClient(t: TestContext, run: (trial: Trial) => Promise<void>): Promise<void> {
  const gateway = await startGateway(t, { GATEWAY_COMPAT_NAME: 'compat', GATEWAY_MAX_RETRIES: '0', OPENAI_API: 'responses' });
  for (const client of CLIENTS) {
    const fixture = readFixture(client) ?? assert.fail(`${client.name} has no file`);
    for (const provider of PROVIDERS) await run({ client, fixture, gateway, provider });
  }
}

async function ask({ client, fixture, gateway, provider }: Trial, request: JsonMembers, model: string): Promise<Answer> {
  const { token, ...headers } = fixture.headers;
  const credential = token === 'x-api-key' ? { 'x-api-key': TOKEN } : { authorization: `Bearer ${TOKEN}` };
  const body = JSON.stringify({ ...request, model: `${provider}/${model}` });
  const { status, contentType, text } = await post(gateway.url + fixture.path, { ...credential, ...headers, 'content-type': 'application/json' }, body);
  if (provider === MAKERS[client.dialect]) assert.equal(JSON.stringify(JSON.parse(gateway.sandbox.calls.at(-1)?.body ?? '')), asRelayed(body), `${client.name}: relayed otherwise than sent`);
  return { status, contentType, text };
}

/** By node:http: there are many hundred requests, and a fetch costs several times as much. */
function post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = sendRequest(url, { method: 'POST', headers });
    request.on('error', reject).on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (more: string) => (text += more));
      response.on('error', reject).on('end', () => resolve({ status: response.statusCode ?? 0, contentType: response.headers['content-type'] ?? '', text }));
    });
    request.end(body);
  });
}

/** The answers of a loop, until one has no calls or is refused. */
async function loop(trial: Trial, form: 'whole' | 'streamed', model: 'fake-tool-loop' | 'fake-plain-loop'): Promise<readonly { status: number; text: string; parts: readonly JsonMembers[] }[]> {
  const { client, fixture } = trial;
  const asked = fixture.requests[form === 'whole' ? 'loop' : 'loop streamed'] ?? assert.fail('no loop');
  // A model that does not reason is not asked to.
  const request = model === 'fake-tool-loop' ? asked : Object.fromEntries(Object.entries(asked).filter(([name]) => !THINKING.includes(name)));
  const returns: Returns = fixture.returns[form] ?? assert.fail('nothing comes back');
  const history = historyName(client.dialect);
  const turns = [...(request[history] as readonly JsonMembers[])];
  const rounds = [];
  while (rounds.length < ROUNDS_MAX) {
    const { status, text } = await ask(trial, { ...request, [history]: turns }, model);
    const parts = status === 200 ? partsOf(client.dialect, text) : [];
    rounds.push({ status, text, parts });
    if (callsOf(client.dialect, parts).length === 0) break;
    turns.push(...turnFor(client.dialect, returns, parts));
  }
  return rounds;
}

/** Requests that are the same but for the client that sends them are sent once. */
function isNew(seen: Set<string>, { client, fixture, provider }: Trial, what: string, request: unknown): boolean {
  const key = JSON.stringify([client.dialect, fixture.path, fixture.headers, provider, what, request]);
  return !seen.has(key) && seen.add(key) !== undefined;
}

test('the first requests of every client are answered at every provider, and arrive at their vendor as they were sent', async (t) => {
  const seen = new Set<string>();
  await eachClient(t, async (trial) => {
    for (const [name, request] of Object.entries(trial.fixture.requests) as [RequestName, JsonMembers][]) {
      // Beside its vendor one provider is enough: how a request is read does not depend on who is asked.
      if (name.startsWith('loop') || ![MAKERS[trial.client.dialect], 'gemini'].includes(trial.provider) || !isNew(seen, trial, name, request)) continue;
      const { status, text, contentType } = await ask(trial, request, name === 'thinking' ? 'fake-thinking' : 'fake-chat');
      const where = `${trial.client.name}, ${trial.provider}, ${name}: ${text.slice(0, 300)}`;
      if (name === 'structured' && reasonOf(trial.client, name, trial.provider) !== undefined) {
        assert.equal(status, 400, where);
        continue;
      }
      assert.equal(status, 200, where);
      if (name === 'structured') assert.match(text, /\\?"city\\?"/, where);
      assert.equal(contentType.startsWith('text/event-stream'), request['stream'] === true, where);
      if (name === 'image') assert.ok(text.includes('1 image'), where);
      if (trial.client.dialect === 'messages') assert.ok(text.includes(`"model":"${trial.provider}/`), `${where}: the model of the answer is another`);
    }
  });
});

test('a tool loop of every client ends well at every provider, and what the provider wants back is back, unless the client loses it', async (t) => {
  const seen = new Set<string>();
  await eachClient(t, async (trial) => {
    const { client, fixture, gateway, provider } = trial;
    for (const form of ['whole', 'streamed'] as const) {
      const returns = fixture.returns[form];
      if (returns === undefined || !isNew(seen, trial, form, [fixture.requests[form === 'whole' ? 'loop' : 'loop streamed'], returns])) continue;
      const before = gateway.sandbox.calls.at(-1);
      const rounds = await loop(trial, form, 'fake-tool-loop');
      const where = `${client.name}, ${provider}, ${form}: ${rounds.at(-1)?.text.slice(0, 300) ?? ''}`;
      const isWhole = form === 'whole' || client.isAgent;
      const lost = reasonOf(client, isWhole ? 'state' : 'state streamed', provider);
      const cannot = reasonOf(client, isWhole ? 'loop' : 'loop streamed', provider);
      const second = gateway.sandbox.calls.slice(before === undefined ? 0 : gateway.sandbox.calls.indexOf(before) + 1)[1];
      const state = second === undefined ? 'lost' : stateIn(provider, second);
      if (state !== 'none') assert.equal(state, lost === undefined ? 'kept' : 'lost', where);
      const ended = lost === undefined ? rounds : await loop(trial, form, 'fake-plain-loop');
      if (cannot === undefined) assert.ok(ended.length === 3 && ended.at(-1)?.status === 200, where);
      else assert.equal(ended.at(-1)?.status, 400, where);
    }
  });
});
