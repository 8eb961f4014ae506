// @vitest-environment node
import { afterEach, describe, expect, it, vi } from "vitest";
import { init } from "../src/chart/echarts.ts";
import { toOption } from "../src/chart/mappers.ts";
import { merge } from "../src/chart/option.ts";
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
