// @vitest-environment node
import { describe, expect, it } from "vitest";
import { distanceToEnd, findAnchor, StickyScroll, type Viewport } from "../src/scroll.ts";

/** A viewport that clamps its position as browsers do. */
class View implements Viewport {
  #top = 0;
  clientHeight = 500;
  #height: number;
  constructor(height: number) {
    this.#height = height;
  }
  get scrollHeight() {
    return Math.max(this.#height, this.clientHeight);
  }
  set height(value: number) {
    this.#height = value;
    this.scrollTop = this.#top;
  }
  get scrollTop() {
    return this.#top;
  }
  set scrollTop(value: number) {
    this.#top = Math.min(Math.max(0, value), this.scrollHeight - this.clientHeight);
  }
}

function atEnd(height = 2000) {
  const view = new View(height);
  const sticky = new StickyScroll();
  sticky.resized(view);
  return { view, sticky };
}

describe("StickyScroll", () => {
  it("follows growing content while at the end", () => {
    const { view, sticky } = atEnd();
    for (let height = 2000; height < 4000; height += 37) {
      view.height = height;
      sticky.resized(view);
      expect(distanceToEnd(view)).toBe(0);
      sticky.scrolled(view);
      expect(sticky.stuck).toBe(true);
    }
  });

  it.each([1, 2, 40, 400])("is released by %i px upwards", (pixels) => {
    const { view, sticky } = atEnd();
    view.scrollTop -= pixels;
    sticky.scrolled(view);
    expect(sticky.stuck).toBe(false);
  });

  it("keeps the reader's place through 100 late additions", () => {
    const { view, sticky } = atEnd();
    view.scrollTop -= 40;
    sticky.scrolled(view);
    const top = view.scrollTop;
    for (let i = 0; i < 100; i++) {
      view.height = view.scrollHeight + 25;
      sticky.resized(view);
      sticky.scrolled(view);
      expect(view.scrollTop).toBe(top);
    }
    expect(sticky.offersJump(view)).toBe(true);
  });

  it("is not released when content shrinks under it", () => {
    const { view, sticky } = atEnd();
    view.height = 1800;
    sticky.scrolled(view);
    sticky.resized(view);
    expect(sticky.stuck).toBe(true);
    expect(distanceToEnd(view)).toBe(0);
  });

  it("takes hold again only by going down to the end", () => {
    const { view, sticky } = atEnd();
    view.scrollTop -= 3;
    sticky.scrolled(view);
    expect(sticky.stuck).toBe(false);
    sticky.scrolled(view);
    expect(sticky.stuck).toBe(false);
    view.scrollTop += 3;
    sticky.scrolled(view);
    expect(sticky.stuck).toBe(true);
  });

  it("does not take hold on the way down", () => {
    const { view, sticky } = atEnd();
    view.scrollTop = 100;
    sticky.scrolled(view);
    view.scrollTop = 900;
    sticky.scrolled(view);
    expect(sticky.stuck).toBe(false);
  });

  it("lets go before the browser scrolls, so the next growth does not pull back", () => {
    const { view, sticky } = atEnd();
    sticky.release();
    const top = view.scrollTop;
    view.height = 2100;
    sticky.resized(view);
    expect(view.scrollTop).toBe(top);
  });

  it("follows again after a jump, and stays when the window gets smaller", () => {
    const { view, sticky } = atEnd();
    view.scrollTop = 0;
    sticky.scrolled(view);
    sticky.follow();
    sticky.resized(view);
    expect(distanceToEnd(view)).toBe(0);
    view.clientHeight = 300;
    sticky.resized(view);
    expect(distanceToEnd(view)).toBe(0);
    expect(sticky.offersJump(view)).toBe(false);
  });
});

describe("findAnchor", () => {
  it("takes the first element that reaches into the viewport", () => {
    const boxes = [
      { top: -300, bottom: -10 },
      { top: -10, bottom: 200 },
      { top: 200, bottom: 300 },
    ];
    expect(findAnchor(boxes, (box) => box)).toEqual({ element: boxes[1], top: -10 });
    expect(findAnchor([], (box: { top: number; bottom: number }) => box)).toBeNull();
  });
});
