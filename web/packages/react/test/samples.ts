import type { ChartSpec, chartTypes } from "../src/chart/spec.ts";

/** The categories of most samples. */
export const regions = ["East", "South", "North", "West"];

/** A small valid payload of each chart type. */
export const samples: Record<(typeof chartTypes)[number], ChartSpec> = (() => {
  const sales = regions.map((region, i) => ({
    region,
    sales: [320, 210, null, 90][i] ?? null,
    cost: [200, 150, 120, 80][i] ?? null,
    share: [0.4, 0.3, 0.2, 0.1][i] ?? null,
    target: i % 2 === 0 ? "a" : "b",
  }));
  const base = {
    version: 1 as const,
    x: { field: "region" },
    series: [{ field: "sales", name: "Sales" }],
    data: sales,
  };
  const two = [
    { field: "sales", name: "Sales" },
    { field: "cost", name: "Cost" },
  ];
  const days = ["2026-03-01", "2026-03-02", "2026-03-04"].map((day, i) => ({
    day,
    open: 10 + i,
    high: 14 + i,
    low: 9 + i,
    close: 12 - i,
    n: 3 + i,
  }));
  return {
    bar: { ...base, type: "bar" },
    line: { ...base, type: "line", series: two },
    area: { ...base, type: "area", series: two, stack: true },
    pie: { ...base, type: "pie" },
    donut: { ...base, type: "donut" },
    scatter: { ...base, type: "scatter", x: { field: "cost" } },
    bubble: {
      ...base,
      type: "bubble",
      x: { field: "cost" },
      encode: { size: "share", color: "target" },
    },
    combo: {
      ...base,
      type: "combo",
      series: [
        { field: "sales", name: "Sales" },
        { field: "share", name: "Share", axis: "y2", type: "line" },
      ],
    },
    histogram: {
      ...base,
      type: "histogram",
      x: { field: "n" },
      series: [{ field: "n", name: "Age" }],
      data: [1, 2, 2, 3, 3, 3, 9].map((n) => ({ n })),
    },
    heatmap: { ...base, type: "heatmap", encode: { y: "target" } },
    funnel: { ...base, type: "funnel" },
    radar: { ...base, type: "radar", series: two },
    gauge: {
      version: 1,
      type: "gauge",
      series: [{ field: "v", name: "Load" }],
      data: [{ v: 0.72 }],
      valueFormat: "percent",
    },
    treemap: {
      version: 1,
      type: "treemap",
      series: [{ field: "size", name: "Size" }],
      encode: { parent: "in" },
      data: [
        { name: "Fruit", in: null, size: null },
        { name: "Apple", in: "Fruit", size: 5 },
        { name: "Pear", in: "Fruit", size: 3 },
        { name: "Bread", in: "Other", size: 2 },
      ],
    },
    waterfall: {
      ...base,
      type: "waterfall",
      data: [
        { region: "Start", sales: 100 },
        { region: "Loss", sales: -130 },
        { region: "Gain", sales: 50 },
      ],
    },
    boxplot: {
      ...base,
      type: "boxplot",
      x: { field: "g" },
      series: [],
      encode: { min: "a", q1: "b", median: "c", q3: "d", max: "e" },
      data: [{ g: "x", a: 1, b: 2, c: 3, d: 4, e: 5 }],
    },
    candlestick: {
      ...base,
      type: "candlestick",
      x: { field: "day", type: "time" },
      series: [],
      encode: { open: "open", high: "high", low: "low", close: "close" },
      data: days,
    },
  };
})();
