import { InlayError, networkError, responseError } from "./errors.ts";
import { readSSE, type SSEFrame } from "./sse.ts";
import type { Connection } from "./types.ts";

/** Silence after which a connection counts as lost; the server pings every 15 s. */
export const IDLE_MS = 40_000;
/** Silence after which a page that comes back to life asks anew at once. */
const STALE_MS = 20_000;
const FIRST_DELAY_MS = 250;
const LAST_DELAY_MS = 8_000;

/** What {@link resilient} reads and how it goes on after a disconnect. */
export interface Source<T> {
  /** Opens the stream after the cursor; `first` is true until a response came. */
  open(cursor: number, signal: AbortSignal, first: boolean): Promise<Response>;
  /** Turns a frame into an event; undefined for a frame without one. */
  parse(frame: SSEFrame, cursor: number): T | undefined;
  /** The stream may end after this event. */
  last(event: T): boolean;
  cursor: number;
  signal?: AbortSignal;
  onConnection?: (state: Connection) => void;
}

/** One connection, and a way to give it up. */
export class Link {
  readonly abort = new AbortController();
  seen = Date.now();
  /** Waking up does not end this link: its request must not be sent twice. */
  held = false;
  readonly #off: (() => void)[];

  constructor(outer?: AbortSignal) {
    const stop = () => this.abort.abort(outer?.reason);
    if (outer?.aborted) stop();
    outer?.addEventListener("abort", stop);
    this.#off = [
      () => outer?.removeEventListener("abort", stop),
      // A new network leaves the old connection half open, and a page that
      // slept may hold one that died long ago.
      onWake((online) => {
        if (this.held) return;
        if (online || Date.now() - this.seen > STALE_MS) this.abort.abort();
      }),
    ];
  }

  get signal(): AbortSignal {
    return this.abort.signal;
  }

  /** Runs work that must answer in time, and fails when it does not. */
  async within<T>(work: Promise<T>): Promise<T> {
    const timer = setTimeout(() => this.abort.abort(), IDLE_MS);
    try {
      return await work;
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    for (const off of this.#off) off();
    this.abort.abort();
  }
}

/**
 * Reads a numbered stream through every disconnect: an end without a last
 * event, a failed read and a long silence all lead to a new request after the
 * last number read. It ends after a last event, on 204, or when the caller
 * aborts; it throws only what trying again cannot mend.
 */
export async function* resilient<T>(
  source: Source<T>,
  ready?: { link: Link; response: Response },
): AsyncGenerator<T, void, undefined> {
  const { signal } = source;
  let cursor = source.cursor;
  let attempt = 0;
  let over = false;
  let shown: Connection | undefined;
  const show = (state: Connection) => {
    if (state !== shown) source.onConnection?.(state);
    shown = state;
  };
  let first = !ready;
  for (;;) {
    if (signal?.aborted) {
      ready?.link.close();
      return;
    }
    const link = ready?.link ?? new Link(signal);
    try {
      const response =
        ready?.response ?? (await link.within(source.open(cursor, link.signal, first)));
      ready = undefined;
      if (response.status === 204) return;
      if (!response.ok) throw await responseError(response);
      if (!response.body) throw new Error("no body");
      first = false;
      show("open");
      const onBytes = () => {
        link.seen = Date.now();
      };
      for await (const frame of readSSE(response.body, { idle: IDLE_MS, onBytes })) {
        const before = cursor;
        const id = Number(frame.id);
        if (frame.id && id > cursor) cursor = id;
        const event = source.parse(frame, before);
        if (event === undefined) continue;
        attempt = 0;
        over = source.last(event);
        yield event;
      }
    } catch (cause) {
      if (cause instanceof InlayError && !cause.retryable && !signal?.aborted) throw cause;
    } finally {
      link.close();
    }
    if (over || signal?.aborted) return;
    show(offline() ? "offline" : "reconnecting");
    await pause(backoff(attempt++), signal);
  }
}

/** Sends a request, `tries` times at most while the network fails it. */
export async function persistent(
  send: (signal: AbortSignal) => Promise<Response>,
  signal?: AbortSignal,
  tries = 3,
): Promise<{ link: Link; response: Response }> {
  for (let attempt = 0; ; attempt++) {
    const link = new Link(signal);
    link.held = tries === 1;
    let error: unknown;
    try {
      const response = await link.within(send(link.signal));
      link.held = false;
      if (response.ok) return { link, response };
      error = await responseError(response);
      const passing = [502, 503, 504].includes(response.status);
      if (!passing || attempt + 1 >= tries) throw error;
    } catch (cause) {
      link.close();
      if (signal?.aborted || cause instanceof InlayError || attempt + 1 >= tries) {
        throw networkError(cause, signal);
      }
    }
    link.close();
    await pause(backoff(attempt), signal);
    if (signal?.aborted) throw networkError(error, signal);
  }
}

/** The pause before the next try, longer each time. */
export function backoff(attempt: number): number {
  const full = Math.min(LAST_DELAY_MS, FIRST_DELAY_MS * 2 ** attempt);
  return full * (0.75 + Math.random() * 0.5);
}

/** Whether the browser says that there is no network. */
export function offline(): boolean {
  return globalThis.navigator?.onLine === false;
}

/** Waits, but not longer than until the network or the page is back. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      off();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    const off = onWake(end);
    signal?.addEventListener("abort", end);
  });
}

/** Calls back when the network returns (true) or the page becomes visible (false). */
function onWake(callback: (online: boolean) => void): () => void {
  const { document, window } = globalThis;
  const online = () => callback(true);
  const visible = () => {
    if (document.visibilityState === "visible") callback(false);
  };
  window?.addEventListener("online", online);
  document?.addEventListener("visibilitychange", visible);
  return () => {
    window?.removeEventListener("online", online);
    document?.removeEventListener("visibilitychange", visible);
  };
}
