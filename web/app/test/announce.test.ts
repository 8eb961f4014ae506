// @vitest-environment node
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Announcer, announcements } from "../src/announce.ts";
import { translator } from "../src/i18n/index.ts";
import { block, message } from "./samples.ts";

const t = translator("en");

describe("announcements", () => {
  it("says when an answer begins, what is ready and that it is complete, but no text", () => {
    const states = [
      [],
      [message({ status: "running", blocks: [] })],
      [message({ status: "running", blocks: [block({ payload: "Sal", status: "loading" })] })],
      [message({ status: "running", blocks: [block({ payload: "Sales", status: "loading" })] })],
      [
        message({
          status: "running",
          blocks: [
            block(),
            block({
              id: "b2",
              type: "chart",
              status: "loading",
              payload: undefined,
              meta: { title: "Q3 sales" },
            }),
          ],
        }),
      ],
      [
        message({
          status: "running",
          blocks: [
            block(),
            block({ id: "b2", type: "chart", payload: {}, meta: { title: "Q3 sales" } }),
          ],
        }),
      ],
      [
        message({
          status: "done",
          blocks: [
            block(),
            block({ id: "b2", type: "chart", payload: {}, meta: { title: "Q3 sales" } }),
          ],
        }),
      ],
    ];
    const said: string[] = [];
    for (let i = 1; i < states.length; i++) {
      said.push(...announcements(states[i - 1] ?? [], states[i] ?? [], t));
    }
    expect(said).toEqual(["Answering", "Chart ready: Q3 sales", "Answer complete"]);
  });

  it("is silent about history and about the reader's own messages", () => {
    expect(announcements([], [message({ role: "user" }), message({ id: "m2" })], t)).toEqual([]);
  });

  it("says that an answer is complete when it is, and of what comes then only what it is", () => {
    const suggestion = block({
      id: "b2",
      type: "minara.feature_recommendation",
      payload: { items: [{ label: "Deposit now" }, { label: "See prices" }, null] },
    });
    const running = message({ status: "running" });
    const states = [
      [running],
      [{ ...running, answered: true }],
      [{ ...running, answered: true, blocks: [block(), suggestion] }],
      [message({ blocks: [block(), suggestion] })],
    ];
    const said = states.slice(1).map((now, i) => announcements(states[i] ?? [], now, t));
    expect(said).toEqual([["Answer complete"], ["Suggested next: Deposit now, See prices"], []]);
  });

  it("says that an answer goes on, or failed, after it seemed complete", () => {
    const running = message({ status: "running" });
    const complete = { ...running, answered: true };
    expect(announcements([complete], [running], t)).toEqual(["Answering"]);
    const failed = message({ status: "error" });
    expect(announcements([complete], [failed], t)).toHaveLength(1);
  });

  it("says that a running answer goes on after a reload", () => {
    expect(announcements([], [message({ status: "running" })], t)).toEqual(["Answering"]);
  });

  it.each([
    ["cancelled", "Answer stopped"],
    ["paused", "The assistant is waiting for your reply"],
  ] as const)("words %s", (status, text) => {
    expect(announcements([message({ status: "running" })], [message({ status })], t)).toEqual([
      text,
    ]);
  });

  it("gives the reason of a failure in words, not the server's message", () => {
    const failed = message({
      status: "error",
      error: { code: "model_timeout", message: "context deadline exceeded", retryable: true },
    });
    expect(announcements([message({ status: "running" })], [failed], t)).toEqual([
      "The answer failed. The model service did not answer in time.",
    ]);
  });

  it("announces blocks of a retry, by the title of the payload if need be, and failures", () => {
    const loading = block({ id: "b2", type: "table", status: "loading", payload: undefined });
    const ready = block({ id: "b2", type: "table", payload: { title: "Orders" } });
    const failed = block({ id: "b2", type: "table", status: "error", payload: undefined });
    const before = [message({ blocks: [loading] })];
    expect(announcements(before, [message({ blocks: [ready] })], t)).toEqual([
      "Table ready: Orders",
    ]);
    expect(announcements(before, [message({ blocks: [failed] })], t)).toEqual([
      "Could not be shown: untitled",
    ]);
  });

  it("speaks Chinese", () => {
    expect(announcements([message({ status: "running" })], [message()], translator("zh"))).toEqual([
      "回答完成",
    ]);
  });
});

describe("Announcer", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("leaves time between texts and repeats none", () => {
    const shown: string[] = [];
    const announcer = new Announcer((text) => shown.push(text), 500);
    announcer.say("a");
    announcer.say("a");
    announcer.say("b");
    announcer.say("b");
    expect(shown).toEqual(["a"]);
    vi.advanceTimersByTime(499);
    expect(shown).toEqual(["a"]);
    vi.advanceTimersByTime(1);
    expect(shown).toEqual(["a", "b"]);
    vi.advanceTimersByTime(2000);
    announcer.say("b");
    expect(shown).toEqual(["a", "b", "b"]);
  });

  it("forgets what was not said when cleared", () => {
    const shown: string[] = [];
    const announcer = new Announcer((text) => shown.push(text), 500);
    announcer.say("a");
    announcer.say("b");
    announcer.clear();
    vi.advanceTimersByTime(2000);
    expect(shown).toEqual(["a"]);
  });
});
