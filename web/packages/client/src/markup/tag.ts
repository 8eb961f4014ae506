import { put } from "../patch.ts";
import * as c from "./chars.ts";
import type { TagSpec } from "./config.ts";
import type { FallbackReason } from "./event.ts";
import type { Scanned } from "./inline.ts";
import { digit, letter, makeNames, type Names, type Node, nameAt, root, step } from "./names.ts";
import type { State } from "./state.ts";

/** How deep tags may be nested; what is deeper belongs to the body. */
const maxDepth = 32;

/** Follows what may become an opening tag, from behind its <. */
export class TagScan {
  phase:
    | "name"
    /** Between attributes. */
    | "blanks"
    | "key"
    | "keyed"
    /** Before an attribute's value. */
    | "equals"
    /** A value without quotes. */
    | "bare"
    | "quoted"
    /** Behind a value in quotes. */
    | "valued"
    /** Before the > of an empty element. */
    | "slash" = "name";
  node: Node = { lo: 0, hi: 0, n: 0 };
  name = "";
  quote = 0;
  /** The tag closes its element. */
  empty = false;
  /** Nothing but blanks since a line end. */
  blank = false;
  attrs: { key: string; value: string }[] = [];

  begin(names: Names): void {
    this.phase = "name";
    this.node = root(names);
    this.name = "";
    this.empty = this.blank = false;
    this.attrs = [];
  }

  /** Takes one character. `held` is how much of the tag there is already. */
  step(names: Names, r: string, held: number, limit: number): Scanned {
    const char = r.charCodeAt(0);
    if (char === c.less || char === c.tick || held + c.bytesOf(r) > limit) return "failed";
    const blank = c.blank(char);
    // A blank line ends what is no tag.
    if (char === c.lf && this.blank) return "failed";
    this.blank = blank && (this.blank || char === c.lf);
    switch (this.phase) {
      case "name": {
        const next = step(names, this.node, char);
        if (next) {
          this.node = next;
          return "on";
        }
        this.name = nameAt(names, this.node);
        return this.name ? this.#next(char, blank) : "failed";
      }
      case "blanks":
        return blank ? "on" : this.#attribute(r);
      case "key":
        if (letter(char) || digit(char) || /[_.:-]/.test(r)) this.#attr().key += r;
        else if (char === c.equals) this.phase = "equals";
        else if (blank) this.phase = "keyed";
        else return this.#next(char, blank);
        return "on";
      case "keyed":
        if (blank) return "on";
        if (char !== c.equals) return this.#attribute(r);
        this.phase = "equals";
        return "on";
      case "equals":
        if (blank) return "on";
        if (char === c.quote || char === c.apostrophe) {
          this.phase = "quoted";
          this.quote = char;
          return "on";
        }
        if (char === c.equals || char === c.greater) return "failed";
        this.phase = "bare";
        this.#attr().value += r;
        return "on";
      case "bare":
        if (blank || char === c.greater) return this.#next(char, blank);
        if (char === c.quote || char === c.apostrophe || char === c.equals) return "failed";
        this.#attr().value += r;
        return "on";
      case "quoted":
        if (char === this.quote) this.phase = "valued";
        else this.#attr().value += r;
        return "on";
      case "valued":
        return this.#next(char, blank);
      case "slash":
        if (char !== c.greater) return "failed";
        this.empty = true;
        return "done";
    }
  }

  /** The attribute that is being read. */
  #attr(): { key: string; value: string } {
    return this.attrs.at(-1) ?? { key: "", value: "" };
  }

  /** Takes what may follow a name or a value. */
  #next(char: number, blank: boolean): Scanned {
    if (blank) this.phase = "blanks";
    else if (char === c.slash) this.phase = "slash";
    else return char === c.greater ? "done" : "failed";
    return "on";
  }

  /** Takes what may follow blanks: another attribute, or the end. */
  #attribute(r: string): Scanned {
    const char = r.charCodeAt(0);
    if (!letter(char) && char !== c.underscore && char !== c.colon) return this.#next(char, false);
    this.phase = "key";
    this.attrs.push({ key: r, value: "" });
    return "on";
  }

  /** The attributes; of those with one name the first counts. */
  meta(): Record<string, string> | undefined {
    if (this.attrs.length === 0) return undefined;
    const meta: Record<string, string> = {};
    for (const { key, value } of this.attrs) {
      if (!Object.hasOwn(meta, key)) put(meta, key, decoded(value));
    }
    return meta;
  }
}

const entities: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  "#39": "'",
};

/** Replaces the entities in a value. */
function decoded(value: string): string {
  return value.replace(/&(amp|lt|gt|quot|apos|#39);/g, (whole, name) => entities[name] ?? whole);
}

/** An open tag. */
export interface Frame {
  /** 0: the tag was too long, and what is left of it is text. */
  id: number;
  parent: number;
  name: string;
  spec: TagSpec;
  /** Of its children. */
  names: Names;
  /** Everything from its opening on. */
  source: string;
  /** Its own body, what is inside its children left out. */
  text: string;
}

/** Gives up what might have become a tag in a line of text. */
export function dropTag(s: State): void {
  if (s.inline.sub !== "tag") return;
  s.inline.sub = "";
  s.release();
}

/** Acts on a complete opening tag in a line of text. */
export function beginTag(s: State): void {
  const n = s.inline;
  n.sub = "";
  n.html.end();
  n.block = false;
  n.link.end();
  openTag(s, s.cfg.tags[s.tag.name] ?? {});
  if (s.frames.length > 0) s.mode = "tags";
}

/** Opens the element whose tag is held. */
function openTag(s: State, spec: TagSpec): void {
  const { name, empty } = s.tag;
  const parent = s.frames.at(-1)?.id ?? 0;
  const id = s.start(parent, "tag", name, s.tag.meta());
  // What is inside the outermost tag counts.
  s.inside = parent ? s.inside + s.held : 0;
  const names = spec.raw ? [] : namesOf(spec);
  s.frames.push({ id, parent, name, spec, names, source: s.takeHold(), text: "" });
  if (empty) popFrame(s, false);
}

const childNames = new WeakMap<TagSpec, Names>();

function namesOf(spec: TagSpec): Names {
  let names = childNames.get(spec);
  if (!names) {
    names = makeNames(Object.keys(spec.children ?? {}));
    childNames.set(spec, names);
  }
  return names;
}

/** Ends the innermost element. */
function popFrame(s: State, unclosed: boolean): void {
  const f = s.frames.at(-1);
  if (!f) return;
  s.looked += f.source.length;
  s.event({
    kind: "end",
    id: f.id,
    ...(f.parent && { parent: f.parent }),
    text: f.text,
    source: f.source,
    ...(unclosed && { unclosed }),
  });
  dropFrame(s);
}

/** Makes the innermost element its source. */
function failFrame(s: State, reason: FallbackReason): void {
  const f = s.frames.at(-1);
  if (!f) return;
  s.looked += f.source.length;
  s.fallBack(f.id, f.parent, reason, f.source);
  dropFrame(s);
}

/** Closes the innermost frame, which is a part of the one around it. */
function dropFrame(s: State): void {
  const f = s.frames.pop();
  const up = s.frames.at(-1);
  if (f && up) up.source += f.source;
}

/** Passes the body of a tag up to its end. */
export function scanTags(s: State, p: string, from: number): number {
  for (let i = from; i < p.length; ) {
    if (!s.hold) {
      let to = p.indexOf("<", i);
      if (to < 0) to = p.length;
      if (to > i) {
        tagBody(s, p.slice(i, to));
        i = to;
        continue;
      }
      s.holdFrom("<");
      i++;
      continue;
    }
    const size = c.sizeAt(p, i);
    if (heldTag(s, p.slice(i, i + size))) i += size;
    if (s.frames.length === 0) {
      s.mode = "inline";
      return i;
    }
  }
  return p.length;
}

/**
 * Takes one more character of what may be a tag inside a tag. Returns false when
 * it is none and the character has to be looked at again.
 */
function heldTag(s: State, r: string): boolean {
  const f = s.frames.at(-1);
  if (!f) return false;
  const char = r.charCodeAt(0);
  const closing = s.hold.charCodeAt(1) === c.slash;
  if (s.hold.length === 1 && char === c.slash) {
    s.keep(r);
    return true;
  }
  if (closing && char === c.greater) {
    const depth = closes(s, s.hold.slice(2).trimEnd(), false);
    if (depth >= 0) {
      s.keep(r);
      closeTag(s, depth);
      return true;
    }
  } else if (closing && s.held < s.cfg.maxTag && closingGoesOn(s, r)) {
    s.keep(r);
    return true;
  } else if (!closing && f.names.length > 0 && s.frames.length < maxDepth) {
    if (s.hold.length === 1) s.tag.begin(f.names);
    const scanned = s.tag.step(f.names, r, s.held, s.cfg.maxTag);
    if (scanned === "on" || scanned === "done") {
      s.keep(r);
      if (scanned === "done") {
        if (s.inside + s.held > s.cfg.maxBody) {
          failTags(s);
          s.release();
        } else openTag(s, f.spec.children?.[s.tag.name] ?? {});
      }
      return true;
    }
  }
  s.looked += s.hold.length;
  tagBody(s, s.takeHold());
  return false;
}

/**
 * Says whether the held closing tag can go on with a character: with its name, or
 * with blanks behind a whole one.
 */
function closingGoesOn(s: State, r: string): boolean {
  const name = s.hold.slice(2);
  const behind = name !== "" && c.blank(name.charCodeAt(name.length - 1));
  if (c.blank(r.charCodeAt(0))) return behind || closes(s, name, false) >= 0;
  return !behind && closes(s, name + r, true) >= 0;
}

/**
 * Which open tag, innermost first, is closed by a tag of that name; with
 * `prefix`, by one whose name begins so. -1 for none. A raw body knows its own end
 * only.
 */
function closes(s: State, name: string, prefix: boolean): number {
  for (let i = s.frames.length - 1; i >= 0; i--) {
    const f = s.frames[i];
    if (!f) break;
    if (name === f.name || (prefix && f.name.startsWith(name))) return i;
    if (f.spec.raw) break;
  }
  return -1;
}

/** Ends the tag at a depth; what is still open inside of it ends too. */
function closeTag(s: State, depth: number): void {
  if (s.frames[0]?.id === 0) {
    s.frames = [];
    s.release();
    return;
  }
  while (s.frames.length > depth + 1) popFrame(s, true);
  const f = s.frames.at(-1);
  s.inside += s.held;
  if (f) f.source += s.takeHold();
  popFrame(s, false);
}

/** Takes a piece of a body. */
function tagBody(s: State, p: string): void {
  const top = s.frames.at(-1);
  if (!top || top.id === 0) {
    s.text(p);
    return;
  }
  const n = c.fitting(p, s.cfg.maxBody - s.inside);
  const fits = p.slice(0, n);
  top.source += fits;
  top.text += fits;
  s.inside += c.bytesOf(fits);
  s.piece("delta", top.id, fits, top.parent);
  if (n < p.length) {
    failTags(s);
    s.text(p.slice(n));
  }
}

/**
 * Makes the open tags their source when the outermost has become too long. What
 * follows, up to the end of that one, is text: a frame without id waits for it.
 */
function failTags(s: State): void {
  const name = s.frames[0]?.name ?? "";
  while (s.frames.length > 0) failFrame(s, "too_long");
  s.frames.push({ id: 0, parent: 0, name, spec: { raw: true }, names: [], source: "", text: "" });
}

/**
 * Ends the open tags when the text does: a raw body was to be whole, others are
 * what they have.
 */
export function endTags(s: State): void {
  if (s.frames[0]?.id === 0) s.release();
  else tagBody(s, s.takeHold());
  while (s.frames.length > 0 && s.frames[0]?.id !== 0) {
    if (s.frames.at(-1)?.spec.raw || s.reason === "length") failFrame(s, "unterminated");
    else popFrame(s, true);
  }
  s.frames = [];
}
