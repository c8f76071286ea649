/**
 * The plan of the house as data: which room may import which, and what of the machine it may touch. house.test.ts holds
 * src to it; the README's table is printed from it.
 */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const SRC = fileURLToPath(new URL('../src', import.meta.url));
const TEST = fileURLToPath(new URL('.', import.meta.url));

/** What a room can touch beyond its own memory. Timers and the clock are everybody's. */
export const CAPABILITIES = ['files', 'sockets', 'processes', 'environment', 'secrets', 'exit'] as const;
export type Capability = (typeof CAPABILITIES)[number];

/** Modules that give a capability, and those that give none. A module in neither list is a question to ask. */
const CAPABLE_MODULES: Readonly<Record<string, Capability>> = {
  'node:fs': 'files',
  'node:fs/promises': 'files',
  // Heap snapshots.
  'node:v8': 'files',
  'node:net': 'sockets',
  'node:http': 'sockets',
  'node:https': 'sockets',
  'node:http2': 'sockets',
  'node:tls': 'sockets',
  'node:dns': 'sockets',
  'node:dns/promises': 'sockets',
  'node:dgram': 'sockets',
  'node:child_process': 'processes',
  'node:cluster': 'processes',
  'node:worker_threads': 'processes',
};
const HARMLESS_MODULES: readonly string[] = ['node:buffer', 'node:crypto', 'node:events', 'node:os', 'node:perf_hooks', 'node:stream', 'node:zlib'];
/** What a capable module also has that touches nothing: questions about text, tables, the check of a certificate, figures. */
const HARMLESS_NAMES: readonly string[] = ['BlockList', 'isIP', 'isIPv4', 'isIPv6', 'STATUS_CODES', 'createSecureContext', 'getHeapStatistics'];

/** What needs no import, looked for in the code without its comments. */
const CAPABLE_CODE: readonly (readonly [Capability, RegExp])[] = [
  ['sockets', /(?<![.\w#'`])fetch\(|(?<!typeof )= fetch\b/],
  ['environment', /\bprocess\b\W{1,3}env\b/],
  ['secrets', /\breveal\(\)/],
  ['exit', /\bprocess\.(?:exit|abort|kill|on|once)\b/],
];

export type Room = {
  /** What is in it, for the README. */
  readonly is: string;
  readonly values: readonly string[];
  /** May be imported as types only. */
  readonly types?: readonly string[];
  readonly touches: readonly Capability[];
  /** Part of the package, but of no gateway that serves. */
  readonly isBeside?: true;
};

/** A room: a folder of src, or a file directly in it. */
export const ROOMS: Readonly<Record<string, Room>> = {
  base: { is: 'tools that know nothing of chats: JSON, SSE, metrics text, log lines, secrets', values: [], touches: ['files', 'sockets', 'secrets'] },
  core: { is: 'the vocabulary: requests, replies, failures, the interfaces to providers and callers', values: ['base'], touches: [] },
  config: { is: 'the table of settings, and how the environment is read', values: ['base', 'core'], touches: ['secrets'] },
  'metrics.ts': { is: 'every metric, declared once', values: ['base', 'core'], touches: [] },
  callers: { is: 'pure codecs, one for each format that callers speak', values: ['base', 'core'], touches: [] },
  providers: { is: 'pure codecs, one for each format that providers speak; the hosts', values: ['base', 'core'], touches: [] },
  limits: { is: 'what each caller may use', values: ['base', 'core'], touches: ['sockets', 'secrets'] },
  routing: { is: 'which target to ask next, and the health of targets and keys', values: ['base', 'core'], touches: [] },
  upstream: { is: 'outbound HTTP: connections, time limits, proxies, retry policy', values: ['base', 'core'], touches: ['sockets', 'secrets'] },
  gateway: { is: 'the one attempt loop: complete, stream, count, models', values: ['base', 'core', 'metrics.ts', 'routing', 'upstream'], touches: [] },
  http: {
    is: 'inbound HTTP: routes, tokens, bodies, event streams',
    values: ['base', 'core', 'gateway', 'limits'],
    types: ['config', 'metrics.ts'],
    touches: ['files', 'sockets', 'secrets'],
  },
  embedded: {
    is: 'the gateway inside another program: calls without a socket, its types, its errors',
    values: ['base', 'core', 'callers', 'http'],
    types: ['config'],
    touches: [],
  },
  operate: {
    is: 'commands besides serving: doctor, probe, dashboard, alerts; loaded when asked for',
    values: ['base', 'core', 'callers', 'providers', 'metrics.ts', 'upstream', 'gateway'],
    types: ['config'],
    touches: ['sockets'],
    isBeside: true,
  },
  workers: {
    is: 'several processes: accepting, starting, adding up metrics; loaded for more than one',
    values: ['base', 'core'],
    types: ['limits', 'metrics.ts', 'routing'],
    touches: ['sockets', 'processes', 'exit'],
  },
  'version.ts': { is: 'the version', values: [], touches: [] },
  'app.ts': {
    is: 'the wiring: the one file that sees every layer',
    values: ['base', 'core', 'callers', 'config', 'metrics.ts', 'providers', 'routing', 'limits', 'upstream', 'gateway', 'http', 'embedded'],
    touches: [],
  },
  'index.ts': {
    is: 'the library: what a program imports',
    values: ['app.ts', 'config', 'embedded', 'providers', 'version.ts'],
    types: ['callers'],
    touches: ['files'],
  },
  'main.ts': {
    is: 'the process: environment, signals, exit codes',
    values: ['app.ts', 'config', 'base', 'http', 'limits', 'metrics.ts', 'operate', 'providers', 'sandbox', 'version.ts', 'workers'],
    touches: ['files', 'environment', 'exit'],
  },
  sandbox: { is: 'the fake provider, for tests and the demonstration; loaded when asked for', values: ['base'], touches: ['sockets', 'exit'], isBeside: true },
  'demo.ts': {
    is: 'what `make demo` shows',
    values: ['app.ts', 'config', 'base', 'providers', 'sandbox', 'version.ts'],
    touches: ['sockets', 'environment', 'exit'],
    isBeside: true,
  },
};

export type SourceFile = {
  /** From src. */
  readonly path: string;
  readonly room: string;
  readonly text: string;
};

export type Import = {
  readonly from: SourceFile;
  readonly specifier: string;
  readonly isType: boolean;
  /** Loaded only when it is asked for: `import('…')`. */
  readonly isLazy: boolean;
  /** Named values; empty for a whole module. */
  readonly names: readonly string[];
};

function readTypeScript(folder: string): readonly string[] {
  return readdirSync(folder).sort().flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? readTypeScript(path) : path.endsWith('.ts') ? [path] : [];
  });
}

function readFiles(folder: string): readonly SourceFile[] {
  return readTypeScript(folder).map((file) => {
    const path = relative(folder, file);
    return { path, room: path.split('/')[0] ?? '', text: readFileSync(file, 'utf8') };
  });
}

export const files: readonly SourceFile[] = readFiles(SRC);

export const imports: readonly Import[] = files.flatMap((from) => [
  ...[...from.text.matchAll(/^(?:(?:import|export)(\s+type)?\b([^'"]*?)\bfrom|import)\s+['"]([^'"]+)['"]/gm)].map(([, type, names = '', specifier = '']) => ({
    from,
    specifier,
    isType: type !== undefined,
    isLazy: false,
    names: (/\{([^}]*)\}/.exec(names)?.[1] ?? '').split(',').map((name) => name.trim().split(' ')[0] ?? '').filter((name) => name !== ''),
  })),
  ...[...from.text.matchAll(/\bimport\('([^']+)'\)/g)].map(([, specifier = '']) => ({ from, specifier, isType: false, isLazy: true, names: [] })),
]);

/** Modules of Node that are in neither list. */
export function unknownModules(): readonly string[] {
  return imports
    .filter(({ specifier }) => specifier.startsWith('node:') && !Object.hasOwn(CAPABLE_MODULES, specifier) && !HARMLESS_MODULES.includes(specifier))
    .map(({ from, specifier }) => `${from.path}: ${specifier}`);
}

/** What the files of a room touch, in the order of CAPABILITIES. */
export function touchedBy(room: string): readonly Capability[] {
  const found = new Set(files.filter((file) => file.room === room).flatMap(touchedByFile));
  return CAPABILITIES.filter((capability) => found.has(capability));
}

/** What one file touches, in the same order. */
export function touchedByFile(file: SourceFile): readonly Capability[] {
  const found = new Set<Capability>();
  for (const { from, specifier, isType, names } of imports) {
    const capability = CAPABLE_MODULES[specifier];
    const isHarmless = names.length > 0 && names.every((name) => HARMLESS_NAMES.includes(name));
    if (from === file && capability !== undefined && !isType && !isHarmless) found.add(capability);
  }
  const code = linesOf(file.text).code.join('\n');
  for (const [capability, pattern] of CAPABLE_CODE) if (pattern.test(code)) found.add(capability);
  return CAPABILITIES.filter((capability) => found.has(capability));
}

/** The first sentence of the comment at the head of a file. */
export function purposeOf({ text }: SourceFile): string {
  const [, comment = ''] = /^(?:#!.*\n)?\/\*\*([^]*?)\*\//.exec(text) ?? [];
  const [first = ''] = comment.replaceAll(/\n \*/g, '\n').trim().split('\n\n');
  return /^[^]*?[.](?=\s|$)/.exec(first.replaceAll(/\s+/g, ' '))?.[0] ?? '';
}

/** The lines that hold code, and how many hold nothing but comment. Blank lines are neither. */
function linesOf(text: string): { readonly code: readonly string[]; readonly comments: number } {
  const code: string[] = [];
  let comments = 0;
  let isInside = false;
  for (const line of text.split('\n').map((whole) => whole.trim())) {
    if (isInside || line.startsWith('//') || line.startsWith('/*')) {
      comments += 1;
      if (isInside || line.startsWith('/*')) isInside = !line.includes('*/');
    } else if (line !== '') code.push(line);
  }
  return { code, comments };
}

export type Size = { readonly code: number; readonly comments: number };

function sizeOf(measured: readonly SourceFile[]): Size {
  const sizes = measured.map(({ text }) => linesOf(text));
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
  return { code: sum(sizes.map(({ code }) => code.length)), comments: sum(sizes.map(({ comments }) => comments)) };
}

export function sizeOfRoom(room: string): Size {
  return sizeOf(files.filter((file) => file.room === room));
}

/** All that a gateway that serves consists of. */
export function sizeOfGateway(): Size {
  return sizeOf(files.filter(({ room }) => ROOMS[room]?.isBeside !== true));
}

export function sizeOfTests(): Size {
  return sizeOf(readFiles(TEST));
}
