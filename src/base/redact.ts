/**
 * Keeps keys out of text that others wrote: what a provider answered can repeat the key it was sent.
 *
 * Mask first, then cut to length: a cut in the middle of a key would hide it from the mask.
 */

import type { Secret } from './secret.ts';

const MASK = '[key]';

/** So many first characters give a secret away; one shorter than this is masked only as a whole. */
const PREFIX_CHARS = 8;

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
 * A function that replaces with `[key]` every occurrence of a secret: as it is, percent-encoded, reversed, in base64
 * or base64url (also inside longer encoded text), its first 8 characters with what follows; and whatever looks like
 * a provider's key. Linear in the text, but not for hot paths.
 */
export function createRedactor(secrets: readonly Secret[]): (text: string) => string {
  const values = secrets.map((secret) => secret.reveal()).filter((value) => value !== '');
  const pattern = new RegExp([...values.flatMap(patternsOf), ...KEY_SHAPES].join('|'), 'g');
  return (text) => text.replace(pattern, MASK);
}

/** The text, or its beginning with `…`: at most `charsMax` UTF-16 units, no pair of them cut. */
export function bounded(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  let end = charsMax - 1;
  const last = text.charCodeAt(end - 1);
  if (last >= 0xd800 && last <= 0xdbff) end -= 1;
  return text.slice(0, end) + '…';
}

function patternsOf(value: string): string[] {
  const chars = [...value];
  if (chars.length < PREFIX_CHARS) return [literal(value)];
  return [
    `(?:${chars.map(percentEncodable).join('')}|${chars.slice(0, PREFIX_CHARS).map(percentEncodable).join('')})${KEY_TAIL}`,
    chars.reverse().map(percentEncodable).join(''),
    ...base64Cores(value).map((core) => core.replace(/-/g, '[+-]').replace(/_/g, '[/_]') + '[\\w+/-]{0,2}={0,2}'),
  ];
}

/** A pattern for the character and for its percent-encoding, which any encoder may or may not use. */
function percentEncodable(char: string): string {
  const encoded = [...Buffer.from(char)].map((byte) => '%' + anyCase(byte.toString(16).padStart(2, '0'))).join('');
  return `(?:${literal(char)}|${encoded})`;
}

function anyCase(hex: string): string {
  return hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
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
