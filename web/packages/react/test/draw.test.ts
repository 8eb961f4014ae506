// @vitest-environment node
import { afterEach, describe, expect, it, vi } from "vitest";
import { drawPicture } from "../src/chart/ChartCanvas.tsx";
import { init } from "../src/chart/echarts.ts";
import { toOption } from "../src/chart/mappers.ts";
import { merge } from "../src/chart/option.ts";
import { init as initRaw, rawOption } from "../src/chart/raw.ts";
import { chartTypes } from "../src/chart/spec.ts";
import { chartThemes } from "../src/chart/theme.ts";
import { translator } from "../src/i18n/index.ts";
import { samples } from "./samples.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

describe("every type is drawn by ECharts as it is bundled", () => {
  it.each(chartTypes)("%s", (type) => {
    const complaints = [
      vi.spyOn(console, "warn").mockImplementation(() => {}),
      vi.spyOn(console, "error").mockImplementation(() => {}),
    ];
    for (const width of [320, 900]) {
      for (const theme of [chartThemes.light, chartThemes.dark]) {
        const mapped = toOption(samples[type], {
          theme,
          locale: "en",
          width,
          t: translator("en"),
          still: true,
        });
        const chart = init(null, null, {
          renderer: "svg",
          ssr: true,
          width,
          height: mapped.height,
        });
        chart.setOption(merge(mapped.option, { animation: false }));
        const svg = chart.renderToSVGString();
        chart.dispose();
        expect(svg).not.toContain("NaN");
        expect(svg.match(/<(?:path|circle|text)/g)?.length ?? 0).toBeGreaterThan(3);
      }
    }
    for (const spy of complaints) {
      expect(spy.mock.calls).toEqual([]);
    }
  });
});

describe("references beyond the data", () => {
  it.each(["bar", "line", "histogram", "waterfall", "boxplot", "candlestick", "scatter"] as const)(
    "are drawn in a %s",
    (type) => {
      const refs = [{ axis: "y" as const, value: 1e5, label: "Far limit" }];
      const mapped = toOption(
        { ...samples[type], refs },
        { theme: chartThemes.light, locale: "en", width: 720, t: translator("en"), still: true },
      );
      const chart = init(null, null, { renderer: "svg", ssr: true, width: 720, height: 320 });
      chart.setOption(merge(mapped.option, { animation: false }));
      const svg = chart.renderToSVGString();
      chart.dispose();
      expect(svg).toContain("Far limit");
      expect(svg).not.toContain("NaN");
    },
  );
});

describe("whole options", () => {
  it.each([
    [
      "sankey",
      { data: [{ name: "a" }, { name: "b" }], links: [{ source: "a", target: "b", value: 5 }] },
    ],
    ["graph", { layout: "circular", data: [{ name: "a" }, { name: "b" }], links: [] }],
    ["sunburst", { data: [{ name: "a", value: 1 }] }],
    ["tree", { data: [{ name: "a", children: [{ name: "b" }] }] }],
  ])("draw a %s", (type, series) => {
    const option = rawOption(
      { series: [{ type, ...series }], tooltip: {} },
      chartThemes.dark,
      true,
    );
    const chart = initRaw(null, null, { renderer: "svg", ssr: true, width: 400, height: 300 });
    chart.setOption(option);
    const svg = chart.renderToSVGString();
    chart.dispose();
    expect(svg.match(/<path/g)?.length ?? 0).toBeGreaterThan(0);
    expect(svg).not.toContain("NaN");
  });
});

describe("an SVG file", () => {
  it.each(chartTypes)("of a %s is well formed, whatever the names are", async (type) => {
    const evil = `</text><script>alert("1")</script> & 'x' ]]>`;
    const spec = structuredClone(samples[type]);
    for (const row of spec.data) {
      for (const [key, value] of Object.entries(row)) {
        if (typeof value === "string" && !/^\d{4}-/.test(value)) {
          row[key] = evil + value;
        }
      }
    }
    for (const series of spec.series) {
      series.name = evil;
    }
    const font = "system-ui, 'Segoe UI', sans-serif";
    const blob = drawPicture("svg", { ...spec, unit: evil, legend: "top" }, evil, {
      theme: { ...chartThemes.light, font },
      locale: "en",
      t: translator("en"),
    });
    const svg = (await blob?.text()) ?? "";
    expect(svg).toContain("<svg");
    expect(svg).not.toContain("<script");
    // What is left without whole tags, style sheets and character references has no sign of markup.
    const rest = svg
      .replace(/<style\b[^>]*>[\s\S]*?<\/style>/g, "")
      .replace(/<\/?[a-zA-Z][\w:-]*(?:\s+[\w:-]+="[^"<]*")*\s*\/?>/g, "")
      .replace(/<!\[CDATA\[|\]\]>/g, "");
    expect(rest).not.toMatch(/</);
  });
});
