/** The rules of the house: which room may import and touch what, and what no file of src may hold. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { files, imports, purposeOf, ROOMS, SRC, touchedBy, touchedByFile, unknownModules } from './house.ts';

test('src imports nothing but node: modules and itself', () => {
  const foreign = imports.filter(({ specifier }) => !specifier.startsWith('node:') && !specifier.startsWith('.'));
  assert.deepEqual(foreign.map(({ from, specifier }) => `${from.path}: ${specifier}`), []);
});

test('imports between the rooms point one way', () => {
  const wrong = imports.flatMap(({ from, specifier, isType }) => {
    if (!specifier.startsWith('.')) return [];
    const target = normalize(join(dirname(from.path), specifier)).split('/')[0] ?? '';
    const room = ROOMS[from.room];
    if (room === undefined) return [`${from.room} is in no plan of the house`];
    if (target === from.room || room.values.includes(target) || (isType && room.types?.includes(target) === true)) return [];
    return [`${from.path} → ${specifier}`];
  });
  assert.deepEqual(wrong, []);
});

test('what serves loads nothing of what is beside it, unless that is asked for', () => {
  const isBeside = (path: string): boolean => ROOMS[path.split('/')[0] ?? '']?.isBeside === true;
  const loaded = imports.filter(({ from, specifier, isLazy }) => !isLazy && specifier.startsWith('.') && !isBeside(from.path) && isBeside(normalize(join(dirname(from.path), specifier))));
  assert.deepEqual(loaded.map(({ from, specifier }) => `${from.path} → ${specifier}`), []);
});

test('imports form no loop of files, not even of types', () => {
  const edges = new Map<string, string[]>();
  for (const { from, specifier } of imports) {
    if (!specifier.startsWith('.')) continue;
    edges.set(from.path, [...(edges.get(from.path) ?? []), normalize(join(dirname(from.path), specifier))]);
  }
  const loops: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      loops.push([...path.slice(path.indexOf(file)), file].join(' → '));
      return;
    }
    if (done.has(file)) return;
    for (const next of edges.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  };
  for (const { path } of files) visit(path, []);
  assert.deepEqual(loops, []);
});

test('the modules of Node that src imports are known to give a capability or none', () => {
  assert.deepEqual(unknownModules(), []);
});

for (const [room, { touches }] of Object.entries(ROOMS)) {
  test(`${room} touches ${touches.join(', ') || 'nothing'}, no more and no less`, () => {
    assert.deepEqual(touchedBy(room), touches);
  });
}

test('every file that touches something says at its head what it is', () => {
  assert.deepEqual(files.filter((file) => touchedByFile(file).length > 0 && purposeOf(file) === '').map(({ path }) => path), []);
});

const FORBIDDEN: readonly (readonly [string, RegExp, readonly string[]])[] = [
  ['any', /^(?!\s*(\/\/|\*|\/\*)).*(\bas any\b|: any\b(?! [a-z]|`)|<any>)/m, []],
  ['a silenced compiler', /@ts-(ignore|nocheck|expect-error)/, []],
  ['evaluated code', /\beval\(|new Function\(|node:vm/, []],
  ['globals by another name', /\bglobalThis\b/, []],
  ['written files', /\bwriteFile|\bappendFile|createWriteStream/, []],
  ['imports of what is found out at run time', /\bimport\((?!'\.[^']*'\))/, []],
  ['prototype-changing copies', /Object\.assign\(/, []],
  // V8 makes such a function in the old generation, where it keeps what it reaches until a full collection.
  ['functions behind the assignment of a member', /\w\.#?\w+ (\?\?)?= (async )?(function\b|\([^()]*\)(: [^=]+)? =>|\w+ =>)/, ['upstream/connection-pool.ts']],
  ['the global agent', /globalAgent/, []],
  // A date that a provider or a certificate names, and the start of the process; what lasts is measured by performance.now().
  ['the wall clock', /Date\.now\(/, ['gateway/gateway.ts', 'http/exchange.ts', 'metrics.ts', 'operate/lookout.ts']],
  ['headersDistinct', /Distinct\b/, []],
];

for (const [what, pattern, except] of FORBIDDEN) {
  test(`src holds no ${what}`, () => {
    const found = files.filter(({ path, text }) => pattern.test(text) && !except.includes(path));
    assert.deepEqual(found.map(({ path }) => path), []);
  });
}

test('the package has no runtime dependency', () => {
  const manifest = JSON.parse(readFileSync(join(SRC, '../package.json'), 'utf8')) as Record<string, unknown>;
  for (const key of ['dependencies', 'optionalDependencies', 'peerDependencies', 'bundledDependencies']) {
    assert.equal(manifest[key], undefined, key);
  }
});

test('nothing of the sandbox is loaded with the gateway, neither by the program without its flag nor by the library', () => {
  const loaded = new Set<string>();
  const load = (path: string): void => {
    if (loaded.has(path)) return;
    loaded.add(path);
    for (const { from, specifier, isType } of imports) {
      const isLater = from.text.includes(`import('${specifier}')`);
      if (from.path === path && specifier.startsWith('.') && !isType && !isLater) load(normalize(join(dirname(path), specifier)));
    }
  };
  for (const entry of ['main.ts', 'app.ts', 'index.ts']) load(entry);
  assert.deepEqual([...loaded].filter((path) => path.startsWith('sandbox/')), []);
  assert.ok(loaded.size > 50);
});
