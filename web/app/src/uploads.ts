import type { Asset, ClientConfig, InlayClient } from "@inlay-ui/client";
import { toFailure } from "./errors.ts";

/** What the server says of uploads. */
export type UploadLimits = NonNullable<ClientConfig["uploads"]>;

/** Why a file is not taken, known before a byte of it is sent. */
export type Refusal = "empty" | "tooLarge" | "type" | "tooMany";

/** A file on its way into a message. */
export interface Upload {
  key: number;
  name: string;
  mime: string;
  size: number;
  status: "sending" | "checking" | "done" | "failed";
  /** From 0 to 1. */
  share: number;
  /** The code of what went wrong. */
  error?: string;
  /** Trying again may help. */
  again?: boolean;
  asset?: Asset;
  /** An address of the picture in this page. */
  picture?: string;
}

/** What {@link Uploads} shows. */
export interface UploadState {
  items: readonly Upload[];
  /** Files that were not taken at the last try. */
  refused: readonly { name: string; why: Refusal }[];
}

const pollMs = 1_000;
const mostPolls = 120;

/** Whether a type is on a list such as `["image/*", "text/csv"]`. An empty list takes all. */
export function accepted(name: string, mime: string, accept: readonly string[]): boolean {
  if (accept.length === 0) return true;
  const type = mime.toLowerCase().split(";")[0]?.trim() ?? "";
  return accept.some((one) => {
    const want = one.toLowerCase();
    if (want === "*/*" || want === "*") return true;
    if (want.startsWith(".")) return name.toLowerCase().endsWith(want);
    if (want.endsWith("/*")) return type.startsWith(want.slice(0, -1));
    // Browsers do not know every type; the server looks at the bytes.
    return type === want || type === "" || type === "application/octet-stream";
  });
}

/**
 * The files of one message that is being written. Each is sent at once when it
 * is added, so that the message itself has to wait for nothing.
 */
export class Uploads {
  readonly #client: InlayClient;
  readonly #limits: UploadLimits;
  readonly #listeners = new Set<() => void>();
  readonly #files = new Map<number, { file: File; control: AbortController }>();
  #state: UploadState = { items: [], refused: [] };
  #keys = 0;

  constructor(client: InlayClient, limits: UploadLimits) {
    this.#client = client;
    this.#limits = limits;
  }

  readonly getState = (): UploadState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Takes files and begins to send them; what the limits forbid is named and left out. */
  add(files: Iterable<File>): void {
    const { maxBytes, maxFiles, accept } = this.#limits;
    const refused: { name: string; why: Refusal }[] = [];
    const items = [...this.#state.items];
    const taken: number[] = [];
    for (const file of files) {
      const why: Refusal | null =
        items.length >= maxFiles && maxFiles > 0
          ? "tooMany"
          : file.size === 0
            ? "empty"
            : maxBytes > 0 && file.size > maxBytes
              ? "tooLarge"
              : accepted(file.name, file.type, accept)
                ? null
                : "type";
      if (why !== null) {
        refused.push({ name: file.name, why });
        continue;
      }
      const key = ++this.#keys;
      const { name, size, type: mime } = file;
      const upload: Upload = { key, name, mime, size, status: "sending", share: 0 };
      if (mime.startsWith("image/")) upload.picture = URL.createObjectURL(file);
      items.push(upload);
      this.#files.set(key, { file, control: new AbortController() });
      taken.push(key);
    }
    this.#set({ items, refused });
    for (const key of taken) void this.#send(key);
  }

  /** Sends a file again that could not be sent. */
  retry(key: number): void {
    const held = this.#files.get(key);
    if (!held) return;
    held.control = new AbortController();
    this.#change(key, { status: "sending", share: 0, error: undefined, asset: undefined });
    void this.#send(key);
  }

  /** Takes a file out again, wherever it is on its way. */
  remove(key: number): void {
    const upload = this.#state.items.find((one) => one.key === key);
    if (!upload) return;
    this.#files.get(key)?.control.abort();
    this.#forget([upload]);
    this.#set({ items: this.#state.items.filter((one) => one.key !== key), refused: [] });
    // What no message uses is also removed by the server after a while.
    if (upload.asset) this.#client.deleteAsset(upload.asset.id).catch(() => {});
  }

  /** Takes out the files that are ready, for a message that is sent with them. */
  take(): Upload[] {
    const { items } = this.#state;
    const ready = items.filter((one) => one.status === "done");
    this.#set({ items: items.filter((one) => one.status !== "done"), refused: [] });
    return ready;
  }

  /** Puts files back whose message was not sent. */
  restore(items: readonly Upload[]): void {
    this.#set({ items: [...items, ...this.#state.items], refused: this.#state.refused });
  }

  /** Gives back what files hold whose message was sent. */
  sent(items: readonly Upload[]): void {
    this.#forget(items);
  }

  #forget(items: readonly Upload[]): void {
    for (const { key, picture } of items) {
      this.#files.delete(key);
      if (picture) URL.revokeObjectURL(picture);
    }
  }

  async #send(key: number): Promise<void> {
    const held = this.#files.get(key);
    if (!held) return;
    const { signal } = held.control;
    try {
      let asset = await this.#client.upload(held.file, {
        signal,
        onProgress: ({ loaded, total }) =>
          this.#change(key, { share: total > 0 ? Math.min(1, loaded / total) : 0 }),
      });
      for (let i = 0; asset.status === "pending" || asset.status === "scanning"; i++) {
        if (signal.aborted) return;
        if (i >= mostPolls) throw { code: "asset_not_ready", retryable: true };
        this.#change(key, { status: "checking", share: 1 });
        await new Promise((resolve) => setTimeout(resolve, pollMs));
        asset = await this.#client.asset(asset.id);
      }
      if (signal.aborted) return;
      if (asset.status === "infected") throw { code: "asset_infected" };
      if (asset.status !== "ready") throw { code: "asset_failed", retryable: true };
      this.#change(key, { status: "done", share: 1, asset });
    } catch (cause) {
      if (signal.aborted) return;
      const { code, retryable } = toFailure(cause);
      this.#change(key, { status: "failed", error: code, again: retryable ?? false });
    }
  }

  #change(key: number, change: Partial<Upload>): void {
    const { items, refused } = this.#state;
    if (!items.some((one) => one.key === key)) return;
    this.#set({
      items: items.map((one) => (one.key === key ? { ...one, ...change } : one)),
      refused,
    });
  }

  #set(state: UploadState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}
