/** What every source of credentials needs, and the shapes that their answers have in common. */

import { codeOf } from '../../base/describe-error.ts';
import { parseLenient } from '../../base/json/lenient.ts';
import { field, textField } from '../../base/loose.ts';
import { Secret } from '../../base/secret.ts';
import { Failure } from '../../core/failure.ts';
import type { Clock } from './authorization.ts';
import { refusalFrom, senselessAnswer } from './endpoint.ts';
import type { Answer, AskEndpoint } from './endpoint.ts';
import type { Fresh } from './renewed.ts';

export type Surroundings = {
  readonly ask: AskEndpoint;
  /** A file's text; throws an error with a `code`. */
  readonly readFile: (path: string) => string;
  readonly clock: Clock;
};

/** A token of more is none, and would not fit a header. */
const TOKEN_CHARS_MAX = 16 * 1024;

const TOKEN_FORM = /^[\x21-\x7e]+$/;
/** What is a header by itself, with its scheme: `Basic abcd`. */
export const HEADER_FORM = /^[\x20-\x7e]+$/;

/** A text that can travel in a header; undefined where it is none. */
export function secretFrom(text: string | undefined, form = TOKEN_FORM): Secret | undefined {
  return text !== undefined && text.length <= TOKEN_CHARS_MAX && form.test(text) ? new Secret(text) : undefined;
}

/** A text that a file holds; `what` names the file without its path, which nobody needs to know. */
export function readText({ readFile }: Surroundings, path: string, what: string): string | Failure {
  try {
    return readFile(path);
  } catch (thrown) {
    return new Failure('unknown', `${what} cannot be read (${codeOf(thrown)})`);
  }
}

/** A token that a file holds. */
export function readToken(surroundings: Surroundings, path: string, what: string, form = TOKEN_FORM): Secret | Failure {
  const text = readText(surroundings, path, what);
  if (text instanceof Failure) return text;
  return secretFrom(text.trim(), form) ?? new Failure('unknown', `${what} holds no token`);
}

/** A token, and what goes out beside it. */
export type Bearer = { readonly token: Secret; readonly headers: Readonly<Record<string, string>> };

const NO_HEADERS: Bearer['headers'] = {};

/**
 * A token from an answer of OAuth 2.0 (RFC 6749 section 5), whose numbers may be texts. Microsoft's identity endpoints say when it
 * ends as well, in seconds since 1970; that of App Service says nothing else.
 */
export function bearerFrom(url: URL, answer: Answer, clock: Clock, headers = NO_HEADERS): Fresh<Bearer> | Failure {
  const json = parseLenient(answer.text);
  if (answer.status !== 200) return refusalFrom(url, answer, textField(json, 'error'));
  const token = secretFrom(textField(json, 'access_token'));
  const endsAtMs = secondsField(json, 'expires_on');
  const lifetime = secondsField(json, 'expires_in') ?? (endsAtMs === undefined ? undefined : leftMs(endsAtMs, answer, clock));
  if (token === undefined || lifetime === undefined) return senselessAnswer(url);
  return { value: { token, headers }, lifetimeMs: lifetime, renewInMs: secondsField(json, 'refresh_in') };
}

/** Seconds as milliseconds. */
function secondsField(json: unknown, key: string): number | undefined {
  const value = field(json, key);
  const seconds = typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : value;
  return typeof seconds === 'number' && seconds >= 0 && Number.isFinite(seconds) ? seconds * 1000 : undefined;
}

/** How long something lives that ends at a date. */
export function lifetimeMs(endsAt: string | undefined, answer: Answer, clock: Clock): number | undefined {
  const endsAtMs = Date.parse(endsAt ?? '');
  return Number.isNaN(endsAtMs) ? undefined : leftMs(endsAtMs, answer, clock);
}

/** How long it is until then. By the clock of who said so, where that one said the time as well. */
function leftMs(endsAtMs: number, { headers: { date } }: Answer, clock: Clock): number {
  const saidMs = typeof date === 'string' ? Date.parse(date) : NaN;
  return Math.max(0, endsAtMs - (Number.isNaN(saidMs) ? clock.wall() : saidMs));
}
