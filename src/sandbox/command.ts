/**
 * `gateway --sandbox`: the fake provider as a process of its own, for test suites in any language.
 *
 * What it prints can be read by a shell: the variables that point SDKs at it, the rest as comments.
 */

import { startSandbox } from './sandbox.ts';

const FAILED = 1;
const USAGE_ERROR = 2;
const PORT_MAX = 65_535;

/** Serves until a signal; the words are those after the program's name. */
export async function runSandbox(words: readonly string[]): Promise<void> {
  const port = portFrom(words);
  if (typeof port === 'string') {
    process.stderr.write(`gateway: ${port}. Usage: gateway --sandbox [--port 9999]\n`);
    process.exitCode = USAGE_ERROR;
    return;
  }
  try {
    const sandbox = await startSandbox({ port });
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        // Over the ^C that the terminal shows.
        process.stdout.write('\r# Stopped. Goodbye.\n');
        void sandbox.close();
      });
    }
    process.stdout.write(renderGreeting(sandbox.url, sandbox.baseUrls.compat, sandbox.environment));
  } catch (error) {
    process.stderr.write(`gateway: the sandbox cannot listen on port ${port} (${error instanceof Error && 'code' in error ? String(error.code) : String(error)})\n`);
    process.exitCode = FAILED;
  }
}

/** The port, 0 for any, or what is wrong with the words. */
export function portFrom([, flag, value, extra]: readonly string[]): number | string {
  if (flag === undefined) return 0;
  const word = flag !== '--port' ? flag : extra;
  if (word !== undefined) return `unknown argument ${JSON.stringify(word)}`;
  return /^\d{1,5}$/.test(value ?? '') && Number(value) <= PORT_MAX ? Number(value) : `--port takes a number from 0 to ${PORT_MAX}`;
}

function renderGreeting(url: string, compatUrl: string, environment: Readonly<Record<string, string>>): string {
  return [
    `# A fake provider is listening on ${url}. Any key is good. Point SDKs at it with:`,
    ...Object.entries(environment).map(([name, value]) => `export ${name}=${value}`),
    `# A host that is only compatible with OpenAI: ${compatUrl}`,
    "# The model's name decides what happens: fake-chat, fake-tool-loop, fake-status-503, fake-truncate …",
    `# All of them: ${url}/sandbox. Ctrl-C ends it.`,
    '',
  ].join('\n');
}
