import type { CodePayload, MetricPayload, TablePayload } from "@inlay-ui/client";
import { type ChartSpec, checkChart } from "../chart/spec.ts";
import { defineRenderer, type RendererEntry } from "../registry.ts";
import { checkCode, checkMetric, checkTable, checkText } from "./payloads.ts";
import TextBlock from "./TextBlock.tsx";

/** The renderers that come with this package. */
export const builtinRenderers: RendererEntry[] = [
  defineRenderer<string>({
    type: "text",
    major: 1,
    component: TextBlock,
    check: checkText,
    bare: true,
  }),
  defineRenderer<ChartSpec>({
    type: "chart",
    major: 1,
    load: () => import("./ChartBlock.tsx"),
    check: checkChart,
  }),
  defineRenderer<TablePayload>({
    type: "table",
    major: 1,
    load: () => import("./TableBlock.tsx"),
    check: checkTable,
  }),
  defineRenderer<MetricPayload>({
    type: "metric",
    major: 1,
    load: () => import("./MetricBlock.tsx"),
    check: checkMetric,
  }),
  defineRenderer<CodePayload>({
    type: "code",
    major: 1,
    load: () => import("./CodeBlock.tsx"),
    check: checkCode,
  }),
];
