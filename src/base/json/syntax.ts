/** What JSON is written with (RFC 8259, section 2), and how it is looked for in large texts. */

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
export const MINUS = 0x2d;
export const PLUS = 0x2b;
export const DOT = 0x2e;
export const SMALL_E = 0x65;

export function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

export function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/**
 * After so many characters, which are read one by one at 4 ns each, the platform looks for the end of a string, or of white
 * space, at 1 ns, which takes 50 ns to begin (make bench-parts ONLY=json).
 */
export const SHORT_CHARS = 32;
export const SPACE = /[ \t\n\r]*/y;
/** Among escapes so much is read one by one, then the platform looks for the next quote. */
export const ESCAPED_CHARS = 256;
