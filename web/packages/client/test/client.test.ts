import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  type Connection,
  type Envelope,
  emptyMessage,
  InlayClient,
  InlayError,
  reduceAll,
} from "../src/index.ts";
import { bytes, chunked, collect, event, frame, turn } from "./help.ts";

type Fault = "eof" | "hang" | Error;
interface Call {
  method: string;
  url: string;
  headers: Headers;
  body: unknown;
  signal: AbortSignal | null;
}
type Answer = (call: Call) => Response | Promise<Response>;

/** A fetch that answers from a list, the last answer for ever, and honours abort. */
function fake(...answers: Answer[]) {
  const calls: Call[] = [];
  const fetch = (async (input: RequestInfo | URL, init: RequestInit = {}) => {
    const call: Call = {
      method: init.method ?? "GET",
      url: String(input),
      headers: new Headers(init.headers),
      body: typeof init.body === "string" ? JSON.parse(init.body) : undefined,
      signal: init.signal ?? null,
    };
    calls.push(call);
    const answer = answers[Math.min(calls.length, answers.length) - 1];
    if (!answer) throw new Error("unexpected request");
    const aborted = new Promise<never>((_, reject) => {
      const fail = () => reject(new DOMException("The operation was aborted", "AbortError"));
      if (call.signal?.aborted) fail();
      call.signal?.addEventListener("abort", fail);
    });
    aborted.catch(() => {});
    return Promise.race([answer(call), aborted]);
  }) as typeof globalThis.fetch;
  return { fetch, calls };
}

/** A stream of text that ends in a fault, and ends with an error when the request is aborted. */
function stream(call: Call, text: string, fault: Fault = "eof", headers: HeadersInit = {}) {
  const parts: (Uint8Array | Error | "hang")[] = [bytes(text)];
  if (fault !== "eof") parts.push(fault);
  const source = chunked(parts).getReader();
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        call.signal?.addEventListener("abort", () => {
          try {
            controller.error(new DOMException("The operation was aborted", "AbortError"));
          } catch {
            // It was closed before.
          }
        });
      },
      async pull(controller) {
        const { done, value } = await source.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: { "Content-Type": "text/event-stream", ...headers } });
}

const json = (status: number, body: unknown) => () => Response.json(body, { status });
const heads = {
  "X-Message-Id": "m_1",
  "X-Conversation-Id": "c_1",
  "X-User-Message-Id": "m_0",
};
const frames = turn.map(frame);

/** Answers a message's events after the cursor in the URL. */
const rest: Answer = (call) => {
  const after = Number(new URL(call.url, "http://x").searchParams.get("after"));
  if (after >= turn.length) return new Response(null, { status: 204 });
  return stream(call, frames.slice(after).join(""));
};

/** Lets timers run until the work is done. */
async function settle<T>(work: Promise<T>, limit = 300_000): Promise<T> {
  let over = false;
  const mark = () => {
    over = true;
  };
  work.then(mark, mark);
  for (let t = 0; !over && t < limit; t += 100) await vi.advanceTimersByTimeAsync(100);
  expect(over, "still waiting").toBe(true);
  return work;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("chat", () => {
  test("sends the turn and reads it to its end", async () => {
    const { fetch, calls } = fake((c) => stream(c, frames.join(""), "eof", heads));
    const client = new InlayClient({
      endpoint: "https://chat.example/",
      fetch,
      headers: async () => ({ Authorization: "Bearer abc" }),
      blocks: ["chart@1", "table@1"],
      lang: "zh",
    });
    const run = await client.chat({ conversationId: "c_1", input: { text: "sales?" } });
    expect(run).toMatchObject({
      messageId: "m_1",
      conversationId: "c_1",
      userMessageId: "m_0",
    });
    expect(await settle(collect(run.events))).toEqual(turn);
    const [call] = calls;
    expect(calls).toHaveLength(1);
    expect(call).toMatchObject({
      method: "POST",
      url: "https://chat.example/v1/chat",
      body: { conversationId: "c_1", input: { text: "sales?" } },
    });
    expect(call?.headers.get("authorization")).toBe("Bearer abc");
    expect(call?.headers.get("x-blocks")).toBe("chart@1,table@1");
    expect(call?.headers.get("accept-language")).toBe("zh");
    expect(call?.headers.get("idempotency-key")).toMatch(/^[0-9a-f]{32}$/);
  });

  test("a lost request is sent again under the same key", async () => {
    const { fetch, calls } = fake(
      () => Promise.reject(new TypeError("Failed to fetch")),
      () => new Response("bad gateway", { status: 502 }),
      (c) => stream(c, frames.join(""), "eof", heads),
    );
    const client = new InlayClient({ fetch });
    const run = await settle(client.chat({ input: { text: "hi" } }));
    expect(await settle(collect(run.events))).toEqual(turn);
    const keys = new Set(calls.map((c) => c.headers.get("idempotency-key")));
    expect(calls).toHaveLength(3);
    expect(keys.size).toBe(1);
  });

  test("a lost request is given up in the end", async () => {
    const { fetch, calls } = fake(() => Promise.reject(new TypeError("Failed to fetch")));
    const failed = settle(new InlayClient({ fetch }).chat({ input: { text: "hi" } }));
    await expect(failed).rejects.toMatchObject({ code: "network", status: 0, retryable: true });
    expect(calls).toHaveLength(3);
  });

  test("a refusal is an InlayError with all its parts", async () => {
    const error = {
      code: "turn_running",
      message: "busy",
      retryable: false,
      traceId: "t1",
      details: { msgId: "m_9" },
    };
    const { fetch, calls } = fake(json(409, { error }));
    const failed = new InlayClient({ fetch }).chat({ input: { text: "hi" } });
    await expect(failed).rejects.toBeInstanceOf(InlayError);
    await expect(failed).rejects.toMatchObject({ ...error, status: 409 });
    expect(calls).toHaveLength(1);
  });

  test("an abort before the answer is an abort", async () => {
    const { fetch, calls } = fake(() => new Promise<Response>(() => {}));
    const controller = new AbortController();
    const run = new InlayClient({ fetch }).chat({ input: { text: "hi" } }, controller.signal);
    controller.abort();
    await expect(settle(run)).rejects.toMatchObject({ name: "AbortError" });
    expect(calls).toHaveLength(1);
  });
});

describe("disconnects", () => {
  const faults: [string, Fault][] = [
    ["AbortError nobody asked for", new DOMException("aborted", "AbortError")],
    ["Safari's Load failed", new TypeError("Load failed")],
    ["network error", new TypeError("network error")],
    ["terminated", new TypeError("terminated")],
    ["a clean end without a last event", "eof"],
    ["silence", "hang"],
  ];

  test.each(faults)("%s after every frame: nothing lost, nothing twice", async (_, fault) => {
    for (let cut = 0; cut < frames.length; cut++) {
      const { fetch, calls } = fake(
        (c) => stream(c, frames.slice(0, cut).join(""), fault, heads),
        rest,
      );
      const states: Connection[] = [];
      const run = await new InlayClient({ fetch }).chat(
        { input: { text: "hi" } },
        { onConnection: (s) => states.push(s) },
      );
      expect(await settle(collect(run.events)), `cut at ${cut}`).toEqual(turn);
      expect(calls.map((c) => [c.method, c.url])).toEqual([
        ["POST", "/v1/chat"],
        ["GET", `/v1/messages/m_1/events?after=${cut}`],
      ]);
      expect(states).toEqual(["open", "reconnecting", "open"]);
    }
  });

  test.each(faults)("%s after the last event is the end", async (_, fault) => {
    const { fetch, calls } = fake((c) => stream(c, frames.join(""), fault, heads));
    const run = await new InlayClient({ fetch }).chat({ input: { text: "hi" } });
    expect(await settle(collect(run.events))).toEqual(turn);
    expect(calls).toHaveLength(1);
  });

  test("a frame cut in half is read again whole", async () => {
    const whole = frames.join("");
    for (const at of [whole.length - 3, whole.indexOf("leads"), frames[0]?.length ?? 0]) {
      const { fetch } = fake((c) => stream(c, whole.slice(0, at), "eof", heads), rest);
      const run = await new InlayClient({ fetch }).chat({ input: { text: "hi" } });
      expect(await settle(collect(run.events))).toEqual(turn);
    }
  });

  test("many in a row: each connection brings one frame", async () => {
    const { fetch, calls } = fake((c) => {
      if (c.method === "POST") return stream(c, "", "eof", heads);
      const after = Number(new URL(c.url, "http://x").searchParams.get("after"));
      return stream(c, frames[after] ?? "", new TypeError("network error"));
    });
    const run = await new InlayClient({ fetch }).chat({ input: { text: "hi" } });
    const events = await settle(collect(run.events));
    expect(reduceAll(emptyMessage("m_1"), events)).toEqual(reduceAll(emptyMessage("m_1"), turn));
    expect(calls).toHaveLength(1 + frames.length);
  });

  test("a server that replays from the start is not read twice", async () => {
    const { fetch } = fake(
      (c) => stream(c, frames.slice(0, 4).join(""), "eof", heads),
      (c) => stream(c, frames.join("")),
    );
    const run = await new InlayClient({ fetch }).chat({ input: { text: "hi" } });
    expect(await settle(collect(run.events))).toEqual(turn);
  });

  test("frames with nothing but an id move the cursor", async () => {
    const { fetch, calls } = fake(
      (c) => stream(c, `${frames[0]}id: 2\n\nid: 3\n\n`, "eof", heads),
      rest,
    );
    const run = await new InlayClient({ fetch }).chat({ input: { text: "hi" } });
    expect(await settle(collect(run.events))).toEqual([turn[0], ...turn.slice(3)]);
    expect(calls[1]?.url).toContain("after=3");
  });

  test("a frame that is no JSON is left out", async () => {
    const { fetch } = fake((c) =>
      stream(c, `event: text_delta\ndata: {"v\n\n${frames.join("")}`, "eof", heads),
    );
    const run = await new InlayClient({ fetch }).chat({ input: { text: "hi" } });
    expect(await settle(collect(run.events))).toEqual(turn);
  });

  test("waits grow from a quarter second to eight, and a passing 503 is waited out", async () => {
    const times: number[] = [];
    const { fetch } = fake(
      (c) => stream(c, frames.slice(0, 2).join(""), "eof", heads),
      ...Array.from({ length: 8 }, () => () => {
        times.push(Date.now());
        return Response.json({}, { status: 503 });
      }),
      rest,
    );
    const run = await new InlayClient({ fetch }).chat({ input: { text: "hi" } });
    expect(await settle(collect(run.events))).toEqual(turn);
    const gaps = times.slice(1).map((t, i) => t - (times[i] ?? 0));
    gaps.forEach((gap, i) => {
      const full = Math.min(8_000, 500 * 2 ** i);
      expect(gap).toBeGreaterThanOrEqual(full * 0.74);
      expect(gap).toBeLessThanOrEqual(full * 1.26);
    });
  });

  test("a refusal while reconnecting ends the stream with it", async () => {
    const { fetch } = fake(
      (c) => stream(c, frames.slice(0, 2).join(""), "eof", heads),
      json(404, { error: { code: "not_found", message: "gone", retryable: false } }),
    );
    const run = await new InlayClient({ fetch }).chat({ input: { text: "hi" } });
    await expect(settle(collect(run.events))).rejects.toMatchObject({ code: "not_found" });
  });

  test("a caller's abort ends the stream quietly and asks nothing more", async () => {
    const { fetch, calls } = fake((c) => stream(c, frames.slice(0, 3).join(""), "hang", heads));
    const controller = new AbortController();
    const states: Connection[] = [];
    const run = await new InlayClient({ fetch }).chat(
      { input: { text: "hi" } },
      { signal: controller.signal, onConnection: (s) => states.push(s) },
    );
    const got: Envelope[] = [];
    const reading = (async () => {
      for await (const e of run.events) {
        got.push(e);
        if (got.length === 3) queueMicrotask(() => controller.abort());
      }
    })();
    await settle(reading);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(got).toEqual(turn.slice(0, 3));
    expect(calls).toHaveLength(1);
    expect(states).toEqual(["open"]);
  });

  test("an abort during the wait ends the wait", async () => {
    const { fetch, calls } = fake((c) => stream(c, frames[0] ?? "", "eof", heads), json(503, {}));
    const controller = new AbortController();
    const run = await new InlayClient({ fetch }).chat({ input: { text: "hi" } }, controller.signal);
    const reading = collect(run.events);
    await vi.advanceTimersByTimeAsync(5_000);
    const before = calls.length;
    controller.abort();
    expect(await reading).toEqual(turn.slice(0, 1));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(calls).toHaveLength(before);
  });

  test("leaving the loop closes the connection", async () => {
    const { fetch, calls } = fake((c) => stream(c, frames.join(""), "hang", heads));
    const run = await new InlayClient({ fetch }).chat({ input: { text: "hi" } });
    for await (const _ of run.events) break;
    expect(calls[0]?.signal?.aborted).toBe(true);
  });

  test("a slow reader is not silence", async () => {
    const { fetch, calls } = fake((c) => stream(c, frames.join(""), "eof", heads));
    const run = await new InlayClient({ fetch }).chat({ input: { text: "hi" } });
    const got: Envelope[] = [];
    const reading = (async () => {
      for await (const e of run.events) {
        got.push(e);
        await new Promise((r) => setTimeout(r, 60_000));
      }
    })();
    await settle(reading, 2_000_000);
    expect(got).toEqual(turn);
    expect(calls).toHaveLength(1);
  });
});

describe("waking up", () => {
  function page() {
    const window = new EventTarget();
    const document = Object.assign(new EventTarget(), { visibilityState: "visible" });
    const navigator = { onLine: true };
    vi.stubGlobal("window", window);
    vi.stubGlobal("document", document);
    vi.stubGlobal("navigator", navigator);
    return { window, document, navigator };
  }

  test("offline is shown as such, and online asks at once", async () => {
    const { window, navigator } = page();
    const states: Connection[] = [];
    const down = () => Promise.reject(new TypeError("Failed to fetch"));
    const { fetch, calls } = fake(
      (c) => stream(c, frames[0] ?? "", new TypeError("network error"), heads),
      ...Array.from({ length: 8 }, () => down),
      rest,
    );
    navigator.onLine = false;
    const run = await new InlayClient({ fetch }).chat(
      { input: { text: "hi" } },
      { onConnection: (s) => states.push(s) },
    );
    const reading = collect(run.events);
    while (calls.length < 9) await vi.advanceTimersByTimeAsync(100);
    navigator.onLine = true;
    window.dispatchEvent(new Event("online"));
    // No timer has to pass.
    expect(await reading).toEqual(turn);
    expect(states).toEqual(["open", "offline", "open"]);
  });

  test("a page that comes back after a long silence reconnects at once", async () => {
    const { document } = page();
    const { fetch, calls } = fake((c) => stream(c, frames[0] ?? "", "hang", heads), rest);
    const run = await new InlayClient({ fetch }).chat({ input: { text: "hi" } });
    const reading = collect(run.events);
    await vi.advanceTimersByTimeAsync(5_000);
    document.dispatchEvent(new Event("visibilitychange"));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(calls, "fresh connections are kept").toHaveLength(1);
    await vi.advanceTimersByTimeAsync(20_000);
    document.visibilityState = "hidden";
    document.dispatchEvent(new Event("visibilitychange"));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(calls, "going away is no reason").toHaveLength(1);
    document.visibilityState = "visible";
    document.dispatchEvent(new Event("visibilitychange"));
    await vi.advanceTimersByTimeAsync(400);
    expect(await reading).toEqual(turn);
    expect(calls).toHaveLength(2);
  });
});

describe("follow", () => {
  test("nothing left: 204 ends it at once", async () => {
    const { fetch, calls } = fake(rest);
    expect(await collect(new InlayClient({ fetch }).follow("m_1", 10))).toEqual([]);
    expect(calls).toHaveLength(1);
  });

  test("from the middle, through a server that is down at first", async () => {
    const { fetch } = fake(() => Promise.reject(new TypeError("Load failed")), rest);
    const events = await settle(collect(new InlayClient({ fetch }).follow("m_1", 4)));
    expect(events).toEqual(turn.slice(4));
  });

  test("a follow-up group after the turn is read too", async () => {
    const more = [
      event(11, "block_start", { type: "chart", version: 1 }, "b_2", 2),
      event(12, "done", { finishReason: "stop" }, undefined, 2),
    ];
    const { fetch, calls } = fake(
      (c) => stream(c, [...frames, frame(more[0] as Envelope)].join("")),
      (c) => stream(c, frame(more[1] as Envelope)),
    );
    const events = await settle(collect(new InlayClient({ fetch }).follow("m_1")));
    expect(events).toEqual([...turn, ...more]);
    expect(calls[1]?.url).toBe("/v1/messages/m_1/events?after=11");
  });
});

describe("block retry", () => {
  const again = [
    event(11, "block_start", { type: "chart", version: 1 }, "b_2", 2),
    event(12, "block_end", { type: "chart", version: 1, payload: 1, fallback: "1" }, "b_2", 2),
    event(13, "done", { finishReason: "stop" }, undefined, 2),
  ];

  test("goes on by the message's log after a disconnect", async () => {
    const { fetch, calls } = fake(
      (c) => stream(c, frame(again[0] as Envelope), "eof", { "X-Message-Id": "m_1" }),
      (c) => stream(c, again.slice(1).map(frame).join("")),
    );
    const client = new InlayClient({ fetch });
    expect(await settle(collect(client.retryBlock("b_2", { after: 10 })))).toEqual(again);
    expect(calls.map((c) => `${c.method} ${c.url}`)).toEqual([
      "POST /v1/chat/blocks/b_2/retry",
      "GET /v1/messages/m_1/events?after=11",
    ]);
  });

  test("is not sent twice by itself", async () => {
    const { fetch, calls } = fake(() => Promise.reject(new TypeError("Load failed")));
    const failed = settle(collect(new InlayClient({ fetch }).refreshBlock("b_2")));
    await expect(failed).rejects.toMatchObject({ code: "network" });
    expect(calls).toHaveLength(1);
  });
});

describe("feed", () => {
  test("reads on after its cursor until the abort", async () => {
    const one = 'id: 7\nevent: turn_started\ndata: {"msgId":"m_1"}\n\n';
    const two = 'id: 9\nevent: message_updated\ndata: {"msgId":"m_1","seq":3,"status":"done"}\n\n';
    const { fetch, calls } = fake(
      (c) => stream(c, one, "eof"),
      (c) => stream(c, two, "hang"),
    );
    const controller = new AbortController();
    const feed = new InlayClient({ fetch }).feed("c_1", undefined, controller.signal);
    const got: unknown[] = [];
    const reading = (async () => {
      for await (const e of feed) {
        got.push(e);
        if (got.length === 2) controller.abort();
      }
    })();
    await settle(reading);
    expect(got).toEqual([
      { event: "turn_started", cursor: 7, data: { msgId: "m_1" } },
      { event: "message_updated", cursor: 9, data: { msgId: "m_1", seq: 3, status: "done" } },
    ]);
    expect(calls.map((c) => c.url)).toEqual([
      "/v1/conversations/c_1/events",
      "/v1/conversations/c_1/events?after=7",
    ]);
  });
});

describe("plain requests", () => {
  const requests: [string, (c: InlayClient) => unknown, string, unknown?][] = [
    ["stop", (c) => c.stop("m_1"), "POST /v1/messages/m_1/stop"],
    ["getMessage", (c) => c.getMessage("m/1"), "GET /v1/messages/m%2F1"],
    ["trajectory", (c) => c.trajectory("m_1"), "GET /v1/messages/m_1/trajectory"],
    ["config", (c) => c.config(), "GET /v1/client-config"],
    ["list", (c) => c.listConversations(), "GET /v1/conversations"],
    [
      "search",
      (c) => c.listConversations({ q: "a&b", limit: 5, cursor: "" }),
      "GET /v1/conversations?q=a%26b&limit=5",
    ],
    ["create", (c) => c.createConversation("T"), "POST /v1/conversations", { title: "T" }],
    ["get", (c) => c.getConversation("c_1"), "GET /v1/conversations/c_1"],
    [
      "rename",
      (c) => c.renameConversation("c_1", "T"),
      "PATCH /v1/conversations/c_1",
      { title: "T" },
    ],
    ["delete", (c) => c.deleteConversation("c_1"), "DELETE /v1/conversations/c_1"],
    ["messages", (c) => c.messages("c_1"), "GET /v1/conversations/c_1/messages"],
    ["leaf", (c) => c.messages("c_1", "m_2"), "GET /v1/conversations/c_1/messages?leaf=m_2"],
    [
      "action",
      (c) =>
        c.action({
          msgId: "m",
          blockId: "b",
          actionId: "a",
          payload: { x: 1 },
          idempotencyKey: "k",
          traceId: "t",
        }),
      "POST /v1/chat/actions",
      {
        msgId: "m",
        blockId: "b",
        actionId: "a",
        payload: { x: 1 },
        idempotencyKey: "k",
        traceId: "t",
      },
    ],
    [
      "feedback",
      (c) => c.feedback("m_1", "down", "wrong year"),
      "POST /v1/messages/m_1/feedback",
      { rating: "down", comment: "wrong year" },
    ],
    [
      "feedback taken back",
      (c) => c.feedback("m_1", null),
      "POST /v1/messages/m_1/feedback",
      { rating: null },
    ],
  ];
  test.each(requests)("%s", async (_, send, want, body) => {
    const { fetch, calls } = fake(json(200, {}));
    await send(new InlayClient({ fetch }));
    expect(`${calls[0]?.method} ${calls[0]?.url}`).toBe(want);
    expect(calls[0]?.body).toEqual(body);
  });

  test("export is an address", () => {
    expect(new InlayClient({ endpoint: "https://x.example" }).exportUrl("c_1", "md")).toBe(
      "https://x.example/v1/conversations/c_1/export?format=md",
    );
  });

  test("a proxy's page becomes a code by its status", async () => {
    const { fetch } = fake(() => new Response("<h1>Bad gateway</h1>", { status: 502 }));
    await expect(new InlayClient({ fetch }).config()).rejects.toMatchObject({
      code: "http_502",
      retryable: true,
    });
  });

  test("no network", async () => {
    const { fetch } = fake(() => Promise.reject(new TypeError("Failed to fetch")));
    await expect(new InlayClient({ fetch }).config()).rejects.toMatchObject({ code: "network" });
  });
});
