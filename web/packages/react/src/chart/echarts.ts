// The parts of ECharts that the mappers use, in one lazy chunk.
import {
  BarChart,
  BoxplotChart,
  CandlestickChart,
  FunnelChart,
  GaugeChart,
  HeatmapChart,
  LineChart,
  PieChart,
  RadarChart,
  ScatterChart,
  TreemapChart,
} from "echarts/charts";
import {
  AriaComponent,
  DataZoomComponent,
  GridComponent,
  LegendScrollComponent,
  MarkLineComponent,
  RadarComponent,
  TitleComponent,
  TooltipComponent,
  VisualMapContinuousComponent,
} from "echarts/components";
import { init as create, use } from "echarts/core";
import { LabelLayout } from "echarts/features";
import { CanvasRenderer, SVGRenderer } from "echarts/renderers";

use([
  AriaComponent,
  BarChart,
  BoxplotChart,
  CandlestickChart,
  CanvasRenderer,
  DataZoomComponent,
  FunnelChart,
  GaugeChart,
  GridComponent,
  HeatmapChart,
  LabelLayout,
  LegendScrollComponent,
  LineChart,
  MarkLineComponent,
  PieChart,
  RadarChart,
  RadarComponent,
  ScatterChart,
  SVGRenderer,
  TitleComponent,
  TooltipComponent,
  TreemapChart,
  VisualMapContinuousComponent,
]);

/**
 * Makes a chart in an element. A function of this module and no re-export:
 * bundlers skip a module that only passes names on, and with it the parts
 * registered above.
 */
export function init(...args: Parameters<typeof create>): ReturnType<typeof create> {
  return create(...args);
}
