import * as c from "./chars.ts";
import { HolderScan, showHolder } from "./placeholder.ts";
import type { State } from "./state.ts";

/** How many runs and placeholders of one open span are kept apart; with more it is not followed. */
const maxSpanItems = 64;

/** A run of backticks, or a placeholder held back. */
interface SpanItem {
  run: number;
  /** Where the placeholder is in what is held back. */
  from: number;
  to: number;
  name: string;
  id: number;
}

/**
 * Follows an open code span of which it is not known whether it will be closed.
 * If not, its opening run was text, and so is what the placeholders since then
 * stood in, except that later runs may have made spans of their own.
 */
export class Span {
  on = false;
  /** There is a placeholder among the items. */
  holding = false;
  items: SpanItem[] = [];
  /** All text from the first placeholder on, and its bytes. */
  back = "";
  size = 0;
  /** An odd number of backslashes was right before. */
  slash = false;
  /** A < was right before. */
  less = false;
  /** A closing bracket was right before. */
  bracket = false;

  /** The next character depends on the one before. */
  get watching(): boolean {
    return this.on && (this.slash || this.less || this.bracket);
  }
}

/** Takes one character inside a code span. */
export function inCode(s: State, r: string, hidden: boolean): boolean {
  const n = s.inline;
  const char = r.charCodeAt(0);
  if (
    n.span.on &&
    ((n.span.less && char !== c.space) ||
      (n.span.bracket && char === c.open) ||
      (n.span.slash && char === c.tick))
  ) {
    // With the span open, this is code. With it not, it might be HTML, a link, or
    // no run of backticks: that is not followed twice.
    giveUpSpan(s);
  }
  const sp = n.span;
  const { slash } = sp;
  sp.slash = char === c.backslash && !slash;
  sp.less = char === c.less && !slash;
  sp.bracket = char === c.unbracket && !slash;
  if (char === c.tick && n.code > 0) {
    n.sub = "ticks";
    n.run = 1;
  } else if (char === c.bracket && sp.on && !hidden && !slash && s.holders.length > 0) {
    n.sub = "holder";
    s.holder = new HolderScan();
    s.holdFrom(r);
    return true;
  }
  s.text(r);
  return true;
}

/** Counts a run that does not close the open span. */
export function spanRun(s: State, run: number): void {
  const sp = s.inline.span;
  if (!sp.on) return;
  if (sp.items.length === maxSpanItems) giveUpSpan(s);
  else sp.items.push({ run, from: 0, to: 0, name: "", id: 0 });
}

/** Holds a placeholder back. */
export function spanHolder(s: State, name: string, id: number): void {
  const sp = s.inline.span;
  if (sp.items.length === maxSpanItems || s.held > s.cfg.holdback) {
    giveUpSpan(s);
    s.release();
    return;
  }
  const from = sp.back.length;
  sp.items.push({ run: 0, from, to: from + s.hold.length, name, id: from + id });
  sp.holding = true;
  s.release();
}

/**
 * Holds text back that follows a placeholder. When it becomes too much the
 * oldest placeholders are given up.
 */
export function spanText(s: State, p: string): void {
  const sp = s.inline.span;
  sp.back += p;
  sp.size += c.bytesOf(p);
  while (sp.holding && sp.size > s.cfg.holdback) dropOldest(s);
}

/** Makes text of the oldest placeholder and what follows it up to the next. */
function dropOldest(s: State): void {
  const sp = s.inline.span;
  const first = sp.items.findIndex((item) => item.run === 0);
  const next = sp.items.find((item, i) => i > first && item.run === 0);
  sp.holding = next !== undefined;
  const to = next ? next.from : sp.back.length;
  s.looked += sp.back.length;
  const text = sp.back.slice(0, to);
  s.piece("text", 0, text);
  sp.back = sp.back.slice(to);
  sp.size -= c.bytesOf(text);
  sp.items.splice(first, 1);
  for (const item of sp.items) {
    if (item.run > 0) continue;
    item.from -= to;
    item.to -= to;
    item.id -= to;
  }
}

/** Makes text of all that is held back, and stops to follow the span. */
export function giveUpSpan(s: State): void {
  const { back } = s.inline.span;
  s.inline.span = new Span();
  s.piece("text", 0, back);
}

/**
 * Decides at the end of a paragraph what an open span held back. A text that was
 * cut off might have closed the span.
 */
export function endSpan(s: State): void {
  const sp = s.inline.span;
  if (!sp.holding || (s.closed && s.reason !== "stop")) {
    giveUpSpan(s);
    return;
  }
  sp.holding = false;
  let at = 0;
  for (let i = 0; i < sp.items.length; i++) {
    const item = sp.items[i];
    if (!item) continue;
    if (item.run > 0) {
      // A run that finds its like makes a span of what is between.
      const like = sp.items.findIndex((other, j) => j > i && other.run === item.run);
      if (like > i) i = like;
      continue;
    }
    s.piece("text", 0, sp.back.slice(at, item.from));
    showHolder(s, item.name, sp.back.slice(item.from, item.to), item.id - item.from);
    at = item.to;
  }
  s.piece("text", 0, sp.back.slice(at));
  s.inline.span = new Span();
}
