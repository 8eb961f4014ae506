import { useEffect, useSyncExternalStore } from "react";

/** A piece of coloured code: text, or an element with classes around more pieces. */
export type TokenNode =
  | { type: "text"; value: string }
  | { type: "element"; properties: { className?: string[] }; children: TokenNode[] };

/** Colours code of a language; null when it does not know the language. */
export type Highlighter = (lang: string, code: string) => TokenNode[] | null;

let loaded: Highlighter | null = null;
let loading: Promise<void> | null = null;
const waiting = new Set<() => void>();

/** Loads the highlighter's chunk; later calls join the first. */
export function loadHighlighter(): Promise<void> {
  loading ??= import("./languages.ts").then(
    (m) => {
      loaded = m.highlighter;
      for (const wake of waiting) {
        wake();
      }
    },
    () => {
      // Offline or an old page: code stays plain, and the next code block tries again.
      loading = null;
    },
  );
  return loading;
}

function subscribe(wake: () => void): () => void {
  waiting.add(wake);
  return () => waiting.delete(wake);
}

/** The highlighter once it is there; asking for it loads it. */
export function useHighlighter(wanted: boolean): Highlighter | null {
  const highlighter = useSyncExternalStore(
    subscribe,
    () => loaded,
    () => null,
  );
  useEffect(() => {
    if (wanted) {
      void loadHighlighter();
    }
  }, [wanted]);
  return highlighter;
}

/** Code longer than this stays plain: colouring it would hold the page up. */
export const longestHighlighted = 100_000;

const step = 4_000;

/** While code arrives no more of it than this is coloured; the rest is when it is whole. */
const longestLive = 24_000;

/**
 * How much of the code to colour now. While more is to come only whole lines
 * are coloured, and long code in steps, so that the work does not grow with
 * every character.
 */
export function colouredLength(code: string, streaming: boolean): number {
  if (!streaming) {
    return code.length > longestHighlighted ? 0 : code.length;
  }
  const most =
    code.length > longestLive
      ? longestLive
      : code.length > 2 * step
        ? code.length - (code.length % step)
        : code.length;
  return code.lastIndexOf("\n", most - 1) + 1;
}
