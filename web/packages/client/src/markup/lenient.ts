import * as c from "./chars.ts";
import { maxLine } from "./container.ts";
import { body, closeFence } from "./fence.ts";
import type { State } from "./state.ts";

/** Follows what may close a fence. */
export interface CloserScan {
  run: number;
  blank: boolean;
  // Of a closer on the object's own line:
  depth: number;
  quoted: boolean;
  escaped: boolean;
  /** The object is complete. */
  whole: boolean;
  /** Something else follows it. */
  over: boolean;
  held: string;
}

export function newCloser(): CloserScan {
  return {
    run: 0,
    blank: false,
    depth: 0,
    quoted: false,
    escaped: false,
    whole: false,
    over: false,
    held: "",
  };
}

/**
 * Takes a piece of a body that may end on the line on which its object does.
 * What may be the closer is held.
 */
export function contentClosing(s: State, p: string): void {
  const t = s.fence.closer;
  let from = 0;
  for (let i = 0; i < p.length; i++) {
    const char = p.charCodeAt(i);
    if (!t.whole || t.over) {
      follow(t, char);
      continue;
    }
    if (char === c.lf) {
      body(s, p.slice(from, i));
      if (t.run >= s.fence.run) {
        closeFence(s, t.held, "\n");
        return;
      }
      loosen(s);
      from = i;
      t.run = 0;
      t.blank = false;
    } else if (c.blank(char) || (char === s.fence.mark && !t.blank)) {
      body(s, p.slice(from, i));
      from = i;
      if (!s.fence.live) break;
      if (char === s.fence.mark) t.run++;
      else t.blank = t.run > 0;
      from++;
      t.held += p.charAt(i);
      if (t.held.length > maxLine) {
        t.over = true;
        loosen(s);
      }
    } else {
      body(s, p.slice(from, i));
      loosen(s);
      from = i;
      t.over = true;
    }
    if (!s.fence.live) break;
  }
  body(s, p.slice(from));
}

/** Gives up what was held as a closer: it belongs to the body. */
function loosen(s: State): void {
  const { held } = s.fence.closer;
  s.fence.closer.held = "";
  body(s, held);
}

/** Decides, at the end of the text, what was held as a closer. */
export function endBody(s: State): void {
  const t = s.fence.closer;
  if (!s.fence.open || !s.fence.live || !t.held) return;
  if (t.run >= s.fence.run) closeFence(s, t.held, "");
  else loosen(s);
}

/** Follows the JSON of a body just far enough to know when its object is complete. */
function follow(t: CloserScan, char: number): void {
  if (t.escaped) t.escaped = false;
  else if (t.quoted) {
    t.escaped = char === c.backslash;
    t.quoted = char !== c.quote;
  } else if (char === c.quote) t.quoted = true;
  else if (char === 0x7b || char === c.bracket) t.depth++;
  else if (char === 0x7d || char === c.unbracket) {
    t.depth--;
    t.whole = t.depth === 0;
  }
}
