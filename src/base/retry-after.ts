/**
 * How long a server asked to wait before the next attempt.
 *
 * Sources: RFC 9110, sections 10.2.3 (Retry-After) and 5.6.7 (HTTP dates); `retry-after-ms` and fractional
 * seconds, which model providers send and their own clients read; the JSON form of
 * google.protobuf.Duration. How much of it is honoured is the reader's business.
 */

/** A longer value is none: the longest honest one is a date of 33 characters. */
const VALUE_CHARS_MAX = 64;

/**
 * The wait in whole milliseconds from response headers with lower-case names: `retry-after-ms`, else `retry-after` in
 * seconds or as a date. Of several values the first usable one counts. Undefined when there is none; a value that is
 * not positive, not readable or too long is ignored. The result may be huge.
 */
export function retryAfterMs(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  nowMs: number,
): number | undefined {
  for (const value of valuesOf(headers['retry-after-ms'])) {
    const ms = positive(firstNumber(value) ?? 0);
    if (ms !== undefined) return ms;
  }
  for (const value of valuesOf(headers['retry-after'])) {
    const seconds = firstNumber(value);
    const ms = positive(seconds === undefined ? (parseHttpDate(value, nowMs) ?? 0) - nowMs : seconds * 1000);
    if (ms !== undefined) return ms;
  }
  return undefined;
}

/** The wait in whole milliseconds from a duration such as `"45.837906927s"`; undefined when it is none or not positive. */
export function protobufDurationMs(text: unknown): number | undefined {
  if (typeof text !== 'string') return undefined;
  const match = /^(\d{1,12}(?:\.\d{1,9})?)s$/.exec(text);
  return match === null ? undefined : positive(Number(match[1]) * 1000);
}

function valuesOf(header: string | readonly string[] | undefined): readonly string[] {
  if (header === undefined) return [];
  const values = typeof header === 'string' ? [header] : header;
  return values.filter((value) => value.length <= VALUE_CHARS_MAX);
}

/** The first positive number of a list: HTTP clients join repeated headers with commas. */
function firstNumber(value: string): number | undefined {
  for (const item of value.split(',')) {
    const text = item.trim();
    if (/^\d+(?:\.\d+)?$/.test(text) && Number(text) > 0) return Number(text);
  }
  return undefined;
}

function positive(ms: number): number | undefined {
  const whole = Math.round(ms);
  return whole > 0 ? whole : undefined;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const TIME = '(?<hour>[01]\\d|2[0-3]):(?<minute>[0-5]\\d):(?<second>[0-5]\\d|60)';

/** `Date.parse` would take far more, and reads the third of these as local time. */
const HTTP_DATES = [
  // IMF-fixdate: Sun, 06 Nov 1994 08:49:37 GMT
  new RegExp(`^${DAY}, (?<day>\\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\\d{4}) ${TIME} GMT$`),
  // RFC 850: Sunday, 06-Nov-94 08:49:37 GMT
  new RegExp(`^${DAY}[a-z]{3,6}, (?<day>\\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\\d{2}) ${TIME} GMT$`),
  // asctime: Sun Nov  6 08:49:37 1994
  new RegExp(`^${DAY} (?<month>[A-Z][a-z]{2}) (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})$`),
];

function parseHttpDate(text: string, nowMs: number): number | undefined {
  for (const pattern of HTTP_DATES) {
    const parts = pattern.exec(text)?.groups;
    if (parts === undefined) continue;
    const month = MONTHS.indexOf(parts['month'] ?? '');
    const day = Number(parts['day']);
    const year = fullYear(parts['year'] ?? '', nowMs);
    const date = new Date(Date.UTC(year, month, day));
    // A day that the month does not have would silently become one of the next.
    if (month === -1 || date.getUTCDate() !== day) return undefined;
    const seconds = Number(parts['hour']) * 3600 + Number(parts['minute']) * 60 + Number(parts['second']);
    return date.getTime() + seconds * 1000;
  }
  return undefined;
}

/** A two-digit year that seems more than 50 years ahead is one of the past (RFC 9110, section 5.6.7). */
function fullYear(digits: string, nowMs: number): number {
  const year = Number(digits);
  if (digits.length !== 2) return year;
  const thisYear = new Date(nowMs).getUTCFullYear();
  const candidate = thisYear - (thisYear % 100) + year;
  return candidate > thisYear + 50 ? candidate - 100 : candidate;
}
