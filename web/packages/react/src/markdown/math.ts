/** A formula found in Markdown source. */
export interface MathSpan {
  tex: string;
  display: boolean;
  /** The source with its marks, shown while the formula cannot be drawn. */
  source: string;
}

/** What starts at a place of the source: a formula that ends at `end`. */
export interface MathMatch extends MathSpan {
  end: number;
}

/** Whether a single dollar sign may open a formula (the rules of Pandoc, and not inside a word). */
export function opensDollar(text: string, at: number): boolean {
  const next = text.charAt(at + 1);
  const before = text.charAt(at - 1);
  return (
    next !== "" &&
    next !== "$" &&
    !/\s/.test(next) &&
    !(before !== "" && /[A-Za-z0-9$]/.test(before))
  );
}

/** A sum of money with words behind it is prose, whatever sign comes later. */
function looksLikeProse(tex: string): boolean {
  return (
    /^\d[\d,.]*\s*(?:[kKmMbB]n?|bn|tn|million|billion|万|亿)?(?:$|[\s,;:.!?)，。；：、）])/.test(
      tex,
    ) &&
    (/[\u3000-\u9fff]/.test(tex) || /(?<![\\\p{L}])\p{L}{2,}/u.test(tex))
  );
}

/** The formula that starts at a place of the text, or null. */
export function mathAt(text: string, at: number): MathMatch | null {
  const two = text.slice(at, at + 2);
  if (two === "\\(" || two === "\\[") {
    const mark = two === "\\(" ? "\\)" : "\\]";
    const close = text.indexOf(mark, at + 2);
    const tex = close < 0 ? "" : text.slice(at + 2, close);
    if (tex.trim() === "" || /\n\s*\n/.test(tex)) {
      return null;
    }
    const end = close + 2;
    return { tex: tex.trim(), display: two === "\\[", source: text.slice(at, end), end };
  }
  if (two === "$$") {
    const close = text.indexOf("$$", at + 2);
    const tex = close < 0 ? "" : text.slice(at + 2, close);
    if (tex.trim() === "") {
      return null;
    }
    const end = close + 2;
    return { tex: tex.trim(), display: true, source: text.slice(at, end), end };
  }
  if (text.charAt(at) !== "$" || !opensDollar(text, at)) {
    return null;
  }
  for (let i = at + 1; i < text.length; i++) {
    const char = text.charAt(i);
    if (char === "\n") {
      return null;
    }
    if (char === "\\") {
      i++;
      continue;
    }
    if (char !== "$") {
      continue;
    }
    const before = text.charAt(i - 1);
    const after = text.charAt(i + 1);
    if (/\s/.test(before) || /\d/.test(after)) {
      // A dollar sign that cannot close opens the next sum: this one was money too.
      return null;
    }
    if (after === "$") {
      return null;
    }
    const tex = text.slice(at + 1, i);
    // `$HOME/$USER` is no formula, `$n$th` is one.
    const glued = /[A-Za-z]/.test(after) && tex.length > 2 && !tex.includes("\\");
    return tex === "" || glued || looksLikeProse(tex)
      ? null
      : { tex, display: false, source: text.slice(at, i + 1), end: i + 1 };
  }
  return null;
}

/** Marks the place of a formula in the text that is parsed as Markdown. */
export const placeholder = /\ue000(\d+)\ue001/g;

/** The length of the run of one character that starts at a place. */
export function runLength(text: string, at: number): number {
  const char = text.charAt(at);
  let n = at;
  while (n < text.length && text.charAt(n) === char) {
    n++;
  }
  return n - at;
}

/** The end of the code span that a run of backticks opens, or -1. */
export function codeSpanEnd(text: string, at: number): number {
  const n = runLength(text, at);
  for (let i = at + n; i < text.length; i++) {
    if (text.charAt(i) !== "`") {
      continue;
    }
    const m = runLength(text, i);
    if (m === n) {
      return i + m;
    }
    i += m - 1;
  }
  return -1;
}

/**
 * Takes the formulas out of Markdown source, so that its parser cannot read
 * their signs as its own. Code is left alone.
 */
export function extractMath(text: string): { text: string; spans: MathSpan[] } {
  const clean = text.replace(/[\ue000\ue001]/g, "");
  if (!/[$]|\\[([]/.test(clean)) {
    return { text: clean, spans: [] };
  }
  const spans: MathSpan[] = [];
  let out = "";
  let fence: string | null = null;
  let lineStart = true;
  for (let i = 0; i < clean.length; ) {
    if (lineStart) {
      const lineEnd = clean.indexOf("\n", i);
      const line = clean.slice(i, lineEnd < 0 ? clean.length : lineEnd);
      const mark = /^[\s>]*(?:(?:[-*+]|\d{1,9}[.)])\s+)*(`{3,}|~{3,})/.exec(line)?.[1];
      const inside = fence !== null;
      if (fence !== null) {
        if (line.trim().startsWith(fence) && line.trim().replaceAll(fence.charAt(0), "") === "") {
          fence = null;
        }
      } else if (mark) {
        fence = mark;
      }
      if (inside || fence !== null) {
        const next = lineEnd < 0 ? clean.length : lineEnd + 1;
        out += clean.slice(i, next);
        i = next;
        continue;
      }
      lineStart = false;
    }
    const char = clean.charAt(i);
    if (char === "\n") {
      lineStart = true;
      out += char;
      i++;
      continue;
    }
    if (char === "`") {
      const end = codeSpanEnd(clean, i);
      const next = end < 0 ? i + runLength(clean, i) : end;
      out += clean.slice(i, next);
      i = next;
      continue;
    }
    if (char === "]" && clean.charAt(i + 1) === "(") {
      const close = clean.indexOf(")", i + 2);
      const target = close < 0 ? "" : clean.slice(i + 2, close);
      if (close >= 0 && !/\s/.test(target)) {
        out += clean.slice(i, close + 1);
        i = close + 1;
        continue;
      }
    }
    if (char === "h") {
      const url = /^https?:\/\/[^\s<>)\]]+/.exec(clean.slice(i, i + 2000))?.[0];
      if (url) {
        out += url;
        i += url.length;
        continue;
      }
    }
    if (char === "$" || char === "\\") {
      const found = mathAt(clean, i);
      if (found) {
        out += `\ue000${spans.length}\ue001`;
        spans.push({ tex: found.tex, display: found.display, source: found.source });
        i = found.end;
        continue;
      }
      if (char === "\\" && clean.charAt(i + 1) !== "\n") {
        out += clean.slice(i, i + 2);
        i += 2;
        continue;
      }
    }
    out += char;
    i++;
  }
  return { text: out, spans };
}

/** Puts the source of formulas back where no formula can be drawn, such as in a link's target. */
export function restoreSource(text: string, spans: readonly MathSpan[]): string {
  return text.replace(placeholder, (_all, n: string) => spans[Number(n)]?.source ?? "");
}

/** The formula of a part that is nothing else (`$$` or `\[` on lines of their own). */
export function displayMath(text: string): MathSpan | null {
  const source = text.trim();
  for (const [open, close] of [
    ["$$", "$$"],
    ["\\[", "\\]"],
  ] as const) {
    if (source.startsWith(open) && source.length >= 4 && source.endsWith(close)) {
      const tex = source.slice(2, -2).trim();
      return tex === "" || tex.includes(close) ? null : { tex, display: true, source };
    }
  }
  return null;
}
