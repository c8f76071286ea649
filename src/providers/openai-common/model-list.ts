/** The list of models of a host (OpenAI, Models, list): one page, of which hosts fill in more or less. */

import { parseLenient } from '../../base/json/lenient.ts';
import { countField, field, isObject, listField, textField } from '../../base/loose.ts';
import type { ModelsPage, UpstreamCall } from '../../core/adapter.ts';
import type { ModelInfo } from '../../core/chat.ts';
import { unreadableReply } from '../../core/failure.ts';
import type { Failure } from '../../core/failure.ts';
import { failureInside } from './failure.ts';

/** The call for the list; there is only one page. */
export function encodeModelsCall(): UpstreamCall {
  return { method: 'GET', path: '/models', headers: { accept: 'application/json' }, body: undefined };
}

/** A 200 body: `{data: [...]}`, `{data: null}` where there are none (Ollama), or the bare list (Together). Failure: server. */
export function decodeModelsBody(provider: string, body: string, json = parseLenient(body)): ModelsPage | Failure {
  const failure = failureInside(provider, json);
  if (failure !== undefined) return failure;
  const data = field(json, 'data');
  const isList = Array.isArray(json) || Array.isArray(data) || (data === null && field(json, 'object') === 'list');
  if (!isList) return unreadableReply(provider, body, 'the body is no list of models');
  const items = Array.isArray(json) ? (json as readonly unknown[]) : listField(json, 'data');
  return { models: items.flatMap(decodeModel), nextCursor: undefined };
}

/** OpenAI gives nothing but ids. Output: OpenRouter, Groq. */
function decodeModel(item: unknown): readonly ModelInfo[] {
  const id = isObject(item) ? textField(item, 'id') : undefined;
  if (id === undefined) return [];
  return [
    {
      id,
      displayName: textField(item, 'display_name') ?? textField(item, 'name'),
      contextWindow: contextWindow(item),
      inputTokensMax: undefined,
      outputTokensMax:
        countField(field(item, 'top_provider'), 'max_completion_tokens') ?? countField(item, 'max_completion_tokens'),
      input: inputKinds(item),
      // Mistral.
      deprecatedAt: textField(item, 'deprecation'),
    },
  ];
}

/** OpenRouter and Together, vLLM, Groq, Mistral. */
function contextWindow(item: unknown): number | undefined {
  return (
    countField(item, 'context_length') ??
    countField(item, 'max_model_len') ??
    countField(item, 'context_window') ??
    countField(item, 'max_context_length')
  );
}

/** A list of kinds (OpenRouter, Hugging Face), where a PDF is a `file`, or whether it sees (Mistral). */
function inputKinds(item: unknown): readonly string[] | undefined {
  const kinds = listField(field(item, 'architecture'), 'input_modalities').filter((kind) => typeof kind === 'string');
  if (kinds.length > 0) return kinds.map((kind) => (kind === 'file' ? 'pdf' : kind));
  const vision = field(field(item, 'capabilities'), 'vision');
  if (typeof vision !== 'boolean') return undefined;
  return vision ? ['text', 'image'] : ['text'];
}
