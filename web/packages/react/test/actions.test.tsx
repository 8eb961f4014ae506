import { type Action, type Block, InlayClient } from "@inlay-ui/client";
import { act, cleanup, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { BlockView, defineRenderer, useBlockActions, useChat } from "../src/index.ts";
import { show } from "./help.tsx";
import { FakeServer, refuse } from "./server.ts";

let server: FakeServer;
let message: string;

beforeEach(() => {
  server = new FakeServer();
  message = server.seed("Order?", "Here.").assistant;
});
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const card = defineRenderer({ type: "card", major: 1, component: () => <p>the card</p> });
const order: Action = {
  id: "order",
  label: "Order",
  kind: "api",
  style: "primary",
  params: { sku: "s-1" },
  feedback: { successText: "Ordered", failureToast: "Not ordered." },
};

/** Adds a block with actions to the message, before anyone reads it. */
function give(...actions: Action[]) {
  server.again(message);
  server.emit(message, "block_end", { type: "card", version: 1, payload: {}, actions }, "b_card");
  server.emit(message, "done", { finishReason: "stop" });
}

/** What the server does with the next action: the block's new state, in its answer and its log. */
function done(state: object, answer: object = {}) {
  return () => {
    server.again(message);
    server.emit(message, "block_state", { state, rev: 2 }, "b_card");
    server.emit(message, "done", { finishReason: "stop" });
    return Response.json({
      status: "done",
      msgId: message,
      conversationId: "c_1",
      block: { id: "b_card", rev: 2, state },
      ...answer,
    });
  };
}
const next = (answer: () => Response | Promise<Response>) =>
  server.instead.push({ match: "POST /v1/chat/actions", answer });

function Blocks() {
  const { messages, error } = useChat({ conversationId: "c_1" });
  return (
    <>
      {messages.flatMap((m) =>
        m.blocks.map((b) => <BlockView key={b.id} block={b} messageId={m.id} />),
      )}
      {error !== null && <p>chat error</p>}
    </>
  );
}

async function open(view = <Blocks />) {
  const client = new InlayClient({ fetch: server.fetch });
  const shown = show(view, { client, blocks: { card } });
  await screen.findAllByText("the card");
  return shown;
}
const button = <T extends HTMLElement>(name: string | RegExp = "Order") =>
  screen.getByRole<T>("button", { name });
const click = (name?: string | RegExp) => act(async () => fireEvent.click(button(name)));
const answer = (name: string) =>
  act(async () =>
    fireEvent.click(within(screen.getByRole("alertdialog")).getByRole("button", { name })),
  );

describe("an api action", () => {
  test("is sent once however often it is clicked, and says so while it runs", async () => {
    give(order);
    await open();
    let answerIt = () => {};
    next(
      () =>
        new Promise<Response>((resolve) => {
          answerIt = () =>
            resolve(done({ status: "done", locked: true, at: 1, text: "Order 7" })());
        }),
    );
    await click();
    const busy = button("Order…");
    expect(busy.getAttribute("aria-busy")).toBe("true");
    await click("Order…");
    await act(async () => answerIt());
    expect(await screen.findByText("Order 7")).toBeTruthy();
    expect(server.actions).toHaveLength(1);
    expect(server.actions[0]).toMatchObject({
      msgId: message,
      blockId: "b_card",
      actionId: "order",
      payload: { sku: "s-1" },
      rev: 1,
      idempotencyKey: expect.stringMatching(/^[0-9a-f]{32}$/),
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    expect(button<HTMLButtonElement>().disabled, "locked").toBe(true);
    expect(screen.getByText("Ordered").closest("[aria-live]")).not.toBeNull();
  });

  test("that changes nothing to be seen says that it went well on its own button", async () => {
    give(order);
    await open();
    const unchanged = () =>
      Response.json({
        status: "done",
        msgId: message,
        conversationId: "c_1",
        block: { id: "b_card", rev: 1 },
        feedback: order.feedback,
      });
    next(unchanged);
    await click();
    const said = await screen.findByRole("button", { name: "Ordered" });
    expect(said.dataset.said).toBe("true");
    expect(screen.queryByRole("button", { name: "Order" })).toBeNull();
    // It is read out, and no notice stands in the way.
    const heard = document.querySelector("[aria-live] .inlay-visually-hidden");
    expect(heard?.textContent).toBe("Ordered");
    expect(document.querySelector(".inlay-notice")).toBeNull();
    // It can be done again, as a click of its own.
    next(() => refuse(502, "action_failed", { feedback: { failureToast: "Sold out." } }));
    await click("Ordered");
    expect(await screen.findByText("Sold out.")).toBeTruthy();
    expect(server.actions).toHaveLength(2);
    expect(server.actions[0]?.idempotencyKey).not.toBe(server.actions[1]?.idempotencyKey);
  });

  test("says so again after a reload where its block remembers it", async () => {
    give(order);
    done({ status: "done", locked: true, actionId: "order" })();
    await open();
    expect(button<HTMLButtonElement>("Ordered").disabled).toBe(true);
  });

  test("of a kind that this client does not know is no button", async () => {
    give(order, { id: "beam", label: "Beam", kind: "beam" as Action["kind"] });
    await open();
    expect(button()).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Beam" })).toBeNull();
  });

  test("shows the new state at once, before the log has it", async () => {
    give(order);
    await open();
    next(() =>
      Response.json({
        status: "done",
        msgId: message,
        conversationId: "c_1",
        block: { id: "b_card", rev: 2, state: { status: "done", locked: true, text: "Order 7" } },
      }),
    );
    await click();
    expect(await screen.findByText("Order 7")).toBeTruthy();
  });

  test("that changes a block elsewhere is seen here", async () => {
    give(order);
    await open();
    await waitFor(() => expect(server.open("feed")).toBe(1));
    await act(async () => void done({ status: "done", locked: true, text: "Order 8" })());
    expect(await screen.findByText("Order 8")).toBeTruthy();
  });

  test("appends blocks that are read from the message", async () => {
    give({ ...order, feedback: undefined });
    await open();
    next(() => {
      server.again(message);
      server.emit(message, "block_end", { type: "card", version: 1, payload: {} }, "b_new");
      server.emit(message, "done", { finishReason: "stop" });
      return Response.json(
        { status: "accepted", msgId: message, conversationId: "c_1", afterSeq: 6 },
        { status: 202 },
      );
    });
    await click();
    await waitFor(() => expect(screen.getAllByText("the card")).toHaveLength(2));
  });

  test.each([
    ["done", true],
    ["failed", false],
  ])("that goes on in the message is told as well done only once it is: %s", async (end, well) => {
    give(order);
    await open();
    next(() => {
      const state = { status: "submitting", locked: true };
      server.again(message);
      server.emit(message, "block_state", { state, rev: 2 }, "b_card");
      const block = { id: "b_card", rev: 2, state };
      return Response.json(
        { status: "accepted", msgId: message, conversationId: "c_1", afterSeq: 6, block },
        { status: 202 },
      );
    });
    await click();
    expect(await screen.findByText("Being sent…")).toBeTruthy();
    expect(screen.queryByText("Ordered"), "too early").toBeNull();
    await act(async () => {
      const state = { status: end, locked: well, text: `Order 7 ${end}` };
      server.emit(message, "block_state", { state, rev: 3 }, "b_card");
      server.emit(message, "done", { finishReason: "stop" });
    });
    expect(await screen.findByText(`Order 7 ${end}`)).toBeTruthy();
    if (well) expect(await screen.findByText("Ordered")).toBeTruthy();
    else expect(screen.queryByText("Ordered")).toBeNull();
  });

  test("that failed says why in its author's words, and can be done again", async () => {
    give(order);
    await open();
    next(() => refuse(502, "action_failed", { feedback: { failureToast: "Sold out." } }));
    await click();
    expect(await screen.findByText("Sold out.")).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Try again" }), "final").toBeNull();
    expect(screen.queryByText("chat error")).toBeNull();
    next(done({ status: "done", locked: true }));
    await click();
    await waitFor(() => expect(server.actions).toHaveLength(2));
    expect(server.actions[0]?.idempotencyKey).not.toBe(server.actions[1]?.idempotencyKey);
  });

  test("without a network can be sent again under the key that it had", async () => {
    give(order);
    await open();
    vi.spyOn(navigator, "onLine", "get").mockReturnValue(false);
    await click();
    expect(await screen.findByText(/Not ordered. You are offline/)).toBeTruthy();
    expect(server.actions).toHaveLength(0);
    vi.spyOn(navigator, "onLine", "get").mockReturnValue(true);
    next(() => Promise.reject(new TypeError("Failed to fetch")));
    next(done({ status: "done", locked: true, text: "Order 9" }));
    await click("Try again");
    expect(await screen.findByText("Order 9")).toBeTruthy();
    expect(new Set(server.actions.map((a) => a.idempotencyKey)).size).toBe(1);
  });

  test("that may have happened is said so, and not offered again", async () => {
    give(order);
    await open();
    next(done({ status: "unknown", locked: true }, { status: "unknown" }));
    await click();
    expect(await screen.findByText(/check before you do it again/)).toBeTruthy();
    expect(button<HTMLButtonElement>().disabled).toBe(true);
  });

  test("on a block that was acted on elsewhere shows what became of it", async () => {
    give(order);
    await open();
    const state = { status: "done", locked: true, text: "Order 5" };
    next(() => refuse(409, "already_submitted", { block: { id: "b_card", rev: 4, state } }));
    await click();
    expect(await screen.findByText("Order 5")).toBeTruthy();
    expect(screen.getByText(/This was done already/)).toBeTruthy();
    expect(button<HTMLButtonElement>().disabled).toBe(true);
  });

  test("goes on when only the block's state was old, and stops when its content was", async () => {
    give(order);
    await open();
    const whole = { id: "b_card", type: "card", version: 1, status: "done", actions: [order] };
    const failed = { status: "failed", locked: false };
    next(() =>
      refuse(412, "stale_block", { block: { ...whole, payload: {}, rev: 3, state: failed } }),
    );
    next(() => refuse(412, "stale_block", { block: { ...whole, payload: { n: 2 }, rev: 5 } }));
    await click();
    expect(await screen.findByText(/has changed meanwhile/)).toBeTruthy();
    expect(server.actions.map((a) => a.rev)).toEqual([1, 3]);
  });
});

describe("a question before it", () => {
  test("by the client, with what the action says", async () => {
    give({ ...order, style: "danger", confirm: "Order for 20?" });
    await open();
    await click();
    const dialog = screen.getByRole("alertdialog", { name: "Order" });
    expect(dialog.textContent).toContain("Order for 20?");
    expect(document.activeElement?.textContent, "not the dangerous one").toBe("Cancel");
    await answer("Cancel");
    expect(screen.queryByRole("alertdialog")).toBeNull();
    expect(server.actions).toHaveLength(0);
    await click();
    next(done({ status: "done" }));
    await answer("Order");
    await waitFor(() => expect(server.actions).toHaveLength(1));
  });

  test("by the server, with its own text and its token", async () => {
    give(order);
    await open();
    const details = { confirmToken: "tok", expiresAt: 1, text: "Pay 20 to Sample Ltd?" };
    next(() => refuse(428, "confirmation_required", details));
    await click();
    expect((await screen.findByRole("alertdialog")).textContent).toContain("Pay 20 to Sample Ltd?");
    next(() =>
      refuse(428, "confirmation_required", { ...details, text: "Pay 21?", reason: "expired" }),
    );
    await answer("Order");
    expect((await screen.findByRole("alertdialog")).textContent).toContain("Pay 21?");
    next(done({ status: "done", text: "Order 7" }));
    await answer("Order");
    expect(await screen.findByText("Order 7")).toBeTruthy();
    expect(server.actions.map((a) => a.confirmToken)).toEqual([undefined, "tok", "tok"]);
    expect(new Set(server.actions.map((a) => a.idempotencyKey)).size).toBe(1);
  });

  test("is asked once when both ask the same", async () => {
    give({ ...order, confirm: "Pay 20?" });
    await open();
    next(() => refuse(428, "confirmation_required", { confirmToken: "tok", text: "Pay 20?" }));
    next(done({ status: "done", text: "Order 7" }));
    await click();
    await answer("Order");
    expect(await screen.findByText("Order 7")).toBeTruthy();
    expect(server.actions.map((a) => a.confirmToken)).toEqual([undefined, "tok"]);
  });
});

function List({ block, messageId }: { block: Block; messageId: string }) {
  const { find, run, standing } = useBlockActions(block, messageId);
  const buy = find("order");
  if (!buy) return null;
  return (
    <>
      <p>the card</p>
      {["a", "b"].map((sku) => (
        <button key={sku} type="button" onClick={() => void run(buy, { sku })}>
          {standing(buy, { sku }).busy ? `buying ${sku}` : `buy ${sku}`}
        </button>
      ))}
    </>
  );
}

const dialog = (name = "Order") => screen.findByRole("dialog", { name });
const submit = (box: HTMLElement, name = "Order") =>
  act(async () => fireEvent.click(within(box).getByRole("button", { name })));
const inputSchema = {
  type: "object",
  title: "Order of goods",
  required: ["sku", "count"],
  properties: {
    sku: { type: "string" },
    count: { $ref: "#/$defs/count" },
    note: { type: "string", title: "Note" },
  },
  $defs: { count: { type: "integer", title: "Count", minimum: 1 } },
};

describe("an action that needs values", () => {
  test("asks for them, and sends them with those that it has", async () => {
    give({ ...order, inputSchema });
    await open();
    await click();
    const box = await dialog();
    expect(server.actions).toHaveLength(0);
    const count = within(box).getByLabelText<HTMLInputElement>(/Count/);
    expect(document.activeElement).toBe(count);
    expect(within(box).queryByText("Order of goods")).toBeNull();
    expect(box.textContent, "what is given is not asked for").not.toContain("sku");
    await submit(box);
    expect(within(box).getByRole("alert").textContent).toContain("Fill this in.");
    expect(server.actions).toHaveLength(0);
    await act(async () => fireEvent.change(count, { target: { value: "3" } }));
    next(done({ status: "done", locked: true, text: "Order 7" }));
    await submit(box);
    expect(await screen.findByText("Order 7")).toBeTruthy();
    expect(screen.queryByRole("dialog")).toBeNull();
    expect(server.actions.map((a) => a.payload)).toEqual([{ sku: "s-1", count: 3 }]);
    expect(screen.getByText("Ordered")).toBeTruthy();
  });

  test("shows at its fields what the server does not take", async () => {
    give({ ...order, inputSchema });
    await open();
    await click();
    const box = await dialog();
    const count = within(box).getByLabelText<HTMLInputElement>(/Count/);
    await act(async () => fireEvent.change(count, { target: { value: "9" } }));
    const violations = [{ path: "/count", message: "Only 4 are left." }];
    next(() => refuse(400, "action_payload_invalid", { violations }));
    await submit(box);
    await waitFor(() => expect(count.getAttribute("aria-invalid")).toBe("true"));
    expect(within(box).getAllByText(/Only 4 are left/).length).toBeGreaterThan(0);
    expect(document.querySelector(".inlay-notice"), "told once").toBeNull();
    next(() => refuse(502, "action_failed", { feedback: { failureToast: "Sold out." } }));
    await act(async () => fireEvent.change(count, { target: { value: "4" } }));
    await submit(box);
    expect(await within(box).findByText("Sold out.")).toBeTruthy();
    next(done({ status: "done", text: "Order 8" }));
    await submit(box);
    expect(await screen.findByText("Order 8")).toBeTruthy();
    expect(server.actions.map((a) => (a.payload as { count: number }).count)).toEqual([9, 4, 4]);
    expect(new Set(server.actions.map((a) => a.idempotencyKey)).size, "a click, a key").toBe(3);
  });

  test("keeps the key of a click for all that is sent of it", async () => {
    give({ ...order, inputSchema });
    await open();
    await click();
    const box = await dialog();
    const count = within(box).getByLabelText<HTMLInputElement>(/Count/);
    await act(async () => fireEvent.change(count, { target: { value: "2" } }));
    vi.spyOn(navigator, "onLine", "get").mockReturnValue(false);
    await submit(box);
    expect(await within(box).findByText(/You are offline/)).toBeTruthy();
    vi.spyOn(navigator, "onLine", "get").mockReturnValue(true);
    next(() => Promise.reject(new TypeError("Failed to fetch")));
    next(() => refuse(428, "confirmation_required", { confirmToken: "tok", text: "Pay 20?" }));
    next(done({ status: "done", text: "Order 9" }));
    await submit(box);
    await screen.findByRole("alertdialog");
    await answer("Order");
    expect(await screen.findByText("Order 9")).toBeTruthy();
    expect(server.actions).toHaveLength(3);
    expect(new Set(server.actions.map((a) => a.idempotencyKey)).size).toBe(1);
  });

  test("is left alone when the dialog is closed, and asked for again at the next click", async () => {
    give({ ...order, inputSchema });
    await open();
    await click();
    await submit(await dialog(), "Cancel");
    expect(screen.queryByRole("dialog")).toBeNull();
    expect(server.actions).toHaveLength(0);
    await click();
    const box = await dialog();
    const count = within(box).getByLabelText<HTMLInputElement>(/Count/);
    await act(async () => fireEvent.change(count, { target: { value: "2" } }));
    let answerIt = (_: Response) => {};
    next(() => new Promise<Response>((resolve) => (answerIt = resolve)));
    await submit(box);
    await submit(box, "Order…");
    await submit(box, "Cancel");
    await act(async () => answerIt(refuse(403, "action_forbidden")));
    expect(await screen.findByText(/Not ordered. You may not do this/)).toBeTruthy();
    expect(server.actions).toHaveLength(1);
  });

  test("is no button when it does not say what it needs", async () => {
    const required = ["other"];
    give(order, { ...order, id: "odd", label: "Odd", inputSchema: { ...inputSchema, required } });
    await open();
    expect(button()).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Odd" })).toBeNull();
  });

  test("is no button when what it needs is a place to go on from", async () => {
    const properties = { cursor: { type: "string" } };
    const more = { ...order, inputSchema: { type: "object", required: ["cursor"], properties } };
    server.again(message);
    const payload = { columns: [{ field: "a", label: "A" }], rows: [{ a: 1 }] };
    const table = { type: "table", version: 1, payload, actions: [more] };
    server.emit(message, "block_end", table, "b_table");
    server.emit(message, "done", { finishReason: "stop" });
    give({ ...order, id: "other", label: "Other" });
    await open();
    expect(button("Other")).toBeTruthy();
    await waitFor(() =>
      expect(document.querySelector("[data-block-id=b_table] table")).toBeTruthy(),
    );
    expect(screen.queryByRole("button", { name: "Order" })).toBeNull();
  });

  test("survives a schema that cannot be drawn", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const { count: _, ...properties } = inputSchema.properties;
    const broken = { ...properties, count: { allOf: 7, type: ["?"], items: { $ref: "x" } } };
    give({ ...order, inputSchema: { ...inputSchema, properties: broken } });
    await open();
    await click();
    await waitFor(() => expect(screen.getByRole("dialog")).toBeTruthy());
    await act(async () =>
      fireEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Close" })),
    );
    expect(screen.queryByRole("dialog")).toBeNull();
    expect(screen.getAllByText("the card")).toHaveLength(1);
  });

  test("may be a prompt, whose words it becomes", async () => {
    const ask: Action = {
      id: "ask",
      label: "Ask",
      kind: "prompt",
      prompt: "{{what}} of {{region}}?",
    };
    const properties = { what: { enum: ["Sales", "Costs"], title: "What" } };
    give(
      { ...ask, params: { region: "East" }, inputSchema: { type: "object", properties } },
      { ...ask, id: "bare", label: "Bare" },
    );
    await open();
    expect(screen.queryByRole("button", { name: "Bare" })).toBeNull();
    await click("Ask");
    const box = await dialog("Ask");
    await submit(box, "Ask");
    expect(server.actions, "what the text lacks is needed").toHaveLength(0);
    await act(async () =>
      fireEvent.change(within(box).getByLabelText(/What/), { target: { value: "1" } }),
    );
    await submit(box, "Ask");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(server.actions[0]).toMatchObject({
      actionId: "ask",
      payload: { region: "East", what: "Costs" },
    });
  });
});

describe("a renderer with buttons of its own", () => {
  test("runs the same action for several parts at a time", async () => {
    give(order);
    const list = defineRenderer({
      type: "card",
      major: 1,
      component: List,
      ownActions: () => ["order"],
    });
    const client = new InlayClient({ fetch: server.fetch });
    show(<Blocks />, { client, blocks: { card: list } });
    await screen.findByText("the card");
    expect(screen.queryByRole("button", { name: "Order" }), "offered by the renderer").toBeNull();
    const hang = () => new Promise<Response>(() => {});
    next(hang);
    next(hang);
    await click("buy a");
    expect(screen.getByText("buying a")).toBeTruthy();
    expect(screen.getByText("buy b")).toBeTruthy();
    await click("buy b");
    await click("buying a");
    expect(server.actions.map((a) => a.payload)).toEqual([{ sku: "a" }, { sku: "b" }]);
  });
});

test("a block that no chat shows can be acted on too", async () => {
  const client = new InlayClient({ fetch: server.fetch });
  const block: Block = {
    id: "b_x",
    type: "card",
    version: 1,
    status: "done",
    rev: 1,
    payload: {},
    actions: [order],
  };
  show(<BlockView block={block} messageId="m_x" />, { client, blocks: { card } });
  next(done({ status: "done" }));
  await click();
  expect(await screen.findByText("Ordered")).toBeTruthy();
  expect(server.actions[0]).toMatchObject({ msgId: "m_x", blockId: "b_x" });
});

test("the choice of an action is reported once, and no failure of the report is seen", async () => {
  vi.stubGlobal("open", vi.fn());
  const reported = vi.spyOn(InlayClient.prototype, "telemetry");
  give(
    order,
    { id: "fold", action: "expand", label: "Fold", kind: "local" },
    { id: "shop", label: "Shop", kind: "link", href: "https://shop.example.com/" },
  );
  await open();
  next(done({ status: "done", locked: true, at: 1 }));
  await click();
  await click("Fold");
  await click("Shop");
  expect(reported.mock.calls).toEqual([
    ["b_card", "order", "api"],
    ["b_card", "fold", "local"],
    ["b_card", "shop", "link"],
  ]);
  // This server knows nothing of reports.
  expect(server.calls.filter((call) => call === "POST /v1/telemetry/block-action")).toHaveLength(3);
  expect(screen.queryByText("chat error")).toBeNull();
});
