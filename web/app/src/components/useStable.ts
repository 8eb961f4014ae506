import { useCallback, useLayoutEffect, useRef } from "react";

/**
 * A function that stays the same and does what the latest one given does, so
 * that a component it is handed to is not drawn again. Not to be called while
 * drawing.
 */
export function useStable<Args extends unknown[], Result>(
  latest: (...args: Args) => Result,
): (...args: Args) => Result {
  const current = useRef(latest);
  useLayoutEffect(() => {
    current.current = latest;
  });
  return useCallback((...args: Args) => current.current(...args), []);
}
