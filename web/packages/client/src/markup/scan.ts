import { scanBody, scanCloser, scanInfo } from "./fence.ts";
import { scanHTML } from "./html.ts";
import { scanInline } from "./inline.ts";
import { scanBlanks, scanLine, scanRule } from "./line.ts";
import type { State } from "./state.ts";
import { scanTags } from "./tag.ts";

/** Gives a piece, part by part, to whoever reads in the mode of the moment. */
export function scan(s: State, p: string): void {
  s.looked += p.length;
  for (let i = 0; i < p.length; ) {
    switch (s.mode) {
      case "line":
        i = scanLine(s, p, i);
        break;
      case "inline":
        i = scanInline(s, p, i);
        break;
      case "literal":
        i = scanLiteral(s, p, i);
        break;
      case "html":
        i = scanHTML(s, p, i);
        break;
      case "rule":
        i = scanRule(s, p, i);
        break;
      case "blanks":
        i = scanBlanks(s, p, i);
        break;
      case "info":
        i = scanInfo(s, p, i);
        break;
      case "body":
        i = scanBody(s, p, i);
        break;
      case "closer":
        i = scanCloser(s, p, i);
        break;
      case "tags":
        i = scanTags(s, p, i);
        break;
      case "lost":
        s.text(p.slice(i));
        i = p.length;
    }
  }
}

/** Passes the rest of a line. */
function scanLiteral(s: State, p: string, from: number): number {
  const to = p.indexOf("\n", from) + 1;
  if (to === 0) {
    s.text(p.slice(from));
    return p.length;
  }
  s.text(p.slice(from, to));
  s.nextLine();
  return to;
}
