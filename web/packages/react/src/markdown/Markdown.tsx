import { memo, useEffect, useId, useMemo, useReducer, useRef } from "react";
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

/** Parts drawn and laid out together, so that a long answer costs little to look over again. */
const groupSize = 24;

interface GroupProps {
  pieces: readonly Piece[];
  /** The last part is still being written. */
  streaming: boolean;
  definitions: string;
  setting: Setting;
}

const Group = memo(
  function Group({ pieces, streaming, definitions, setting }: GroupProps) {
    return (
      <div>
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
  },
  (a, b) =>
    a.streaming === b.streaming &&
    a.definitions === b.definitions &&
    a.setting === b.setting &&
    a.pieces.length === b.pieces.length &&
    a.pieces.every((piece, i) => piece === b.pieces[i]),
);

/** What one drawing of a streaming text should take at most, and how long the next may wait. */
const drawingTime = 40;
const easyDrawing = 12;
const longestPause = 200;
const leastStep = 400;
const firstStep = 4000;

/**
 * The text to draw now. A text that streams faster than it can be drawn is
 * drawn in steps with pauses, so that the page stays free for its reader; the
 * rest follows, also after the stream's end.
 */
function usePaced(text: string, streaming: boolean): { text: string; live: boolean } {
  const shown = useRef(text);
  const next = useRef(0);
  const step = useRef(firstStep);
  const [, again] = useReducer((n: number) => n + 1, 0);
  const now = performance.now();
  const before = shown.current.length;
  if (!text.startsWith(shown.current) || (!streaming && text.length - before <= step.current)) {
    shown.current = text;
  } else if (now >= next.current) {
    let to = Math.min(text.length, before + step.current);
    if (to < text.length && /[\ud800-\udbff]/.test(text.charAt(to - 1))) {
      to--;
    }
    shown.current = text.slice(0, to);
  }
  const drawn = shown.current.length - before;
  const behind = shown.current.length < text.length;
  useEffect(() => {
    const end = performance.now();
    if (drawn > 0) {
      const cost = end - now;
      next.current = cost > easyDrawing ? end + Math.min(cost / 2, longestPause) : 0;
      if (drawn >= leastStep) {
        const fit = (drawn * drawingTime) / Math.max(cost, 1);
        step.current = Math.round(Math.max(leastStep, Math.min(fit, 4 * firstStep)));
      }
    }
    if (!behind) {
      return undefined;
    }
    const timer = setTimeout(again, Math.max(0, next.current - end));
    return () => clearTimeout(timer);
  });
  return { text: shown.current, live: streaming || behind };
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
 * markup in it is inert, foreign images are not fetched, and links open apart
 * but for those to paths of the page that are on its list of routes.
 */
export const Markdown = memo(function Markdown(props: MarkdownProps) {
  const { allow } = props;
  const t = useT();
  const { text, live: streaming } = usePaced(props.text, props.streaming ?? false);
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
  const groups: Piece[][] = [];
  for (let at = 0; at < pieces.length; at += groupSize) {
    groups.push(pieces.slice(at, at + groupSize));
  }
  return (
    <div className="inlay-md">
      {groups.map((group, i) => (
        <Group
          key={i}
          pieces={group}
          streaming={streaming && i === groups.length - 1}
          definitions={definitions}
          setting={setting}
        />
      ))}
    </div>
  );
});
