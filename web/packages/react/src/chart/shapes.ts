import { formatNumber } from "../blocks/format.ts";
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
  type Option,
  placeAxis,
  reach,
  seriesColor,
  valueAxis,
  valueLines,
} from "./option.ts";
import { type PlacedRow, placedRows, seriesValue, xKind, xWords } from "./rows.ts";
import { type ChartSpec, numberAt, textAt } from "./spec.ts";
import { type FiveNumbers, fiveNumbers } from "./stats.ts";
import { colorToken } from "./theme.ts";

function prepared(spec: ChartSpec, ctx: MapContext) {
  const kind = xKind(spec);
  const rows = placedRows(spec, kind, ctx.locale);
  return { kind, rows, words: xWords(spec, kind, rows, ctx.locale) };
}

function percentText(share: number, locale: string): string {
  return formatNumber(share, { valueFormat: "percent" }, locale);
}

interface Slice {
  name: string;
  value: number;
  row: PlacedRow;
}

function slices(spec: ChartSpec, ctx: MapContext): Slice[] {
  const { rows, words } = prepared(spec, ctx);
  const field = spec.encode?.value ?? spec.series[0]?.field;
  return rows.flatMap((row) => {
    const value = numberAt(row.row, field);
    return value === null || value < 0 ? [] : [{ name: words.full(row), value, row }];
  });
}

/** pie and donut: shares of a whole. */
export function mapPie(spec: ChartSpec, ctx: MapContext): Mapped {
  const { theme, locale, width } = ctx;
  const parts = slices(spec, ctx);
  const total = parts.reduce((sum, p) => sum + p.value, 0);
  const narrow = width < 480;
  const series = spec.series[0];
  const share = (value: number): number => (total === 0 ? 0 : value / total);
  const donut = spec.type === "donut";
  const wanted =
    spec.legend === undefined || spec.legend === "auto"
      ? narrow
        ? "bottom"
        : "none"
      : spec.legend;
  const at = frame(
    { ...spec, legend: wanted },
    parts.map((p) => p.name),
    ctx,
  );
  const outer = narrow ? "74%" : "72%";
  return {
    option: {
      legend: at.legend,
      tooltip: { trigger: "item" },
      ...(donut
        ? {
            title: {
              text: total === 0 ? "" : seriesValue(spec, series, total, locale),
              subtext: ctx.t("chat.block.chart.total"),
              left: "center",
              top: narrow ? "38%" : "middle",
              itemGap: 2,
              textStyle: {
                color: theme.text,
                fontSize: 16,
                fontWeight: 600,
                fontFamily: theme.font,
              },
              subtextStyle: { color: theme.muted, fontSize: 12, fontFamily: theme.font },
            },
          }
        : {}),
      series: [
        {
          type: "pie",
          name: series?.name ?? "",
          radius: donut ? [narrow ? "50%" : "48%", outer] : [0, outer],
          center: ["50%", narrow ? "46%" : "50%"],
          startAngle: 90,
          itemStyle: { borderColor: theme.surface, borderWidth: 2 },
          avoidLabelOverlap: true,
          label: narrow
            ? {
                show: true,
                position: "inside",
                color: theme.surface,
                fontSize: 11,
                formatter: (p: { value: unknown }) =>
                  typeof p.value === "number" && share(p.value) >= 0.07
                    ? percentText(share(p.value), locale)
                    : "",
              }
            : {
                show: true,
                color: theme.text,
                fontSize: 12,
                width: Math.max(80, width / 2 - 150),
                overflow: "truncate",
                formatter: (p: { name: string; value: unknown }) =>
                  `${p.name}  ${typeof p.value === "number" ? percentText(share(p.value), locale) : ""}`,
              },
          labelLine: { show: !narrow, length: 10, length2: 8, lineStyle: { color: theme.muted } },
          emphasis: { scaleSize: 4 },
          data: parts.map(
            (p, i): Mark => ({
              name: p.name,
              value: p.value,
              row: p.row.index,
              itemStyle: { color: seriesColor(ctx, undefined, i) },
            }),
          ),
        },
      ],
    },
    tooltip: (params) => {
      const mark = allMarks(params)[0];
      const part = parts[mark?.dataIndex ?? -1];
      return part && mark
        ? {
            title: part.name,
            lines: [
              {
                name: series?.name ?? "",
                value: `${seriesValue(spec, series, part.value, locale)} · ${percentText(share(part.value), locale)}`,
                color: seriesColor(ctx, undefined, mark.dataIndex),
              },
            ],
          }
        : null;
    },
    height: narrow ? 320 : 300,
  };
}

/** funnel: stages that narrow, each with its share of the first. */
export function mapFunnel(spec: ChartSpec, ctx: MapContext): Mapped {
  const { theme, locale, width } = ctx;
  const parts = slices(spec, ctx);
  const first = Math.max(...parts.map((p) => p.value), 0);
  const series = spec.series[0];
  const narrow = width < 480;
  const share = (value: number): string => percentText(first === 0 ? 0 : value / first, locale);
  const shown = parts.map((p) => ({
    ...p,
    text: `${seriesValue(spec, series, p.value, locale)} · ${share(p.value)}`,
  }));
  return {
    option: {
      legend: { show: false },
      tooltip: { trigger: "item" },
      series: [
        {
          type: "funnel",
          name: series?.name ?? "",
          left: narrow ? "4%" : "2%",
          width: narrow ? "42%" : "52%",
          top: 12,
          bottom: 12,
          minSize: "4%",
          sort: "none",
          gap: 3,
          max: first,
          itemStyle: { borderWidth: 0 },
          labelLine: { show: false },
          // All names in one column, clear of the widest stage.
          labelLayout: { x: width * (narrow ? 0.5 : 0.58), align: "left" },
          label: {
            show: true,
            position: "right",
            color: theme.text,
            fontSize: 12,
            width: width * (narrow ? 0.46 : 0.4),
            overflow: "truncate",
            formatter: (p: { dataIndex: number }) => {
              const one = shown[p.dataIndex];
              return one ? `${one.name}\n{muted|${one.text}}` : "";
            },
            rich: { muted: { color: theme.muted, fontSize: 12, lineHeight: 18 } },
          },
          data: parts.map(
            (p, i): Mark => ({
              name: p.name,
              value: p.value,
              row: p.row.index,
              itemStyle: {
                color: mix(
                  theme.surface,
                  seriesColor(ctx, series, 0),
                  Math.max(0.45, 1 - i * 0.12),
                ),
              },
            }),
          ),
        },
      ],
    },
    tooltip: (params) => {
      const one = shown[allMarks(params)[0]?.dataIndex ?? -1];
      return one
        ? {
            title: one.name,
            lines: [
              { name: series?.name ?? "", value: one.text, color: seriesColor(ctx, series, 0) },
            ],
          }
        : null;
    },
    height: Math.min(420, Math.max(180, parts.length * 52 + 24)),
  };
}

/** radar: several measures of a few things, one polygon each. */
export function mapRadar(spec: ChartSpec, ctx: MapContext): Mapped {
  const { theme, locale, width } = ctx;
  const { rows, words } = prepared(spec, ctx);
  const top = spec.y?.max ?? undefined;
  const range = extent(
    rows,
    spec.series.map((s) => s.field),
  );
  const most = top ?? (range ? niceTop(range[1]) : 1);
  const least = spec.y?.min ?? Math.min(0, range?.[0] ?? 0);
  const at = frame(
    spec,
    spec.series.map((s) => s.name),
    ctx,
  );
  return {
    option: {
      legend: at.legend,
      tooltip: { trigger: "item" },
      radar: {
        indicator: rows.map((row) => ({ name: words.label(row), max: most, min: least })),
        radius: width < 480 ? "58%" : "72%",
        center: ["50%", at.top > 20 ? "56%" : "52%"],
        splitNumber: 4,
        axisName: {
          color: theme.text,
          fontSize: 12,
          width: Math.max(60, width / 4),
          overflow: "truncate",
        },
        axisLine: { lineStyle: { color: theme.grid } },
        splitLine: { lineStyle: { color: theme.grid } },
        splitArea: { show: false },
      },
      series: [
        {
          type: "radar",
          symbolSize: 5,
          data: spec.series.map((s, i): Mark => {
            const color = seriesColor(ctx, s, i);
            return {
              name: s.name,
              // Radar has no gaps: a missing measure sits at the centre's value.
              value: rows.map((row) => numberAt(row.row, s.field) ?? "-"),
              row: -1,
              itemStyle: { color },
              lineStyle: { color, width: 2, ...(s.dashed ? { type: "dashed" } : {}) },
              areaStyle: { color, opacity: 0.12 },
            };
          }),
        },
      ],
    },
    tooltip: (params) => {
      const mark = allMarks(params)[0];
      const s = spec.series[mark?.dataIndex ?? -1];
      return s
        ? {
            title: s.name,
            lines: rows.map((row) => ({
              name: words.full(row),
              value: seriesValue(spec, s, numberAt(row.row, s.field), locale),
            })),
          }
        : null;
    },
    height: 340,
  };
}

/** The next round number from a value upwards: 1, 2, 2.5, 5 or 10 times a power of ten. */
export function niceTop(value: number): number {
  if (!(value > 0)) {
    return 1;
  }
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find(
    (s) => s * power >= value * (1 - 1e-9),
  );
  return Number(((step ?? 10) * power).toPrecision(12));
}

/** gauge: one number on its scale. */
export function mapGauge(spec: ChartSpec, ctx: MapContext): Mapped {
  const { theme, locale } = ctx;
  const series = spec.series[0];
  const field = series?.field ?? spec.encode?.value;
  const index = spec.data.findIndex((row) => numberAt(row, field) !== null);
  const row = spec.data[index];
  const value = row ? numberAt(row, field) : null;
  const low = spec.y?.min ?? Math.min(0, value ?? 0);
  const percentTop =
    spec.valueFormat === "percent" ? (spec.format?.percentBase === 100 ? 100 : 1) : undefined;
  const high =
    spec.y?.max ??
    (percentTop !== undefined && (value ?? 0) <= percentTop
      ? percentTop
      : niceTop(Math.max(value ?? 0, low + 1e-9)));
  const color = seriesColor(ctx, series, 0);
  const words = axisWords(spec, spec.y, false, ctx);
  const title = spec.x && row ? textAt(row, spec.x.field) : (series?.name ?? "");
  const target = (spec.refs ?? []).find((r) => r.axis === "y" && typeof r.value === "number");
  const ring: Option = {
    type: "gauge",
    startAngle: 200,
    endAngle: -20,
    min: low,
    max: high,
    center: ["50%", "64%"],
    radius: "96%",
  };
  return {
    option: {
      legend: { show: false },
      tooltip: { trigger: "item" },
      series: [
        {
          ...ring,
          name: series?.name ?? "",
          splitNumber: 4,
          progress: { show: true, width: 14, roundCap: false, itemStyle: { color } },
          axisLine: { roundCap: false, lineStyle: { width: 14, color: [[1, theme.grid]] } },
          pointer: { show: false },
          axisTick: { show: false },
          splitLine: { show: false },
          axisLabel: {
            color: theme.muted,
            fontSize: 11,
            distance: 22,
            formatter: (v: number) => (v === low || v === high ? words(v) : ""),
          },
          title: {
            show: title !== "",
            color: theme.muted,
            fontSize: 13,
            offsetCenter: [0, "12%"],
            width: 120,
            overflow: "truncate",
          },
          detail: {
            color: theme.text,
            fontSize: 26,
            fontWeight: 600,
            fontFamily: theme.font,
            offsetCenter: [0, "-14%"],
            formatter: () => seriesValue(spec, series, value, locale),
          },
          data: [{ value: value ?? low, name: title, row: index }],
        },
        ...(target && typeof target.value === "number"
          ? [
              {
                ...ring,
                silent: true,
                axisLine: { show: false },
                axisTick: { show: false },
                splitLine: { show: false },
                axisLabel: { show: false },
                progress: { show: false },
                title: { show: false },
                detail: {
                  color: theme.muted,
                  fontSize: 12,
                  fontFamily: theme.font,
                  offsetCenter: [0, "34%"],
                  fontWeight: 400,
                  formatter: () =>
                    `${target.label ?? ctx.t("chat.block.chart.target")} ${seriesValue(spec, series, Number(target.value), locale)}`,
                },
                pointer: {
                  show: true,
                  icon: "rect",
                  width: 3,
                  length: 16,
                  offsetCenter: [0, "-88%"],
                  itemStyle: { color: theme.text },
                },
                data: [{ value: target.value, row: -1 }],
              },
            ]
          : []),
      ],
    },
    tooltip: () =>
      value === null
        ? null
        : {
            title,
            lines: [
              { name: series?.name ?? "", value: seriesValue(spec, series, value, locale), color },
            ],
          },
    height: 230,
  };
}

function channels(color: string): [number, number, number] | null {
  // A style sheet that was made smaller says #fff.
  const hex = /^#(?:([0-9a-f]{3})|([0-9a-f]{6}))$/i.exec(color);
  if (!hex) return null;
  const digits = hex[2] ?? (hex[1] ?? "").replace(/./g, "$&$&");
  const at = (i: number) => Number.parseInt(digits.slice(i, i + 2), 16);
  return [at(0), at(2), at(4)];
}

/** The colour between two, given as `#rrggbb` or `#rgb`; for others the nearer of the two. */
export function mix(a: string, b: string, share: number): string {
  const from = channels(a);
  const to = channels(b);
  if (!from || !to) {
    return share < 0.5 ? a : b;
  }
  const at = Math.min(1, Math.max(0, share));
  return `#${from
    .map((v, i) =>
      Math.round(v + ((to[i] ?? v) - v) * at)
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;
}

function luminance(color: string): number {
  const [r, g, b] = (channels(color) ?? [128, 128, 128]).map((v) => {
    const c = v / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * (r ?? 0) + 0.7152 * (g ?? 0) + 0.0722 * (b ?? 0);
}

/** The contrast of two colours as WCAG counts it, from 1 to 21. */
export function contrast(a: string, b: string): number {
  const one = luminance(a);
  const other = luminance(b);
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}

/** heatmap: a number for each pair of two categories. */
export function mapHeatmap(spec: ChartSpec, ctx: MapContext): Mapped {
  const { theme, locale, width } = ctx;
  const { rows, words } = prepared(spec, ctx);
  const yField = spec.encode?.y;
  const series = spec.series[0];
  const field = spec.encode?.value ?? series?.field;
  const columns = [...new Set(rows.map((r) => words.label(r)))];
  const lines = [...new Set(rows.map((r) => textAt(r.row, yField)))];
  const columnAt = new Map(columns.map((c, i) => [c, i]));
  const lineAt = new Map(lines.map((c, i) => [c, i]));
  const range = extent(rows, [field]) ?? [0, 1];
  const low = spec.y?.min ?? range[0];
  const high = spec.y?.max ?? range[1];
  const written = axisWords(spec, spec.y, false, ctx);
  const full = colorToken(theme, series?.color) ?? theme.palette[0] ?? theme.accent;
  const pale = mix(theme.surface, full, theme.dark ? 0.16 : 0.08);
  // Below zero needs a second hue, with the surface in between.
  const diverging = low < 0 && high > 0;
  const reach = Math.max(Math.abs(low), Math.abs(high));
  const cold = theme.palette[1] ?? theme.bad;
  const cellWidth = (width - 120) / Math.max(1, columns.length);
  const labels = spec.labels ?? (cellWidth >= 44 && rows.length <= 150);
  const byIndex = new Map(rows.map((r) => [r.index, r]));
  const ground = (v: number): string =>
    diverging
      ? mix(pale, v < 0 ? cold : full, Math.abs(v) / (reach || 1))
      : mix(pale, full, (v - low) / (high - low || 1));
  const inkOn = (color: string): string =>
    contrast(theme.surface, color) > contrast(theme.text, color) ? theme.surface : theme.text;
  return {
    option: {
      legend: { show: false },
      tooltip: { trigger: "item" },
      grid: grid({ legend: {}, top: 8, bottom: 44, right: 8 }),
      xAxis: placeAxis(ctx, {
        type: "category",
        data: columns,
        axisLine: { show: false },
        axisLabel: { width: Math.max(40, cellWidth), overflow: "truncate" },
      }),
      yAxis: placeAxis(ctx, {
        type: "category",
        data: lines,
        inverse: true,
        axisLine: { show: false },
        axisLabel: { width: Math.max(56, Math.min(180, width * 0.28)), overflow: "truncate" },
      }),
      visualMap: {
        type: "continuous",
        min: diverging ? -reach : low,
        max: diverging ? reach : high === low ? low + 1 : high,
        calculable: false,
        orient: "horizontal",
        left: "center",
        bottom: 0,
        itemWidth: 10,
        itemHeight: Math.min(180, width * 0.4),
        text: [written(diverging ? reach : high), written(diverging ? -reach : low)],
        textStyle: { color: theme.muted, fontSize: 11 },
        inRange: { color: diverging ? [cold, pale, full] : [pale, full] },
      },
      series: [
        {
          type: "heatmap",
          name: series?.name ?? field ?? "",
          itemStyle: { borderColor: theme.surface, borderWidth: 2, borderRadius: 3 },
          emphasis: { itemStyle: { borderColor: theme.text, borderWidth: 1 } },
          label: {
            show: labels,
            fontSize: 11,
            formatter: (p: { value: unknown }) =>
              Array.isArray(p.value) && typeof p.value[2] === "number" ? written(p.value[2]) : "",
          },
          data: rows.flatMap((row): Mark[] => {
            const value = numberAt(row.row, field);
            const x = columnAt.get(words.label(row));
            const y = lineAt.get(textAt(row.row, yField));
            return value === null || x === undefined || y === undefined
              ? []
              : [
                  {
                    value: [x, y, value],
                    row: row.index,
                    label: { color: inkOn(ground(value)) },
                  },
                ];
          }),
        },
      ],
    },
    tooltip: (params) => {
      const row = byIndex.get(allMarks(params)[0]?.row ?? -1);
      return row
        ? {
            title: `${words.full(row)} · ${textAt(row.row, yField)}`,
            lines: [
              {
                name: series?.name ?? field ?? "",
                value: seriesValue(spec, series, numberAt(row.row, field), locale),
              },
            ],
          }
        : null;
    },
    height: Math.min(620, Math.max(180, lines.length * 34 + 90)),
  };
}

interface TreeNode {
  name: string;
  value?: number;
  row: number;
  children?: TreeNode[];
  itemStyle?: Option;
  label?: Option;
}

/** Builds the tree of a treemap from rows that name their parents; cycles are cut. */
export function treeOf(spec: ChartSpec): TreeNode[] {
  const parent = spec.encode?.parent;
  const field = spec.encode?.value ?? spec.series[0]?.field;
  const nameField =
    spec.x?.field ??
    Object.keys(spec.data[0] ?? {}).find(
      (key) => key !== parent && key !== field && typeof spec.data[0]?.[key] === "string",
    );
  const nodes = spec.data.map((row, index): TreeNode => {
    const value = numberAt(row, field);
    return {
      name: textAt(row, nameField),
      row: index,
      ...(value !== null && value >= 0 ? { value } : {}),
    };
  });
  if (!parent) {
    return nodes.filter((n) => n.value !== undefined);
  }
  const byName = new Map<string, number>();
  nodes.forEach((node, i) => {
    if (!byName.has(node.name)) {
      byName.set(node.name, i);
    }
  });
  const parentOf = spec.data.map((row) => {
    const name = textAt(row, parent);
    return name === "" ? -1 : (byName.get(name) ?? -2);
  });
  const roots: TreeNode[] = [];
  const groups = new Map<string, TreeNode>();
  nodes.forEach((node, i) => {
    let up = parentOf[i] ?? -1;
    const seen = new Set([i]);
    for (let at = up; at >= 0; at = parentOf[at] ?? -1) {
      if (seen.has(at)) {
        up = -1;
        break;
      }
      seen.add(at);
    }
    if (up >= 0) {
      const target = nodes[up];
      if (target) {
        target.children = [...(target.children ?? []), node];
      }
      return;
    }
    if (up === -2) {
      // The parent has no row of its own: a group with its name stands for it.
      const name = textAt(spec.data[i] ?? {}, parent);
      let group = groups.get(name);
      if (!group) {
        group = { name, row: -1, children: [] };
        groups.set(name, group);
        roots.push(group);
      }
      group.children?.push(node);
      return;
    }
    roots.push(node);
  });
  // A parent's size is the sum of its parts.
  const settle = (node: TreeNode): boolean => {
    if (node.children) {
      node.children = node.children.filter(settle);
      if (node.children.length > 0) {
        delete node.value;
        return true;
      }
      delete node.children;
    }
    return node.value !== undefined;
  };
  return roots.filter(settle);
}

/** treemap: areas by size, one level of groups coloured apart. */
export function mapTreemap(spec: ChartSpec, ctx: MapContext): Mapped {
  const { theme, locale } = ctx;
  const series = spec.series[0];
  const roots = treeOf(spec);
  const grouped = roots.some((n) => n.children);
  const total = (n: TreeNode): number =>
    n.children ? n.children.reduce((sum, c) => sum + total(c), 0) : (n.value ?? 0);
  const all = roots.reduce((sum, n) => sum + total(n), 0);
  const largest = Math.max(0, ...roots.map(total));
  const data = roots.map((node, i) => {
    const flat = colorToken(theme, series?.color) ?? theme.palette[0] ?? theme.accent;
    const color = grouped
      ? seriesColor(ctx, undefined, i)
      : mix(theme.surface, flat, 0.75 + 0.25 * (largest ? total(node) / largest : 1));
    return { ...node, itemStyle: { color } };
  });
  return {
    option: {
      legend: { show: false },
      tooltip: { trigger: "item" },
      series: [
        {
          type: "treemap",
          name: series?.name ?? "",
          roam: false,
          nodeClick: false,
          breadcrumb: { show: false },
          left: 0,
          right: 0,
          top: 4,
          bottom: 4,
          visibleMin: 100,
          label: {
            show: true,
            color: theme.surface,
            fontSize: 12,
            overflow: "truncate",
            formatter: (p: { name: string; value: unknown }) =>
              typeof p.value === "number"
                ? `${p.name}\n${seriesValue(spec, series, p.value, locale)}`
                : p.name,
          },
          upperLabel: {
            show: grouped,
            height: 22,
            color: theme.text,
            fontSize: 12,
            fontWeight: 600,
            overflow: "truncate",
          },
          itemStyle: { borderColor: theme.surface, borderWidth: 1, gapWidth: 1 },
          levels: grouped
            ? [
                { itemStyle: { borderWidth: 0, gapWidth: 4 }, upperLabel: { show: false } },
                { itemStyle: { gapWidth: 1, borderWidth: 2 }, colorSaturation: undefined },
              ]
            : [{ itemStyle: { borderWidth: 0, gapWidth: 2 } }],
          data,
        },
      ],
    },
    tooltip: (params) => {
      const mark = allMarks(params)[0];
      if (!mark || mark.name === "") {
        return null;
      }
      const value = typeof mark.value === "number" ? mark.value : null;
      return {
        title: mark.name,
        lines: [
          {
            name: series?.name ?? "",
            value: `${seriesValue(spec, series, value, locale)}${value !== null && all > 0 ? ` · ${percentText(value / all, locale)}` : ""}`,
          },
        ],
      };
    },
    height: 320,
  };
}

interface Box {
  five: FiveNumbers;
  row: number;
}

function boxes(
  spec: ChartSpec,
  ctx: MapContext,
): { names: string[]; series: { name: string; boxes: (Box | null)[] }[] } {
  const { rows, words } = prepared(spec, ctx);
  const { min, q1, median, q3, max } = spec.encode ?? {};
  if (min && q1 && median && q3 && max) {
    return {
      names: rows.map((r) => words.label(r)),
      series: [
        {
          name: spec.series[0]?.name ?? "",
          boxes: rows.map((r) => {
            const five = [min, q1, median, q3, max].map((f) => numberAt(r.row, f));
            return five.every((v) => v !== null)
              ? { five: five as FiveNumbers, row: r.index }
              : null;
          }),
        },
      ],
    };
  }
  const names = [...new Set(rows.map((r) => words.label(r)))];
  return {
    names,
    series: spec.series.map((s) => {
      const groups = new Map<string, number[]>();
      for (const r of rows) {
        const value = numberAt(r.row, s.field);
        if (value !== null) {
          const key = words.label(r);
          const list = groups.get(key);
          if (list) {
            list.push(value);
          } else {
            groups.set(key, [value]);
          }
        }
      }
      return {
        name: s.name,
        boxes: names.map((n) => {
          const five = fiveNumbers(groups.get(n) ?? []);
          return five ? { five, row: -1 } : null;
        }),
      };
    }),
  };
}

/** boxplot: spread by group, from given quartiles or from raw values. */
export function mapBoxplot(spec: ChartSpec, ctx: MapContext): Mapped {
  const { locale, t } = ctx;
  const { names, series } = boxes(spec, ctx);
  const at = frame(
    spec,
    series.map((s) => s.name),
    ctx,
  );
  const title = axisTitle(spec.y, spec.unit);
  return {
    option: {
      legend: at.legend,
      tooltip: { trigger: "item" },
      grid: grid(at),
      xAxis: placeAxis(ctx, {
        type: "category",
        data: names,
        axisLabel: {
          width: Math.max(48, (ctx.width - 60) / Math.max(1, names.length)),
          overflow: "truncate",
        },
      }),
      yAxis: valueAxis(ctx, spec.y, axisWords(spec, spec.y, false, ctx), {
        scale: spec.y?.zero !== true,
        ...reach(spec),
        ...(title
          ? { name: title, nameLocation: "end", nameGap: 10, nameTextStyle: { align: "left" } }
          : {}),
      }),
      series: series.map((s, i): Option => {
        const color = seriesColor(ctx, spec.series[i], i);
        return {
          type: "boxplot",
          name: s.name,
          boxWidth: [10, 44],
          itemStyle: { color: `${color}33`, borderColor: color, borderWidth: 1.5 },
          data: s.boxes.map((b): Mark => ({ value: b ? b.five : [], row: b?.row ?? -1 })),
          ...(i === 0
            ? valueLines(spec, (v) => seriesValue(spec, spec.series[0], v, locale), ctx)
            : {}),
        };
      }),
    },
    tooltip: (params) => {
      const mark = allMarks(params)[0];
      const one = series[mark?.seriesIndex ?? -1];
      const b = one?.boxes[mark?.dataIndex ?? -1];
      if (!mark || !one || !b) {
        return null;
      }
      const labels = ["max", "q3", "median", "q1", "min"] as const;
      const source = spec.series[mark.seriesIndex];
      return {
        title: names[mark.dataIndex] ?? one.name,
        lines: labels.map((key, i) => ({
          name: t(`chat.block.chart.${key}`),
          value: seriesValue(spec, source, b.five[4 - i] ?? null, locale),
        })),
      };
    },
    height: 320,
  };
}

/** candlestick: open, close, low and high of each span of time. */
export function mapCandlestick(spec: ChartSpec, ctx: MapContext): Mapped {
  const { theme, locale, t } = ctx;
  const { rows, words } = prepared(spec, ctx);
  const { open, close, low, high } = spec.encode ?? {};
  // Readers of Chinese markets expect red for a rise.
  const redRises = locale.toLowerCase().startsWith("zh");
  const up = redRises ? theme.bad : theme.good;
  const down = redRises ? theme.good : theme.bad;
  const title = axisTitle(spec.y, spec.unit);
  const at = frame(spec, [], ctx);
  const byIndex = new Map(rows.map((r) => [r.index, r]));
  const windowed = spec.zoom ?? rows.length > 120;
  return {
    option: {
      legend: { show: false },
      tooltip: { trigger: "axis", axisPointer: { type: "line" } },
      grid: grid(at, {
        ...(windowed ? { bottom: at.bottom + 26 } : {}),
      }),
      xAxis: placeAxis(ctx, { type: "category", data: rows.map((r) => words.label(r)) }),
      yAxis: valueAxis(ctx, spec.y, axisWords(spec, spec.y, false, ctx), {
        scale: true,
        ...reach(spec),
        ...(title
          ? { name: title, nameLocation: "end", nameGap: 10, nameTextStyle: { align: "left" } }
          : {}),
      }),
      ...(windowed
        ? {
            dataZoom: [
              { type: "inside", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false },
              {
                type: "slider",
                height: 14,
                bottom: 8,
                showDetail: false,
                brushSelect: false,
                borderColor: theme.border,
                fillerColor: `${theme.muted}33`,
                handleStyle: { color: theme.surface, borderColor: theme.muted },
              },
            ],
          }
        : {}),
      series: [
        {
          type: "candlestick",
          name: spec.series[0]?.name ?? "",
          barMaxWidth: 14,
          itemStyle: { color: up, color0: down, borderColor: up, borderColor0: down },
          data: rows.map((r): Mark => {
            const values = [open, close, low, high].map((f) => numberAt(r.row, f));
            return {
              value: values.every((v) => v !== null) ? values : ["-", "-", "-", "-"],
              row: r.index,
            };
          }),
          ...valueLines(spec, (v) => seriesValue(spec, undefined, v, locale), ctx),
        },
      ],
    },
    tooltip: (params) => {
      const row = byIndex.get(allMarks(params)[0]?.row ?? -1);
      if (!row) {
        return null;
      }
      const fields = [
        ["open", open],
        ["high", high],
        ["low", low],
        ["close", close],
      ] as const;
      return {
        title: words.full(row),
        lines: fields.map(([key, field]) => ({
          name: t(`chat.block.chart.${key}`),
          value: seriesValue(spec, undefined, numberAt(row.row, field), locale),
        })),
      };
    },
    height: 340,
  };
}
