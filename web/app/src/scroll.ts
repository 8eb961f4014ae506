/** What the scroll logic needs to know of a scrolling element. */
export interface Viewport {
  scrollTop: number;
  readonly scrollHeight: number;
  readonly clientHeight: number;
}

/** How near to the end counts as the end, in pixels (scroll positions are fractional on zoomed screens). */
const endSlack = 4;

/** From this distance on, "jump to latest" is offered. */
const farAway = 80;

/** Distance between the lower edge of what is visible and the end of the content. */
export function distanceToEnd(view: Viewport): number {
  return Math.max(0, view.scrollHeight - view.clientHeight - view.scrollTop);
}

/**
 * Decides when the feed follows its end.
 *
 * It follows only while the reader is at the end. Any upward movement of the
 * reader releases it, however small; only going down to the end again, or
 * {@link follow}, takes hold once more. Movement the reader did not cause
 * (content that shrank, the browser keeping its anchor) never changes the mode.
 */
export class StickyScroll {
  #stuck = true;
  #lastTop = 0;
  #lastDistance = 0;

  /** Whether the feed follows its end. */
  get stuck(): boolean {
    return this.#stuck;
  }

  /** Takes hold of the end, e.g. after the reader sent a message. */
  follow(): void {
    this.#stuck = true;
  }

  /** Lets go, e.g. at the first wheel tick upwards, before the browser scrolls. */
  release(): void {
    this.#stuck = false;
  }

  /** Call for each scroll event. */
  scrolled(view: Viewport): void {
    const distance = distanceToEnd(view);
    const movedUp = view.scrollTop < this.#lastTop - 0.5;
    const movedDown = view.scrollTop > this.#lastTop + 0.5;
    // A clamp after content shrank moves up too, but ends at the end.
    if (movedUp && distance >= 1 && distance > this.#lastDistance) this.#stuck = false;
    else if (movedDown && distance <= endSlack) this.#stuck = true;
    this.#remember(view);
  }

  /** Call after the content or the viewport changed its size. Moves to the end if the feed follows it. */
  resized(view: Viewport): void {
    if (this.#stuck && distanceToEnd(view) > 0) {
      view.scrollTop = view.scrollHeight - view.clientHeight;
    }
    this.#remember(view);
  }

  /** Whether "jump to latest" should be offered. */
  offersJump(view: Viewport): boolean {
    return !this.#stuck && distanceToEnd(view) > farAway;
  }

  #remember(view: Viewport): void {
    this.#lastTop = view.scrollTop;
    this.#lastDistance = distanceToEnd(view);
  }
}

/** A child of the feed with the place of its upper edge relative to the viewport. */
export interface Anchor<T> {
  element: T;
  top: number;
}

/**
 * Finds what the reader is looking at: the first candidate that reaches into
 * the viewport. `edges` gives a candidate's edges relative to the viewport's
 * upper edge.
 */
export function findAnchor<T>(
  candidates: Iterable<T>,
  edges: (candidate: T) => { top: number; bottom: number },
): Anchor<T> | null {
  for (const element of candidates) {
    const { top, bottom } = edges(element);
    if (bottom > 0) return { element, top };
  }
  return null;
}
