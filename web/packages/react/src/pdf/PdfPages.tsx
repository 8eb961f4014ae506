import { useEffect, useRef, useState } from "react";
import { AssetNote, codeOf } from "../blocks/asset.tsx";
import { useInlay, useT } from "../context.ts";
import { Skeleton } from "../Skeleton.tsx";
import { drawPage, openDocument, type PdfDocument, type PdfPage, pageText } from "./document.ts";

/** What went wrong with a document, in words. */
function troubleKey(cause: unknown): string | null {
  const name = cause instanceof Error ? cause.name : "";
  if (name === "PasswordException") return "chat.block.pdf.locked";
  if (name === "InvalidPDFException" || name === "FormatError") return "chat.block.pdf.broken";
  return codeOf(cause) === "other" ? "chat.block.pdf.broken" : null;
}

/** The pages of a document, the first `most` of them; those far from sight are not drawn. */
export function PdfPages({
  assetId,
  most,
  onCount,
}: {
  assetId: string;
  most?: number;
  onCount?: (pages: number) => void;
}) {
  const { client } = useInlay();
  const t = useT();
  const [pdf, setPdf] = useState<PdfDocument | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [turn, setTurn] = useState(0);
  const tell = useRef(onCount);
  tell.current = onCount;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another turn opens it again
  useEffect(() => {
    let closed = false;
    setPdf(null);
    setError(null);
    const opening = openDocument(client, assetId);
    opening.ready.then(
      (opened) => {
        if (closed) return;
        setPdf(opened);
        tell.current?.(opened.numPages);
      },
      (cause: unknown) => {
        if (!closed) setError(cause);
      },
    );
    return () => {
      closed = true;
      opening.close();
    };
  }, [client, assetId, turn]);
  if (error) {
    const key = troubleKey(error);
    return key ? (
      <p className="inlay-block-note" data-tone="error">
        {t(key)}
      </p>
    ) : (
      <AssetNote error={error} onAgain={() => setTurn(turn + 1)} />
    );
  }
  if (!pdf) return <Skeleton height={360} />;
  const count = Math.min(pdf.numPages, most ?? pdf.numPages);
  return (
    <div className="inlay-pdf-pages">
      {Array.from({ length: count }, (_, i) => (
        <Page key={i} pdf={pdf} number={i + 1} />
      ))}
    </div>
  );
}

function Page({ pdf, number }: { pdf: PdfDocument; number: number }) {
  const t = useT();
  const place = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [near, setNear] = useState(typeof IntersectionObserver !== "function");
  const [page, setPage] = useState<PdfPage | null>(null);
  const [text, setText] = useState("");
  const [failed, setFailed] = useState(false);
  const [width, setWidth] = useState(0);

  useEffect(() => {
    const element = place.current;
    if (!element || typeof IntersectionObserver !== "function") return;
    const observer = new IntersectionObserver(
      (entries) => {
        const last = entries.at(-1);
        if (last) setNear(last.isIntersecting);
      },
      { rootMargin: "600px" },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const element = place.current;
    if (!element || typeof ResizeObserver !== "function") return;
    const observer = new ResizeObserver(() => setWidth(Math.round(element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (!near || page) return;
    let gone = false;
    pdf.getPage(number).then(
      (got) => {
        if (!gone) setPage(got);
      },
      () => {
        if (!gone) setFailed(true);
      },
    );
    return () => {
      gone = true;
    };
  }, [pdf, number, near, page]);
  useEffect(() => {
    let gone = false;
    if (page) {
      pageText(page).then(
        (words) => {
          if (!gone) setText(words);
        },
        // A page without words is still a picture.
        () => {},
      );
    }
    return () => {
      gone = true;
    };
  }, [page]);
  useEffect(() => {
    const element = canvas.current;
    if (!near || !page || !element) return;
    const drawing = drawPage(page, element, width || 640);
    drawing.done.catch((cause: unknown) => {
      if (!(cause instanceof Error && cause.name === "RenderingCancelledException")) {
        setFailed(true);
      }
    });
    return () => {
      drawing.cancel();
      // The memory of a page that is out of sight is given back.
      element.width = 0;
      element.height = 0;
    };
  }, [near, page, width]);
  const box = page?.getViewport({ scale: 1 });
  const ratio = box ? `${box.width} / ${box.height}` : "210 / 297";
  const label = t("chat.block.pdf.page", { page: number, pages: pdf.numPages });
  return (
    <div ref={place} className="inlay-pdf-page" style={{ aspectRatio: ratio }} data-page={number}>
      {failed ? (
        <p className="inlay-empty">{t("chat.block.pdf.pageFailed", { page: number })}</p>
      ) : (
        <canvas ref={canvas} role="img" aria-label={label} />
      )}
      {text ? <p className="inlay-visually-hidden">{text}</p> : null}
    </div>
  );
}
