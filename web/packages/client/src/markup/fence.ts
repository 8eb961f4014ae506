import { put } from "../patch.ts";
import * as c from "./chars.ts";
import {
  type Cursor,
  commit,
  end,
  maxLine,
  more,
  newPlace,
  type Place,
  runOf,
} from "./container.ts";
import { giveUpSpan } from "./holdback.ts";
import { countRun, scanInline } from "./inline.ts";
import { type CloserScan, contentClosing, newCloser } from "./lenient.ts";
import { beginText, endParagraph } from "./line.ts";
import { letter, type Node, nameAt, nameChar, root, step } from "./names.ts";
import { scan } from "./scan.ts";
import type { State } from "./state.ts";
import { dropTag } from "./tag.ts";

/**
 * Follows a line that begins with a run of marks, up to its end. A backtick in
 * it makes it no fence but text with a code span.
 */
export interface InfoScan {
  place: Place;
  /** The run stands in a line of text, see `openInline`. */
  inline: boolean;
  phase: /** The run of marks, longer than what a line holds. */
    | "run"
    /** Before the first word. */
    | "blanks"
    /** In the first word, which may be a name. */
    | "name"
    /** Behind a name. */
    | "rest"
    /** In an info string that names no card. */
    | "plain";
  /** Where in what is held the info string begins. */
  from: number;
  /** Where in what is held the first word begins. */
  word: number;
  node: Node;
  name: string;
}

export function newInfo(): InfoScan {
  return {
    place: newPlace(),
    inline: false,
    phase: "run",
    from: 0,
    word: 0,
    node: { lo: 0, hi: 0, n: 0 },
    name: "",
  };
}

/** The open fence. */
export interface Fence {
  open: boolean;
  /** The body belongs to a card. Of one that fell back, what follows is text up to the closer. */
  live: boolean;
  mark: number;
  run: number;
  indent: number;
  id: number;
  /** Where in the source the body begins. */
  body: number;
  /** Bytes of the body. */
  size: number;
  cuts: Cut[];
  closer: CloserScan;
}

/**
 * A container's prefix in the source of a fence, which does not belong to the
 * body. The spaces left of a tab that was used up in part stand in its place.
 */
interface Cut {
  at: number;
  length: number;
  pad: number;
}

export function newFence(): Fence {
  return {
    open: false,
    live: false,
    mark: 0,
    run: 0,
    indent: 0,
    id: 0,
    body: 0,
    size: 0,
    cuts: [],
    closer: newCloser(),
  };
}

/**
 * Begins with what may be a fence. Its line stays unsettled: as text it might go
 * on with a paragraph.
 */
export function beginInfo(s: State, p: Place): void {
  dropTag(s);
  s.info = { ...newInfo(), place: p, from: p.at + p.run };
  s.holdFrom(s.line.slice(0, s.info.from));
  s.mode = "info";
  scan(s, s.line.slice(s.info.from));
}

/** Holds an info string as long as it may name a card. */
export function scanInfo(s: State, p: string, from: number): number {
  for (let i = from; i < p.length; ) {
    const char = p.charCodeAt(i);
    if (char === c.lf) {
      endInfo(s, "\n");
      return i + 1;
    }
    const size = c.sizeAt(p, i);
    const span = char === c.tick && s.info.place.mark === c.tick && s.info.phase !== "run";
    if (span || !infoChar(s, p.slice(i, i + size))) {
      noFence(s);
      return i;
    }
    i += size;
  }
  return p.length;
}

/**
 * Takes one character of an info string. Returns false when the run stands in a
 * line of text and no card can begin there any more.
 */
function infoChar(s: State, r: string): boolean {
  const f = s.info;
  const char = r.charCodeAt(0);
  if (f.phase === "run") {
    if (char === f.place.mark) {
      f.place.run++;
      f.from++;
    } else {
      f.phase = "blanks";
      if (char === c.tick && f.place.mark === c.tick) return false;
    }
  }
  const blank = char === c.space || char === c.tab || char === c.cr;
  if (f.phase === "blanks" && !blank) {
    f.phase = "name";
    f.node = root(s.fences);
    f.word = s.hold.length;
  }
  if (f.phase === "name") {
    const next = step(s.fences, f.node, char);
    if (next) f.node = next;
    else {
      f.name = nameAt(s.fences, f.node);
      f.phase = f.name && (blank || char === c.at) ? "rest" : "plain";
    }
  }
  // A run that is longer than what is held of a line is no card's either.
  if (
    s.held + c.bytesOf(r) - f.from > s.cfg.maxInfo ||
    (f.from > 2 * maxLine && f.phase !== "run")
  ) {
    f.phase = "plain";
  }
  if (f.phase === "plain" && f.inline) return false;
  if (f.phase === "plain" || f.from > 2 * maxLine) {
    s.release();
    s.text(r);
  } else s.keep(r);
  return true;
}

/** Goes on as text with what began like a fence. */
function noFence(s: State): void {
  const { run } = s.info.place;
  s.mode = "inline";
  if (s.info.inline) {
    s.release();
    countRun(s, run);
    return;
  }
  const p: Place = { ...s.info.place, kind: "text" };
  const goesOn = s.para && s.opened.length === 0;
  const tracked = s.inline.tracked;
  beginText(s, p, true);
  s.release();
  if (goesOn) {
    // What stood in the info string was passed without a look.
    giveUpSpan(s);
    if (tracked || s.inline.code === run) {
      s.inline.suppress();
      return;
    }
  }
  countRun(s, run);
}

/** Makes a fence of the line, a card's if its name is registered. */
export function endInfo(s: State, newline: string): void {
  const f = s.info;
  let name = f.phase === "name" ? nameAt(s.fences, f.node) : f.phase === "plain" ? "" : f.name;
  let meta: Record<string, string> | undefined;
  if (name) {
    const read = parseInfo(s.hold.slice(f.word + name.length));
    if (read === null) name = "";
    else if (Object.keys(read).length > 0) meta = read;
  }
  if (f.inline && !name) {
    noFence(s);
    if (newline) scanInline(s, newline, 0);
    return;
  }
  endParagraph(s);
  if (!f.inline) commit(s, f.place);
  const { mark, run, indent } = f.place;
  s.fence = { ...newFence(), open: true, live: name !== "", mark, run, indent };
  if (name) {
    s.src = s.takeHold() + newline;
    s.fence.body = s.src.length;
    s.fence.id = s.start(0, "fence", name, meta);
  } else {
    s.release();
    s.text(newline);
  }
  s.nextLine();
}

/**
 * Reads what follows a name: a version and attributes. What is not of their
 * shape is kept as a whole. Null: it is no card's.
 */
function parseInfo(rest: string): Record<string, string> | null {
  const meta: Record<string, string> = {};
  if (rest.startsWith("@")) {
    let n = 1;
    while (n < rest.length && !c.blank(rest.charCodeAt(n))) n++;
    const version = rest.slice(1, n);
    if (!/^\d+(?:\.\d+){0,2}$/.test(version)) return null;
    meta.version = version;
    rest = rest.slice(n);
  }
  rest = c.trim(rest);
  const found: [string, string][] = [];
  for (let i = 0; i < rest.length; ) {
    const read = attribute(rest, i);
    if (!read) {
      meta.info = rest;
      return meta;
    }
    found.push([read.key, read.value]);
    i = read.end;
  }
  for (const [key, value] of found) if (!Object.hasOwn(meta, key)) put(meta, key, value);
  return meta;
}

/** Reads k=v, its value perhaps in quotes, and the blanks behind it. Null when there is none. */
function attribute(text: string, from: number): { key: string; value: string; end: number } | null {
  let i = from;
  while (nameChar(text.charCodeAt(i)) || text.charCodeAt(i) === c.colon) i++;
  const first = text.charCodeAt(from);
  if (i === from || text.charCodeAt(i) !== c.equals) return null;
  if (!letter(first) && first !== c.underscore) return null;
  const key = text.slice(from, i);
  i++;
  const mark = text.charCodeAt(i);
  let value: string;
  if (mark === c.quote || mark === c.apostrophe) {
    const to = text.indexOf(text.charAt(i), i + 1);
    if (to < 0) return null;
    value = text.slice(i + 1, to);
    i = to + 1;
    if (i < text.length && !c.blank(text.charCodeAt(i))) return null;
  } else {
    const begin = i;
    for (; i < text.length && !c.blank(text.charCodeAt(i)); i++) {
      const char = text.charCodeAt(i);
      if (char === c.quote || char === c.apostrophe) return null;
    }
    value = text.slice(begin, i);
  }
  while (i < text.length && c.blank(text.charCodeAt(i))) i++;
  return { key, value, end: i };
}

/** Tells a line of the open fence's body from its closer. */
export function placeBody(s: State, cursor: Cursor, p: Place): void {
  const { line, next } = cursor;
  const [indent, at] = cursor.peek();
  if (indent <= 3 && line.charCodeAt(at) === s.fence.mark) {
    const run = runOf(line.slice(at), s.fence.mark);
    let to = at + run;
    while (line.charCodeAt(to) === c.space || line.charCodeAt(to) === c.tab) to++;
    const long = run >= s.fence.run;
    if (to === line.length && next === end && long) {
      p.kind = "closer";
      return;
    }
    if (to === line.length && next === more && (long || to === at + run)) {
      p.kind = "closerMore";
      p.run = run;
      return;
    }
  }
  cursor.skip(Math.min(indent, s.fence.indent));
  p.kind = "body";
  p.at = cursor.at;
  p.pad = cursor.pad;
}

/** Acts on a line of the open fence and returns how much of the line end it used up. */
export function settleFenceLine(s: State, p: Place): number {
  if (p.kind === "body") {
    s.mode = "body";
    bodyLine(s, p);
    return 0;
  }
  if (p.kind === "closerMore") {
    // Whether this closes the fence is known only at its end, which may be far.
    // The card cannot wait so long.
    if (s.fence.live) failFence(s, "too_long");
    s.text(s.line);
    const blank = s.line.charCodeAt(s.line.length - 1) !== s.fence.mark;
    s.fence.closer = { ...newCloser(), run: p.run, blank };
    s.mode = "closer";
    return 0;
  }
  closeFence(s, s.line, s.closed ? "" : "\n");
  return 1;
}

/** Ends the fence with a closing line. */
export function closeFence(s: State, line: string, newline: string): void {
  if (s.fence.live) {
    const body = fenceBody(s);
    s.src += line + newline;
    judge(s, body, true);
  } else s.text(line + newline);
  s.fence.open = false;
  s.nextLine();
}

/**
 * Begins a line of the body, of which the containers' prefix and the fence's own
 * indentation are no part.
 */
function bodyLine(s: State, p: Place): void {
  if (!s.fence.live) {
    s.text(s.line);
    return;
  }
  const at = p.pad > 0 ? p.at + 1 : p.at;
  if (at > 0) {
    s.fence.cuts.push({ at: s.src.length, length: at, pad: p.pad });
    s.src += s.line.slice(0, at);
  }
  if (s.fence.size + p.pad > s.cfg.maxBody) failFence(s, "too_long");
  else if (p.pad > 0) {
    s.fence.size += p.pad;
    s.piece("delta", s.fence.id, " ".repeat(p.pad));
  }
  content(s, s.line.slice(at));
}

/** Passes a body, line by line. */
export function scanBody(s: State, p: string, from: number): number {
  const to = p.indexOf("\n", from) + 1;
  if (to === 0) {
    content(s, p.slice(from));
    return p.length;
  }
  content(s, p.slice(from, to));
  if (s.fence.open) s.nextLine();
  return to;
}

/** Takes a piece of the body, of one line. */
function content(s: State, p: string): void {
  if (s.cfg.lenient.closeInline && s.fence.live) contentClosing(s, p);
  else body(s, p);
}

/** Takes a piece that certainly belongs to the body. */
export function body(s: State, p: string): void {
  if (!s.fence.live) {
    s.text(p);
    return;
  }
  const n = c.fitting(p, s.cfg.maxBody - s.fence.size);
  const fits = p.slice(0, n);
  s.src += fits;
  s.fence.size += c.bytesOf(fits);
  s.piece("delta", s.fence.id, fits);
  if (n < p.length) {
    failFence(s, "too_long");
    s.text(p.slice(n));
  }
}

/**
 * Follows what may be a closer, longer than what is held. Nothing waits for it,
 * as no card is open any more.
 */
export function scanCloser(s: State, p: string, from: number): number {
  const f = s.fence;
  for (let i = from; i < p.length; i++) {
    const char = p.charCodeAt(i);
    if (char === c.lf) {
      s.text(p.slice(from, i + 1));
      f.open = f.closer.run < f.run;
      s.nextLine();
      return i + 1;
    }
    if (c.blank(char)) f.closer.blank = true;
    else if (char === f.mark && !f.closer.blank) f.closer.run++;
    else {
      s.text(p.slice(from, i));
      s.mode = "body";
      return i;
    }
  }
  s.text(p.slice(from));
  return p.length;
}

/** Ends a fence that was not closed: its container ended, or the text. */
export function endFence(s: State): void {
  if (s.fence.live) judge(s, fenceBody(s), false);
  s.fence.open = false;
}

/** The body without what the containers added. */
function fenceBody(s: State): string {
  s.looked += s.src.length;
  let text = "";
  let at = s.fence.body;
  for (const cut of s.fence.cuts) {
    text += s.src.slice(at, cut.at) + " ".repeat(cut.pad);
    at = cut.at + cut.length;
  }
  return c.trim(text + s.src.slice(at));
}

/** Ends a card by what its body turned out to be. */
function judge(s: State, text: string, closed: boolean): void {
  const [payload, wrong] = read(text, s.cfg.lenient.fenceAsObjectArray === true);
  if (!closed && (wrong || (s.closed && s.reason === "length"))) failFence(s, "unterminated");
  else if (wrong) failFence(s, wrong);
  else {
    const source = s.src;
    s.event({
      kind: "end",
      id: s.fence.id,
      payload,
      source,
      ...(!closed && { unclosed: true as const }),
    });
    s.src = "";
  }
}

/** The object in a body, or the array of objects where that is accepted; or what it is instead. */
function read(text: string, orArray: boolean): [unknown, ("bad_json" | "not_object")?] {
  let value: unknown;
  try {
    // What is half of a character in an escape is none.
    const halves = /\\ud[89a-f]/i.test(text);
    value = halves
      ? JSON.parse(text, (_, v) => (typeof v === "string" ? c.paired(v) : v))
      : JSON.parse(text);
  } catch {
    return [null, "bad_json"];
  }
  const isObject = (one: unknown) => typeof one === "object" && one !== null && !Array.isArray(one);
  if (isObject(value)) return [value];
  if (orArray && Array.isArray(value) && value.length > 0 && value.every(isObject)) return [value];
  return [null, "not_object"];
}

/** Makes the card its source; what follows up to the closer is text. */
export function failFence(
  s: State,
  reason: "bad_json" | "not_object" | "too_long" | "unterminated",
): void {
  s.fallBack(s.fence.id, 0, reason, s.src);
  s.src = "";
  s.fence.live = false;
}
