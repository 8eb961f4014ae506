import { useState } from "react";
import { useT } from "../context.ts";
import { PdfPages } from "./PdfPages.tsx";

/** The first pages of a document inside a message. */
export default function PdfPreview({
  assetId,
  name,
  most,
}: {
  assetId: string;
  name: string;
  most: number;
}) {
  const t = useT();
  const [count, setCount] = useState(0);
  return (
    <>
      <section
        className="inlay-scroll inlay-pdf-look"
        aria-label={name}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the pages scroll and must be reachable by keyboard
        tabIndex={0}
      >
        <PdfPages assetId={assetId} most={most} onCount={setCount} />
      </section>
      {count > most ? (
        <p className="inlay-block-note">{t("chat.block.pdf.some", { shown: most, count })}</p>
      ) : null}
    </>
  );
}
