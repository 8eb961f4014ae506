import { formatNumber, type NumberStyle } from "../blocks/format.ts";
import type { Translate } from "../i18n/index.ts";
import type { PlacedRow } from "./rows.ts";
import { type ChartSpec, numberAt, type RefSpec, type SeriesSpec, type YSpec } from "./spec.ts";
import { type ChartTheme, colorToken } from "./theme.ts";

/** An ECharts option, or a part of one. */
export type Option = { [key: string]: unknown };

/** What a mapper knows besides the payload. */
export interface MapContext {
  theme: ChartTheme;
  locale: string;
  /** Width of the plot in CSS pixels. */
  width: number;
  t: Translate;
  /** Draw at once: the reader asked for less motion, or the picture is for a file. */
  still: boolean;
  /** Tell areas apart by patterns too: the reader asked for more contrast. */
  patterns?: boolean;
}

/** What a tooltip says. It is turned into elements, never into markup. */
export interface TooltipText {
  title: string;
  lines: { name: string; value: string; color?: string | undefined }[];
}

/** A chart ready to draw. */
export interface Mapped {
  option: Option;
  /** Wording of the tooltip for what the pointer is on; null for no tooltip. */
  tooltip: (params: unknown) => TooltipText | null;
  /** Height that suits the chart, in CSS pixels. */
  height: number;
}

/** A mark with the row it stands for; `row` is -1 where it stands for several. */
export interface Mark {
  value: unknown;
  row: number;
  [key: string]: unknown;
}

function isPlain(value: unknown): value is Option {
  return (
    typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype
  );
}

/** Merges b over a: objects by member, everything else whole. */
export function merge(a: Option, b: Option): Option {
  const out: Option = { ...a };
  for (const [key, value] of Object.entries(b)) {
    const old = out[key];
    out[key] = isPlain(old) && isPlain(value) ? merge(old, value) : value;
  }
  return out;
}

/** What every chart starts from; a mapper's option is merged over it. */
export function baseOption(ctx: MapContext): Option {
  const { theme, still } = ctx;
  return {
    color: theme.palette,
    backgroundColor: "transparent",
    animation: !still,
    animationDuration: 150,
    animationDurationUpdate: 150,
    useUTC: true,
    darkMode: theme.dark,
    textStyle: { fontFamily: theme.font, fontSize: 12, color: theme.text },
    tooltip: {
      show: true,
      confine: true,
      backgroundColor: theme.surface,
      borderColor: theme.border,
      borderWidth: 1,
      shadowBlur: 0,
      shadowOffsetX: 0,
      shadowOffsetY: 0,
      padding: [8, 10],
      transitionDuration: 0,
      textStyle: { color: theme.text, fontFamily: theme.font, fontSize: 13 },
      axisPointer: {
        lineStyle: { color: theme.muted, type: "dashed" },
        shadowStyle: { color: theme.muted, opacity: 0.1 },
        label: { show: false },
      },
    },
    aria: {
      enabled: true,
      label: { enabled: false },
      ...(ctx.patterns ? { decal: { show: true } } : {}),
    },
  };
}

/** Style of a category or time axis. */
export function placeAxis(ctx: MapContext, extra: Option): Option {
  const { theme } = ctx;
  return merge(
    {
      axisLine: { show: true, lineStyle: { color: theme.muted, width: 1 } },
      axisTick: { show: false },
      splitLine: { show: false },
      axisLabel: { color: theme.muted, fontSize: 12, hideOverlap: true },
      nameTextStyle: { color: theme.muted, fontSize: 12 },
    },
    extra,
  );
}

/** Style of a value axis. */
export function valueAxis(
  ctx: MapContext,
  axis: YSpec | undefined,
  words: (value: number) => string,
  extra: Option,
): Option {
  const { theme } = ctx;
  return merge(
    {
      type: axis?.log ? "log" : "value",
      ...(axis?.min === undefined ? {} : { min: axis.min }),
      ...(axis?.max === undefined ? {} : { max: axis.max }),
      axisLine: { show: false },
      axisTick: { show: false },
      splitLine: { show: true, lineStyle: { color: theme.grid, width: 1 } },
      splitNumber: 4,
      axisLabel: { color: theme.muted, fontSize: 12, formatter: words, hideOverlap: true },
      nameTextStyle: { color: theme.muted, fontSize: 12 },
    },
    extra,
  );
}

/** How the numbers of one value axis are worded under it: short, its unit in the axis title. */
export function axisWords(
  spec: ChartSpec,
  axis: YSpec | undefined,
  foreign: boolean,
  ctx: MapContext,
): (value: number) => string {
  const style: NumberStyle = foreign
    ? { short: true }
    : { valueFormat: spec.valueFormat, format: shortDetail(spec), short: true };
  const unit = axis?.unit ?? (foreign ? undefined : spec.unit);
  // Short units stand beside each number; longer ones once, at the axis.
  const beside = unit !== undefined && unit.length <= 1;
  return (value) => formatNumber(value, beside ? { ...style, unit } : style, ctx.locale);
}

function shortDetail(spec: ChartSpec): ChartSpec["format"] {
  if (!spec.format) {
    return undefined;
  }
  const { decimals: _decimals, ...rest } = spec.format;
  return rest;
}

/** The title of a value axis: its own, with the unit where the numbers lack it. */
export function axisTitle(axis: YSpec | undefined, unit: string | undefined): string | undefined {
  const shown = axis?.unit ?? unit;
  const long = shown !== undefined && shown.length > 1 ? shown : undefined;
  if (axis?.title) {
    return long && !axis.title.includes(long) ? `${axis.title} (${long})` : axis.title;
  }
  return long;
}

/** The colour of a series: its token, else its place in the palette. */
export function seriesColor(ctx: MapContext, series: SeriesSpec | undefined, at: number): string {
  const { theme } = ctx;
  return (
    colorToken(theme, series?.color) ?? theme.palette[at % theme.palette.length] ?? theme.accent
  );
}

/** Room for the plot when a legend stands beside it. */
export interface Frame {
  legend: Option;
  top: number;
  bottom: number;
  right: number;
}

/** Places the legend; with fewer than two names there is none unless asked for. */
export function frame(spec: ChartSpec, names: readonly string[], ctx: MapContext): Frame {
  const { theme } = ctx;
  const wanted = spec.legend ?? "auto";
  const hidden = wanted === "none" || (wanted === "auto" && names.length < 2);
  if (hidden || names.length === 0) {
    return { legend: { show: false }, top: 12, bottom: 8, right: 12 };
  }
  const side = wanted === "right" && ctx.width < 520 ? "bottom" : wanted;
  const style: Option = {
    show: true,
    type: "scroll",
    data: [...names],
    icon: "roundRect",
    itemWidth: 10,
    itemHeight: 10,
    itemGap: 14,
    textStyle: { color: theme.text, fontSize: 12, width: 180, overflow: "truncate" },
    inactiveColor: theme.border,
    pageTextStyle: { color: theme.muted },
    pageIconColor: theme.muted,
    pageIconInactiveColor: theme.border,
    pageIconSize: 10,
  };
  if (side === "right") {
    return {
      legend: { ...style, orient: "vertical", right: 0, top: "middle", align: "left" },
      top: 12,
      bottom: 8,
      right: 170,
    };
  }
  if (side === "bottom") {
    return { legend: { ...style, left: 0, right: 0, bottom: 0 }, top: 12, bottom: 36, right: 12 };
  }
  return { legend: { ...style, left: 0, right: 0, top: 0 }, top: 40, bottom: 8, right: 12 };
}

/** The grid of a chart with axes: labels stay inside, whatever their length. */
export function grid(at: Frame, extra: Option = {}): Option {
  return {
    left: 4,
    right: at.right,
    top: at.top,
    bottom: at.bottom,
    outerBoundsMode: "same",
    outerBoundsContain: "all",
    ...extra,
  };
}

/** Lines across the plot, for the series that owns their axis. */
export function markLines(
  refs: readonly RefSpec[],
  horizontal: boolean,
  words: (ref: RefSpec) => string,
  place: (ref: RefSpec) => number | string,
  ctx: MapContext,
): Option | undefined {
  if (refs.length === 0) {
    return undefined;
  }
  const { theme } = ctx;
  return {
    silent: true,
    symbol: "none",
    animation: false,
    lineStyle: { color: theme.text, type: "dashed", width: 1, opacity: 0.7 },
    label: {
      color: theme.text,
      fontSize: 11,
      position: horizontal ? "end" : "insideEndTop",
      textBorderColor: theme.surface,
      textBorderWidth: 2,
    },
    data: refs.map((ref) => {
      const alongX = (ref.axis === "x") !== horizontal;
      const text = words(ref);
      return {
        [alongX ? "xAxis" : "yAxis"]: place(ref),
        label: {
          formatter: () => text,
          // Upright lines carry their label at the top end, level ones above the right end.
          position: alongX ? "end" : "insideEndTop",
        },
      };
    }),
  };
}

/** Lets a value axis reach the references beyond its data; what the payload fixes stays. */
export function reach(spec: ChartSpec): Option {
  const values = (spec.refs ?? []).flatMap((r) =>
    r.axis === "y" && typeof r.value === "number" ? [r.value] : [],
  );
  if (values.length === 0) {
    return {};
  }
  const low = Math.min(...values);
  const high = Math.max(...values);
  return {
    ...(spec.y?.min === undefined
      ? { min: (v: { min: number }) => (low < v.min ? low : null) }
      : {}),
    ...(spec.y?.max === undefined
      ? { max: (v: { max: number }) => (high > v.max ? high : null) }
      : {}),
  };
}

/** Lines at values of y, for charts that have no other axis to refer to. */
export function valueLines(
  spec: ChartSpec,
  words: (value: number) => string,
  ctx: MapContext,
): Option {
  const refs = (spec.refs ?? []).filter((r) => r.axis === "y" && typeof r.value === "number");
  const lines = markLines(
    refs,
    false,
    (ref) => ref.label ?? words(Number(ref.value)),
    (ref) => ref.value,
    ctx,
  );
  return lines ? { markLine: lines } : {};
}

/** The largest and smallest number of some fields. */
export function extent(
  rows: readonly PlacedRow[],
  fields: readonly (string | undefined)[],
): [number, number] | null {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const { row } of rows) {
    for (const field of fields) {
      const value = numberAt(row, field);
      if (value !== null) {
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
    }
  }
  return low <= high ? [low, high] : null;
}

/** What ECharts hands to a tooltip or a click for one mark. */
export interface MarkParams {
  name: string;
  seriesIndex: number;
  seriesName: string;
  dataIndex: number;
  value: unknown;
  color: string | undefined;
  row: number;
  data: unknown;
}

/** Reads one mark's parameters without trusting their shape. */
export function markParams(raw: unknown): MarkParams | null {
  if (typeof raw !== "object" || raw === null) {
    return null;
  }
  const p = raw as Record<string, unknown>;
  const data = p.data;
  const row =
    typeof data === "object" && data !== null && "row" in data && typeof data.row === "number"
      ? data.row
      : -1;
  return {
    name: typeof p.name === "string" ? p.name : "",
    seriesIndex: typeof p.seriesIndex === "number" ? p.seriesIndex : -1,
    seriesName: typeof p.seriesName === "string" ? p.seriesName : "",
    dataIndex: typeof p.dataIndex === "number" ? p.dataIndex : -1,
    value: p.value,
    color: typeof p.color === "string" ? p.color : undefined,
    row,
    data,
  };
}

/** The marks of a tooltip: one, or those at one place of the axis. */
export function allMarks(params: unknown): MarkParams[] {
  const list = Array.isArray(params) ? params : [params];
  return list.flatMap((one) => markParams(one) ?? []);
}
