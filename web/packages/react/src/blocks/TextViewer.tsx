import { useEffect, useState } from "react";
import { useInlay, useT } from "../context.ts";
import { AssetNote } from "./asset.tsx";
import { DownloadButton } from "./DownloadButton.tsx";
import { Viewer } from "./Viewer.tsx";

/** The most bytes of a text that are shown at once. */
export const mostText = 1 << 20;

/** Reads a text as UTF-8, else as the encoding that most old Chinese files have. */
export function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, wholeEnd(bytes)));
  } catch {
    return new TextDecoder("gb18030").decode(bytes);
  }
}

/** Where the last character ends that is complete: a part of a file may end within one. */
function wholeEnd(bytes: Uint8Array): number {
  for (let at = bytes.length - 1; at >= 0 && at > bytes.length - 4; at--) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x80) break;
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return at + length > bytes.length ? at : bytes.length;
    }
  }
  return bytes.length;
}

/** A text file over the page. */
export default function TextViewer({
  assetId,
  name,
  size,
  onClose,
}: {
  assetId: string;
  name: string;
  size: number;
  onClose: () => void;
}) {
  const { client } = useInlay();
  const t = useT();
  const [text, setText] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [turn, setTurn] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another turn asks again
  useEffect(() => {
    const control = new AbortController();
    const { signal } = control;
    setError(null);
    const range: [number, number] = [0, Math.min(size, mostText)];
    client
      .assetContent(assetId, size > mostText ? { range, signal } : { signal })
      .then(async (response) => {
        const bytes = new Uint8Array(await response.arrayBuffer());
        setText(decodeText(bytes.subarray(0, mostText)));
      })
      .catch((cause: unknown) => {
        if (!signal.aborted) setError(cause);
      });
    return () => control.abort();
  }, [client, assetId, size, turn]);
  return (
    <Viewer title={name} onClose={onClose} tools={<DownloadButton assetId={assetId} />}>
      {error ? <AssetNote error={error} onAgain={() => setTurn(turn + 1)} /> : null}
      <pre
        className="inlay-viewer-scroll inlay-viewer-text"
        dir="auto"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the text scrolls and must be reachable by keyboard
        tabIndex={0}
        aria-busy={text === null && error === null}
      >
        {text}
      </pre>
      {size > mostText ? (
        <p className="inlay-block-note">{t("chat.block.file.beginning")}</p>
      ) : null}
    </Viewer>
  );
}
