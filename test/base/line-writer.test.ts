import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { LineWriter } from '../../src/base/line-writer.ts';

type Callback = (error: NodeJS.ErrnoException | null, written: number) => void;

/** Stands in for the platform's writes: the test answers each one when it likes. */
class FakeFile {
  readonly #context: TestContext;
  /** What reached the file. */
  text = '';
  /** Lengths of the writes asked for, asynchronous and synchronous ones. */
  readonly asked: number[] = [];
  #bytes: Buffer = Buffer.alloc(0);
  #callback: Callback | undefined;
  /** Answers for synchronous writes; when they run out, a write succeeds. */
  readonly syncAnswers: (number | string)[] = [];

  constructor(t: TestContext) {
    this.#context = t;
    t.mock.timers.enable({ apis: ['setTimeout'] });
    t.mock.method(fs, 'write', (_fd: number, bytes: Buffer, callback: Callback) => {
      assert.equal(this.#callback, undefined, 'one write at a time');
      this.asked.push(bytes.length);
      this.#bytes = Buffer.from(bytes);
      this.#callback = callback;
    });
    t.mock.method(fs, 'writeSync', (_fd: number, bytes: Buffer) => {
      this.asked.push(bytes.length);
      const answer = this.syncAnswers.shift() ?? bytes.length;
      if (typeof answer === 'string') throw errorOf(answer);
      this.text += bytes.toString('utf8', 0, answer);
      return answer;
    });
    syncBuiltinESMExports();
    t.after(() => {
      t.mock.restoreAll();
      syncBuiltinESMExports();
    });
  }

  get isWriting(): boolean {
    return this.#callback !== undefined;
  }

  /** Ends the write under way: all of it, so many bytes, or an error code. */
  answer(answer: number | string = this.#bytes.length): void {
    const callback = this.#callback;
    this.#callback = undefined;
    assert.ok(callback !== undefined, 'a write is under way');
    if (typeof answer === 'string') return callback(errorOf(answer), 0);
    this.text += this.#bytes.toString('utf8', 0, answer);
    callback(null, answer);
  }

  /** Lets the time pass for which a file is left alone after a write. */
  rest(): void {
    this.#context.mock.timers.tick(50);
  }
}

function errorOf(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(code), { code });
}

const FD = 1;

test('LineWriter adds the line break', (t) => {
  const file = new FakeFile(t);
  new LineWriter(FD).write('é');
  file.answer();
  assert.equal(file.text, 'é\n');
});

test('LineWriter writes together what came during a write and within 50 ms after it', (t) => {
  const file = new FakeFile(t);
  const writer = new LineWriter(FD);
  for (const line of ['one', 'two']) writer.write(line);
  assert.deepEqual(file.asked, [4]);
  file.answer();
  t.mock.timers.tick(49);
  writer.write('three');
  assert.deepEqual(file.asked, [4]);
  t.mock.timers.tick(1);
  assert.deepEqual(file.asked, [4, 10]);
  file.answer();
  file.rest();
  assert.equal(file.text, 'one\ntwo\nthree\n');
  assert.equal(file.isWriting, false);
});

test('LineWriter goes on after it was idle', (t) => {
  const file = new FakeFile(t);
  const writer = new LineWriter(FD);
  writer.write('one');
  file.answer();
  file.rest();
  writer.write('two');
  file.answer();
  assert.equal(file.text, 'one\ntwo\n');
});

test('LineWriter writes the rest after a partial write', (t) => {
  const file = new FakeFile(t);
  const writer = new LineWriter(FD);
  writer.write('one');
  writer.write('two');
  file.answer(1);
  assert.deepEqual(file.asked, [4, 3]);
  file.answer(1);
  file.answer();
  file.rest();
  file.answer();
  assert.equal(file.text, 'one\ntwo\n');
  assert.equal(writer.dropped, 0);
});

test('LineWriter drops and counts lines while its queue is full', (t) => {
  const file = new FakeFile(t);
  const writer = new LineWriter(FD, 10);
  writer.write('1234');
  writer.write('5678');
  writer.write('');
  assert.equal(writer.dropped, 1);
  file.answer();
  file.rest();
  writer.write('90');
  writer.write('abc');
  assert.equal(writer.dropped, 2);
  file.answer();
  file.rest();
  file.answer();
  assert.equal(file.text, '1234\n5678\n90\n');
});

test('LineWriter counts the queue in bytes', (t) => {
  new FakeFile(t);
  const writer = new LineWriter(FD, 8);
  writer.write('éé');
  writer.write('é');
  assert.equal(writer.dropped, 0);
  writer.write('');
  assert.equal(writer.dropped, 1);
});

test('LineWriter drops a line longer than its queue', (t) => {
  const file = new FakeFile(t);
  const writer = new LineWriter(FD, 8);
  writer.write('12345678');
  assert.equal(writer.dropped, 1);
  assert.equal(file.isWriting, false);
});

test('LineWriter keeps at most a MiB by default', (t) => {
  new FakeFile(t);
  const writer = new LineWriter(FD);
  for (let i = 0; i < 1025; i += 1) writer.write('x'.repeat(1023));
  assert.equal(writer.dropped, 1);
});

test('LineWriter tries a full pipe again after 50 ms', (t) => {
  const file = new FakeFile(t);
  const writer = new LineWriter(FD);
  writer.write('one');
  file.answer('EAGAIN');
  writer.write('two');
  t.mock.timers.tick(49);
  assert.equal(file.isWriting, false);
  t.mock.timers.tick(1);
  file.answer('EAGAIN');
  t.mock.timers.tick(50);
  file.answer();
  file.rest();
  file.answer();
  assert.equal(file.text, 'one\ntwo\n');
  assert.equal(writer.dropped, 0);
});

for (const code of ['EPIPE', 'EBADF']) {
  test(`LineWriter writes nothing more after ${code}, and counts`, (t) => {
    const file = new FakeFile(t);
    const writer = new LineWriter(FD);
    writer.write('one');
    writer.write('two');
    file.answer(code);
    writer.write('three');
    writer.flushSync();
    assert.deepEqual(file.asked, [4]);
    assert.equal(writer.dropped, 3);
  });
}

test('LineWriter loses the lines of a failed write and goes on with the next', (t) => {
  const file = new FakeFile(t);
  const writer = new LineWriter(FD);
  for (const line of ['one', 'two', 'three']) writer.write(line);
  file.answer();
  file.rest();
  writer.write('four');
  file.answer('ENOSPC');
  file.rest();
  file.answer();
  assert.equal(file.text, 'one\nfour\n');
  assert.equal(writer.dropped, 2);
});

test('LineWriter begins a new line after one that a full disk cut, and counts what was lost alone', (t) => {
  const file = new FakeFile(t);
  const writer = new LineWriter(FD);
  for (const line of ['one', 'two', 'three', 'four']) writer.write(line);
  file.answer();
  file.rest();
  file.answer(6);
  file.answer('ENOSPC');
  assert.equal(writer.dropped, 2);
  writer.write('five');
  file.rest();
  file.answer(3);
  file.answer('ENOSPC');
  writer.write('six');
  file.rest();
  file.answer('ENOSPC');
  assert.equal(writer.dropped, 4);
  writer.write('seven');
  writer.flushSync();
  assert.equal(file.text, 'one\ntwo\nth\nfi\nseven\n');
  assert.equal(writer.dropped, 4);
});

test('LineWriter.flushSync writes the queue beside the write under way', (t) => {
  const file = new FakeFile(t);
  const writer = new LineWriter(FD);
  writer.write('one');
  writer.write('two');
  file.syncAnswers.push(1, 1);
  writer.flushSync();
  assert.equal(file.text, 'two\n');
  file.answer();
  assert.equal(file.text, 'two\none\n');
  assert.equal(file.isWriting, false);
});

test('LineWriter.flushSync writes what waits for a full pipe, first things first', (t) => {
  const file = new FakeFile(t);
  const writer = new LineWriter(FD);
  writer.write('one');
  writer.write('two');
  file.answer(2);
  file.answer('EAGAIN');
  file.syncAnswers.push('EAGAIN', 'EAGAIN');
  writer.flushSync();
  assert.equal(file.text, 'one\ntwo\n');
  t.mock.timers.tick(1000);
  assert.equal(file.isWriting, false);
  assert.equal(writer.dropped, 0);
});

test('LineWriter.flushSync gives up on a pipe that stays full for a second, and counts', (t) => {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => (nowMs += 400));
  const file = new FakeFile(t);
  const writer = new LineWriter(FD);
  writer.write('one');
  writer.write('two');
  file.answer('EAGAIN');
  file.syncAnswers.push(...Array<string>(9).fill('EAGAIN'));
  writer.flushSync();
  assert.equal(writer.dropped, 2);
  assert.equal(file.asked.length, 1 + 3 + 1);
});

test('LineWriter.flushSync gives up at once when nobody reads', (t) => {
  const file = new FakeFile(t);
  const writer = new LineWriter(FD);
  writer.write('one');
  writer.write('two');
  file.syncAnswers.push('EPIPE');
  writer.flushSync();
  writer.write('three');
  assert.equal(writer.dropped, 2);
  assert.equal(file.asked.length, 2);
});

test('LineWriter.flush waits for the write under way, and writes what a full pipe did not take of it before the rest', async (t) => {
  const file = new FakeFile(t);
  const writer = new LineWriter(FD);
  writer.write('one');
  writer.write('two');
  const flushed = Promise.all([writer.flush(), writer.flush()]);
  writer.write('three');
  assert.equal(file.text, '');
  file.answer('EAGAIN');
  await flushed;
  assert.equal(file.text, 'one\ntwo\nthree\n');
  assert.deepEqual([writer.dropped, file.isWriting], [0, false]);
});

test('LineWriter goes on by itself after a flush, be it of nothing or of what a full pipe had left', async (t) => {
  const file = new FakeFile(t);
  const writer = new LineWriter(FD);
  writer.write('one');
  file.answer();
  await writer.flush();
  writer.write('two');
  file.answer();
  file.rest();
  writer.write('three');
  const flushed = writer.flush();
  file.answer('EAGAIN');
  await flushed;
  writer.write('four');
  file.answer('EAGAIN');
  file.rest();
  file.answer();
  assert.equal(file.text, 'one\ntwo\nthree\nfour\n');
});

test('LineWriter.flush writes the rest beside a write that does not end within a second', async (t) => {
  const file = new FakeFile(t);
  const writer = new LineWriter(FD);
  writer.write('one');
  writer.write('two');
  const flushed = writer.flush();
  t.mock.timers.tick(1000);
  await flushed;
  assert.equal(file.text, 'two\n');
  file.answer();
  assert.equal(file.text, 'two\none\n');
});

test('LineWriter.flush counts the write under way that a pipe does not take in time', async (t) => {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => (nowMs += 400));
  const file = new FakeFile(t);
  const writer = new LineWriter(FD);
  writer.write('one');
  const flushed = writer.flush();
  file.answer('EAGAIN');
  file.syncAnswers.push(...Array<string>(9).fill('EAGAIN'));
  await flushed;
  assert.equal(writer.dropped, 1);
});

test('LineWriter goes on after a flush', async (t) => {
  const file = new FakeFile(t);
  const writer = new LineWriter(FD);
  writer.write('one');
  const flushed = writer.flush();
  file.answer();
  await flushed;
  writer.write('two');
  file.answer();
  file.rest();
  assert.equal(file.text, 'one\ntwo\n');
  await writer.flush();
});

test('LineWriter.flushSync with nothing to write does nothing', (t) => {
  const file = new FakeFile(t);
  const writer = new LineWriter(FD);
  writer.flushSync();
  writer.write('one');
  writer.flushSync();
  assert.deepEqual(file.asked, [4]);
});

/** A named pipe, open at both ends, of which nobody reads yet. */
function createPipe(t: TestContext): { readonly read: number; readonly write: number } {
  const folder = fs.mkdtempSync(join(tmpdir(), 'line-writer-'));
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const read = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  const write = fs.openSync(path, fs.constants.O_WRONLY);
  t.after(() => {
    fs.closeSync(write);
    fs.rmSync(folder, { recursive: true });
  });
  return { read, write };
}

test('LineWriter loses no line silently when the reader of a pipe stops for a while', async (t) => {
  const pipe = createPipe(t);
  const writer = new LineWriter(pipe.write, 100_000);
  const offered = 5000;
  for (let i = 0; i < offered; i += 1) writer.write(`${i} ${'x'.repeat(100)}`);
  const expected = offered - writer.dropped;
  assert.ok(writer.dropped > 0 && expected > 0);

  const reader = new Socket({ fd: pipe.read });
  t.after(() => reader.destroy());
  const numbers: number[] = [];
  for await (const line of createInterface({ input: reader })) {
    assert.match(line, /^\d+ x{100}$/);
    numbers.push(Number.parseInt(line, 10));
    if (numbers.length === expected) break;
  }
  assert.deepEqual(numbers, Array.from({ length: expected }, (_, index) => index));
  assert.equal(writer.dropped, offered - expected);
});

test('LineWriter survives a pipe that nobody reads from the start', (t) => {
  const pipe = createPipe(t);
  fs.closeSync(pipe.read);
  const writer = new LineWriter(pipe.write);
  writer.write('one');
  writer.write('two');
  writer.flushSync();
  writer.write('three');
  assert.equal(writer.dropped, 2);
});

test('LineWriter never waits for the reader of a socket', async (t) => {
  const code = `
    import { LineWriter } from ${JSON.stringify(new URL('../../src/base/line-writer.ts', import.meta.url).href)};
    const writer = new LineWriter(3);
    for (let i = 0; i < 800; i += 1) writer.write('x'.repeat(1000));
    setImmediate(() => {
      writer.flushSync();
      process.exit(7);
    });
  `;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], {
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  assert.deepEqual(await once(child, 'exit'), [7, null]);
});

// Elsewhere a pipe cannot be opened anew, and a thread that waits in a write keeps the process.
if (fs.existsSync('/proc/self/fd')) {
  test('LineWriter lets a process exit while its pipe is full', async (t) => {
    const pipe = createPipe(t);
    t.after(() => fs.closeSync(pipe.read));
    const code = `
      import { LineWriter } from ${JSON.stringify(new URL('../../src/base/line-writer.ts', import.meta.url).href)};
      const writer = new LineWriter(3);
      for (let i = 0; i < 500; i += 1) writer.write('x'.repeat(1000));
      setImmediate(() => {
        writer.flushSync();
        process.exit(7);
      });
    `;
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], {
      stdio: ['ignore', 'inherit', 'inherit', pipe.write],
    });
    t.after(() => child.kill('SIGKILL'));
    assert.deepEqual(await once(child, 'exit'), [7, null]);
  });
}

test('LineWriter writes whole lines of as many bytes as it may at once, without a rest while there are as many', (t) => {
  const file = new FakeFile(t);
  const writer = new LineWriter(FD, 1000, 10);
  for (const line of ['a', 'bbbb', 'ccc', 'dddddddddddd', 'é', 'f']) writer.write(line);
  file.answer();
  file.rest();
  const written: string[] = [];
  while (file.isWriting) {
    const before = file.text.length;
    file.answer();
    written.push(file.text.slice(before));
  }
  assert.deepEqual(written, ['bbbb\nccc\n', 'dddddddddddd\n']);
  file.rest();
  file.answer();
  assert.equal(file.text, 'a\nbbbb\nccc\ndddddddddddd\né\nf\n');
  assert.equal(writer.dropped, 0);
});

test('LineWriter.flushSync writes no more at once than it may', (t) => {
  const file = new FakeFile(t);
  const writer = new LineWriter(FD, 1000, 10);
  for (const line of ['a', 'bbbb', 'ccc', 'ddd']) writer.write(line);
  writer.flushSync();
  assert.deepEqual(file.asked, [2, 9, 4]);
  assert.equal(file.text, 'bbbb\nccc\nddd\n');
});
