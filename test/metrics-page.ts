/**
 * A strict reader of Prometheus' text format 0.0.4: it throws at the first line that a scraper could take offence at, and
 * where a histogram does not add up.
 */

export type Sample = { readonly name: string; readonly labels: ReadonlyMap<string, string>; readonly value: number };

export type Family = {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly Sample[];
};

/** The families of a page by name, in its order. */
export function parsePage(page: string): ReadonlyMap<string, Family> {
  if (!page.endsWith('\n')) throw new Error('the last line does not end');
  const families = new Map<string, { name: string; type: string; help: string; samples: Sample[] }>();
  const seen = new Set<string>();
  const lines = page.slice(0, -1).split('\n');
  let current: { name: string; type: string; help: string; samples: Sample[] } | undefined;
  for (const [index, line] of lines.entries()) {
    const fail = (what: string): never => {
      throw new Error(`line ${index + 1}: ${what}: ${line}`);
    };
    const help = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) ((?:[^\\]|\\\\|\\n)+)$/.exec(line);
    const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line);
    if (help !== null) {
      const [, name = '', text = ''] = help;
      if (families.has(name)) fail('described before');
      if (current !== undefined && current.type === '') fail('the family before has no type');
      current = { name, type: '', help: text, samples: [] };
      families.set(name, current);
    } else if (type !== null) {
      if (current === undefined || current.name !== type[1] || current.type !== '' || current.samples.length > 0) fail('type out of place');
      else current.type = type[2] ?? '';
    } else {
      const sample = parseSample(line);
      if (sample === undefined) return fail('no sample');
      if (current === undefined || current.type === '' || !namesOf(current).includes(sample.name)) return fail('of another family');
      const key = JSON.stringify([sample.name, [...sample.labels].sort()]);
      if (seen.has(key)) fail('comes twice');
      seen.add(key);
      if (current.type !== 'gauge' && !(sample.value >= 0)) fail('shrank');
      current.samples.push(sample);
    }
  }
  for (const family of families.values()) if (family.type === 'histogram') checkHistogram(family);
  return families;
}

/** The value of one series; undefined where there is none. Labels are given in any order, all of them. */
export function valueOf(page: string, name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
  const wanted = Object.entries(labels);
  for (const family of parsePage(page).values()) {
    for (const sample of family.samples) {
      if (sample.name !== name || sample.labels.size !== wanted.length) continue;
      if (wanted.every(([key, value]) => sample.labels.get(key) === value)) return sample.value;
    }
  }
  return undefined;
}

function namesOf({ name, type }: Family): readonly string[] {
  return type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
}

function parseSample(line: string): Sample | undefined {
  const match = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.+)\})? (NaN|[+-]Inf|-?\d+(?:\.\d+)?(?:e[+-]\d+)?)$/.exec(line);
  if (match === null) return undefined;
  const [, name = '', labelText = '', value = ''] = match;
  const labels = new Map<string, string>();
  let rest = labelText;
  while (rest !== '') {
    const label = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,(?=.)|$)/.exec(rest);
    if (label === null || labels.has(label[1] ?? '')) return undefined;
    labels.set(label[1] ?? '', (label[2] ?? '').replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char)));
    rest = rest.slice(label[0].length);
  }
  return { name, labels, value: Number(value.replace('Inf', 'Infinity')) };
}

/** Buckets ascend to +Inf, their counts do not fall, and sum and count belong to them. */
function checkHistogram({ name, samples }: Family): void {
  const series = new Map<string, { bounds: number[]; counts: number[]; sum?: number; count?: number }>();
  for (const sample of samples) {
    const others = [...sample.labels].filter(([key]) => key !== 'le');
    const key = JSON.stringify(others);
    const one = series.get(key) ?? { bounds: [], counts: [] };
    series.set(key, one);
    if (sample.name === `${name}_sum`) one.sum = sample.value;
    else if (sample.name === `${name}_count`) one.count = sample.value;
    else {
      one.bounds.push(Number(sample.labels.get('le')?.replace('Inf', 'Infinity')));
      one.counts.push(sample.value);
    }
  }
  for (const [key, { bounds, counts, sum, count }] of series) {
    const isAscending = bounds.every((bound, index) => index === 0 || bound > (bounds[index - 1] ?? Infinity));
    const isCumulative = counts.every((each, index) => index === 0 || each >= (counts[index - 1] ?? Infinity));
    if (!isAscending || bounds.at(-1) !== Infinity) throw new Error(`${name} ${key}: its bounds do not ascend to +Inf`);
    if (!isCumulative || counts.at(-1) !== count) throw new Error(`${name} ${key}: its buckets are not cumulative`);
    if (sum === undefined) throw new Error(`${name} ${key}: it has no sum`);
  }
}
