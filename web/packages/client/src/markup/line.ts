import * as c from "./chars.ts";
import { commit, end, findPlace, maxLine, more, newPlace, type Place } from "./container.ts";
import { beginInfo, endFence, failFence, settleFenceLine } from "./fence.ts";
import { endSpan, giveUpSpan } from "./holdback.ts";
import { mayOpenHTML } from "./html.ts";
import { Inline } from "./inline.ts";
import { scan } from "./scan.ts";
import type { State } from "./state.ts";
import { dropTag } from "./tag.ts";

/** Of these alone it is not known yet what a line is. */
const prefixChars = c.charSet(" \t\r>-+*=_#`~.)0123456789");

/** Holds the beginning of a line until it is known what the line is. */
export function scanLine(s: State, p: string, from: number): number {
  if (!s.line && s.conts.length === 0 && plainStart(s, p.charCodeAt(from))) return from;
  // The < of the HTML block that may begin here.
  let tag = s.line.lastIndexOf("<");
  for (let i = from; i < p.length; i++) {
    const char = p.charCodeAt(i);
    if (char === c.lf) return i + settleLine(s, end);
    if (tag < 0 && char === c.less) tag = s.line.length;
    else if (tag < 0 ? !prefixChars[char] : !mayOpenHTML(s.line.slice(tag + 1), char)) {
      return i + settleLine(s, char);
    }
    s.line += p.charAt(i);
    if (s.line.length === maxLine) return i + 1 + settleLine(s, more);
  }
  return p.length;
}

/**
 * Settles a line without containers by its first character, if that alone tells
 * what the line is, which holds for most.
 */
function plainStart(s: State, char: number): boolean {
  if (s.fence.open) {
    if (char === s.fence.mark || char === c.space || char === c.tab) return false;
    s.mode = "body";
    return true;
  }
  if (s.html.kind !== 0 || prefixChars[char] || char === c.less) return false;
  if (char === c.lf) {
    endParagraph(s);
    s.mode = "literal";
    return true;
  }
  s.opened = [];
  const place = newPlace();
  place.mark = char;
  beginText(s, place, false);
  return true;
}

/**
 * Decides what the held line is, of which `next` follows. Returns how many
 * characters of what follows were used up: the line end, or none.
 */
export function settleLine(s: State, next: number): number {
  const p = findPlace(s, next, false);
  if (p.kind === "lost") {
    lose(s);
    return 0;
  }
  if (s.fence.open) {
    if (p.kind === "body" || p.kind === "closer" || p.kind === "closerMore") {
      return settleFenceLine(s, p);
    }
    endFence(s);
  }
  settle(s, p, false);
  return 0;
}

/**
 * Acts on what a line is. When its text was passed on already, because it was
 * too long to be held, `passed` is true.
 */
function settle(s: State, p: Place, passed: boolean): void {
  const prefix = passed ? "" : s.line.slice(0, p.at);
  const rest = passed ? "" : s.line.slice(p.at);
  // A line that leaves an HTML block's containers, or is blank in one that ends
  // so, ends it.
  if (s.html.kind !== 0 && p.kind !== "html" && p.kind !== "blanksMore") s.html.kind = 0;
  switch (p.kind) {
    case "text":
      beginText(s, p, passed);
      scan(s, rest);
      break;
    case "heading":
      endParagraph(s);
      commit(s, p);
      s.heading = true;
      s.inline = new Inline();
      s.text(prefix);
      s.mode = "inline";
      scan(s, rest);
      break;
    case "fence":
      beginInfo(s, p);
      break;
    case "html":
      if (p.html !== 0) {
        endParagraph(s);
        s.html.begin(p.html);
      }
      commit(s, p);
      s.text(prefix);
      s.mode = "html";
      scan(s, rest);
      break;
    case "ruleMore":
      dropTag(s);
      s.rule = { mark: p.mark, gap: false };
      s.text(s.line);
      s.mode = "rule";
      break;
    case "blanksMore":
      dropTag(s);
      s.text(s.line);
      s.mode = "blanks";
      break;
    case "rule":
      if (p.setext && s.inline.link.defined) {
        // The paragraph may have consisted of definitions alone, and the
        // underline would be its text.
        s.inline.suppress();
        dropTag(s);
      } else endParagraph(s);
      endLiteral(s, p, passed);
      break;
    case "blank":
    case "code":
      endParagraph(s);
      endLiteral(s, p, passed);
  }
}

/** Passes a line in which there is nothing to find. */
function endLiteral(s: State, p: Place, passed: boolean): void {
  commit(s, p);
  if (!passed) s.text(s.line);
  s.mode = "literal";
}

/** Goes on with the open paragraph or begins one. */
export function beginText(s: State, p: Place, passed: boolean): void {
  const prefix = passed ? "" : s.line.slice(0, p.at);
  const goesOn = s.para && s.opened.length === 0 && !s.heading;
  // A lazy line leaves the containers open that it does not repeat.
  if (p.matched === s.conts.length || !goesOn) {
    if (!goesOn) endParagraph(s);
    commit(s, p);
  }
  s.mode = "inline";
  if (goesOn) {
    s.inline.link.lineStart(p.mark);
    passPrefix(s, prefix);
    return;
  }
  s.para = true;
  s.inline = new Inline();
  s.inline.lead = p.mark === c.less;
  if (p.mark === c.bracket) s.inline.link.beginLabel();
  s.text(prefix);
}

/**
 * Passes the containers' prefix of a line that goes on with a paragraph: a tag
 * that is open across the lines keeps it as part of its source.
 */
function passPrefix(s: State, p: string): void {
  if (s.inline.sub !== "tag") {
    s.text(p);
    return;
  }
  if (s.held + p.length > s.cfg.maxTag) {
    dropTag(s);
    s.text(p);
    return;
  }
  s.keep(p);
}

/** Ends the paragraph or heading: everything that waited for its end is decided. */
export function endParagraph(s: State): void {
  if (!s.para && !s.heading) return;
  dropTag(s);
  endSpan(s);
  s.para = s.heading = false;
  s.inline = new Inline();
}

/** Ends recognition for the rest of the text. */
export function lose(s: State): void {
  if (s.fence.open) {
    if (s.fence.live) failFence(s, "too_long");
    s.fence.open = false;
  }
  giveUpSpan(s);
  endParagraph(s);
  s.text(s.line);
  s.line = "";
  s.mode = "lost";
}

/** Follows a rule beyond what is held. */
export interface RuleScan {
  mark: number;
  gap: boolean;
}

/**
 * Follows a line of one mark that is too long to be held: up to its end it may
 * be a rule, and then nothing was in it.
 */
export function scanRule(s: State, p: string, from: number): number {
  for (let i = from; i < p.length; i++) {
    const char = p.charCodeAt(i);
    if (char !== c.lf) {
      if (c.blank(char)) {
        s.rule.gap = true;
        continue;
      }
      if (char === s.rule.mark && !(s.rule.gap && char === c.equals)) continue;
    }
    s.text(p.slice(from, i));
    endLong(s, char === c.lf ? end : char);
    return i;
  }
  s.text(p.slice(from));
  return p.length;
}

/** Follows a line of blanks that is too long to be held. */
export function scanBlanks(s: State, p: string, from: number): number {
  for (let i = from; i < p.length; i++) {
    const char = p.charCodeAt(i);
    if (char !== c.lf && c.blank(char)) continue;
    s.text(p.slice(from, i));
    endLong(s, char === c.lf ? end : char);
    return i;
  }
  s.text(p.slice(from));
  return p.length;
}

/**
 * Decides what a long line of marks or blanks was, of which `next` is the first
 * character that is neither.
 */
export function endLong(s: State, next: number): void {
  const marks = s.mode === "rule";
  const p = findPlace(s, next, marks && next !== end);
  if (p.kind === "lost") {
    s.line = "";
    lose(s);
    return;
  }
  settle(s, p, true);
  // What the marks mean for the text around them was not followed.
  if (marks && mode(s) === "inline") s.inline.suppress();
}

/** The mode, which a call may have changed. */
export function mode(s: State): State["mode"] {
  return s.mode;
}
