/** What a call sends, as text. */

import { renderJson } from '../src/base/json/render.ts';
import type { UpstreamCall } from '../src/core/adapter.ts';

export function sentText({ body }: Pick<UpstreamCall, 'body'>): string {
  return body === undefined ? '' : renderJson(body);
}
