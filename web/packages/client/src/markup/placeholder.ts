import * as c from "./chars.ts";
import { spanHolder } from "./holdback.ts";
import type { Scanned } from "./inline.ts";
import { type Node, nameAt, root, step } from "./names.ts";
import type { State } from "./state.ts";

/** What an identifier does not contain, besides controls. */
const idStops = c.charSet(")([]`<\\");

/** Follows what may become a placeholder, from behind its bracket. */
export class HolderScan {
  /** What is next: the parenthesis, the name, the identifier, the closing bracket. */
  phase: "open" | "name" | "id" | "close" = "open";
  node: Node = { lo: 0, hi: 0, n: 0 };
  name = "";
  /** Where in what is held the identifier begins; all before it is ASCII. */
  id = 0;

  /** Takes one character. Whatever it refuses leaves held text in which no card could have begun. */
  step(s: State, r: string): Scanned {
    const char = r.charCodeAt(0);
    switch (this.phase) {
      case "open":
        if (char !== c.open) return "failed";
        this.phase = "name";
        this.node = root(s.holders);
        return "on";
      case "name": {
        const next = step(s.holders, this.node, char);
        if (next) {
          this.node = next;
          return "on";
        }
        this.name = nameAt(s.holders, this.node);
        if (char !== c.colon || !this.name) return "failed";
        this.phase = "id";
        this.id = s.hold.length + 1;
        return "on";
      }
      case "id":
        if (char === c.close && s.hold.length > this.id) {
          this.phase = "close";
          return "on";
        }
        if (char < c.space || char === c.del || idStops[char]) return "failed";
        return s.held - this.id + c.bytesOf(r) > s.cfg.maxId ? "failed" : "on";
      case "close":
        return char === c.unbracket ? "done" : "failed";
    }
  }
}

/** Acts on a complete placeholder. */
export function endHolder(s: State): void {
  const n = s.inline;
  n.sub = "";
  // A placeholder is no link's label.
  n.link.endLabel();
  if (n.code > 0) spanHolder(s, s.holder.name, s.holder.id);
  else showHolder(s, s.holder.name, s.takeHold(), s.holder.id);
}

/** Tells of a placeholder with its identifier from `id` on. */
export function showHolder(s: State, name: string, source: string, id: number): void {
  const block = s.start(0, "placeholder", name, { id: source.slice(id, -2) });
  s.event({ kind: "end", id: block, source });
}
