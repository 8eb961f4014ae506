import * as c from "./chars.ts";
import { placeBody } from "./fence.ts";
import { htmlKind } from "./html.ts";
import { digit } from "./names.ts";
import type { State } from "./state.ts";

/** How much of a line's beginning is held at most. */
export const maxLine = 128;

/**
 * Up to which column a container may begin its content. What lies deeper could
 * not be followed within {@link maxLine} on the lines after it.
 */
export const maxColumn = 100;

/** What may follow what is held of a line, besides a character: the line's or the text's end. */
export const end = -1;

/** What follows is not known yet. */
export const more = -2;

/** An open block quote or list item. */
export interface Container {
  quote: boolean;
  /** By how many columns the lines of an item are indented. */
  width: number;
  /** Of an item, only its marker's line, blank otherwise, has been seen. */
  empty: boolean;
}

/**
 * Walks over the beginning of a line and counts columns. A tab reaches to the
 * next multiple of four and may be used up in part.
 */
export class Cursor {
  at = 0;
  col = 0;
  /** How many columns of the tab at `at` are left; 0 when none was begun. */
  pad = 0;

  /** `next` follows the line: a character, {@link end} or {@link more}. */
  constructor(
    readonly line: string,
    readonly next: number,
  ) {}

  /** How many columns of blanks lie ahead, and where they end. */
  peek(): [indent: number, at: number] {
    let col = this.col;
    let at = this.at;
    for (; at < this.line.length; at++) {
      const char = this.line.charCodeAt(at);
      if (char === c.space) col++;
      else if (char === c.tab) col += 4 - (col % 4);
      else break;
    }
    return [col - this.col, at];
  }

  /** The character at a place, or what follows the line. */
  charAt(at: number): number {
    return at < this.line.length ? this.line.charCodeAt(at) : this.next;
  }

  /** Goes over columns of blanks and characters that are one column each. */
  skip(columns: number): void {
    while (columns > 0 && this.at < this.line.length) {
      if (this.line.charCodeAt(this.at) !== c.tab) {
        this.at++;
        this.col++;
        columns--;
        continue;
      }
      const left = 4 - (this.col % 4);
      if (left > columns) {
        this.col += columns;
        this.pad = left - columns;
        return;
      }
      this.col += left;
      columns -= left;
      this.at++;
      this.pad = 0;
    }
  }

  /** Goes over blanks to a place that {@link peek} returned. */
  skipTo(indent: number, at: number): void {
    this.col += indent;
    this.at = at;
    this.pad = 0;
  }

  /** Whether a blank or the line's end is at a place. */
  blankAt(at: number): boolean {
    const char = this.charAt(at);
    return char === c.space || char === c.tab || char === end;
  }

  /** Steps over a > and one column of blank after it. */
  skipQuoteMark(): void {
    this.at++;
    this.col++;
    const char = this.charAt(this.at);
    if (char === c.space || char === c.tab) this.skip(1);
  }
}

/** What a line is below its containers. */
export type LineKind =
  /** Text of a paragraph, new or going on. */
  | "text"
  | "blank"
  | "heading"
  /** A thematic break, or the underline of a heading. */
  | "rule"
  /** Indented code. */
  | "code"
  /** The opener of a fence. */
  | "fence"
  /** A line of an HTML block, or its first. */
  | "html"
  /** A line of a fence's body. */
  | "body"
  /** The closer of a fence. */
  | "closer"
  /** A rule so far; more is to come. */
  | "ruleMore"
  | "blanksMore"
  | "closerMore"
  /** The structure cannot be followed. */
  | "lost";

/** Where a line stands and what it is. */
export interface Place {
  kind: LineKind;
  /** How many containers go on. */
  matched: number;
  /** Where, in the line, its content begins. */
  at: number;
  /** Columns of a tab at `at` that belong to the content. */
  pad: number;
  /** Of the content. */
  indent: number;
  mark: number;
  /** How many marks make a fence. */
  run: number;
  /** Which kind of HTML block begins. */
  html: number;
  setext: boolean;
}

export function newPlace(): Place {
  return {
    kind: "text",
    matched: 0,
    at: 0,
    pad: 0,
    indent: 0,
    mark: 0,
    run: 0,
    html: 0,
    setext: false,
  };
}

/**
 * Looks at the beginning of a line. With {@link more} it is the longest
 * beginning that is held. With `noRule` a line of dashes is known to be none.
 */
export function findPlace(s: State, next: number, noRule: boolean): Place {
  let line = s.line;
  if (next === end && line.endsWith("\r")) line = line.slice(0, -1);
  s.looked += line.length;
  const cursor = new Cursor(line, next);
  const p = newPlace();
  s.opened = [];
  for (; p.matched < s.conts.length; p.matched++) {
    const container = s.conts[p.matched];
    const goesOn = container && match(container, cursor);
    if (goesOn === null) {
      p.kind = "lost";
      return p;
    }
    if (!goesOn) break;
  }
  const all = p.matched === s.conts.length;
  if (s.fence.open && all) {
    placeBody(s, cursor, p);
    return p;
  }
  if (s.html.kind !== 0 && all) {
    const [indent, at] = cursor.peek();
    if (s.html.kind < 6 || at < line.length || (next !== end && next !== more)) {
      p.kind = "html";
      p.at = cursor.at;
    } else p.kind = next === end ? "blank" : "blanksMore";
    p.indent = indent;
    return p;
  }
  const para = s.para && !s.fence.open;
  for (;;) {
    const [indent, at] = cursor.peek();
    p.at = cursor.at;
    p.indent = indent;
    p.pad = cursor.pad;
    const char = cursor.charAt(at);
    // A paragraph that this very line could go on with.
    const here = para && p.matched === s.conts.length && s.opened.length === 0;
    if (char === end) {
      p.kind = "blank";
      return p;
    }
    if (char === more && indent >= 5) {
      p.kind = "blanksMore";
      return p;
    }
    if (indent >= 4 && char !== more) {
      if (!para || s.opened.length > 0) p.kind = "code";
      return p;
    }
    if (next === more && at > maxColumn) {
      p.kind = "lost";
      return p;
    }
    p.mark = char;
    if (placeLeaf(s, cursor, p, at, here, noRule)) return p;
    if (!openContainer(s, cursor, indent, at, here)) return p;
    if (cursor.col > maxColumn || cursor.at > maxColumn) {
      p.kind = "lost";
      return p;
    }
  }
}

/**
 * Says whether a line goes on with a container, and steps over its prefix if
 * so. Null: more of the line would have to be seen.
 */
function match(k: Container, cursor: Cursor): boolean | null {
  const [indent, at] = cursor.peek();
  const char = cursor.charAt(at);
  if (k.quote) {
    if (indent > 3 || char !== c.greater) return char === more && indent <= 3 ? null : false;
    cursor.skipTo(indent, at);
    cursor.skipQuoteMark();
    return true;
  }
  if (char === end && k.empty) return false;
  if (indent >= k.width) {
    cursor.skip(k.width);
    return true;
  }
  if (char === end) {
    cursor.skipTo(indent, at);
    return true;
  }
  return char === more ? null : false;
}

/** Tells what a line is whose content is at `at`, if it is no container and no paragraph. */
function placeLeaf(
  s: State,
  cursor: Cursor,
  p: Place,
  at: number,
  here: boolean,
  noRule: boolean,
): boolean {
  const rest = cursor.line.slice(at);
  switch (p.mark) {
    case c.hash: {
      const n = runOf(rest, c.hash);
      if (n > 0 && n <= 6 && cursor.blankAt(at + n)) {
        p.kind = "heading";
        return true;
      }
      return false;
    }
    case c.tick:
    case c.tilde: {
      const n = runOf(rest, p.mark);
      if (n >= 3) {
        p.kind = "fence";
        p.run = n;
        p.at = at;
        p.pad = 0;
        return true;
      }
      return false;
    }
    case c.less:
      p.html = htmlKind(s, rest, cursor.next);
      if (p.html !== 0) {
        p.kind = "html";
        return true;
      }
      return false;
    case c.equals:
    case c.dash:
    case c.underscore:
    case c.star: {
      if (noRule || (p.mark === c.equals && !here)) return false;
      const [rule, setext] = ruleLine(rest, p.mark, cursor.next);
      if (rule === "ruleMore") {
        p.kind = rule;
        return true;
      }
      if (setext && here && (p.mark === c.equals || p.mark === c.dash)) {
        p.kind = "rule";
        p.setext = true;
        return true;
      }
      if (rule === "rule" && p.mark !== c.equals) {
        p.kind = rule;
        return true;
      }
    }
  }
  return false;
}

/** How many of one mark a text begins with. */
export function runOf(text: string, mark: number): number {
  let n = 0;
  while (n < text.length && text.charCodeAt(n) === mark) n++;
  return n;
}

/**
 * Says whether a line consists of one mark and blanks: as a rule of at least
 * three, or as an underline without blanks in between.
 */
function ruleLine(rest: string, mark: number, next: number): [rule: LineKind, setext: boolean] {
  let marks = 0;
  let blank = false;
  let gap = false;
  for (let i = 0; i < rest.length; i++) {
    const char = rest.charCodeAt(i);
    if (char === mark) {
      marks++;
      gap ||= blank;
    } else if (char === c.space || char === c.tab) blank = true;
    else return ["text", false];
  }
  if (next === more && marks > 0) return ["ruleMore", false];
  if (next !== end) return ["text", false];
  return [marks >= 3 ? "rule" : "text", marks > 0 && !gap];
}

/** Steps over the marker of a new container. */
function openContainer(
  s: State,
  cursor: Cursor,
  indent: number,
  at: number,
  here: boolean,
): boolean {
  if (at >= cursor.line.length) return false;
  if (cursor.charAt(at) === c.greater) {
    cursor.skipTo(indent, at);
    cursor.skipQuoteMark();
    s.opened.push({ quote: true, width: 0, empty: false });
    return true;
  }
  const [length, one] = listMarker(cursor.line, at);
  if (length === 0 || !cursor.blankAt(at + length)) return false;
  const ahead = new Cursor(cursor.line, cursor.next);
  ahead.at = at + length;
  ahead.col = cursor.col + indent + length;
  const [blanks, to] = ahead.peek();
  const blank = ahead.charAt(to) === end;
  if (here && (blank || !one)) return false;
  cursor.at = ahead.at;
  cursor.col = ahead.col;
  cursor.pad = 0;
  let width = indent + length;
  if (blanks === 0 || blanks > 4 || blank) {
    width++;
    const char = cursor.charAt(cursor.at);
    if (char === c.space || char === c.tab) cursor.skip(1);
  } else {
    width += blanks;
    cursor.skipTo(blanks, to);
  }
  s.opened.push({ quote: false, width, empty: blank });
  return true;
}

/** The length of a list marker, 0 for none, and whether it may interrupt a paragraph. */
function listMarker(line: string, at: number): [length: number, one: boolean] {
  const first = line.charCodeAt(at);
  if (first === c.dash || first === c.plus || first === c.star) return [1, true];
  let n = 0;
  let value = 0;
  for (; digit(line.charCodeAt(at + n)); n++) {
    value = value * 10 + line.charCodeAt(at + n) - 0x30;
    if (n >= 9) return [0, false];
  }
  const mark = line.charCodeAt(at + n);
  return n > 0 && (mark === c.dot || mark === c.close) ? [n + 1, value === 1] : [0, false];
}

/** Makes the containers of a line the open ones. */
export function commit(s: State, p: Place): void {
  if (p.kind !== "blank" || s.opened.length > 0) {
    for (const container of s.conts.slice(0, p.matched)) container.empty = false;
  }
  s.conts = [...s.conts.slice(0, p.matched), ...s.opened];
}
