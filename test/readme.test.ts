import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { files } from './house.ts';
import { PAGES, readPage, withTables } from './readme.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** What ten minutes are enough for. */
const README_LINES_MAX = 300;

for (const path of Object.keys(PAGES)) {
  test(`the tables of ${path} are what the code says (renew them with: node --import tsx test/readme.ts)`, () => {
    assert.equal(readPage(path), withTables(path));
  });
}

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): readonly string[] {
  const prose = page.replaceAll(/^```[^]*?^```$/gm, '');
  return [...prose.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading.toLowerCase().replaceAll(/[^\w -]/g, '').replaceAll(' ', '-'));
}

test('every link of a page leads somewhere', () => {
  const broken = Object.keys(PAGES).flatMap((path) =>
    [...readPage(path).replaceAll(/^```[^]*?^```$/gm, '').matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link).filter((link) => {
      const [file = '', anchor] = link.split('#');
      const target = file === '' ? path : normalize(join(dirname(path), file));
      if (!existsSync(join(ROOT, target))) return true;
      return anchor !== undefined && !anchorsOf(readPage(target)).includes(anchor);
    }).map((link) => `${path}: ${link}`),
  );
  assert.deepEqual(broken, []);
});

test('every page is reached from the README', () => {
  const linked = [...readPage('README.md').matchAll(/\]\(([^)#]+\.md)/g)].map(([, path]) => path);
  // To what is in `.github`, GitHub itself leads.
  assert.deepEqual(Object.keys(PAGES).filter((path) => path !== 'README.md' && !path.startsWith('.github/') && !linked.includes(path)), []);
});

test("files and folders of src that the README's table of security names exist", () => {
  const [, table = ''] = /\n## Security\n([^]*?)\n## /.exec(readPage('README.md')) ?? [];
  const paths = [...table.matchAll(/`([a-z]+\/[\w./-]*)`/g)].map(([, path = '']) => path);
  assert.ok(paths.length > 5);
  const known = (path: string): boolean => (path.startsWith('test/') ? existsSync(join(ROOT, path)) : isOfSrc(path));
  assert.deepEqual(paths.filter((path) => !known(path)), []);
});

test('every claim of the page on security names files and a test that exist', () => {
  const [, table = ''] = /\n## What is claimed[^]*?\n\|---.*\n([^]*?)\n\n/.exec(readPage('.github/SECURITY.md')) ?? [];
  const rows = table.split('\n').map((row) => /^\| ([^|]+) \| ((?:`[\w./-]+`(?:, )?)+) \| `([\w./-]+)`: ([^|]+) \|$/.exec(row) ?? row);
  assert.deepEqual(rows.filter((row) => typeof row === 'string'), []);
  assert.ok(rows.length >= 30);
  for (const [, claim = '', paths = '', testFile = '', name = ''] of rows) {
    for (const [, path = ''] of paths.matchAll(/`([^`]+)`/g)) assert.ok(isOfSrc(path), `${claim} ${path}`);
    const names = [...readPage(`test/${testFile}`).matchAll(/\b(?:test|describe)\((["'`])(.*?)(?<!\\)\1/g)].map(([, , text = '']) => text.replaceAll('\\', ''));
    assert.ok(names.some((text) => text === name || (text.includes('${') && text.includes(name))), `${claim} ${testFile}: ${name}`);
  }
});

function isOfSrc(path: string): boolean {
  return files.some((file) => (path.endsWith('/') ? file.path.startsWith(path) : file.path === path));
}

test(`the README has at most ${README_LINES_MAX} lines`, () => {
  assert.ok(readPage('README.md').trimEnd().split('\n').length <= README_LINES_MAX);
});
