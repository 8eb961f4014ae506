import type { Block, BlockMeta, Message } from "@inlay-ui/client";
import type { Lang } from "../i18n/index.ts";
import { answer, type Case, conversationId, type Group, madeAt, type Words } from "./cases.ts";

const at = Date.parse(madeAt);

interface Made {
  name: string;
  title: Words;
}

/** What surrounds every block, whatever its type: the states that its frame has. */
export function blockFrames(lang: Lang): Group {
  const say = (en: string, zh: string) => (lang === "zh" ? zh : en);
  const title = say("Orders of the week", "本周订单");
  const figures = {
    items: [
      { label: say("Orders", "订单"), value: 1284, delta: 0.062, deltaFormat: "percent" },
      { label: say("Returned", "退货"), value: 31 },
    ],
  };
  const fallback = say("Orders: 1,284 (+6.2%); Returned: 31", "订单：1,284（+6.2%）；退货：31");
  const block = (change: Partial<Block>, meta: BlockMeta = {}): Partial<Block> => ({
    type: "metric",
    version: 1,
    fallback,
    ...change,
    meta: { title, ...meta },
  });
  const made: (Made & { block: Partial<Block> })[] = [
    {
      name: "loading",
      title: { en: "Loading, height announced", zh: "加载中，高度已知" },
      block: block({ status: "loading" }, { estimatedHeight: 160 }),
    },
    {
      name: "loading-untitled",
      title: { en: "Loading, nothing announced", zh: "加载中，信息未知" },
      block: { type: "chart", version: 1, status: "loading" },
    },
    {
      name: "refreshing",
      title: { en: "Being refreshed", zh: "正在刷新" },
      block: block({ status: "loading", payload: figures }, { fetchedAt: at }),
    },
    {
      name: "origin",
      title: { en: "With source, time and refresh", zh: "带来源、时间和刷新" },
      block: block(
        { status: "done", payload: figures },
        {
          source: say("Sample order system", "示例订单系统"),
          fetchedAt: at,
          refreshedAt: at + 3_600_000,
          canRefresh: true,
        },
      ),
    },
    {
      name: "stale",
      title: { en: "Refresh failed, old data kept", zh: "刷新失败，保留旧数据" },
      block: block(
        {
          status: "done",
          payload: figures,
          error: { code: "DATA_FETCH_FAILED", message: "sample", retryable: true },
        },
        { fetchedAt: at, canRefresh: true },
      ),
    },
    {
      name: "truncated",
      title: { en: "Cut for this reader", zh: "已为此读者截断" },
      block: block({ status: "done", payload: figures }, { truncated: true }),
    },
    {
      name: "error-retryable",
      title: { en: "Failed, can be tried again", zh: "失败，可重试" },
      block: block({
        status: "error",
        error: { code: "HYDRATE_TIMEOUT", message: "sample", retryable: true },
      }),
    },
    {
      name: "error-final",
      title: { en: "Failed for good", zh: "失败，不可重试" },
      block: block({
        status: "error",
        error: { code: "NOT_AUTHORIZED", message: "sample", retryable: false },
      }),
    },
    {
      name: "interrupted",
      title: { en: "Interrupted", zh: "已中断" },
      block: block({
        status: "error",
        fallback: "",
        error: { code: "INTERRUPTED", message: "sample", retryable: true },
      }),
    },
    {
      name: "unknown-type",
      title: { en: "Type unknown here", zh: "未知类型" },
      block: block({ type: "acme.orbit", status: "done", payload: { orbit: 1 } }),
    },
    {
      name: "newer-version",
      title: { en: "Made for a newer client, drawn in part", zh: "面向更新的客户端，部分显示" },
      block: block({ version: 2, status: "done", payload: figures }),
    },
    {
      name: "invalid-payload",
      title: { en: "Payload that cannot be drawn", zh: "数据无法显示" },
      block: block({ status: "done", payload: { items: "none" } }),
    },
    {
      name: "actions",
      title: { en: "With actions", zh: "带操作" },
      block: {
        ...block({ status: "done", payload: figures }),
        actions: [
          {
            id: "detail",
            label: say("Show by region", "按区域查看"),
            kind: "prompt",
            style: "primary",
            prompt: say("Show the orders by region", "按区域显示订单"),
          },
          {
            id: "mark",
            label: say("Mark as seen", "标为已阅"),
            kind: "api",
            confirm: say("Mark these figures as seen?", "将这些数字标为已阅？"),
          },
          {
            id: "open",
            label: say("Open the system", "打开系统"),
            kind: "link",
            href: "https://orders.example.com/",
          },
          {
            id: "forget",
            label: say("Forget them", "清除"),
            kind: "api",
            style: "danger",
          },
        ],
      },
    },
  ];
  return {
    type: "frame",
    cases: made.map(({ name, title, block }): Case => {
      const id = `frame-${name}`;
      const whole = { status: "done", rev: 1, ...block, id: `b_${id}` } as Block;
      return { id, name, title, message: answer(id, { blocks: [whole] }), turn: false };
    }),
  };
}

/** Messages in every state that the page shows. */
export function messageFrames(lang: Lang): Group {
  const say = (en: string, zh: string) => (lang === "zh" ? zh : en);
  const text = (id: string, payload: string, status: Block["status"] = "done"): Block => ({
    id: `b_${id}_text`,
    type: "text",
    version: 1,
    status,
    rev: 1,
    payload,
  });
  const words = say(
    "Sales rose in **three of four regions**. The East is ahead with 3.2 million.",
    "**四个区域中有三个**销售额上升，华东以 320 万领先。",
  );
  const cut = say("Sales rose in three of", "四个区域中有");
  const half = say("Sales rose in **three of fo", "**四个区域中有三");
  const thought = say(
    "The question is about the third quarter. I need the sales by region and compare them with the quarter before.",
    "问题是关于第三季度的。我需要各区域的销售额，并与上一季度比较。",
  );
  const tool = { id: "t1", name: "sales_by_region", title: say("Look up sales", "查询销售额") };
  const failure = (code: string): Partial<Message> => ({
    status: "error",
    error: { code, message: "sample", retryable: true },
  });
  const approval = (id: string): Block => ({
    id: `b_${id}_confirm`,
    type: "confirm",
    version: 1,
    status: "done",
    rev: 1,
    fallback: say("Waiting for your approval: export 1,284 rows", "等待你的批准：导出 1,284 行"),
    payload: {
      prompt: say("Export 1,284 rows of order details?", "导出 1,284 行订单明细？"),
      detail: say(
        "The file will hold names of customers. It can be downloaded for 15 minutes.",
        "文件将包含客户姓名，可在 15 分钟内下载。",
      ),
      severity: "warning",
      args: { quarter: "2026Q3", region: "East" },
    },
    actions: [
      { id: "approve", label: say("Approve", "批准"), kind: "api", style: "primary" },
      { id: "reject", label: say("Reject", "拒绝"), kind: "api" },
    ],
  });
  const made: (Made & { message: (id: string) => Partial<Message> })[] = [
    {
      name: "user",
      title: { en: "A question", zh: "提问" },
      message: (id) => ({
        role: "user",
        blocks: [
          text(
            id,
            say(
              "How did the third quarter go?\nBy region, please.",
              "第三季度怎么样？\n请按区域说明。",
            ),
          ),
        ],
      }),
    },
    {
      name: "waiting",
      title: { en: "Just begun", zh: "刚开始" },
      message: () => ({ status: "running" }),
    },
    {
      name: "thinking",
      title: { en: "Thinking", zh: "正在思考" },
      message: () => ({ status: "running", reasoning: thought }),
    },
    {
      name: "tools",
      title: { en: "Tools at work", zh: "正在调用工具" },
      message: () => ({
        status: "running",
        tools: [
          { ...tool, status: "ok", durationMs: 412 },
          { ...tool, id: "t2", sub: true, status: "error", durationMs: 1900 },
          { id: "t3", name: "currency_rates", status: "running" },
        ],
      }),
    },
    {
      name: "writing",
      title: { en: "Writing", zh: "正在书写" },
      message: (id) => ({
        status: "running",
        tools: [{ ...tool, status: "ok", durationMs: 412 }],
        blocks: [text(id, half, "loading")],
      }),
    },
    {
      name: "done",
      title: { en: "Complete, with thoughts and tools", zh: "完成，带思考与工具" },
      message: (id) => ({
        finishReason: "stop",
        reasoning: thought,
        tools: [{ ...tool, status: "ok", durationMs: 412 }],
        blocks: [text(id, words)],
      }),
    },
    {
      name: "rated",
      title: { en: "Rated", zh: "已评价" },
      message: (id) => ({
        finishReason: "stop",
        blocks: [text(id, words)],
        feedback: { rating: "up", comment: say("Just what I needed.", "正是我需要的。") },
      }),
    },
    {
      name: "versions",
      title: { en: "Several versions", zh: "多个版本" },
      message: (id) => ({
        finishReason: "stop",
        blocks: [text(id, words)],
        siblings: [`m_${id}_first`, `m_${id}`, `m_${id}_last`],
      }),
    },
    {
      name: "paused",
      title: { en: "Waiting for the reader", zh: "等待用户" },
      message: (id) => ({
        status: "paused",
        finishReason: "paused",
        tools: [{ ...tool, status: "ok", durationMs: 412 }],
        blocks: [
          text(id, say("I can export the details for you.", "我可以为你导出明细。")),
          approval(id),
        ],
      }),
    },
    {
      name: "cancelled",
      title: { en: "Stopped by the reader", zh: "被用户停止" },
      message: (id) => ({
        status: "cancelled",
        finishReason: "cancelled",
        tools: [{ ...tool, status: "cancelled" }],
        blocks: [text(id, cut)],
      }),
    },
    {
      name: "failed",
      title: { en: "Failed", zh: "失败" },
      message: (id) => ({ ...failure("model_unavailable"), blocks: [text(id, cut)] }),
    },
    {
      name: "failed-at-once",
      title: { en: "Failed before the first word", zh: "开始前失败" },
      message: () => failure("model_rate_limited"),
    },
    {
      name: "length",
      title: { en: "Cut by its length limit", zh: "达到长度上限" },
      message: (id) => ({ finishReason: "length", blocks: [text(id, cut)] }),
    },
    {
      name: "max-steps",
      title: { en: "Cut by its limit of steps", zh: "达到步数上限" },
      message: (id) => ({ finishReason: "max_steps", blocks: [text(id, words)] }),
    },
    {
      name: "filtered",
      title: { en: "Ended by a filter", zh: "被过滤器终止" },
      message: (id) => ({ finishReason: "content_filter", blocks: [text(id, cut)] }),
    },
    {
      name: "empty",
      title: { en: "Empty", zh: "空回答" },
      message: () => ({ finishReason: "stop" }),
    },
  ];
  return {
    type: "message",
    cases: made.map(({ name, title, message }): Case => {
      const id = `message-${name}`;
      return { id, name, title, message: answer(id, message(id)), turn: true };
    }),
  };
}

/** What a trajectory says of the tool calls of the messages above. */
export function sampleTrajectory(): unknown {
  return {
    session_id: conversationId,
    steps: [
      {
        tool_calls: [
          {
            tool_call_id: "t1",
            function_name: "sales_by_region",
            arguments: { quarter: "2026Q3" },
          },
        ],
        observation: {
          results: [
            { source_call_id: "t1", content: JSON.stringify([{ region: "East", amount: 320 }]) },
          ],
        },
      },
    ],
  };
}
