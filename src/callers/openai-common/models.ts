/** Models in the form of OpenAI (OpenAI, models, list and retrieve). */

import type { JsonOutObject } from '../../base/json/value.ts';
import type { DialectModels, ListedModel } from '../../core/dialect.ts';

/** When a model was made is in no provider's answer that is read here: 0, which the clients take for a time. */
const CREATED_UNKNOWN = 0;

export const OPENAI_MODELS: DialectModels = {
  header: undefined,
  list: ({ models }) => ({ object: 'list', data: models.map(modelFrom) }),
  one: modelFrom,
};

function modelFrom({ name, provider }: ListedModel): JsonOutObject {
  return { id: name, object: 'model', created: CREATED_UNKNOWN, owned_by: provider ?? 'gateway' };
}
