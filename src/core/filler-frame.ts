/** Frames of a stream that say nothing in any format. */

/** True for a blank frame, and for the `[DONE]` that proxies add where a format has none. */
// hot: per token
export function isFiller(data: string): boolean {
  const word = data.trim();
  return word === '' || word === '[DONE]';
}
