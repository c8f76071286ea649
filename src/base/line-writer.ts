/**
 * Writes lines to a file descriptor without ever holding up the event loop.
 *
 * `process.stdout.write` on a pipe is synchronous: a reader that stops reading stops the whole process. Here one
 * write is under way at a time, in the thread pool. What comes meanwhile, or soon after it, is queued and written together,
 * since each write wakes a thread and the event loop again. A full queue drops lines and counts them: serving matters more than
 * logging.
 *
 * Several processes may share the pipe. Then no write is longer than what a pipe takes whole or not at all, so that no line of
 * one stands inside a line of another.
 */

import { constants, fstatSync, openSync, write as writeAsync, writeSync } from 'node:fs';
import { Socket } from 'node:net';

/** About 3,000 lines of a request log. */
const QUEUE_BYTES_MAX = 1024 * 1024;
/** How long to leave a pipe alone after a write, be it full or not. With 10 ms the waking of threads was 2 % of a chat. */
const REST_MS = 50;
/** How long `flushSync` puts up with a full pipe. */
const FLUSH_MS_MAX = 1000;

/** What Linux writes to a pipe whole or not at all (PIPE_BUF), the line break included. A stream socket takes it in one piece, too. */
export const WHOLE_WRITE_BYTES = 4096;

const NOTHING: Buffer = Buffer.alloc(0);
const LINE_BREAK = 0x0a;

export class LineWriter {
  readonly #fd: number;
  readonly #queueBytesMax: number;
  readonly #writeBytesMax: number;
  #queue: string[] = [];
  #queueBytes = 0;
  /** The part of the last lines taken from the queue that is not written yet. */
  #batch: Buffer = NOTHING;
  /** Whether what was written last ends inside a line. Where its rest is lost, as on a full disk, the next begins on a new one. */
  #isInsideLine = false;
  #isWriting = false;
  /** Where somebody waits for the end of the write under way, who then writes the rest. */
  #onWritten: (() => void) | undefined;
  #flushed: Promise<void> | undefined;
  #restTimer: NodeJS.Timeout | undefined;
  #isReaderGone = false;
  #dropped = 0;

  /**
   * The descriptor stays the caller's to close. At most `queueBytesMax` bytes wait to be written, and as many at most are
   * written at once; where other processes write there too, WHOLE_WRITE_BYTES, which no line should pass.
   */
  constructor(fd: number, queueBytesMax = QUEUE_BYTES_MAX, writeBytesMax = queueBytesMax) {
    this.#fd = nonBlocking(fd);
    this.#queueBytesMax = queueBytesMax;
    this.#writeBytesMax = writeBytesMax;
  }

  /** Lines that were lost: the queue was full, the write failed, or nobody reads any more. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Queues one line; the line break is added here. */
  write(line: string): void {
    // To count its bytes makes one string of the pieces that it was built from, some of which would keep a whole request alive while it waits.
    const bytes = Buffer.byteLength(line) + 1;
    if (this.#isReaderGone || this.#batch.length + this.#queueBytes + bytes > this.#queueBytesMax) {
      this.#dropped += 1;
      return;
    }
    this.#queue.push(line);
    this.#queueBytes += bytes;
    if (!this.#isWriting && this.#restTimer === undefined) this.#writeBatch();
  }

  /**
   * For the first and the last moments of a process: resolves when everything is written, or lost and counted. A pipe that stays full, or a
   * write that does not end, is given up after a second.
   */
  flush(): Promise<void> {
    return (this.#flushed ??= this.#flushOnce().finally(() => (this.#flushed = undefined)));
  }

  async #flushOnce(): Promise<void> {
    if (this.#isWriting) {
      let limit: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.#onWritten = resolve;
        limit = setTimeout(resolve, FLUSH_MS_MAX);
      });
      clearTimeout(limit);
      this.#onWritten = undefined;
    }
    this.flushSync();
  }

  /**
   * Writes what waits before returning. Gives up on a pipe that stays full for a second. A write that the thread pool has
   * begun is left to it, and lost without being counted where the pipe is full: `flush` waits for it first.
   */
  flushSync(): void {
    clearTimeout(this.#restTimer);
    this.#restTimer = undefined;
    const giveUpAtMs = performance.now() + FLUSH_MS_MAX;
    if (!this.#isWriting) {
      this.#writeNow(this.#batch, giveUpAtMs);
      this.#batch = NOTHING;
    }
    while (this.#queue.length > 0) this.#writeNow(this.#takeBytes(), giveUpAtMs);
  }

  #writeBatch(): void {
    if (this.#batch.length === 0 && this.#queue.length > 0) this.#batch = this.#takeBytes();
    if (this.#batch.length === 0) return;
    this.#isWriting = true;
    writeAsync(this.#fd, this.#batch, (error, written) => {
      this.#isWriting = false;
      if (error === null) this.#batch = this.#leftOf(this.#batch, written);
      else if (error.code !== 'EAGAIN') this.#dropBatch(error);
      if (this.#onWritten !== undefined) this.#onWritten();
      else if (error === null && (this.#batch.length > 0 || this.#queueBytes >= this.#writeBytesMax)) this.#writeBatch();
      else this.#rest();
    });
  }

  #rest(): void {
    this.#restTimer = setTimeout(() => {
      this.#restTimer = undefined;
      this.#writeBatch();
    }, REST_MS).unref();
  }

  #takeBytes(): Buffer {
    const lines = this.#takeLines();
    return Buffer.from((this.#isInsideLine ? '\n' : '') + lines.map((line) => line + '\n').join(''));
  }

  #leftOf(bytes: Buffer, written: number): Buffer {
    this.#isInsideLine = bytes[written - 1] !== LINE_BREAK;
    return bytes.subarray(written);
  }

  /** The first lines of the queue, as many as are written at once, and at least one. */
  #takeLines(): readonly string[] {
    if (this.#queueBytes <= this.#writeBytesMax) {
      const lines = this.#queue;
      this.#queue = [];
      this.#queueBytes = 0;
      return lines;
    }
    let count = 0;
    let bytes = 0;
    for (const line of this.#queue) {
      const more = Buffer.byteLength(line) + 1;
      if (count > 0 && bytes + more > this.#writeBytesMax) break;
      bytes += more;
      count += 1;
    }
    this.#queueBytes -= bytes;
    return this.#queue.splice(0, count);
  }

  #dropBatch(error: NodeJS.ErrnoException): void {
    this.#dropped += linesIn(this.#batch);
    this.#batch = NOTHING;
    this.#noteReaderGone(error);
  }

  /** A closed pipe or descriptor does not come back; a full disk may have room again. */
  #noteReaderGone(error: NodeJS.ErrnoException): void {
    if (error.code !== 'EPIPE' && error.code !== 'EBADF') return;
    this.#isReaderGone = true;
    this.#dropped += this.#queue.length;
    this.#queue = [];
  }

  /** What cannot be written is lost, and counted. */
  #writeNow(bytes: Buffer, giveUpAtMs: number): void {
    let left = bytes;
    while (left.length > 0) {
      try {
        left = this.#leftOf(left, writeSync(this.#fd, left));
      } catch (thrown) {
        const error = thrown as NodeJS.ErrnoException;
        if (error.code !== 'EAGAIN' || performance.now() >= giveUpAtMs) {
          this.#dropped += linesIn(left);
          this.#noteReaderGone(error);
          return;
        }
        pauseThread(REST_MS);
      }
    }
  }
}

/** Lines of which these bytes hold something. A break that they begin with belongs to what was written before. */
function linesIn(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(LINE_BREAK, 1); at >= 0; at = bytes.indexOf(LINE_BREAK, at + 1)) count += 1;
  return count;
}

/**
 * A descriptor of the same pipe or socket that refuses a write (EAGAIN) instead of waiting for room. A thread that waits
 * in a write would keep the whole process from exiting. Of a pipe, only this descriptor changes, not the one that
 * other processes share. Where none can be had (no /proc, a terminal) the given one is used.
 */
function nonBlocking(fd: number): number {
  try {
    const file = fstatSync(fd);
    if (file.isFIFO()) return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
    // Under systemd, and many a parent process, stdout is a socket, which cannot be opened anew.
    if (file.isSocket()) WRAPPERS.push(new Socket({ fd, readable: false, writable: true }));
  } catch {
    // What cannot be asked is used as it is.
  }
  return fd;
}

/** Wrapping a socket is what makes it non-blocking. They are kept because one that is collected closes its descriptor. */
const WRAPPERS: Socket[] = [];

function pauseThread(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
