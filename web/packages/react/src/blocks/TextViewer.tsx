import { useCallback, useEffect, useRef, useState } from "react";
import { useInlay, useT } from "../context.ts";
import { AssetNote } from "./asset.tsx";
import { DownloadButton } from "./DownloadButton.tsx";
import { Viewer } from "./Viewer.tsx";

/** Lines asked for at once. */
export const textPage = 500;

/** How many lines a part of a text has. */
export function linesOf(text: string): number {
  if (text === "") return 0;
  return text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

/** A text file over the page, some hundred lines at a time. The server knows its encoding. */
export default function TextViewer({
  assetId,
  name,
  onClose,
}: {
  assetId: string;
  name: string;
  onClose: () => void;
}) {
  const { client } = useInlay();
  const t = useT();
  const [text, setText] = useState("");
  const [next, setNext] = useState(0);
  const [state, setState] = useState<"loading" | "more" | "whole" | "failed">("loading");
  const [error, setError] = useState<unknown>(null);
  const open = useRef(true);
  useEffect(() => {
    open.current = true;
    return () => {
      open.current = false;
    };
  }, []);

  const load = useCallback(
    async (offset: number) => {
      setState("loading");
      setError(null);
      try {
        const part = await client.assetPreview(assetId, { offset, limit: textPage });
        if (part.kind !== "text") throw new Error(`a text was answered with ${part.kind}`);
        if (!open.current) return;
        const { text: arrived } = part;
        const lines = linesOf(arrived);
        setText((old) => (offset === 0 ? arrived : `${old.replace(/\n?$/, "\n")}${arrived}`));
        setNext(offset + lines);
        setState(part.more && lines > 0 ? "more" : "whole");
      } catch (cause) {
        if (!open.current) return;
        setError(cause);
        setState("failed");
      }
    },
    [client, assetId],
  );
  useEffect(() => {
    void load(0);
  }, [load]);

  return (
    <Viewer title={name} onClose={onClose} tools={<DownloadButton assetId={assetId} />}>
      <div
        className="inlay-viewer-scroll"
        role="document"
        aria-label={name}
        aria-busy={state === "loading"}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the text scrolls and must be reachable by keyboard
        tabIndex={0}
      >
        <pre className="inlay-viewer-text" dir="auto">
          {text}
        </pre>
        {state === "more" ? (
          <button
            type="button"
            className="inlay-button inlay-viewer-more"
            onClick={() => void load(next)}
          >
            {t("chat.block.file.more")}
          </button>
        ) : null}
      </div>
      {error ? <AssetNote error={error} onAgain={() => void load(next)} /> : null}
    </Viewer>
  );
}
