import { DownloadButton } from "../blocks/DownloadButton.tsx";
import { Viewer } from "../blocks/Viewer.tsx";
import { PdfPages } from "./PdfPages.tsx";

/** A whole document over the page. */
export default function PdfViewer({
  assetId,
  name,
  onClose,
}: {
  assetId: string;
  name: string;
  onClose: () => void;
}) {
  return (
    <Viewer title={name} onClose={onClose} tools={<DownloadButton assetId={assetId} />}>
      <section
        className="inlay-viewer-scroll inlay-viewer-pdf"
        aria-label={name}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the pages scroll and must be reachable by keyboard
        tabIndex={0}
      >
        <PdfPages assetId={assetId} />
      </section>
    </Viewer>
  );
}
