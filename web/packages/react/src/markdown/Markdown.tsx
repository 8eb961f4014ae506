import { memo, useId, useMemo, useRef } from "react";
import { useT } from "../context.ts";
import { CodeView } from "./CodeView.tsx";
import type { AllowedHosts } from "./links.ts";
import { MathView } from "./MathView.tsx";
import { displayMath } from "./math.ts";
import { fenceParts, settle } from "./settle.ts";
import { linkDefinitions, type Piece, splitMarkdown } from "./split.ts";
import { Live, type Setting, Source } from "./tree.tsx";

interface PartProps {
  text: string;
  kind: Piece["kind"];
  closed: boolean;
  streaming: boolean;
  definitions: string;
  setting: Setting;
}

/** One top-level part; drawn again only when its own text changes. */
const Part = memo(function Part({
  text,
  kind,
  closed,
  streaming,
  definitions,
  setting,
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
        <div className="inlay-md-note" id={`${setting.notes}-${m[1]}`}>
          <sup>{m[1]}</sup>
          <div>
            <Source text={body} setting={setting} />
          </div>
        </div>
      );
    }
  }
  const source = definitions === "" ? shown : `${shown}\n\n${definitions}`;
  return (
    <Live.Provider value={streaming}>
      <Source text={source} setting={setting} />
    </Live.Provider>
  );
});

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
  const setting = useMemo<Setting>(
    () => ({ allow, notes, tableLabel }),
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
          setting={setting}
        />
      ))}
    </div>
  );
});
