import * as one from "@ag-ui/client";
import * as zero from "agui0";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { blockOf, InlayAgent } from "../src/index.ts";

interface Call {
  path: string;
  headers: Headers;
  body: { threadId: string; forwardedProps?: unknown };
}

let calls: Call[];
let replies: Response[];

const send = async (input: string | URL | Request, init?: RequestInit) => {
  const { pathname } = new URL(String(input), "https://chat.example.com");
  const headers = new Headers(init?.headers);
  calls.push({ path: pathname, headers, body: JSON.parse(String(init?.body)) });
  if (init?.signal?.aborted) throw init.signal.reason;
  const reply = replies.shift();
  if (!reply) throw new TypeError("network error");
  return reply;
};

const block = {
  id: "b_1",
  type: "chart",
  version: 1,
  status: "done",
  rev: 1,
  payload: { kind: "bar" },
};
const metadata = { inlay: { v: 1, msgId: "m_1", blockId: "b_1", seq: 3 } };

function stream(...events: object[]): Response {
  const body = events.map((e, i) => `id: ${i + 1}\ndata: ${JSON.stringify(e)}\n\n`).join("");
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

/** A run with one text and one block, as one who comes back is sent it. */
const thread = () =>
  stream(
    { type: "RUN_STARTED", threadId: "t", runId: "r" },
    {
      type: "MESSAGES_SNAPSHOT",
      messages: [
        { id: "u_1", role: "user", content: "Sales?" },
        { id: "b_0", role: "assistant", content: "Here.", metadata },
        { id: "b_1", role: "activity", activityType: "inlay.chart", content: block, metadata },
      ],
    },
    { type: "RUN_FINISHED", threadId: "t", runId: "r" },
  );

beforeEach(() => {
  calls = [];
  replies = [];
});
afterEach(() => void vi.restoreAllMocks());

const agent = (config = {}) =>
  new InlayAgent({
    endpoint: "https://chat.example.com/",
    threadId: "t",
    headers: { authorization: "Bearer sample" },
    blocks: ["chart@1", "table@1"],
    fetch: send,
    ...config,
  });

test("a run declares what the page draws, beside the agent's own headers", async () => {
  replies.push(thread());
  const own = agent();
  await own.runAgent({ runId: "r" });
  expect(calls[0]?.path).toBe("/v1/ag-ui");
  expect(calls[0]?.headers.get("x-blocks")).toBe("chart@1,table@1");
  expect(calls[0]?.headers.get("authorization")).toBe("Bearer sample");
  expect(own.messages.map((m) => m.id)).toEqual(["u_1", "b_0", "b_1"]);
});

test("without blocks nothing is declared", async () => {
  replies.push(thread());
  await agent({ blocks: undefined }).runAgent({ runId: "r" });
  expect(calls[0]?.headers.has("x-blocks")).toBe(false);
});

test("it comes back to its thread, also after it left a run", async () => {
  const own = agent();
  own.abortController.abort();
  replies.push(thread());
  await own.connectAgent();
  expect(calls.map((c) => [c.path, c.body.threadId])).toEqual([["/v1/ag-ui/connect", "t"]]);
  expect(calls[0]?.headers.get("x-blocks")).toBe("chart@1,table@1");
  expect(own.messages).toHaveLength(3);
});

test("a copy of it reaches the same server", async () => {
  const copy = agent().clone();
  expect(copy).toBeInstanceOf(InlayAgent);
  replies.push(thread());
  await copy.connectAgent();
  expect(calls[0]?.path).toBe("/v1/ag-ui/connect");
  expect(calls[0]?.headers.get("x-blocks")).toBe("chart@1,table@1");
});

test("stop says whether something was stopped, and fails when it is not told", async () => {
  const own = agent();
  replies.push(Response.json({ status: "stopping" }, { status: 202 }));
  replies.push(Response.json({ status: "done" }));
  replies.push(Response.json({ error: {} }, { status: 404 }));
  replies.push(Response.json({ error: {} }, { status: 500 }));
  expect(await own.stop()).toBe(true);
  expect(await own.stop()).toBe(false);
  expect(await own.stop()).toBe(false);
  await expect(own.stop()).rejects.toThrow("500");
  expect(calls.map((c) => c.path)).toEqual(Array(4).fill("/v1/ag-ui/stop"));
  expect(calls[0]?.body).toEqual({ threadId: "t" });
  expect(calls[0]?.headers.get("authorization")).toBe("Bearer sample");
});

describe("blockOf", () => {
  const message = { id: "b_1", role: "activity", activityType: "inlay.chart", content: block };

  test.each([
    ["1.0", one],
    ["0.0.59", zero as unknown as typeof one],
  ])("reads what the client %s holds", async (_, lib) => {
    replies.push(thread());
    const url = "https://chat.example.com/v1/ag-ui";
    const other = new lib.HttpAgent({ url, threadId: "t", fetch: send });
    await other.runAgent({ runId: "r" });
    const found = other.messages.map(blockOf);
    expect(found).toEqual([null, null, { block, messageId: "m_1" }]);
  });

  test("knows what is none", () => {
    expect(blockOf({ ...message, metadata })).toEqual({ block, messageId: "m_1" });
    expect(blockOf(message)).toBeNull();
    expect(blockOf({ ...message, metadata: { inlay: { msgId: 1 } } })).toBeNull();
    expect(blockOf({ ...message, metadata, role: "assistant" })).toBeNull();
    expect(blockOf({ ...message, metadata, content: { ...block, status: "odd" } })).toBeNull();
    expect(blockOf({ ...message, metadata, content: "text" })).toBeNull();
  });
});
