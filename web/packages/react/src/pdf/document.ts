// PDF.js, in one lazy chunk; its worker is a file of the page's own origin.
import type { InlayClient } from "@inlay-ui/client";
import {
  GlobalWorkerOptions,
  getDocument,
  PDFDataRangeTransport,
  type PDFDocumentLoadingTask,
  type PDFDocumentProxy,
  type PDFPageProxy,
} from "pdfjs-dist";
import { MapReader } from "./maps.ts";

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

const settings = {
  rangeChunkSize: rangeSize,
  disableAutoFetch: true,
  disableStream: true,
  // The page's content security policy knows no eval and no WebAssembly.
  isEvalSupported: false,
  useWasm: false,
  enableXfa: false,
  useWorkerFetch: false,
  CMapReaderFactory: MapReader,
  cMapPacked: true,
  maxImageSize: mostPixels,
  verbosity: 0,
};

/** Reads a file in the parts that PDF.js asks for, through addresses that are renewed. */
class AssetTransport extends PDFDataRangeTransport {
  readonly #client: InlayClient;
  readonly #id: string;
  readonly #signal: AbortSignal;
  readonly #failed: (cause: unknown) => void;

  constructor(
    client: InlayClient,
    id: string,
    size: number,
    begin: Uint8Array,
    signal: AbortSignal,
    failed: (cause: unknown) => void,
  ) {
    super(size, begin);
    this.#client = client;
    this.#id = id;
    this.#signal = signal;
    this.#failed = failed;
  }

  override requestDataRange(begin: number, end: number): void {
    const signal = this.#signal;
    this.#client
      .assetContent(this.#id, { range: [begin, end], signal })
      .then(async (response) => {
        const bytes = new Uint8Array(await response.arrayBuffer());
        if (!signal.aborted) this.onDataRange(begin, bytes);
      })
      .catch((cause: unknown) => {
        if (!signal.aborted) this.#failed(cause);
      });
  }
}

/** A document that is being opened; `close` gives back all that it holds. */
export interface Opening {
  ready: Promise<PDFDocumentProxy>;
  close(): void;
}

/**
 * Opens a file of the server's as a document. The beginning is asked for
 * first; it tells how long the file is, and whether it comes in parts at all.
 * Nothing in a document is ever run.
 */
export function openDocument(client: InlayClient, id: string): Opening {
  startWorker();
  const control = new AbortController();
  const { signal } = control;
  let task: PDFDocumentLoadingTask | undefined;
  const open = async (): Promise<PDFDocumentProxy> => {
    const response = await client.assetContent(id, { range: [0, rangeSize], signal });
    const begin = new Uint8Array(await response.arrayBuffer());
    const size = Number(/\/(\d+)$/.exec(response.headers.get("Content-Range") ?? "")?.[1] ?? 0);
    signal.throwIfAborted();
    if (response.status !== 206 || size <= begin.length) {
      task = getDocument({ ...settings, data: begin });
      return task.promise;
    }
    return new Promise((resolve, reject) => {
      const range = new AssetTransport(client, id, size, begin, signal, reject);
      task = getDocument({ ...settings, range });
      task.promise.then(resolve, reject);
    });
  };
  return {
    ready: open(),
    close: () => {
      control.abort();
      void task?.destroy();
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
