/** A provider's models in the form of OpenAI (OpenAI, models, list). */

import { renderJson } from '../../base/json/render.ts';
import type { ModelInfo } from '../../core/chat.ts';

/** When a model was made is in no provider's answer that is read here: 0, which the clients take for a time. */
const CREATED_UNKNOWN = 0;

export function renderModelList(provider: string, models: readonly ModelInfo[]): string {
  const data = models.map(({ id }) => ({ id, object: 'model', created: CREATED_UNKNOWN, owned_by: provider }));
  return renderJson({ object: 'list', data });
}
