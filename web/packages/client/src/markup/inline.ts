import * as c from "./chars.ts";
import { maxLine, newPlace } from "./container.ts";
import { endInfo, newInfo } from "./fence.ts";
import { giveUpSpan, inCode, Span, spanRun } from "./holdback.ts";
import { HTMLScan, tagAlone } from "./html.ts";
import { endParagraph, mode } from "./line.ts";
import { LinkScan } from "./link.ts";
import { endHolder, HolderScan } from "./placeholder.ts";
import type { State } from "./state.ts";
import { beginTag, dropTag } from "./tag.ts";

/** How a small automaton stands after one more character. */
export type Scanned =
  /** More has to come. */
  | "on"
  /** Complete with this character. */
  | "done"
  /** This character does not belong. */
  | "failed"
  /** It is not running. */
  | "off";

/** Stands for a code span that nothing closes: recognition is off up to the end of the paragraph. */
const suppressed = -1;

/** The state of the text of one paragraph or heading. */
export class Inline {
  /** How many backticks opened the code span, 0 outside of one. */
  code = 0;
  /** What the scanner is in the middle of; `ticks` is a run of backticks, `escape` behind a backslash. */
  sub: "" | "ticks" | "escape" | "holder" | "tag" = "";
  /** The length of the run so far. */
  run = 0;
  /** The run was not passed yet, as it may open a fence. */
  delayed = false;
  /** A closing bracket was right before. */
  bracket = false;
  /** Nothing of the first line was seen but a < to come. */
  lead = false;
  /** The line consists of one HTML tag so far. */
  block = false;
  html = new HTMLScan();
  link = new LinkScan();
  span = new Span();

  /** Switches recognition off up to the end of the paragraph. */
  suppress(): void {
    this.code = suppressed;
    this.html.end();
    this.block = false;
    this.link.end();
  }

  /** Every character has to be looked at, as it may be part of raw HTML or of a link. */
  get tracked(): boolean {
    return this.html.on || this.link.on || this.block;
  }
}

/** What means something outside of a code span, and inside one. */
const textChars = c.charSet("\n`[]<\\");
const codeChars = c.charSet("\n`");

/** Passes text and finds placeholders and tags in it. */
export function scanInline(s: State, p: string, from: number): number {
  for (let i = from; i < p.length; ) {
    const n = s.inline;
    if (n.sub === "" && !n.bracket && !n.span.watching && !n.tracked) {
      const to = plain(s, p, i);
      if (to > i) {
        s.text(p.slice(i, to));
        i = to;
        continue;
      }
    }
    if (p.charCodeAt(i) === c.lf) {
      inlineNewline(s, "\n");
      return i + 1;
    }
    const size = c.sizeAt(p, i);
    if (inlineChar(s, p.slice(i, i + size))) i += size;
    if (s.mode !== "inline") return i;
  }
  return p.length;
}

/** Where, from a place on, the first character is that means something. */
function plain(s: State, p: string, from: number): number {
  const n = s.inline;
  if (n.code === suppressed) {
    const to = p.indexOf("\n", from);
    return to < 0 ? p.length : to;
  }
  const set = n.code > 0 && !n.span.on ? codeChars : textChars;
  let i = from;
  while (i < p.length && !set[p.charCodeAt(i)]) i++;
  return i;
}

/**
 * Takes one character of the text, which does not end a line. Returns false when
 * it has to be looked at again.
 */
function inlineChar(s: State, r: string): boolean {
  const n = s.inline;
  const char = r.charCodeAt(0);
  if (!n.tracked) return primary(s, r, false);
  if (n.block && !c.blank(char)) n.block = false;
  let tag = false;
  const html = n.html.step(char);
  // All of it was raw HTML, the backticks too.
  if (html === "done") tag = true;
  else if (html === "failed") failHTML(s);
  const link = n.link.step(char);
  if (link === "done") {
    if (n.link.ticks) suppress(s);
    n.link.end();
  } else if (link === "failed") failLink(s);
  const used = primary(s, r, (n.html.on && !tag) || n.link.hides);
  if (tag && s.mode === "inline" && used) endHTML(s);
  return used;
}

/**
 * Goes on as text: what was followed was no HTML. What may have begun inside of
 * it was not followed.
 */
function failHTML(s: State): void {
  if (s.inline.html.inner) suppress(s);
  s.inline.html.end();
}

/** Goes on as text: what was followed was no link's target. */
function failLink(s: State): void {
  if (s.inline.link.inner) suppress(s);
  s.inline.link.end();
}

/** Goes on behind raw HTML as it was before. */
function endHTML(s: State): void {
  const n = s.inline;
  if (n.sub === "ticks") n.sub = "";
  if (n.code > 0) {
    giveUpSpan(s);
    n.code = 0;
  }
  n.block = n.html.lead && n.html.tag;
  n.html.end();
}

/** Switches recognition off up to the end of the paragraph. */
function suppress(s: State): void {
  if (s.inline.sub === "holder" || s.inline.sub === "tag") {
    s.inline.sub = "";
    s.release();
  }
  giveUpSpan(s);
  s.inline.suppress();
}

/**
 * Takes one character for what it means in text or in a code span. Where it is
 * hidden, nothing begins with it.
 */
function primary(s: State, r: string, hidden: boolean): boolean {
  const n = s.inline;
  const char = r.charCodeAt(0);
  let again = false;
  switch (n.sub) {
    case "ticks":
      if (char === c.tick) {
        n.run++;
        tick(s);
        return true;
      }
      endRun(s);
      if (s.mode !== "inline") return false;
      break;
    case "escape":
      n.sub = "";
      s.text(r);
      return true;
    case "holder": {
      const scanned = s.holder.step(s, r);
      if (scanned === "failed") {
        n.sub = "";
        s.release();
        break;
      }
      s.keep(r);
      if (scanned === "done") endHolder(s);
      return true;
    }
    case "tag": {
      const scanned = s.tag.step(s.tags, r, s.held, s.cfg.maxTag);
      if (scanned === "failed") {
        dropTag(s);
        // A tag may begin where another was given up for it.
        again = char === c.less;
        break;
      }
      s.keep(r);
      if (scanned === "done") beginTag(s);
      return true;
    }
  }
  const bracket = n.bracket;
  n.bracket = false;
  if (n.code !== 0) return inCode(s, r, hidden);
  switch (char) {
    case c.tick:
      n.sub = "ticks";
      n.run = 1;
      n.delayed = s.cfg.lenient.openInline === true && !n.tracked;
      tick(s);
      return true;
    case c.backslash:
      n.sub = "escape";
      break;
    case c.bracket:
      if (!hidden && s.holders.length > 0) {
        n.sub = "holder";
        s.holder = new HolderScan();
        s.holdFrom(r);
        return true;
      }
      break;
    case c.unbracket:
      n.bracket = true;
      break;
    case c.open:
      if (!bracket) break;
      if (n.html.on) n.html.inner = true;
      else if (n.link.on) n.link.inner = true;
      else n.link.beginTarget();
      break;
    case c.less:
      if (!n.html.on && !n.link.hides) n.html.begin(n.lead);
      else if (!again) break;
      n.lead = false;
      if (s.tags.length > 0) {
        n.sub = "tag";
        s.tag.begin(s.tags);
        s.holdFrom(r);
        return true;
      }
  }
  s.text(r);
  return true;
}

/** Passes one backtick of a run, unless the run is delayed. */
function tick(s: State): void {
  if (!s.inline.delayed) s.text("`");
}

/** Acts on a run of backticks that is over. */
function endRun(s: State): void {
  const n = s.inline;
  n.sub = "";
  if (n.delayed) {
    n.delayed = false;
    s.holdFrom("`".repeat(n.run));
    if (n.run >= 3 && n.run <= maxLine) {
      const place = { ...newPlace(), mark: c.tick, run: n.run };
      s.info = { ...newInfo(), inline: true, from: n.run, phase: "blanks", place };
      s.mode = "info";
      return;
    }
    s.release();
  }
  countRun(s, n.run);
}

/** Opens or closes a code span. */
export function countRun(s: State, run: number): void {
  const n = s.inline;
  if (n.code === 0) {
    n.code = run;
    n.span = new Span();
    n.span.on = s.cfg.holdback > 0 && !n.tracked;
  } else if (n.code === run) {
    giveUpSpan(s);
    n.code = 0;
  } else if (n.code !== suppressed) spanRun(s, run);
}

/** Ends a line of the text. */
function inlineNewline(s: State, newline: string): void {
  const n = s.inline;
  switch (n.sub) {
    case "ticks":
      endRun(s);
      if (mode(s) === "info") {
        endInfo(s, newline);
        return;
      }
      break;
    case "escape":
      n.sub = "";
      break;
    case "holder":
      n.sub = "";
      s.release();
      break;
    case "tag":
      if (s.tag.step(s.tags, newline, s.held, s.cfg.maxTag) !== "on") dropTag(s);
  }
  n.bracket = n.lead = false;
  if (n.html.step(c.lf) === "failed") failHTML(s);
  n.html.lead = false;
  const link = n.link.step(c.lf);
  if (link === "done") {
    if (n.link.ticks) suppress(s);
    n.link.nextDefinition();
  } else if (link === "failed") failLink(s);
  const { block } = n;
  n.block = false;
  if (holds(n)) s.keep(newline);
  else s.text(newline);
  if (s.heading) endParagraph(s);
  else if (block) {
    endParagraph(s);
    s.html.begin(tagAlone);
  }
  s.nextLine();
}

/** A tag goes on, as it still may after a call. */
function holds(n: Inline): boolean {
  return n.sub === "tag";
}

/** Ends a text that ends within a line. */
export function endText(s: State): void {
  switch (s.inline.sub) {
    case "ticks":
      endRun(s);
      if (mode(s) === "info") endInfo(s, "");
      break;
    case "holder":
    case "tag":
      s.release();
  }
  s.inline.sub = "";
}
