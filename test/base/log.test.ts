import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from '../../src/base/log.ts';
import type { LogFields, LogLevel, LogSettings } from '../../src/base/log.ts';

/** The one line that an event makes. */
function lineOf(settings: Partial<LogSettings>, level: LogLevel, message: string, fields?: LogFields): string {
  const lines: string[] = [];
  const log = createLog({
    level: 'debug',
    format: 'json',
    write: (line) => lines.push(line),
    now: () => new Date(Date.UTC(2026, 2, 14, 3, 14, 15, 926)),
    ...settings,
  });
  log[level](message, fields);
  assert.equal(lines.length, 1);
  return lines[0] ?? '';
}

const levels = ['debug', 'info', 'warn', 'error'] as const;

for (const [index, level] of levels.entries()) {
  test(`createLog at ${level} writes ${levels.slice(index).join(', ')} only`, () => {
    const written: unknown[] = [];
    const log = createLog({ level, format: 'json', write: (line) => written.push(JSON.parse(line).level) });
    for (const each of levels) log[each]('x');
    assert.deepEqual(written, levels.slice(index));
    assert.deepEqual(levels.filter(log.isEnabled), levels.slice(index));
  });
}

test('createLog writes JSON with time, level, message and the fields in their order', () => {
  assert.equal(
    lineOf({}, 'warn', 'hello', { b: 'x', a: 1.5, ok: true, gone: undefined }),
    '{"time":"2026-03-14T03:14:15.926Z","level":"warn","message":"hello","b":"x","a":1.5,"ok":true}',
  );
});

test('createLog writes JSON strings that JSON.parse reads back, whatever character they hold', () => {
  for (let code = 0; code < 0x300; code += 1) {
    const text = `a${String.fromCharCode(code)}b`;
    assert.equal(JSON.parse(lineOf({}, 'info', text, { a: text })).a, text);
  }
});

test('createLog writes JSON without fields', () => {
  assert.equal(lineOf({}, 'info', 'hello'), '{"time":"2026-03-14T03:14:15.926Z","level":"info","message":"hello"}');
});

test('createLog writes a number that JSON cannot carry as null', () => {
  assert.match(lineOf({}, 'info', 'x', { a: NaN, b: Infinity }), /"a":null,"b":null\}$/);
});

test('createLog writes nothing that a program adds to all objects', () => {
  const everybody = Object.prototype as unknown as Record<string, unknown>;
  everybody['added'] = 'to all';
  try {
    assert.equal(lineOf({}, 'info', 'hello', { a: 1 }), '{"time":"2026-03-14T03:14:15.926Z","level":"info","message":"hello","a":1}');
  } finally {
    delete everybody['added'];
  }
});

test('createLog gives each line its own time', () => {
  const times = [5, 5, 6, 5].map((ms) => new Date(ms));
  const lines: string[] = [];
  const log = createLog({ level: 'info', format: 'json', write: (line) => lines.push(line), now: () => times[lines.length] ?? new Date(0) });
  for (const _ of times) log.info('x');
  assert.deepEqual(lines.map((line) => JSON.parse(line).time), times.map((time) => time.toISOString()));
});

test('createLog takes the time of the event by default', () => {
  const lines: string[] = [];
  const before = Date.now();
  createLog({ level: 'info', format: 'json', write: (line) => lines.push(line) }).info('x');
  const at = Date.parse(JSON.parse(lines[0] ?? '').time);
  assert.ok(at >= before && at <= Date.now());
});

const texts: readonly (readonly [what: string, level: LogLevel, message: string, fields: LogFields | undefined, line: string])[] = [
  ['a message', 'info', 'listening', undefined, '03:14:15.926 INFO  listening'],
  ['a level of five letters', 'error', 'failed', undefined, '03:14:15.926 ERROR failed'],
  ['plain values', 'warn', 'a b', { path: '/v1/chat', ms: 1.5, ok: false }, '03:14:15.926 WARN  a b          path=/v1/chat ms=1.5 ok=false'],
  ['values that need quotes', 'debug', 'x', { a: 'b c', d: '', e: 'f=g', h: '"', i: 'é' }, '03:14:15.926 DEBUG x            a="b c" d="" e="f=g" h="\\"" i="é"'],
  ['no absent value', 'info', 'x', { a: undefined, b: 1 }, '03:14:15.926 INFO  x            b=1'],
  ['a key that needs quotes', 'info', 'x', { 'a b': 1 }, '03:14:15.926 INFO  x            "a b"=1'],
  ['a message that is longer than the column', 'info', 'listening on x', { b: 1 }, '03:14:15.926 INFO  listening on x  b=1'],
  ['quotes in the message as they are', 'info', 'a "b" \\c', undefined, '03:14:15.926 INFO  a "b" \\c'],
];

for (const [what, level, message, fields, line] of texts) {
  test(`createLog writes text with ${what}`, () => assert.equal(lineOf({ format: 'text' }, level, message, fields), line));
}

test('createLog colours the level of a text line and dims time and keys when asked to', () => {
  const line = lineOf({ format: 'text', isColoured: true }, 'error', 'x', { a: 'b c' });
  assert.equal(line, '\u001b[2m03:14:15.926\u001b[0m \u001b[31mERROR\u001b[0m x            \u001b[2ma=\u001b[0m"b c"');
});

test('createLog never colours JSON', () => {
  assert.equal(lineOf({ isColoured: true }, 'error', 'x'), lineOf({}, 'error', 'x'));
});

const hostile: readonly (readonly [what: string, char: string, escape: string])[] = [
  ['an ANSI escape', '\u001b', '\\u001b'],
  ['a NUL', '\u0000', '\\u0000'],
  ['DEL', '\u007f', '\\u007f'],
  ['a C1 control sequence introducer', '\u009b', '\\u009b'],
  ['NEL', '\u0085', '\\u0085'],
  ['a line separator', '\u2028', '\\u2028'],
  ['a paragraph separator', '\u2029', '\\u2029'],
  ['a right-to-left override', '\u202e', '\\u202e'],
  ['a bidirectional isolate', '\u2066', '\\u2066'],
  ['a byte order mark', '\ufeff', '\\ufeff'],
  ['an invisible tag character', '\u{e0041}', '\\udb40\\udc41'],
  ['an unpaired surrogate', '\ud800', '\\ud800'],
];

for (const [what, char, escape] of hostile) {
  test(`createLog escapes ${what} in JSON, which still reads back`, () => {
    const line = lineOf({}, 'info', `a${char}b`, { [`k${char}`]: `c${char}d` });
    assert.ok(line.includes(`"a${escape}b"`) && line.includes(`"c${escape}d"`) && !line.includes(char));
    const back = JSON.parse(line);
    assert.equal(back.message, `a${char}b`);
    assert.equal(back[`k${char}`], `c${char}d`);
  });
  test(`createLog escapes ${what} in text`, () => {
    const line = lineOf({ format: 'text' }, 'info', `a${char}b`, { [`k${char}`]: `c${char}d` });
    assert.equal(line, `03:14:15.926 INFO  ${`a${escape}b`.padEnd(11)}  "k${escape}"="c${escape}d"`);
  });
}

test('createLog keeps every event on one line', () => {
  for (const format of ['json', 'text'] as const) {
    assert.doesNotMatch(lineOf({ format }, 'info', 'a\nb\r\n\t', { 'k\n': 'v\nw' }), /[^\x20-\x7e]/);
  }
});

test('createLog cuts strings beyond 1,024 characters', () => {
  const whole = 'x'.repeat(1024);
  const cut = 'x'.repeat(1023) + '…';
  const fields = { a: whole, b: whole + 'x' };
  const line = JSON.parse(lineOf({}, 'info', whole + 'x', fields));
  assert.deepEqual([line.message, line.a, line.b], [cut, whole, cut]);
  assert.equal(lineOf({ format: 'text' }, 'info', whole + 'x', fields), `03:14:15.926 INFO  ${cut}  a=${whole} b="${cut}"`);
});

for (const format of ['json', 'text'] as const) {
  test(`createLog cuts what is long until the line has no more bytes than it may, as ${format}`, () => {
    const lines: string[] = [];
    const log = createLog({ level: 'info', format, lineBytesMax: 4095, write: (line) => lines.push(line) });
    const long = (text: string): Record<string, string> => Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`field_of_some_length_${index}`, text]));
    log.info('short', { a: 'x'.repeat(1024) });
    log.info('m'.repeat(5000), { ...long('plain '.repeat(500)), last: 'end' });
    log.info('controls', long('\u0001'.repeat(1024)));
    log.info('wide', long('€'.repeat(1024)));
    assert.match(lines[0] ?? '', /x{1024}/);
    for (const line of lines) assert.ok(Buffer.byteLength(line) <= 4095, `${Buffer.byteLength(line)}`);
    assert.match(lines[1] ?? '', /last\W{1,3}end/);
    if (format === 'json') for (const line of lines) assert.ok(Object.keys(JSON.parse(line) as object).length > 3);
  });
}

test('createLog adds the fields that stand in every line', () => {
  const lines: string[] = [];
  const log = createLog({ level: 'info', format: 'json', fields: { worker: 2 }, write: (line) => lines.push(line), now: () => new Date(0) });
  log.info('a', { b: 1 });
  log.info('c');
  assert.deepEqual(lines, [
    '{"time":"1970-01-01T00:00:00.000Z","level":"info","message":"a","b":1,"worker":2}',
    '{"time":"1970-01-01T00:00:00.000Z","level":"info","message":"c","worker":2}',
  ]);
});
