import type {
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
  QueryPayload,
  QuestionPayload,
  StepsPayload,
  TablePayload,
  TreePayload,
} from "@inlay-ui/client";
import { type ChartSpec, checkChart } from "../chart/spec.ts";
import { defineRenderer, type RendererEntry } from "../registry.ts";
import {
  checkCard,
  checkCardList,
  checkCode,
  checkConfirm,
  checkFile,
  checkForm,
  checkImage,
  checkMetric,
  checkQuery,
  checkQuestion,
  checkRaw,
  checkSteps,
  checkTable,
  checkText,
  checkTree,
} from "./payloads.ts";
import { pagingIds, treeActions } from "./places.ts";
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
    ownActions: (block) => [
      ...(block.payload?.items.flatMap((item) => item.actions?.map((a) => a.id) ?? []) ?? []),
      ...pagingIds(block),
    ],
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
    // Checks its payload itself: the rules are loaded with it.
    load: () => import("./FeatureRecommendationBlock.tsx"),
    height: 96,
  }),
];
