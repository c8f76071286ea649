/**
 * Ids of tool calls in the form that Messages has for them: `[A-Za-z0-9_-]+`, which a history keeps wherever it goes.
 *
 * An id of another vendor that does not fit is written as `gwid_` and its base64url, and read back as it was, so that its
 * provider sees its own id again. An id that only looks so is somebody's own and stays.
 */

const FITTING = /^[A-Za-z0-9_-]+$/;
const PREFIX = 'gwid_';

/** The id of a call as the caller sees it. */
export function shownCallId(id: string): string {
  return FITTING.test(id) && !id.startsWith(PREFIX) ? id : encoded(id);
}

/** The id of a call that a caller names. */
export function givenCallId(shown: string): string {
  if (!shown.startsWith(PREFIX)) return shown;
  const id = Buffer.from(shown.slice(PREFIX.length), 'base64url').toString();
  return id !== '' && encoded(id) === shown ? id : shown;
}

function encoded(id: string): string {
  return PREFIX + Buffer.from(id).toString('base64url');
}
