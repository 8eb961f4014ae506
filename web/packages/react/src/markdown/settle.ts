import { codeSpanEnd, mathAt, opensDollar, runLength } from "./math.ts";
import type { Piece } from "./split.ts";

// While an answer is being written its last part mostly ends in the middle of
// something: a marker whose meaning the next character decides, a link without
// its target, a table without its second line. settle() gives the text that
// can be shown now: what is undecided is held back, what is decided but open is
// closed. Shown text never has to be taken back for well-formed input.

/** A formula or link that stays open longer than this is shown as it is. */
const longestHold = 2000;
const longestDollar = 80;
const longestBracket = 400;

/** After a dollar sign these promise a formula; a digit may as well be money. */
const formulaStart = /[A-Za-z\\({[|\-\u0370-\u03ff]/;

interface Opener {
  char: string;
  count: number;
  at: number;
}

const cjk =
  /[\u1100-\u11ff\u2e80-\u303f\u3040-\u30ff\u3100-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef]/;

function isSpace(char: string): boolean {
  return char === "" || /\s/.test(char);
}

function isPunctuation(char: string): boolean {
  return /[\p{P}\p{S}]/u.test(char);
}

interface Flanks {
  opens: boolean;
  closes: boolean;
}

/** Whether a run of emphasis marks can open and close, Chinese neighbours included. */
function flanks(char: string, before: string, after: string): Flanks {
  const eastern = cjk.test(before) || cjk.test(after);
  const left =
    !isSpace(after) &&
    (!isPunctuation(after) || isSpace(before) || isPunctuation(before) || eastern);
  const right =
    !isSpace(before) &&
    (!isPunctuation(before) || isSpace(after) || isPunctuation(after) || eastern);
  if (char === "_") {
    return {
      opens: left && (!right || isPunctuation(before)),
      closes: right && (!left || isPunctuation(after)),
    };
  }
  return { opens: left, closes: right };
}

/** Settles one run of inline Markdown that ends where the stream ends. */
export function settleInline(text: string): string {
  const stack: Opener[] = [];
  let cut = text.length;
  let tail = "";
  let i = 0;
  scan: while (i < text.length) {
    const char = text.charAt(i);
    switch (char) {
      case "\\": {
        if (i + 1 >= text.length) {
          cut = i;
          break scan;
        }
        const math = mathAt(text, i);
        if (math) {
          i = math.end;
          continue;
        }
        const next = text.charAt(i + 1);
        if ((next === "(" || next === "[") && text.length - i <= longestHold) {
          cut = i;
          break scan;
        }
        i += 2;
        continue;
      }
      case "`": {
        const end = codeSpanEnd(text, i);
        if (end >= 0) {
          i = end;
          continue;
        }
        const n = runLength(text, i);
        const body = text.slice(i + n).replace(/`+$/, "");
        if (body.trim() === "") {
          cut = i;
          break scan;
        }
        tail = text.slice(i, i + n) + body + (body.endsWith("`") ? " " : "") + "`".repeat(n);
        cut = i;
        break scan;
      }
      case "$": {
        const math = mathAt(text, i);
        if (math && !math.display && math.end === text.length) {
          // What follows the closing sign may still make it money. A formula that
          // begins like money was not held back before.
          cut = formulaStart.test(text.charAt(i + 1)) ? i : text.length - 1;
          break scan;
        }
        if (math) {
          i = math.end;
          continue;
        }
        const left = text.length - i;
        const next = text.charAt(i + 1);
        const double = next === "$";
        const undecided =
          left === 1 ||
          (double
            ? left <= longestHold && text.indexOf("$$", i + 2) < 0
            : opensDollar(text, i) &&
              formulaStart.test(next) &&
              left <= longestDollar &&
              !/[$\n]/.test(text.slice(i + 1)));
        if (undecided) {
          cut = i;
          break scan;
        }
        i += double ? 2 : 1;
        continue;
      }
      case "!": {
        if (i + 1 >= text.length) {
          cut = i;
          break scan;
        }
        if (text.charAt(i + 1) === "[") {
          const end = bracketEnd(text, i + 1);
          if (end.state === "open") {
            cut = i;
            break scan;
          }
          i = Math.max(i + 2, end.next);
          continue;
        }
        i++;
        continue;
      }
      case "[": {
        const end = bracketEnd(text, i);
        if (end.state === "open") {
          cut = i;
          if (end.label !== undefined) {
            tail = end.label;
          }
          break scan;
        }
        i = end.state === "whole" ? end.next : i + 1;
        continue;
      }
      case "<": {
        const rest = text.slice(i);
        const half =
          rest === "<" ||
          (rest.length <= longestBracket && /^<(?:[a-zA-Z/][^<>]*|![^>]*|\?[^>]*)$/.test(rest));
        const comment =
          rest.startsWith("<!--") && !rest.includes("-->") && rest.length <= longestHold;
        if (half || comment) {
          cut = i;
          break scan;
        }
        const whole = /^<(?:[a-zA-Z/!?][^<>]*)>/.exec(rest)?.[0];
        i += whole ? whole.length : 1;
        continue;
      }
      case "&": {
        if (/^&#?[a-zA-Z0-9]{0,10}$/.test(text.slice(i))) {
          cut = i;
          break scan;
        }
        i++;
        continue;
      }
      case "h": {
        const url = /^https?:\/\/[^\s<>*]*[^\s<>*_~.,;:!?)\]'"]/.exec(text.slice(i, i + 2000))?.[0];
        i += url ? url.length : 1;
        continue;
      }
      case "*":
      case "_":
      case "~": {
        const count = runLength(text, i);
        if (i + count >= text.length) {
          cut = i;
          break scan;
        }
        if (char !== "~" || count === 2) {
          const { opens, closes } = flanks(char, text.charAt(i - 1), text.charAt(i + count));
          let left = count;
          if (closes) {
            left = closeRuns(stack, char, count);
          }
          if (opens && left > 0) {
            stack.push({ char, count: left, at: i + count - left });
          }
        }
        i += count;
        continue;
      }
      default:
        i++;
    }
  }
  let shown = text.slice(0, cut) + tail;
  // Openers with nothing behind them yet are not shown.
  for (let top = stack.at(-1); top; top = stack.at(-1)) {
    if (shown.slice(top.at + top.count).trim() !== "") {
      break;
    }
    shown = shown.slice(0, top.at);
    stack.pop();
  }
  if (stack.length === 0) {
    return shown;
  }
  const body = shown.trimEnd();
  return (
    body +
    stack
      .reverse()
      .map((o) => o.char.repeat(o.count))
      .join("")
  );
}

/** Lets a run close what it can; gives back how much of it is left. */
function closeRuns(stack: Opener[], char: string, count: number): number {
  let left = count;
  for (let at = stack.length - 1; at >= 0 && left > 0; at--) {
    const open = stack[at];
    if (!open || open.char !== char || (char === "~" && open.count !== left)) {
      continue;
    }
    const used = Math.min(open.count, left);
    open.count -= used;
    left -= used;
    stack.length = open.count > 0 ? at + 1 : at;
    if (open.count > 0) {
      at++;
    }
  }
  return left;
}

type Bracket =
  | { state: "open"; label?: string; next: number }
  | { state: "whole" | "plain"; next: number };

/** What the bracket at a place is: undecided, a whole link, or plain text. */
function bracketEnd(text: string, at: number): Bracket {
  let depth = 0;
  let close = -1;
  for (let i = at; i < text.length; i++) {
    const char = text.charAt(i);
    if (char === "\\") {
      i++;
    } else if (char === "`") {
      const end = codeSpanEnd(text, i);
      if (end < 0) {
        break;
      }
      i = end - 1;
    } else if (char === "[") {
      depth++;
    } else if (char === "]") {
      depth--;
      if (depth === 0) {
        close = i;
        break;
      }
    }
  }
  if (close < 0) {
    return { state: text.length - at <= longestBracket ? "open" : "plain", next: at + 1 };
  }
  const label = text.slice(at + 1, close);
  const next = text.charAt(close + 1);
  if (next === "") {
    return { state: "open", next: at + 1 };
  }
  if (next === "(") {
    let open = 0;
    for (let i = close + 1; i < text.length; i++) {
      const char = text.charAt(i);
      if (char === "\\") {
        i++;
      } else if (char === "(") {
        open++;
      } else if (char === ")") {
        open--;
        if (open === 0) {
          return { state: "whole", next: i + 1 };
        }
      } else if (char === "\n") {
        return { state: "plain", next: close + 1 };
      }
    }
    const target = text.slice(close + 2);
    const possible = /^\s*(?:<[^>]*|[^\s<]*(?:\s+["'(][^\n]*)?\s*)$/.test(target);
    return possible && target.length <= longestHold
      ? { state: "open", label, next: close + 1 }
      : { state: "plain", next: close + 1 };
  }
  if (next === "[") {
    const end = text.indexOf("]", close + 2);
    return end < 0 && text.length - close <= longestBracket
      ? { state: "open", next: close + 1 }
      : { state: "whole", next: end < 0 ? close + 1 : end + 1 };
  }
  return { state: "plain", next: close + 1 };
}

const prefix = /^(?:\s*(?:>|[-*+](?=\s)|\d{1,9}[.)](?=\s)|#{1,6}(?=\s)))*\s*/;

/** A last line that is nothing but a marker, whose meaning the next character decides. */
const bareMarker =
  /^[\s>]*(?:(?:[-*+]|\d{1,9}[.)])\s+)*(?:[-*+_=~|:\s]+|#{1,6}|\d{1,9}[.)]?|>+|`{1,2})?\s*$/;

/** A task's box without its words, or a definition without its target. */
const halfLine = /^[\s>]*(?:[-*+]|\d{1,9}[.)])\s+\[[ xX]\]\s*$|^ {0,3}\[[^\]\n]+\]:\s*$/;

const delimiterRow = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;
const delimiterStart = /^[\s|:-]*$/;

/** Whether a line has a pipe that would make it a table's row. */
function pipeAt(line: string): number {
  for (let i = 0; i < line.length; i++) {
    const char = line.charAt(i);
    if (char === "\\") {
      i++;
    } else if (char === "`") {
      const end = codeSpanEnd(line, i);
      if (end < 0) {
        return -1;
      }
      i = end - 1;
    } else if (char === "$") {
      const math = mathAt(line, i);
      if (math) {
        i = math.end - 1;
      }
    } else if (char === "|") {
      return i;
    }
  }
  return -1;
}

interface InnerFence {
  mark: string;
  start: number;
}

/** The fence inside a list or quote that is still open at the end of the lines. */
function openFence(lines: readonly string[]): InnerFence | null {
  let open: InnerFence | null = null;
  lines.forEach((line, start) => {
    const body = line.replace(/^[\s>]*(?:(?:[-*+]|\d{1,9}[.)])\s+)*/, "");
    const mark = /^(`{3,}|~{3,})/.exec(body)?.[1];
    if (open) {
      if (mark?.startsWith(open.mark) && body.trim() === mark) {
        open = null;
      }
    } else if (mark && !(mark.startsWith("`") && body.slice(mark.length).includes("`"))) {
      open = { mark, start };
    }
  });
  return open;
}

/** The text of a Markdown part that can be shown while more of it is to come. */
export function settle(piece: Piece): string {
  if (piece.kind === "fence") {
    return settleFence(piece);
  }
  if (piece.kind === "math") {
    return piece.closed || piece.text.length > longestHold ? piece.text : "";
  }
  const lines = piece.text.split("\n");
  const inner = openFence(lines);
  if (inner) {
    const last = lines.at(-1) ?? "";
    if (inner.start === lines.length - 1) {
      // The opening line is not finished.
      return trimTail(lines.slice(0, -1));
    }
    return /^[\s>]*[`~]+$/.test(last) ? lines.slice(0, -1).join("\n") : piece.text;
  }
  const end = lines.at(-1) ?? "";
  if (bareMarker.test(end) || halfLine.test(end)) {
    lines.pop();
    // A half-written rule or heading line may hide a table's start above it.
    return settleLines(lines, true);
  }
  return settleLines(lines, false);
}

function trimTail(lines: readonly string[]): string {
  return lines.join("\n").trimEnd();
}

function settleLines(lines: string[], dropped: boolean): string {
  while (lines.length > 0 && (lines.at(-1) ?? "").trim() === "") {
    lines.pop();
  }
  if (lines.length === 0) {
    return "";
  }
  // The lines that the last paragraph, item or table consists of.
  let first = lines.length - 1;
  while (
    first > 0 &&
    (lines[first - 1] ?? "").trim() !== "" &&
    !/^\s*(?:[-*+]|\d{1,9}[.)]|>|#{1,6})(?:\s|$)/.test(lines[first] ?? "")
  ) {
    first--;
  }
  const head = lines.slice(0, first);
  const group = lines.slice(first);
  const top = group[0] ?? "";
  const pipe = pipeAt(top);
  if (pipe >= 0) {
    const second = group[1];
    const table = second !== undefined && delimiterRow.test(second) && second.includes("-");
    if (table && (group.length > 2 || dropped)) {
      return [...head, ...settleRows(group)].join("\n");
    }
    if (
      (second === undefined && !dropped) ||
      (group.length <= 2 && second !== undefined && delimiterStart.test(second)) ||
      (dropped && group.length === 1)
    ) {
      // Maybe a table: nothing from the first pipe on is shown before its second line is whole.
      const words = top.slice(0, pipe);
      const kept = words.replace(prefix, "").trim() === "" ? [] : [settleInline(words.trimEnd())];
      return trimTail([...head, ...kept]);
    }
  }
  const start = prefix.exec(top)?.[0] ?? "";
  const body = group.join("\n").slice(start.length);
  const shown = settleInline(body);
  if (shown.trim() === "") {
    return trimTail(head);
  }
  return [...head, start + shown].join("\n");
}

function settleRows(group: readonly string[]): string[] {
  const rows = [...group];
  const last = rows.at(-1) ?? "";
  if (rows.length <= 2) {
    return rows;
  }
  if (/^[\s|]*$/.test(last)) {
    return rows.slice(0, -1);
  }
  let cell = 0;
  for (let i = 0; i < last.length; ) {
    const pipe = pipeAt(last.slice(i));
    if (pipe < 0) {
      break;
    }
    cell = i + pipe + 1;
    i = cell;
  }
  rows[rows.length - 1] = last.slice(0, cell) + settleInline(last.slice(cell));
  return rows;
}

function settleFence(piece: Piece): string {
  if (piece.closed) {
    return piece.text;
  }
  const lines = piece.text.split("\n");
  if (lines.length === 1) {
    return "";
  }
  const last = lines.at(-1) ?? "";
  return /^ {0,3}(?:`+|~+)\s*$/.test(last) ? lines.slice(0, -1).join("\n") : piece.text;
}

/** The language word and the code of a fence. */
export function fenceParts(text: string): { lang: string; code: string } {
  const lines = text.split("\n");
  const open = /^(\s*)(`{3,}|~{3,})\s*(\S*)/.exec(lines[0] ?? "");
  const indent = open?.[1]?.length ?? 0;
  const mark = open?.[2] ?? "```";
  const lang = (open?.[3] ?? "")
    .replace(/^\{?\.?/, "")
    .replace(/[{},:].*$/, "")
    .toLowerCase();
  const body = lines.slice(1);
  const last = (body.at(-1) ?? "").trim();
  if (body.length > 0 && last.startsWith(mark) && last === mark.charAt(0).repeat(last.length)) {
    body.pop();
  }
  const strip = new RegExp(`^ {0,${indent}}`);
  return {
    lang,
    code: body
      .map((line) => (indent > 0 ? line.replace(strip, "") : line).replace(/\r$/, ""))
      .join("\n"),
  };
}
