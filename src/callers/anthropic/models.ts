/** A provider's models in the form of Anthropic (Anthropic, list models): all of them are one page. */

import { renderJson } from '../../base/json/render.ts';
import type { ModelInfo } from '../../core/chat.ts';

/** When a model was made is in no provider's answer that is read here; the clients take this for a time. */
const CREATED_UNKNOWN = '1970-01-01T00:00:00Z';

export function renderModelList(_provider: string, models: readonly ModelInfo[]): string {
  const data = models.map((model) => ({
    type: 'model',
    id: model.id,
    display_name: model.displayName ?? model.id,
    created_at: CREATED_UNKNOWN,
    max_input_tokens: model.contextWindow,
    max_tokens: model.outputTokensMax,
  }));
  return renderJson({ data, has_more: false, first_id: models[0]?.id ?? null, last_id: models.at(-1)?.id ?? null });
}
