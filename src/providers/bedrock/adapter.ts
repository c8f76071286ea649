/**
 * Amazon's two: Bedrock, which serves Claude by the Messages API, Claude also by InvokeModel, OpenAI's models by both of OpenAI's
 * APIs, and others by Chat Completions; and Claude Platform on AWS, which is Anthropic's own API behind AWS's doors.
 *
 * A model's id says which it is: `anthropic.…` is asked by the Messages API; with a colon, or as an ARN, by InvokeModel, which has
 * every Claude and region; `openai.gpt-…` as at OpenAI; others by Chat Completions, with or without a colon. Converse, a format of
 * Bedrock's own, is left out: for Claude it is the poorest of these ways, and the others have one that all of them share.
 * Source: Amazon Bedrock, Anthropic Claude Messages API, InvokeModel, Chat Completions API, Responses API; Claude Platform on AWS.
 */

import { parseLenient } from '../../base/json/lenient.ts';
import type { ParsedText } from '../../base/json/parse.ts';
import { field, isObject, stringField, textField } from '../../base/loose.ts';
import type { Adapter, AdapterSettings, DeltaSink, ProviderRow, StreamDecoder } from '../../core/adapter.ts';
import { malformedReply } from '../../core/failure.ts';
import type { Failure } from '../../core/failure.ts';
import { plainModelName } from '../../core/model-name.ts';
import type { ModelNames } from '../../core/model-name.ts';
import { createAnthropicAdapter } from '../anthropic/adapter.ts';
import { claudeOf, VENDOR_HOST, modelSegment } from '../anthropic/host.ts';
import type { MessagesHost } from '../anthropic/host.ts';
import { isMessages } from '../anthropic/reply.ts';
import { below, createAdapterByModel } from '../by-model.ts';
import { createOpenAiAdapter } from '../openai-chat/adapter.ts';
import { PLAIN_HOST } from '../openai-chat/profile.ts';
import type { HostProfile } from '../openai-chat/profile.ts';
import { createResponsesAdapter } from '../openai-responses/adapter.ts';
import { createRoutedAdapter } from '../openai/api-choice.ts';
import { decodeBedrockFailure, streamedFailure } from './failure.ts';

export const BEDROCK_ROW: ProviderRow = {
  name: 'bedrock',
  cloud: 'bedrock',
  keyVariables: ['AWS_BEARER_TOKEN_BEDROCK'],
  isKeyRequired: true,
  baseUrlVariable: 'AWS_ENDPOINT_URL_BEDROCK_RUNTIME',
  keyHeader: { name: 'authorization', prefix: 'Bearer ' },
  createAdapter: createBedrockAdapter,
};

export const CLAUDE_AWS_ROW: ProviderRow = {
  name: 'claude-aws',
  cloud: 'claude-aws',
  keyVariables: ['ANTHROPIC_AWS_API_KEY'],
  isKeyRequired: true,
  baseUrlVariable: 'ANTHROPIC_AWS_BASE_URL',
  versionSegment: 'v1',
  keyHeader: { name: 'x-api-key', prefix: '' },
  speaks: ['anthropic'],
  createAdapter(name) {
    const adapter = createAnthropicAdapter(name);
    return { ...adapter, decodeFailure: withBedrockFailures(name, adapter, adapter) };
  },
};

/**
 * Models of OpenAI among them, which refuse the older name of the limit. Source for the tags: AWS, "OpenAI models", and recorded
 * answers of gpt-oss, whose streams have a pair of them around each piece.
 */
const OPENAI_ROUTE: HostProfile = { ...PLAIN_HOST, maxTokensField: 'max_completion_tokens', output: 'schema', userField: 'user', reasoningTags: 'gpt-oss' };

function createBedrockAdapter(name: string, settings?: AdapterSettings): Adapter {
  const models = settings?.models;
  const openAi = below('/openai/v1', createOpenAiAdapter(name, OPENAI_ROUTE, models));
  const responses = below('/openai/v1', createResponsesAdapter(name, { userField: 'user', hasCacheLife: false, models }));
  const messages = below('/anthropic/v1', createAnthropicAdapter(name, messagesHost(models)));
  const invoked = createInvokeAdapter(name, models);
  const joint = createAdapterByModel([
    { adapter: invoked, serves: (model) => isInvoked(model, models), isIts: (json) => 'bytes' in json },
    { adapter: createRoutedAdapter(openAi, responses, models), serves: (model) => isGpt(model, models), isIts: isOpenAi },
    { adapter: messages, serves: (model) => isClaude(model, models), isIts: isMessages },
    { adapter: openAi, serves: () => true, isIts: (json) => 'error' in json },
  ]);
  // Its own list is somewhere else: at the host that administers it.
  return { ...joint, hasModelList: false, createStreamDecoder: () => new BedrockStream(name, joint, invoked), decodeFailure: withBedrockFailures(name, messages, openAi) };
}

function isClaude(model: string, models: ModelNames | undefined): boolean {
  return model.includes('anthropic.') || models?.get(model)?.includes('claude') === true;
}

/** Models of OpenAI's own that have both of its APIs here; gpt-oss has Chat Completions alone. */
function isGpt(model: string, models: ModelNames | undefined): boolean {
  return /^gpt-(?!oss)/.test(plainModelName(models?.get(model) ?? model));
}

/** An answer of either, or an event of its stream. */
function isOpenAi(json: object, event: string): boolean {
  const type = stringField(json, 'type') ?? event;
  return 'choices' in json || stringField(json, 'object') === 'response' || type.startsWith('response.') || (type === 'error' && isOpenAiError(json));
}

/** Errors in streams of Responses have a code, beside their type or in the error itself, where Claude's have an error without one. */
function isOpenAiError(json: object): boolean {
  const error = field(json, 'error');
  return !isObject(error) || 'code' in error;
}

/** ARNs, and ids with a version behind a colon, of which `openai.gpt-oss-20b-1:0` is none of Claude's. */
function isInvoked(model: string, models: ModelNames | undefined): boolean {
  return model.startsWith('arn:') || (model.includes(':') && isClaude(model, models));
}

/** Checks bodies by a schema of its own, and fetches nothing. */
function messagesHost(models: ModelNames | undefined): MessagesHost {
  return { ...VENDOR_HOST, modelOf: (model) => claudeOf(model, models), fetchesUrls: false, cacheMark: 'block' };
}

function createInvokeAdapter(name: string, models: ModelNames | undefined): Adapter {
  const host: MessagesHost = {
    ...messagesHost(models),
    path(model, isStream) {
      const segment = modelSegment(model);
      return segment && `/model/${segment}/${isStream ? 'invoke-with-response-stream' : 'invoke'}`;
    },
    headers: {},
    body: { has: 'version', version: 'bedrock-2023-05-31', hasStream: false },
  };
  return createAnthropicAdapter(name, host);
}

/** Claude's own failures are read as Claude's, whatever AWS calls them; then those of Bedrock; then those of the others. */
function withBedrockFailures(name: string, claude: Adapter, others: Adapter): Adapter['decodeFailure'] {
  return (status, body, headers) => {
    if (stringField(parseLenient(body), 'type') === 'error') return claude.decodeFailure(status, body, headers);
    return decodeBedrockFailure(name, status, body, headers) ?? others.decodeFailure(status, body, headers);
  };
}

/**
 * A stream of any of these. Messages of AWS's event stream come as events named `:event …`, `:exception …`, `:error …`; those
 * of InvokeModel wrap one event of the Messages API each, in base64.
 */
class BedrockStream implements StreamDecoder {
  readonly #provider: string;
  readonly #joint: Adapter;
  readonly #invoked: Adapter;
  #decoder: StreamDecoder | undefined;
  #isOver = false;

  constructor(provider: string, joint: Adapter, invoked: Adapter) {
    this.#provider = provider;
    this.#joint = joint;
    this.#invoked = invoked;
  }

  get servedModel(): string | undefined {
    return this.#decoder?.servedModel;
  }

  // hot: per token
  frame(event: string, data: string, sink: DeltaSink, parsed?: ParsedText): void {
    if (this.#isOver) return;
    if (!event.startsWith(':')) {
      this.#decoder ??= this.#joint.createStreamDecoder();
      this.#decoder.frame(event, data, sink, parsed);
      return;
    }
    const [type = '', name = ''] = event.split(' ', 2);
    if (type !== ':event') return this.#fail(streamedFailure(this.#provider, name, data), sink);
    // Others mean nothing here: the first answer to a request, what later versions add.
    if (name !== 'chunk') return;
    const json = parsed === undefined ? parseLenient(data) : parsed.json;
    const bytes = textField(json, 'bytes');
    this.#decoder ??= this.#invoked.createStreamDecoder();
    const wrapped = bytes === undefined ? '' : Buffer.from(bytes, 'base64').toString();
    if (wrapped !== '') return this.#decoder.frame('', wrapped, sink);
    // What holds nothing keeps the connection alive; what cannot be read may have been part of the answer.
    if (!isObject(json) || bytes !== undefined) this.#fail(malformedReply(this.#provider, 200, 'an event of its stream cannot be read'), sink);
  }

  #fail(failure: Failure, sink: DeltaSink): void {
    this.#isOver = true;
    sink({ type: 'failed', failure });
  }

  end(sink: DeltaSink): void {
    if (this.#isOver) return;
    this.#decoder ??= this.#joint.createStreamDecoder();
    this.#decoder.end(sink);
  }
}
