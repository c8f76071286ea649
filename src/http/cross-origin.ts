/** Which headers the pages of an allowed origin may send and read (Fetch standard, CORS protocol). */

/** What clients look at besides a status and a body. */
export const EXPOSED_HEADERS = 'X-Request-Id, Request-Id, Retry-After, X-Should-Retry, X-Gateway-Target, X-Gateway-Ignored';

const ALLOWED_HEADERS = 'Authorization, Content-Type, X-Request-Id';
/** Most names that are repeated, and of how many characters: clients send some twenty of their own, of up to thirty. */
const NAMES_MAX = 64;
const NAME = /^[\w.-]{1,64}$/;

/**
 * The names for `Access-Control-Allow-Headers`: those of the gateway, and whatever else the page says it will send, since
 * makers' clients send headers of their own that nobody here reads. The origin was allowed before.
 */
export function allowedHeaders(requested: string | undefined): string {
  const names = (requested ?? '').split(',', NAMES_MAX).map((name) => name.trim());
  return [ALLOWED_HEADERS, ...names.filter((name) => NAME.test(name))].join(', ');
}
