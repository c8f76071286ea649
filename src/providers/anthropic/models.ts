/** Anthropic's list of models (Anthropic, list models), of which a model says what it takes and until when. */

import { parseLenient } from '../../base/json/lenient.ts';
import { countField, field, stringField, textField } from '../../base/loose.ts';
import type { ModelsPage, UpstreamCall } from '../../core/adapter.ts';
import type { ModelInfo } from '../../core/chat.ts';
import { unreadableReply } from '../../core/failure.ts';
import type { Failure } from '../../core/failure.ts';
import { failureInside } from './failure.ts';
import { VERSION_HEADER } from './host.ts';

/** The most the API gives at once. */
const MODELS_PAGE_SIZE = '1000';

export function encodeModels(cursor: string | undefined): UpstreamCall {
  const query = new URLSearchParams({ limit: MODELS_PAGE_SIZE });
  if (cursor !== undefined) query.set('after_id', cursor);
  return { method: 'GET', path: `/models?${query}`, headers: VERSION_HEADER, body: undefined };
}

export function decodeModels(provider: string, body: string, page = parseLenient(body)): ModelsPage | Failure {
  const inside = failureInside(provider, page);
  if (inside !== undefined) return inside;
  const data = field(page, 'data');
  if (!Array.isArray(data)) return unreadableReply(provider, body, 'it sent no list of models');
  const models: ModelInfo[] = [];
  for (const entry of data as readonly unknown[]) {
    const id = textField(entry, 'id');
    if (id === undefined) continue;
    models.push({
      id,
      displayName: stringField(entry, 'display_name'),
      contextWindow: undefined,
      inputTokensMax: countField(entry, 'max_input_tokens'),
      outputTokensMax: countField(entry, 'max_tokens'),
      input: inputOf(field(entry, 'capabilities')),
      deprecatedAt: textField(entry, 'deprecated_at'),
    });
  }
  return { models, nextCursor: field(page, 'has_more') === true ? textField(page, 'last_id') : undefined };
}

/** All take text; undefined where nothing is said of the rest. */
function inputOf(capabilities: unknown): readonly string[] | undefined {
  const supports = (name: string): unknown => field(field(capabilities, name), 'supported');
  const [image, pdf] = [supports('image_input'), supports('pdf_input')];
  if (typeof image !== 'boolean' && typeof pdf !== 'boolean') return undefined;
  return ['text', ...(image === true ? ['image'] : []), ...(pdf === true ? ['pdf'] : [])];
}
