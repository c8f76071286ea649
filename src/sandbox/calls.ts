/** The requests that arrived, as a test looks at them. */

import { parseLenient } from '../base/json/lenient.ts';

/** The formats that the sandbox speaks, by the names of what they are a copy of. */
export type ProtocolName = 'anthropic' | 'openai-responses' | 'openai-chat' | 'gemini' | 'compat';

/** A request as it arrived. */
export type RecordedCall = {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** As it came. */
  readonly body: string;
  /** The body as JSON; undefined when it is none. */
  readonly json: unknown;
  /** Undefined when the path is none of the sandbox's. */
  readonly protocol: ProtocolName | undefined;
  /** Undefined when the request is not about a model, or was refused. */
  readonly model: string | undefined;
  /** False also when the request was refused. */
  readonly isStream: boolean;
  /** True once the peer has hung up before its reply was finished. */
  readonly closedEarly: boolean;
};

/** The same while more is learned of it. */
export type Call = { -readonly [K in keyof RecordedCall]: RecordedCall[K] };

const CALLS_MAX = 200;
/** Of their bodies together. */
const CALLS_CHARS_MAX = 64 * 1024 * 1024;

/** What Node's server says of a request. */
type Arrival = { readonly method?: string | undefined; readonly url?: string | undefined; readonly headers: RecordedCall['headers'] };

/** Adds a request to those that are kept, and drops the oldest of too many. */
export function recordCall(calls: Call[], { method = '', url = '/', headers }: Arrival, body: string): Call {
  const call: Call = {
    method, path: url, headers, body, protocol: undefined, model: undefined, isStream: false, closedEarly: false,
    get json() {
      return parseLenient(body);
    },
  };
  calls.push(call);
  let chars = calls.reduce((sum, recorded) => sum + recorded.body.length, 0);
  while (calls.length > CALLS_MAX || (chars > CALLS_CHARS_MAX && calls.length > 1)) chars -= calls.shift()?.body.length ?? 0;
  return call;
}
