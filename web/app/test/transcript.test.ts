// @vitest-environment node
import { describe, expect, it } from "vitest";
import {
  branchOf,
  lastUserMessage,
  messageMarkdown,
  pendingBlock,
  userText,
} from "../src/transcript.ts";
import { block, message } from "./samples.ts";

describe("messageMarkdown", () => {
  it("joins text as written with the fallbacks of other blocks", () => {
    const text = messageMarkdown(
      message({
        blocks: [
          block({ payload: "Here is **Q3**:\n" }),
          block({
            id: "b2",
            type: "chart",
            payload: {},
            meta: { title: "Q3 sales" },
            fallback: "| Region | Sales |\n| --- | --- |\n| North | 12 |",
          }),
          block({
            id: "b3",
            type: "metric",
            fallback: "Q3 total: 12",
            meta: { title: "Q3 total" },
          }),
          block({ id: "b4", type: "table", status: "loading", payload: undefined }),
        ],
      }),
    );
    expect(text).toBe(
      "Here is **Q3**:\n\n**Q3 sales**\n\n| Region | Sales |\n| --- | --- |\n| North | 12 |\n\nQ3 total: 12",
    );
  });
});

describe("userText", () => {
  it("is the text as it was sent", () => {
    expect(userText(message({ role: "user", blocks: [block({ payload: " a\n b " })] }))).toBe(
      " a\n b ",
    );
  });
});

describe("lastUserMessage", () => {
  it("finds the last one", () => {
    const messages = [
      message({ id: "u1", role: "user" }),
      message({ id: "a1" }),
      message({ id: "u2", role: "user" }),
      message({ id: "a2" }),
    ];
    expect(lastUserMessage(messages)?.id).toBe("u2");
    expect(lastUserMessage([])).toBeNull();
  });
});

describe("branchOf", () => {
  it("knows the neighbours of a version", () => {
    const siblings = ["m1", "m2", "m3"];
    expect(branchOf(message({ siblings: ["m1"] }))).toBeNull();
    expect(branchOf(message({ id: "m1", siblings }))).toEqual({
      index: 0,
      total: 3,
      previous: null,
      next: "m2",
    });
    expect(branchOf(message({ id: "m3", siblings }))).toEqual({
      index: 2,
      total: 3,
      previous: "m2",
      next: null,
    });
  });
});

describe("pendingBlock", () => {
  const asks = block({ id: "b2", type: "confirm" });
  const paused = message({ status: "paused", blocks: [block(), asks, block({ id: "b3" })] });

  it("is what the last answer asks while it waits", () => {
    expect(pendingBlock([paused])?.id).toBe("b2");
    expect(pendingBlock([paused, message({ id: "m2", role: "user" })])?.id).toBe("b2");
    expect(pendingBlock([paused, message({ id: "m2" })])).toBeNull();
    expect(pendingBlock([{ ...paused, status: "done" }])).toBeNull();
    expect(pendingBlock([])).toBeNull();
  });

  it("is not what was answered", () => {
    const first = { ...asks, state: { status: "answered", locked: true } };
    const blocks = [first, block({ id: "b4", type: "question" })];
    expect(pendingBlock([{ ...paused, blocks }])?.id).toBe("b4");
    expect(pendingBlock([{ ...paused, blocks: [first] }])).toBeNull();
    expect(pendingBlock([{ ...paused, blocks: [] }])).toBeNull();
  });
});
