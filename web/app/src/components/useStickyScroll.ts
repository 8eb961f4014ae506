import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { type Anchor, findAnchor, StickyScroll } from "../scroll.ts";

/** Elements that a reader can be looking at, from coarse to fine. */
const anchorSelector = "[data-block-id], article";

/** Binds {@link StickyScroll} to a scrolling element and its content. */
export interface StickyFeed {
  scroller: RefObject<HTMLDivElement | null>;
  content: RefObject<HTMLDivElement | null>;
  /** Whether "jump to latest" should be offered. */
  offersJump: boolean;
  /** Goes to the end and follows it from now on. */
  jump: () => void;
  /** Call after each change of the page, so that no change of height goes unnoticed. */
  sync: () => void;
}

/**
 * Keeps the feed at its end while the reader is there, and what the reader is
 * looking at in its place otherwise. Browsers with scroll anchoring do the
 * second by themselves; for the others it is done here. `feedKey` names the
 * conversation, `empty` says that there is nothing in it to follow yet.
 */
export function useStickyScroll(feedKey: string, empty: boolean): StickyFeed {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const sticky = useRef<StickyScroll>(new StickyScroll());
  const [offersJump, setOffersJump] = useState(false);

  const update = useCallback(() => {
    const view = scroller.current;
    if (view) setOffersJump(sticky.current.offersJump(view));
  }, []);

  const jump = useCallback(() => {
    const view = scroller.current;
    if (!view) return;
    sticky.current.follow();
    sticky.current.resized(view);
    update();
  }, [update]);

  const sync = useCallback(() => {
    const view = scroller.current;
    if (!view) return;
    sticky.current.scrolled(view);
    sticky.current.resized(view);
  }, []);

  useEffect(() => {
    const view = scroller.current;
    const inner = content.current;
    if (!view || !inner) return;
    const anchoring = typeof CSS !== "undefined" && CSS.supports("overflow-anchor", "auto");
    let anchor: Anchor<Element> | null = null;
    let touchY = 0;

    const remember = () => {
      if (anchoring || sticky.current.stuck) {
        anchor = null;
        return;
      }
      const top = view.getBoundingClientRect().top;
      anchor = findAnchor(inner.querySelectorAll(anchorSelector), (element) => {
        const box = element.getBoundingClientRect();
        return { top: box.top - top, bottom: box.bottom - top };
      });
    };
    const restore = () => {
      if (!anchor || sticky.current.stuck || !anchor.element.isConnected) return;
      const now = anchor.element.getBoundingClientRect().top - view.getBoundingClientRect().top;
      if (Math.abs(now - anchor.top) >= 1) view.scrollTop += now - anchor.top;
    };

    const onScroll = () => {
      sticky.current.scrolled(view);
      remember();
      update();
    };
    const onWheel = (event: WheelEvent) => {
      if (event.deltaY < 0 && view.scrollHeight > view.clientHeight) sticky.current.release();
    };
    const onTouchStart = (event: TouchEvent) => {
      touchY = event.touches[0]?.clientY ?? 0;
    };
    const onTouchMove = (event: TouchEvent) => {
      const y = event.touches[0]?.clientY ?? touchY;
      if (y > touchY && view.scrollHeight > view.clientHeight) sticky.current.release();
      touchY = y;
    };
    const onResize = () => {
      restore();
      sticky.current.resized(view);
      remember();
      update();
    };

    view.addEventListener("scroll", onScroll, { passive: true });
    view.addEventListener("wheel", onWheel, { passive: true });
    view.addEventListener("touchstart", onTouchStart, { passive: true });
    view.addEventListener("touchmove", onTouchMove, { passive: true });
    const observer = new ResizeObserver(onResize);
    observer.observe(inner);
    observer.observe(view);
    return () => {
      observer.disconnect();
      view.removeEventListener("scroll", onScroll);
      view.removeEventListener("wheel", onWheel);
      view.removeEventListener("touchstart", onTouchStart);
      view.removeEventListener("touchmove", onTouchMove);
    };
  }, [update]);

  // Another conversation opens at its end, a new one at the top.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the feed changes
  useLayoutEffect(() => {
    sticky.current = new StickyScroll();
    if (!empty) {
      jump();
      return;
    }
    sticky.current.release();
    if (scroller.current) scroller.current.scrollTop = 0;
    setOffersJump(false);
  }, [feedKey, empty, jump]);

  return { scroller, content, offersJump, jump, sync };
}
