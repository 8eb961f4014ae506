import { mapCartesian, mapHistogram, mapScatter, mapWaterfall } from "./cartesian.ts";
import { baseOption, type MapContext, type Mapped, merge } from "./option.ts";
import {
  mapBoxplot,
  mapCandlestick,
  mapFunnel,
  mapGauge,
  mapHeatmap,
  mapPie,
  mapRadar,
  mapTreemap,
} from "./shapes.ts";
import { type ChartSpec, type ChartType, numberAt } from "./spec.ts";
import { bin } from "./stats.ts";

/** Turns one type's payload into a chart. */
export type Mapper = (spec: ChartSpec, ctx: MapContext) => Mapped;

function histogram(spec: ChartSpec, ctx: MapContext): Mapped {
  const field = spec.x?.field;
  const counted = spec.series.find((s) => s.field !== field);
  if (counted) {
    // The payload counts already: bars that touch, in the order given.
    const mapped = mapCartesian(
      { ...spec, type: "bar", orientation: "vertical", series: [counted] },
      ctx,
    );
    const series = (mapped.option.series as Record<string, unknown>[]).map((s) => ({
      ...s,
      barCategoryGap: "4%",
      barMaxWidth: undefined,
    }));
    return { ...mapped, option: { ...mapped.option, series } };
  }
  const values = spec.data.flatMap((row) => numberAt(row, field) ?? []);
  return mapHistogram(spec, ctx, bin(values));
}

/** The mapper of each chart type. */
export const mappers: Record<ChartType, Mapper> = {
  bar: mapCartesian,
  line: mapCartesian,
  area: mapCartesian,
  combo: mapCartesian,
  scatter: mapScatter,
  bubble: mapScatter,
  histogram,
  waterfall: mapWaterfall,
  pie: mapPie,
  donut: mapPie,
  funnel: mapFunnel,
  radar: mapRadar,
  gauge: mapGauge,
  heatmap: mapHeatmap,
  treemap: mapTreemap,
  boxplot: mapBoxplot,
  candlestick: mapCandlestick,
};

/** Turns a payload into a chart: the base theme first, the type's option merged over it. */
export function toOption(spec: ChartSpec, ctx: MapContext): Mapped {
  const mapped = mappers[spec.type](spec, ctx);
  return { ...mapped, option: merge(baseOption(ctx), mapped.option) };
}
