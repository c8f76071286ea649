/**
 * Runs every fuzzer for SECONDS, from SEED on; ONLY names one. Case number n of a run has the seed SEED + n, so the
 * seed that a failure prints repeats it at once.
 *
 * Each fuzzer has a process of its own, so that a case which never ends, or ends the process, is noticed too.
 */

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createRandom } from '../base/random.ts';
import { FUZZERS } from './fuzzers.ts';
import { collectSeeds } from './seeds.ts';

/** No case may take longer; most take less than a millisecond. */
const CASE_MS_MAX = 1000;
const REPORT_INTERVAL_MS = 500;
/** A process that reports nothing for so long is in a case that does not end. */
const SILENCE_MS_MAX = 15_000;

type Report = { readonly cases: number; readonly problem: string | undefined };

const [name, seed, seconds] = process.argv.slice(2);
if (name === undefined) process.exitCode = await runAll();
else await runOne(name, Number(seed), Number(seconds)).finally(() => process.disconnect?.());

async function runAll(): Promise<number> {
  const { SECONDS = '30', SEED = String(Date.now() % 2 ** 31), ONLY } = process.env;
  process.stdout.write(`SEED=${SEED}, ${SECONDS} s a fuzzer\n`);
  let failures = 0;
  for (const fuzzer of Object.keys(FUZZERS).filter((candidate) => ONLY === undefined || ONLY === candidate)) {
    const { cases, problem } = await inProcess(fuzzer, SEED, SECONDS);
    process.stdout.write(`${fuzzer.padEnd(12)} ${String(cases).padStart(8)} cases  ${problem === undefined ? 'good' : 'FAILED'}\n`);
    if (problem === undefined) continue;
    failures += 1;
    process.stdout.write(`  make fuzz ONLY=${fuzzer} SEED=${Number(SEED) + cases}\n${problem.replace(/^/gm, '  ')}\n`);
  }
  return failures === 0 ? 0 : 1;
}

/** The last report of the run. */
function inProcess(fuzzer: string, fromSeed: string, forSeconds: string): Promise<Report> {
  const child = fork(fileURLToPath(import.meta.url), [fuzzer, fromSeed, forSeconds]);
  let last: Report = { cases: 0, problem: 'ended without a report' };
  const silence = setTimeout(() => {
    last = { ...last, problem: 'a case from here on does not end' };
    child.kill('SIGKILL');
  }, SILENCE_MS_MAX);
  child.on('message', (report: Report) => {
    last = report;
    silence.refresh();
  });
  return new Promise((resolve) => {
    child.on('exit', (code) => {
      clearTimeout(silence);
      resolve(code === 0 || last.problem !== undefined ? last : { ...last, problem: `a case from here on ended the process (${code})` });
    });
  });
}

async function runOne(fuzzer: string, fromSeed: number, forSeconds: number): Promise<void> {
  const fuzz = FUZZERS[fuzzer];
  if (fuzz === undefined) throw new Error(`no fuzzer ${fuzzer}`);
  const report = (cases: number, problem?: string): Promise<void> =>
    new Promise((resolve) => process.send?.({ cases, problem }, () => resolve()));
  const seeds = await collectSeeds();
  const runCase = (caseSeed: number): number => {
    const startedAtMs = performance.now();
    fuzz(createRandom(caseSeed), seeds);
    return performance.now() - startedAtMs;
  };
  const endAtMs = performance.now() + forSeconds * 1000;
  let reportAtMs = 0;
  let cases = 0;
  for (; performance.now() < endAtMs; cases += 1) {
    if (performance.now() > reportAtMs) {
      await report(cases);
      reportAtMs = performance.now() + REPORT_INTERVAL_MS;
    }
    try {
      // Again where it was slow: the machine may have been busy with something else.
      if (runCase(fromSeed + cases) > CASE_MS_MAX && runCase(fromSeed + cases) > CASE_MS_MAX) {
        throw new Error(`took more than ${CASE_MS_MAX} ms`);
      }
    } catch (thrown) {
      await report(cases, thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown));
      return;
    }
  }
  await report(cases);
}
