/** Codes of the characters that the scanner looks for. */
export const tab = 0x09;
export const lf = 0x0a;
export const cr = 0x0d;
export const space = 0x20;
export const bang = 0x21;
export const quote = 0x22;
export const hash = 0x23;
export const apostrophe = 0x27;
export const open = 0x28;
export const close = 0x29;
export const star = 0x2a;
export const plus = 0x2b;
export const dash = 0x2d;
export const dot = 0x2e;
export const slash = 0x2f;
export const colon = 0x3a;
export const less = 0x3c;
export const equals = 0x3d;
export const greater = 0x3e;
export const question = 0x3f;
export const at = 0x40;
export const bracket = 0x5b;
export const backslash = 0x5c;
export const unbracket = 0x5d;
export const underscore = 0x5f;
export const tick = 0x60;
export const tilde = 0x7e;
export const del = 0x7f;

/** A set of ASCII characters, indexed by code. */
export type CharSet = Uint8Array;

export function charSet(list: string): CharSet {
  const set = new Uint8Array(128);
  for (let i = 0; i < list.length; i++) set[list.charCodeAt(i)] = 1;
  return set;
}

/** Whether a character is a space, a tab, or part of a line end. */
export function blank(c: number): boolean {
  return c === space || c === tab || c === cr || c === lf;
}

/** A text without blanks at its ends, but for the given ones. */
export function trim(text: string, isBlank: (c: number) => boolean = blank): string {
  let from = 0;
  let to = text.length;
  while (from < to && isBlank(text.charCodeAt(from))) from++;
  while (from < to && isBlank(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

export function lower(c: number): number {
  return c >= 0x41 && c <= 0x5a ? c | 0x20 : c;
}

/** How many units the character at a place has. Text that is scanned has no halves. */
export function sizeAt(text: string, i: number): number {
  const c = text.charCodeAt(i);
  return c >= 0xd800 && c < 0xdc00 ? 2 : 1;
}

/** How many bytes a text has in UTF-8. */
export function bytesOf(text: string): number {
  let n = text.length;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    // Each half of a pair stands for two of its four bytes.
    if (c >= 0x80) n += c < 0x800 || (c >= 0xd800 && c < 0xe000) ? 1 : 2;
  }
  return n;
}

/** How many units of a text are whole characters of at most so many bytes. */
export function fitting(text: string, bytes: number): number {
  // No unit has more than three bytes.
  if (text.length * 3 <= bytes) return text.length;
  let i = 0;
  while (i < text.length) {
    const size = sizeAt(text, i);
    bytes -= bytesOf(text.slice(i, i + size));
    if (bytes < 0) return i;
    i += size;
  }
  return i;
}

/** A text without halves of characters. */
export function paired(text: string): string {
  return /[\ud800-\udfff]/.test(text) ? text.replace(/\p{Surrogate}/gu, "\ufffd") : text;
}
