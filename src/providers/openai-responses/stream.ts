/**
 * Decodes one stream of the Responses API (OpenAI, Responses API, streaming events).
 *
 * Text and summaries come in pieces; every item comes whole once it is done. The answer is complete only with
 * `response.completed` or `response.incomplete`. Items are told apart by their place in the output: their ids change
 * from event to event on some hosts. Unknown events mean nothing.
 */

import { parseLenient, parseUncounted } from '../../base/json/parse.ts';
import { JsonObject } from '../../base/json/value.ts';
import type { JsonValue } from '../../base/json/value.ts';
import { countField, field, isObject, stringField } from '../../base/loose.ts';
import type { DeltaSink, StreamDecoder } from '../../core/adapter.ts';
import { Failure, truncatedStream, unreadableReply } from '../../core/failure.ts';
import { failureInside } from '../openai-common/failure.ts';
import { ResponseDraft } from './reply.ts';

/** Failures: server (cut short, malformed, too long), refusal (no content), or what an error event says. */
export class ResponsesStream implements StreamDecoder {
  readonly #provider: string;
  readonly #draft: ResponseDraft;
  #isOver = false;

  constructor(provider: string) {
    this.#provider = provider;
    this.#draft = new ResponseDraft(provider);
  }

  // hot: per token
  frame(event: string, data: string, sink: DeltaSink): void {
    if (this.#isOver) return;
    const word = data.trim();
    // The format has no such line, but proxies add it.
    if (word === '' || word === '[DONE]') return;
    const json = parseLenient(data);
    const failure = isObject(json)
      ? this.#read(stringField(json, 'type') ?? event, json, data, sink)
      : unreadableReply(this.#provider, data, 'an event of the stream is not a JSON object');
    const reason = failure ?? this.#draft.overflow;
    if (reason !== undefined) this.#fail(reason, sink);
  }

  end(sink: DeltaSink): void {
    if (!this.#isOver) this.#fail(truncatedStream(this.#provider), sink);
  }

  #fail(failure: Failure, sink: DeltaSink): void {
    this.#isOver = true;
    sink({ type: 'failed', failure });
  }

  // hot: per token
  #read(type: string, json: unknown, data: string, sink: DeltaSink): Failure | undefined {
    switch (type) {
      case 'response.output_text.delta':
        this.#draft.takeText(outputIndex(json), stringField(json, 'delta') ?? '', sink);
        return undefined;
      case 'response.refusal.delta':
        this.#draft.takeRefusal(outputIndex(json), stringField(json, 'delta') ?? '', sink);
        return undefined;
      case 'response.reasoning_summary_text.delta':
        this.#draft.takeSummary(outputIndex(json), countField(json, 'summary_index') ?? 0, stringField(json, 'delta') ?? '', sink);
        return undefined;
      case 'response.output_item.done':
        return this.#draft.takeItem(outputIndex(json), field(json, 'item'), () => exactItem(data), sink);
      case 'response.created':
      case 'response.in_progress':
        this.#draft.takeHead(field(json, 'response'));
        return undefined;
      case 'response.completed':
      case 'response.incomplete':
        return this.#finish(field(json, 'response'), sink);
      case 'response.failed':
        return failureInside(this.#provider, field(json, 'response'), true);
      default:
        return failureInside(this.#provider, json, type === 'error');
    }
  }

  #finish(response: unknown, sink: DeltaSink): Failure | undefined {
    this.#draft.takeHead(response);
    const reply = this.#draft.finish(response);
    if (reply instanceof Failure) return reply;
    this.#isOver = true;
    sink({ type: 'done', reply });
    return undefined;
  }
}

function outputIndex(json: unknown): number {
  return countField(json, 'output_index') ?? 0;
}

function exactItem(data: string): JsonValue | undefined {
  const event = parseUncounted(data);
  return event instanceof JsonObject ? event.entries.get('item') : undefined;
}
