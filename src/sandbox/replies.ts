/**
 * Answers that a test has written for a model: what they may be, and which comes next.
 *
 * A reply is checked where it is written, so that a mistake fails the test there and not as a provider's failure.
 */

import { isObject } from '../base/loose.ts';
import { nearest } from '../base/nearest.ts';
import { FAULTS } from './faults.ts';
import { Complaint } from './protocol.ts';
import type { Block } from './protocol.ts';
import { call, matchName, text, thinking } from './script.ts';
import type { ReplyFunction, ScriptedReply } from './scripted-reply.ts';

/** What is to be done with a request. */
export type Order = {
  /** Undefined where the fake model is to say what it would anyway. */
  readonly blocks: readonly Block[] | undefined;
  readonly status: number | undefined;
  readonly fault: string | undefined;
};

/** More than a test can mean to. */
const MODELS_MAX = 1000;
/** The replies under this name are for every model without its own. */
const ANY_MODEL = '*';

/** The replies by model: each request gets the next, and the last goes on. */
export class Replies<Request> {
  readonly #byModel = new Map<string, { readonly replies: readonly (ScriptedReply | ReplyFunction<Request>)[]; next: number }>();

  /** Replaces what there was for the model; none at all leaves it to the fake model again. Throws a TypeError for what is no reply. */
  set(model: string, replies: readonly (ScriptedReply | ReplyFunction<Request>)[]): void {
    if (typeof model !== 'string') throw new TypeError('expected the name of a model, or "*", before its replies');
    for (const [index, reply] of replies.entries()) {
      const problem = typeof reply === 'function' ? undefined : replyProblem(reply);
      if (problem !== undefined) throw new TypeError(`reply ${index + 1} for ${JSON.stringify(model)}: ${problem}`);
    }
    this.#byModel.delete(model);
    if (replies.length === 0) return;
    if (this.#byModel.size >= MODELS_MAX) throw new RangeError(`there are replies for ${MODELS_MAX} models already: reset() drops them`);
    this.#byModel.set(model, { replies, next: 0 });
  }

  clear(): void {
    this.#byModel.clear();
  }

  /** The next order for a model; undefined where nothing was written for it, a complaint where a function failed. */
  async take(model: string, request: Request): Promise<Order | Complaint | undefined> {
    const row = this.#byModel.get(model) ?? this.#byModel.get(ANY_MODEL);
    const reply = row?.replies[Math.min(row.next, row.replies.length - 1)];
    if (row === undefined || reply === undefined) return undefined;
    row.next += 1;
    if (typeof reply !== 'function') return orderFrom(reply);
    const failed = (why: string): Complaint => new Complaint(500, `The reply function for ${JSON.stringify(model)} ${why}`);
    try {
      const given = await reply(request);
      const problem = given === undefined ? undefined : replyProblem(given);
      if (problem !== undefined) return failed(`returned what is no reply: ${problem}`);
      return given === undefined ? undefined : orderFrom(given);
    } catch (error) {
      return failed(`threw: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

const FIELDS = ['text', 'thinking', 'tool_calls', 'status', 'fault'];
const FAULT_PREFIX = 'fake-';

/** The first thing that is wrong with a reply. */
function replyProblem(reply: unknown): string | undefined {
  if (typeof reply === 'string') return undefined;
  if (!isObject(reply)) return 'expected a string, an object or a function';
  // Of whichever realm. It has no fields, as an empty reply has none.
  if (typeof reply['then'] === 'function') return 'expected a string, an object or a function, got a promise; a function may return one';
  const unknown = Object.keys(reply).find((key) => !FIELDS.includes(key));
  if (unknown !== undefined) return `${unknown}: unknown field${guess(unknown, FIELDS)}`;
  for (const key of ['text', 'thinking', 'fault']) if (reply[key] !== undefined && typeof reply[key] !== 'string') return `${key}: expected a string`;
  const { status, fault, tool_calls: calls } = reply;
  if (status !== undefined && !(Number.isInteger(status) && Number(status) >= 400 && Number(status) <= 599)) return 'status: expected a whole number from 400 to 599';
  if (status !== undefined && Object.values(reply).filter((value) => value !== undefined).length > 1) return 'status: goes with nothing else';
  if (typeof fault === 'string' && matchName(FAULTS, faultName(fault)) === undefined) {
    return `fault: ${JSON.stringify(fault)} is none${guess(fault, Object.keys(FAULTS).map((name) => name.slice(FAULT_PREFIX.length)))}`;
  }
  if (calls === undefined) return undefined;
  if (!Array.isArray(calls)) return 'tool_calls: expected an array';
  const at = calls.findIndex((call) => callProblem(call) !== undefined);
  return at === -1 ? undefined : `tool_calls[${at}]${callProblem(calls[at])}`;
}

function callProblem(call: unknown): string | undefined {
  if (!isObject(call)) return ': expected an object';
  const unknown = Object.keys(call).find((key) => key !== 'name' && key !== 'arguments');
  if (unknown !== undefined) return `.${unknown}: unknown field${guess(unknown, ['name', 'arguments'])}`;
  if (typeof call['name'] !== 'string' || call['name'] === '') return '.name: expected a string';
  const given = call['arguments'];
  return given === undefined || (isObject(given) && isJson(given)) ? undefined : '.arguments: expected an object that JSON can hold';
}

function isJson(value: object): boolean {
  try {
    return JSON.stringify(value)?.startsWith('{') === true;
  } catch {
    return false;
  }
}

function guess(word: string, known: readonly string[]): string {
  const near = nearest(word, known);
  return near === undefined ? '' : `; did you mean ${near}?`;
}

/** The whole name of a fault, which may be given without what all of them begin with. */
function faultName(name: string): string {
  return name.startsWith(FAULT_PREFIX) ? name : FAULT_PREFIX + name;
}

function orderFrom(reply: ScriptedReply): Order {
  if (typeof reply === 'string') return { blocks: [text(reply)], status: undefined, fault: undefined };
  const { status, fault } = reply;
  const blocks: Block[] = [];
  if (reply.thinking !== undefined) blocks.push(thinking(reply.thinking));
  if (reply.text !== undefined) blocks.push(text(reply.text));
  for (const { name, arguments: args = {} } of reply.tool_calls ?? []) blocks.push(call(name, JSON.stringify(args)));
  const isOwn = blocks.length === 0 && (status !== undefined || fault !== undefined);
  return { blocks: isOwn ? undefined : blocks, status, fault: fault === undefined ? undefined : faultName(fault) };
}
