import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Action, type Block, InlayClient } from "@inlay-ui/client";
import { act, cleanup, fireEvent, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { BlockView, useChat } from "../src/index.ts";
import { show } from "./help.tsx";
import { FakeServer, refuse } from "./server.ts";

let server: FakeServer;
let message: string;

beforeEach(() => {
  server = new FakeServer();
  message = server.seed("Refund it", "One moment.").assistant;
});
afterEach(() => {
  cleanup();
  localStorage.clear();
  vi.restoreAllMocks();
});

const buttons = (...ids: string[]): Action[] =>
  ids.map((id) => ({ id, label: `do ${id}`, kind: "api" }));

function give(type: string, payload: object, actions: Action[], state?: object) {
  server.again(message);
  server.emit(message, "block_end", { type, version: 1, payload, actions, state }, "b_ask");
  server.emit(message, "done", { finishReason: "stop" });
}

function Chat() {
  const { messages } = useChat({ conversationId: "c_1" });
  return messages.flatMap((m) =>
    m.blocks.map((b) => <BlockView key={b.id} block={b} messageId={m.id} />),
  );
}

async function open(ready = ".inlay-ask") {
  const client = new InlayClient({ fetch: server.fetch });
  const shown = show(<Chat />, { client, lang: "en-GB" });
  await waitFor(() => expect(document.querySelector(ready)).not.toBeNull());
  return shown;
}
const press = (name: string | RegExp) =>
  act(async () => fireEvent.click(screen.getByRole("button", { name })));

/** The paused turn goes on: the answer is in its log. */
const goesOn = (state: object) =>
  server.instead.push({
    match: "POST /v1/chat/actions",
    answer: () => {
      server.again(message);
      server.emit(message, "block_state", { state, rev: 2 }, "b_ask");
      server.emit(message, "text_delta", { delta: "It is done." }, "b_after");
      server.emit(message, "text_end", {}, "b_after");
      server.emit(message, "done", { finishReason: "stop" });
      return Response.json(
        { status: "accepted", msgId: message, conversationId: "c_1", afterSeq: 6 },
        { status: 202 },
      );
    },
  });

const refund = {
  prompt: "Refund the order?",
  detail: "The customer **asked** for it.",
  severity: "warning",
  args: { orderId: "o-1", amount: 20.5, notify: true, lines: [{ sku: "a" }] },
};

describe("a confirmation", () => {
  test("shows exactly what would be done, and is approved", async () => {
    give("confirm", refund, buttons("approve", "reject"));
    await open();
    const group = screen.getByRole("group", { name: "Refund the order?" });
    expect(group.textContent).toContain("Please check carefully");
    expect(group.querySelector("strong")?.textContent).toBe("asked");
    const values = Array.from(group.querySelectorAll(".inlay-args > dl > .inlay-value"));
    expect(values.map((v) => v.textContent)).toEqual([
      "orderIdo-1",
      "amount20.5",
      "notifyYes",
      "linesskua",
    ]);
    goesOn({ status: "answered", locked: true, answer: "approve", at: 1 });
    await press("do approve");
    expect(await screen.findByText("Approved")).toBeTruthy();
    expect(await screen.findByText("It is done.")).toBeTruthy();
    expect(server.actions[0]).toMatchObject({ actionId: "approve", payload: {}, rev: 1 });
    expect(screen.queryByRole("button", { name: /do/ })).toBeNull();
    expect(screen.getByText("o-1"), "what was approved stays to be read").toBeTruthy();
  });

  test("is rejected, with a reason or without", async () => {
    give("confirm", refund, buttons("approve", "reject"));
    await open();
    await press("do reject");
    expect(server.actions, "it is not sent yet").toHaveLength(0);
    const reason = screen.getByLabelText<HTMLInputElement>("Reason (optional)");
    expect(document.activeElement).toBe(reason);
    expect(screen.getByText("o-1"), "what it is about stays to be read").toBeTruthy();
    await press("Back");
    expect(document.activeElement?.textContent).toBe("do reject");
    await press("do reject");
    const again = screen.getByLabelText<HTMLInputElement>("Reason (optional)");
    await act(async () => void fireEvent.change(again, { target: { value: " Too late. " } }));
    server.instead.push({
      match: "POST /v1/chat/actions",
      answer: () => refuse(409, "not_paused"),
    });
    await press("do reject");
    expect(await screen.findByText("This is not asked any more.")).toBeTruthy();
    expect(again.value, "it can be tried again").toBe(" Too late. ");
    await act(async () => void fireEvent.change(again, { target: { value: " " } }));
    goesOn({ status: "answered", locked: true, answer: "reject", at: 1 });
    await press("do reject");
    expect(await screen.findByText(/Rejected/)).toBeTruthy();
    expect(server.actions.map((a) => [a.actionId, a.payload])).toEqual([
      ["reject", { reason: "Too late." }],
      ["reject", {}],
    ]);
  });

  test("is approved with changes", async () => {
    const schema = {
      type: "object",
      required: ["amount"],
      properties: {
        orderId: { type: "string", title: "Order" },
        amount: { type: "number", title: "Amount", maximum: 30 },
      },
    };
    give(
      "confirm",
      { prompt: "Refund?", args: { orderId: "o-1", amount: 20 }, schema },
      buttons("approve", "reject", "edit"),
    );
    await open();
    expect(screen.getByText("Order")).toBeTruthy();
    await press("do edit");
    const amount = await screen.findByLabelText(/Amount/);
    await act(async () => void fireEvent.change(amount, { target: { value: "40" } }));
    await press("Approve as changed");
    expect(await screen.findByText("Amount: Not more than 30.")).toBeTruthy();
    await act(async () => void fireEvent.change(amount, { target: { value: "12" } }));
    const values = { orderId: "o-1", amount: 12 };
    goesOn({ status: "answered", locked: true, answer: "edit", values, at: 1 });
    await press("Approve as changed");
    expect(await screen.findByText("Approved with changes")).toBeTruthy();
    expect(server.actions).toHaveLength(1);
    expect(server.actions[0]).toMatchObject({ actionId: "edit", payload: values });
    expect(screen.getByText("12")).toBeTruthy();
  });

  test("keeps changes over a reload, until they are given up or sent", async () => {
    const schema = {
      type: "object",
      properties: {
        amount: { type: "number", title: "Amount" },
        note: { type: "string", title: "Note" },
        code: { type: "string", title: "Code" },
      },
    };
    const uiSchema = { code: { "ui:widget": "password" } };
    const args = { amount: 20, note: "old" };
    give(
      "confirm",
      { prompt: "Refund?", args, schema, uiSchema },
      buttons("approve", "reject", "edit"),
    );
    const first = await open();
    await press("do edit");
    const amount = await screen.findByLabelText(/Amount/);
    first.unmount();
    expect(localStorage.length, "nothing was typed").toBe(0);
    const second = await open();
    await press("do edit");
    await act(
      async () =>
        void fireEvent.change(await screen.findByLabelText(/Amount/), { target: { value: "12" } }),
    );
    await act(
      async () => void fireEvent.change(screen.getByLabelText(/Note/), { target: { value: "" } }),
    );
    await act(
      async () =>
        void fireEvent.change(screen.getByLabelText(/Code/), { target: { value: "7788" } }),
    );
    expect(amount.isConnected).toBe(false);
    second.unmount();
    expect(JSON.stringify({ ...localStorage })).not.toContain("7788");
    const third = await open();
    const kept = await screen.findByLabelText<HTMLInputElement>(/Amount/);
    expect(kept.value).toBe("12");
    expect(screen.getByLabelText<HTMLInputElement>(/Note/).value, "taken out").toBe("");
    await press("Start over");
    expect(screen.getByLabelText<HTMLInputElement>(/Amount/).value).toBe("20");
    await act(
      async () =>
        void fireEvent.change(screen.getByLabelText(/Amount/), { target: { value: "13" } }),
    );
    await press("Back");
    expect(document.activeElement?.textContent).toBe("do edit");
    third.unmount();
    expect(localStorage.length, "given up").toBe(0);
    await open();
    await press("do edit");
    await act(
      async () =>
        void fireEvent.change(await screen.findByLabelText(/Amount/), { target: { value: "14" } }),
    );
    const values = { amount: 14, note: "old" };
    goesOn({ status: "answered", locked: true, answer: "edit", values, at: 1 });
    await press("Approve as changed");
    await screen.findByText("Approved with changes");
    expect(server.actions[0]?.payload).toEqual(values);
    expect(localStorage.length, "sent").toBe(0);
  });

  test("says how long it stands, and closes then", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"], shouldAdvanceTime: true });
    try {
      give("confirm", { ...refund, expiresAt: Date.now() + 90_000 }, buttons("approve"));
      await open();
      expect(screen.getByText(/Open until .*90 seconds left/)).toBeTruthy();
      for (let s = 0; s < 95; s++) await act(() => vi.advanceTimersByTimeAsync(1_000));
      expect(screen.getByText(/Nobody answered in time/)).toBeTruthy();
      expect(screen.queryByRole("button", { name: "do approve" })).toBeNull();
    } finally {
      vi.useRealTimers();
    }
  });

  test("that was answered elsewhere shows the answer", async () => {
    give("confirm", refund, buttons("approve", "reject"));
    await open();
    const state = { status: "answered", locked: true, answer: "reject", at: 1 };
    server.instead.push({
      match: "POST /v1/chat/actions",
      answer: () => refuse(409, "already_submitted", { block: { id: "b_ask", rev: 4, state } }),
    });
    await press("do approve");
    expect(await screen.findByText(/Rejected/)).toBeTruthy();
  });
});

describe("a question", () => {
  const options = [
    { id: "east", label: "East" },
    { id: "south", label: "South" },
  ];
  const answered = (values: object) => ({
    status: "answered",
    locked: true,
    answer: "answer",
    values,
    at: 1,
  });

  test("with a few short options is answered by one press", async () => {
    give("question", { prompt: "Which region?", options }, buttons("answer"));
    await open();
    goesOn(answered({ choices: ["south"] }));
    await press("South");
    expect(await screen.findByText("Answered")).toBeTruthy();
    expect(screen.getByRole("listitem").textContent).toBe("South");
    expect(server.actions[0]).toMatchObject({
      actionId: "answer",
      payload: { choices: ["south"] },
    });
  });

  test("with several answers and words of one's own", async () => {
    const payload = { prompt: "Which?", options, multiple: true, allowText: true };
    give("question", payload, buttons("answer"));
    await open();
    await press("do answer");
    expect(screen.getByRole("alert").textContent).toBe("Choose or write an answer.");
    await act(async () => fireEvent.click(screen.getByLabelText("South")));
    await act(async () => fireEvent.click(screen.getByLabelText("East")));
    const own = screen.getByLabelText("In your own words");
    await act(async () => void fireEvent.change(own, { target: { value: " and abroad " } }));
    goesOn(answered({ choices: ["east", "south"], text: "and abroad" }));
    await press("do answer");
    expect(await screen.findByText("and abroad")).toBeTruthy();
    expect(server.actions[0]?.payload).toEqual({ choices: ["east", "south"], text: "and abroad" });
  });

  test("with long options is answered by marking one", async () => {
    const long = options.map((o) => ({ ...o, description: "all about it" }));
    give("question", { prompt: "Which?", options: long }, buttons("answer"));
    await open();
    expect(screen.getAllByRole("radio")).toHaveLength(2);
    await act(async () => fireEvent.click(screen.getAllByRole("radio")[0] as HTMLElement));
    goesOn(answered({ choices: ["east"] }));
    await press("do answer");
    await waitFor(() => expect(server.actions[0]?.payload).toEqual({ choices: ["east"] }));
  });

  test("in words", async () => {
    give("question", { prompt: "What is it called?" }, buttons("answer"));
    await open();
    const field = screen.getByLabelText("Your answer");
    await act(async () => void fireEvent.change(field, { target: { value: "Q3" } }));
    server.instead.push({
      match: "POST /v1/chat/actions",
      answer: () => refuse(403, "action_forbidden"),
    });
    await press("do answer");
    expect((await screen.findByRole("alert")).textContent).toBe("You may not do this.");
    expect(screen.getByLabelText<HTMLTextAreaElement>("Your answer").value).toBe("Q3");
    goesOn(answered({ text: "Q3" }));
    await press("do answer");
    expect(await screen.findByText("Answered")).toBeTruthy();
    expect(server.actions[1]?.payload).toEqual({ text: "Q3" });
  });

  test("keeps what was chosen and written over a reload", async () => {
    const payload = { prompt: "Which?", options, multiple: true, allowText: true };
    give("question", payload, buttons("answer"));
    const { unmount } = await open();
    const own = () => screen.getByLabelText<HTMLTextAreaElement>("In your own words");
    const south = () => screen.getByLabelText<HTMLInputElement>("South");
    await act(async () => fireEvent.click(south()));
    await act(async () => void fireEvent.change(own(), { target: { value: "and abroad" } }));
    unmount();
    const second = await open();
    expect([south().checked, own().value]).toEqual([true, "and abroad"]);
    expect(screen.getByText(/entered before is kept/)).toBeTruthy();
    await press("Start over");
    expect([south().checked, own().value]).toEqual([false, ""]);
    expect(localStorage.length).toBe(0);
    await act(async () => fireEvent.click(south()));
    await act(async () => fireEvent.click(south()));
    second.unmount();
    expect(localStorage.length, "nothing is left of it").toBe(0);
    localStorage.setItem(
      "inlay:draft:b_ask",
      JSON.stringify({ at: 1, values: { choices: ["north", "east", 7], text: 7 } }),
    );
    await open();
    expect([south().checked, own().value], "what does not fit is left").toEqual([false, ""]);
    expect(screen.getByLabelText<HTMLInputElement>("East").checked).toBe(true);
    goesOn(answered({ choices: ["east"] }));
    await press("do answer");
    await screen.findByText("Answered");
    expect(server.actions[0]?.payload).toEqual({ choices: ["east"] });
    expect(localStorage.length).toBe(0);
  });

  test("keeps the fields of its form over a reload", async () => {
    const schema = { type: "object", properties: { n: { type: "integer", title: "Number" } } };
    give("question", { prompt: "How many?", schema }, buttons("answer"));
    const { unmount } = await open();
    const field = () => screen.findByLabelText<HTMLInputElement>("Number");
    const typed = await field();
    await act(async () => void fireEvent.change(typed, { target: { value: "3" } }));
    unmount();
    await open();
    expect((await field()).value).toBe("3");
    const state = answered({ n: 4 });
    server.instead.push({
      match: "POST /v1/chat/actions",
      answer: () => refuse(409, "already_submitted", { block: { id: "b_ask", rev: 4, state } }),
    });
    await press("do answer");
    await screen.findByText("Answered");
    expect(localStorage.length, "it was answered elsewhere").toBe(0);
  });

  test("by a form, with what the server finds wrong at its fields", async () => {
    const schema = { type: "object", properties: { n: { type: "integer", title: "Number" } } };
    give("question", { prompt: "How many?", schema }, buttons("answer"));
    await open();
    const field = await screen.findByLabelText("Number");
    await act(async () => void fireEvent.change(field, { target: { value: "3" } }));
    const violations = [{ path: "/n", message: "There are only two." }];
    server.instead.push({
      match: "POST /v1/chat/actions",
      answer: () => refuse(400, "action_payload_invalid", { violations }),
    });
    await press("do answer");
    expect(await screen.findAllByText("There are only two.")).toHaveLength(2);
    await act(async () => void fireEvent.change(field, { target: { value: "2" } }));
    goesOn(answered({ n: 2 }));
    await press("do answer");
    await waitFor(() => expect(server.actions[1]?.payload).toEqual({ n: 2 }));
  });
});

describe("a query", () => {
  const payload = {
    lang: "sql",
    statement: "SELECT 1",
    dataSource: "orders",
    timeRange: { from: "now-1h", to: "now" },
  };
  const range = { type: "object", properties: { timeRange: { type: "object" } } };
  const run: Action = {
    id: "run",
    label: "Run it",
    kind: "api",
    action: "run_query",
    inputSchema: range,
  };
  const open_: Action = {
    id: "open",
    label: "Open in logs",
    kind: "link",
    href: "https://logs.example.com/x",
  };
  const copy: Action = { id: "copy", label: "Copy it", kind: "local" };
  const done = () => {
    server.again(message);
    server.emit(
      message,
      "block_end",
      { type: "code", version: 1, payload: { lang: "text", source: "one row" } },
      "b_result",
    );
    server.emit(message, "done", { finishReason: "stop" });
    return Response.json({
      status: "done",
      msgId: message,
      conversationId: "c_1",
      afterSeq: 6,
      block: { id: "b_ask", rev: 1 },
    });
  };

  test("is run for its own time, and the result comes after it", async () => {
    give("query", payload, [copy, run, open_]);
    await open(".inlay-code-framed");
    expect(screen.getByText("orders")).toBeTruthy();
    expect(screen.getByRole("button", { name: "Copy it" })).toBeTruthy();
    expect(screen.getByRole("button", { name: "Open in logs" })).toBeTruthy();
    let answer = () => {};
    server.instead.push({
      match: "POST /v1/chat/actions",
      answer: () =>
        new Promise((resolve) => {
          answer = () => resolve(done());
        }),
    });
    await press("Run it");
    expect(screen.getByRole("button", { name: "Running…" })).toBeTruthy();
    await act(async () => answer());
    expect(await screen.findByText("one row")).toBeTruthy();
    const ids = Array.from(document.querySelectorAll<HTMLElement>("[data-block-id]"));
    expect(ids.map((e) => e.dataset.blockId).slice(-2)).toEqual(["b_ask", "b_result"]);
    expect(server.actions[0]).toMatchObject({ actionId: "run", payload: {} });
    expect(screen.getByRole("button", { name: "Run it" })).toBeTruthy();
  });

  test("is run for another time", async () => {
    give("query", payload, [run]);
    await open(".inlay-code-framed");
    const chooser = screen.getByLabelText<HTMLSelectElement>("Time range");
    expect(chooser.selectedOptions[0]?.textContent).toBe("Last 1 hour");
    await act(async () => void fireEvent.change(chooser, { target: { value: "7d" } }));
    server.instead.push({ match: "POST /v1/chat/actions", answer: done });
    await press("Run it");
    await screen.findByText("one row");
    await act(async () => void fireEvent.change(chooser, { target: { value: "custom" } }));
    const [from, to] = ["From", "To"].map((label) => screen.getByLabelText(label));
    await act(async () => {
      fireEvent.change(from as HTMLElement, { target: { value: "2026-07-01T00:00" } });
    });
    await act(async () => {
      fireEvent.change(to as HTMLElement, { target: { value: "2026-07-02T00:00" } });
    });
    server.instead.push({
      match: "POST /v1/chat/actions",
      answer: () =>
        Response.json(
          {
            error: {
              code: "action_failed",
              message: "The time range is longer than 12 h.",
              retryable: false,
            },
          },
          { status: 502 },
        ),
    });
    await press("Run it");
    expect(await screen.findByText("The time range is longer than 12 h.")).toBeTruthy();
    expect(server.actions.map((a) => a.payload)).toEqual([
      { timeRange: { from: "now-7d", to: "now" } },
      {
        timeRange: {
          from: new Date(2026, 6, 1).toISOString().replace(".000Z", "Z"),
          to: new Date(2026, 6, 2).toISOString().replace(".000Z", "Z"),
        },
      },
    ]);
  });

  const ruled = (note: object): Action => ({
    ...run,
    inputSchema: { type: "object", properties: { timeRange: { type: "object", ...note } } },
  });
  const offered = () =>
    Array.from(screen.getByLabelText<HTMLSelectElement>("Time range").options, (o) => o.value);

  test("offers only times that its source allows", async () => {
    give("query", payload, [ruled({ "x-max-range": "12h", "x-default-range": "1h" })]);
    await open(".inlay-code-framed");
    expect(offered()).toEqual(["", "15m", "6h", "12h", "custom"]);
    const chooser = screen.getByLabelText<HTMLSelectElement>("Time range");
    await act(async () => void fireEvent.change(chooser, { target: { value: "custom" } }));
    const set = (label: string, value: string) =>
      act(async () => void fireEvent.change(screen.getByLabelText(label), { target: { value } }));
    const off = () =>
      screen.getByRole("button", { name: "Run it" }).getAttribute("aria-disabled") === "true";
    expect(off(), "the last hour, to begin with").toBe(false);
    await set("From", "2026-07-01T00:00");
    await set("To", "2026-07-01T12:01");
    expect(screen.getByRole("alert").textContent).toBe("At most 12 hours.");
    expect(off()).toBe(true);
    await press("Run it");
    await set("To", "2026-06-30T12:00");
    expect(screen.getByRole("alert").textContent).toBe("The end is before the beginning.");
    await set("To", "");
    expect(screen.getByRole("alert").textContent).toBe("Say when it begins and when it ends.");
    await press("Run it");
    expect(server.actions).toHaveLength(0);
    await set("To", "2026-07-01T12:00");
    expect(screen.queryByRole("alert")).toBeNull();
    server.instead.push({ match: "POST /v1/chat/actions", answer: done });
    await press("Run it");
    await screen.findByText("one row");
    expect(server.actions).toHaveLength(1);
  });

  test("says which time is taken when none is said", async () => {
    const { timeRange: _, ...bare } = payload;
    give("query", bare, [ruled({ "x-max-range": "10m", "x-default-range": "5m" })]);
    await open(".inlay-code-framed");
    expect(screen.getByLabelText<HTMLSelectElement>("Time range").selectedOptions[0]?.text).toBe(
      "Last 5 minutes",
    );
    expect(offered()).toEqual(["", "10m", "custom"]);
  });

  test("takes a note that it cannot read for none", async () => {
    give("query", payload, [ruled({ "x-max-range": 24, "x-default-range": "soon" })]);
    await open(".inlay-code-framed");
    expect(offered()).toEqual(["", "15m", "6h", "24h", "7d", "30d", "custom"]);
  });

  test("whose time cannot be changed only says it", async () => {
    give("query", payload, [{ ...run, inputSchema: undefined }]);
    await open(".inlay-code-framed");
    expect(screen.queryByLabelText("Time range")).toBeNull();
    expect(screen.getByText("Time range: Last 1 hour")).toBeTruthy();
  });
});

interface Samples {
  cases: { name: string; block: Block }[];
}

describe.each(["confirm", "question", "query"])("sample %s", (type) => {
  const file = join(import.meta.dirname, `../../../../testdata/gallery/${type}.json`);
  const { cases } = JSON.parse(readFileSync(file, "utf8")) as Samples;
  const drawn = cases.filter((c) => c.block.status === "done");

  test.each(drawn.map((c) => [c.name, c.block] as const))("%s", async (_, block) => {
    const failed = vi.spyOn(console, "error");
    const client = new InlayClient({ fetch: server.fetch });
    const { container } = show(<BlockView block={block} messageId="m_1" />, { client });
    await waitFor(() => expect(container.querySelector(".inlay-skeleton")).toBeNull());
    expect(container.textContent).not.toContain("could not be drawn");
    expect(failed).not.toHaveBeenCalled();
  });
});
