/**
 * One codec of several, for a cloud that serves each model in the format of its vendor: each request by its model, each answer by
 * what it says of itself.
 */

import { parseLenient } from '../base/json/lenient.ts';
import type { ParsedText } from '../base/json/parse.ts';
import { isObject } from '../base/loose.ts';
import type { Adapter, AnswerUse, DeltaSink, StreamDecoder } from '../core/adapter.ts';
import type { ChatRequest } from '../core/chat.ts';
import { isFiller } from '../core/filler-frame.ts';

/** A codec, and what is its own. */
export type Format = {
  readonly adapter: Adapter;
  /** Whether it serves this model. */
  readonly serves: (model: string) => boolean;
  /** Whether an answer, or an event of a stream with its name, is one that this format alone has. */
  readonly isIts: (json: object, event: string) => boolean;
};

/** Calls below a path of their own. */
export function below(prefix: string, adapter: Adapter): Adapter {
  return movedBy((path) => prefix + path, adapter);
}

/** Calls at other paths. */
export function movedBy(pathOf: (path: string) => string, adapter: Adapter): Adapter {
  return {
    ...adapter,
    encodeChat(request, isStream) {
      const call = adapter.encodeChat(request, isStream);
      return 'path' in call ? { ...call, path: pathOf(call.path) } : call;
    },
    encodeModels(cursor) {
      const call = adapter.encodeModels(cursor);
      return { ...call, path: pathOf(call.path) };
    },
    counting: undefined,
  };
}

/** The first format that serves a model has it; the last one serves what is left, and speaks for all of them elsewhere. */
export function createAdapterByModel(formats: readonly [Format, ...Format[]]): Adapter {
  const { adapter: fallback } = formats.at(-1) ?? formats[0];
  const adapterFor = ({ model }: ChatRequest): Adapter => formats.find(({ serves }) => serves(model))?.adapter ?? fallback;
  const adapterOf = (json: unknown, event: string): Adapter | undefined => (isObject(json) ? formats.find(({ isIts }) => isIts(json, event))?.adapter : undefined);
  const adapterIn: AdapterIn = (event, data, parsed) => {
    const json = parsed === undefined ? parseLenient(data) : parsed.json;
    // Any format refuses what is no event, and reads an error. An event of none of them, such as a ping or a new one, says nothing in any.
    return adapterOf(json, event) ?? (isObject(json) && event !== 'error' ? undefined : fallback);
  };
  return {
    ...fallback,
    encodeChat: (request, isStream) => adapterFor(request).encodeChat(request, isStream),
    decodeChat: (body, json = parseLenient(body), exact) => (adapterOf(json, '') ?? fallback).decodeChat(body, json ?? null, exact),
    createStreamDecoder: () => new StreamByFormat(adapterIn, fallback),
    counting: undefined,
  };
}

/** Whose event it is; undefined for one that says nothing in any format, such as a ping. */
export type AdapterIn = (event: string, data: string, parsed: ParsedText | undefined) => Adapter | undefined;

/** A stream whose first telling event says which format it is. */
export class StreamByFormat implements StreamDecoder {
  readonly #adapterIn: AdapterIn;
  readonly #fallback: Adapter;
  readonly #use: AnswerUse | undefined;
  #decoder: StreamDecoder | undefined;

  constructor(adapterIn: AdapterIn, fallback: Adapter, use?: AnswerUse) {
    this.#adapterIn = adapterIn;
    this.#fallback = fallback;
    this.#use = use;
  }

  get servedModel(): string | undefined {
    return this.#decoder?.servedModel;
  }

  // hot: per token
  frame(event: string, data: string, sink: DeltaSink, parsed?: ParsedText): void {
    this.#decoder ??= isFiller(data) ? undefined : this.#adapterIn(event, data, parsed)?.createStreamDecoder(this.#use);
    this.#decoder?.frame(event, data, sink, parsed);
  }

  end(sink: DeltaSink): void {
    this.#decoder ??= this.#fallback.createStreamDecoder(this.#use);
    this.#decoder.end(sink);
  }
}
