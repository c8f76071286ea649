/** Where the values of settings come from, under whichever names: the environment, or what an embedder passes. */

import type { SettingType } from './setting-types.ts';

/** Whatever is wrong is collected, so that all of it is seen at once; no sentence contains a secret or a file's content. */
export interface Source {
  /** Each one line that names the place. Any of them means: do not start. */
  readonly problems: string[];
  readonly warnings: string[];
  /** What the setting of a variable is called here. */
  nameOf(variable: string): string;
  /** Whether there is a value, good or bad. */
  isSet(variable: string, type: SettingType<unknown>): boolean;
  /** The value; undefined when absent, and when bad, which is then among the problems. */
  read<T>(variable: string, type: SettingType<T>): T | undefined;
  /** Takes note of a setting that is not set. */
  noteDefault(variable: string, value: string | undefined): void;
  /** The text of a file that a setting names; undefined when it cannot be read, which is then among the problems. */
  readFile(name: string, path: string): string | undefined;
}
