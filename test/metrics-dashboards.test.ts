/** The documents' PromQL asks for what there is. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parsePage } from './metrics-page.ts';
import { readPage } from './readme.ts';
import { startGateway, user } from './running-gateway.ts';

/** The expressions of the page on operating: set apart by blank lines, each perhaps below a comment. */
const expressions: readonly string[] = [...readPage('src/README.md').matchAll(/^```promql\n([^]*?)^```$/gm)]
  .flatMap(([, block = '']) => block.split('\n\n'))
  .map((text) => text.replaceAll(/^#.*\n/gm, '').trim());

test('the documents answer the five questions', () => {
  assert.ok(expressions.length >= 5);
  assert.deepEqual(expressions.filter((expression) => expression === ''), []);
});

test("every metric and label of the documents' PromQL is on a real page", async (t) => {
  const gateway = await startGateway(t);
  await gateway.stream({ model: 'fake-chat', messages: [user('x')] });
  await gateway.chat({ model: 'fake-chat', messages: [user('x')] });
  const families = parsePage(await (await gateway.get('/metrics')).text());
  const declared = new Map<string, ReadonlySet<string>>();
  for (const { name, type, samples } of families.values()) {
    const labels = new Set(samples.flatMap((sample) => [...sample.labels.keys()]));
    if (type !== 'histogram') declared.set(name, labels);
    else for (const suffix of ['_bucket', '_sum', '_count']) declared.set(name + suffix, labels);
  }
  for (const expression of expressions) {
    const names = expression.match(/\b(?:gateway|gen_ai|process|nodejs)_\w+(?=[{[)])/g) ?? [];
    assert.notDeepEqual(names, [], expression);
    for (const name of names) {
      const labels = declared.get(name);
      assert.ok(labels !== undefined, `${name} is on no page`);
      // A family without a series yet shows no labels.
      if (labels.size === 0) continue;
      const asked = [...expression.matchAll(/\b(?:by|on) \(([^)]*)\)/g), ...expression.matchAll(/\{(\w+)(?==|!|~)/g)].flatMap(([, list = '']) => list.split(', '));
      for (const label of asked) assert.ok(labels.has(label), `${name} has no label ${label}`);
    }
  }
});

// Runs where Prometheus is installed.
if (spawnSync('promtool', ['--version']).status === 0) {
  test("the documents' PromQL is what Prometheus understands", (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'rules-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'rules.json');
    // JSON is YAML.
    const rules = expressions.map((expr, index) => ({ record: `readme:question_${index}`, expr }));
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'readme', rules }] }));
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' });
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, new RegExp(`SUCCESS: ${expressions.length} rules found`));
  });
}
