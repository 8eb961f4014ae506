import { useEffect, useLayoutEffect, useRef, useState } from "react";
import type { Option } from "./option.ts";
import { init, rawOption } from "./raw.ts";
import { type ChartTheme, readTheme } from "./theme.ts";

/** What can be asked of a drawn option. */
export interface RawHandle {
  /** The picture as a data URL. */
  png(): string;
}

/** Draws a whole ECharts option in this page's look. */
export default function RawCanvas({
  option,
  height,
  dark,
  label,
  handle,
}: {
  option: Option;
  height: number;
  dark: boolean;
  label: string;
  handle: { current: RawHandle | null };
}) {
  const host = useRef<HTMLDivElement>(null);
  const chart = useRef<ReturnType<typeof init>>(undefined);
  const [theme, setTheme] = useState<ChartTheme>();
  // A broken option is said where the frame can catch it: while drawing.
  const [failure, setFailure] = useState<unknown>(null);
  if (failure !== null) throw failure;

  useLayoutEffect(() => {
    if (host.current) setTheme(readTheme(host.current, dark));
  }, [dark]);
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const made = init(element, null, { renderer: "canvas", height });
    chart.current = made;
    // While something above it waits for code the element is hidden and has no
    // size, which some charts cannot be drawn in.
    const observer = new ResizeObserver(() => {
      if (element.clientWidth > 0) made.resize({ height });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.current = undefined;
      made.dispose();
    };
  }, [height]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another height makes another chart
  useEffect(() => {
    const made = chart.current;
    if (!made || !theme) return;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    try {
      made.setOption(rawOption(option, theme, still), { notMerge: true });
    } catch (error) {
      setFailure(error);
      return;
    }
    handle.current = {
      png: () => made.getDataURL({ pixelRatio: 2, backgroundColor: theme.surface }),
    };
    return () => {
      handle.current = null;
    };
  }, [option, theme, handle, height]);
  return (
    <div
      ref={host}
      className="inlay-chart-canvas"
      role="img"
      aria-label={label}
      style={{ height }}
    />
  );
}
