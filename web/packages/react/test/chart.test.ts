import { describe, expect, it } from "vitest";
import { waterfallSteps } from "../src/chart/cartesian.ts";
import { mappers, toOption } from "../src/chart/mappers.ts";
import type { MapContext, Option } from "../src/chart/option.ts";
import { chartTable, placedRows, xKind } from "../src/chart/rows.ts";
import { niceTop, treeOf } from "../src/chart/shapes.ts";
import { type ChartSpec, chartTypes, checkChart } from "../src/chart/spec.ts";
import { bin, fiveNumbers } from "../src/chart/stats.ts";
import { summarise } from "../src/chart/summary.ts";
import { chartThemes, colorToken } from "../src/chart/theme.ts";
import { tooltipElement, tooltipLine } from "../src/chart/tooltip.ts";
import { translator } from "../src/i18n/index.ts";
import { regions, samples } from "./samples.ts";

const context = (extra: Partial<MapContext> = {}): MapContext => ({
  theme: chartThemes.light,
  locale: "en",
  width: 720,
  t: translator("en"),
  still: true,
  ...extra,
});

type Loose = Record<string, unknown> & { data: { value: unknown; row: number }[] };

function seriesOf(option: Option): Loose[] {
  return option.series as Loose[];
}

function values(series: Loose | undefined): unknown[] {
  return (series?.data ?? []).map((d) => d.value);
}

function axis(option: Option, name: "xAxis" | "yAxis", at = 0): Record<string, unknown> {
  const found = option[name];
  return (Array.isArray(found) ? found[at] : found) as Record<string, unknown>;
}

describe("every type", () => {
  it("has a sample and a mapper", () => {
    expect(Object.keys(samples).sort()).toEqual([...chartTypes].sort());
    expect(Object.keys(mappers).sort()).toEqual([...chartTypes].sort());
  });

  it.each(chartTypes)("%s passes the check and is drawn over the base theme", (type) => {
    const spec = samples[type];
    expect(checkChart(spec)).toBeNull();
    for (const extra of [
      {},
      { width: 320, locale: "zh-CN", t: translator("zh"), theme: chartThemes.dark },
    ]) {
      const ctx = context(extra);
      const { option, height } = toOption(spec, ctx);
      expect(option.color).toEqual(ctx.theme.palette);
      expect((option.tooltip as Option).confine).toBe(true);
      expect(seriesOf(option).length).toBeGreaterThan(0);
      expect(height).toBeGreaterThan(100);
      // Nothing comes from the payload that could be run or fetched.
      expect(JSON.stringify(option)).not.toMatch(/image:\/\/|javascript:|<[a-z]/i);
    }
  });

  it.each(chartTypes)("%s says what is under the pointer, or nothing", (type) => {
    const { option, tooltip } = toOption(samples[type], context());
    expect(tooltip(undefined)).toSatisfy((t: unknown) => t === null || type === "gauge");
    const list = seriesOf(option);
    const at = list.findIndex((s) => s.silent !== true);
    const mark = {
      seriesIndex: at,
      dataIndex: 0,
      data: list[at]?.data[0],
      name: "Fruit",
      value: 8,
    };
    const text = tooltip([mark]) ?? tooltip(mark);
    expect(text?.lines.length).toBeGreaterThan(0);
  });

  it.each(chartTypes)("%s has its data as a table and a sentence", (type) => {
    const { columns, rows } = chartTable(samples[type], "en");
    expect(rows).toHaveLength(samples[type].data.length);
    expect(columns.length).toBeGreaterThan(0);
    expect(summarise(samples[type], "Title", "en", translator("en"))).toMatch(/: Title\./);
    expect(summarise(samples[type], "标题", "zh-CN", translator("zh"))).toMatch(/：标题。/);
  });

  it.each(chartTypes)("%s survives no data and only gaps", (type) => {
    const spec = samples[type];
    expect(() => toOption({ ...spec, data: [] }, context())).not.toThrow();
    const gaps = spec.data.map((row) => Object.fromEntries(Object.keys(row).map((k) => [k, null])));
    expect(() => toOption({ ...spec, data: gaps }, context())).not.toThrow();
  });
});

describe("checkChart", () => {
  it.each([
    [null, "payload is not an object"],
    [{ ...samples.bar, type: "sankey" }, "unknown chart type"],
    [{ ...samples.bar, x: undefined }, "x is missing"],
    [{ ...samples.bar, data: "x" }, "data is not a list"],
    [{ ...samples.bar, series: [{ field: "sales" }] }, "lacks its field or name"],
    [{ ...samples.bar, series: [] }, "series is empty"],
    [{ ...samples.bar, series: [{ field: "nope", name: "x" }] }, 'no row has the field "nope"'],
    [{ ...samples.bubble, encode: {} }, "encode.size is missing"],
    [{ ...samples.candlestick, encode: { open: "open" } }, "encode.high is missing"],
  ])("%j", (payload, want) => {
    expect(checkChart(payload)).toContain(want);
  });

  it("ignores what it does not know", () => {
    expect(checkChart({ ...samples.bar, later: { x: 1 } })).toBeNull();
  });

  it("takes the smallest document of version 1", () => {
    expect(
      checkChart({
        version: 1,
        type: "bar",
        x: { field: "a" },
        series: [{ field: "b", name: "B" }],
        data: [{ a: "x", b: 1 }],
      }),
    ).toBeNull();
  });
});

describe("bars", () => {
  it("keep gaps as gaps and know their rows", () => {
    const { option } = toOption(samples.bar, context());
    expect(values(seriesOf(option)[0])).toEqual([320, 210, null, 90]);
    expect(seriesOf(option)[0]?.data.map((d) => d.row)).toEqual([0, 1, 2, 3]);
    expect(axis(option, "xAxis").type).toBe("category");
    expect(axis(option, "yAxis").scale).toBe(false);
  });

  it("lie down beyond eight categories, and only then", () => {
    const many = (n: number): ChartSpec => ({
      ...samples.bar,
      data: Array.from({ length: n }, (_, i) => ({ region: `r${i}`, sales: i })),
    });
    expect(axis(toOption(many(8), context()).option, "xAxis").type).toBe("category");
    const lying = toOption(many(9), context()).option;
    expect(axis(lying, "yAxis").type).toBe("category");
    expect(axis(lying, "yAxis").inverse).toBe(true);
    expect(
      axis(toOption({ ...many(9), orientation: "vertical" }, context()).option, "xAxis").type,
    ).toBe("category");
    expect(
      axis(toOption({ ...many(3), orientation: "horizontal" }, context()).option, "yAxis").type,
    ).toBe("category");
    expect(toOption(many(100), context()).option.dataZoom).toBeDefined();
    expect(toOption(many(100), context()).height).toBeLessThanOrEqual(680);
  });

  it("sort by x when asked", () => {
    const spec: ChartSpec = { ...samples.bar, x: { field: "region", sort: "desc" } };
    expect(axis(toOption(spec, context()).option, "xAxis").data).toEqual([
      "West",
      "South",
      "North",
      "East",
    ]);
  });

  it("stack, by name or all", () => {
    const two = { ...samples.bar, series: samples.line.series };
    const stacks = (spec: ChartSpec) =>
      seriesOf(toOption(spec, context()).option).map((s) => s.stack);
    expect(stacks(two)).toEqual([undefined, undefined]);
    expect(stacks({ ...two, stack: true })).toEqual(["all-y", "all-y"]);
    expect(
      stacks({
        ...two,
        series: [
          { field: "sales", name: "S", stack: "q" },
          { field: "cost", name: "C" },
        ],
      }),
    ).toEqual(["q", undefined]);
  });

  it("stack to shares that sum to one, with the figures in the tooltip", () => {
    const spec: ChartSpec = {
      ...samples.bar,
      series: samples.line.series,
      stack: "percent",
      unit: "k",
    };
    const { option, tooltip } = toOption(spec, context());
    const [a, b] = seriesOf(option);
    expect(Number(values(a)[0]) + Number(values(b)[0])).toBeCloseTo(1);
    expect(values(a)[2]).toBeNull();
    expect(axis(option, "yAxis").max).toBe(1);
    const format = (axis(option, "yAxis").axisLabel as { formatter: (v: number) => string })
      .formatter;
    expect(format(0.5)).toBe("50%");
    const text = tooltip([{ seriesIndex: 0, dataIndex: 0, data: a?.data[0] }]);
    expect(text?.lines[0]?.value.replace(/\u00a0/g, " ")).toBe("320 k · 61.5%");
  });
});

describe("lines", () => {
  it("do not join over gaps", () => {
    const [line] = seriesOf(toOption(samples.line, context()).option);
    expect(line?.connectNulls).toBe(false);
    expect(line?.showSymbol).toBe(true);
  });

  it("show every point only while they are few, or one stands between two gaps", () => {
    const long = (values: (number | null)[]) => {
      const data = values.map((v, i) => ({ n: i, v }));
      const spec: ChartSpec = {
        ...samples.line,
        x: { field: "n", type: "number" },
        series: [{ field: "v", name: "v" }],
        data,
      };
      return seriesOf(toOption(spec, context()).option)[0]?.showSymbol;
    };
    const values = Array.from({ length: 60 }, (_, i): number | null => i);
    expect(long(values.slice(0, 20))).toBe(true);
    expect(long(values)).toBe(false);
    expect(long(values.map((v, i) => (i === 20 || i === 21 ? null : v)))).toBe(false);
    expect(long(values.map((v, i) => (i === 20 || i === 22 ? null : v)))).toBe(true);
  });

  it("go on a time axis for dates, in order, without a zone's shift", () => {
    const spec: ChartSpec = {
      ...samples.line,
      x: { field: "day" },
      series: [{ field: "n", name: "N" }],
      data: [
        { day: "2026-03-04", n: 2 },
        { day: "2026-03-01", n: 1 },
      ],
    };
    expect(xKind(spec)).toBe("time");
    const { option } = toOption(spec, context());
    expect(axis(option, "xAxis").type).toBe("time");
    expect(option.useUTC).toBe(true);
    expect(values(seriesOf(option)[0])).toEqual([
      [Date.UTC(2026, 2, 1), 1],
      [Date.UTC(2026, 2, 4), 2],
    ]);
  });

  it("show times in the zone of the payload", () => {
    const spec: ChartSpec = {
      ...samples.line,
      x: { field: "at", type: "time", timeZone: "Asia/Tokyo" },
      series: [{ field: "n", name: "N" }],
      data: [
        { at: Date.UTC(2026, 0, 1, 0), n: 1 },
        { at: Date.UTC(2026, 0, 1, 6), n: 2 },
      ],
    };
    const { option } = toOption(spec, context());
    const format = (axis(option, "xAxis").axisLabel as { formatter: (v: number) => string })
      .formatter;
    expect(format(Number((values(seriesOf(option)[0])[0] as number[])[0]))).toBe("09:00");
  });

  it("keep years as categories", () => {
    expect(xKind({ ...samples.line, x: { field: "y" }, data: [{ y: 2024 }, { y: 2025 }] })).toBe(
      "category",
    );
    expect(xKind({ ...samples.line, x: { field: "y" }, data: [{ y: "2024" }] })).toBe("category");
  });

  it("have areas and dashes", () => {
    const [area] = seriesOf(toOption(samples.area, context()).option);
    expect(area?.areaStyle).toBeDefined();
    expect(area?.stack).toBe("all-y");
    const dashed = { ...samples.line, series: [{ field: "sales", name: "S", dashed: true }] };
    expect(seriesOf(toOption(dashed, context()).option)[0]?.lineStyle).toMatchObject({
      type: "dashed",
    });
  });
});

describe("axes", () => {
  it("are two where a series asks for the second", () => {
    const { option } = toOption({ ...samples.combo, y2: { unit: "%", max: 1 } }, context());
    expect(option.yAxis).toHaveLength(2);
    expect(seriesOf(option).map((s) => [s.type, s.yAxisIndex])).toEqual([
      ["bar", undefined],
      ["line", 1],
    ]);
    expect(axis(option, "yAxis", 1)).toMatchObject({ position: "right", max: 1 });
  });

  it("take limits, logarithm and title", () => {
    const { option } = toOption(
      { ...samples.line, y: { min: 1, max: 1000, log: true, title: "Size" } },
      context(),
    );
    expect(axis(option, "yAxis")).toMatchObject({ type: "log", min: 1, max: 1000, name: "Size" });
  });

  it("carry reference lines on the right axis, and reach them", () => {
    const spec: ChartSpec = {
      ...samples.combo,
      refs: [
        { axis: "y", value: 400, label: "Target" },
        { axis: "y2", value: 0.5 },
        { axis: "x", value: "North" },
      ],
    };
    const { option } = toOption(spec, context());
    const [bar, line] = seriesOf(option);
    const data = (s: Loose | undefined) =>
      ((s?.markLine as Option | undefined)?.data ?? []) as Record<string, unknown>[];
    expect(data(bar).map((d) => d.yAxis ?? d.xAxis)).toEqual([400, 2]);
    expect(data(line).map((d) => d.yAxis)).toEqual([0.5]);
    const max = axis(option, "yAxis").max as (v: { max: number }) => number;
    expect(max({ max: 320 })).toBe(400);
  });

  it("write large numbers short, in the reader's way", () => {
    const spec = { ...samples.bar, data: [{ region: "a", sales: 12_000_000 }] };
    const label = (locale: string) =>
      (
        axis(toOption(spec, context({ locale })).option, "yAxis").axisLabel as {
          formatter: (v: number) => string;
        }
      ).formatter(12_000_000);
    expect(label("en")).toBe("12M");
    expect(label("zh-CN")).toBe("1200万");
  });
});

describe("other shapes", () => {
  it("pie and donut leave out gaps and negatives", () => {
    const data = [...samples.pie.data, { region: "Debt", sales: -5 }];
    const pie = seriesOf(toOption({ ...samples.pie, data }, context()).option)[0];
    expect(values(pie)).toEqual([320, 210, 90]);
    expect(pie?.radius).toEqual([0, "72%"]);
    expect(toOption(samples.donut, context()).option.title).toMatchObject({
      text: "620",
      subtext: "Total",
    });
  });

  it("scatter puts numbers on both axes; bubbles grow by area and group by colour", () => {
    const scatter = toOption(samples.scatter, context()).option;
    expect(axis(scatter, "xAxis").type).toBe("value");
    expect(values(seriesOf(scatter)[0])).toEqual([
      [80, 90],
      [150, 210],
      [200, 320],
    ]);
    const bubble = seriesOf(toOption(samples.bubble, context()).option);
    expect(bubble.map((s) => s.name)).toEqual(["b", "a"]);
    const size = bubble.flatMap((s) =>
      s.data.map((d) => (d as unknown as { symbolSize: number }).symbolSize),
    );
    expect(Math.max(...size)).toBe(56);
    expect(Math.min(...size)).toBeGreaterThan(6);
  });

  it("histogram counts raw values, and takes counts as they are", () => {
    const raw = seriesOf(toOption(samples.histogram, context()).option)[0];
    expect(values(raw).reduce((a: number, b) => a + Number(b), 0)).toBe(7);
    const counted: ChartSpec = {
      ...samples.histogram,
      x: { field: "range" },
      series: [{ field: "n", name: "People" }],
      data: [
        { range: "0–9", n: 4 },
        { range: "10–19", n: 6 },
      ],
    };
    expect(values(seriesOf(toOption(counted, context()).option)[0])).toEqual([4, 6]);
  });

  it("heatmap writes in ink that can be read on each cell, also where #fff is short for white", () => {
    const theme = { ...chartThemes.light, surface: "#fff" };
    const { option } = toOption(samples.heatmap, context({ theme }));
    const cells = seriesOf(option)[0]?.data as unknown as {
      value: [number, number, number];
      label: { color: string };
    }[];
    const byValue = [...cells].sort((x, y) => x.value[2] - y.value[2]);
    expect(byValue[0]?.label.color).toBe(theme.text);
    expect(byValue.at(-1)?.label.color).toBe("#fff");
  });

  it("heatmap places its cells, with two hues around zero", () => {
    const { option } = toOption(samples.heatmap, context());
    expect(values(seriesOf(option)[0])).toEqual([
      [0, 0, 320],
      [1, 1, 210],
      [3, 1, 90],
    ]);
    expect(option.visualMap).toMatchObject({ min: 90, max: 320 });
    const cold = {
      ...samples.heatmap,
      data: [
        { region: "a", target: "b", sales: -5 },
        { region: "c", target: "b", sales: 9 },
      ],
    };
    expect(toOption(cold, context()).option.visualMap).toMatchObject({ min: -9, max: 9 });
  });

  it("funnel keeps its order and says the share of the first", () => {
    const { option, tooltip } = toOption(samples.funnel, context());
    const [funnel] = seriesOf(option);
    expect(funnel?.sort).toBe("none");
    expect(tooltip({ seriesIndex: 0, dataIndex: 1 })?.lines[0]?.value).toBe("210 · 65.6%");
  });

  it("radar has an indicator for each row", () => {
    const { option } = toOption(samples.radar, context());
    const radar = option.radar as { indicator: { name: string; max: number }[] };
    expect(radar.indicator.map((i) => i.name)).toEqual(regions);
    expect(radar.indicator[0]?.max).toBe(400);
    expect(niceTop(0)).toBe(1);
    expect(niceTop(321)).toBe(400);
    expect(niceTop(100)).toBe(100);
  });

  it("gauge knows its scale", () => {
    const [gauge] = seriesOf(toOption(samples.gauge, context()).option);
    expect(gauge).toMatchObject({ min: 0, max: 1 });
    const detail = gauge?.detail as { formatter(): string } | undefined;
    expect(detail?.formatter()).toBe("72%");
    expect(
      seriesOf(toOption({ ...samples.gauge, refs: [{ axis: "y", value: 0.9 }] }, context()).option),
    ).toHaveLength(2);
  });

  it("treemap nests by parent, groups the orphans and cuts circles", () => {
    const tree = treeOf(samples.treemap);
    expect(tree.map((n) => [n.name, n.children?.map((c) => c.name)])).toEqual([
      ["Fruit", ["Apple", "Pear"]],
      ["Other", ["Bread"]],
    ]);
    const circle: ChartSpec = {
      ...samples.treemap,
      data: [
        { name: "a", in: "b", size: 1 },
        { name: "b", in: "a", size: 1 },
      ],
    };
    expect(() => toOption(circle, context())).not.toThrow();
  });

  it("waterfall floats, crosses zero and ends with the sum", () => {
    const spec = samples.waterfall;
    const rows = placedRows(spec, "category", "en");
    const steps = waterfallSteps(spec, rows, (r) => String(r.row.region), "Total");
    expect(steps.map((s) => [s.start, s.end, s.total])).toEqual([
      [0, 100, false],
      [100, -30, false],
      [-30, 20, false],
      [0, 20, true],
    ]);
    const [base, above, below] = seriesOf(toOption(spec, context()).option);
    expect(values(base)).toEqual([0, 0, 0, 0]);
    expect(values(above)).toEqual([100, 100, 20, 20]);
    expect(values(below)).toEqual([0, -30, -30, 0]);
    const told = waterfallSteps(
      { ...spec, data: [...spec.data, { region: "End", sales: 20, total: true }] },
      placedRows(
        { ...spec, data: [...spec.data, { region: "End", sales: 20, total: true }] },
        "category",
        "en",
      ),
      () => "",
      "Total",
    );
    expect(told.filter((s) => s.total)).toHaveLength(1);
  });

  it("boxplot takes quartiles", () => {
    expect(values(seriesOf(toOption(samples.boxplot, context()).option)[0])).toEqual([
      [1, 2, 3, 4, 5],
    ]);
    expect(fiveNumbers([4, 1, 3, 2])).toEqual([1, 1.75, 2.5, 3.25, 4]);
    expect(fiveNumbers([])).toBeNull();
  });

  it("candlestick orders its four numbers, red for a rise in Chinese", () => {
    const candle = (locale: string) =>
      seriesOf(toOption(samples.candlestick, context({ locale })).option)[0];
    expect(values(candle("en"))[0]).toEqual([10, 12, 9, 14]);
    expect(candle("en")?.itemStyle).toMatchObject({ color: chartThemes.light.good });
    expect(candle("zh-CN")?.itemStyle).toMatchObject({ color: chartThemes.light.bad });
  });
});

describe("bins", () => {
  it("are round, equally wide, and hold every value", () => {
    const numbers = Array.from({ length: 200 }, (_, i) => (i * 37) % 101);
    const bins = bin(numbers);
    expect(bins.reduce((sum, b) => sum + b.count, 0)).toBe(200);
    const widths = new Set(bins.map((b) => b.to - b.from));
    expect(widths.size).toBe(1);
    expect(bin([5, 5])).toEqual([{ from: 5, to: 5, count: 2 }]);
    expect(bin([])).toEqual([]);
    expect(bin([0.1, 0.2, 0.3]).reduce((sum, b) => sum + b.count, 0)).toBe(3);
  });
});

describe("legend", () => {
  it("is there for more than one series, or as asked", () => {
    const show = (spec: ChartSpec, width = 720) =>
      toOption(spec, context({ width })).option.legend as Option;
    expect(show(samples.bar).show).toBe(false);
    expect(show(samples.line)).toMatchObject({ show: true, top: 0, type: "scroll" });
    expect(show({ ...samples.line, legend: "none" }).show).toBe(false);
    expect(show({ ...samples.line, legend: "right" })).toMatchObject({ orient: "vertical" });
    expect(show({ ...samples.line, legend: "right" }, 340)).toMatchObject({ bottom: 0 });
    expect(show({ ...samples.bar, legend: "top" }).show).toBe(true);
  });
});

describe("colours", () => {
  it("come from tokens and never from the payload", () => {
    const theme = chartThemes.dark;
    expect(colorToken(theme, "chart-3")).toBe(theme.palette[2]);
    expect(colorToken(theme, "accent")).toBe(theme.accent);
    expect(colorToken(theme, "color.danger")).toBe(theme.bad);
    expect(colorToken(theme, "#ff0000")).toBeUndefined();
    expect(colorToken(theme, "url(https://evil.example)")).toBeUndefined();
    const spec = { ...samples.bar, series: [{ field: "sales", name: "S", color: "red" }] };
    expect(seriesOf(toOption(spec, context()).option)[0]?.itemStyle).toMatchObject({
      color: chartThemes.light.palette[0],
    });
  });
});

describe("tooltips", () => {
  it("are elements whose text is only text", () => {
    const evil = "<img src=x onerror=alert(1)>";
    const element = tooltipElement({
      title: evil,
      lines: [{ name: evil, value: evil, color: "#123456" }],
    });
    expect(element.querySelector("img")).toBeNull();
    expect(element.textContent).toBe(evil.repeat(3));
  });

  it("can be said in one line", () => {
    expect(
      tooltipLine({
        title: "East",
        lines: [
          { name: "Sales", value: "320" },
          { name: "", value: "x" },
        ],
      }),
    ).toBe("East – Sales: 320, x");
  });
});

describe("the summary", () => {
  it("names the extremes", () => {
    expect(
      summarise({ ...samples.bar, unit: "k" }, "Q3 sales", "en", translator("en")).replace(
        /\u00a0/g,
        " ",
      ),
    ).toBe(
      "Bar chart: Q3 sales. 4 values of Sales. Sales: highest 320 k (East), lowest 90 k (West).",
    );
    expect(summarise(samples.bar, "销售额", "zh-CN", translator("zh"))).toBe(
      "柱状图：销售额。Sales，共 4 项。Sales：最高 320（East），最低 90（West）。",
    );
  });

  it("gives way to the payload's own", () => {
    expect(
      summarise({ ...samples.bar, a11y: { summary: "East leads." } }, "T", "en", translator("en")),
    ).toBe("Bar chart: T. East leads.");
  });
});

describe("references", () => {
  it.each(["histogram", "waterfall", "boxplot", "candlestick", "scatter"] as const)(
    "are drawn in a %s, which reaches them",
    (type) => {
      const spec: ChartSpec = {
        ...samples[type],
        refs: [{ axis: "y", value: 1e6, label: "Limit" }],
      };
      const { option } = toOption(spec, context());
      const lines = seriesOf(option).flatMap(
        (s) => (s.markLine as { data: unknown[] } | undefined)?.data ?? [],
      );
      expect(lines).toMatchObject([{ yAxis: 1e6 }]);
      const max = axis(option, "yAxis").max as (v: { max: number }) => number | null;
      expect([max({ max: 10 }), max({ max: 2e6 })]).toEqual([1e6, null]);
    },
  );

  it("on a time axis stand at their moment in the axis's time zone", () => {
    const spec: ChartSpec = {
      version: 1,
      type: "scatter",
      x: { field: "t", type: "time", timeZone: "Asia/Shanghai" },
      series: [{ field: "v", name: "Value" }],
      data: [
        { t: "2026-03-01T00:00:00Z", v: 1 },
        { t: "2026-03-03T00:00:00Z", v: 2 },
      ],
      refs: [{ axis: "x", value: "2026-03-02T00:00:00Z", label: "Release" }],
    };
    const wall = Date.UTC(2026, 2, 2, 8);
    for (const type of ["scatter", "line"] as const) {
      const [series] = seriesOf(toOption({ ...spec, type }, context()).option);
      expect(series?.markLine, type).toMatchObject({ data: [{ xAxis: wall }] });
    }
  });
});

describe("patterns", () => {
  it("come beside the colours when the reader wants more contrast", () => {
    const decal = (patterns: boolean) =>
      (toOption(samples.bar, context({ patterns })).option.aria as { decal?: unknown }).decal;
    expect(decal(false)).toBeUndefined();
    expect(decal(true)).toEqual({ show: true });
  });
});
