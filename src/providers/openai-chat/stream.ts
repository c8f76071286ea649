/**
 * A stream of Chat Completions chunks as deltas (OpenAI, Chat Completions, streaming).
 *
 * The terminal signal is a finish reason. `[DONE]` alone is none: hosts leave it out after good
 * answers, and proxies add it to broken ones. It, or the end of the bytes, closes the answer, because
 * usage may follow the finish reason, and so may an error.
 */

import { parseLenient } from '../../base/json/lenient.ts';
import type { ParsedText } from '../../base/json/parse.ts';
import { isObject } from '../../base/loose.ts';
import type { AnswerUse, DeltaSink, StreamDecoder } from '../../core/adapter.ts';
import type { ChatReply } from '../../core/chat.ts';
import { Failure, truncatedStream, unreadableReply } from '../../core/failure.ts';
import { failureInside } from '../openai-common/failure.ts';
import type { HostProfile } from './profile.ts';
import { ReplyDraft } from './reply.ts';

// hot: per token
export class OpenAiStreamDecoder implements StreamDecoder {
  readonly #provider: string;
  readonly #draft: ReplyDraft;
  #isEnded = false;

  constructor(provider: string, profile: HostProfile, use?: AnswerUse) {
    this.#provider = provider;
    this.#draft = new ReplyDraft(provider, profile, use);
  }

  get servedModel(): string | undefined {
    return this.#draft.model;
  }

  frame(event: string, data: string, sink: DeltaSink, parsed?: ParsedText): void {
    if (this.#isEnded) return;
    const word = data.trim();
    if (word === '') return;
    if (word === '[DONE]') return this.end(sink);
    const json = parsed === undefined ? parseLenient(data) : parsed.json;
    if (!isObject(json)) return this.#end(unreadableReply(this.#provider, data, 'a frame of the stream is not a JSON object'), sink);
    const failure = failureInside(this.#provider, json, event === 'error');
    if (failure !== undefined) return this.#end(failure, sink);
    this.#draft.take(json, data, 'delta', sink, parsed?.exact);
    const { problem } = this.#draft;
    if (problem !== undefined) this.#end(problem, sink);
  }

  end(sink: DeltaSink): void {
    if (this.#isEnded) return;
    this.#end(this.#draft.isFinished ? this.#draft.finish() : truncatedStream(this.#provider), sink);
  }

  #end(outcome: ChatReply | Failure, sink: DeltaSink): void {
    this.#isEnded = true;
    if (outcome instanceof Failure) return sink({ type: 'failed', failure: outcome });
    for (const part of outcome.parts) if (part.type === 'tool_call') sink({ type: 'tool_call', call: part });
    sink({ type: 'done', reply: outcome });
  }
}
