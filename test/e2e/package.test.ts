/** The package as it is installed: what is in it, its types, and the library wherever programs run it. */

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { buildSync } from 'esbuild';
import { VERSION } from '../../src/version.ts';
import { PACKAGE_BYTES_MAX, renderBillOfMaterials } from '../release.ts';
import { ROOT } from './running-process.ts';

const NAME = 'chat-completion-gateway';
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');

type Manifest = { readonly name: string; readonly version: string; readonly license: string; readonly description: string; readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>> };

/** A folder with a program that has the package installed, and nothing else. */
const PROGRAM = install();
const PACKAGE = join(PROGRAM, 'node_modules', NAME);
const MANIFEST = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as Manifest;

function install(): string {
  const folder = mkdtempSync(join(tmpdir(), 'package-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  for (const file of ['package.json', 'tsconfig.json', 'README.md', 'LICENSE', 'src']) cpSync(join(ROOT, file), join(folder, file), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  // Builds it first, as an installation from git does.
  execFileSync('npm', ['pack', '--silent'], { cwd: folder });
  const program = join(folder, 'program');
  mkdirSync(join(program, 'node_modules', NAME), { recursive: true });
  execFileSync('tar', ['-xzf', join(folder, tarballOf(folder)), '-C', join(program, 'node_modules', NAME), '--strip-components=1']);
  writeFileSync(join(program, 'package.json'), '{"type":"module"}');
  cpSync(join(ROOT, 'test/e2e/consumer.mjs'), join(program, 'consumer.mjs'));
  return program;
}

function tarballOf(folder: string): string {
  return readdirSync(folder).find((file) => file.endsWith('.tgz')) ?? '';
}

const GOOD = {
  text: 'Good.',
  events: ['text_delta', 'done'],
  refused: 'colour: unknown field',
  mounted: 200,
  listening: 200,
  version: VERSION,
  drained: true,
};

/** What a program of the folder prints, which has to end by itself. */
function outputOf(...words: readonly string[]): unknown {
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { cwd: PROGRAM, encoding: 'utf8', env: { PATH: process.env['PATH'] ?? '' } });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
}

test(`the package has at most ${PACKAGE_BYTES_MAX} bytes, what runs, the types of what is exported, README and licence`, () => {
  const folder = join(PROGRAM, '..');
  assert.ok(readFileSync(join(folder, tarballOf(folder))).length <= PACKAGE_BYTES_MAX);
  const files = (readdirSync(PACKAGE, { recursive: true, encoding: 'utf8' })).filter((file) => /\.\w+$|LICENSE/.test(file));
  const elsewhere = files.filter((file) => !/^dist\/.*\.(js|d\.ts)$/.test(file)).sort();
  assert.deepEqual(elsewhere, ['LICENSE', 'README.md', 'package.json']);
  assert.deepEqual(files.filter((file) => /demo|test/.test(file)), []);
});

test('every export of the package is there, and none is private', () => {
  const targets = Object.values(MANIFEST.exports).flatMap((target) => (typeof target === 'string' ? [target] : Object.values(target)));
  assert.deepEqual(targets.filter((target) => !existsSync(join(PACKAGE, target))), []);
  assert.deepEqual(Object.keys(MANIFEST.exports), ['.', './sandbox', './package.json']);
  assert.ok(!('private' in MANIFEST));
});

test('the library loads nothing of the sandbox, the demonstration, the process or its commands', () => {
  const { metafile } = buildSync({ entryPoints: [join(ROOT, 'src/index.ts')], bundle: true, platform: 'node', format: 'esm', metafile: true, write: false });
  const loaded = Object.keys(metafile.inputs).map((file) => file.replace(/^.*?src\//, ''));
  assert.ok(loaded.length > 50);
  assert.deepEqual(loaded.filter((file) => /^(sandbox|operate|workers)\/|^(demo|main)\.ts/.test(file)), []);
});

test('what is loaded stands in files of its own: the library in none that the sandbox or a command needs alone', () => {
  const reached = new Set<string>();
  const visit = (file: string): void => {
    if (reached.has(file)) return;
    reached.add(file);
    for (const [, next = ''] of readFileSync(file, 'utf8').matchAll(/(?:from|import) ?"(\.[^"]+\.js)"/g)) visit(join(file, '..', next));
  };
  visit(join(PACKAGE, 'dist/index.js'));
  assert.deepEqual([...reached].filter((file) => /fake-tool-loop/.test(readFileSync(file, 'utf8'))), []);
});

test('the library runs under the permission model, allowed to read nothing but itself', () => {
  const permission = process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission';
  const mayUseNet = process.allowedNodeEnvironmentFlags.has('--allow-net') ? ['--allow-net'] : [];
  assert.deepEqual(outputOf('--no-warnings', permission, ...mayUseNet, `--allow-fs-read=${PROGRAM}/`, 'consumer.mjs', 'alone'), GOOD);
});

test('the library runs in a worker thread, bundled into one file, and beside another version of itself', () => {
  buildSync({
    stdin: { contents: `export * from '${NAME}';`, resolveDir: PROGRAM },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: join(PROGRAM, 'bundle.mjs'),
    logLevel: 'silent',
  });
  const other = join(PROGRAM, 'node_modules/other-version');
  cpSync(PACKAGE, other, { recursive: true });
  for (const file of readdirSync(join(other, 'dist/chunks')).concat('../index.js')) {
    const path = join(other, 'dist/chunks', file);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(`"${VERSION}"`, '"99.0.0"'));
  }
  writeFileSync(
    join(PROGRAM, 'together.mjs'),
    `import { Worker } from 'node:worker_threads';
import * as bundle from './bundle.mjs';
import * as other from 'other-version';
import { round } from './consumer.mjs';
const inWorker = new Promise((resolve, reject) => new Worker(new URL('./consumer.mjs', import.meta.url)).on('message', resolve).on('error', reject));
console.log(JSON.stringify(await Promise.all([round(), inWorker, round(bundle), round(other)])));`,
  );
  assert.deepEqual(outputOf('together.mjs'), [GOOD, GOOD, GOOD, { ...GOOD, version: '99.0.0' }]);
});

test('errors of the package say what they are wherever they are printed', () => {
  writeFileSync(
    join(PROGRAM, 'errors.mjs'),
    `import { inspect } from 'node:util';
import { createGateway, GatewayError } from '${NAME}';
let refused;
try { createGateway({}); } catch (error) { refused = error; }
const failed = new GatewayError('Too late.', { kind: 'unknown', status: 504, requestId: 'r1' });
console.log(JSON.stringify([refused, failed].map((error) => [inspect(error).split('\\n')[0], String(error).split('\\n')[0], error.constructor.name])));`,
  );
  assert.deepEqual(outputOf('errors.mjs'), [
    ['ConfigError: providers: required; e.g. { anthropic: { key } }', 'ConfigError: providers: required; e.g. { anthropic: { key } }', 'ConfigError'],
    ['GatewayError: Too late.', 'GatewayError: Too late.', 'GatewayError'],
  ]);
});

const PLAIN_PROGRAM = `import { ConfigError, createGateway, GatewayError, optionsFrom } from '${NAME}';
import type { ChatEvent, ChatReply, ChatRequest, Message, Part, Tool, Usage } from '${NAME}';
const gateway = createGateway({ ...optionsFrom({}), providers: { mine: { like: 'compat', baseUrl: 'https://x' } }, requestTimeout: '30s', maxRetries: 2, dialects: [] });
const messages: Message[] = [{ role: 'user', text: 'x' }];
const tools: readonly Tool[] = [{ name: 'x', parameters: { type: 'object' } }];
export async function loop(request: ChatRequest): Promise<[Part | undefined, Usage | undefined]> {
  const reply: ChatReply = await gateway.chat({ ...request, messages, tools }, { caller: 'me' });
  messages.push(reply.message);
  for (const call of reply.tool_calls ?? []) messages.push({ role: 'tool', content: [{ type: 'tool_result', tool_call_id: call.id, content: String(call.arguments['city']) }] });
  for await (const event of gateway.stream(request)) if (event.type === 'tool_call') event.tool_call.name.length;
  await using other = createGateway({ providers: {}, authenticate: async ({ headers }) => (headers['x-user'] === 'ada' ? 'ada' : undefined) });
  await other.models();
  return [reply.message.content[0], reply.usage];
}
export const kindOf = (error: unknown): string | undefined => (error instanceof GatewayError ? error.kind : error instanceof ConfigError ? error.problems[0] : undefined);
export type Types = ChatEvent['type'];
// @ts-expect-error: no such option
createGateway({ providers: {}, requestTimout: 1 });
// @ts-expect-error: no such field
void gateway.chat({ model: 'm', messages, modle: 1 });
`;

const NODE_PROGRAM = `import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { createGateway } from '${NAME}';
const gateway = createGateway({
  providers: { openai: { key: process.env['OPENAI_API_KEY'] } },
  log: console,
  fetch,
  authenticate: (request: IncomingMessage) => request.socket.remoteAddress,
});
createGateway({ providers: {}, fetch: async () => new Response(), authenticate: (request) => request.url });
createServer(gateway.handler);
createServer((request, response) => gateway.handler(request, response));
void gateway.chat({ model: 'm', messages: [{ role: 'user', text: 'x' }] }, { signal: AbortSignal.timeout(5) });
`;

/** What a program exports has types that its declarations have to name. */
const LIBRARY_PROGRAM = `import { createGateway } from '${NAME}';
import type { CallOptions, GatewayOptions, ProviderOptions, RouteOptions, SettingOptions } from '${NAME}';
import { startSandbox } from '${NAME}/sandbox';
export const options = { providers: {}, authenticate: (request) => request.url } satisfies GatewayOptions;
export const gateway = createGateway(options);
export const { handler, listen, chat, stream, models, reload } = gateway;
export const reloaded = gateway.reload(options);
export const ask = async (call: CallOptions) => gateway.chat({ model: 'm', messages: [] }, call);
export const sandbox = await startSandbox();
export const { clouds, calls, reply } = sandbox;
export type Named = readonly [ProviderOptions, RouteOptions, SettingOptions];
`;

/** A suite that takes the test double alone. */
const SUITE_PROGRAM = `import { startSandbox } from '${NAME}/sandbox';
await using sandbox = await startSandbox();
sandbox.reply('m', 'x', ({ json }) => JSON.stringify(json));
`;

for (const [resolution, module] of [['nodenext', 'nodenext'], ['bundler', 'esnext']] as const) {
  test(`the types serve strict programs that resolve by ${resolution}, with and without those of Node`, () => {
    const programs = [['plain.ts', PLAIN_PROGRAM, []], ['node.ts', NODE_PROGRAM, ['node']], ['library.ts', LIBRARY_PROGRAM, []], ['suite.ts', SUITE_PROGRAM, []]] as const;
    for (const [file, text, types] of programs) {
      writeFileSync(join(PROGRAM, file), text);
      const config = {
        compilerOptions: {
          target: 'es2022', lib: ['es2022'], module, moduleResolution: resolution, types, typeRoots: [join(ROOT, 'node_modules/@types')],
          strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, verbatimModuleSyntax: true, skipLibCheck: types.length > 0, declaration: true, noEmit: true,
        },
        files: [file],
      };
      writeFileSync(join(PROGRAM, 'tsconfig.json'), JSON.stringify(config));
      const { status, stdout } = spawnSync(process.execPath, [TSC, '-p', PROGRAM], { encoding: 'utf8' });
      assert.equal(status, 0, stdout);
    }
  });
}

test('the bill of materials names the package, its hash and no component, and is the same each time', () => {
  const bill = renderBillOfMaterials(MANIFEST, Buffer.from('a tarball'));
  assert.equal(bill, renderBillOfMaterials(MANIFEST, Buffer.from('a tarball')));
  const { bomFormat, components, metadata, dependencies } = JSON.parse(bill) as {
    readonly bomFormat: string;
    readonly components: readonly unknown[];
    readonly metadata: { readonly component: { readonly name: string; readonly version: string; readonly hashes: readonly unknown[] } };
    readonly dependencies: readonly unknown[];
  };
  assert.deepEqual([bomFormat, components, metadata.component.name, metadata.component.version], ['CycloneDX', [], NAME, VERSION]);
  assert.deepEqual(metadata.component.hashes, [{ alg: 'SHA-256', content: '2469d8880c5d140fa5774872d571fc600547eda0b1b29545ef8bf19b20aa3837' }]);
  assert.deepEqual(dependencies, [{ ref: `pkg:npm/${NAME}@${VERSION}`, dependsOn: [] }]);
});
