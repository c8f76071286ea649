/**
 * Counters, gauges and histograms, and their text for Prometheus.
 *
 * A series is bound to its label values once (`labels`) and then costs an addition. Families appear in
 * the order of their declaration, series sorted, so two scrapes can be compared. A family keeps a bounded number of
 * series: whatever label values come, memory and scrape stay bounded.
 *
 * Format: Prometheus text exposition format 0.0.4; naming rules as `promtool check metrics` has them.
 */

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Most series a family keeps before further label values share the series `other`. */
const SERIES_MAX = 1000;

export type Counter = MetricFamily<CounterSeries>;
export type Gauge = MetricFamily<GaugeSeries>;
export type Histogram = MetricFamily<HistogramSeries>;

/** All metrics of a process. A wrong declaration throws: it is a bug, found at the first start. */
export class Registry {
  readonly #seriesMax: number;
  readonly #families = new Map<string, MetricFamily<Series>>();
  readonly #beforeRender: (() => void)[] = [];

  /** `seriesMax` bounds the series of each family. */
  constructor(seriesMax = SERIES_MAX) {
    this.#seriesMax = seriesMax;
  }

  /** A value that only grows. Its name ends in `_total`. */
  counter(name: string, help: string, labelNames: readonly string[]): Counter {
    return this.#add(name, { type: 'counter', help, labelNames, createSeries: () => new CounterSeries() });
  }

  /** A value that goes up and down. With `read`, which needs a family without labels, it is asked for at each scrape. */
  gauge(name: string, help: string, labelNames: readonly string[], read?: () => number): Gauge {
    if (read !== undefined && labelNames.length > 0) throw new Error(`${name}: a gauge that is read has no labels`);
    return this.#add(name, { type: 'gauge', help, labelNames, createSeries: () => new GaugeSeries(read) });
  }

  /** A distribution over buckets with the given upper bounds, which ascend; the last bucket, +Inf, is implied. */
  histogram(name: string, help: string, labelNames: readonly string[], bounds: readonly number[]): Histogram {
    checkBounds(name, bounds);
    return this.#add(name, { type: 'histogram', help, labelNames, createSeries: () => new HistogramSeries(bounds) });
  }

  /** Called before each scrape, for gauges that are set rather than read. */
  onScrape(callback: () => void): void {
    this.#beforeRender.push(callback);
  }

  /** The text of a scrape. */
  render(): string {
    for (const callback of this.#beforeRender) callback();
    let text = '';
    for (const family of this.#families.values()) text += family.render();
    return text;
  }

  #add<S extends Series>(name: string, settings: FamilySettings<S>): MetricFamily<S> {
    if (this.#families.has(name)) throw new Error(`${name}: declared twice`);
    const family = new MetricFamily(name, settings, this.#seriesMax);
    this.#families.set(name, family);
    return family;
  }
}

type MetricType = 'counter' | 'gauge' | 'histogram';

type FamilySettings<S> = {
  readonly type: MetricType;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly createSeries: () => S;
};

/** One metric: its name, help and series. */
export class MetricFamily<S extends Series> {
  readonly #name: string;
  readonly #settings: FamilySettings<S>;
  readonly #seriesMax: number;
  /** Series and their label text, e.g. `route="/v1/chat",status="200"`. */
  readonly #series = new Map<string, { readonly labels: string; readonly series: S }>();

  constructor(name: string, settings: FamilySettings<S>, seriesMax: number) {
    checkNames(name, settings);
    this.#name = name;
    this.#settings = settings;
    this.#seriesMax = seriesMax;
    // Without labels there is exactly one series, and it shows before its first event.
    if (settings.labelNames.length === 0) this.labels();
  }

  /**
   * The series of these label values, in the order of the label names; the same object each time. Once the family is
   * full, new values get the series whose every value is `other`. Keep it where it is used often.
   */
  // hot: per request
  labels(...values: readonly string[]): S {
    if (values.length !== this.#settings.labelNames.length) throw new Error(`${this.#name}: wrong number of labels`);
    const key = seriesKey(values);
    return this.#series.get(key)?.series ?? this.#newSeries(key, values);
  }

  #newSeries(key: string, values: readonly string[]): S {
    if (this.#series.size >= this.#seriesMax && values.some((value) => value !== 'other')) {
      return this.labels(...values.map(() => 'other'));
    }
    const series = this.#settings.createSeries();
    this.#series.set(key, { labels: renderLabels(this.#settings.labelNames, values), series });
    return series;
  }

  render(): string {
    const { type, help } = this.#settings;
    let text = `# HELP ${this.#name} ${escapeHelp(help)}\n# TYPE ${this.#name} ${type}\n`;
    const rows = [...this.#series.values()].sort((a, b) => (a.labels < b.labels ? -1 : 1));
    for (const { labels, series } of rows) text += series.render(this.#name, labels);
    return text;
  }
}

interface Series {
  /** The lines of this series; `labels` without braces, empty when there are none. */
  render(name: string, labels: string): string;
}

export class CounterSeries implements Series {
  #value = 0;

  add(amount = 1): void {
    if (!(amount >= 0)) throw new RangeError('a counter only grows');
    this.#value += amount;
  }

  render(name: string, labels: string): string {
    return sample(name, labels, this.#value);
  }
}

export class GaugeSeries implements Series {
  #value = 0;
  readonly #read: (() => number) | undefined;

  constructor(read?: () => number) {
    this.#read = read;
  }

  set(value: number): void {
    this.#value = value;
  }

  add(amount: number): void {
    this.#value += amount;
  }

  render(name: string, labels: string): string {
    return sample(name, labels, this.#read === undefined ? this.#value : this.#read());
  }
}

export class HistogramSeries implements Series {
  readonly #bounds: readonly number[];
  /** Observations of each bucket alone; they are summed up when rendered. */
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  // hot: per request. A scan of some fifteen bounds is faster than a binary search over them.
  observe(value: number): void {
    if (Number.isNaN(value)) throw new RangeError('not a number to observe');
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    this.#sum += value;
  }

  render(name: string, labels: string): string {
    const before = labels === '' ? '' : labels + ',';
    let text = '';
    let count = 0;
    for (let bucket = 0; bucket < this.#counts.length; bucket += 1) {
      count += this.#counts[bucket] as number;
      text += sample(`${name}_bucket`, `${before}le="${renderNumber(this.#bounds[bucket] ?? Infinity)}"`, count);
    }
    return text + sample(`${name}_sum`, labels, this.#sum) + sample(`${name}_count`, labels, count);
  }
}

function sample(name: string, labels: string, value: number): string {
  return labels === '' ? `${name} ${renderNumber(value)}\n` : `${name}{${labels}} ${renderNumber(value)}\n`;
}

function renderNumber(value: number): string {
  if (value === Infinity) return '+Inf';
  if (value === -Infinity) return '-Inf';
  return String(value);
}

/** Lengths keep apart values that only look alike when joined. */
function seriesKey(values: readonly string[]): string {
  if (values.length === 1) return values[0] as string;
  let key = '';
  for (const value of values) key += `${value.length}:${value}`;
  return key;
}

function renderLabels(names: readonly string[], values: readonly string[]): string {
  return names.map((name, index) => `${name}="${escapeLabel(values[index] ?? '')}"`).join(',');
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

function escapeHelp(help: string): string {
  return help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function checkNames(name: string, { type, help, labelNames }: FamilySettings<unknown>): void {
  if (!/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name)) throw new Error(`${name}: not a metric name`);
  if (name.endsWith('_total') !== (type === 'counter')) throw new Error(`${name}: counters, and only they, end in _total`);
  if (help === '') throw new Error(`${name}: a metric needs a help text`);
  for (const label of labelNames) {
    const isTaken = label.startsWith('__') || (label === 'le' && type === 'histogram');
    if (isTaken || !/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(label)) throw new Error(`${name}: ${label} cannot be a label`);
  }
  if (new Set(labelNames).size !== labelNames.length) throw new Error(`${name}: a label comes twice`);
}

function checkBounds(name: string, bounds: readonly number[]): void {
  const isAscending = bounds.every((bound, index) => bound > (bounds[index - 1] ?? -Infinity) && bound < Infinity);
  if (bounds.length === 0 || !isAscending) throw new Error(`${name}: bounds are finite and ascend`);
}
