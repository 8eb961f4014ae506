import { safeHref } from "./links.ts";
import { type MathSpan, placeholder, restoreSource } from "./math.ts";

// The parts of a Markdown tree that this module reads and writes.
interface Node {
  type: string;
  value?: string;
  url?: string;
  title?: string | null;
  alt?: string | null;
  children?: Node[];
  data?: { hName?: string; hProperties?: Record<string, string>; hChildren?: Node[] };
}

const note = /\[\^([^\]\s]+)\]/g;

function mathNode(span: MathSpan): Node {
  return {
    type: "inlayMath",
    data: {
      hName: "span",
      hProperties: { dataTex: span.tex, dataDisplay: span.display ? "block" : "inline" },
      hChildren: [{ type: "text", value: span.source }],
    },
  };
}

function noteNode(id: string): Node {
  return {
    type: "inlayNote",
    data: { hName: "sup", hProperties: { dataNote: id }, hChildren: [{ type: "text", value: id }] },
  };
}

function pieces(
  value: string,
  pattern: RegExp,
  make: (m: RegExpMatchArray) => Node | null,
): Node[] {
  const out: Node[] = [];
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

function rewrite(node: Node, spans: readonly MathSpan[], insideLink: boolean): Node[] {
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
      const out: Node = { ...node };
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

/** A remark plugin: formulas and note marks become elements, markup becomes text. */
export function inlayMarks(spans: readonly MathSpan[]): () => (tree: object) => object {
  return () => (tree) => rewrite(tree as Node, spans, false)[0] ?? tree;
}
