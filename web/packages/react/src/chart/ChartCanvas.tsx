import { type KeyboardEvent, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { dataUrlBlob } from "../blocks/download.ts";
import type { Translate } from "../i18n/index.ts";
import { init } from "./echarts.ts";
import { toOption } from "./mappers.ts";
import { type MapContext, markParams, merge } from "./option.ts";
import type { ChartSpec } from "./spec.ts";
import { type ChartTheme, readTheme } from "./theme.ts";
import { tooltipElement, tooltipLine } from "./tooltip.ts";

type Chart = ReturnType<typeof init>;

/** What a drawn chart can be asked for. */
export interface ChartHandle {
  /** The picture as a file, with its title. */
  picture(kind: "png" | "svg", title: string | undefined): Blob | null;
}

interface CanvasProps {
  spec: ChartSpec;
  locale: string;
  t: Translate;
  dark: boolean;
  label: string;
  /** Called with the index of a row in `spec.data`. */
  onRow?: ((row: number) => void) | undefined;
  handle: { current: ChartHandle | null };
}

/** Whether the reader's device asks for something, such as less motion. */
function useMedia(query: string): boolean {
  const [asked, setAsked] = useState(false);
  useEffect(() => {
    const list = matchMedia(query);
    const update = (): void => setAsked(list.matches);
    update();
    list.addEventListener("change", update);
    return () => list.removeEventListener("change", update);
  }, [query]);
  return asked;
}

/** Draws the chart apart from the page, in a size fit for a document. */
export function drawPicture(
  kind: "png" | "svg",
  spec: ChartSpec,
  title: string | undefined,
  ctx: Omit<MapContext, "width" | "still">,
): Blob | null {
  const width = 960;
  const mapped = toOption(spec, { ...ctx, width, still: true });
  const head = title ? 44 : 0;
  const element = kind === "svg" ? null : document.createElement("div");
  const chart = init(element, null, {
    renderer: kind === "svg" ? "svg" : "canvas",
    width,
    height: mapped.height,
    devicePixelRatio: 2,
    ...(kind === "svg" ? { ssr: true } : {}),
  });
  try {
    chart.setOption(merge(mapped.option, { animation: false, backgroundColor: ctx.theme.surface }));
    if (kind === "svg") {
      const inner = chart.renderToSVGString();
      const name = title ? escapeXml(title) : "";
      const wrapped = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${mapped.height + head}" viewBox="0 0 ${width} ${mapped.height + head}"><rect width="100%" height="100%" fill="${escapeXml(ctx.theme.surface)}"/>${
        head
          ? `<text x="10" y="28" font-family="sans-serif" font-size="16" font-weight="600" fill="${escapeXml(ctx.theme.text)}">${name}</text>`
          : ""
      }<svg y="${head}">${inner}</svg></svg>`;
      return new Blob([wrapped], { type: "image/svg+xml" });
    }
    const source = chart.renderToCanvas({ pixelRatio: 2, backgroundColor: ctx.theme.surface });
    const canvas = document.createElement("canvas");
    canvas.width = width * 2;
    canvas.height = (mapped.height + head) * 2;
    const paint = canvas.getContext("2d");
    if (!paint) {
      return null;
    }
    paint.fillStyle = ctx.theme.surface;
    paint.fillRect(0, 0, canvas.width, canvas.height);
    if (title) {
      paint.fillStyle = ctx.theme.text;
      paint.font = `600 32px ${ctx.theme.font}`;
      paint.fillText(title, 20, 58, canvas.width - 40);
    }
    paint.drawImage(source, 0, head * 2);
    return dataUrlBlob(canvas.toDataURL("image/png"));
  } finally {
    chart.dispose();
  }
}

function escapeXml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** The drawn chart: follows its width, the theme and the data; walks by arrow keys. */
export default function ChartCanvas({ spec, locale, t, dark, label, onRow, handle }: CanvasProps) {
  const host = useRef<HTMLDivElement>(null);
  const chart = useRef<Chart>(undefined);
  const select = useRef(onRow);
  select.current = onRow;
  const [width, setWidth] = useState(0);
  const [theme, setTheme] = useState<ChartTheme>();
  const [said, setSaid] = useState("");
  const still = useMedia("(prefers-reduced-motion: reduce)");
  const patterns = useMedia("(prefers-contrast: more), (forced-colors: active)");
  const place = useRef(-1);

  useLayoutEffect(() => {
    const element = host.current;
    if (!element) {
      return;
    }
    setTheme(readTheme(element, dark));
    setWidth(Math.round(element.clientWidth) || 640);
    const observer = new ResizeObserver((entries) => {
      const next = Math.round(entries[0]?.contentRect.width ?? 0);
      if (next > 0) {
        setWidth(next);
      }
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [dark]);

  // The page may set its own token values later than this component is drawn.
  useEffect(() => {
    const element = host.current;
    const root = element?.closest(".inlay-root") ?? document.documentElement;
    if (!element) {
      return;
    }
    const observer = new MutationObserver(() => setTheme(readTheme(element, dark)));
    observer.observe(root, { attributes: true, attributeFilter: ["data-theme", "class", "style"] });
    return () => observer.disconnect();
  }, [dark]);

  const mapped = useMemo(
    () =>
      theme && width > 0
        ? toOption(spec, {
            theme,
            locale,
            width,
            t,
            still: still || spec.data.length > 400,
            patterns,
          })
        : null,
    [spec, theme, locale, width, t, still, patterns],
  );
  const latest = useRef(mapped);
  latest.current = mapped;

  useEffect(() => {
    const element = host.current;
    if (!element) {
      return;
    }
    const made = init(element, null, {
      renderer: "canvas",
      height: 320,
      width: element.clientWidth || 640,
    });
    chart.current = made;
    made.on("click", (params) => {
      const row = markParams(params)?.row ?? -1;
      if (row >= 0) {
        select.current?.(row);
      }
    });
    return () => {
      chart.current = undefined;
      made.dispose();
    };
  }, []);

  useEffect(() => {
    const made = chart.current;
    if (!made || !mapped) {
      return;
    }
    made.resize({ width, height: mapped.height });
    const tooltip = {
      formatter: (params: unknown) => {
        const text = mapped.tooltip(params);
        return text ? tooltipElement(text) : "";
      },
    };
    const series = (Array.isArray(mapped.option.series) ? mapped.option.series : []).map(
      (one: Record<string, unknown>) => ({
        cursor: select.current ? "pointer" : "default",
        ...one,
      }),
    );
    made.setOption(merge(mapped.option, { tooltip, series }), { notMerge: true });
  }, [mapped, width]);

  useEffect(() => {
    handle.current = {
      picture: (kind, title) =>
        theme ? drawPicture(kind, spec, title, { theme, locale, t }) : null,
    };
    return () => {
      handle.current = null;
    };
  }, [handle, spec, theme, locale, t]);

  const points = useMemo(() => {
    const series = mapped?.option.series;
    const list = Array.isArray(series) ? series : [];
    const at = list.findIndex((s: { silent?: boolean }) => s.silent !== true);
    const data = (list[at] as { data?: unknown[] } | undefined)?.data;
    return { at, data: Array.isArray(data) ? data : [] };
  }, [mapped]);

  const show = (index: number): void => {
    const made = chart.current;
    place.current = index;
    made?.dispatchAction({ type: "downplay", seriesIndex: points.at });
    if (index < 0) {
      made?.dispatchAction({ type: "hideTip" });
      setSaid("");
      return;
    }
    made?.dispatchAction({ type: "highlight", seriesIndex: points.at, dataIndex: index });
    made?.dispatchAction({ type: "showTip", seriesIndex: points.at, dataIndex: index });
    const series = mapped?.option.series;
    const list = Array.isArray(series) ? series : [];
    // What the pointer would say here: every series of the place, or the one mark.
    const marks = list.flatMap((s: { data?: unknown[]; name?: string }, seriesIndex: number) => {
      const data = s.data?.[index];
      return data === undefined
        ? []
        : [{ seriesIndex, dataIndex: index, seriesName: s.name, data, ...(data as object) }];
    });
    const text = latest.current?.tooltip(marks);
    setSaid(text ? tooltipLine(text) : "");
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    const count = points.data.length;
    if (count === 0) {
      return;
    }
    const at = place.current;
    switch (event.key) {
      case "ArrowRight":
      case "ArrowDown":
        show((at + 1) % count);
        break;
      case "ArrowLeft":
      case "ArrowUp":
        show(at <= 0 ? count - 1 : at - 1);
        break;
      case "Home":
        show(0);
        break;
      case "End":
        show(count - 1);
        break;
      case "Escape":
        if (at < 0) {
          return;
        }
        show(-1);
        break;
      case "Enter":
      case " ": {
        const row = (points.data[at] as { row?: number } | undefined)?.row ?? -1;
        if (row < 0 || !onRow) {
          return;
        }
        onRow(row);
        break;
      }
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div className="inlay-chart">
      <div
        ref={host}
        className="inlay-chart-canvas"
        role="img"
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys walk through the data
        tabIndex={0}
        onKeyDown={onKeyDown}
        onBlur={() => show(-1)}
        style={{ height: mapped?.height ?? 320 }}
      />
      <div className="inlay-visually-hidden" aria-live="polite">
        {said}
      </div>
    </div>
  );
}
