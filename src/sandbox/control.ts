/**
 * What a test in another language does to the sandbox over HTTP, below `/sandbox`: the list of models, `reply`, `calls`, `reset`.
 */

import { isObject, listField, stringField } from '../base/loose.ts';
import { parseLenient } from '../base/json/lenient.ts';
import type { RecordedCall } from './calls.ts';
import { FAULTS } from './faults.ts';
import { jsonReply } from './protocol.ts';
import type { Reply } from './protocol.ts';
import { MODELS } from './script.ts';
import type { ScriptedReply } from './scripted-reply.ts';

const CONTROL_PATH = '/sandbox';

/** What the paths act upon. */
export type Controlled = {
  readonly calls: readonly RecordedCall[];
  reply(model: string, ...replies: readonly ScriptedReply[]): void;
  reset(): void;
};

const NO_SUCH_PATH = jsonReply(404, '{"error":"no such path; there are GET /sandbox, GET /sandbox/calls, POST /sandbox/reply and POST /sandbox/reset"}');

/** The answer to a request of the test's own; undefined when the path is not below its own. Such requests are not among the calls. */
export function control(sandbox: Controlled, method: string, path: string, body: string): Reply | undefined {
  switch (`${method} ${path}`) {
    case `GET ${CONTROL_PATH}`:
      return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, pieces: [{ bytes: renderNames(), isText: false }] };
    case `GET ${CONTROL_PATH}/calls`:
      return jsonReply(200, JSON.stringify({ calls: sandbox.calls.map((call) => ({ ...call, body: undefined })) }));
    case `POST ${CONTROL_PATH}/reset`:
      sandbox.reset();
      return jsonReply(200, '{}');
    case `POST ${CONTROL_PATH}/reply`:
      return setReplies(sandbox, parseLenient(body));
    default:
      return `${path}/`.startsWith(`${CONTROL_PATH}/`) ? NO_SUCH_PATH : undefined;
  }
}

function setReplies(sandbox: Controlled, body: unknown): Reply {
  const model = stringField(body, 'model');
  const refused = (message: string): Reply => jsonReply(400, JSON.stringify({ error: message }));
  if (model === undefined || !isObject(body) || !Array.isArray(body['replies'])) return refused('expected {"model": string, "replies": [...]}');
  try {
    // Checked where they are set.
    sandbox.reply(model, ...(listField(body, 'replies') as readonly ScriptedReply[]));
  } catch (error) {
    return refused(error instanceof Error ? error.message : String(error));
  }
  return jsonReply(200, '{}');
}

function renderNames(): string {
  const rows = [...Object.entries(MODELS), ...Object.entries(FAULTS)];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, { meaning }]) => `${name.padEnd(width)}  ${meaning}\n`).join('');
}
