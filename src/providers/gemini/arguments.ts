/**
 * Arguments of one function call that arrive in pieces.
 *
 * Only when a caller turns on `streamFunctionCallArguments` does a call come so: each piece names a
 * place (`$.recipe.steps[2]`) and a value, and pieces of one string are concatenated.
 * Source: Vertex AI, FunctionCall.partialArgs; paths as in RFC 9535.
 */

import { createReplyBudget, JSON_DEPTH_MAX } from '../../base/json/limits.ts';
import { renderJson } from '../../base/json/render.ts';
import { JsonNumber, JsonObject, RawJson } from '../../base/json/value.ts';
import type { JsonValue } from '../../base/json/value.ts';

type Node = Map<string, Node> | Node[] | RawJson | string | boolean | null;

export class StreamedArgs {
  readonly #root = new Map<string, Node>();
  /** A short path makes as many containers as it has steps, so the bytes of a reply do not bound them. */
  readonly #budget = createReplyBudget();
  #limit: string | undefined;

  /** Which of the limits on a provider's JSON the last piece passed, as what is wrong with it. */
  get limit(): string | undefined {
    return this.#limit;
  }

  /** Puts one piece in its place. False when its path is malformed, contradicts an earlier one or passes a limit. */
  add(piece: JsonValue): boolean {
    if (!(piece instanceof JsonObject)) return false;
    const value = valueOf(piece);
    if (value === undefined) return true;
    const steps = stepsOf(piece.entries.get('jsonPath'));
    const last = steps?.pop();
    if (steps === undefined || last === undefined) return false;
    this.#limit = this.#limitOf(steps.length);
    if (this.#limit !== undefined) return false;
    let container: Node = this.#root;
    for (const [i, step] of steps.entries()) {
      const child: Node | undefined = childOf(container, step);
      if (child !== undefined) {
        container = child;
      } else {
        const made: Node = typeof (steps[i + 1] ?? last) === 'number' ? [] : new Map<string, Node>();
        if (!setChild(container, step, made)) return false;
        this.#budget.valuesLeft -= 1;
        container = made;
      }
    }
    const earlier = childOf(container, last);
    const isContinued = typeof earlier === 'string' && typeof value === 'string';
    if (earlier === undefined) this.#budget.valuesLeft -= 1;
    return setChild(container, last, isContinued ? earlier + value : value);
  }

  #limitOf(containers: number): string | undefined {
    if (containers >= JSON_DEPTH_MAX) return `its JSON has nesting beyond ${JSON_DEPTH_MAX} levels`;
    return this.#budget.valuesLeft < containers ? `its JSON has more than ${this.#budget.valuesMax} values` : undefined;
  }

  get raw(): RawJson {
    return new RawJson(renderJson(this.#root));
  }
}

/** The piece's value; undefined when it has none and only says that more will come. */
function valueOf(piece: JsonObject): Node | undefined {
  for (const key of ['stringValue', 'numberValue', 'boolValue']) {
    const value = piece.entries.get(key);
    if (value instanceof JsonNumber) return new RawJson(value.text);
    if (typeof value === 'string' || typeof value === 'boolean') return value;
  }
  return piece.entries.has('nullValue') ? null : undefined;
}

const STEP = /\.([^.[\]]+)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]/y;

/** The steps of a path; undefined when it is none. Of one that is too long, no more than show it. */
function stepsOf(path: JsonValue | undefined): (string | number)[] | undefined {
  if (typeof path !== 'string' || !path.startsWith('$')) return undefined;
  const steps: (string | number)[] = [];
  STEP.lastIndex = 1;
  while (STEP.lastIndex < path.length) {
    const match = STEP.exec(path);
    if (match === null) return undefined;
    if (steps.length > JSON_DEPTH_MAX) return steps;
    const [, name, index, quoted] = match;
    steps.push(index === undefined ? (name ?? (quoted ?? '').replace(/\\(.)/g, '$1')) : Number(index));
  }
  return steps;
}

function childOf(container: Node, step: string | number): Node | undefined {
  if (container instanceof Map && typeof step === 'string') return container.get(step);
  return Array.isArray(container) && typeof step === 'number' ? container[step] : undefined;
}

/** False where the container is of another kind, or the step would leave a hole in an array. */
function setChild(container: Node, step: string | number, value: Node): boolean {
  if (container instanceof Map && typeof step === 'string') container.set(step, value);
  else if (Array.isArray(container) && typeof step === 'number' && step <= container.length) container[step] = value;
  else return false;
  return true;
}
