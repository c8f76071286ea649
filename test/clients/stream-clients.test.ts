/** The documents' clients, taken out of their page and run: they read a good stream, and fail when it is not whole. */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { startGateway, TOKEN } from '../running-gateway.ts';
import { blocksOf, readPage } from '../readme.ts';
import { chunkOf, CHUNKED_HEAD, LAST_CHUNK, startRawServer } from '../upstream/raw-server.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DOCUMENTED_MODEL = 'claude-haiku-5-5';

type Client = {
  /** The language of its block. */
  readonly language: string;
  readonly tool: string;
  readonly file: string;
  readonly words: (file: string) => readonly string[];
};

const CLIENTS: readonly Client[] = [
  { language: 'sh', tool: 'curl', file: 'client.sh', words: (file) => ['sh', file] },
  { language: 'python', tool: 'python3', file: 'client.py', words: (file) => ['python3', file] },
  { language: 'ts', tool: process.execPath, file: 'client.mts', words: (file) => [process.execPath, '--import', 'tsx', file] },
];

function isAbsent(tool: string): string | false {
  return spawnSync(tool, ['--version']).status === 0 ? false : `no ${tool} here`;
}

/** The client in the section on reading a stream. */
function documentedClient(language: string): string {
  const section = readPage('src/callers/native/README.md').split('### Reading a stream\n')[1]?.split(/^##/m)[0] ?? '';
  const blocks = blocksOf(section).filter((block) => block.language === language);
  assert.equal(blocks.length, 1, `${blocks.length} blocks of ${language}`);
  return blocks[0]?.text ?? '';
}

type Outcome = { readonly code: number | null; readonly out: string; readonly err: string };

/** Runs a client to its end; `onOut` is told what it has printed so far. */
function run(t: TestContext, client: Client, address: string, model: string, onOut?: (out: string) => void): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'client-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, client.file);
  writeFileSync(file, documentedClient(client.language).replaceAll(DOCUMENTED_MODEL, model));
  const [command = '', ...words] = client.words(file);
  const child = spawn(command, words, { cwd: ROOT, env: { ...process.env, GATEWAY: address, TOKEN }, stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    onOut?.(out);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })));
}

/** The text of an answer as a client printed it: curl prints whole events. */
function textOf(client: Client, out: string): string {
  if (client.language !== 'sh') return out;
  const events = out.trim().split('\n').map((line) => JSON.parse(line) as { type: string; text?: string });
  return events.map(({ type, text }) => (type === 'text_delta' ? text : '')).join('');
}

const STREAM = [
  ': keep-alive\n\n',
  'data: {"type":"thinking_delta","text":"A river?"}\n\n',
  'data: {"type":"text_delta","text":"La Saône"}\n\n',
  ': keep-alive\n\n',
  'data: {"type":"text_delta","text":", 🌊"}\n\n',
].join('');
const DONE = 'data: {"type":"done","provider":"p","stop_reason":"end_turn","message":{"role":"assistant","content":[]}}\n\n';

for (const client of CLIENTS) {
  describe(`the documents' client in ${client.language}`, { skip: isAbsent(client.tool), concurrency: true }, () => {
    test('prints a good answer and succeeds', async (t) => {
      const gateway = await startGateway(t);
      const { code, out, err } = await run(t, client, gateway.url, 'fake-chat');
      assert.equal(code, 0, err);
      assert.match(textOf(client, out), /^Hello from fake-chat! You wrote: Name a river in France\. .*machine\.$/);
    });

    test('says why there is no stream', async (t) => {
      const gateway = await startGateway(t);
      const { code, out, err } = await run(t, client, gateway.url, 'fake-refusal');
      assert.notEqual(code, 0);
      assert.match(out + err, /"kind":"refusal"/);
    });

    test('fails when the stream does, and says why', async (t) => {
      const gateway = await startGateway(t, { GATEWAY_MAX_RETRIES: '0' });
      const { code, out, err } = await run(t, client, gateway.url, 'fake-truncate');
      assert.notEqual(code, 0);
      assert.match(out, /Hello /);
      assert.match(out + err, /ended the stream before the answer was complete/);
    });

    test('reads frames that come a byte at a time, with comments between them', async (t) => {
      const bytes = Buffer.from(STREAM + DONE);
      const chunks = Array.from(bytes, (_byte, at) => `1\r\n${bytes.toString('latin1', at, at + 1)}\r\n`).join('');
      const server = await startRawServer(t, { onRequest: (socket) => socket.end(Buffer.from(CHUNKED_HEAD + chunks + LAST_CHUNK, 'latin1')) });
      const { code, out, err } = await run(t, client, server.baseUrl.origin, 'm');
      assert.equal(code, 0, err);
      assert.equal(textOf(client, out), 'La Saône, 🌊');
    });

    test('prints each piece before the next one comes', { timeout: 120_000 }, async (t) => {
      let provider: Socket | undefined;
      const server = await startRawServer(t, {
        onRequest: (socket) => {
          provider = socket;
          socket.write(CHUNKED_HEAD + chunkOf(STREAM));
        },
      });
      const outcome = await run(t, client, server.baseUrl.origin, 'm', (out) => {
        if (out.includes('🌊')) provider?.end(chunkOf(DONE) + LAST_CHUNK);
      });
      assert.equal(outcome.code, 0, outcome.err);
    });

    for (const [what, end] of [['cleanly', LAST_CHUNK], ['by a broken connection', '']] as const) {
      test(`fails when the stream is cut ${what} on its way`, async (t) => {
        const server = await startRawServer(t, { onRequest: (socket) => socket.end(CHUNKED_HEAD + chunkOf(STREAM) + end) });
        const { code, out } = await run(t, client, server.baseUrl.origin, 'm');
        assert.notEqual(code, 0);
        assert.equal(textOf(client, out), 'La Saône, 🌊');
      });
    }
  });
}
