import { createContext, memo, type ReactNode, useContext, useId, useMemo, useRef } from "react";
import ReactMarkdown, { type Components, type Options } from "react-markdown";
import { harden } from "rehype-harden";
import remarkCjkFriendly from "remark-cjk-friendly";
import remarkGfm from "remark-gfm";
import { useT } from "../context.ts";
import { CodeView } from "./CodeView.tsx";
import { type AllowedHosts, hostListed, hostOf, imagePlace, safeHref } from "./links.ts";
import { MathView } from "./MathView.tsx";
import { displayMath, extractMath } from "./math.ts";
import { inlayMarks } from "./plugin.ts";
import { fenceParts, settle } from "./settle.ts";
import { linkDefinitions, type Piece, splitMarkdown } from "./split.ts";

interface HastNode {
  type: string;
  value?: string;
  tagName?: string;
  properties?: Record<string, unknown>;
  children?: HastNode[];
}

function textOf(node: HastNode | undefined): string {
  return node?.value ?? (node?.children ?? []).map(textOf).join("");
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
  const host = hostOf(href);
  const list = allow?.link_hosts ?? [];
  const name = host.replace(/:\d+$/, "");
  // With a list in force, a link to elsewhere says where it leads.
  const foreign =
    host !== "" && list.length > 0 && !hostListed(host, list) && !hostListed(name, list);
  if (href.startsWith("#")) {
    return <a href={href}>{children}</a>;
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

// Whether the part around is still being written. It is no property of the
// components, which must stay the same for React to keep what they drew.
const Live = createContext(false);

function CodePart({ code, lang }: { code: string; lang: string | undefined }) {
  return <CodeView code={code} lang={lang} streaming={useContext(Live)} />;
}

function heading(Tag: "h3" | "h4" | "h5" | "h6", level: number) {
  return function Heading({ children }: { children?: ReactNode }) {
    return <Tag className={`inlay-md-h${level}`}>{children}</Tag>;
  };
}

// A message is itself under a heading of the page.
const headings = {
  h1: heading("h3", 1),
  h2: heading("h4", 2),
  h3: heading("h5", 3),
  h4: heading("h6", 4),
  h5: heading("h6", 5),
  h6: heading("h6", 6),
};

function componentsFor(
  allow: AllowedHosts | undefined,
  notes: string,
  tableLabel: string,
): Components {
  return {
    ...headings,
    a: ({ href, title, children }) => {
      const target = safeHref(href ?? "");
      return target === "" ? (
        <span>{children}</span>
      ) : (
        <Anchor href={target} title={title} allow={allow}>
          {children}
        </Anchor>
      );
    },
    img: ({ src, alt }) => (
      <Picture src={typeof src === "string" ? src : ""} alt={alt ?? ""} allow={allow} />
    ),
    pre: ({ node }) => {
      const code = (node as HastNode | undefined)?.children?.find((c) => c.tagName === "code");
      const classes = code?.properties?.className;
      const lang = Array.isArray(classes)
        ? classes
            .map(String)
            .find((c) => c.startsWith("language-"))
            ?.slice(9)
        : undefined;
      return <CodePart code={textOf(code).replace(/\n$/, "")} lang={lang?.toLowerCase()} />;
    },
    table: ({ children }) => (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the table scrolls sideways and must be reachable by keyboard
      <section className="inlay-scroll" aria-label={tableLabel} tabIndex={0}>
        <table className="inlay-md-table">{children}</table>
      </section>
    ),
    span: ({ node, children, ...rest }) => {
      const { dataTex, dataDisplay } = (node as HastNode | undefined)?.properties ?? {};
      return typeof dataTex === "string" ? (
        <MathView
          tex={dataTex}
          display={dataDisplay === "block"}
          source={textOf(node as HastNode)}
        />
      ) : (
        <span {...rest}>{children}</span>
      );
    },
    sup: ({ node, children }) => {
      const id = (node as HastNode | undefined)?.properties?.dataNote;
      return (
        <sup>{typeof id === "string" ? <a href={`#${notes}-${id}`}>{children}</a> : children}</sup>
      );
    },
  };
}

// Links and images pass twice: this keeps what is no web or mail address out of
// the tree, the components above decide by host.
const rehypePlugins: Options["rehypePlugins"] = [
  [
    harden,
    {
      allowedLinkPrefixes: ["*"],
      allowedImagePrefixes: ["*"],
      linkBlockPolicy: "text-only",
      imageBlockPolicy: "text-only",
    },
  ],
];

interface PartProps {
  text: string;
  kind: Piece["kind"];
  closed: boolean;
  streaming: boolean;
  definitions: string;
  components: Components;
  notes: string;
}

/** One top-level part; drawn again only when its own text changes. */
const Part = memo(function Part({
  text,
  kind,
  closed,
  streaming,
  definitions,
  components,
  notes,
}: PartProps) {
  const shown = streaming ? settle({ start: 0, text, kind, closed }) : text;
  if (shown.trim() === "") {
    return null;
  }
  if (kind === "fence") {
    const { lang, code } = fenceParts(shown);
    return (
      <CodeView
        code={code}
        lang={lang === "" ? undefined : lang}
        streaming={streaming && !closed}
      />
    );
  }
  if (kind === "math") {
    const math = displayMath(shown);
    if (math) {
      return <MathView tex={math.tex} display source={math.source} />;
    }
  }
  if (kind === "footnote") {
    const m = /^\[\^([^\]\s]+)\]:\s*/.exec(shown);
    if (m) {
      const body = shown.slice(m[0].length).replace(/\n {2,4}/g, "\n");
      return (
        <div className="inlay-md-note" id={`${notes}-${m[1]}`}>
          <sup>{m[1]}</sup>
          <div>
            <Source text={body} components={components} />
          </div>
        </div>
      );
    }
  }
  const source = definitions === "" ? shown : `${shown}\n\n${definitions}`;
  return (
    <Live.Provider value={streaming}>
      <Source text={source} components={components} />
    </Live.Provider>
  );
});

function Source({ text, components }: { text: string; components: Components }) {
  const { text: source, spans } = extractMath(text);
  return (
    <ReactMarkdown
      remarkPlugins={[[remarkGfm, { singleTilde: false }], remarkCjkFriendly, inlayMarks(spans)]}
      rehypePlugins={rehypePlugins}
      components={components}
      urlTransform={safeHref}
    >
      {source}
    </ReactMarkdown>
  );
}

/** Properties of {@link Markdown}. */
export interface MarkdownProps {
  text: string;
  /** More text is to come; what is half written at the end is held back or closed. */
  streaming?: boolean;
  allow?: AllowedHosts | undefined;
}

/**
 * Markdown as a message shows it: GitHub's dialect, formulas, coloured code;
 * markup in it is inert, links open apart, foreign images are not fetched.
 */
export const Markdown = memo(function Markdown({ text, streaming = false, allow }: MarkdownProps) {
  const t = useT();
  const notes = `note-${useId().replaceAll(":", "")}`;
  const before = useRef<{ text: string; pieces: Piece[] }>(undefined);
  const pieces = useMemo(() => splitMarkdown(text, before.current), [text]);
  before.current = { text, pieces };
  const definitions = linkDefinitions(streaming ? pieces.slice(0, -1) : pieces);
  const tableLabel = t("chat.block.text.table");
  const components = useMemo(
    () => componentsFor(allow, notes, tableLabel),
    [allow, notes, tableLabel],
  );
  return (
    <div className="inlay-md">
      {pieces.map((piece, i) => (
        <Part
          key={piece.start}
          text={piece.text}
          kind={piece.kind}
          closed={piece.closed}
          streaming={streaming && i === pieces.length - 1}
          definitions={piece.text.includes("[") ? definitions : ""}
          components={components}
          notes={notes}
        />
      ))}
    </div>
  );
});
