/** Longest wait for a frame: hidden pages get none. */
const LATE_MS = 250;
const HIDDEN_MS = 50;

/**
 * Gathers work and does it once per animation frame, however often it is
 * asked for. In a page that draws no frames a timer does it.
 */
export class FrameBatch {
  readonly #work: () => void;
  #frame: number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(work: () => void) {
    this.#work = work;
  }

  /** Asks for the work to be done. */
  request(): void {
    if (this.#timer !== undefined) return;
    const hidden =
      typeof requestAnimationFrame !== "function" ||
      (typeof document !== "undefined" && document.visibilityState === "hidden");
    if (!hidden) this.#frame = requestAnimationFrame(() => this.flush());
    // The page may be hidden while it waits for its frame.
    this.#timer = setTimeout(() => this.flush(), hidden ? HIDDEN_MS : LATE_MS);
  }

  /** Does the work now, if it was asked for. */
  flush(): void {
    if (this.#timer === undefined) return;
    this.cancel();
    this.#work();
  }

  /** Forgets the request. */
  cancel(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    clearTimeout(this.#timer);
    this.#frame = undefined;
    this.#timer = undefined;
  }
}
