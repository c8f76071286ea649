/** Every example of every page: programs are run, requests sent, answers and events compared with real ones. */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { blocksOf, PAGES, readPage } from '../readme.ts';
import type { Block } from '../readme.ts';
import { framesOf, sandboxEnvironment, startGateway, TOKEN, user } from '../running-gateway.ts';
import type { RunningGateway } from '../running-gateway.ts';

const ROOT = new URL('../../', import.meta.url);
const DOCUMENTED_MODEL = 'claude-haiku-5-5';
/** What is tried there has tests of its own. */
const SECTIONS_APART = /\n### Reading a stream\n[^]*?(?=\n##)|\n## Existing SDKs\n[^]*?(?=\n## )/g;

const RUN: Readonly<Record<string, (file: string) => readonly string[]>> = {
  sh: (file) => ['sh', file],
  python: (file) => ['python3', file],
  ts: (file) => [process.execPath, '--import', 'tsx', file],
};
/** What other programs read, what an operator types, frameworks that are not here, pictures; and `text`, which is the output of the block above it. */
const NOT_RUN: readonly string[] = ['console', 'dockerfile', 'js', 'yaml', 'ini', 'promql', 'mermaid', 'text'];

type Example = Block & { readonly page: string; readonly output: string | undefined };

const examples: readonly Example[] = Object.keys(PAGES).flatMap((page) => {
  const blocks = blocksOf(readPage(page).replaceAll(SECTIONS_APART, ''));
  return blocks.map((block, at) => ({ ...block, page, output: blocks[at + 1]?.language === 'text' ? blocks[at + 1]?.text : undefined }));
});

function of(language: string): readonly Example[] {
  return examples.filter((example) => example.language === language);
}

test('every block of every page is of a language that is run, compared, or of another program', () => {
  const known = [...Object.keys(RUN), ...NOT_RUN, 'json', 'sse'];
  assert.deepEqual(examples.filter(({ language }) => !known.includes(language)), []);
  const fences = Object.keys(PAGES).flatMap((page) => [...readPage(page).matchAll(/^```.*$/gm)]);
  assert.equal(fences.length, 2 * Object.keys(PAGES).flatMap((page) => blocksOf(readPage(page))).length, 'a block without a language');
});

/** Runs a program in front of a gateway that answers from the sandbox. */
async function run(t: TestContext, { language, text }: Example): Promise<{ code: number | null; out: string; err: string }> {
  const gateway = await startGateway(t);
  const folder = mkdtempSync(join(tmpdir(), 'example-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, language === 'ts' ? 'example.mts' : 'example');
  const model = text.includes('tool_call_id') ? 'fake-tool-loop' : 'fake-chat';
  const runnable = text
    .replaceAll(DOCUMENTED_MODEL, model)
    .replaceAll("'./src/", `'${ROOT.href}src/`)
    .replaceAll("'chat-completion-gateway/sandbox'", `'${ROOT.href}src/sandbox/index.ts'`)
    .replaceAll("'chat-completion-gateway'", `'${ROOT.href}src/index.ts'`);
  writeFileSync(file, runnable);
  const [command = '', ...words] = RUN[language]?.(file) ?? [];
  const variables = { GATEWAY: gateway.url, TOKEN, PROVIDER: gateway.sandbox.baseUrls.openai };
  const env = { PATH: process.env['PATH'] ?? '', ...sandboxEnvironment(gateway.sandbox), ...variables };
  const child = spawn(command, words, { cwd: fileURLToPath(ROOT), env, stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (more: string) => (out += more));
  child.stderr.setEncoding('utf8').on('data', (more: string) => (err += more));
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })));
}

for (const [language, tool] of [['sh', 'curl'], ['python', 'python3'], ['ts', process.execPath]] as const) {
  const skip = spawnSync(tool, ['--version']).status === 0 ? false : `no ${tool} here`;
  of(language).forEach((example, index) => {
    test(`${example.page}: the example ${index + 1} in ${language} works`, { skip }, async (t) => {
      const { code, out, err } = await run(t, example);
      assert.equal(code, 0, err);
      assert.notEqual(out, '');
      assert.ok(!out.includes('"error":{'), out);
      assert.ok(!out.includes('"kind"') || example.output?.includes('"kind"') === true, out);
      if (example.output !== undefined) assert.equal(out, example.output);
    });
  });
}

/** The places of a JSON value with their types, e.g. `message.content[].type string`. */
function placesOf(value: unknown, place = ''): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item) => placesOf(item, `${place}[]`));
  if (typeof value === 'object' && value !== null) return Object.entries(value).flatMap(([name, inner]) => placesOf(inner, `${place}.${name}`));
  return [`${place} ${typeof value}`];
}

/** Places that are in no real value. What a tool takes is its own, and a cached part is not the sandbox's to report. */
function unreal(example: unknown, real: readonly unknown[]): readonly string[] {
  const places = new Set(real.flatMap((value) => placesOf(value)));
  return placesOf(example).filter((place) => !places.has(place) && !/\.arguments\./.test(place));
}

const WEATHER = { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string', enum: ['Lisbon'] } }, required: ['city'] } };

async function realAnswers(gateway: RunningGateway): Promise<readonly unknown[]> {
  const requests = [
    { provider: 'anthropic', model: 'fake-thinking' },
    { provider: 'gemini', model: 'fake-tool-loop', tools: [WEATHER] },
  ];
  return Promise.all(requests.map(async (request) => (await gateway.chat({ ...request, messages: [user('x')] })).body));
}

test('requests and messages of the pages are accepted', async (t) => {
  const gateway = await startGateway(t);
  type Value = { readonly role?: string; readonly messages?: unknown; readonly content?: readonly { readonly tool_call_id?: string }[] };
  const values = of('json').map(({ text }) => JSON.parse(text) as Value);
  const requests = values.flatMap((value): readonly object[] => {
    if (value.messages !== undefined) return [value];
    if (value.role === 'user') return [{ model: 'fake-chat', messages: [value] }];
    if (value.role !== 'tool') return [];
    const call = { type: 'tool_call', id: value.content?.[0]?.tool_call_id, name: 'weather', arguments: {} };
    return [{ model: 'fake-chat', messages: [user('x'), { role: 'assistant', content: [call] }, value], tools: [WEATHER] }];
  });
  assert.equal(requests.length, 6);
  for (const request of requests) {
    const { status, body } = await gateway.chat(request);
    assert.deepEqual([status, body.error], [200, undefined]);
  }
});

test('answers and lists of models on the pages have the places of real ones', async (t) => {
  const gateway = await startGateway(t);
  const answers = await realAnswers(gateway);
  const models: unknown = await (await gateway.get('/v1/models')).json();
  let compared = 0;
  for (const { text } of of('json')) {
    const value = JSON.parse(text) as object;
    if ('stop_reason' in value) assert.deepEqual(unreal(value, answers), []);
    else if ('models' in value) assert.deepEqual(unreal(value, [models]), []);
    else continue;
    compared += 1;
  }
  assert.equal(compared, 3);
});

test('events on the pages have the places of real ones', async (t) => {
  const gateway = await startGateway(t);
  const streams = await Promise.all([
    gateway.stream({ model: 'fake-thinking', messages: [user('x')] }),
    gateway.stream({ provider: 'gemini', model: 'fake-tool-loop', messages: [user('x')], tools: [WEATHER] }),
  ]);
  const real = streams.flat();
  assert.equal(of('sse').length, 2);
  for (const { text } of of('sse')) {
    for (const event of framesOf(`${text.replaceAll('{…}', '{}')}\n`)) {
      assert.deepEqual(unreal(event, real.filter(({ type }) => type === event.type)), []);
    }
  }
});
