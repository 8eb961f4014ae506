import type { FilePayload, FileProgress } from "@inlay-ui/client";
import { lazy, Suspense, useState } from "react";
import { useInlay, useT } from "../context.ts";
import type { BlockProps } from "../registry.ts";
import { Skeleton } from "../Skeleton.tsx";
import { AssetImage } from "./AssetImage.tsx";
import { AssetNote, FileIcon, kindText, sizeText, useDownload } from "./asset.tsx";
import { hasHead, PreviewGrid } from "./PreviewGrid.tsx";
import { WhenSeen } from "./WhenSeen.tsx";

const SheetViewer = lazy(() => import("./SheetViewer.tsx"));
const PdfPreview = lazy(() => import("../pdf/PdfPreview.tsx"));
const PdfViewer = lazy(() => import("../pdf/PdfViewer.tsx"));
const TextViewer = lazy(() => import("./TextViewer.tsx"));
const ImageViewer = lazy(() => import("./ImageViewer.tsx"));

/** Pages of a document that are shown in the message itself. */
export const previewPages = 3;

/** How far a file is that is being produced, and a way to stop that. */
function Progress({ progress, messageId }: { progress: FileProgress; messageId: string }) {
  const { lang, client } = useInlay();
  const t = useT();
  const [stopping, setStopping] = useState(false);
  const number = new Intl.NumberFormat(lang);
  const { done, total, unit } = progress;
  const share = total !== undefined && total > 0 ? Math.min(1, done / total) : undefined;
  const stage = progress.stage ?? t("chat.block.file.making");
  const count =
    share === undefined
      ? done > 0
        ? number.format(done)
        : ""
      : t("chat.block.file.of", { done: number.format(done), total: number.format(total ?? 0) });
  const amount = count && unit ? `${count} ${unit}` : count;
  return (
    <div className="inlay-file-progress">
      <div className="inlay-file-stage">
        <span>{stage}</span>
        <span className="inlay-muted inlay-figures">{amount}</span>
      </div>
      <progress
        className="inlay-progress"
        max={1}
        {...(share === undefined ? {} : { value: share })}
        aria-label={stage}
        aria-valuetext={
          share === undefined
            ? amount || stage
            : `${new Intl.NumberFormat(lang, { style: "percent" }).format(share)} ${amount}`
        }
      />
      <button
        type="button"
        className="inlay-button inlay-file-stop"
        aria-disabled={stopping}
        onClick={() => {
          if (stopping) return;
          setStopping(true);
          // What came of it is in the message; a try that did not get there may be made again.
          client.stop(messageId).catch(() => setStopping(false));
        }}
      >
        {t("chat.block.cancel")}
      </button>
    </div>
  );
}

/** Draws a `file` block: what it is, a look into it, and ways to open and save it. */
export default function FileBlock({ block, payload, messageId }: BlockProps<FilePayload>) {
  if (payload.progress) return <Progress progress={payload.progress} messageId={messageId} />;
  return <File payload={payload} named={block.meta?.title === payload.name} />;
}

/** A file that is there; `named` when its name already stands above it. */
function File({ payload, named }: { payload: FilePayload; named: boolean }) {
  const { lang } = useInlay();
  const t = useT();
  const [open, setOpen] = useState(false);
  const save = useDownload(payload.assetId);
  const { name, mime, size, preview } = payload;
  const kind = preview?.kind ?? "none";
  const facts = [kindText(mime, name, t), sizeText(size, lang)];
  if (preview?.kind === "pdf" && preview.pages !== undefined) {
    facts.push(t("chat.block.file.pages", { count: preview.pages }));
  }
  if (preview?.kind === "table") {
    const { rows = [], total = rows.length } = preview;
    const count = total - (hasHead(rows) ? 1 : 0);
    const words = { count, rows: new Intl.NumberFormat(lang).format(count) };
    if (count > 0) facts.push(t("chat.block.file.rows", words));
  }
  if (preview?.kind === "image" && preview.width && preview.height) {
    facts.push(`${preview.width} × ${preview.height}`);
  }
  return (
    <div className="inlay-file">
      <div className="inlay-file-head">
        <FileIcon mime={mime} />
        <div className="inlay-file-words">
          {named ? null : (
            <span className="inlay-file-title" dir="auto">
              {name}
            </span>
          )}
          <span className="inlay-muted inlay-figures">{facts.join(" · ")}</span>
        </div>
        <div className="inlay-file-tools">
          {kind === "none" ? null : (
            <button
              type="button"
              className="inlay-button"
              aria-haspopup="dialog"
              aria-label={t("chat.block.file.openNamed", { name })}
              onClick={() => setOpen(true)}
            >
              {t("chat.block.file.open")}
            </button>
          )}
          <button
            type="button"
            className="inlay-button"
            aria-label={t("chat.block.file.downloadNamed", { name })}
            aria-disabled={save.busy}
            onClick={() => {
              if (!save.busy) save.download();
            }}
          >
            {t("chat.block.file.download")}
          </button>
        </div>
      </div>
      {save.error ? <AssetNote error={save.error} onAgain={save.download} /> : null}
      <Look payload={payload} onOpen={() => setOpen(true)} />
      {open ? <Opened payload={payload} onClose={() => setOpen(false)} /> : null}
    </div>
  );
}

/** The look into a file inside the message. */
function Look({ payload, onOpen }: { payload: FilePayload; onOpen: () => void }) {
  const t = useT();
  const { preview, assetId, name } = payload;
  switch (preview?.kind) {
    case "image":
      return (
        <button
          type="button"
          className="inlay-image-open"
          aria-haspopup="dialog"
          aria-label={t("chat.block.image.enlarge", { alt: name })}
          onClick={onOpen}
        >
          <AssetImage
            image={{ assetId, alt: name, width: preview.width, height: preview.height }}
            variant="thumb"
          />
        </button>
      );
    case "table":
      return <PreviewGrid rows={preview.rows ?? []} label={name} most={8} />;
    case "pdf":
      return (
        <WhenSeen height={360}>
          <Suspense fallback={<Skeleton height={360} />}>
            <PdfPreview assetId={assetId} name={name} most={previewPages} />
          </Suspense>
        </WhenSeen>
      );
    case "text":
      return (
        <>
          <pre
            className="inlay-scroll inlay-file-text"
            dir="auto"
            // biome-ignore lint/a11y/noNoninteractiveTabindex: the text scrolls and must be reachable by keyboard
            tabIndex={0}
          >
            {preview.text}
          </pre>
          {preview.truncated ? (
            <p className="inlay-block-note">{t("chat.block.file.beginning")}</p>
          ) : null}
        </>
      );
    default:
      return null;
  }
}

/** The whole of a file over the page. */
function Opened({ payload, onClose }: { payload: FilePayload; onClose: () => void }) {
  const { assetId, name, preview } = payload;
  return (
    <Suspense fallback={null}>
      {preview?.kind === "table" ? (
        <SheetViewer assetId={assetId} name={name} preview={preview} onClose={onClose} />
      ) : preview?.kind === "pdf" ? (
        <PdfViewer assetId={assetId} name={name} onClose={onClose} />
      ) : preview?.kind === "image" ? (
        <ImageViewer
          image={{ assetId, alt: name, width: preview.width, height: preview.height }}
          title={name}
          onClose={onClose}
        />
      ) : (
        <TextViewer assetId={assetId} name={name} onClose={onClose} />
      )}
    </Suspense>
  );
}
