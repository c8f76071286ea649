/** A caller that writes bytes, not requests: what no HTTP client would send. */

import { connect } from 'node:net';
import type { Socket } from 'node:net';
import type { TestContext } from 'node:test';

export type RawAnswer = {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
};

export class RawCaller {
  readonly socket: Socket;
  received = '';
  /** Resolves once the connection is closed, by whomever and however. */
  readonly closed: Promise<void>;
  #onChange: () => void = () => undefined;

  /** Connects to the port of a URL. Bytes are written as soon as the connection stands. */
  constructor(t: TestContext, url: string) {
    this.socket = connect(Number(new URL(url).port), '127.0.0.1');
    this.socket.setEncoding('latin1');
    this.socket.on('data', (text: string) => {
      this.received += text;
      this.#onChange();
    });
    this.socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      this.socket.on('close', () => {
        resolve();
        this.#onChange();
      });
    });
    t.after(() => this.socket.destroy());
  }

  /** Latin-1, so that any byte can be written. */
  write(text: string): this {
    this.socket.write(text, 'latin1');
    return this;
  }

  /** The answers so far; those that are not whole yet are left out. */
  get answers(): RawAnswer[] {
    return answersFrom(this.received);
  }

  /** The first `count` answers, once they are there. Fails when the connection closes before. */
  async answered(count = 1): Promise<RawAnswer[]> {
    while (this.answers.length < count) {
      if (this.socket.destroyed) throw new Error(`closed after ${this.answers.length} of ${count} answers: ${this.received.slice(0, 500)}`);
      await new Promise<void>((resolve) => (this.#onChange = resolve));
    }
    return this.answers.slice(0, count);
  }
}

/** Sends bytes on a connection of their own; the answers, once the server has closed it. */
export async function sendRaw(t: TestContext, url: string, text: string): Promise<RawAnswer[]> {
  const caller = new RawCaller(t, url).write(text);
  await caller.closed;
  return caller.answers;
}

/** Reads answers with a Content-Length, and interim ones, which have no body. */
function answersFrom(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let at = 0; at < text.length; ) {
    const headEnd = text.indexOf('\r\n\r\n', at);
    if (headEnd === -1) return answers;
    const [statusLine = '', ...lines] = text.slice(at, headEnd).split('\r\n');
    const headers = new Map(lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]));
    const end = headEnd + 4 + Number(headers.get('content-length') ?? 0);
    if (end > text.length) return answers;
    answers.push({ status: Number(statusLine.split(' ')[1]), headers, body: text.slice(headEnd + 4, end) });
    at = end;
  }
  return answers;
}
