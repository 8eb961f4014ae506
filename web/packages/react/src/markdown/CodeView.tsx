import { Fragment, memo, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { copyText } from "../blocks/download.ts";
import { useT } from "../context.ts";
import { colouredLength, type TokenNode, useHighlighter } from "./highlight.ts";

function tokens(nodes: readonly TokenNode[]): ReactNode {
  return nodes.map((node, i) =>
    node.type === "text" ? (
      <Fragment key={i}>{node.value}</Fragment>
    ) : (
      <span key={i} className={(node.properties.className ?? []).join(" ")}>
        {tokens(node.children)}
      </span>
    ),
  );
}

/** A button that copies text and says so. */
export function CopyButton({ text, label }: { text: string; label?: string }) {
  const t = useT();
  const [done, setDone] = useState<boolean | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async (): Promise<void> => {
    setDone(await copyText(text));
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setDone(null), 1600);
  };
  const idle = label ?? t("chat.block.copy");
  return (
    <button type="button" className="inlay-quiet" onClick={() => void copy()}>
      <span aria-live="polite">
        {done === null ? idle : done ? t("chat.block.copied") : t("chat.block.copyFailed")}
      </span>
    </button>
  );
}

interface CodeProps {
  code: string;
  lang?: string | undefined;
  filename?: string | undefined;
  /** More of the code is to come. */
  streaming?: boolean | undefined;
}

/** The code itself, coloured once its language's chunk is there. */
export const CodeText = memo(function CodeText({ code, lang, streaming = false }: CodeProps) {
  const name = lang ?? "";
  const highlighter = useHighlighter(name !== "" && name !== "text" && name !== "plaintext");
  const length = highlighter ? colouredLength(code, streaming) : 0;
  const head = code.slice(0, length);
  const coloured = useMemo(
    () => (highlighter && head !== "" ? highlighter(name, head) : null),
    [highlighter, name, head],
  );
  return (
    <code>
      {coloured ? tokens(coloured) : head}
      {code.slice(length)}
    </code>
  );
});

/** A block of code with its language and a copy button. */
export const CodeView = memo(function CodeView({ code, lang, filename, streaming }: CodeProps) {
  const t = useT();
  const title = filename ?? lang ?? "";
  return (
    <figure className="inlay-code">
      <figcaption className="inlay-code-head">
        <span className="inlay-code-lang">{title}</span>
        <CopyButton text={code} label={t("chat.block.copy")} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the code scrolls sideways and must be reachable by keyboard */}
      <pre className="inlay-scroll" tabIndex={0}>
        <CodeText code={code} lang={lang} streaming={streaming} />
      </pre>
    </figure>
  );
});
