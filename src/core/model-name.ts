/**
 * One form of a model's name, for rules that depend on the model.
 *
 * Vendors, clouds and hosts write one model in many ways: `claude-sonnet-4-20250514`, `claude-sonnet-4@20250514`,
 * `us.anthropic.claude-sonnet-4-20250514-v1:0`, `anthropic/claude-sonnet-4:beta`. A rule compares the plain name and
 * nothing else; what is sent is always the name as the caller wrote it. Knows no vendor's families.
 * Sources: OpenAI, fine-tuning; Amazon Bedrock, model ids and inference profiles; Vertex AI, partner models; OpenRouter,
 * model variants; Databricks, foundation models.
 */

/** Names of regions and vendors before a name: `us.anthropic.`. A dot after a digit is part of a version: `gpt-5.4`. */
const DOTTED_PREFIX = /^(?:[a-z-]+\.)+/;
/** Hosts that put themselves before a name without a dot or a slash: `databricks-`, and SAP's `anthropic--`. */
const DASHED_PREFIX = /^(?:databricks-|[a-z]+--)/;
/** From here on hosts write a date, a variant, a size, a backend or a revision: `@20250514`, `:free`, `-v1:0`. */
const HOST_SUFFIX = /(?:-v\d+(?=:\d))?[@:]/;
/** A snapshot's date: `-20250514` or `-2025-08-07`. */
const SNAPSHOT_DATE = /-(?:20\d{6}|20\d\d-\d\d-\d\d)$/;

/**
 * The plain name of a model: in lower case; of a fine-tuned one (`ft:base:organisation:suffix:id`) the base's, so that
 * no word of the caller's own is matched; without a path, region, vendor or host before it, and without a variant,
 * revision or snapshot's date after it. Aliases such as `-latest` and `-preview` stay.
 */
export function plainModelName(model: string): string {
  const lower = model.toLowerCase();
  const base = lower.startsWith('ft:') ? (lower.split(':', 2)[1] ?? '') : lower;
  const last = base.slice(base.lastIndexOf('/') + 1);
  const name = last.replace(DOTTED_PREFIX, '').replace(DASHED_PREFIX, '');
  const end = name.search(HOST_SUFFIX);
  return (end === -1 ? name : name.slice(0, end)).replace(SNAPSHOT_DATE, '');
}

/** What names of models stand for, where the names hide it: an operator's deployments and profiles. */
export type ModelNames = ReadonlyMap<string, string>;

/** The request under the name that rules go by. */
export function asMeant<T extends { readonly model: string }>(request: T, models: ModelNames | undefined): T {
  const model = models?.get(request.model);
  return model === undefined ? request : { ...request, model };
}
