import type {
  Block,
  CardListPayload,
  CardPayload,
  CodePayload,
  ConfirmPayload,
  EchartsRawPayload,
  FeatureRecommendationPayload,
  FilePayload,
  FormPayload,
  ImagePayload,
  MetricPayload,
  PresetPayloadTypes,
  QueryPayload,
  QuestionPayload,
  StepsPayload,
  TablePayload,
  TreePayload,
} from "@inlay-ui/client";
import type { ComponentType } from "react";
import { type ChartSpec, checkChart } from "../chart/spec.ts";
import type { Arriving } from "../preset/read.ts";
import {
  type BlockProps,
  defineRenderer,
  type RendererEntry,
  type RendererSpec,
} from "../registry.ts";
import {
  checkCard,
  checkCardList,
  checkCode,
  checkConfirm,
  checkFile,
  checkForm,
  checkImage,
  checkMetric,
  checkPreset,
  checkQuery,
  checkQuestion,
  checkRaw,
  checkRecommendation,
  checkSteps,
  checkTable,
  checkText,
  checkTree,
} from "./payloads.ts";
import { pagingIds, treeActions } from "./places.ts";
import TextBlock from "./TextBlock.tsx";

/** The actions that stand on the items of a list, and the one that pages. */
function itemActionIds(block: Block): string[] {
  const { items } = (block.payload ?? {}) as { items?: { actions?: { id: string }[] }[] };
  const own = Array.isArray(items) ? items.flatMap((item) => item?.actions ?? []) : [];
  return [...own.map((action) => action.id), ...pagingIds(block)];
}

/** A card that a model writes by name, of which the server says what must be right. */
function preset<Name extends keyof PresetPayloadTypes>(
  card: Name,
  load: () => Promise<{ default: ComponentType<BlockProps<Arriving<PresetPayloadTypes[Name]>>> }>,
  height: number,
  required: (keyof PresetPayloadTypes[Name] & string)[],
  more: Partial<RendererSpec<Arriving<PresetPayloadTypes[Name]>>> = {},
): RendererEntry {
  const check = checkPreset(...required);
  const [type = "", major] = card.split("@");
  return defineRenderer<Arriving<PresetPayloadTypes[Name]>>({
    type,
    major: Number(major),
    load,
    height,
    check,
    titled: true,
    ...more,
  });
}

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
    ownActions: pagingIds,
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
  defineRenderer<FilePayload>({
    type: "file",
    major: 1,
    load: () => import("./FileBlock.tsx"),
    check: checkFile,
  }),
  defineRenderer<ImagePayload>({
    type: "image",
    major: 1,
    load: () => import("./ImageBlock.tsx"),
    check: checkImage,
  }),
  defineRenderer<CardPayload>({
    type: "card",
    major: 1,
    load: () => import("./CardBlock.tsx"),
    check: checkCard,
  }),
  defineRenderer<CardListPayload>({
    type: "card_list",
    major: 1,
    load: () => import("./CardListBlock.tsx"),
    check: checkCardList,
    ownActions: itemActionIds,
  }),
  defineRenderer<StepsPayload>({
    type: "steps",
    major: 1,
    load: () => import("./StepsBlock.tsx"),
    check: checkSteps,
  }),
  defineRenderer<TreePayload>({
    type: "tree",
    major: 1,
    load: () => import("./TreeBlock.tsx"),
    check: checkTree,
    ownActions: ({ payload }) => (payload ? treeActions(payload.root) : []),
  }),
  defineRenderer<EchartsRawPayload>({
    type: "echarts_raw",
    major: 1,
    load: () => import("./EChartsRawBlock.tsx"),
    check: checkRaw,
  }),
  defineRenderer<QueryPayload>({
    type: "query",
    major: 1,
    load: () => import("./QueryBlock.tsx"),
    check: checkQuery,
    ownActions: () => "all",
  }),
  defineRenderer<FormPayload>({
    type: "form",
    major: 1,
    load: () => import("./FormBlock.tsx"),
    check: checkForm,
    ownActions: () => "all",
  }),
  defineRenderer<ConfirmPayload>({
    type: "confirm",
    major: 1,
    load: () => import("./ConfirmBlock.tsx"),
    check: checkConfirm,
    ownActions: () => "all",
  }),
  defineRenderer<QuestionPayload>({
    type: "question",
    major: 1,
    load: () => import("./QuestionBlock.tsx"),
    check: checkQuestion,
    ownActions: () => "all",
  }),
  defineRenderer<FeatureRecommendationPayload>({
    type: "minara.feature_recommendation",
    major: 1,
    load: () => import("./FeatureRecommendationBlock.tsx"),
    check: checkRecommendation,
    height: 96,
  }),
  preset("app.product_card@1", () => import("./ProductCardBlock.tsx"), 200, ["title"]),
  preset("app.product_list@1", () => import("./ProductListBlock.tsx"), 360, ["items"], {
    titled: false,
    ownActions: itemActionIds,
  }),
  preset("app.train_card@1", () => import("./TrainCardBlock.tsx"), 220, ["id", "from", "to"]),
  preset("app.flight_card@1", () => import("./FlightCardBlock.tsx"), 220, ["id", "from", "to"]),
  preset("app.hotel_card@1", () => import("./HotelCardBlock.tsx"), 280, ["title"]),
];
