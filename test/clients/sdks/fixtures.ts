/**
 * What a client sends, recorded from the client itself: its first requests, and what it brings back for an answer with
 * calls. `RECORD=1` writes the files that tests replay; else a client that sends something else than its file says is told.
 */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { historyName, partsOf, returnsFrom } from '../exchange.ts';
import type { Json, JsonMembers, Returns } from '../exchange.ts';
import type { Client } from './clients.ts';
import type { Exchange } from './proxy.ts';

export const IS_RECORDING = process.env['RECORD'] !== undefined;
const FOLDER = new URL('../../fixtures/clients/', import.meta.url);

export type ClientFixture = {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** First requests, by what is asked for. The model is any. */
  readonly requests: Readonly<Partial<Record<RequestName, JsonMembers>>>;
  /** How a loop goes on from an answer. */
  readonly returns: { readonly whole?: Returns; readonly streamed?: Returns };
};

export type RequestName = 'chat' | 'stream' | 'image' | 'structured' | 'thinking' | 'loop' | 'loop streamed';

export function readFixture({ name }: Client): ClientFixture | undefined {
  const file = fileOf(name);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ClientFixture) : undefined;
}

function fileOf(name: string): string {
  return fileURLToPath(new URL(`${name.toLowerCase().replaceAll(' ', '-')}.json`, FOLDER));
}

/** Undefined where the client sends what its file says, or the file was written. */
export function checkFixture(client: Client, recorded: ReadonlyMap<RequestName, readonly Exchange[]>): string | undefined {
  const fixture = fixtureFrom(client, recorded);
  if (IS_RECORDING) {
    mkdirSync(FOLDER, { recursive: true });
    writeFileSync(fileOf(client.name), rendered(fixture));
    return undefined;
  }
  const expected = new Set(placesOf(readFixture(client) ?? null));
  const sent = new Set(placesOf(JSON.parse(JSON.stringify(fixture)) as Json));
  const differing = [...[...sent].filter((place) => !expected.has(place)).map((place) => `+${place}`), ...[...expected].filter((place) => !sent.has(place)).map((place) => `-${place}`)];
  return differing.length === 0 ? undefined : `sends something else than its file says (RECORD=1 writes it anew): ${differing.slice(0, 8).join(', ')}`;
}

/** One line for each request, so that a difference is seen. */
function rendered({ path, headers, requests, returns }: ClientFixture): string {
  const lines = (members: object): string => Object.entries(members).map(([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)}`).join(',\n');
  return `{\n  "path": ${JSON.stringify(path)},\n  "headers": ${JSON.stringify(headers)},\n  "requests": {\n${lines(requests)}\n  },\n  "returns": {\n${lines(returns)}\n  }\n}\n`;
}

const HEADERS = ['anthropic-version', 'anthropic-beta'];

function fixtureFrom({ dialect, isAgent }: Client, recorded: ReadonlyMap<RequestName, readonly Exchange[]>): ClientFixture {
  const chats = new Map([...recorded].map(([name, exchanges]) => [name, exchanges.filter(({ body }) => body !== '')]));
  const [sample] = [...chats.values()].flat();
  const requests: Partial<Record<RequestName, JsonMembers>> = {};
  for (const [name, [first]] of chats) if (first !== undefined) requests[name] = pruned(JSON.parse(first.body) as Json) as JsonMembers;
  const returns: { whole?: Returns; streamed?: Returns } = {};
  const history = historyName(dialect);
  for (const [name, form] of [['loop', 'whole'], ['loop streamed', 'streamed']] as const) {
    const [first, second] = chats.get(name) ?? [];
    if (first === undefined || second === undefined) continue;
    const before = (JSON.parse(first.body) as Record<string, readonly JsonMembers[]>)[history] ?? [];
    const after = (JSON.parse(second.body) as Record<string, readonly JsonMembers[]>)[history] ?? [];
    const appended = after.slice(before.length).filter(({ role }) => !isAgent || role !== 'system');
    returns[form] = pruned(returnsFrom(dialect, partsOf(dialect, first.answer), appended) as unknown as Json) as unknown as Returns;
  }
  const headers = Object.fromEntries(HEADERS.flatMap((name) => (sample?.headers[name] === undefined ? [] : [[name, String(sample.headers[name])]])));
  const token = sample?.headers['x-api-key'] === undefined ? 'authorization' : 'x-api-key';
  return { path: sample?.path ?? '', headers: { token, ...headers }, requests, returns };
}

const TEXT_CHARS_MAX = 60;
const TOOLS_MAX = 4;

/** Without what makes it long, or other the next time: prompts, ids of sessions, folders. */
function pruned(value: Json, name = ''): Json {
  if (typeof value === 'string') return prunedText(value, name);
  if (Array.isArray(value)) {
    const list = value as readonly JsonMembers[];
    return (name === 'tools' ? someTools(list) : list).map((item) => pruned(item));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, pruned(member as Json, key)]));
}

function prunedText(text: string, name: string): string {
  if (text.startsWith('{{')) return text;
  if (name === 'model') return 'fake-chat';
  if (text.startsWith('data:') || name === 'data') return text;
  const plain = text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '00000000-0000-0000-0000-000000000000').replaceAll(/[0-9a-f]{32,}/g, '0'.repeat(32)).replaceAll(/\/tmp\/[\w.-]+/g, '/work');
  return plain.length <= TEXT_CHARS_MAX ? plain : `${plain.slice(0, TEXT_CHARS_MAX)}…`;
}

/** The first of each type, and some more. */
function someTools(tools: readonly JsonMembers[]): readonly JsonMembers[] {
  const types = tools.map(({ type }) => type);
  return tools.filter((tool, index) => index < TOOLS_MAX || types.indexOf(tool['type'] ?? '') === index);
}

/** The places of a value and their types, those in lists as one. */
function placesOf(value: Json, place = ''): readonly string[] {
  if (Array.isArray(value)) return (value as readonly Json[]).flatMap((item) => placesOf(item, `${place}[]`));
  if (typeof value === 'object' && value !== null) return Object.entries(value).flatMap(([name, inner]) => placesOf(inner as Json, `${place}.${name}`));
  return [`${place} ${typeof value}`];
}
