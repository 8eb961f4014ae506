// The parts of ECharts that only whole options need, on top of those of charts.
import {
  GraphChart,
  LinesChart,
  MapChart,
  ParallelChart,
  PictorialBarChart,
  SankeyChart,
  SunburstChart,
  ThemeRiverChart,
  TreeChart,
} from "echarts/charts";
import {
  CalendarComponent,
  DatasetComponent,
  GeoComponent,
  LegendPlainComponent,
  MarkAreaComponent,
  MarkPointComponent,
  ParallelComponent,
  PolarComponent,
  SingleAxisComponent,
  TransformComponent,
  VisualMapPiecewiseComponent,
} from "echarts/components";
import { use } from "echarts/core";
import { init } from "./echarts.ts";
import { merge, type Option } from "./option.ts";
import type { ChartTheme } from "./theme.ts";

use([
  CalendarComponent,
  DatasetComponent,
  GeoComponent,
  GraphChart,
  LegendPlainComponent,
  LinesChart,
  MapChart,
  MarkAreaComponent,
  MarkPointComponent,
  ParallelChart,
  ParallelComponent,
  PictorialBarChart,
  PolarComponent,
  SankeyChart,
  SingleAxisComponent,
  SunburstChart,
  ThemeRiverChart,
  TransformComponent,
  TreeChart,
  VisualMapPiecewiseComponent,
]);

export { init };

/** What every option starts from; what the option says is merged over it. */
function base(theme: ChartTheme, still: boolean): Option {
  return {
    color: theme.palette,
    backgroundColor: "transparent",
    animation: !still,
    animationDuration: 150,
    animationDurationUpdate: 150,
    darkMode: theme.dark,
    textStyle: { fontFamily: theme.font, fontSize: 12, color: theme.text },
    aria: { enabled: true, label: { enabled: false } },
  };
}

/** Looks of the parts that an option names itself, below what it says of them. */
function parts(theme: ChartTheme): Record<string, Option> {
  const axis: Option = {
    axisLine: { lineStyle: { color: theme.muted } },
    axisLabel: { color: theme.muted },
    splitLine: { lineStyle: { color: theme.grid } },
    nameTextStyle: { color: theme.muted },
  };
  return {
    title: {
      textStyle: { color: theme.text, fontSize: 14, fontWeight: 600 },
      subtextStyle: { color: theme.muted },
    },
    legend: {
      textStyle: { color: theme.text },
      inactiveColor: theme.border,
      pageTextStyle: { color: theme.muted },
      pageIconColor: theme.muted,
    },
    tooltip: {
      backgroundColor: theme.surface,
      borderColor: theme.border,
      borderWidth: 1,
      shadowBlur: 0,
      textStyle: { color: theme.text, fontFamily: theme.font, fontSize: 13 },
    },
    xAxis: axis,
    yAxis: axis,
    radiusAxis: axis,
    angleAxis: axis,
    singleAxis: axis,
    parallelAxis: axis,
    visualMap: { textStyle: { color: theme.muted } },
    calendar: {
      itemStyle: { color: theme.surface, borderColor: theme.border },
      dayLabel: { color: theme.muted },
      monthLabel: { color: theme.muted },
      yearLabel: { color: theme.muted },
      splitLine: { lineStyle: { color: theme.border } },
    },
  };
}

/** A whole option in this page's look. Its tooltip is drawn as text, never as markup. */
export function rawOption(option: Option, theme: ChartTheme, still: boolean): Option {
  const dressed: Option = { ...option };
  for (const [name, look] of Object.entries(parts(theme))) {
    const own = option[name];
    if (Array.isArray(own)) dressed[name] = own.map((one) => merge(look, one as Option));
    else if (typeof own === "object" && own !== null) dressed[name] = merge(look, own as Option);
  }
  const tooltips = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(tooltips);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) =>
        key === "tooltip" && typeof one === "object" && one !== null && !Array.isArray(one)
          ? [key, { ...(tooltips(one) as object), renderMode: "richText", confine: true }]
          : [key, tooltips(one)],
      ),
    );
  };
  return merge(base(theme, still), tooltips(dressed) as Option);
}
