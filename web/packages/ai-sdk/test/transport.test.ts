import type { UIMessage } from "ai";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { blockOf, isCut } from "../src/index.ts";

interface Call {
  url: string;
  headers: Headers;
  body: Record<string, unknown> | undefined;
}

let calls: Call[];
let replies: Response[];

const send: typeof fetch = async (input, init) => {
  const body = init?.body ? JSON.parse(String(init.body)) : undefined;
  const url = String(input).replace("https://chat.example.com", "");
  calls.push({ url: `${init?.method ?? "GET"} ${url}`, headers: new Headers(init?.headers), body });
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

function stream(text: string): Response {
  const chunks = [
    { type: "start", messageId: "m_1" },
    { type: "start-step" },
    { type: "text-start", id: "b_0" },
    { type: "text-delta", id: "b_0", delta: text },
    { type: "text-end", id: "b_0" },
    { type: "data-chart", id: "b_1", data: block },
    { type: "finish-step" },
    { type: "finish", finishReason: "stop" },
  ];
  const body = chunks.map((c) => `data: ${JSON.stringify(c)}\n\n`).join("");
  return new Response(`${body}data: [DONE]\n\n`, {
    headers: { "content-type": "text/event-stream" },
  });
}

const question: UIMessage = { id: "u_1", role: "user", parts: [{ type: "text", text: "Sales?" }] };
const answered = (text: string): UIMessage => ({
  id: "m_1",
  role: "assistant",
  parts: [
    { type: "text", text },
    { type: "data-chart", id: "b_1", data: block },
  ],
});

beforeEach(() => {
  calls = [];
  replies = [];
});

describe.each(["ai5", "ai"])("with %s", async (name) => {
  vi.resetModules();
  const sdk = (await vi.importActual(name)) as typeof import("ai");
  vi.doMock("ai", () => sdk);
  const { inlayTransport, InlayTransport } = await import("../src/index.ts");

  const transport = (options = {}) =>
    inlayTransport({
      endpoint: "https://chat.example.com/",
      blocks: ["chart@1", "table@1"],
      headers: () => ({ authorization: "Bearer sample" }),
      fetch: send,
      ...options,
    });

  /** A chat without a framework. */
  function chatOf(messages: UIMessage[] = [], options = {}) {
    const state = {
      status: "ready" as const,
      error: undefined,
      messages,
      pushMessage: (m: UIMessage) => void state.messages.push(m),
      popMessage: () => void state.messages.pop(),
      replaceMessage: (i: number, m: UIMessage) => void state.messages.splice(i, 1, m),
      snapshot: <T>(value: T) => structuredClone(value),
    };
    class Chat extends sdk.AbstractChat<UIMessage> {
      setMessages(next: UIMessage[]) {
        this.messages = next;
      }
    }
    const failures: Error[] = [];
    const wire = transport(options);
    const chat = new Chat({ id: "c 1", transport: wire, state, onError: (e) => failures.push(e) });
    return { chat, wire, state, failures };
  }

  test("is the transport of this major", () => {
    expect(transport()).toBeInstanceOf(sdk.DefaultChatTransport);
    expect(transport()).toBeInstanceOf(InlayTransport);
  });

  test("sends what the page draws, and blocks come as parts", async () => {
    const { chat, failures } = chatOf([], { body: { theme: "light" } });
    replies.push(stream("Here."));
    await chat.sendMessage({ text: "Sales?" });
    expect(failures).toEqual([]);
    expect(calls[0]?.url).toBe("POST /v1/ai-sdk/chat");
    expect(calls[0]?.headers.get("x-blocks")).toBe("chart@1,table@1");
    expect(calls[0]?.headers.get("authorization")).toBe("Bearer sample");
    expect(calls[0]?.body).toMatchObject({ id: "c 1", theme: "light", trigger: "submit-message" });
    const parts = chat.lastMessage?.parts ?? [];
    expect(parts.map(blockOf)).toEqual([null, null, block]);
  });

  test("a major is asked for in every request", async () => {
    const { chat, wire } = chatOf([], { major: 6 });
    replies.push(stream("Here."), new Response(null, { status: 204 }), Response.json({}));
    await chat.sendMessage({ text: "Sales?" });
    await chat.resumeStream();
    await wire.stop("c 1");
    expect(calls.map((c) => c.url)).toEqual([
      "POST /v1/ai-sdk/chat?aisdk=6",
      "GET /v1/ai-sdk/chat/c%201/stream?aisdk=6",
      "POST /v1/ai-sdk/chat/c%201/stop?aisdk=6",
    ]);
  });

  test("stop says whether something was stopped, and fails when it is not told", async () => {
    const wire = transport();
    replies.push(Response.json({ status: "stopping" }, { status: 202 }));
    replies.push(Response.json({ status: "done" }));
    replies.push(new Response("", { status: 404 }));
    replies.push(new Response("", { status: 500 }));
    expect(await wire.stop("c")).toBe(true);
    expect(await wire.stop("c")).toBe(false);
    expect(await wire.stop("c")).toBe(false);
    await expect(wire.stop("c")).rejects.toThrow("500");
    expect(calls[0]?.headers.get("authorization")).toBe("Bearer sample");
  });

  test("the messages of a chat that was not begun are none", async () => {
    const wire = transport();
    replies.push(new Response("", { status: 404 }));
    replies.push(Response.json({ messages: [question, answered("Here.")] }));
    replies.push(new Response("", { status: 503 }));
    expect(await wire.messages("c")).toEqual([]);
    expect(await wire.messages("c")).toHaveLength(2);
    await expect(wire.messages("c")).rejects.toThrow("503");
  });

  test("a chat is brought up to date in place, and nothing is doubled", async () => {
    const { chat, wire, failures } = chatOf([question, answered("He")]);
    replies.push(Response.json({ messages: [question, answered("Here")] }));
    replies.push(stream("Here it is."));
    replies.push(Response.json({ messages: [question, answered("Here it is.")] }));
    await wire.catchUp(chat);
    expect(failures).toEqual([]);
    expect(calls.map((c) => c.url)).toEqual([
      "GET /v1/ai-sdk/chat/c%201/messages",
      "GET /v1/ai-sdk/chat/c%201/stream",
      "GET /v1/ai-sdk/chat/c%201/messages",
    ]);
    expect(chat.messages).toEqual([question, answered("Here it is.")]);
  });

  test("what is sent meanwhile stays", async () => {
    const { chat, wire } = chatOf();
    let answer: (response: Response) => void = () => {};
    const late = new Promise<Response>((resolve) => {
      answer = resolve;
    });
    replies.push(late as unknown as Response, stream("Here."));
    const caught = wire.catchUp(chat);
    await vi.waitFor(() => expect(calls).toHaveLength(1));
    await chat.sendMessage({ text: "Sales?" });
    answer(Response.json({ messages: [] }));
    await caught;
    expect(chat.messages.map((m) => m.role)).toEqual(["user", "assistant"]);
    expect(calls).toHaveLength(2);
  });

  test("nor is anything lost when nothing is written any more", async () => {
    const { chat, wire } = chatOf([question, answered("He")]);
    replies.push(Response.json({ messages: [question, answered("Here.")] }));
    replies.push(new Response(null, { status: 204 }));
    replies.push(Response.json({ messages: [question, answered("Here.")] }));
    await wire.catchUp(chat);
    expect(chat.messages).toEqual([question, answered("Here.")]);
    expect(chat.status).toBe("ready");
  });
});

test("blockOf knows what is none", () => {
  expect(blockOf({ type: "data-chart", id: "b_1", data: block })).toEqual(block);
  expect(blockOf({ type: "text" })).toBeNull();
  expect(blockOf({ type: "tool-order", data: block })).toBeNull();
  const activity = { id: "t_1", name: "sales", status: "ok" };
  expect(blockOf({ type: "data-tool-activity", id: "t_1", data: activity })).toBeNull();
  expect(blockOf({ type: "data-chart", data: "text" })).toBeNull();
  expect(blockOf({ type: "data-chart", data: { ...block, version: "1" } })).toBeNull();
});

test("a part says whether it is cut", () => {
  expect(isCut({ type: "data-table", data: { ...block, rest: "/v1/messages/m_1" } })).toBe(true);
  expect(isCut({ type: "data-table", data: block })).toBe(false);
  expect(isCut({ type: "text" })).toBe(false);
});
