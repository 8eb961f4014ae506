import { safeHref } from "./links.ts";
import { type MathSpan, placeholder, restoreSource } from "./math.ts";

/** A node of a Markdown tree, with the parts that are read or written here. */
export interface MarkdownNode {
  type: string;
  value?: string;
  url?: string;
  title?: string | null;
  alt?: string | null;
  lang?: string | null;
  depth?: number;
  ordered?: boolean | null;
  start?: number | null;
  spread?: boolean | null;
  checked?: boolean | null;
  align?: ("left" | "right" | "center" | null)[] | null;
  /** Of a reference, a definition or a note. */
  identifier?: string;
  /** Of a formula; its value is how it was written. */
  tex?: string;
  display?: boolean;
  children?: MarkdownNode[];
}

const note = /\[\^([^\]\s]+)\]/g;

function mathNode(span: MathSpan): MarkdownNode {
  return { type: "inlayMath", tex: span.tex, display: span.display, value: span.source };
}

function noteNode(id: string): MarkdownNode {
  return { type: "inlayNote", identifier: id };
}

function pieces(
  value: string,
  pattern: RegExp,
  make: (m: RegExpMatchArray) => MarkdownNode | null,
): MarkdownNode[] {
  const out: MarkdownNode[] = [];
  let at = 0;
  for (const m of value.matchAll(pattern)) {
    const node = make(m);
    if (!node) {
      continue;
    }
    if (m.index > at) {
      out.push({ type: "text", value: value.slice(at, m.index) });
    }
    out.push(node);
    at = m.index + m[0].length;
  }
  if (at === 0) {
    return [{ type: "text", value }];
  }
  if (at < value.length) {
    out.push({ type: "text", value: value.slice(at) });
  }
  return out;
}

function rewrite(
  node: MarkdownNode,
  spans: readonly MathSpan[],
  insideLink: boolean,
): MarkdownNode[] {
  switch (node.type) {
    case "text": {
      const withMath = pieces(node.value ?? "", placeholder, (m) => {
        const span = spans[Number(m[1])];
        return span ? mathNode(span) : null;
      });
      return insideLink
        ? withMath
        : withMath.flatMap((part) =>
            part.type === "text"
              ? pieces(part.value ?? "", note, (m) => noteNode(m[1] ?? ""))
              : [part],
          );
    }
    case "html": {
      const value = restoreSource(node.value ?? "", spans);
      if (/^<br\s*\/?>$/i.test(value.trim())) {
        return [{ type: "break" }];
      }
      // Comments are not for readers; any other markup is shown as the text it is.
      return /^<!--[\s\S]*?-->\s*$/.test(value) ? [] : [{ type: "text", value }];
    }
    case "inlineCode":
    case "code":
      return [{ ...node, value: restoreSource(node.value ?? "", spans) }];
    default: {
      const out: MarkdownNode = { ...node };
      if (typeof out.url === "string") {
        out.url = safeHref(restoreSource(out.url, spans));
      }
      if (typeof out.title === "string") {
        out.title = restoreSource(out.title, spans);
      }
      if (typeof out.alt === "string") {
        out.alt = restoreSource(out.alt, spans);
      }
      if (out.children) {
        const inLink = insideLink || node.type === "link" || node.type === "linkReference";
        out.children = out.children.flatMap((child) => rewrite(child, spans, inLink));
      }
      if (node.type === "root") {
        // Text may not stand alone at the top.
        out.children = out.children?.map((child) =>
          child.type === "text" || child.type === "break"
            ? { type: "paragraph", children: [child] }
            : child,
        );
      }
      return [out];
    }
  }
}

/** A tree in which formulas and note marks are nodes and markup is the text it is. */
export function withMarks(tree: MarkdownNode, spans: readonly MathSpan[]): MarkdownNode {
  return rewrite(tree, spans, false)[0] ?? tree;
}
