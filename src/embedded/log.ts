/** An embedder's own log, which can do no harm: one that throws, or whose promise rejects, loses that line and nothing else. */

import { isAtLeast } from '../base/log.ts';
import type { Log, LogFields, LogLevel } from '../base/log.ts';

/** What an embedder passes: `console` is one. */
export type EmbeddersLog = { readonly [level in LogLevel]: (message: string, fields?: Readonly<Record<string, string | number | boolean>>) => unknown };

/** The log, from this level on, and how many of its lines were lost; without one nothing is logged. */
export function createEmbeddedLog(log: EmbeddersLog | undefined, leastLevel: LogLevel): { readonly log: Log; readonly linesLost: () => number } {
  let lost = 0;
  const lose = (): void => void (lost += 1);
  const isEnabled = (level: LogLevel): boolean => log !== undefined && isAtLeast(level, leastLevel);
  const write = (level: LogLevel, message: string, fields: LogFields = {}): void => {
    if (log === undefined || !isEnabled(level)) return;
    try {
      const answer: unknown = log[level](message, present(fields));
      // Of whichever library or realm the promise is.
      if (typeof answer === 'object') Promise.resolve(answer).catch(lose);
    } catch {
      lose();
    }
  };
  return {
    log: {
      debug: (message, fields) => write('debug', message, fields),
      info: (message, fields) => write('info', message, fields),
      warn: (message, fields) => write('warn', message, fields),
      error: (message, fields) => write('error', message, fields),
      isEnabled,
    },
    linesLost: () => lost,
  };
}

function present(fields: LogFields): Readonly<Record<string, string | number | boolean>> {
  const rest: Record<string, string | number | boolean> = {};
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) rest[name] = value;
  return rest;
}
