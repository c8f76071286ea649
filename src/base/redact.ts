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

/**
 * A function that replaces with `[key]` every occurrence of a secret: as it is, reversed, percent-encoded, escaped as
 * in JSON, in hex, in base64 or base64url (also inside longer encoded text), its first 8 characters with what follows,
 * all of that in any case; and whatever looks like a provider's key. Linear in the text, but not for hot paths.
 */
export function createRedactor(secrets: readonly Secret[]): (text: string) => string {
  const values = secrets.map((secret) => secret.reveal()).filter((value) => value !== '');
  const known = values.length === 0 ? undefined : new RegExp(values.flatMap(patternsOf).join('|'), 'gi');
  const looks = new RegExp(KEY_SHAPES.join('|'), 'g');
  return (text) => (known === undefined ? text : text.replace(known, MASK)).replace(looks, MASK);
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
function patternsOf(value: string): string[] {
  const isLong = value.length > PATTERN_CHARS_MAX;
  const start = value.slice(0, PATTERN_CHARS_MAX);
  const chars = [...start];
  const spelt = chars.map(spellings);
  const hex = chars.map((char) => Buffer.from(char).toString('hex'));
  if (chars.length < PREFIX_CHARS) return [spelt.join('')];
  return [
    `(?:${spelt.join('')}|${spelt.slice(0, PREFIX_CHARS).join('')})${KEY_TAIL}`,
    `${hex.slice(0, PREFIX_CHARS).join('')}[\\da-f]*`,
    spelt.reverse().join(''),
    ...base64Cores(start).map((core) => core.replace(/-/g, '[+-]').replace(/_/g, '(?:\\\\?/|_)') + (isLong ? '(?:\\\\?[\\w+/-])*={0,2}' : '[\\w+/-]{0,2}={0,2}')),
  ];
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
