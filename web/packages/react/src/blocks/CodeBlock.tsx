import type { CodePayload } from "@inlay-ui/client";
import { useT } from "../context.ts";
import { CodeText, CopyButton } from "../markdown/CodeView.tsx";
import type { BlockProps } from "../registry.ts";

/** Draws a `code` block: coloured source with its file name and a copy button. */
export default function CodeBlock({ block, payload, loading }: BlockProps<CodePayload>) {
  const t = useT();
  const source = payload.source.replace(/\n$/, "");
  // A name that stands above as the title is not said twice.
  const named = payload.filename === block.meta?.title ? undefined : payload.filename;
  const lines = source === "" ? 0 : source.split("\n").length;
  return (
    <figure className="inlay-code inlay-code-framed">
      <figcaption className="inlay-code-head">
        <span className="inlay-code-lang">{named ?? payload.lang}</span>
        <span className="inlay-muted">{t("chat.block.code.lines", { count: lines })}</span>
        <CopyButton text={payload.source} />
      </figcaption>
      <pre
        className={lines > 24 ? "inlay-scroll inlay-code-long" : "inlay-scroll"}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the code scrolls and must be reachable by keyboard
        tabIndex={0}
      >
        <CodeText code={source} lang={payload.lang.toLowerCase()} streaming={loading} />
      </pre>
    </figure>
  );
}
