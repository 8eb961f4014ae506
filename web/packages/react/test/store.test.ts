import { type Block, InlayClient, type Message } from "@inlay-ui/client";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ChatStore } from "../src/index.ts";
import { FakeServer, refuse } from "./server.ts";

let server: FakeServer;
let ends: (() => void)[];

beforeEach(() => {
  server = new FakeServer();
  ends = [];
});
afterEach(() => {
  for (const end of ends) end();
  vi.restoreAllMocks();
});

function open(options: { conversationId?: string; leaf?: string } = { conversationId: "c_1" }) {
  const store = new ChatStore(new InlayClient({ fetch: server.fetch }), options);
  const changes = vi.fn();
  ends.push(store.subscribe(changes));
  return { store, changes, state: () => store.getState() };
}

const until = (check: () => void) => vi.waitFor(check, { timeout: 3_000, interval: 5 });
const text = (m: Message | undefined) => m?.blocks.map((b) => b.payload).join("|");
const ids = (messages: readonly Message[]) => messages.map((m) => m.id);

describe("a new conversation", () => {
  test("send: shown at once, then named, then answered", async () => {
    const { store, state } = open({});
    expect(state()).toMatchObject({ status: "idle", loading: false, messages: [] });
    const sent = store.send("Sales?");
    expect(state().status).toBe("sending");
    expect(text(state().messages[0])).toBe("Sales?");
    expect(await sent).toBe(true);
    expect(state()).toMatchObject({ status: "streaming", conversationId: "c_1" });
    const [user, answer] = state().messages;
    expect([user?.role, answer?.role]).toEqual(["user", "assistant"]);
    const id = answer?.id ?? "";
    expect(user?.id).toBe(server.message(id).parentId);
    server.emit(id, "text_delta", { delta: "East " }, "b");
    server.emit(id, "text_delta", { delta: "leads" }, "b");
    await until(() => expect(text(state().messages[1])).toBe("East leads"));
    server.emit(id, "done", { finishReason: "stop" });
    await until(() => expect(state().status).toBe("idle"));
    expect(state().messages).toHaveLength(2);
  });

  test("files are shown with the text at once, and go with it, also when it is worded anew", async () => {
    const bodies: unknown[] = [];
    const fetch: typeof globalThis.fetch = (input, init) => {
      if (String(input).endsWith("/v1/chat")) bodies.push(JSON.parse(String(init?.body)));
      return server.fetch(input, init);
    };
    const store = new ChatStore(new InlayClient({ fetch }), {});
    ends.push(store.subscribe(() => {}));
    const file: Block = {
      id: "local_a_1",
      type: "file",
      version: 1,
      status: "done",
      rev: 1,
      payload: { assetId: "a_1", name: "q3.csv", mime: "text/csv", size: 5 },
    };
    const sent = store.send("Sum it up", { attachments: ["a_1"], blocks: [file] });
    expect(store.getState().messages[0]?.blocks.map((b) => b.type)).toEqual(["text", "file"]);
    expect(await sent).toBe(true);
    const [user, answer] = store.getState().messages;
    server.emit(answer?.id ?? "", "done", { finishReason: "stop" });
    await until(() => expect(store.getState().status).toBe("idle"));
    await store.edit(user?.id ?? "", "Only the total");
    expect(store.getState().messages[0]?.blocks.map((b) => b.type)).toEqual(["text", "file"]);
    expect(bodies).toMatchObject([
      { input: { text: "Sum it up", attachments: ["a_1"] } },
      { editOf: user?.id, input: { text: "Only the total", attachments: ["a_1"] } },
    ]);
    expect(JSON.stringify(bodies)).not.toContain("blocks");
  });

  test("a refused message is taken back and reported", async () => {
    const { store, state } = open({});
    server.instead.push({
      match: "POST /v1/chat",
      answer: () => refuse(413, "input_too_large"),
    });
    expect(await store.send("long")).toBe(false);
    expect(state()).toMatchObject({
      status: "error",
      messages: [],
      error: { code: "input_too_large", status: 413 },
    });
    expect(await store.send("short")).toBe(true);
    expect(state()).toMatchObject({ status: "streaming", error: null });
  });

  test("stop before the server has answered stops as soon as it has", async () => {
    const { store, state } = open({});
    const sent = store.send("hi");
    await store.stop();
    await sent;
    await until(() => expect(state().messages[1]?.status).toBe("cancelled"));
    expect(state().status).toBe("idle");
  });

  test("nothing is sent while an answer runs", async () => {
    const { store, state } = open({});
    await store.send("one");
    expect(await store.send("two")).toBe(false);
    expect(state().messages).toHaveLength(2);
  });
});

describe("an answer that is complete before its turn is over", () => {
  /** An answer whose text has ended, while the server looks for what to suggest. */
  async function complete() {
    const opened = open({});
    server.yields = true;
    await opened.store.send("one");
    const id = opened.state().messages[1]?.id ?? "";
    server.emit(id, "text_delta", { delta: "first" }, "b");
    await until(() => expect(text(opened.state().messages[1])).toBe("first"));
    expect(opened.state().status).toBe("streaming");
    server.emit(id, "text_end", {}, "b");
    await until(() => expect(opened.state().status).toBe("idle"));
    return { ...opened, id };
  }
  const suggestion = {
    type: "minara.feature_recommendation",
    version: 1,
    payload: { items: [] },
    fallback: "Deposit",
    meta: { producer: "recommender" },
  };

  test("what is suggested comes to it, without it being unfinished again", async () => {
    const { state, changes, id } = await complete();
    expect(state().messages[1]).toMatchObject({ status: "running", answered: true });
    changes.mockImplementation(() => expect(state().status).toBe("idle"));
    server.emit(id, "block_end", suggestion, "r");
    await until(() => expect(state().messages[1]?.blocks).toHaveLength(2));
    expect(state().messages[1]).toMatchObject({ status: "running", answered: true });
    server.emit(id, "done", { finishReason: "stop" });
    await until(() => expect(state().messages[1]?.status).toBe("done"));
    expect(state().messages[1]).not.toHaveProperty("answered");
  });

  test("the next message is sent, and the first one is still read to its end", async () => {
    const { store, state, id } = await complete();
    expect(await store.send("two")).toBe(true);
    expect(state().status).toBe("streaming");
    expect(state().messages).toHaveLength(4);
    await until(() => expect(state().messages[1]?.status).toBe("done"));
    const next = state().messages[3]?.id ?? "";
    server.emit(next, "text_delta", { delta: "second" }, "b2");
    server.emit(next, "done", { finishReason: "stop" });
    await until(() => expect(state().status).toBe("idle"));
    expect(state().messages.map(text)).toEqual(["one", "first", "two", "second"]);
    expect(server.calls.filter((c) => c.includes(`/v1/messages/${id}`))).toEqual([]);
  });

  test("also another answer to the same question", async () => {
    const { store, state, id } = await complete();
    expect(await store.regenerate(id)).toBe(true);
    expect(state().messages).toHaveLength(2);
    expect(state().messages[1]?.siblings).toEqual([id, state().messages[1]?.id]);
    expect(state().status).toBe("streaming");
  });

  test("when the next one is refused, what came meanwhile is shown", async () => {
    const { store, state, id } = await complete();
    server.instead.push({
      match: "POST /v1/chat",
      answer: () => {
        server.emit(id, "block_end", suggestion, "r");
        server.emit(id, "done", { finishReason: "stop" });
        return refuse(429, "rate_limited");
      },
    });
    expect(await store.regenerate(id)).toBe(false);
    await until(() => expect(state().messages[1]?.status).toBe("done"));
    expect(state().messages[1]?.blocks).toHaveLength(2);
  });

  test.each([
    ["a tool is called", "tool_call_start", { toolCallId: "t", name: "x" }],
    ["a block is on its way", "block_start", { type: "chart", version: 1 }],
    ["another text begins", "text_delta", { delta: "more" }],
    [
      "a block that the model chose comes",
      "block_end",
      { ...suggestion, meta: { producer: "model" } },
    ],
  ] as const)("it is not when %s", async (_, event, data) => {
    const { store, state } = open({});
    await store.send("one");
    const id = state().messages[1]?.id ?? "";
    server.emit(id, "text_delta", { delta: "first" }, "b");
    server.emit(id, "text_end", {}, "b");
    server.emit(id, event, data as never, "next");
    await new Promise((r) => setTimeout(r, 400));
    expect(state().status).toBe("streaming");
    expect(await store.send("two")).toBe(false);
  });

  test("it goes on after all when something follows later", async () => {
    const { state, id } = await complete();
    server.emit(id, "tool_call_start", { toolCallId: "t", name: "x" });
    await until(() => expect(state().status).toBe("streaming"));
    expect(state().messages[1]).not.toHaveProperty("answered");
  });

  test("nobody knows while the connection is gone", async () => {
    const { store, state } = open({});
    await store.send("one");
    const id = state().messages[1]?.id ?? "";
    server.emit(id, "text_delta", { delta: "first" }, "b");
    server.emit(id, "text_end", {}, "b");
    await until(() => expect(state().messages[1]?.blocks[0]?.status).toBe("done"));
    const gone = () => Promise.reject(new TypeError("Failed to fetch"));
    for (let i = 0; i < 9; i++)
      server.instead.push({ match: `GET /v1/messages/${id}`, answer: gone });
    server.cut(id);
    await new Promise((r) => setTimeout(r, 400));
    expect(state()).toMatchObject({ status: "streaming", connection: "reconnecting" });
  });

  test("a page that comes later finds it so too", async () => {
    const id = server.ask("one");
    server.emit(id, "text_delta", { delta: "first" }, "b");
    server.emit(id, "text_end", {}, "b");
    const { state } = open();
    await until(() => expect(state().messages[1]).toMatchObject({ answered: true }));
    expect(state().status).toBe("idle");
  });
});

describe("history", () => {
  test("loads, and says so", async () => {
    server.seed("one", "first");
    const { state } = open();
    expect(state().loading).toBe(true);
    await until(() => expect(state().loading).toBe(false));
    expect(state().messages.map(text)).toEqual(["one", "first"]);
    expect(state().status).toBe("idle");
  });

  test("a failure is reported, and reload mends it", async () => {
    server.seed("one", "first");
    server.instead.push({
      match: "GET /v1/conversations/c_1/messages",
      answer: () => Promise.reject(new TypeError("Failed to fetch")),
    });
    const { store, state } = open();
    await until(() => expect(state().status).toBe("error"));
    expect(state()).toMatchObject({ loading: false, error: { code: "network" } });
    await store.reload();
    expect(state()).toMatchObject({ status: "idle", error: null });
    expect(state().messages).toHaveLength(2);
  });

  test("a running answer goes on, beside an earlier one that stays as it is", async () => {
    const first = server.seed("one", "first");
    const running = server.ask("two");
    server.emit(running, "tool_call_start", { toolCallId: "t", name: "sales", title: "Sales" });
    server.emit(running, "text_delta", { delta: "so " }, "b");
    const { state } = open();
    await until(() => expect(text(state().messages[3])).toBe("so "));
    expect(state().status).toBe("streaming");
    const before = state().messages[1];
    expect(before?.id).toBe(first.assistant);
    await until(() => expect(state().messages[3]?.tools).toHaveLength(1));
    server.emit(running, "tool_call_end", { toolCallId: "t", name: "sales", status: "ok" });
    server.emit(running, "text_delta", { delta: "far" }, "b");
    server.emit(running, "done", { finishReason: "stop" });
    await until(() => expect(state().status).toBe("idle"));
    expect(text(state().messages[3])).toBe("so far");
    expect(state().messages[3]?.tools).toMatchObject([{ name: "sales", status: "ok" }]);
    expect(state().messages).toHaveLength(4);
    expect(state().messages[1]).toBe(before);
  });

  test("what was there is shown while the events are read again", async () => {
    const running = server.ask("one");
    for (const word of ["a", "b", "c"]) server.emit(running, "text_delta", { delta: word }, "b");
    const seen = new Set<string | undefined>();
    const { store } = open();
    ends.push(
      store.subscribe(() => {
        const message = store.getState().messages[1];
        if (message) seen.add(text(message));
      }),
    );
    await until(() => expect(server.open(running)).toBe(1));
    server.emit(running, "text_delta", { delta: "d" }, "b");
    await until(() => expect([...seen].at(-1)).toBe("abcd"));
    for (const view of seen) expect(["abc", "abcd"]).toContain(view);
  });

  test("the live view is the stored view", async () => {
    const live = open({});
    await live.store.send("one");
    const id = live.state().messages[1]?.id ?? "";
    server.emit(id, "block_start", { type: "chart", version: 1, meta: { title: "T" } }, "b1");
    server.emit(id, "text_delta", { delta: "hello" }, "b2");
    server.emit(id, "block_delta", { patch: [{ op: "add", path: "", value: [] }] }, "b1");
    server.emit(
      id,
      "block_end",
      { type: "chart", version: 1, built: true, fallback: "f", meta: { fetchedAt: 5 } },
      "b1",
    );
    server.emit(id, "block_start", { type: "table", version: 1 }, "b3");
    server.emit(id, "done", { finishReason: "stop", usage: { inputTokens: 1, outputTokens: 2 } });
    await until(() => expect(live.state().status).toBe("idle"));
    const stored = open();
    await until(() => expect(stored.state().messages).toHaveLength(2));
    const view = ({ role, blocks, status, seq, usage, finishReason }: Message) => {
      // A text that was typed here has no block id of the server's yet.
      const shown = role === "user" ? blocks.map((b) => b.payload) : blocks;
      return JSON.parse(JSON.stringify({ shown, status, seq, usage, finishReason }));
    };
    expect(live.state().messages.map(view)).toEqual(stored.state().messages.map(view));
  });
});

describe("disconnects", () => {
  test("a cut at every event: nothing lost, nothing twice, and the state says so", async () => {
    const { store, state } = open({});
    await store.send("hi");
    const id = state().messages[1]?.id ?? "";
    const states = new Set<string>();
    ends.push(store.subscribe(() => states.add(store.getState().connection)));
    for (let i = 0; i < 4; i++) {
      server.emit(id, "text_delta", { delta: `${i} ` }, "b");
      await until(() => expect(state().messages[1]?.seq).toBe(i + 2));
      server.cut(id);
      server.emit(id, "text_delta", { delta: "," }, "c");
      server.emit(id, "text_end", {}, "c");
      server.stored.get(id)?.log.splice(-2);
      await until(() => expect(server.open(id)).toBe(1));
    }
    server.emit(id, "done", { finishReason: "stop" });
    await until(() => expect(state().status).toBe("idle"));
    expect(text(state().messages[1])).toBe("0 1 2 3 ");
    expect(states).toEqual(new Set(["open", "reconnecting"]));
    expect(state().connection).toBe("open");
  });
});

describe("one change per frame", () => {
  test("5,000 events in one tick", async () => {
    const { store, state } = open({});
    await store.send("hi");
    const id = state().messages[1]?.id ?? "";
    await until(() => expect(server.open("feed")).toBe(1));
    await until(() => expect(state().messages[1]?.seq).toBe(1));
    await new Promise((r) => setTimeout(r, 100));
    const frames: FrameRequestCallback[] = [];
    vi.spyOn(globalThis, "requestAnimationFrame").mockImplementation((f) => frames.push(f));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const changes = vi.fn();
      ends.push(store.subscribe(changes));
      for (let i = 0; i < 5_000; i++) server.emit(id, "text_delta", { delta: "x" }, "b");
      for (let i = 0; i < 200; i++) await new Promise((r) => setImmediate(r));
      expect(frames).toHaveLength(1);
      expect(changes).toHaveBeenCalledTimes(0);
      frames[0]?.(0);
      expect(changes).toHaveBeenCalledTimes(1);
      expect(text(state().messages[1])).toHaveLength(5_000);
    } finally {
      vi.useRealTimers();
    }
  });

  test("a hidden page needs no frame", async () => {
    const { store, state } = open({});
    await store.send("hi");
    const id = state().messages[1]?.id ?? "";
    const frame = vi.spyOn(globalThis, "requestAnimationFrame").mockReturnValue(1);
    vi.spyOn(document, "visibilityState", "get").mockReturnValue("hidden");
    server.emit(id, "text_delta", { delta: "x" }, "b");
    await until(() => expect(text(state().messages[1])).toBe("x"));
    expect(frame).not.toHaveBeenCalled();
  });

  test("nor does one that is hidden while it waits for its frame", async () => {
    const { store, state } = open({});
    await store.send("hi");
    const id = state().messages[1]?.id ?? "";
    vi.spyOn(globalThis, "requestAnimationFrame").mockReturnValue(1);
    server.emit(id, "text_delta", { delta: "x" }, "b");
    await until(() => expect(text(state().messages[1])).toBe("x"));
  });
});

describe("branches", () => {
  test("regenerate makes a sibling, and each branch can be shown again", async () => {
    const first = server.seed("one", "first");
    server.seed("two", "second");
    const { store, state } = open();
    await until(() => expect(state().messages).toHaveLength(4));
    const whole = ids(state().messages);
    expect(await store.regenerate(first.assistant)).toBe(true);
    expect(state().messages).toHaveLength(2);
    const other = state().messages[1]?.id ?? "";
    expect(state().messages[1]?.siblings).toEqual([first.assistant, other]);
    server.emit(other, "text_delta", { delta: "other" }, "b");
    server.emit(other, "done", { finishReason: "stop" });
    await until(() => expect(state().status).toBe("idle"));
    await store.selectBranch(first.assistant);
    expect(ids(state().messages)).toEqual(whole);
    expect(state().messages[1]?.siblings).toEqual([first.assistant, other]);
    await store.selectBranch(other);
    expect(state().messages.map(text)).toEqual(["one", "other"]);
  });

  test("edit words a question anew", async () => {
    const first = server.seed("one", "first");
    const { store, state } = open();
    await until(() => expect(state().messages).toHaveLength(2));
    expect(await store.edit(first.user, "uno")).toBe(true);
    expect(text(state().messages[0])).toBe("uno");
    const [user, answer] = state().messages;
    expect(user?.siblings).toEqual([first.user, user?.id]);
    expect(server.message(answer?.id ?? "").parentId).toBe(user?.id);
  });

  test("a failed regenerate leaves all as it was", async () => {
    const first = server.seed("one", "first");
    const { store, state } = open();
    await until(() => expect(state().messages).toHaveLength(2));
    const before = state().messages;
    server.instead.push({ match: "POST /v1/chat", answer: () => refuse(429, "rate_limited") });
    expect(await store.regenerate(first.assistant)).toBe(false);
    expect(state().messages).toBe(before);
    expect(state().error).toMatchObject({ code: "rate_limited" });
  });
});

describe("blocks", () => {
  async function withChart() {
    const { user, assistant } = server.seed("one", "first");
    server.again(assistant);
    server.emit(assistant, "block_end", chart(1), "chart");
    server.emit(assistant, "done", { finishReason: "stop" });
    const view = open();
    await until(() => expect(view.state().messages[1]?.blocks).toHaveLength(2));
    return { ...view, id: assistant, user };
  }
  const chart = (payload: unknown) => ({ type: "chart", version: 1, payload, fallback: "f" });

  test("refresh, through a disconnect; the other block is not touched", async () => {
    const { store, state, id } = await withChart();
    const other = state().messages[1]?.blocks[0];
    const done = store.refreshBlock("chart");
    await until(() => expect(server.open(id)).toBe(1));
    server.emit(id, "block_start", { type: "chart", version: 1 }, "chart");
    await until(() => expect(state().messages[1]?.blocks[1]?.status).toBe("loading"));
    expect(state().messages[1]?.blocks[1]?.payload).toBe(1);
    expect(state().status, "a refresh is not an answer").toBe("idle");
    server.cut(id);
    server.emit(id, "block_end", chart(2), "chart");
    server.emit(id, "done", { finishReason: "stop" });
    expect(await done).toBe(true);
    expect(state().messages[1]?.blocks[1]).toMatchObject({ status: "done", payload: 2 });
    expect(state().messages[1]?.blocks[0]).toBe(other);
  });

  test("a refused retry is reported", async () => {
    const { store, state } = await withChart();
    server.instead.push({ match: "POST /v1/chat/blocks", answer: () => refuse(409, "not_failed") });
    expect(await store.retryBlock("chart")).toBe(false);
    expect(state().error).toMatchObject({ code: "not_failed" });
    expect(await store.retryBlock("nowhere")).toBe(false);
  });

  test("a prompt action starts a turn that is followed", async () => {
    const { store, state } = await withChart();
    const block = state().messages[1]?.blocks[1];
    if (!block) throw new Error("no block");
    const action = { id: "more", label: "More", kind: "prompt" as const, prompt: "More?" };
    expect(await store.runAction(block, action)).toBe(true);
    expect(state().status).toBe("streaming");
    const answer = state().messages[3]?.id ?? "";
    await until(() => expect(server.open(answer)).toBe(1));
    server.emit(answer, "text_delta", { delta: "more" }, "b");
    await until(() => expect(text(state().messages[3])).toBe("more"));
    expect(await store.runAction(block, { ...action, kind: "local" })).toBe(false);
  });
});

describe("two tabs", () => {
  async function two() {
    server.seed("zero", "nil");
    const a = open();
    const b = open();
    await until(() => {
      expect(a.state().loading || b.state().loading).toBe(false);
      expect(server.open("feed")).toBe(2);
    });
    return { a, b };
  }

  test("a turn in one is shown in the other, which can stop it", async () => {
    const { a, b } = await two();
    await a.store.send("one");
    await until(() => expect(b.state().messages).toHaveLength(4));
    expect(b.state().status).toBe("streaming");
    const id = a.state().messages[3]?.id ?? "";
    await until(() => expect(server.open(id)).toBe(2));
    server.emit(id, "text_delta", { delta: "part" }, "b");
    await until(() => expect(text(b.state().messages[3])).toBe("part"));
    await b.store.stop();
    await until(() => {
      expect(a.state().messages[3]?.status).toBe("cancelled");
      expect(b.state().messages[3]?.status).toBe("cancelled");
    });
    expect(a.state().messages[3]).toMatchObject({ blocks: [{ error: { code: "INTERRUPTED" } }] });
    expect(ids(a.state().messages)).toEqual(ids(b.state().messages));
    // The one that sent had no need to ask what it had sent.
    const loads = server.calls.filter((c) => c.includes("/messages") && c.includes("c_1"));
    expect(loads.length).toBeLessThanOrEqual(4);
  });

  test("a regenerated answer and a refreshed block come over too", async () => {
    const { a, b } = await two();
    const old = a.state().messages[1]?.id ?? "";
    await a.store.regenerate(old);
    const id = a.state().messages[1]?.id ?? "";
    await until(() => expect(ids(b.state().messages)).toEqual(ids(a.state().messages)));
    server.emit(id, "block_end", { type: "chart", version: 1, payload: 1, fallback: "f" }, "c");
    server.emit(id, "done", { finishReason: "stop" });
    await until(() => expect(b.state().messages[1]?.status).toBe("done"));
    const refreshed = a.store.refreshBlock("c");
    await until(() => expect(server.open(id)).toBeGreaterThan(0));
    server.emit(id, "block_start", { type: "chart", version: 1 }, "c");
    server.emit(id, "block_end", { type: "chart", version: 1, payload: 2, fallback: "f" }, "c");
    server.emit(id, "done", { finishReason: "stop" });
    await refreshed;
    await until(() => expect(b.state().messages[1]?.blocks[0]?.payload).toBe(2));
  });

  test("a chosen branch stays when another tab goes on elsewhere", async () => {
    const { a, b } = await two();
    const old = a.state().messages[1]?.id ?? "";
    await a.store.regenerate(old);
    server.emit(a.state().messages[1]?.id ?? "", "done", { finishReason: "stop" });
    await until(() => expect(b.state().messages[1]?.siblings).toHaveLength(2));
    await b.store.selectBranch(old);
    await a.store.send("on");
    await until(() => expect(a.state().messages).toHaveLength(4));
    await new Promise((r) => setTimeout(r, 150));
    expect(b.state().messages[1]?.id).toBe(old);
    expect(b.state().messages).toHaveLength(2);
  });

  test("whoever comes second is shown the turn that runs", async () => {
    const { a, b } = await two();
    server.cut("feed");
    await a.store.send("one");
    expect(await b.store.send("two")).toBe(false);
    expect(b.state().error).toMatchObject({ code: "turn_running" });
    await until(() => expect(b.state().status).toBe("streaming"));
    expect(text(b.state().messages[2])).toBe("one");
  });

  test("title and deletion", async () => {
    const { a, b } = await two();
    server.feed("conversation_updated", { conversation: { ...server.conversation, title: "T" } });
    await until(() => expect(b.state().conversation?.title).toBe("T"));
    server.feed("conversation_deleted", { id: "c_1" });
    await until(() => expect(a.state()).toMatchObject({ deleted: true, messages: [] }));
  });

  test("a feed that tells everything from the beginning changes nothing", async () => {
    const { a } = await two();
    const before = a.state().messages;
    const calls = server.calls.length;
    for (const m of before) {
      server.feed("message_created", { message: m });
      if (m.role === "assistant") server.feed("turn_started", { msgId: m.id });
      server.feed("message_updated", { msgId: m.id, seq: m.seq, status: m.status });
    }
    await new Promise((r) => setTimeout(r, 150));
    expect(a.state().messages).toEqual(before);
    expect(server.calls).toHaveLength(calls);
  });

  test("the feed is read from where the history says it stood", async () => {
    server.cursors = true;
    server.emit(server.ask("one"), "done", { finishReason: "stop" });
    const { state } = open();
    await until(() => expect(server.open("feed")).toBe(1));
    expect(state().messages).toHaveLength(2);
    expect(server.calls).toEqual([
      "GET /v1/conversations/c_1/messages",
      "GET /v1/conversations/c_1/events?after=4",
    ]);
  });
});

describe("coming and going", () => {
  test("the last subscriber hangs up; the turn goes on, and is there again later", async () => {
    const { store, state } = open({});
    await store.send("one");
    const id = state().messages[1]?.id ?? "";
    for (const end of ends.splice(0)) end();
    await until(() => expect(server.open(id)).toBe(0));
    await until(() => expect(server.open("feed")).toBe(0));
    server.emit(id, "text_delta", { delta: "meanwhile" }, "b");
    ends.push(store.subscribe(() => {}));
    await until(() => expect(text(state().messages[1])).toBe("meanwhile"));
    server.emit(id, "done", { finishReason: "stop" });
    await until(() => expect(state().status).toBe("idle"));
    expect(server.calls.filter((c) => c.startsWith("POST"))).toEqual(["POST /v1/chat"]);
  });

  test("a subscriber that only changes does not hang up", async () => {
    const { store, state } = open({});
    await store.send("one");
    const id = state().messages[1]?.id ?? "";
    for (const end of ends.splice(0)) end();
    ends.push(store.subscribe(() => {}));
    await new Promise((r) => setTimeout(r, 20));
    expect(server.open(id)).toBe(1);
  });
});
