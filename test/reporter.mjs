/**
 * What `make test` prints: each failure when it happens, with what its file wrote to stderr, and the runner's summary. Plain
 * JavaScript, since the runner itself loads it.
 */

import { inspect } from 'node:util';

/** The closing lines, and what a test did after its end. */
const DIAGNOSTIC = /^(?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$|^(?:Error|Warning): /;
const NODE_FRAME = /^ +at .*node:internal.*\n/gm;

export default async function* report(source) {
  const errors = new Map();
  const said = new Set();
  let last = 'none';
  for await (const { type, data } of source) {
    if (type === 'test:stderr') errors.set(data.file, (errors.get(data.file) ?? '') + data.message);
    // A suite or a file that fails because of a test in it adds nothing.
    if (type === 'test:fail' && data.details.error?.failureType !== 'subtestsFailed' && data.todo === undefined) {
      yield renderFailure(data, errors);
      // The runner does not name the test that hung.
      if (data.details.error?.failureType === 'testTimeoutFailure') yield `  the last test that ended before: ${last}\n`;
    }
    if (type === 'test:pass') last = data.name;
    // A test that ends badly can leave hundreds of the same behind.
    if (type === 'test:diagnostic' && DIAGNOSTIC.test(data.message) && !said.has(data.message)) {
      said.add(data.message);
      yield `# ${data.message}\n`;
    }
  }
}

function renderFailure({ name, file, line, details }, errors) {
  const thrown = details.error?.cause ?? details.error;
  const written = errors.get(file) ?? errors.get(name) ?? '';
  errors.delete(file);
  return `\nnot ok - ${name}\n  at ${file ?? name}:${line ?? 1}\n${indent((thrown?.stack ?? (typeof thrown === 'string' ? thrown : inspect(thrown))).replaceAll(NODE_FRAME, ''))}\n${written}\n`;
}

function indent(text) {
  return text.replaceAll(/^/gm, '  ');
}
