/** An error as far as it may be logged. */

/** An error's name, code and stack frames, without its message: that may quote what it was working on. */
export function describeError(thrown: unknown): { error: string; at: string } {
  if (!(thrown instanceof Error)) return { error: typeof thrown, at: '' };
  const code = 'code' in thrown && typeof thrown.code === 'string' ? ` ${thrown.code}` : '';
  // A program around this one may have stacks made that are no text.
  const { message } = thrown;
  const stack = typeof thrown.stack === 'string' ? thrown.stack : '';
  // A line of the message may look like a frame.
  const messageAt = stack.indexOf(message);
  const frames = stack.slice(messageAt === -1 ? 0 : messageAt + message.length).split('\n').filter((line) => /^\s+at /.test(line));
  return { error: thrown.name + code, at: frames.slice(0, 6).map((line) => line.trim()).join(' ') };
}

/** The platform's code for why a file cannot be read, such as `ENOENT`; `unknown error` where there is none. */
export function codeOf(thrown: unknown): string {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  return typeof code === 'string' && /^\w+$/.test(code) ? code : 'unknown error';
}
