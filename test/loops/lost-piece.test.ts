/**
 * Holds the sandbox to what providers demand of a replay: of a good request in the middle of a tool loop, as the gateway
 * sends it, every piece is left out once, and the sandbox has to refuse what is left. So a codec that loses a piece fails
 * the contract suite.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway, user } from '../running-gateway.ts';
import type { Message, RunningGateway } from '../running-gateway.ts';

const TOOLS = [
  { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string', enum: ['Oslo', 'Rome'] } } } },
  { name: 'clothes', parameters: { type: 'object', properties: { weather: { type: 'string' } } } },
];

/** What the sandbox, as its provider, does not miss: paths in the payload, with a message's role, and `text` for a piece of words. */
const UNMISSED: Readonly<Record<string, readonly RegExp[]>> = {
  // What no signature follows, which would cover it: words, arguments, and the content of a result, which may be empty.
  anthropic: [/\.input\.\w+$/, /^messages\.\d+\.content\.\d+\.content$/, /\(text\)$/],
  // A signature covers a part's words or the name of its call. A content without a role is the user's.
  gemini: [/\.args(\.\w+)?$/, /\.response\.output$/, /^contents\.\d+\.role$/, /\(text\)$/],
  // Nothing is signed. A turn with calls needs no words, a conversation no user.
  openai: [/^messages\.\d+\.content$/, /\(user\)$/],
  compat: [/^messages\.\d+\.content$/, /\(user\)$/],
  // Reasoning is sealed by itself. Words are items of their own here.
  responses: [/\((text|user|assistant)\)$/, /\.phase$/],
};

/** What has to come back as it was. */
const UNALTERABLE = ['signature', 'data', 'thinking', 'thoughtSignature', 'reasoning_content', 'encrypted_content', 'id', 'tool_use_id', 'tool_call_id', 'call_id'];

type Path = readonly (string | number)[];

/** Every place of a value, inner ones first. */
function placesIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [];
  const keys: (string | number)[] = Array.isArray(value) ? value.map((_, index) => index) : Object.keys(value);
  return keys.flatMap((key) => [...placesIn((value as Record<string | number, unknown>)[key], [...path, key]), [...path, key]]);
}

function at(value: unknown, path: Path): unknown {
  return path.reduce((inner, key) => (inner as Record<string | number, unknown>)[key], value);
}

/** A copy in which other items stand for what is at the path, none for leaving it out. */
function replaced(value: unknown, [key, ...rest]: Path, ...items: readonly unknown[]): unknown {
  const inner = (item: unknown): readonly unknown[] => (rest.length === 0 ? items : [replaced(item, rest, ...items)]);
  if (Array.isArray(value)) return value.flatMap((item: unknown, index) => (index === key ? inner(item) : [item]));
  const entries = Object.entries(value as object) as [string, unknown][];
  return Object.fromEntries(entries.flatMap(([name, item]) => (name === key ? inner(item) : [item]).map((kept) => [name, kept])));
}

/** The last payload of a loop of some rounds. */
async function loopPayload(gateway: RunningGateway, provider: string, model: string, rounds: number): Promise<unknown> {
  const messages: Message[] = [user('What to wear?')];
  for (let round = 0; round <= rounds; round += 1) {
    const { status, body } = await gateway.chat({ provider, model, messages, tools: TOOLS });
    assert.equal(status, 200, JSON.stringify(body));
    const results = (body.tool_calls ?? []).map((call) => ({ type: 'tool_result', tool_call_id: call.id, content: 'rain' }));
    messages.push(body.message, { role: 'tool', content: results });
  }
  return JSON.parse(gateway.sandbox.calls.at(-1)?.body ?? '');
}

/** The sandbox's answer to the payload in place of the last call's. */
async function statusOf(gateway: RunningGateway, payload: unknown): Promise<number> {
  const call = gateway.sandbox.calls.at(-1);
  assert.ok(call !== undefined);
  const { 'content-length': _length, host: _host, connection: _connection, 'transfer-encoding': _encoding, ...headers } = call.headers;
  const response = await fetch(gateway.sandbox.url + call.path, { method: 'POST', headers: headers as Record<string, string>, body: JSON.stringify(payload) });
  await response.text();
  return response.status;
}

function nameOf(payload: unknown, place: Path): string {
  const value = at(payload, place);
  const { role, text } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  const kind = text === undefined ? role : 'text';
  return place.join('.') + (kind === undefined ? '' : ` (${String(kind)})`);
}

/** By wire format: the provider, where its payloads hold the conversation, and settings for the gateway. */
const FORMATS: Readonly<Record<string, { provider: string; conversation: string; environment: Record<string, string> }>> = {
  anthropic: { provider: 'anthropic', conversation: 'messages', environment: {} },
  gemini: { provider: 'gemini', conversation: 'contents', environment: {} },
  compat: { provider: 'compat', conversation: 'messages', environment: {} },
  openai: { provider: 'openai', conversation: 'messages', environment: { OPENAI_API: 'chat' } },
  responses: { provider: 'openai', conversation: 'input', environment: { OPENAI_API: 'responses' } },
};

for (const [format, { provider, conversation, environment }] of Object.entries(FORMATS)) {
  for (const [model, rounds] of [['fake-tool-loop', 1], ['fake-tool-loop', 2], ['fake-interleaved', 1]] as const) {
    test(`no piece of a loop is lost or altered on ${format} unnoticed, after ${rounds} rounds of ${model}`, async (t) => {
      const gateway = await startGateway(t, environment);
      const payload = await loopPayload(gateway, provider, model, rounds);
      assert.equal(await statusOf(gateway, payload), 200);
      const places = placesIn(payload).filter(([name]) => name === conversation);
      assert.ok(places.length > 20);
      const unnoticed: string[] = [];
      for (const place of places) {
        const name = nameOf(payload, place);
        const isMissed = UNMISSED[format]?.some((pattern) => pattern.test(name)) !== true;
        if (isMissed && (await statusOf(gateway, replaced(payload, place))) === 200) unnoticed.push(`${name} lost`);
        const value = at(payload, place);
        if (typeof value !== 'string' || !UNALTERABLE.includes(String(place.at(-1)))) continue;
        if ((await statusOf(gateway, replaced(payload, place, `${value}x`))) === 200) unnoticed.push(`${name} altered`);
      }
      assert.deepEqual(unnoticed, []);
    });
  }
}

for (const [provider, conversation, blocks] of [['anthropic', 'messages', 'content'], ['gemini', 'contents', 'parts']] as const) {
  test(`${provider} takes the results of parallel calls in one message only`, async (t) => {
    const gateway = await startGateway(t);
    const payload = await loopPayload(gateway, provider, 'fake-tool-loop', 1);
    const place = [conversation, 2];
    const message = at(payload, place) as Record<string, unknown[]>;
    assert.equal(message[blocks]?.length, 2);
    const split = (message[blocks] ?? []).map((block) => ({ ...message, [blocks]: [block] }));
    assert.equal(await statusOf(gateway, replaced(payload, place, ...split)), 400);
  });
}
