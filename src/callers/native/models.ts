/** The models of one provider, under the names that it gives them; what the provider does not say is left out. */

import type { JsonOutObject } from '../../base/json/value.ts';
import type { ModelInfo } from '../../core/chat.ts';
import type { DialectModels } from '../../core/dialect.ts';

export const NATIVE_MODELS: DialectModels = {
  header: undefined,
  list({ models, defaultProvider }) {
    if (defaultProvider === undefined) return {};
    const own = models.filter(({ provider }) => provider === defaultProvider);
    return { provider: defaultProvider, models: own.map(({ info }) => modelFrom(info)) };
  },
  one: ({ provider, info }) => ({ provider, ...modelFrom(info) }),
};

function modelFrom(model: ModelInfo): JsonOutObject {
  return {
    id: model.id,
    display_name: model.displayName,
    max_input_tokens: model.inputTokensMax,
    max_output_tokens: model.outputTokensMax,
    context_window: model.contextWindow,
    input: model.input,
    deprecated_at: model.deprecatedAt,
  };
}
