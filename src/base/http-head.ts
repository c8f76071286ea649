/**
 * The head of an HTTP/1.1 response: status line, fields, and how its body ends (RFC 9112; RFC 9110, section 5).
 *
 * As strict as Node's own parser or stricter: what two readers could frame differently is refused, never guessed.
 */

/** Names are in lower case. Repeated ones are joined by commas, but for `set-cookie`. */
export type ResponseHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export type ResponseHead = {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** Whether another request may follow on the connection, once this response is over. */
  readonly isKept: boolean;
  readonly body: BodyStart;
  /** Of a body with a length. */
  readonly bytes: number;
};

/** What follows a head: another head, a body of so many bytes, one up to the connection's end, or the size of a chunk. */
export type BodyStart = 'head' | 'length' | 'until-close' | 'size';

/** Why a response is refused: the names that Node's parser has for it. */
export type ResponseFault =
  | 'HPE_INVALID_CONSTANT'
  | 'HPE_INVALID_VERSION'
  | 'HPE_INVALID_STATUS'
  | 'HPE_INVALID_HEADER_TOKEN'
  | 'HPE_INVALID_CONTENT_LENGTH'
  | 'HPE_INVALID_TRANSFER_ENCODING'
  | 'HPE_INVALID_CHUNK_SIZE'
  | 'HPE_STRICT'
  | 'HPE_HEADER_OVERFLOW'
  | 'HPE_CHUNK_EXTENSIONS_OVERFLOW';

const CR = 0x0d;
const LF = 0x0a;
const COLON = 0x3a;

/** What every response begins with. */
export const HEAD_PREFIX = 'HTTP/';
const STATUS_LINE = /^HTTP\/1\.[01] [1-9][0-9][0-9](?: [\t\x20-\x7e\x80-\xff]*)?$/;
const VERSION = /^HTTP\/1\.[01] /;
const BARE_FEED = /(?<!\r)\n/;
const DIGITS = /^[0-9]{1,15}$/;

/** What may stand in a name, and what in a value (RFC 9110, section 5), by their codes: 1 = it may. */
const OF_NAMES = tableOf(/[!#$%&'*+\-.^_`|~0-9A-Za-z]/);
const OF_VALUES = tableOf(/[\t\x20-\x7e\x80-\xff]/);

function tableOf(allowed: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, code) => (allowed.test(String.fromCharCode(code)) ? 1 : 0));
}

/** A head without the empty line at its end. */
// hot: per request
export function parseHead(text: string): ResponseHead | ResponseFault {
  const lineEnd = text.indexOf('\r\n');
  const line = text.slice(0, lineEnd);
  const headers = STATUS_LINE.test(line) ? readFields(text, lineEnd + 2) : undefined;
  if (headers === undefined) return headFault(text, line);
  const status = Number(text.slice(9, 12));
  const framing = framingOf(status, text[7] === '1', headers);
  if (typeof framing === 'string') return framing;
  const { isKept, body, bytes } = framing;
  return { status, headers, isKept, body, bytes };
}

/** Why trailers are refused; undefined where they are good. */
export function trailersFault(text: string): ResponseFault | undefined {
  if (readFields(text, 0) !== undefined) return undefined;
  return BARE_FEED.test(text) ? 'HPE_STRICT' : 'HPE_INVALID_HEADER_TOKEN';
}

/** Why a head was refused, as whoever reads it piece by piece would say. */
function headFault(text: string, line: string): ResponseFault {
  if (!line.startsWith(HEAD_PREFIX)) return 'HPE_INVALID_CONSTANT';
  if (BARE_FEED.test(text)) return 'HPE_STRICT';
  if (STATUS_LINE.test(line)) return 'HPE_INVALID_HEADER_TOKEN';
  return VERSION.test(line) ? 'HPE_INVALID_STATUS' : 'HPE_INVALID_VERSION';
}

/** The fields in the lines from `at` on; undefined where one is none. 5 µs for 17 of them; 9 µs by regular expressions. */
// hot: per request
function readFields(text: string, at: number): Record<string, string | string[]> | undefined {
  const headers = Object.create(null) as Record<string, string | string[]>;
  while (at < text.length) {
    const from = at;
    while (OF_NAMES[text.charCodeAt(at)] === 1) at += 1;
    if (at === from || text.charCodeAt(at) !== COLON) return undefined;
    const name = text.slice(from, at).toLowerCase();
    const valueFrom = at + 1;
    at = valueFrom;
    while (OF_VALUES[text.charCodeAt(at)] === 1) at += 1;
    if (text.charCodeAt(at) !== CR || text.charCodeAt(at + 1) !== LF) return undefined;
    addField(headers, name, trimmed(text, valueFrom, at));
    at += 2;
  }
  return headers;
}

function addField(headers: Record<string, string | string[]>, name: string, value: string): void {
  const before = headers[name];
  if (name === 'set-cookie') {
    if (Array.isArray(before)) before.push(value);
    else headers[name] = [value];
  } else {
    headers[name] = before === undefined ? value : `${String(before)}, ${value}`;
  }
}

/** Without the spaces and tabs around it. Not `trim`, which takes more for a space. */
function trimmed(text: string, from: number, end: number): string {
  while (from < end && isSpace(text.charCodeAt(from))) from += 1;
  while (end > from && isSpace(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(from, end);
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

/** How the body ends (RFC 9112, section 6.3). */
function framingOf(status: number, isNewer: boolean, headers: Record<string, string | string[]>): Pick<ResponseHead, 'isKept' | 'body' | 'bytes'> | ResponseFault {
  const length = headers['content-length'] as string | undefined;
  const coding = headers['transfer-encoding'] as string | undefined;
  if (length !== undefined && !DIGITS.test(length)) return 'HPE_INVALID_CONTENT_LENGTH';
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || length !== undefined || !isNewer)) return 'HPE_INVALID_TRANSFER_ENCODING';
  const bytes = Number(length ?? 0);
  const isKept = keeps(headers['connection'] as string | undefined, isNewer);
  if (status < 200) return { isKept, body: 'head', bytes: 0 };
  // What announces a body that it must not have could send one.
  if (status === 204 || status === 304) return { isKept: isKept && bytes === 0 && coding === undefined, body: 'length', bytes: 0 };
  if (coding !== undefined) return { isKept, body: 'size', bytes: 0 };
  if (length !== undefined) return { isKept, body: 'length', bytes };
  return { isKept: false, body: 'until-close', bytes: 0 };
}

function keeps(connection: string | undefined, isNewer: boolean): boolean {
  if (connection === undefined) return isNewer;
  // By a pattern with spaces in it, 60 KB of them take seconds.
  const options = connection.toLowerCase().split(',').map((option) => trimmed(option, 0, option.length));
  return !options.includes('close') && (isNewer || options.includes('keep-alive'));
}
