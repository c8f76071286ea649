/** Models in the form of Anthropic (Anthropic, list models, get a model), page by page. */

import type { JsonOutObject } from '../../base/json/value.ts';
import type { DialectModels, ListedModel, ModelList } from '../../core/dialect.ts';
import { Failure } from '../../core/failure.ts';

/** When a model was made is in no provider's answer that is read here; the clients take this for a time. */
const CREATED_UNKNOWN = '1970-01-01T00:00:00Z';
const PAGE_MODELS = 20;
const PAGE_MODELS_MAX = 1000;

export const ANTHROPIC_MODELS: DialectModels = {
  // All its clients send it, since the API demands it.
  header: 'anthropic-version',
  list: pageOf,
  one: modelFrom,
};

/** The `limit` models after `after_id` or before `before_id`, as its SDKs leaf through them. */
function pageOf({ models }: ModelList, query: URLSearchParams): JsonOutObject | Failure {
  const limit = query.get('limit') ?? String(PAGE_MODELS);
  if (!/^\d{1,4}$/.test(limit) || Number(limit) < 1 || Number(limit) > PAGE_MODELS_MAX) {
    return new Failure('bad_request', `limit: must be a whole number from 1 to ${PAGE_MODELS_MAX}`);
  }
  const [after, before] = [query.get('after_id'), query.get('before_id')];
  if (after !== null && before !== null) return new Failure('bad_request', 'before_id: set either before_id or after_id, not both');
  const cursorAt = models.findIndex(({ name }) => name === (after ?? before));
  if (cursorAt === -1 && (after ?? before) !== null) {
    return new Failure('bad_request', `${after === null ? 'before_id' : 'after_id'}: there is no such model`);
  }
  const from = before === null ? cursorAt + 1 : Math.max(0, cursorAt - Number(limit));
  const to = before === null ? Math.min(models.length, from + Number(limit)) : cursorAt;
  const page = models.slice(from, to);
  return {
    data: page.map(modelFrom),
    has_more: before === null ? to < models.length : from > 0,
    first_id: page[0]?.name ?? null,
    last_id: page.at(-1)?.name ?? null,
  };
}

function modelFrom({ name, info }: ListedModel): JsonOutObject {
  return {
    type: 'model',
    id: name,
    display_name: info.displayName ?? name,
    created_at: CREATED_UNKNOWN,
    // anthropic-java refuses a model without it where it validates.
    lifecycle: info.deprecatedAt === undefined ? 'active' : 'deprecated',
    max_input_tokens: info.inputTokensMax,
    max_tokens: info.outputTokensMax,
  };
}
