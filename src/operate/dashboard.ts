/**
 * A Grafana dashboard: the questions of operators, a panel each, and behind them every other metric, made from its declaration.
 * So a metric that is added has its panel, and no panel asks for one that is gone.
 *
 * Format: Grafana's dashboard JSON model, schema version 39 (Grafana 10.4 and later).
 */

import type { MetricDeclaration } from '../base/prometheus.ts';
import { createMetrics } from '../metrics.ts';
import { CHAPTERS, OF_GATEWAYS, RATE_WINDOW } from './questions.ts';
import type { Question } from './questions.ts';

/** Chosen in the dashboard: nobody else knows what it is called there. */
const SOURCE = { type: 'prometheus', uid: '${datasource}' };
/** What fits the resolution of what is shown, in place of a fixed time. */
const GRAFANA_WINDOW = '[$__rate_interval]';
const PANEL_WIDTH = 8;
const PANEL_HEIGHT = 8;
const COLUMNS = 24;

/** As JSON, to be imported or provisioned. */
export function renderDashboard(): string {
  const { declarations } = createMetrics({ version: '', logLinesDropped: () => 0, upstreamSockets: () => 0 });
  const layout = new Layout(declarations);
  const panels = CHAPTERS.flatMap(({ title, questions }) => [layout.row(title), ...questions.map((question) => layout.panel(question))]);
  const last = layout.row('Every other metric');
  const others = declarations.filter(({ name }) => !CHAPTERS.some(({ questions }) => questions.some(({ expr }) => isAsked(name, expr))));
  const dashboard = {
    uid: 'chat-completion-gateway',
    title: 'Chat Completion Gateway',
    tags: ['chat-completion-gateway'],
    schemaVersion: 39,
    editable: true,
    refresh: '1m',
    time: { from: 'now-6h', to: 'now' },
    templating: { list: [{ name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' }] },
    panels: [...panels, { ...last, collapsed: true, panels: others.map((declaration) => layout.panel(questionFrom(declaration))) }],
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

/** Places panels from left to right, and numbers them. */
class Layout {
  readonly #declarations: readonly MetricDeclaration[];
  #panels = 0;
  #x = 0;
  #y = 0;

  constructor(declarations: readonly MetricDeclaration[]) {
    this.#declarations = declarations;
  }

  /** A heading. Grafana keeps the panels of a collapsed row in it, and those of an open one behind it. */
  row(title: string): object {
    if (this.#x > 0) this.#y += PANEL_HEIGHT;
    this.#x = 0;
    const gridPos = { x: 0, y: this.#y, w: COLUMNS, h: 1 };
    this.#y += 1;
    return { ...this.#numbered('row', title), gridPos, collapsed: false, panels: [] };
  }

  panel({ title, expr, unit, legend }: Question): object {
    const gridPos = { x: this.#x, y: this.#y, w: PANEL_WIDTH, h: PANEL_HEIGHT };
    this.#x += PANEL_WIDTH;
    if (this.#x >= COLUMNS) {
      this.#x = 0;
      this.#y += PANEL_HEIGHT;
    }
    const asked = this.#declarations.filter(({ name }) => isAsked(name, expr) && (name !== 'gateway_build_info' || !expr.includes(OF_GATEWAYS)));
    return {
      ...this.#numbered('timeseries', title),
      description: asked.map(({ help }) => help).join('\n\n'),
      datasource: SOURCE,
      gridPos,
      fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
      targets: [{ refId: 'A', datasource: SOURCE, expr: expr.replaceAll(RATE_WINDOW, GRAFANA_WINDOW), legendFormat: legend }],
    };
  }

  #numbered(type: string, title: string): object {
    this.#panels += 1;
    return { id: this.#panels, type, title };
  }
}

/** Whether an expression has this metric or, of a histogram, one of its parts. */
function isAsked(name: string, expr: string): boolean {
  return new RegExp(`\\b${name}(?:_bucket|_sum|_count)?\\b`).test(expr);
}

/** What there is to ask of any metric of its type. */
function questionFrom({ name, type, labelNames }: MetricDeclaration): Question {
  const by = (labels: readonly string[]): string => (labels.length === 0 ? '' : ` by (${labels.join(', ')}) `);
  const own = /^(?:gateway|gen_ai)_/.test(name) ? '' : ` ${OF_GATEWAYS}`;
  const common = { title: name, legend: labelNames.map((label) => `{{${label}}}`).join(' ') || name };
  if (type === 'counter') return { ...common, expr: `sum${by(labelNames)}(rate(${name}${RATE_WINDOW})${own})`, unit: /_bytes_total$/.test(name) ? 'Bps' : 'ops' };
  if (type === 'gauge') return { ...common, expr: `max${by(labelNames)}(${name}${own})`, unit: unitOf(name) };
  const expr = `histogram_quantile(0.95, sum${by([...labelNames, 'le'])}(rate(${name}_bucket${RATE_WINDOW})))`;
  return { ...common, title: `${name}, 95th percentile`, expr, unit: unitOf(name) };
}

function unitOf(name: string): string {
  return /_seconds$/.test(name) ? 's' : /_bytes$/.test(name) ? 'bytes' : 'short';
}
