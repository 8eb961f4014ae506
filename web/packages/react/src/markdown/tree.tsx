import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmAutolinkLiteralFromMarkdown } from "mdast-util-gfm-autolink-literal";
import { gfmStrikethroughFromMarkdown } from "mdast-util-gfm-strikethrough";
import { gfmTableFromMarkdown } from "mdast-util-gfm-table";
import { gfmTaskListItemFromMarkdown } from "mdast-util-gfm-task-list-item";
import { cjkFriendlyExtension } from "micromark-extension-cjk-friendly";
import { gfmAutolinkLiteral } from "micromark-extension-gfm-autolink-literal";
import { gfmStrikethrough } from "micromark-extension-gfm-strikethrough";
import { gfmTable } from "micromark-extension-gfm-table";
import { gfmTaskListItem } from "micromark-extension-gfm-task-list-item";
import { createContext, type MouseEvent, type ReactNode, useContext } from "react";
import { useInlay, useT } from "../context.ts";
import { CodeView } from "./CodeView.tsx";
import { type AllowedHosts, hostListed, hostOf, imagePlace, ownRoute, safeHref } from "./links.ts";
import { MathView } from "./MathView.tsx";
import { extractMath } from "./math.ts";
import { type MarkdownNode, withMarks } from "./plugin.ts";

/** What drawing depends on besides the text. */
export interface Setting {
  allow: AllowedHosts | undefined;
  /** What the ids of notes begin with. */
  notes: string;
  /** The name of a table, which scrolls sideways. */
  tableLabel: string;
}

/** Whether the part around is still being written. */
export const Live = createContext(false);

// Made once: the parts of the grammar do not depend on the text.
const grammar = {
  extensions: [
    gfmAutolinkLiteral(),
    gfmStrikethrough({ singleTilde: false }),
    gfmTable(),
    gfmTaskListItem(),
    cjkFriendlyExtension(),
  ],
  mdastExtensions: [
    gfmAutolinkLiteralFromMarkdown(),
    gfmStrikethroughFromMarkdown(),
    gfmTableFromMarkdown(),
    gfmTaskListItemFromMarkdown(),
  ],
};

/** Draws a piece of Markdown. Only elements named here can come out of it. */
export function Source({ text, setting }: { text: string; setting: Setting }) {
  const { text: source, spans } = extractMath(text);
  const root = withMarks(fromMarkdown(source, grammar) as MarkdownNode, spans);
  const definitions = new Map<string, MarkdownNode>();
  collect(root, definitions);
  return <>{all(root, { ...setting, definitions })}</>;
}

interface Drawing extends Setting {
  definitions: Map<string, MarkdownNode>;
}

function collect(node: MarkdownNode, found: Map<string, MarkdownNode>): void {
  if (node.type === "definition" && node.identifier && !found.has(node.identifier)) {
    found.set(node.identifier, node);
  }
  for (const child of node.children ?? []) collect(child, found);
}

function all(node: MarkdownNode, drawing: Drawing): ReactNode[] {
  return (node.children ?? []).map((child, i) => <Draw key={i} node={child} drawing={drawing} />);
}

const headings = ["h3", "h4", "h5", "h6", "h6", "h6"] as const;

function Draw({ node, drawing }: { node: MarkdownNode; drawing: Drawing }): ReactNode {
  switch (node.type) {
    case "text":
      return (node.value ?? "").replace(/[ \t]*(\r\n|\r|\n)[ \t]*/g, "$1");
    case "paragraph":
      return <p>{all(node, drawing)}</p>;
    case "heading": {
      // A message is itself under a heading of the page.
      const depth = Math.min(Math.max(node.depth ?? 1, 1), 6);
      const Tag = headings[depth - 1] ?? "h6";
      return <Tag className={`inlay-md-h${depth}`}>{all(node, drawing)}</Tag>;
    }
    case "emphasis":
      return <em>{all(node, drawing)}</em>;
    case "strong":
      return <strong>{all(node, drawing)}</strong>;
    case "delete":
      return <del>{all(node, drawing)}</del>;
    case "inlineCode":
      return <code>{(node.value ?? "").replace(/\r?\n|\r/g, " ")}</code>;
    case "code":
      return <CodePart code={node.value ?? ""} lang={node.lang ?? undefined} />;
    case "break":
      return (
        <>
          <br />
          {"\n"}
        </>
      );
    case "thematicBreak":
      return <hr />;
    case "blockquote":
      return <blockquote>{all(node, drawing)}</blockquote>;
    case "list":
      return <List node={node} drawing={drawing} />;
    case "table":
      return <Table node={node} drawing={drawing} />;
    case "link":
    case "linkReference": {
      const target = address(node, drawing);
      const href = safeHref(target?.url ?? "");
      if (href === "") return <span>{all(node, drawing)}</span>;
      return (
        <Anchor href={href} title={target?.title ?? undefined} allow={drawing.allow}>
          {all(node, drawing)}
        </Anchor>
      );
    }
    case "image":
    case "imageReference": {
      const src = address(node, drawing)?.url ?? "";
      return <Picture src={src} alt={node.alt ?? ""} allow={drawing.allow} />;
    }
    case "inlayMath":
      return (
        <MathView tex={node.tex ?? ""} display={node.display === true} source={node.value ?? ""} />
      );
    case "inlayNote": {
      const id = node.identifier ?? "";
      return (
        <sup>
          <a href={`#${drawing.notes}-${id}`}>{id}</a>
        </sup>
      );
    }
    default:
      return null;
  }
}

function address(node: MarkdownNode, drawing: Drawing): MarkdownNode | undefined {
  return node.type.endsWith("Reference") ? drawing.definitions.get(node.identifier ?? "") : node;
}

/** The mark of a task. It says itself whether it is done, since its text is no label of it. */
function Task({ done }: { done: boolean }) {
  const t = useT();
  const label = t(done ? "chat.block.text.done" : "chat.block.text.open");
  return <input type="checkbox" checked={done} disabled readOnly aria-label={label} />;
}

function List({ node, drawing }: { node: MarkdownNode; drawing: Drawing }) {
  const items = node.children ?? [];
  const loose = node.spread === true || items.some((item) => item.spread === true);
  const tasks = items.some((item) => typeof item.checked === "boolean");
  const drawn = items.map((item, i) => (
    <li key={i} className={typeof item.checked === "boolean" ? "task-list-item" : undefined}>
      {typeof item.checked === "boolean" && (
        <>
          <Task done={item.checked} />{" "}
        </>
      )}
      {(item.children ?? []).map((child, at) =>
        child.type === "paragraph" && (!loose || (at === 0 && item.checked != null)) ? (
          all(child, drawing)
        ) : (
          <Draw key={at} node={child} drawing={drawing} />
        ),
      )}
    </li>
  ));
  const className = tasks ? "contains-task-list" : undefined;
  if (node.ordered !== true) return <ul className={className}>{drawn}</ul>;
  return (
    <ol className={className} start={node.start === 1 ? undefined : (node.start ?? undefined)}>
      {drawn}
    </ol>
  );
}

function Table({ node, drawing }: { node: MarkdownNode; drawing: Drawing }) {
  const [head, ...body] = node.children ?? [];
  const row = (line: MarkdownNode, Cell: "th" | "td") =>
    (line.children ?? []).map((cell, i) => {
      const align = node.align?.[i];
      return (
        <Cell key={i} style={align ? { textAlign: align } : undefined}>
          {all(cell, drawing)}
        </Cell>
      );
    });
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the table scrolls sideways and must be reachable by keyboard
    <section className="inlay-scroll" aria-label={drawing.tableLabel} tabIndex={0}>
      <table className="inlay-md-table">
        {head && (
          <thead>
            <tr>{row(head, "th")}</tr>
          </thead>
        )}
        {body.length > 0 && (
          <tbody>
            {body.map((line, i) => (
              <tr key={i}>{row(line, "td")}</tr>
            ))}
          </tbody>
        )}
      </table>
    </section>
  );
}

function CodePart({ code, lang }: { code: string; lang: string | undefined }) {
  return <CodeView code={code} lang={lang?.toLowerCase()} streaming={useContext(Live)} />;
}

function Anchor({
  href,
  title,
  allow,
  children,
}: {
  href: string;
  title?: string | undefined;
  allow: AllowedHosts | undefined;
  children: ReactNode;
}) {
  const {
    navigation,
    allow: { routes },
  } = useInlay();
  const host = hostOf(href);
  const list = allow?.link_hosts ?? [];
  const name = host.replace(/:\d+$/, "");
  // With a list in force, a link to elsewhere says where it leads.
  const foreign =
    host !== "" && list.length > 0 && !hostListed(host, list) && !hostListed(name, list);
  if (href.startsWith("#")) {
    return <a href={href}>{children}</a>;
  }
  if (navigation && ownRoute(href, routes) && (navigation.knows?.(href) ?? true)) {
    const go = (event: MouseEvent) => {
      // With another button or a key held, the reader wants it elsewhere.
      if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) {
        return;
      }
      event.preventDefault();
      navigation.navigate(href);
    };
    return (
      <a href={href} title={title} onClick={go}>
        {children}
      </a>
    );
  }
  return (
    <a href={href} title={title ?? (host || undefined)} target="_blank" rel="noopener noreferrer">
      {children}
      {foreign ? <span className="inlay-md-host"> ({host})</span> : null}
    </a>
  );
}

function Picture({
  src,
  alt,
  allow,
}: {
  src: string;
  alt: string;
  allow: AllowedHosts | undefined;
}) {
  const t = useT();
  const place = imagePlace(src, allow);
  if (place.kind === "load") {
    return (
      <img
        className="inlay-md-image"
        src={place.src}
        alt={alt}
        loading="lazy"
        decoding="async"
        referrerPolicy="no-referrer"
      />
    );
  }
  if (place.kind === "none") {
    return alt === "" ? null : <span>{alt}</span>;
  }
  return (
    <span className="inlay-md-placeholder">
      <span>{alt === "" ? t("chat.block.image.unnamed") : alt}</span>{" "}
      <a href={place.href} target="_blank" rel="noopener noreferrer">
        {t("chat.block.image.open", { host: place.host })}
      </a>
    </span>
  );
}
