/**
 * Tool calls while they are being put together (OpenAI, Chat Completions, `tool_calls`).
 *
 * OpenAI keys the pieces of a streamed call by `index`. Hosts leave it out, make it constant or use it
 * twice, change the id from piece to piece (Poolside, LMDeploy), repeat the name on every piece, send a call
 * whole, its arguments as an object or as text twice over, or all of them once more behind their pieces (GLM on local servers). A call is
 * whole only when the answer ends: arguments that parse may still be the beginning of longer ones.
 */

import { createReplyBudget } from '../../base/json/limits.ts';
import type { JsonBudget } from '../../base/json/limits.ts';
import { parseReplied } from '../../base/json/parse.ts';
import { JsonObject, JsonProblem, NO_OBJECT, RawJson } from '../../base/json/value.ts';
import { field, isObject, textField } from '../../base/loose.ts';
import type { AnswerUse } from '../../core/adapter.ts';
import { ownCallId } from '../../core/call-id.ts';
import { REPLY_CALLS_MAX, REPLY_CHARS_MAX } from '../../core/chat.ts';
import { Failure, malformedReply, problemReply } from '../../core/failure.ts';
import { textArguments } from '../../core/text-arguments.ts';
import type { MessageSource } from './raw.ts';

/** What a call counts for beside its text. */
const CALL_CHARS = 1024;

export type WholeCall = {
  readonly id: string;
  readonly name: string;
  readonly arguments: RawJson;
  readonly thoughtSignature: string | undefined;
};

type CallDraft = {
  id: string;
  name: string;
  arguments: string;
  /** How many pieces these came in. */
  pieces: number;
  /** The last of them that is a text. */
  latest: string;
  thoughtSignature: string | undefined;
  /** A tool of OpenAI's `custom` type: its input is plain text. */
  isCustom: boolean;
};

export class CallDrafts {
  readonly #provider: string;
  readonly #isRelayed: boolean;
  readonly #calls: CallDraft[] = [];
  readonly #byIndex = new Map<number, CallDraft>();
  /** The first call with an id. */
  readonly #byId = new Map<string, CallDraft>();
  #keptChars = 0;

  constructor(provider: string, use?: AnswerUse) {
    this.#provider = provider;
    this.#isRelayed = use?.isRelayed === true;
  }

  /** Characters kept so far. */
  get keptChars(): number {
    return this.#keptChars;
  }

  /** Whether there are more calls than are kept. */
  get isTooMany(): boolean {
    return this.#calls.length > REPLY_CALLS_MAX;
  }

  /** Takes a message's `tool_calls`, or the pieces of them in a delta. */
  take(entries: readonly unknown[], source: MessageSource): void {
    const touched = new Set<CallDraft>();
    for (const [at, entry] of entries.entries()) {
      if (!isObject(entry)) continue;
      if (this.#keptChars > REPLY_CHARS_MAX || this.isTooMany) return;
      const body = isObject(field(entry, 'custom')) ? 'custom' : 'function';
      const argument = body === 'custom' ? 'input' : 'arguments';
      const call = this.#callFor(entry, field(entry, body), argument, source.isWhole, touched);
      touched.add(call);
      // A later piece may say neither.
      if (field(entry, body) !== undefined) call.isCustom = body === 'custom';
      this.#extend(call, field(entry, body), argument, source, ['tool_calls', at, body, argument]);
      const signature = textField(field(field(entry, 'extra_content'), 'google'), 'thought_signature');
      if (call.thoughtSignature === undefined && signature !== undefined) {
        call.thoughtSignature = signature;
        this.#keptChars += signature.length;
      }
    }
  }

  /** Takes the `function_call` that preceded `tool_calls`: one call, without an id. */
  takeLegacy(body: unknown, source: MessageSource): void {
    const call = this.#calls[0] ?? this.#start();
    this.#extend(call, body, 'arguments', source, ['function_call', 'arguments']);
  }

  #callFor(entry: unknown, body: unknown, argument: string, isWhole: boolean, touched: ReadonlySet<CallDraft>): CallDraft {
    const name = textField(body, 'name') ?? '';
    const id = textField(entry, 'id') ?? '';
    const given = field(entry, 'index');
    const index = typeof given === 'number' ? given : undefined;
    let call: CallDraft | undefined;
    if (!isWhole) call = index === undefined ? this.#calls.at(-1) : this.#byIndex.get(index);
    // Under one index, or none, there may be several calls, each by its id, or one whose id changes.
    if (call !== undefined && id !== call.id) call = this.#byId.get(id) ?? call;
    if (call === undefined || isAnother(call, id, name, index !== undefined, field(body, argument), touched.has(call))) call = this.#start();
    if (index !== undefined) this.#byIndex.set(index, call);
    if (id !== '' && call.id === '') {
      call.id = id;
      this.#keptChars += id.length;
      if (!this.#byId.has(id)) this.#byId.set(id, call);
    }
    return call;
  }

  #start(): CallDraft {
    const call = { id: '', name: '', arguments: '', pieces: 0, latest: '', thoughtSignature: undefined, isCustom: false };
    this.#calls.push(call);
    this.#keptChars += CALL_CHARS;
    return call;
  }

  #extend(call: CallDraft, body: unknown, key: string, source: MessageSource, path: readonly (string | number)[]): void {
    const name = textField(body, 'name');
    if (call.name === '' && name !== undefined) {
      call.name = name;
      this.#keptChars += name.length;
    }
    const piece = field(body, key);
    if (piece === undefined || piece === null) return;
    const before = call.arguments.length;
    if (piece !== '') call.pieces += 1;
    if (typeof piece === 'string' && piece !== '') call.latest = piece;
    // Anything but a string came whole.
    call.arguments = typeof piece === 'string' ? call.arguments + piece : (source.rawAt(...path)?.text ?? '');
    this.#keptChars += call.arguments.length - before;
  }

  /**
   * The calls, each whole and with an id of its own. `isCut` = the answer was cut, for length or for what it says: a call
   * that this left without whole arguments is no call. Failure: server, for one that makes no sense; arguments that are no
   * JSON object are a text to callers of the API itself, who read it themselves.
   */
  finish(isCut: boolean): readonly WholeCall[] | Failure {
    const whole: WholeCall[] = [];
    const ids = new Set<string>();
    const budget = createReplyBudget();
    for (const call of this.#calls) {
      if (call.name === '' && !isCut) return malformedReply(this.#provider, 200, 'a tool call has no name');
      const args = this.#argumentsOf(call, isCut, budget);
      if (args instanceof JsonProblem && !isCut) return problemReply(this.#provider, args, 'the arguments of a tool call are not a JSON object');
      if (args instanceof JsonProblem || call.name === '') continue;
      whole.push({ id: ownCallId(call.id || undefined, ids), name: call.name, arguments: args, thoughtSignature: call.thoughtSignature });
    }
    return whole;
  }

  #argumentsOf(call: CallDraft, isCut: boolean, budget: JsonBudget): RawJson | JsonProblem {
    const args = wholeArguments(call, isCut, budget);
    const isText = args instanceof JsonProblem && !args.isLimit && this.#isRelayed && !isCut;
    return isText ? textArguments(call.arguments) : args;
  }
}

/** True when a piece that points at a call, by a reused index or by none, begins another one. */
function isAnother(call: CallDraft, id: string, name: string, isIndexed: boolean, piece: unknown, isTouched: boolean): boolean {
  if (name !== '' && call.name !== '' && name !== call.name) return true;
  if (id !== '' && call.id !== '') return id !== call.id && (name !== '' || !isIndexed);
  return name !== '' && (isTouched || (call.name !== '' && isBegunAnew(call, piece)));
}

/**
 * Whether a piece that says the call's name again begins arguments where those of the call came whole, in one piece. Each call is
 * parsed once for it. A host that gave the call an id gives one to the next.
 */
function isBegunAnew(call: CallDraft, piece: unknown): boolean {
  if (call.id !== '' || call.pieces !== 1 || !(typeof piece === 'string' ? piece.trimStart().startsWith('{') : isObject(piece))) return false;
  return !(wholeArguments(call, true, createReplyBudget()) instanceof JsonProblem);
}

function wholeArguments(call: CallDraft, isCut: boolean, budget: JsonBudget): RawJson | JsonProblem {
  if (call.isCustom) return isCut ? NO_OBJECT : textArguments(call.arguments);
  const text = call.arguments.trim();
  // Hosts write "no arguments" in three ways. In a cut answer it means that none had come yet.
  if (!isCut && (text === '' || text === 'null')) return new RawJson('{}');
  const written = parseReplied(text, budget);
  // Granite writes the text of an object, which vLLM makes the text of that text.
  const parsed = typeof written === 'string' ? parseReplied(written, budget) : written;
  if (parsed instanceof JsonObject) return parsed.raw;
  // What only lacks its end repeats nothing: an object may hold one that begins as it does.
  const isUnfinished = parsed instanceof JsonProblem && parsed.offset >= text.length;
  const again = !isUnfinished && isRepeated(call) ? parseReplied(call.latest, budget) : undefined;
  if (again instanceof JsonObject) return again.raw;
  return parsed instanceof JsonProblem ? parsed : NO_OBJECT;
}

/** Whether the last piece says all over again what came before it. */
function isRepeated(call: CallDraft): boolean {
  const before = call.arguments.slice(0, call.arguments.length - call.latest.length);
  return before !== '' && call.latest.startsWith(before);
}
