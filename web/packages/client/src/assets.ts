import { InlayError, networkError, responseError } from "./errors.ts";
import type { Asset, AssetUrl } from "./types.ts";

/** How long before its end an address counts as over. */
const RENEW_MS = 30_000;

/** How a file is asked for. */
export interface AssetUrlOptions {
  /** `attachment` makes a browser save it. `inline` when absent. */
  disposition?: "inline" | "attachment";
  /** `thumb` is a small picture of an image. */
  variant?: "thumb";
  /** Asks the server even where a known address should still do. */
  fresh?: boolean;
}

/** What {@link InlayClient.upload} takes beside the bytes. */
export interface UploadOptions {
  /** The file's name for people; that of a File when absent. */
  name?: string;
  /** Called as bytes leave; where the browser tells nothing of it, only at the end. */
  onProgress?: (sent: { loaded: number; total: number }) => void;
  /** Its abort ends the upload; the promise rejects with its reason. */
  signal?: AbortSignal;
}

/** Signed addresses of files, each asked for once until shortly before it ends. */
export class AddressBook {
  readonly #known = new Map<string, { url: Promise<AssetUrl>; until: number }>();
  readonly #ask: (id: string, query: string) => Promise<AssetUrl>;

  constructor(ask: (id: string, query: string) => Promise<AssetUrl>) {
    this.#ask = ask;
  }

  get(id: string, { disposition, variant, fresh }: AssetUrlOptions = {}): Promise<AssetUrl> {
    const params = new URLSearchParams({ disposition: disposition ?? "inline" });
    if (variant) params.set("variant", variant);
    const query = params.toString();
    const key = `${id}?${query}`;
    const known = this.#known.get(key);
    if (known && !fresh && Date.now() < known.until) return known.url;
    const entry = { url: this.#ask(id, query), until: Number.POSITIVE_INFINITY };
    this.#known.set(key, entry);
    entry.url.then(
      ({ expiresAt }) => {
        entry.until = expiresAt - RENEW_MS;
      },
      () => {
        if (this.#known.get(key) === entry) this.#known.delete(key);
      },
    );
    return entry.url;
  }

  forget(id: string): void {
    for (const key of this.#known.keys()) if (key.startsWith(`${id}?`)) this.#known.delete(key);
  }
}

/** Sends a form by XMLHttpRequest, which alone tells how far it is. */
export function sendForm(
  url: string,
  body: FormData,
  headers: Headers,
  credentials: RequestCredentials | undefined,
  { onProgress, signal }: UploadOptions,
): Promise<Asset> {
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest();
    const abort = () => xhr.abort();
    xhr.open("POST", url);
    xhr.withCredentials = credentials === "include";
    headers.forEach((value, name) => {
      xhr.setRequestHeader(name, value);
    });
    xhr.upload.onprogress = ({ loaded, total }) => onProgress?.({ loaded, total });
    xhr.onload = () => {
      const { status, responseText } = xhr;
      receive(new Response(responseText, { status })).then(resolve, reject);
    };
    xhr.onerror = () =>
      reject(new InlayError("The upload broke off.", { code: "network", retryable: true }));
    xhr.onabort = () => reject(signal?.reason);
    xhr.onloadend = () => signal?.removeEventListener("abort", abort);
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    signal?.addEventListener("abort", abort);
    xhr.send(body);
  });
}

/** The answer to an upload. */
export async function receive(response: Response): Promise<Asset> {
  if (!response.ok) throw await responseError(response);
  try {
    return (await response.json()) as Asset;
  } catch (cause) {
    throw networkError(cause);
  }
}
