/** One top-level part of a Markdown text; parts are parsed and drawn apart. */
export interface Piece {
  /** Where the part starts in the text. */
  start: number;
  /** Its source, without the blank lines behind it. */
  text: string;
  kind: "text" | "list" | "quote" | "fence" | "math" | "footnote" | "indented";
  /** For a fence: its closing line has come. For math: its closing mark has come. */
  closed: boolean;
}

const listMarker = /^(\s*)(?:[-*+]|\d{1,9}[.)])(?:\s+\S|\s*$)/;
const heading = /^ {0,3}#{1,6}(?:\s|$)/;
const rule = /^ {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/;
const fenceOpen = /^(\s*)(`{3,}|~{3,})([^\n]*)$/;
const footnote = /^\[\^[^\]\s]+\]:/;

/** A list longer than this is cut between two of its items, so that its end stays cheap to redraw. */
const longList = 6000;

interface Fence {
  mark: string;
  length: number;
  indent: number;
}

function opensFence(line: string): Fence | null {
  const m = fenceOpen.exec(line);
  if (!m) {
    return null;
  }
  const [, indent = "", run = "", info = ""] = m;
  const mark = run.charAt(0);
  // Backticks in the info string make it a code span.
  return mark === "`" && info.includes("`")
    ? null
    : { mark, length: run.length, indent: indent.length };
}

function closesFence(line: string, fence: Fence): boolean {
  const text = line.trim();
  return text.length >= fence.length && text === fence.mark.repeat(text.length);
}

/** The mark that ends display math opened by this line, when it is not ended on it. */
function opensMath(line: string): string | null {
  const text = line.trimStart();
  if (line.length - text.length > 3) {
    return null;
  }
  if (text.startsWith("$$")) {
    return text.indexOf("$$", 2) < 0 ? "$$" : null;
  }
  if (text.startsWith("\\[")) {
    return text.includes("\\]") ? null : "\\]";
  }
  return null;
}

interface Open {
  kind: Piece["kind"];
  start: number;
  end: number;
  fence?: Fence;
  inner?: Fence | null;
  mathEnd?: string;
  blank: boolean;
  closed: boolean;
  heading: boolean;
}

function scan(text: string, from: number, pieces: Piece[]): void {
  let open: Open | null = null;
  const close = (): void => {
    if (open) {
      pieces.push({
        start: open.start,
        text: text.slice(open.start, open.end),
        kind: open.kind,
        closed: open.closed,
      });
      open = null;
    }
  };
  const begin = (line: string, start: number, end: number): Open => {
    close();
    const base = { start, end, blank: false, closed: true, heading: false };
    const fence = opensFence(line);
    if (fence && fence.indent < 4) {
      return { ...base, kind: "fence", fence, closed: false };
    }
    const mathEnd = opensMath(line);
    if (mathEnd) {
      return { ...base, kind: "math", mathEnd, closed: false };
    }
    if (footnote.test(line)) {
      return { ...base, kind: "footnote" };
    }
    if (/^ {4}|^\t/.test(line)) {
      return { ...base, kind: "indented" };
    }
    if (rule.test(line) || heading.test(line)) {
      return { ...base, kind: "text", heading: true };
    }
    if (listMarker.test(line)) {
      return { ...base, kind: "list", inner: innerFence(line) };
    }
    if (/^ {0,3}>/.test(line)) {
      return { ...base, kind: "quote" };
    }
    return { ...base, kind: "text" };
  };
  let at = from;
  while (at < text.length) {
    let stop = text.indexOf("\n", at);
    if (stop < 0) {
      stop = text.length;
    }
    const end = text.charAt(stop - 1) === "\r" && stop > at ? stop - 1 : stop;
    const line = text.slice(at, end);
    const start = at;
    at = stop + 1;
    const cur = open as Open | null;
    if (cur?.kind === "fence" && cur.fence) {
      cur.end = end;
      if (closesFence(line, cur.fence)) {
        cur.closed = true;
        close();
      }
      continue;
    }
    if (cur?.kind === "math" && cur.mathEnd) {
      cur.end = end;
      if (line.includes(cur.mathEnd)) {
        cur.closed = true;
        close();
      }
      continue;
    }
    if (line.trim() === "") {
      if (cur) {
        if (cur.kind === "text") {
          close();
        } else {
          cur.blank = true;
          if (cur.inner) {
            cur.end = end;
          }
        }
      }
      continue;
    }
    if (!cur) {
      open = begin(line, start, end);
      if (open.heading) {
        close();
      }
      continue;
    }
    if (belongs(cur, line, end - cur.start)) {
      cur.end = end;
      cur.blank = false;
      continue;
    }
    open = begin(line, start, end);
    if (open.heading) {
      close();
    }
  }
  close();
}

function innerFence(line: string): Fence | null {
  // A fence may follow the marker on the same line.
  const rest = line.replace(/^\s*(?:[-*+]|\d{1,9}[.)])\s+/, "");
  const fence = opensFence(rest);
  return fence ? { ...fence, indent: 2 } : null;
}

function belongs(cur: Open, line: string, length: number): boolean {
  const indent = /^\s*/.exec(line.replaceAll("\t", "    "))?.[0].length ?? 0;
  if (cur.kind === "list") {
    if (indent >= 2) {
      if (cur.inner) {
        if (closesFence(line, cur.inner)) {
          cur.inner = null;
        }
      } else {
        cur.inner = opensFence(line) ?? (listMarker.test(line) ? innerFence(line) : null);
      }
      return true;
    }
    cur.inner = null;
    if (listMarker.test(line) && !rule.test(line)) {
      if (length > longList && !cur.blank && indent === 0) {
        return false;
      }
      cur.inner = innerFence(line);
      return true;
    }
    return !cur.blank && !interrupts(line);
  }
  if (cur.kind === "indented") {
    return indent >= 4;
  }
  if (cur.kind === "footnote") {
    return indent >= 2 || (!cur.blank && !interrupts(line));
  }
  if (cur.kind === "quote") {
    if (/^ {0,3}>/.test(line)) {
      return !cur.blank;
    }
    return !cur.blank && !interrupts(line);
  }
  // A line of dashes below text is a heading's underline, not a rule.
  return !interrupts(line) || /^ {0,3}-+\s*$/.test(line);
}

/** Whether a line ends a paragraph without a blank line before it. */
function interrupts(line: string): boolean {
  const fence = opensFence(line);
  return (
    (fence !== null && fence.indent < 4) ||
    opensMath(line) !== null ||
    heading.test(line) ||
    rule.test(line) ||
    footnote.test(line) ||
    /^ {0,3}>/.test(line) ||
    /^ {0,3}(?:[-*+]|1[.)])\s+\S/.test(line)
  );
}

/**
 * Cuts Markdown into top-level parts. With the parts of an earlier, shorter
 * text only the last two of them are looked at again, and the others keep
 * their identity.
 */
export function splitMarkdown(text: string, before?: { text: string; pieces: Piece[] }): Piece[] {
  if (before && before.pieces.length > 1 && text.startsWith(before.text)) {
    // Once its last line is whole it may belong to the part before.
    const kept = before.pieces.slice(0, -2);
    scan(text, before.pieces.at(-2)?.start ?? 0, kept);
    return kept;
  }
  const pieces: Piece[] = [];
  scan(text, 0, pieces);
  return pieces;
}

const definition = /^ {0,3}\[(?!\^)[^\]\n]+\]:[ \t]*\S+.*$/gm;

/** The link definitions of a text's parts; every part may refer to them. */
export function linkDefinitions(pieces: readonly Piece[]): string {
  const found: string[] = [];
  for (const piece of pieces) {
    if ((piece.kind === "text" || piece.kind === "list") && piece.text.includes("]:")) {
      found.push(...(piece.text.match(definition) ?? []));
    }
  }
  return found.join("\n");
}
