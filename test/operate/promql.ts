/**
 * As much PromQL as the project's own expressions take, evaluated on one page of metrics: selectors, `rate` and `increase`,
 * aggregation, arithmetic, comparison, matching by labels. A rate is the value itself, as if it had grown from nothing within
 * a second. Whatever it does not know is an error, and so is a metric that the page has not, or a label that it has not.
 */

import type { MetricDeclaration } from '../../src/base/prometheus.ts';
import { parsePage } from '../metrics-page.ts';

export type Series = { readonly labels: ReadonlyMap<string, string>; readonly value: number };
type Vector = readonly Series[];
type Value = Vector | number;

/** What Prometheus adds to whatever it scrapes. */
const SCRAPE_LABELS: Readonly<Record<string, string>> = { job: 'gateway', instance: 'localhost:8080' };

/** The samples of a page by name, and the labels that there can be. */
export class Samples {
  readonly #samples = new Map<string, Series[]>();
  readonly #labels = new Map<string, ReadonlySet<string>>();

  constructor(page: string, declarations: readonly MetricDeclaration[]) {
    for (const { name, type, labelNames } of declarations) {
      const labels = [...labelNames, ...Object.keys(SCRAPE_LABELS)];
      if (type !== 'histogram') this.#declare(name, labels);
      else for (const [suffix, more] of [['_bucket', ['le']], ['_sum', []], ['_count', []]] as const) this.#declare(name + suffix, [...labels, ...more]);
    }
    for (const { samples } of parsePage(page).values()) {
      for (const { name, labels, value } of samples) this.#samples.get(name)?.push({ labels: new Map([...labels, ...Object.entries(SCRAPE_LABELS)]), value });
    }
  }

  of(name: string): Vector {
    const samples = this.#samples.get(name);
    if (samples === undefined) throw new Error(`no metric ${name}`);
    return samples;
  }

  /** Throws unless one of the metrics has the label. */
  checkLabel(label: string, metrics: readonly string[]): void {
    if (!metrics.some((metric) => this.#labels.get(metric)?.has(label) === true)) throw new Error(`no label ${label} of ${metrics.join(', ')}`);
  }

  #declare(name: string, labels: readonly string[]): void {
    this.#samples.set(name, []);
    this.#labels.set(name, new Set(labels));
  }
}

/** The value of an expression: series, or one number. */
export function evaluate(expression: string, samples: Samples): Value {
  const parser = new Parser(expression, samples);
  const value = parser.expression(0);
  parser.expectEnd();
  return value;
}

const TOKEN = /\s*(?:(\d+(?:\.\d+)?)(?![\w.])|([a-zA-Z_:][\w:]*)|("(?:[^"\\]|\\.)*")|(!=|=~|!~|[-+*/(){},=<>])|(\[\d+[smhd]\]))/y;
const PRECEDENCE: Readonly<Record<string, number>> = { and: 1, '>': 2, '<': 2, '+': 3, '-': 3, '*': 4, '/': 4 };
const AGGREGATIONS: Readonly<Record<string, (values: readonly number[]) => number>> = {
  sum: (values) => values.reduce((total, value) => total + value, 0),
  max: (values) => Math.max(...values),
};
const ARITHMETIC: Readonly<Record<string, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
};

type Matching = { readonly on: readonly string[] | undefined; readonly isGrouped: boolean };

class Parser {
  readonly #tokens: string[] = [];
  readonly #samples: Samples;
  /** Metrics named so far. */
  readonly #metrics: string[] = [];
  #at = 0;

  constructor(text: string, samples: Samples) {
    this.#samples = samples;
    TOKEN.lastIndex = 0;
    for (let end = 0; end < text.trimEnd().length; end = TOKEN.lastIndex) {
      const match = TOKEN.exec(text);
      if (match === null) throw new Error(`not understood: ${text.slice(end)}`);
      this.#tokens.push(match[0].trim());
    }
  }

  expectEnd(): void {
    if (this.#at < this.#tokens.length) throw new Error(`not understood: ${this.#tokens.slice(this.#at).join(' ')}`);
  }

  expression(precedenceMin: number): Value {
    let left = this.#operand();
    for (;;) {
      const operator = this.#tokens[this.#at] ?? '';
      const precedence = PRECEDENCE[operator];
      if (precedence === undefined || precedence < precedenceMin) return left;
      this.#at += 1;
      const matching = this.#matching();
      left = combine(operator, left, this.expression(precedence + 1), matching);
    }
  }

  #operand(): Value {
    const token = this.#next();
    if (/^\d/.test(token)) return Number(token);
    if (token === '(') {
      const inner = this.expression(0);
      this.#expect(')');
      return inner;
    }
    if (!/^[a-zA-Z_:]/.test(token)) throw new Error(`unexpected ${token}`);
    const aggregate = AGGREGATIONS[token];
    if (aggregate !== undefined) return this.#aggregation(aggregate);
    if (this.#tokens[this.#at] === '(') return this.#call(token);
    return this.#selector(token);
  }

  #aggregation(aggregate: (values: readonly number[]) => number): Vector {
    const by = this.#tokens[this.#at] === 'by' ? this.#labelList(1) : [];
    const metricsBefore = this.#metrics.length;
    this.#expect('(');
    const inner = vector(this.expression(0));
    this.#expect(')');
    for (const label of by) this.#samples.checkLabel(label, this.#metrics.slice(metricsBefore));
    return [...groups(inner, by)].map(([, members]) => ({ labels: picked(members[0] as Series, by), value: aggregate(members.map(({ value }) => value)) }));
  }

  #call(name: string): Value {
    this.#expect('(');
    const values: Value[] = [this.expression(0)];
    while (this.#tokens[this.#at] === ',') {
      this.#at += 1;
      values.push(this.expression(0));
    }
    this.#expect(')');
    const [first = [], second = []] = values;
    switch (name) {
      case 'rate':
      case 'increase':
        return vector(first);
      case 'scalar':
        return vector(first).length === 1 ? (vector(first)[0] as Series).value : NaN;
      case 'absent':
        return vector(first).length === 0 ? [{ labels: new Map(), value: 1 }] : [];
      case 'histogram_quantile':
        return quantiles(Number(first), vector(second));
      default:
        throw new Error(`no function ${name}`);
    }
  }

  #selector(metric: string): Vector {
    this.#metrics.push(metric);
    let found = this.#samples.of(metric);
    if (this.#tokens[this.#at] === '{') {
      do {
        this.#at += 1;
        const [label, operator, text] = [this.#next(), this.#next(), JSON.parse(this.#next()) as string];
        this.#samples.checkLabel(label, [metric]);
        const pattern = new RegExp(`^(?:${text})$`);
        const matches = (value: string): boolean => (operator.includes('~') ? pattern.test(value) : value === text);
        found = found.filter(({ labels }) => matches(labels.get(label) ?? '') !== operator.startsWith('!'));
      } while (this.#tokens[this.#at] === ',');
      this.#expect('}');
    }
    if (/^\[\d/.test(this.#tokens[this.#at] ?? '')) this.#at += 1;
    return found;
  }

  #matching(): Matching {
    if (this.#tokens[this.#at] !== 'on') return { on: undefined, isGrouped: false };
    const on = this.#labelList(1);
    const isGrouped = this.#tokens[this.#at] === 'group_left';
    if (isGrouped) this.#at += 1;
    for (const label of on) this.#samples.checkLabel(label, this.#metrics);
    return { on, isGrouped };
  }

  #labelList(skipped: number): readonly string[] {
    this.#at += skipped;
    this.#expect('(');
    const labels: string[] = [];
    for (let token = this.#next(); token !== ')'; token = this.#next()) if (token !== ',') labels.push(token);
    return labels;
  }

  #next(): string {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new Error('ends too early');
    this.#at += 1;
    return token;
  }

  #expect(token: string): void {
    const found = this.#next();
    if (found !== token) throw new Error(`expected ${token}, found ${found}`);
  }
}

function combine(operator: string, left: Value, right: Value, { on, isGrouped }: Matching): Value {
  if (operator === 'and') {
    const there = new Set(vector(right).map((series) => keyOf(series, on)));
    return vector(left).filter((series) => there.has(keyOf(series, on)));
  }
  const compute = ARITHMETIC[operator];
  if (compute === undefined) {
    if (typeof right !== 'number') throw new Error('compares with a number only');
    return vector(left).filter(({ value }) => (operator === '>' ? value > right : value < right));
  }
  if (typeof left === 'number' && typeof right === 'number') return compute(left, right);
  if (typeof right === 'number') return vector(left).map(({ labels, value }) => ({ labels, value: compute(value, right) }));
  if (typeof left === 'number') throw new Error('a number on the left only with a number');
  if (!isGrouped && new Set(left.map((series) => keyOf(series, on))).size < left.length) throw new Error('many to one without group_left');
  const byKey = new Map(right.map((series) => [keyOf(series, on), series.value]));
  if (byKey.size < right.length) throw new Error('several series match on the right');
  return left.flatMap((series) => {
    const other = byKey.get(keyOf(series, on));
    return other === undefined ? [] : [{ labels: series.labels, value: compute(series.value, other) }];
  });
}

/** The upper bound of the bucket that holds the quantile. */
function quantiles(quantile: number, buckets: Vector): Vector {
  const others = [...new Set(buckets.flatMap(({ labels }) => [...labels.keys()]))].filter((label) => label !== 'le');
  return [...groups(buckets, others)].map(([, members]) => {
    const bounds = members.map(({ labels, value }) => ({ bound: Number(labels.get('le')?.replace('Inf', 'Infinity') ?? NaN), value }));
    if (bounds.some(({ bound }) => Number.isNaN(bound))) throw new Error('a quantile of what has no le');
    bounds.sort((a, b) => a.bound - b.bound);
    const total = bounds.at(-1)?.value ?? 0;
    const found = bounds.find(({ value }) => value >= quantile * total)?.bound ?? NaN;
    return { labels: picked(members[0] as Series, others), value: total === 0 ? NaN : found };
  });
}

function groups(series: Vector, by: readonly string[]): ReadonlyMap<string, Vector> {
  const found = new Map<string, Series[]>();
  for (const one of series) {
    const key = keyOf(one, by);
    found.set(key, [...(found.get(key) ?? []), one]);
  }
  return found;
}

function keyOf({ labels }: Series, names: readonly string[] | undefined): string {
  return JSON.stringify((names ?? [...labels.keys()].sort()).map((name) => [name, labels.get(name) ?? '']));
}

function picked({ labels }: Series, names: readonly string[]): ReadonlyMap<string, string> {
  return new Map(names.map((name) => [name, labels.get(name) ?? '']));
}

function vector(value: Value): Vector {
  if (typeof value === 'number') throw new Error('a number where series are expected');
  return value;
}
