import { formatNumber, parseMoment } from "../blocks/format.ts";
import {
  allMarks,
  axisTitle,
  axisWords,
  extent,
  frame,
  grid,
  type MapContext,
  type Mapped,
  type Mark,
  markLines,
  type Option,
  placeAxis,
  reach,
  seriesColor,
  valueAxis,
  valueLines,
} from "./option.ts";
import { type PlacedRow, placedRows, seriesValue, type XKind, xKind, xWords } from "./rows.ts";
import { type ChartSpec, numberAt, type RefSpec, type SeriesSpec } from "./spec.ts";
import { colorToken } from "./theme.ts";

type DrawnAs = "bar" | "line" | "area" | "scatter";

/** More categories than this are drawn as lying bars, where their names have room. */
export const mostUprightBars = 8;

/** Rows beyond this many get a window to scroll through. */
const mostRowsAtOnce = 24;

function drawnAs(spec: ChartSpec, series: SeriesSpec, at: number): DrawnAs {
  if (spec.type === "combo") {
    return series.type ?? (at === 0 ? "bar" : "line");
  }
  if (spec.type === "line" || spec.type === "area" || spec.type === "bar") {
    return series.type ?? spec.type;
  }
  return "bar";
}

/** Whether bars lie; said by the payload, else decided by the number of categories. */
export function liesDown(spec: ChartSpec, kind: XKind, count: number): boolean {
  if (spec.type !== "bar" || spec.series.some((s) => s.type && s.type !== "bar")) {
    return false;
  }
  if (spec.orientation) {
    return spec.orientation === "horizontal";
  }
  return kind === "category" && count > mostUprightBars;
}

function stackName(spec: ChartSpec, series: SeriesSpec): string | undefined {
  if (series.stack) {
    return series.stack;
  }
  return spec.stack === true || spec.stack === "normal" || spec.stack === "percent"
    ? `all-${series.axis ?? "y"}`
    : undefined;
}

/** Shares of each row's stack, by series, for charts that stack to 100 %. */
function shares(spec: ChartSpec, row: PlacedRow): (number | null)[] {
  const totals = new Map<string, number>();
  const values = spec.series.map((s) => numberAt(row.row, s.field));
  spec.series.forEach((s, i) => {
    const stack = stackName(spec, s) ?? "";
    totals.set(stack, (totals.get(stack) ?? 0) + Math.abs(values[i] ?? 0));
  });
  return spec.series.map((s, i) => {
    const value = values[i];
    const total = totals.get(stackName(spec, s) ?? "") ?? 0;
    return value === null || value === undefined || total === 0 ? null : value / total;
  });
}

function refAt(
  ref: RefSpec,
  kind: XKind,
  rows: readonly PlacedRow[],
  onAxis: boolean,
  spec: ChartSpec,
): number | string {
  if (ref.axis !== "x") {
    return ref.value;
  }
  const field = spec.x?.field ?? "";
  const match = rows.findIndex(
    ({ row }) => row[field] === ref.value || String(row[field]) === String(ref.value),
  );
  if (onAxis && kind !== "category") {
    const row = rows[match];
    return row?.at ?? xPlace(spec, kind, ref.value);
  }
  return match >= 0 ? match : ref.value;
}

/** Where a value of x stands on its axis: a moment by the axis's wall clock. */
function xPlace(spec: ChartSpec, kind: XKind, value: number | string): number | string {
  return kind === "time" ? (parseMoment(value, spec.x?.timeZone)?.wall ?? value) : value;
}

/** bar, line, area and combo: values over categories, time or numbers. */
export function mapCartesian(spec: ChartSpec, ctx: MapContext): Mapped {
  const { theme, locale } = ctx;
  const kind = xKind(spec);
  const rows = placedRows(spec, kind, locale);
  const words = xWords(spec, kind, rows, locale);
  const drawn = spec.series.map((s, i) => drawnAs(spec, s, i));
  const hasBars = drawn.includes("bar");
  const horizontal = liesDown(spec, kind, rows.length);
  const percent = spec.stack === "percent";
  // Bars need a place of their own each; only lines go on a true time or number axis.
  const onAxis = kind !== "category" && !hasBars && rows.every((r) => r.at !== null);
  const twoAxes = spec.series.some((s) => s.axis === "y2");
  const at = frame(
    spec,
    spec.series.map((s) => s.name),
    ctx,
  );
  const gaps = spec.series.some((s) => rows.some((r) => numberAt(r.row, s.field) === null));

  const perRow = (ctx.width - 70) / Math.max(1, rows.length);
  const place: Option = onAxis
    ? placeAxis(ctx, {
        type: kind === "time" ? "time" : "value",
        ...(kind === "number" ? { scale: true } : {}),
        boundaryGap: false,
        splitNumber: Math.max(2, Math.min(8, Math.floor(ctx.width / 90))),
        axisLabel: { formatter: words.tick },
      })
    : placeAxis(ctx, {
        type: "category",
        data: rows.map((row) => words.label(row)),
        boundaryGap: hasBars || drawn.includes("scatter"),
        ...(horizontal ? { inverse: true } : {}),
        axisLabel: horizontal
          ? {
              width: Math.max(72, Math.min(220, ctx.width * 0.32)),
              overflow: "truncate",
              interval: 0,
            }
          : perRow >= 40
            ? { width: perRow - 6, overflow: "truncate", interval: 0 }
            : { width: 120, overflow: "truncate" },
      });
  if (spec.x?.title) {
    Object.assign(
      place,
      horizontal
        ? { name: spec.x.title, nameLocation: "start", nameGap: 8 }
        : { name: spec.x.title, nameLocation: "middle", nameGap: 28 },
    );
  }

  // Labels that do not fit their bars say nothing.
  const roomy = horizontal || !hasBars || ctx.width / Math.max(1, rows.length) > 56;

  const refMax = (axis: "y" | "y2"): number | null => {
    const values = (spec.refs ?? []).flatMap((r) =>
      r.axis === axis && typeof r.value === "number" ? [r.value] : [],
    );
    return values.length > 0 ? Math.max(...values) : null;
  };
  const value = (axis: "y" | "y2"): Option => {
    const own = spec[axis];
    const members = spec.series.filter((s) => (s.axis ?? "y") === axis);
    const memberDrawn = spec.series.flatMap((s, i) => ((s.axis ?? "y") === axis ? [drawn[i]] : []));
    const needsZero = memberDrawn.some((d) => d === "bar" || d === "area") || percent;
    const zero = own?.zero ?? needsZero;
    const foreign = axis === "y2" && own?.unit !== undefined && own.unit !== spec.unit;
    const memberUnit = members[0]?.unit;
    const written = percent
      ? (v: number) => formatNumber(v, { valueFormat: "percent" }, locale)
      : axisWords(spec, own ?? (memberUnit ? { unit: memberUnit } : undefined), foreign, ctx);
    const top = refMax(axis);
    const range = extent(
      rows,
      members.map((s) => s.field),
    );
    const reach =
      top !== null && own?.max === undefined && !percent && range && top > range[1]
        ? { max: (v: { max: number }) => Math.max(v.max, top) }
        : {};
    const title = percent
      ? own?.title
      : axisTitle(own, memberUnit ?? (foreign ? undefined : spec.unit));
    return valueAxis(ctx, own, written, {
      scale: !zero,
      ...(percent
        ? { max: 1, interval: 0.25, ...(range && range[0] < 0 ? { min: -1 } : {}) }
        : reach),
      ...(title
        ? horizontal
          ? { name: title, nameLocation: "middle", nameGap: 28 }
          : {
              name: title,
              nameLocation: "end",
              nameGap: 10,
              nameTextStyle: { align: axis === "y" ? "left" : "right", padding: [0, 0, 0, 0] },
            }
        : {}),
      ...(axis === "y2"
        ? { position: horizontal ? "top" : "right", splitLine: { show: false } }
        : {}),
    });
  };
  const values = twoAxes ? [value("y"), value("y2")] : [value("y")];

  const lastOfStack = new Map<string, number>();
  spec.series.forEach((s, i) => {
    const stack = stackName(spec, s);
    if (stack && drawn[i] === "bar") {
      lastOfStack.set(stack, i);
    }
  });
  const refsDone = new Set<RefSpec>();
  const series = spec.series.map((s, i): Option => {
    const as = drawn[i] ?? "bar";
    const color = seriesColor(ctx, s, i);
    const stack = as === "scatter" ? undefined : stackName(spec, s);
    const axisAt = s.axis === "y2" ? 1 : 0;
    const data = rows.map((row): Mark => {
      const raw = percent && stack ? (shares(spec, row)[i] ?? null) : numberAt(row.row, s.field);
      if (!onAxis) {
        return { value: raw, row: row.index };
      }
      return { value: [row.at, raw], row: row.index };
    });
    const refs = (spec.refs ?? []).filter(
      (r) => !refsDone.has(r) && (r.axis === "y2" ? axisAt === 1 : r.axis === "x" || axisAt === 0),
    );
    for (const ref of refs) {
      refsDone.add(ref);
    }
    const lines = markLines(
      refs,
      horizontal,
      (ref) =>
        ref.label ??
        (typeof ref.value === "number" && ref.axis !== "x"
          ? seriesValue(spec, ref.axis === "y2" ? s : undefined, ref.value, locale)
          : String(ref.value)),
      (ref) => refAt(ref, kind, rows, onAxis, spec),
      ctx,
    );
    const common: Option = {
      name: s.name,
      data,
      itemStyle: { color },
      emphasis: { focus: spec.series.length > 1 ? "series" : "none" },
      ...(stack ? { stack } : {}),
      ...(lines ? { markLine: lines } : {}),
      ...(axisAt === 1 ? { [horizontal ? "xAxisIndex" : "yAxisIndex"]: 1 } : {}),
      ...(spec.labels && roomy
        ? {
            label: {
              show: true,
              color: stack && as === "bar" ? theme.surface : theme.text,
              fontSize: 11,
              position: stack && as === "bar" ? "inside" : horizontal ? "right" : "top",
              formatter: (p: { dataIndex: number }) => {
                const row = rows[p.dataIndex];
                const share = row && percent ? shares(spec, row)[i] : undefined;
                if (share !== undefined && share !== null) {
                  return formatNumber(share, { valueFormat: "percent" }, locale);
                }
                const v = row ? numberAt(row.row, s.field) : null;
                return v === null ? "" : seriesValue(spec, s, v, locale);
              },
            },
            labelLayout: { hideOverlap: true },
          }
        : {}),
    };
    if (as === "bar") {
      const rounded = !stack || lastOfStack.get(stack) === i;
      return {
        ...common,
        type: "bar",
        barMaxWidth: 36,
        barMinHeight: 1,
        barGap: "12%",
        barCategoryGap: horizontal ? "32%" : "36%",
        itemStyle: {
          color,
          borderRadius: rounded ? (horizontal ? [0, 3, 3, 0] : [3, 3, 0, 0]) : 0,
          ...(stack ? { borderColor: theme.surface, borderWidth: 0.5 } : {}),
        },
      };
    }
    if (as === "scatter") {
      return { ...common, type: "scatter", symbolSize: 8 };
    }
    return {
      ...common,
      type: "line",
      connectNulls: false,
      symbol: "circle",
      symbolSize: rows.length > 60 ? 3 : 6,
      // A point between two gaps would be invisible without its symbol.
      showSymbol: rows.length <= 30 || lone(rows, s.field),
      showAllSymbol: gaps ? true : "auto",
      lineStyle: { width: 2, color, ...(s.dashed ? { type: "dashed" } : {}) },
      ...(as === "area" ? { areaStyle: { color, opacity: stack ? 0.45 : 0.16 } } : {}),
    };
  });

  const windowed =
    spec.zoom === true ||
    (!onAxis && hasBars && rows.length > mostRowsAtOnce * 2) ||
    (horizontal && rows.length > mostRowsAtOnce);
  const zoom: Option = windowed
    ? {
        dataZoom: [
          {
            type: "inside",
            [horizontal ? "yAxisIndex" : "xAxisIndex"]: 0,
            zoomOnMouseWheel: "ctrl",
            moveOnMouseWheel: false,
            ...(horizontal && rows.length > mostRowsAtOnce
              ? { startValue: 0, endValue: mostRowsAtOnce - 1 }
              : {}),
          },
          {
            type: "slider",
            [horizontal ? "yAxisIndex" : "xAxisIndex"]: 0,
            ...(horizontal ? { width: 14, right: 4 } : { height: 14, bottom: at.bottom }),
            showDetail: false,
            brushSelect: false,
            borderColor: theme.border,
            fillerColor: `${theme.muted}33`,
            handleStyle: { color: theme.surface, borderColor: theme.muted },
            moveHandleSize: 4,
            dataBackground: { lineStyle: { opacity: 0 }, areaStyle: { opacity: 0 } },
            selectedDataBackground: { lineStyle: { opacity: 0 }, areaStyle: { opacity: 0 } },
            ...(horizontal && rows.length > mostRowsAtOnce
              ? { startValue: 0, endValue: mostRowsAtOnce - 1 }
              : {}),
          },
        ],
      }
    : {};
  const rowRef = (spec.refs ?? []).some((r) => (r.axis === "x") !== horizontal);
  const byIndex = new Map(rows.map((row) => [row.index, row]));
  const bars = drawn.filter((d) => d === "bar").length;
  const stacked = spec.series.some((s) => stackName(spec, s) !== undefined);
  const rowHeight = stacked ? 26 : Math.max(26, 14 * bars + 10);
  return {
    option: {
      legend: at.legend,
      grid: grid(at, {
        top: at.top + (rowRef ? 14 : 0),
        ...(windowed && !horizontal ? { bottom: at.bottom + 26 } : {}),
        ...(windowed && horizontal ? { right: at.right + 24 } : {}),
      }),
      tooltip: { trigger: "axis", axisPointer: { type: hasBars ? "shadow" : "line" } },
      xAxis: horizontal ? values : place,
      yAxis: horizontal ? place : values,
      series,
      ...zoom,
    },
    tooltip: (params) => {
      const marks = allMarks(params);
      const row = byIndex.get(marks[0]?.row ?? -1);
      if (!row) {
        return null;
      }
      const share = percent ? shares(spec, row) : [];
      return {
        title: words.full(row),
        lines: marks.flatMap((mark) => {
          const s = spec.series[mark.seriesIndex];
          if (!s) {
            return [];
          }
          const part = share[mark.seriesIndex];
          const text = seriesValue(spec, s, numberAt(row.row, s.field), locale);
          return [
            {
              name: s.name,
              value:
                part === undefined || part === null
                  ? text
                  : `${text} · ${formatNumber(part, { valueFormat: "percent" }, locale)}`,
              color: seriesColor(ctx, s, mark.seriesIndex),
            },
          ];
        }),
      };
    },
    height: horizontal
      ? Math.min(
          680,
          Math.max(
            160,
            Math.min(rows.length, mostRowsAtOnce) * rowHeight + at.top + at.bottom + 56,
          ),
        )
      : 320,
  };
}

/** scatter and bubble: two numbers a point, groups by colour, a third number by size. */
export function mapScatter(spec: ChartSpec, ctx: MapContext): Mapped {
  const { locale, theme } = ctx;
  const kind = xKind(spec);
  const rows = placedRows(spec, kind, locale);
  const words = xWords(spec, kind, rows, locale);
  const onAxis = kind !== "category";
  const { color: group, size, y } = spec.encode ?? {};
  const bubbles = spec.type === "bubble" && size !== undefined;
  const sizes = bubbles ? extent(rows, [size]) : null;
  const radius = (row: PlacedRow): number => {
    const value = numberAt(row.row, size);
    if (!sizes || value === null) {
      return bubbles ? 4 : 9;
    }
    const most = Math.min(56, ctx.width / 9);
    return 6 + (most - 6) * Math.sqrt(Math.max(0, value) / Math.max(sizes[1], Number.EPSILON));
  };
  interface Group {
    name: string;
    field: string;
    series: SeriesSpec | undefined;
    rows: PlacedRow[];
  }
  const groups: Group[] = [];
  const fields: { field: string; name: string; series: SeriesSpec | undefined }[] = y
    ? [
        {
          field: y,
          name: spec.series.find((s) => s.field === y)?.name ?? y,
          series: spec.series.find((s) => s.field === y),
        },
      ]
    : spec.series.map((s) => ({ field: s.field, name: s.name, series: s }));
  for (const { field, name, series } of fields) {
    if (group === undefined) {
      groups.push({ name, field, series, rows });
      continue;
    }
    const found = new Map<string, Group>();
    for (const row of rows) {
      const raw = row.row[group];
      const key = raw === null || raw === undefined ? "–" : String(raw);
      let one = found.get(key);
      if (!one) {
        one = {
          name: fields.length > 1 ? `${key} · ${name}` : key,
          field,
          series: { field, name: key },
          rows: [],
        };
        found.set(key, one);
        groups.push(one);
      }
      one.rows.push(row);
    }
  }
  const first = spec.series[0];
  const at = frame(
    spec,
    groups.map((g) => g.name),
    ctx,
  );
  const title = axisTitle(spec.y, spec.unit) ?? (fields.length === 1 ? fields[0]?.name : undefined);
  const xTitle = spec.x?.title;
  const byIndex = new Map(rows.map((row) => [row.index, row]));
  return {
    option: {
      legend: at.legend,
      grid: grid(at),
      tooltip: { trigger: "item" },
      xAxis: onAxis
        ? placeAxis(ctx, {
            type: kind === "time" ? "time" : "value",
            scale: true,
            splitLine: { show: true, lineStyle: { color: theme.grid } },
            axisLabel: { formatter: words.tick },
            ...(xTitle ? { name: xTitle, nameLocation: "middle", nameGap: 28 } : {}),
          })
        : placeAxis(ctx, {
            type: "category",
            data: [...new Set(rows.map((r) => words.label(r)))],
            ...(xTitle ? { name: xTitle, nameLocation: "middle", nameGap: 28 } : {}),
          }),
      yAxis: valueAxis(ctx, spec.y, axisWords(spec, spec.y, false, ctx), {
        scale: spec.y?.zero !== true,
        ...reach(spec),
        ...(title
          ? { name: title, nameLocation: "end", nameGap: 10, nameTextStyle: { align: "left" } }
          : {}),
      }),
      series: groups.map((g, i): Option => {
        const lines =
          i === 0
            ? markLines(
                spec.refs ?? [],
                false,
                (ref) => ref.label ?? String(ref.value),
                (ref) => (ref.axis === "x" && onAxis ? xPlace(spec, kind, ref.value) : ref.value),
                ctx,
              )
            : undefined;
        const color =
          group === undefined
            ? seriesColor(ctx, g.series ?? first, i)
            : seriesColor(ctx, undefined, i);
        return {
          type: "scatter",
          name: g.name,
          itemStyle: {
            color,
            opacity: bubbles ? 0.65 : 0.8,
            ...(bubbles ? { borderColor: color } : {}),
          },
          emphasis: { focus: groups.length > 1 ? "series" : "none" },
          data: g.rows.flatMap((row): Mark[] => {
            const value = numberAt(row.row, g.field);
            const x = onAxis ? row.at : words.label(row);
            return value === null || x === null
              ? []
              : [{ value: [x, value], row: row.index, symbolSize: radius(row) }];
          }),
          ...(lines ? { markLine: lines } : {}),
        };
      }),
    },
    tooltip: (params) => {
      const mark = allMarks(params)[0];
      const row = byIndex.get(mark?.row ?? -1);
      const g = groups[mark?.seriesIndex ?? -1];
      if (!mark || !row || !g) {
        return null;
      }
      const lines: { name: string; value: string; color?: string | undefined }[] = [];
      if (onAxis) {
        lines.push({ name: xTitle ?? spec.x?.field ?? "", value: words.full(row) });
      }
      lines.push({
        name: fields.length === 1 ? (spec.y?.title ?? fields[0]?.name ?? g.field) : g.name,
        value: seriesValue(spec, first, numberAt(row.row, g.field), locale),
      });
      if (size !== undefined && size !== g.field) {
        const v = numberAt(row.row, size);
        const named = spec.series.find((s) => s.field === size);
        lines.push({
          name: named?.name ?? size,
          value: v === null ? "–" : formatNumber(v, { unit: named?.unit }, locale),
        });
      }
      return {
        title:
          group === undefined && onAxis ? g.name : group === undefined ? words.full(row) : g.name,
        lines,
      };
    },
    height: 340,
  };
}

/** The bars of a histogram: binned here from raw numbers, or as the payload counts them. */
export function mapHistogram(
  spec: ChartSpec,
  ctx: MapContext,
  bins: readonly { from: number; to: number; count: number }[],
): Mapped {
  const { locale, theme } = ctx;
  const color = seriesColor(ctx, spec.series[0], 0);
  const at = frame(spec, [], ctx);
  const field = spec.x?.field;
  const source = spec.series.find((s) => s.field === field);
  const style: NumberStyleOf = {
    valueFormat: spec.valueFormat,
    format: spec.format,
    unit: source?.unit ?? spec.unit,
  };
  const edge = (v: number): string => formatNumber(v, style, locale);
  const tick = (v: number): string =>
    formatNumber(v, { ...style, unit: undefined, short: true }, locale);
  const counts = spec.y?.title ?? ctx.t("chat.block.chart.count");
  const xTitle = axisTitle(spec.x?.title ? { title: spec.x.title } : undefined, style.unit);
  return {
    option: {
      legend: { show: false },
      grid: grid(at),
      tooltip: { trigger: "axis", axisPointer: { type: "shadow" } },
      xAxis: placeAxis(ctx, {
        type: "category",
        data: bins.map((b) => tick(b.from)),
        axisTick: { show: true, alignWithLabel: false, lineStyle: { color: theme.muted } },
        axisLabel: { hideOverlap: true, align: "center" },
        ...(xTitle ? { name: xTitle, nameLocation: "middle", nameGap: 28 } : {}),
      }),
      yAxis: valueAxis(ctx, spec.y, (v) => formatNumber(v, { short: true }, locale), {
        name: counts,
        nameLocation: "end",
        nameGap: 10,
        nameTextStyle: { align: "left" },
        minInterval: 1,
        ...reach(spec),
      }),
      series: [
        {
          type: "bar",
          name: counts,
          barCategoryGap: "4%",
          itemStyle: { color, borderRadius: [2, 2, 0, 0] },
          data: bins.map((b): Mark => ({ value: b.count, row: -1 })),
          ...valueLines(spec, (v) => formatNumber(v, {}, locale), ctx),
        },
      ],
    },
    tooltip: (params) => {
      const b = bins[allMarks(params)[0]?.dataIndex ?? -1];
      return b
        ? {
            title: `${edge(b.from)} – ${edge(b.to)}`,
            lines: [{ name: counts, value: formatNumber(b.count, {}, locale), color }],
          }
        : null;
    },
    height: 300,
  };
}

type NumberStyleOf = {
  valueFormat?: ChartSpec["valueFormat"];
  format?: ChartSpec["format"];
  unit?: string | undefined;
};

/** Whether a point of a series stands alone between two gaps. */
function lone(rows: readonly PlacedRow[], field: string): boolean {
  const known = rows.map((r) => numberAt(r.row, field) !== null);
  return known.some((here, i) => here && !known[i - 1] && !known[i + 1]);
}

/** One step of a waterfall: where its bar starts and ends, and whether it stands for a sum. */
export interface WaterfallStep {
  label: string;
  start: number;
  end: number;
  delta: number;
  total: boolean;
  row: number;
}

/**
 * The steps of a waterfall. A row whose field `total` is true stands from zero
 * to the running sum (or to its own number); without such a row a closing sum
 * is added.
 */
export function waterfallSteps(
  spec: ChartSpec,
  rows: readonly PlacedRow[],
  label: (row: PlacedRow) => string,
  totalWord: string,
): WaterfallStep[] {
  const field = spec.series[0]?.field;
  let sum = 0;
  const steps: WaterfallStep[] = [];
  let totals = false;
  for (const row of rows) {
    const value = numberAt(row.row, field);
    if (row.row.total === true) {
      totals = true;
      sum = value ?? sum;
      steps.push({
        label: label(row),
        start: 0,
        end: sum,
        delta: sum,
        total: true,
        row: row.index,
      });
      continue;
    }
    const start = sum;
    sum += value ?? 0;
    steps.push({
      label: label(row),
      start,
      end: sum,
      delta: value ?? 0,
      total: false,
      row: row.index,
    });
  }
  if (!totals && steps.length > 1) {
    steps.push({ label: totalWord, start: 0, end: sum, delta: sum, total: true, row: -1 });
  }
  return steps;
}

/** waterfall: floating bars, split at zero where one crosses it. */
export function mapWaterfall(spec: ChartSpec, ctx: MapContext): Mapped {
  const { locale, theme, t } = ctx;
  const kind = xKind(spec);
  const rows = placedRows(spec, kind, locale);
  const words = xWords(spec, kind, rows, locale);
  const steps = waterfallSteps(spec, rows, words.label, t("chat.block.chart.total"));
  const at = frame(spec, [], ctx);
  const first = spec.series[0];
  const color = (s: WaterfallStep): string =>
    s.total
      ? (colorToken(theme, first?.color) ?? theme.accent)
      : s.delta < 0
        ? theme.bad
        : theme.good;
  const base = steps.map((s) => {
    const low = Math.min(s.start, s.end);
    const high = Math.max(s.start, s.end);
    return Math.max(0, low) + Math.min(0, high);
  });
  const part = (side: "above" | "below"): Mark[] =>
    steps.map((s, i) => {
      const low = Math.min(s.start, s.end);
      const high = Math.max(s.start, s.end);
      const value =
        side === "above"
          ? Math.max(0, high) - Math.max(0, low)
          : Math.min(0, low) - Math.min(0, high);
      return {
        value: value === 0 && base[i] !== 0 ? null : value,
        row: s.row,
        itemStyle: { color: color(s) },
      };
    });
  const text = (s: WaterfallStep): string => {
    const shown = seriesValue(spec, first, s.delta, locale);
    return s.total || s.delta <= 0 ? shown : `+${shown}`;
  };
  const title = axisTitle(spec.y, first?.unit ?? spec.unit);
  const perStep = (ctx.width - 60) / Math.max(1, steps.length);
  const showLabels = (spec.labels ?? steps.length <= 12) && perStep >= 34;
  const label = (s: WaterfallStep): string =>
    perStep >= 90
      ? text(s)
      : `${!s.total && s.delta > 0 ? "+" : ""}${axisWords(spec, spec.y, false, ctx)(s.delta)}`;
  const bar = (side: "above" | "below"): Option => ({
    type: "bar",
    name: first?.name ?? "",
    stack: "steps",
    barMaxWidth: 44,
    barCategoryGap: "30%",
    data: part(side),
    itemStyle: { borderRadius: 2 },
    ...(showLabels
      ? {
          label: {
            show: true,
            position: side === "above" ? "top" : "bottom",
            color: theme.text,
            fontSize: 11,
            formatter: (p: { dataIndex: number; value: unknown }) => {
              const s = steps[p.dataIndex];
              const crossing = s && Math.min(s.start, s.end) < 0 && Math.max(s.start, s.end) > 0;
              return s &&
                typeof p.value === "number" &&
                p.value !== 0 &&
                !(crossing && side === "below")
                ? label(s)
                : "";
            },
          },
          labelLayout: { hideOverlap: true },
        }
      : {}),
  });
  return {
    option: {
      legend: { show: false },
      grid: grid(at, { top: at.top + 10 }),
      tooltip: { trigger: "axis", axisPointer: { type: "shadow" } },
      xAxis: placeAxis(ctx, {
        type: "category",
        data: steps.map((s) => s.label),
        axisLine: { onZero: true },
        axisLabel: {
          interval: steps.length <= 12 ? 0 : "auto",
          width: Math.max(40, (ctx.width - 60) / Math.max(1, steps.length)),
          overflow: "truncate",
        },
      }),
      yAxis: valueAxis(ctx, spec.y, axisWords(spec, spec.y, false, ctx), {
        // Room for the label of the highest bar.
        ...(showLabels ? { boundaryGap: [0, "8%"] } : {}),
        ...reach(spec),
        ...(title
          ? { name: title, nameLocation: "end", nameGap: 12, nameTextStyle: { align: "left" } }
          : {}),
      }),
      series: [
        {
          type: "bar",
          stack: "steps",
          silent: true,
          itemStyle: { color: "transparent" },
          emphasis: { disabled: true },
          data: base.map((value): Mark => ({ value, row: -1 })),
        },
        { ...bar("above"), ...valueLines(spec, (v) => seriesValue(spec, first, v, locale), ctx) },
        bar("below"),
      ],
    },
    tooltip: (params) => {
      const s = steps[allMarks(params)[0]?.dataIndex ?? -1];
      if (!s) {
        return null;
      }
      const lines = [{ name: first?.name ?? "", value: text(s), color: color(s) }];
      if (!s.total) {
        lines.push({
          name: t("chat.block.chart.total"),
          value: seriesValue(spec, first, s.end, locale),
          color: "",
        });
      }
      return { title: s.label, lines };
    },
    height: 320,
  };
}
