/** The rules of the house: which folder may import which, and what no file of src may hold. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../src', import.meta.url));

/** A room: a folder of src, or a file directly in it. `types` may be imported as types only. */
const ALLOWED: Readonly<Record<string, { readonly values: readonly string[]; readonly types?: readonly string[] }>> = {
  base: { values: [] },
  core: { values: ['base'] },
  config: { values: ['base', 'core'] },
  'metrics.ts': { values: ['base', 'core'] },
  callers: { values: ['base', 'core'] },
  providers: { values: ['base', 'core'] },
  upstream: { values: ['base', 'core'] },
  gateway: { values: ['base', 'core', 'metrics.ts', 'upstream'] },
  http: { values: ['base', 'core', 'callers', 'gateway'], types: ['config', 'metrics.ts'] },
  sandbox: { values: ['base'] },
  'version.ts': { values: [] },
  'app.ts': { values: ['base', 'core', 'config', 'metrics.ts', 'providers', 'upstream', 'gateway', 'http'] },
  'main.ts': { values: ['app.ts', 'config', 'base', 'http', 'providers', 'version.ts'] },
  'demo.ts': { values: ['app.ts', 'config', 'base', 'providers', 'sandbox', 'version.ts'] },
};

type Import = { readonly from: string; readonly specifier: string; readonly isType: boolean };

function sourceFiles(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? sourceFiles(path) : path.endsWith('.ts') ? [path] : [];
  });
}

const files = sourceFiles(root);
const texts = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]));

const imports: readonly Import[] = files.flatMap((file) =>
  [...(texts.get(file) ?? '').matchAll(/^(?:import|export)(\s+type)?\b[^'"]*?\bfrom\s+['"]([^'"]+)['"]/gm)].map((match) => ({
    from: file,
    isType: match[1] !== undefined,
    specifier: match[2] ?? '',
  })),
);

function roomOf(file: string): string {
  return relative(root, file).split('/')[0] ?? '';
}

test('src imports nothing but node: modules and itself', () => {
  const foreign = imports.filter(({ specifier }) => !specifier.startsWith('node:') && !specifier.startsWith('.'));
  assert.deepEqual(foreign, []);
});

test('imports between the rooms point one way', () => {
  const wrong = imports.flatMap(({ from, specifier, isType }) => {
    if (!specifier.startsWith('.')) return [];
    const room = roomOf(from);
    const target = roomOf(normalize(join(dirname(from), specifier)));
    const allowed = ALLOWED[room];
    if (allowed === undefined) return [`${room} is in no plan of the house`];
    if (target === room || allowed.values.includes(target) || (isType && allowed.types?.includes(target) === true)) return [];
    return [`${relative(root, from)} → ${specifier}`];
  });
  assert.deepEqual(wrong, []);
});

test('imports form no loop of files, not even of types', () => {
  const edges = new Map<string, string[]>();
  for (const { from, specifier } of imports) {
    if (!specifier.startsWith('.')) continue;
    edges.set(from, [...(edges.get(from) ?? []), normalize(join(dirname(from), specifier))]);
  }
  const loops: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      loops.push([...path.slice(path.indexOf(file)), file].map((step) => relative(root, step)).join(' → '));
      return;
    }
    if (done.has(file)) return;
    for (const next of edges.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  assert.deepEqual(loops, []);
});

const FORBIDDEN: readonly (readonly [string, RegExp, readonly string[]])[] = [
  ['any', /^(?!\s*(\/\/|\*|\/\*)).*(\bas any\b|: any\b(?! [a-z]|`)|<any>)/m, []],
  ['a silenced compiler', /@ts-(ignore|nocheck|expect-error)/, []],
  ['evaluated code', /\beval\(|new Function\(|node:vm/, []],
  ['other processes', /node:child_process|node:cluster|node:worker_threads/, []],
  ['written files', /\bwriteFile|\bappendFile|createWriteStream/, []],
  ['dynamic imports', /\bimport\(/, []],
  ['prototype-changing copies', /Object\.assign\(/, []],
  ['the global agent', /globalAgent/, []],
  // A date that a provider names, and the start of the process; what lasts is measured by performance.now().
  ['the wall clock', /Date\.now\(/, ['gateway/gateway.ts', 'metrics.ts']],
  ['headersDistinct', /Distinct\b/, []],
];

for (const [what, pattern, except] of FORBIDDEN) {
  test(`src holds no ${what}`, () => {
    const found = files.filter((file) => pattern.test(texts.get(file) ?? '') && !except.includes(relative(root, file)));
    assert.deepEqual(found.map((file) => relative(root, file)), []);
  });
}

test('the package has no runtime dependency', () => {
  const manifest = JSON.parse(readFileSync(join(root, '../package.json'), 'utf8')) as Record<string, unknown>;
  for (const key of ['dependencies', 'optionalDependencies', 'peerDependencies', 'bundledDependencies']) {
    assert.equal(manifest[key], undefined, key);
  }
});
