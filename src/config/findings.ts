/**
 * What is wrong with an object of the operator's, all of it: each field is read by itself, so that one problem does not hide
 * the next. Knows no field by name. No sentence repeats what looks like a key.
 */

import { FieldProblem, Fields, renderPath, unknownField } from '../base/fields.ts';
import type { Path } from '../base/fields.ts';
import { JsonObject } from '../base/json/value.ts';
import type { JsonValue } from '../base/json/value.ts';
import { hintOf, nearest } from '../base/nearest.ts';
import { maskKeys, quoted } from './masking.ts';
import type { Complaints, Keys } from './routing-rules.ts';
import type { SettingType } from './setting-types.ts';
import type { Source } from './source.ts';

/** Nobody reads more at once. */
const PROBLEMS_MAX = 50;

/** Most names among which the one that was meant is looked for: one of 64 characters takes 20 µs. */
const HINTS_MAX = 100;

/** Where the object stands, which every sentence begins with: `GATEWAY_ROUTING_FILE: `, or the path of an option. */
export type Origin = { readonly prefix: string; readonly root: Path | undefined };

export class Findings implements Complaints {
  readonly #source: Pick<Source, 'problems' | 'warnings'>;
  readonly #origin: Origin;
  /** Of the values that are no good ones, as far as that was said. */
  readonly #places = new Set<string>();
  #problems = 0;

  constructor(source: Pick<Source, 'problems' | 'warnings'>, origin: Origin) {
    this.#source = source;
    this.#origin = origin;
  }

  /** Where these keys lead to, for sentences. */
  placeOf(...keys: Keys): string {
    return this.#origin.prefix + renderPath(this.#path(keys));
  }

  #path(keys: Keys): Path | undefined {
    return keys.reduce<Path | undefined>((parent, key) => ({ parent, key }), this.#origin.root);
  }

  problem(path: Path | undefined, complaint: string): void {
    this.#note(new FieldProblem(path, complaint));
  }

  /** Once all was decoded: left out where the value itself was a problem before. */
  problemAt(keys: Keys, complaint: string): void {
    const problem = new FieldProblem(this.#path(keys), complaint);
    if (!this.#places.has(problem.place)) this.#note(problem);
  }

  warningAt(keys: Keys, complaint: string): void {
    this.#source.warnings.push(this.#sentence(new FieldProblem(this.#path(keys), complaint)));
  }

  /** What `read` returns; undefined where it throws a FieldProblem, which is then noted. */
  try<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (thrown) {
      if (!(thrown instanceof FieldProblem)) throw thrown;
      if (!this.isFull) this.#places.add(thrown.place);
      this.#note(thrown);
      return undefined;
    }
  }

  /** Opens an object, of which each field that is not known is a problem; without `known` any is taken. Undefined where it is none. */
  open(value: JsonValue, path: Path | undefined, known: readonly string[] | undefined): Fields | undefined {
    if (!(value instanceof JsonObject)) return this.try(() => Fields.from(value, path));
    if (value.duplicateKey !== undefined) this.problem({ parent: path, key: value.duplicateKey }, 'duplicate key');
    for (const key of value.entries.keys()) {
      if (this.isFull) break;
      if (known?.includes(key) === false) this.#note(unknownField(path, key, known));
    }
    // The last of two counts, so that what it says is looked at too.
    return new Fields(value.duplicateKey === undefined ? value : new JsonObject(value.entries, undefined, '', 0, 0), path);
  }

  /** The object of a field; undefined where there is none, or something else. */
  object(fields: Fields, name: string, known?: readonly string[]): Fields | undefined {
    const value = fields.any(name);
    return value === undefined ? undefined : this.open(value, fields.at(name), known);
  }

  /** The value of a text, as a setting of this type has it. */
  text<T>(fields: Fields, name: string, type: SettingType<T>): T | undefined {
    return this.try(() => {
      const text = fields.string(name);
      const value = text === undefined ? undefined : type.parse(text);
      if (text === undefined || value !== undefined) return value;
      throw fields.problem(name, `expected ${type.expects}${type.shown === 'always' ? `, got ${quoted(text)}` : ''}`);
    });
  }

  /** A whole number from 1 to `max`. */
  whole(fields: Fields, name: string, max: number): number | undefined {
    return this.try(() => {
      const value = fields.finiteNumber(name);
      if (value === undefined || (Number.isInteger(value) && value >= 1 && value <= max)) return value;
      throw fields.problem(name, `expected a whole number from 1 to ${max}, got ${value}`);
    });
  }

  hint(word: string, known: readonly string[]): string {
    return hintOf(this.isFull ? undefined : nearest(word, known.slice(0, HINTS_MAX)));
  }

  get isFull(): boolean {
    return this.#problems > PROBLEMS_MAX;
  }

  #note(problem: FieldProblem): void {
    this.#problems += 1;
    if (this.#problems <= PROBLEMS_MAX) this.#source.problems.push(this.#sentence(problem));
    else if (this.#problems === PROBLEMS_MAX + 1) this.#source.problems.push(this.#sentence(new FieldProblem(this.#origin.root, 'there is more wrong')));
  }

  #sentence({ message }: FieldProblem): string {
    return this.#origin.prefix + maskKeys(message);
  }
}
