/** The questions of the page on operating, the dashboard and the alerts ask real metrics, and get answers. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { createMetrics } from '../../src/metrics.ts';
import { ALERTS, renderAlerts } from '../../src/operate/alerts.ts';
import { renderDashboard } from '../../src/operate/dashboard.ts';
import { CHAPTERS } from '../../src/operate/questions.ts';
import { routeOf, startGateway, user } from '../running-gateway.ts';
import { evaluate, Samples } from './promql.ts';

type Panel = {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly collapsed?: boolean;
  readonly panels?: readonly Panel[];
  readonly fieldConfig?: { readonly defaults: { readonly unit: string } };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
};

const { declarations } = createMetrics({ version: '', logLinesDropped: () => 0, upstreamSockets: () => 0 });
const dashboard = JSON.parse(renderDashboard()) as { readonly panels: readonly Panel[] };
const panels = dashboard.panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]);
const graphs = panels.filter(({ type }) => type !== 'row');
const questions = CHAPTERS.flatMap((chapter) => chapter.questions);

/** Grafana puts a time there. */
function exprOf({ targets = [] }: Panel): string {
  return (targets[0]?.expr ?? '').replaceAll('$__rate_interval', '5m');
}

/** The metrics of a gateway that has had good and bad chats of every provider's. */
async function troubledSamples(): Promise<Samples> {
  const gateway = await startGateway({ after }, { GATEWAY_MAX_RETRIES: '1' }, { routes: [routeOf('smart', 'anthropic/fake-status-401', 'openai/fake-chat')] });
  const ask = (model: string, provider = 'openai'): Promise<unknown> => gateway.chat({ provider, model, messages: [user('Hello')] });
  const stream = (model: string): Promise<unknown> => gateway.stream({ model, messages: [user('Hello')] });
  const exchanges = [
    ask('fake-chat'), ask('fake-chat', 'anthropic'), ask('fake-chat', 'gemini'), ask('fake-status-503'), ask('fake-status-401'),
    ask('fake-status-429-after-3600'), gateway.chat({ model: 'smart', messages: [user('Hello')] }), stream('fake-chat'), stream('fake-close-mid'),
  ];
  await Promise.all(exchanges);
  // Counts are made at an exchange's end, which a caller can be ahead of.
  const ended = (): number => gateway.logLines.filter((line) => line['total_ms'] !== undefined).length;
  while (ended() < exchanges.length) await new Promise((resolve) => setImmediate(resolve));
  return new Samples(await (await gateway.get('/metrics')).text(), declarations);
}

const troubled = troubledSamples();
/** Of which there is nothing to tell here. */
const QUIET: readonly string[] = ['Requests refused for lack of capacity', 'Time limits that were reached'];

test('every question is answered by the metrics of a real gateway', async () => {
  const samples = await troubled;
  for (const { title, expr } of questions) {
    const value = evaluate(expr, samples);
    assert.ok(Array.isArray(value), title);
    if (!QUIET.includes(title)) assert.notDeepEqual(value, [], title);
    for (const { value: number } of value) assert.ok(number >= 0, `${title}: ${number}`);
  }
});

test('every label that a legend shows is one of its answer', async () => {
  const samples = await troubled;
  for (const { title, expr, legend } of questions) {
    const shown = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
    const [series] = evaluate(expr, samples) as readonly { labels: ReadonlyMap<string, string> }[];
    if (series !== undefined) assert.deepEqual([...series.labels.keys()].filter((label) => label !== 'le').sort(), shown.sort(), title);
  }
});

describe('the dashboard', () => {
  test('asks for no metric and no label that does not exist', async () => {
    const samples = await troubled;
    for (const panel of graphs) assert.doesNotThrow(() => evaluate(exprOf(panel), samples), panel.title);
  });

  test('has a panel for every question, in their order, and one for every other metric', () => {
    assert.deepEqual(graphs.slice(0, questions.length).map(({ title }) => title), questions.map(({ title }) => title));
    const asked = graphs.map(exprOf).join('\n');
    for (const { name } of declarations) assert.match(asked, new RegExp(`\\b${name}(_bucket)?\\b`), name);
  });

  test('says of each panel what its metrics mean', () => {
    for (const { title, description = '' } of graphs) assert.notEqual(description, '', title);
    const failed = graphs.find(({ title }) => title === 'Failed chats by kind');
    assert.equal(failed?.description, declarations.find(({ name }) => name === 'gateway_chats_total')?.help);
  });

  test('numbers its panels apart and lets none lie on another', () => {
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) => {
      assert.ok(x + w <= 24);
      return Array.from({ length: w * h }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`);
    });
    assert.equal(new Set(cells).size, cells.length);
  });

  test('holds panels in a row only where that is collapsed, as Grafana wants it', () => {
    for (const { type, collapsed, panels: inner = [] } of panels) if (type === 'row') assert.equal(inner.length > 0, collapsed);
  });
});

describe('the alerts', () => {
  test('ask for no metric and no label that does not exist', async () => {
    const samples = await troubled;
    for (const { name, expr } of ALERTS) assert.doesNotThrow(() => evaluate(expr, samples), name);
  });

  test('tell of the troubles that there are, and of no other', async () => {
    const samples = await troubled;
    const told = ALERTS.filter(({ expr }) => (evaluate(expr, samples) as readonly unknown[]).length > 0).map(({ name }) => name);
    // The evaluator takes the process's whole time for one second of work.
    const known = told.filter((name) => name !== 'GatewayBusy' && name !== 'GatewayLate');
    assert.deepEqual(known, ['GatewayChatsFailing', 'GatewayKeyRejected', 'GatewayProviderFailing', 'GatewayKeyCooling', 'GatewayStreamsCut']);
    assert.equal(ALERTS.find(({ name }) => name === 'GatewayAbsent')?.expr, 'absent(gateway_build_info)');
  });

  test('name in their texts only labels that their expressions keep', async () => {
    const samples = await troubled;
    for (const { name, expr, summary, action } of ALERTS) {
      const [series] = evaluate(expr.replace(/ > [\d.]+$/, ''), samples) as readonly { labels: ReadonlyMap<string, string> }[];
      const named = [...`${summary}${action}`.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label);
      if (series !== undefined) assert.deepEqual(named.filter((label) => !series.labels.has(label)), [], name);
    }
  });

  test('are written as YAML, each expression as it stands', () => {
    const text = renderAlerts();
    assert.equal(text.split('- alert: ').length - 1, ALERTS.length);
    assert.ok(text.startsWith('groups:\n  - name: chat-completion-gateway\n    rules:\n      - alert: GatewayAbsent\n'));
    assert.ok(text.includes(`      - alert: GatewayProviderFailing
        expr: |-
          sum by (provider) (rate(gateway_upstream_attempts_total{outcome=~"server|unknown"}[5m]))
            / sum by (provider) (rate(gateway_upstream_attempts_total[5m])) > 0.25
        for: 10m
        labels: {severity: ticket}
        annotations:
          summary: "More than a quarter of the attempts at {{ $labels.provider }} fail."
          description: "gateway --doctor says whether the fault is at the provider or on the way to it."
`));
  });

  test('have names of their own, and what to do', () => {
    assert.equal(new Set(ALERTS.map(({ name }) => name)).size, ALERTS.length);
    for (const { name, summary, action } of ALERTS) assert.ok(summary.endsWith('.') && action.endsWith('.'), name);
  });
});

test('an expression that asks for something else is found', () => {
  const samples = new Samples('# HELP a_total A.\n# TYPE a_total counter\na_total{kind="x"} 2\n', [{ name: 'a_total', type: 'counter', help: 'A.', labelNames: ['kind'] }]);
  assert.deepEqual(evaluate('sum by (kind) (rate(a_total{kind="x"}[5m])) / 2 > 0.5', samples), [{ labels: new Map([['kind', 'x']]), value: 1 }]);
  assert.deepEqual(evaluate('a_total{kind!~"x|y"}', samples), []);
  for (const wrong of ['rate(b_total[5m])', 'a_total{sort="x"}', 'sum by (sort) (a_total)', 'sum by (kind) a_total', 'a_total a_total', 'avg(a_total)', 'sum(a_total', 'a_total or a_total']) {
    assert.throws(() => evaluate(wrong, samples), wrong);
  }
});

// Runs where Prometheus is installed.
if (spawnSync('promtool', ['--version']).status === 0) {
  for (const [what, rules, count] of [
    ['the alerts', renderAlerts(), ALERTS.length],
    // JSON is YAML.
    ['the questions and panels', JSON.stringify({
      groups: [{ name: 'panels', rules: [...questions.map(({ expr }) => expr), ...graphs.map(exprOf)].map((expr, index) => ({ record: `panel:${index}`, expr })) }],
    }), questions.length + graphs.length],
  ] as const) {
    test(`${what} are what Prometheus understands`, (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'rules-'));
      t.after(() => rmSync(folder, { recursive: true }));
      const file = join(folder, 'rules.yml');
      writeFileSync(file, rules);
      const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' });
      assert.equal(status, 0, stdout + stderr);
      assert.match(stdout, new RegExp(`SUCCESS: ${count} rules found`));
    });
  }
}
