import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  adopt,
  type Envelope,
  emptyMessage,
  type Message,
  reduce,
  reduceAll,
} from "../src/index.ts";
import { event, turn } from "./help.ts";

interface Vector {
  name: string;
  events: Envelope[];
  want: Partial<Message>;
}

const dir = new URL("../../../../testdata/fold/", import.meta.url);
const vectors = readdirSync(dir)
  .filter((name) => name.endsWith(".json"))
  .flatMap((name): Vector[] => {
    const content = JSON.parse(readFileSync(new URL(name, dir), "utf8")) as Vector | Vector[];
    return Array.isArray(content) ? content : [content];
  });

/** What a vector speaks of. */
function view(message: Message, want: Partial<Message>): Partial<Message> {
  const all: Partial<Message> = {
    status: message.status,
    seq: message.seq,
    blocks: message.blocks,
  };
  for (const key of ["finishReason", "error", "usage", "reasoning"] as const) {
    if (key in want) Object.assign(all, { [key]: message[key] });
  }
  return JSON.parse(JSON.stringify(all)) as Partial<Message>;
}

const first = (v: Vector) => emptyMessage(v.events.find((e) => e.msgId)?.msgId ?? "m_1");

describe(`the server's vectors (${vectors.length})`, () => {
  test("there are some", () => expect(vectors.length).toBeGreaterThan(0));

  test.each(vectors)("$name", (v) => {
    expect(view(reduceAll(first(v), v.events), v.want)).toEqual(v.want);
  });

  test.each(vectors)("$name, every event twice", (v) => {
    const twice = v.events.flatMap((e) => [e, structuredClone(e)]);
    expect(view(reduceAll(first(v), twice), v.want)).toEqual(v.want);
  });

  test.each(vectors)("$name, cut and replayed from the start at every place", (v) => {
    for (let cut = 0; cut <= v.events.length; cut++) {
      const replay = [...v.events.slice(0, cut), ...v.events];
      expect(view(reduceAll(first(v), replay), v.want), `cut at ${cut}`).toEqual(v.want);
    }
  });
});

describe("reduce", () => {
  test("folds a turn", () => {
    const m = reduceAll(emptyMessage("m_1"), turn);
    expect(m).toMatchObject({
      conversationId: "c_1",
      parentId: "m_0",
      status: "done",
      finishReason: "stop",
      seq: 10,
      createdAt: "2023-11-14T22:13:20.000Z",
      usage: { inputTokens: 5, outputTokens: 7 },
    });
    expect(m.blocks.map((b) => [b.id, b.type, b.status, b.payload])).toEqual([
      ["b_1", "text", "done", "East leads 🎉."],
      ["b_2", "chart", "done", { rows: [1, 2] }],
      ["b_3", "text", "done", "More?"],
    ]);
    expect(m.blocks[1]).toMatchObject({
      fallback: "Sales: 1, 2",
      meta: { title: "Sales" },
      rev: 1,
    });
  });

  test("an event touches only its own block, and nothing in place", () => {
    const before = Object.freeze(reduceAll(emptyMessage("m_1"), turn.slice(0, 3)));
    const blocks = Object.freeze(before.blocks);
    const after = reduce(before, turn[3] as Envelope);
    expect(after).not.toBe(before);
    expect(after.blocks[1]).toBe(blocks[1]);
    expect(after.blocks[0]).not.toBe(blocks[0]);
    expect(blocks[0]?.payload).toBe("East ");
  });

  test("a known event returns the very same message", () => {
    const m = reduceAll(emptyMessage("m_1"), turn);
    for (const e of turn) expect(reduce(m, e)).toBe(m);
  });

  test("another message's events are ignored", () => {
    const m = reduceAll(emptyMessage("m_1"), turn.slice(0, 3));
    expect(reduce(m, { ...(turn[3] as Envelope), msgId: "m_2" })).toBe(m);
  });

  test("unknown events advance the number and change nothing else", () => {
    const m = reduceAll(emptyMessage("m_1"), turn.slice(0, 3));
    const next = reduce(m, { ...event(9, "text_end", {}), event: "later" } as unknown as Envelope);
    expect(next).toEqual({ ...m, seq: 9 });
    expect(next.blocks).toBe(m.blocks);
  });

  test("a refresh that fails gives the old data back, deltas notwithstanding", () => {
    const done = reduceAll(emptyMessage("m_1"), turn);
    const refreshing = reduceAll(done, [
      event(11, "block_start", { type: "chart", version: 1, meta: { title: "New" } }, "b_2", 2),
      event(12, "block_delta", { patch: [{ op: "replace", path: "", value: {} }] }, "b_2", 2),
    ]);
    expect(refreshing.blocks[1]).toMatchObject({ status: "loading", payload: {} });
    const failed = reduceAll(refreshing, [
      event(
        13,
        "block_error",
        { code: "TOOL_TIMEOUT", message: "slow", retryable: true },
        "b_2",
        2,
      ),
      event(14, "done", { finishReason: "stop" }, undefined, 2),
    ]);
    expect(failed.blocks[1]).toEqual({
      ...done.blocks[1],
      error: { code: "TOOL_TIMEOUT", message: "slow", retryable: true },
    });
    expect(failed).toMatchObject({ status: "done", finishReason: "stop", usage: done.usage });
  });

  test("the same for a message that was loaded during the refresh", () => {
    const done = reduceAll(emptyMessage("m_1"), turn);
    const loading = reduce(done, event(11, "block_start", { type: "chart", version: 1 }, "b_2", 2));
    const { before: _, ...stored } = loading;
    const failed = reduce(
      adopt(stored),
      event(12, "error", { code: "internal", message: "", retryable: true }, undefined, 2),
    );
    expect(failed.blocks[1]).toMatchObject({
      status: "done",
      payload: { rows: [1, 2] },
      error: { code: "INTERRUPTED" },
    });
    expect(failed.status).toBe("done");
  });

  test("no block is left loading, no tool running", () => {
    const m = reduceAll(emptyMessage("m_1"), [
      event(1, "tool_call_start", { toolCallId: "t1", name: "sales", title: "Sales" }),
      event(2, "block_start", { type: "chart", version: 1 }, "b_1"),
      event(3, "text_delta", { delta: "so" }, "b_2"),
      event(4, "sub_tool_start", { toolCallId: "t2", name: "inner" }),
      event(5, "sub_tool_end", { toolCallId: "t2", name: "inner", status: "ok", durationMs: 4 }),
      event(6, "done", { finishReason: "cancelled" }),
    ]);
    expect(m.status).toBe("cancelled");
    expect(m.blocks.map((b) => [b.status, b.error?.code, b.payload])).toEqual([
      ["error", "INTERRUPTED", undefined],
      ["error", "INTERRUPTED", "so"],
    ]);
    expect(m.tools).toEqual([
      { id: "t1", name: "sales", title: "Sales", status: "cancelled" },
      { id: "t2", name: "inner", status: "ok", durationMs: 4, sub: true },
    ]);
  });

  test("a snapshot takes the place of all before it", () => {
    const cut = reduceAll(emptyMessage("m_1"), turn.slice(0, 2));
    const blocks = reduceAll(emptyMessage("m_1"), turn.slice(0, 7)).blocks;
    const m = reduceAll(cut, [
      event(7, "snapshot", { blocks, seq: 7, status: "running" }),
      ...turn,
    ]);
    const whole = reduceAll(emptyMessage("m_1"), turn);
    expect(m.blocks).toEqual(whole.blocks);
    expect(m.seq).toBe(10);
  });

  test("a long text costs its length, not its square", () => {
    let m = emptyMessage("m_1");
    const begin = performance.now();
    for (let i = 1; i <= 100_000; i++)
      m = reduce(m, event(i, "text_delta", { delta: "ab" }, "b_1"));
    expect(String(m.blocks[0]?.payload)).toHaveLength(200_000);
    expect(performance.now() - begin).toBeLessThan(3_000);
  });
});
