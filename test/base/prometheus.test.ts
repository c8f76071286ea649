import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { METRICS_CONTENT_TYPE, Registry } from '../../src/base/prometheus.ts';
import type { Snapshot } from '../../src/base/prometheus.ts';
import { createRandom } from './random.ts';

test('METRICS_CONTENT_TYPE names the version of the text format', () => {
  assert.equal(METRICS_CONTENT_TYPE, 'text/plain; version=0.0.4; charset=utf-8');
});

test('Registry renders nothing when nothing is declared', () => assert.equal(new Registry().render(), ''));

test('Counter without labels starts at zero and adds', () => {
  const registry = new Registry();
  const counter = registry.counter('retries_total', 'Retries.', []);
  assert.equal(registry.render(), '# HELP retries_total Retries.\n# TYPE retries_total counter\nretries_total 0\n');
  counter.labels().add();
  counter.labels().add(2.5);
  assert.match(registry.render(), /^retries_total 3\.5$/m);
});

test('Counter with labels renders a line for each series, sorted', () => {
  const registry = new Registry();
  const counter = registry.counter('requests_total', 'Requests.', ['route', 'status']);
  counter.labels('/v1/chat', '200').add(3);
  counter.labels('/metrics', '200').add();
  counter.labels('/v1/chat', '429').add();
  assert.equal(
    registry.render(),
    '# HELP requests_total Requests.\n' +
      '# TYPE requests_total counter\n' +
      'requests_total{route="/metrics",status="200"} 1\n' +
      'requests_total{route="/v1/chat",status="200"} 3\n' +
      'requests_total{route="/v1/chat",status="429"} 1\n',
  );
});

test('Counter with labels shows its help before its first series', () => {
  const registry = new Registry();
  registry.counter('requests_total', 'Requests.', ['route']);
  assert.equal(registry.render(), '# HELP requests_total Requests.\n# TYPE requests_total counter\n');
});

test('Counter refuses to shrink and to count what is no number', () => {
  const series = new Registry().counter('a_total', 'A.', []).labels();
  assert.throws(() => series.add(-1), RangeError);
  assert.throws(() => series.add(NaN), RangeError);
});

test('Gauge sets and adds', () => {
  const registry = new Registry();
  const gauge = registry.gauge('in_flight', 'Now.', ['kind'], 'sum');
  gauge.labels('stream').set(5);
  gauge.labels('stream').add(-2);
  gauge.labels('plain').add(1);
  assert.equal(
    registry.render(),
    '# HELP in_flight Now.\n# TYPE in_flight gauge\nin_flight{kind="plain"} 1\nin_flight{kind="stream"} 3\n',
  );
});

test('Gauge asks for its value at each scrape', () => {
  const registry = new Registry();
  let value = 1;
  registry.gauge('memory_bytes', 'Memory.', [], 'sum', () => value);
  assert.match(registry.render(), /^memory_bytes 1$/m);
  value = 2;
  assert.match(registry.render(), /^memory_bytes 2$/m);
});

test('Registry.onScrape runs its callbacks before each rendering', () => {
  const registry = new Registry();
  const gauge = registry.gauge('scrapes', 'Scrapes so far.', [], 'sum').labels();
  registry.onScrape(() => gauge.add(1));
  registry.onScrape(() => gauge.add(10));
  assert.match(registry.render(), /^scrapes 11$/m);
  assert.match(registry.render(), /^scrapes 22$/m);
});

test('Histogram renders cumulative buckets, sum and count', () => {
  const registry = new Registry();
  const series = registry.histogram('duration_seconds', 'Duration.', [], [0.005, 0.1, 1]).labels();
  for (const seconds of [0.005, 0.0051, 0.5, 1, 1.5, 0]) series.observe(seconds);
  assert.equal(
    registry.render(),
    '# HELP duration_seconds Duration.\n' +
      '# TYPE duration_seconds histogram\n' +
      'duration_seconds_bucket{le="0.005"} 2\n' +
      'duration_seconds_bucket{le="0.1"} 3\n' +
      'duration_seconds_bucket{le="1"} 5\n' +
      'duration_seconds_bucket{le="+Inf"} 6\n' +
      'duration_seconds_sum 3.0101\n' +
      'duration_seconds_count 6\n',
  );
});

test('Histogram with labels puts le after them', () => {
  const registry = new Registry();
  registry.histogram('tokens', 'Tokens.', ['model'], [1, 4]).labels('m').observe(2);
  assert.equal(
    registry.render(),
    '# HELP tokens Tokens.\n' +
      '# TYPE tokens histogram\n' +
      'tokens_bucket{model="m",le="1"} 0\n' +
      'tokens_bucket{model="m",le="4"} 1\n' +
      'tokens_bucket{model="m",le="+Inf"} 1\n' +
      'tokens_sum{model="m"} 2\n' +
      'tokens_count{model="m"} 1\n',
  );
});

test('Histogram takes infinity and refuses what is no number', () => {
  const registry = new Registry();
  const series = registry.histogram('a', 'A.', [], [1]).labels();
  series.observe(Infinity);
  assert.throws(() => series.observe(NaN), RangeError);
  assert.match(registry.render(), /^a_sum \+Inf\na_count 1$/m);
});

const numbers: readonly (readonly [value: number, text: string])[] = [
  [0, '0'], [-0, '0'], [0.005, '0.005'], [1e-7, '1e-7'], [1e21, '1e+21'], [123456789.25, '123456789.25'], [-1.5, '-1.5'],
  [NaN, 'NaN'], [Infinity, '+Inf'], [-Infinity, '-Inf'],
];

for (const [value, text] of numbers) {
  test(`Registry writes the number ${text}`, () => {
    const registry = new Registry();
    registry.gauge('a', 'A.', [], 'sum').labels().set(value);
    assert.ok(registry.render().endsWith(`\na ${text}\n`));
  });
}

test('Registry escapes help texts and label values', () => {
  const registry = new Registry();
  registry.gauge('a', 'A "b" \\ c\nd', ['l'], 'sum').labels('x"\\\n\\n é').set(1);
  assert.equal(registry.render(), '# HELP a A "b" \\\\ c\\nd\n# TYPE a gauge\na{l="x\\"\\\\\\n\\\\n é"} 1\n');
});

test('Registry renders families in the order of their declaration', () => {
  const registry = new Registry();
  registry.gauge('b', 'B.', [], 'sum');
  registry.gauge('a', 'A.', [], 'sum');
  assert.deepEqual(registry.render().match(/^\w+ /gm), ['b ', 'a ']);
});

test('MetricFamily renders the same text whatever the order of the events', () => {
  const scrape = (models: readonly string[]): string => {
    const registry = new Registry();
    const counter = registry.counter('a_total', 'A.', ['model']);
    for (const model of models) counter.labels(model).add();
    return registry.render();
  };
  assert.equal(scrape(['c', 'a', 'b']), scrape(['b', 'c', 'a']));
});

test('MetricFamily gives the same series for the same values', () => {
  const counter = new Registry().counter('a_total', 'A.', ['x', 'y']);
  const first = counter.labels('1', '2');
  counter.labels('1', '3');
  assert.equal(counter.labels('1', '2'), first);
  assert.notEqual(counter.labels('1', '2'), counter.labels('2', '1'));
});

test('MetricFamily keeps apart values that look alike when joined', () => {
  const counter = new Registry().counter('a_total', 'A.', ['x', 'y']);
  const series = [['a', 'bc'], ['ab', 'c'], ['', 'abc'], ['1:a', ''], ['', '1:a'], ['a\0', 'b'], ['a', '\0b']].map(([x = '', y = '']) => counter.labels(x, y));
  assert.equal(new Set(series).size, series.length);
});

test('MetricFamily keeps within its share whatever is counted, and counts in one more series what finds no room', () => {
  const registry = new Registry();
  const counter = registry.counter('a_total', 'A.', ['model', 'kind'], { bytesMax: 1000 });
  for (let i = 0; i < 1500; i += 1) counter.labels(`m${i}`, 'k').add();
  const lines = registry.render().trim().split('\n').slice(2);
  const head = registry.render().length - lines.join('\n').length - 1;
  assert.ok(counter.bytesMax === head + 1000 && registry.render().length <= counter.bytesMax);
  assert.ok(lines.length > 10 && lines.length < 30, `${lines.length} series`);
  assert.ok(lines.includes('a_total{model="m0",kind="k"} 1'));
  assert.ok(lines.includes(`a_total{model="other",kind="other"} ${1500 - (lines.length - 1)}`));
});

test('MetricFamily keeps within its share with the longest numbers, and labels beyond ASCII', () => {
  const registry = new Registry();
  const counter = registry.counter('a_total', 'A.', ['l'], { bytesMax: 1000 });
  const histogram = registry.histogram('b', 'B.', ['l'], [1e-7, 1.7976931348623157e308], { bytesMax: 3000 });
  const gauge = registry.gauge('c', 'C.', ['l'], 'sum');
  for (let i = 0; i < 300; i += 1) {
    const label = `é"\n${i}`;
    counter.labels(label).add(1.7976931348623157e308);
    gauge.labels(label).set(-1.7976931348623157e-308);
    histogram.labels(label).observe(1.2345678901234567e-107);
  }
  for (const family of [counter, histogram, gauge]) assert.ok(Buffer.byteLength(family.render()) <= family.bytesMax, family.declaration.name);
});

test('MetricFamily keeps within its share where open values are `other` from the start', () => {
  const family = new Registry().counter('a_total', 'A.', ['caller', 'model'], { bytesMax: 2000, open: ['model'] });
  for (let i = 0; i < 500; i += 1) family.labels(`c${i}`, 'other').add();
  assert.ok(family.render().length <= family.bytesMax);
});

test('MetricFamily makes open values `other` first, and keeps room for the series without them', () => {
  const registry = new Registry();
  const counter = registry.counter('a_total', 'A.', ['provider', 'model'], { bytesMax: 2000, open: ['model'] });
  for (let i = 0; i < 1000; i += 1) counter.labels('p', `m${i}`).add();
  for (const provider of ['q', 'r', 's']) counter.labels(provider, 'late').add(2);
  const lines = registry.render().split('\n');
  assert.ok(lines.includes('a_total{provider="p",model="m0"} 1'));
  assert.ok(lines.some((line) => /^a_total\{provider="p",model="other"\} 9\d\d$/.test(line)));
  for (const provider of ['q', 'r', 's']) assert.ok(lines.includes(`a_total{provider="${provider}",model="other"} 2`), provider);
  assert.ok(!registry.render().includes('provider="other"'));
});

test('MetricFamily makes one open value after the other `other`, and keeps those that are none', () => {
  const registry = new Registry();
  const counter = registry.counter('a_total', 'A.', ['caller', 'model', 'type'], { bytesMax: 4000, open: ['model', 'caller'] });
  const types = ['input', 'output'];
  for (let model = 0; model < 200; model += 1) for (const type of types) counter.labels('ann', `m${model}`, type).add();
  counter.labels('bob', 'late', 'input').add(5);
  for (let caller = 0; caller < 200; caller += 1) for (const type of types) counter.labels(`c${caller}`, 'm', type).add();
  const samples = new Map(linesOf(registry).map((line) => [line.split(' ')[0] ?? '', Number(line.split(' ')[1])]));
  const sumOf = (...labels: string[]): number => [...samples].filter(([name]) => labels.every((label) => name.includes(label))).reduce((sum, [, value]) => sum + value, 0);
  assert.deepEqual([sumOf('caller="ann"'), sumOf('caller="bob",model="other"'), sumOf('caller="c0",model="other"'), sumOf('caller="c199"')], [400, 5, 2, 0]);
  assert.ok(sumOf('caller="other",model="other"') > 300);
  assert.deepEqual([sumOf('type="input"'), sumOf('type="output"'), sumOf('type="other"')], [405, 400, 0]);
});

test('MetricFamily still finds its series when it is full', () => {
  const family = new Registry().histogram('a', 'A.', ['l'], [1]);
  const [one, two] = [family.labels('1'), family.labels('2')];
  for (let i = 3; i <= 500; i += 1) family.labels(`n${i}`);
  const other = family.labels('3');
  assert.deepEqual([family.labels('1'), family.labels('2'), family.labels('4'), family.labels('other')], [one, two, other, other]);
  assert.ok(other !== one && other !== two);
});

test('MetricFamily without labels has one series', () => {
  const registry = new Registry();
  const counter = registry.counter('a_total', 'A.', []);
  assert.equal(counter.labels(), counter.labels());
  assert.match(registry.render(), /^a_total 0$/m);
});

test('Registry.declarations says what is said of every metric, in the order of declaration', () => {
  const registry = new Registry();
  registry.gauge('b', 'B.', [], 'sum');
  registry.histogram('a', 'A.', ['x', 'y'], [1]);
  assert.deepEqual(registry.declarations, [
    { name: 'b', type: 'gauge', help: 'B.', labelNames: [] },
    { name: 'a', type: 'histogram', help: 'A.', labelNames: ['x', 'y'] },
  ]);
});

test('MetricFamily refuses the wrong number of label values', () => {
  const counter = new Registry().counter('a_total', 'A.', ['x']);
  assert.throws(() => counter.labels(), /a_total: wrong number of labels/);
  assert.throws(() => counter.labels('1', '2'), /a_total: wrong number of labels/);
});

const wrong: readonly (readonly [what: string, declare: (registry: Registry) => unknown, message: RegExp])[] = [
  ['a counter that does not end in _total', (r) => r.counter('a', 'A.', []), /a: counters, and only they, end in _total/],
  ['a gauge that ends in _total', (r) => r.gauge('a_total', 'A.', [], 'sum'), /only they/],
  ['a histogram that ends in _total', (r) => r.histogram('a_total', 'A.', [], [1]), /only they/],
  ['a name that is none', (r) => r.gauge('a-b', 'A.', [], 'sum'), /a-b: not a metric name/],
  ['a name that begins with a digit', (r) => r.gauge('1a', 'A.', [], 'sum'), /not a metric name/],
  ['an empty help text', (r) => r.gauge('a', '', [], 'sum'), /needs a help text/],
  ['a label that is no name', (r) => r.gauge('a', 'A.', ['b-c'], 'sum'), /b-c cannot be a label/],
  ['a reserved label', (r) => r.gauge('a', 'A.', ['__name__'], 'sum'), /__name__ cannot be a label/],
  ['a histogram with a label le', (r) => r.histogram('a', 'A.', ['le'], [1]), /le cannot be a label/],
  ['a label twice', (r) => r.gauge('a', 'A.', ['b', 'b'], 'sum'), /a label comes twice/],
  ['a gauge with labels that is read', (r) => r.gauge('a', 'A.', ['b'], 'sum', () => 1), /has no labels/],
  ['a histogram without bounds', (r) => r.histogram('a', 'A.', [], []), /bounds are finite and ascend/],
  ['bounds that do not ascend', (r) => r.histogram('a', 'A.', [], [1, 1]), /bounds/],
  ['an infinite bound', (r) => r.histogram('a', 'A.', [], [1, Infinity]), /bounds/],
  ['bounds that are no numbers', (r) => r.histogram('a', 'A.', [], [NaN]), /bounds/],
  ['a share that holds no series', (r) => r.gauge('a', 'A.', ['b'.repeat(5000)], 'sum'), /its share holds no series/],
  ['more families than the page holds', (r) => r.counter('a_total', 'A.', ['b'], { bytesMax: 700_000 }), /a_total: the page is full/],
  ['a name twice', (r) => [r.gauge('a', 'A.', [], 'sum'), r.gauge('a', 'A.', [], 'sum')], /a: declared twice/],
];

for (const [what, declare, message] of wrong) {
  test(`Registry refuses ${what}`, () => assert.throws(() => declare(new Registry()), { message }));
}

// Runs where Prometheus is installed: its own linter has nothing to say.
if (spawnSync('promtool', ['--version']).status === 0) {
  test('Registry renders text that promtool takes without a warning', () => {
    const registry = new Registry();
    registry.counter('gateway_requests_total', 'Requests "so" \\ far\nin all.', ['route']).labels('a"b\\c\nd é').add(1e21);
    registry.gauge('gateway_memory_bytes', 'Memory.', [], 'sum').labels().set(NaN);
    registry.gauge('gateway_ratio', 'Ratio.', ['l'], 'sum').labels('').set(-Infinity);
    const histogram = registry.histogram('gateway_duration_seconds', 'Duration.', ['route'], [0.005, 1, 1e21]);
    for (const seconds of [0.001, 0.5, 7, Infinity]) histogram.labels('x').observe(seconds);
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: registry.render(), encoding: 'utf8' });
    assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: '', stderr: '' });
  });
}

/** A registry with one family of each kind, as each of several processes has it. */
function declared(): Registry {
  const registry = new Registry();
  registry.counter('a_total', 'A.', ['l']);
  registry.gauge('sum', 'B.', [], 'sum');
  registry.gauge('worst', 'C.', ['l'], 'max');
  registry.gauge('mine', 'D.', [], 'first');
  registry.histogram('h', 'E.', ['l'], [1, 2]);
  return registry;
}

function linesOf(registry: Registry): readonly string[] {
  return registry.render().split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

/** The values of labels `l` by family, as another process would report them. */
function reported(a: number, sum: number, worst: number, mine: number, observed: readonly number[]): Snapshot {
  return [
    { name: 'a_total', series: [{ labels: ['x'], values: [a] }] },
    { name: 'sum', series: [{ labels: [], values: [sum] }] },
    { name: 'worst', series: [{ labels: ['x'], values: [worst] }] },
    { name: 'mine', series: [{ labels: [], values: [mine] }] },
    { name: 'h', series: [{ labels: ['x'], values: observed }] },
  ];
}

test('Registry makes a snapshot of what a scrape would show, gauges that are read and set at a scrape included', () => {
  const registry = new Registry();
  const counter = registry.counter('a_total', 'A.', ['l', 'm']);
  registry.gauge('read', 'B.', [], 'sum', () => 7);
  const scraped = registry.gauge('scraped', 'C.', [], 'sum').labels();
  registry.onScrape(() => scraped.add(1));
  registry.histogram('h', 'D.', [], [1, 2]).labels().observe(1.5);
  counter.labels('x', 'y').add(3);
  assert.deepEqual(registry.snapshot(), [
    { name: 'a_total', series: [{ labels: ['x', 'y'], values: [3] }] },
    { name: 'read', series: [{ labels: [], values: [7] }] },
    { name: 'scraped', series: [{ labels: [], values: [1] }] },
    { name: 'h', series: [{ labels: [], values: [0, 1, 0, 1.5] }] },
  ]);
});

test('a merged page shows of a gauge that is better the larger the smallest, whoever comes first', () => {
  const registry = new Registry();
  registry.gauge('up', 'A.', ['l'], 'min');
  const page = registry.createPage();
  const up = (value: number): Snapshot => [{ name: 'up', series: [{ labels: ['x'], values: [value] }] }];
  for (const [living, smallest] of [[[1, 0, 1], 0], [[0, 1], 0], [[1, 1], 1]] as const) {
    page.merge(living.map(up), []);
    assert.deepEqual(linesOf(page), [`up{l="x"} ${smallest}`]);
  }
});

test('a merged page sums counters and histograms, and gauges as they declare', () => {
  const page = declared().createPage();
  page.merge([reported(1, 10, 5, 100, [1, 2, 3, 9.5]), reported(2, 20, 7, 200, [10, 20, 30, 90]), reported(0, 0, 4, 300, [0, 0, 0, 0])], []);
  assert.deepEqual(linesOf(page), [
    'a_total{l="x"} 3',
    'sum 30',
    'worst{l="x"} 7',
    'mine 100',
    'h_bucket{l="x",le="1"} 11',
    'h_bucket{l="x",le="2"} 33',
    'h_bucket{l="x",le="+Inf"} 66',
    'h_sum{l="x"} 99.5',
    'h_count{l="x"} 66',
  ]);
});

test('a merged page of one process is the page of that process', () => {
  const registry = declared();
  registry.merge([reported(1, 10, 5, 100, [1, 2, 3, 9.5])], []);
  const page = registry.createPage();
  page.merge([registry.snapshot()], []);
  assert.equal(page.render(), registry.render());
});

test('a merged page keeps what a process that is gone counted, and forgets its gauges', () => {
  const page = declared().createPage();
  const gone = reported(1, 10, 5, 100, [1, 0, 0, 0.5]);
  page.merge([reported(2, 20, 3, 200, [0, 1, 0, 1.5])], [gone]);
  assert.deepEqual(linesOf(page), [
    'a_total{l="x"} 3',
    'sum 20',
    'worst{l="x"} 3',
    'mine 200',
    'h_bucket{l="x",le="1"} 1',
    'h_bucket{l="x",le="2"} 2',
    'h_bucket{l="x",le="+Inf"} 2',
    'h_sum{l="x"} 2',
    'h_count{l="x"} 2',
  ]);
  page.merge([], [gone]);
  assert.deepEqual(linesOf(page).slice(1, 4), ['sum 0', 'worst{l="x"} 0', 'mine 0']);
});

test('a merged page gives the same text whenever it is merged anew', () => {
  const page = declared().createPage();
  const snapshots = [reported(1, 10, 5, 100, [1, 2, 3, 9.5]), reported(2, 20, 4, 200, [10, 20, 30, 90])];
  page.merge(snapshots, []);
  const text = page.render();
  page.merge(snapshots, []);
  assert.equal(page.render(), text);
});

test('a merged page never lets a counter or histogram fall, in whatever order doubles are added up', () => {
  const { below } = createRandom(27);
  const random = (): number => below(2 ** 30) / 2 ** 30;
  for (let round = 0; round < 200; round += 1) {
    const page = declared().createPage();
    const gone = declared().createPage();
    const processes = Array.from({ length: 5 }, () => ({ a: 0, sum: 0, counts: [0, 0, 0] }));
    const snapshotOf = ({ a, sum, counts }: (typeof processes)[number]): Snapshot => reported(a, 0, 0, 0, [...counts, sum]);
    let before: readonly number[] = [];
    for (let step = 0; step < 30; step += 1) {
      for (const each of random() < 0.3 ? processes : []) {
        each.a += random() / 3;
        each.sum += random() * 10 ** Math.floor(random() * 12);
        each.counts = each.counts.map((count) => count + Math.floor(random() * 3));
      }
      // One of them ends, another takes its place, and the rest report in any order.
      if (random() < 0.5) {
        gone.merge([], [gone.snapshot(), snapshotOf(processes[0] as (typeof processes)[number])]);
        processes[0] = { a: 0, sum: 0, counts: [0, 0, 0] };
      }
      processes.sort(() => random() - 0.5);
      page.merge(processes.map(snapshotOf), [gone.snapshot()]);
      const values = linesOf(page).filter((line) => /^(a_total|h_)/.test(line)).map((line) => Number(line.split(' ')[1]));
      for (const [index, value] of values.entries()) assert.ok(value >= (before[index] ?? 0), `${value} after ${before[index]}`);
      before = values;
    }
  }
});

test('a merged page stays within its share, and puts the same series into other each time', () => {
  const registry = new Registry();
  registry.counter('a_total', 'A.', ['model'], { bytesMax: 400, open: ['model'] });
  const page = registry.createPage();
  const snapshotOf = (from: number, count: number): Snapshot => [
    { name: 'a_total', series: Array.from({ length: count }, (_, index) => ({ labels: [`model-${from + index}`], values: [1] })) },
  ];
  let before = new Map<string, number>();
  for (let round = 1; round <= 20; round += 1) {
    page.merge([snapshotOf(100, round), snapshotOf(200, round), snapshotOf(300 - round, round)], []);
    const lines = new Map(linesOf(page).map((line) => [line.split(' ')[0] ?? '', Number(line.split(' ')[1])]));
    assert.equal([...lines.values()].reduce((sum, value) => sum + value), 3 * round);
    for (const [name, value] of before) assert.ok((lines.get(name) ?? 0) >= value, name);
    before = lines;
  }
  assert.ok(page.render().length <= 400 + 60);
  assert.ok((before.get('a_total{model="other"}') ?? 0) > 0);
});

test('a merged page leaves out families and series of another shape', () => {
  const page = declared().createPage();
  page.merge([[
    { name: 'unknown_total', series: [{ labels: [], values: [1] }] },
    { name: 'a_total', series: [{ labels: ['x', 'y'], values: [1] }, { labels: ['x'], values: [1, 2] }, { labels: ['x'], values: [] }] },
    { name: 'sum', series: [{ labels: [], values: [1, 2] }] },
    { name: 'h', series: [{ labels: ['x'], values: [1, 2] }] },
  ]], []);
  assert.deepEqual(linesOf(page).filter((line) => !line.endsWith(' 0')), []);
});
