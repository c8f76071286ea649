/**
 * Which of OpenAI's two APIs serves a request, where the operator leaves the choice to the gateway.
 *
 * Chat Completions, which takes everything that older models can do, and Responses for what is refused there. An
 * answer says by itself which of the two gave it.
 */

import { parseLenient } from '../../base/json/parse.ts';
import { stringField } from '../../base/loose.ts';
import { REQUEST_FEATURES } from '../../core/adapter.ts';
import type { Adapter, DeltaSink, RequestFeature, StreamDecoder, Support, SupportTable } from '../../core/adapter.ts';
import type { ChatRequest } from '../../core/chat.ts';
import { openAiRule } from '../openai-common/model-rules.ts';

/**
 * True when the model demands Responses, which alone calls tools while reasoning. A wish to see reasoning, which Chat
 * Completions never discloses, is no demand: the operator has `OPENAI_API=responses` for that. Only Chat Completions has
 * stop sequences.
 */
export function isForResponses({ model, tools, stop }: ChatRequest): boolean {
  const { responses } = openAiRule(model);
  return responses === 'always' || (responses === 'for tools' && tools.length > 0 && stop.length === 0);
}

/** One codec of two: each request by the API that serves it, each answer by the API that gave it. */
export function createRoutedAdapter(chat: Adapter, responses: Adapter): Adapter {
  return {
    ...chat,
    dialect: responses.dialect,
    support: jointSupport(chat.support, responses.support),
    encodeChat: (request, isStream) => (isForResponses(request) ? responses : chat).encodeChat(request, isStream),
    // Parses the body twice: 2 to 4 µs for a usual one.
    decodeChat: (body) => (stringField(parseLenient(body), 'object') === 'response' ? responses : chat).decodeChat(body),
    createStreamDecoder: () => new RoutedStream(chat, responses),
    counting: responses.counting,
  };
}

class RoutedStream implements StreamDecoder {
  readonly #chat: Adapter;
  readonly #responses: Adapter;
  #decoder: StreamDecoder | undefined;

  constructor(chat: Adapter, responses: Adapter) {
    this.#chat = chat;
    this.#responses = responses;
  }

  get servedModel(): string | undefined {
    return this.#decoder?.servedModel;
  }

  // hot: per token
  frame(event: string, data: string, sink: DeltaSink): void {
    this.#decoder ??= this.#decoderFor(event, data);
    this.#decoder?.frame(event, data, sink);
  }

  end(sink: DeltaSink): void {
    this.#decoder ??= this.#chat.createStreamDecoder();
    this.#decoder.end(sink);
  }

  /** Undefined for a frame that says nothing. A first event of Responses can be as long as the request, but has a name. */
  #decoderFor(event: string, data: string): StreamDecoder | undefined {
    if (data.trim() === '') return undefined;
    const type = event === '' ? stringField(parseLenient(data), 'type') : event;
    return (type?.startsWith('response.') === true ? this.#responses : this.#chat).createStreamDecoder();
  }
}

/** What becomes of a request's parts on either API. */
function jointSupport(chat: SupportTable, responses: SupportTable): SupportTable {
  const joint: Record<RequestFeature, Support> = { ...chat };
  for (const feature of REQUEST_FEATURES) joint[feature] = jointRow(chat[feature], responses[feature]);
  return joint;
}

function jointRow(chat: Support, responses: Support): Support {
  if (responses.is === 'refused') return { is: chat.is, as: `${chat.as}, by Chat Completions` };
  const is = chat.is === responses.is ? chat.is : 'translated';
  return { is, as: chat.as === responses.as ? chat.as : `${chat.as}; by Responses: ${responses.as}` };
}
