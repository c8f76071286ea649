/**
 * Keeps keys out of text that others wrote: what a provider answered can repeat the key it was sent.
 *
 * Mask first, then cut to length: a cut in the middle of a key would hide it from the mask.
 */

import type { Secret } from './secret.ts';

const MASK = '[key]';

/** So many first characters give a secret away; one shorter than this is masked only as a whole, and not in base64. */
const PREFIX_CHARS = 8;

/** Of a longer secret, such as a token, its beginning is looked for and the rest taken with it: a pattern of it all would take a second. */
const PATTERN_CHARS_MAX = 256;

/** What may follow the beginning of a key: more of it, or the asterisks with which a provider hid the rest. */
const KEY_TAIL = '(?:\\.?[\\w*+/=%~-])*';

/** Keys by their looks, whoever they belong to. */
const KEY_SHAPES = [
  // OpenAI, Anthropic (sk-ant-), OpenRouter (sk-or-), DeepSeek
  `\\bsk-[\\w*-]{8}${KEY_TAIL}`,
  // Google, old and new
  `\\bAIza[\\w*-]{8}${KEY_TAIL}`,
  `\\bAQ\\.[\\w*-]{8}${KEY_TAIL}`,
  // Groq, xAI
  `\\bgsk_[\\w*-]{8}${KEY_TAIL}`,
  `\\bxai-[\\w*-]{8}${KEY_TAIL}`,
  // Any credential in a header; the digit tells it from prose such as "Bearer authentication".
  `\\b[Bb]earer\\s(?=\\S{8})(?=[^\\s\\d]{0,256}\\d)[\\w*+/=%~-]${KEY_TAIL}`,
];

/** A form in which a secret may turn up. */
type Form = {
  /** What a folded text then holds. */
  readonly needle: string;
  /** What matches it in the text itself. */
  readonly pattern: string;
};

/**
 * A function that replaces with `[key]` every occurrence of a secret: as it is, reversed, percent-encoded, escaped as
 * in JSON, in hex, in base64 or base64url (also inside longer encoded text), its first 8 characters with what follows,
 * all of that in any case; and whatever looks like a provider's key. Linear in the text, but not for hot paths.
 */
export function createRedactor(secrets: readonly Secret[]): (text: string) => string {
  const values = new Set(secrets.map((secret) => secret.reveal()).filter((value) => value !== ''));
  const looks = new RegExp(KEY_SHAPES.join('|'), 'g');
  const index = new FormIndex([...values].flatMap(formsOf));
  return (text) => {
    const known = values.size === 0 ? [] : index.patternsIn(text);
    return (known.length === 0 ? text : text.replace(new RegExp(known.join('|'), 'gi'), MASK)).replace(looks, MASK);
  };
}

/** What a `%` right before a secret makes an escape of, so that a reading holds the rest only. */
const EATEN_CHARS = 2;

/** Finds by their beginnings which forms a text may hold: to look for each of a thousand tokens took a second for each kilobyte. */
class FormIndex {
  /** By the length of a beginning, and by that: patterns, each with its needle. */
  readonly #byStart = new Map<number, Map<string, Map<string, string>>>();

  constructor(forms: readonly Form[]) {
    for (const { needle: whole, pattern } of forms) {
      const needle = whole.slice(Math.min(EATEN_CHARS, whole.length - 1));
      const start = needle.slice(0, PREFIX_CHARS);
      const ofLength = this.#byStart.get(start.length) ?? new Map<string, Map<string, string>>();
      const alike = ofLength.get(start) ?? new Map<string, string>();
      this.#byStart.set(start.length, ofLength.set(start, alike.set(pattern, needle)));
    }
  }

  /** The patterns to look for, the longest first, since that is the one to be found. */
  patternsIn(text: string): readonly string[] {
    const found = new Set<string>();
    for (const reading of readingsOf(text)) {
      for (const [length, ofLength] of this.#byStart) {
        for (let at = 0; at + length <= reading.length; at += 1) {
          for (const [pattern, needle] of ofLength.get(reading.slice(at, at + length)) ?? []) if (reading.startsWith(needle, at)) found.add(pattern);
        }
      }
    }
    return [...found].sort((a, b) => b.length - a.length);
  }
}

/** The same for secrets that change, as tokens do: `secrets` says what they are, each time. */
export function createLiveRedactor(secrets: () => readonly Secret[]): (text: string) => string {
  let known: readonly Secret[] = [];
  let redact = createRedactor(known);
  return (text) => {
    const current = secrets();
    if (current.length !== known.length || current.some((secret, index) => secret !== known[index])) {
      known = current;
      redact = createRedactor(known);
    }
    return redact(text);
  };
}

/** The text, or its beginning with `…`: at most `charsMax` UTF-16 units, no pair of them cut. */
export function bounded(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  let end = charsMax - 1;
  const last = text.charCodeAt(end - 1);
  if (last >= 0xd800 && last <= 0xdbff) end -= 1;
  return text.slice(0, end) + '…';
}

/** Of a secret in lower case as much as in upper: they are matched in any case. */
function formsOf(value: string): Form[] {
  const isLong = value.length > PATTERN_CHARS_MAX;
  const start = value.slice(0, PATTERN_CHARS_MAX);
  const chars = [...start];
  const spelt = chars.map(spellings);
  const whole = { needle: folded(start), pattern: spelt.join('') };
  if (chars.length < PREFIX_CHARS) return [whole];
  const prefix = chars.slice(0, PREFIX_CHARS).join('');
  const hex = Buffer.from(prefix).toString('hex');
  return [
    { ...whole, pattern: whole.pattern + KEY_TAIL },
    { needle: folded(prefix), pattern: spelt.slice(0, PREFIX_CHARS).join('') + KEY_TAIL },
    { needle: hex, pattern: `${hex}[\\da-f]*` },
    { needle: folded(chars.reverse().join('')), pattern: spelt.reverse().join('') },
    ...base64Cores(start).map((core) => ({
      needle: folded(core),
      pattern: core.replace(/-/g, '[+-]').replace(/_/g, '(?:\\\\?/|_)') + (isLong ? '(?:\\\\?[\\w+/-])*={0,2}' : '[\\w+/-]{0,2}={0,2}'),
    })),
  ];
}

/** In one case, and in one of the two alphabets of base64. */
function folded(text: string): string {
  return text.toLowerCase().replaceAll('-', '+').replaceAll('_', '/');
}

/** Each takes one kind of escapes for what it stands for. */
const UNESCAPERS: readonly ((text: string) => string)[] = [
  (text) => text.replace(/\\u([\da-f]{4})/gi, charOf),
  (text) => text.replace(/\\(["\\/])/g, '$1'),
  // Percent-encoding is of the bytes of UTF-8.
  (text) => Buffer.from(Buffer.from(text).toString('latin1').replace(/%([\da-f]{2})/gi, charOf), 'latin1').toString(),
];

function charOf(_: string, code: string): string {
  return String.fromCharCode(parseInt(code, 16));
}

/** The text as it may be read, folded: each kind of escapes taken for that or not. */
function readingsOf(text: string): ReadonlySet<string> {
  const readings = new Set([text]);
  for (const unescaped of UNESCAPERS) for (const reading of [...readings]) readings.add(unescaped(reading));
  return new Set([...readings].map(folded));
}

/** A pattern for the character, also behind a backslash, percent-encoded and as JSON's `\\u` escape: encoders differ in what they encode. */
function spellings(char: string): string {
  const percent = [...Buffer.from(char)].map((byte) => '%' + byte.toString(16).padStart(2, '0')).join('');
  const escape = [...Array(char.length).keys()].map((at) => '\\\\u' + char.charCodeAt(at).toString(16).padStart(4, '0')).join('');
  // The characters that encoders put a backslash before; a backslash of the text itself is doubled.
  const backslash = /[\\"/]/.test(char) ? '\\\\?' : '';
  return `(?:${backslash}${literal(char)}|${percent}|${escape})`;
}

/** The base64 of a value wherever it starts in the encoded bytes, without the edges that its neighbours share. */
function base64Cores(value: string): string[] {
  return [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), Buffer.from(value)]).toString('base64url');
    const sharedStart = Math.ceil((offset * 8) / 6);
    const wholeChars = Math.floor(((offset + Buffer.byteLength(value)) * 8) / 6);
    return encoded.slice(sharedStart, wholeChars);
  });
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
