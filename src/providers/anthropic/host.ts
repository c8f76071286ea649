/** In what a host of the Messages API differs from its vendor's own, as data. */

export type MessagesHost = {
  /** The model that a name stands for, where the name of a deployment or a profile hides it: rules depend on the model. */
  readonly modelOf: (name: string) => string;
  /** Of an answer, below the provider's base URL; undefined for a name that no path can have. */
  readonly path: (model: string, isStream: boolean) => string | undefined;
  /** Of a count of tokens; undefined where it is not counted. */
  readonly countPath: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** What the body has. `model`: its name, and whether it is to stream. Else they are in the path, and the version is in the body. */
  readonly body: { readonly has: 'model' } | { readonly has: 'version'; readonly version: string; readonly hasStream: boolean };
  /** Whether it fetches images and documents itself. */
  readonly fetchesUrls: boolean;
  /** `whole`: one mark for the whole conversation. `block`: the mark has to stand on the last block. */
  readonly cacheMark: 'whole' | 'block';
};

/** The version that still takes sampling parameters where the model does. */
export const VERSION_HEADER = { 'anthropic-version': '2023-06-01' };

/** Anthropic's own. */
export const VENDOR_HOST: MessagesHost = {
  modelOf: (name) => name,
  path: () => '/messages',
  countPath: '/messages/count_tokens',
  headers: VERSION_HEADER,
  body: { has: 'model' },
  fetchesUrls: true,
  cacheMark: 'whole',
};

/**
 * The model that a name stands for on a host that serves Claude only: as the operator says; else the name where it says so itself;
 * else any Claude, to which the rules of the newest apply.
 */
export function claudeOf(name: string, models: ReadonlyMap<string, string> | undefined): string {
  const meant = models?.get(name) ?? name;
  return /claude/i.test(meant) ? meant : 'claude-latest';
}

/** A model's name as one segment of a path, everything encoded that AWS encodes too; undefined for one that cannot be, or that URLs resolve away. */
export function modelSegment(model: string): string | undefined {
  if (/\p{Surrogate}|^\.{1,2}$/u.test(model)) return undefined;
  return encodeURIComponent(model).replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}
