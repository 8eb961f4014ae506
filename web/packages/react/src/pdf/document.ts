// PDF.js, in one lazy chunk; its worker is a file of the page's own origin.
import type { InlayClient } from "@inlay-ui/client";
import {
  GlobalWorkerOptions,
  getDocument,
  PDFDataRangeTransport,
  type PDFDocumentLoadingTask,
  type PDFPageProxy,
} from "pdfjs-dist";
import { mapReader } from "./maps.ts";

export type { PDFDocumentProxy as PdfDocument, PDFPageProxy as PdfPage } from "pdfjs-dist";

/** Bytes asked for at once. */
const rangeSize = 1 << 18;
/** Pictures of more pixels than this are left out. */
const mostPixels = 1 << 25;

let worker: Worker | undefined;

function startWorker(): void {
  if (worker) return;
  worker = new Worker(new URL("pdfjs-dist/build/pdf.worker.min.mjs", import.meta.url), {
    type: "module",
  });
  GlobalWorkerOptions.workerPort = worker;
}

/** Reads a file in the parts that PDF.js asks for, through addresses that are renewed. */
class AssetTransport extends PDFDataRangeTransport {
  readonly #client: InlayClient;
  readonly #id: string;
  readonly #control = new AbortController();
  readonly #failed: (cause: unknown) => void;

  constructor(client: InlayClient, id: string, size: number, failed: (cause: unknown) => void) {
    super(size, null);
    this.#client = client;
    this.#id = id;
    this.#failed = failed;
  }

  override requestDataRange(begin: number, end: number): void {
    const { signal } = this.#control;
    this.#client
      .assetContent(this.#id, { range: [begin, end], signal })
      .then(async (response) => {
        const bytes = new Uint8Array(await response.arrayBuffer());
        // A server that knows no ranges answers with everything.
        const part = response.status === 206 ? bytes : bytes.slice(begin, end);
        if (!signal.aborted) this.onDataRange(begin, part);
      })
      .catch((cause: unknown) => {
        if (!signal.aborted) this.#failed(cause);
      });
  }

  override abort(): void {
    this.#control.abort();
  }
}

/** A document that is being opened; `close` gives back all that it holds. */
export interface Opening {
  ready: PDFDocumentLoadingTask["promise"];
  close(): void;
}

/** Opens a file of the server's as a document. Nothing in it is ever run. */
export function openDocument(client: InlayClient, id: string, size: number): Opening {
  startWorker();
  let failed: (cause: unknown) => void = () => {};
  const failure = new Promise<never>((_, reject) => {
    failed = reject;
  });
  failure.catch(() => {});
  const transport = new AssetTransport(client, id, size, (cause) => failed(cause));
  const task = getDocument({
    range: transport,
    rangeChunkSize: rangeSize,
    disableAutoFetch: true,
    disableStream: true,
    // The page's content security policy knows no eval and no WebAssembly.
    isEvalSupported: false,
    useWasm: false,
    enableXfa: false,
    useWorkerFetch: false,
    CMapReaderFactory: mapReader,
    cMapPacked: true,
    maxImageSize: mostPixels,
    verbosity: 0,
  });
  return {
    ready: Promise.race([task.promise, failure]),
    close: () => {
      transport.abort();
      void task.destroy();
    },
  };
}

/** Draws a page into a canvas, as wide as said; `cancel` ends it. */
export function drawPage(
  page: PDFPageProxy,
  canvas: HTMLCanvasElement,
  width: number,
): { done: Promise<void>; cancel: () => void } {
  const base = page.getViewport({ scale: 1 });
  const density = Math.min(2, window.devicePixelRatio || 1);
  // Some devices draw no canvas of more pixels.
  const most = Math.sqrt((1 << 24) / Math.max(1, base.width * base.height));
  const scale = Math.min((width / base.width) * density, most);
  const viewport = page.getViewport({ scale });
  canvas.width = Math.floor(viewport.width);
  canvas.height = Math.floor(viewport.height);
  const task = page.render({ canvas, viewport });
  return { done: task.promise, cancel: () => task.cancel() };
}

/** The words of a page, for those who do not see it. */
export async function pageText(page: PDFPageProxy): Promise<string> {
  const { items } = await page.getTextContent();
  let text = "";
  for (const item of items) if ("str" in item) text += item.str + (item.hasEOL ? "\n" : "");
  return text.trim();
}
