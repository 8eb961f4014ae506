import { type Action, type Block, InlayClient } from "@inlay-ui/client";
import { act, cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  type BlockProps,
  defineRenderer,
  ForeignBlock,
  InlayProvider,
  type More,
} from "../src/index.ts";
import { FakeServer, refuse } from "./server.ts";

let server: FakeServer;
let client: InlayClient;
let message: string;
let drawn: Block[];
let more: More[];

const order: Action = { id: "order", label: "Order", kind: "api", params: { sku: "s-1" } };
const ask: Action = { id: "ask", label: "Ask", kind: "prompt", prompt: "Tell me more" };

function Card({ block, payload }: BlockProps<{ label: string }>) {
  drawn.push(block);
  return <p>{`${payload.label} ${(block.state as { status?: string })?.status ?? "open"}`}</p>;
}
const card = defineRenderer<{ label: string }>({ type: "card", major: 1, component: Card });

beforeEach(() => {
  server = new FakeServer();
  client = new InlayClient({ fetch: server.fetch });
  drawn = [];
  more = [];
  message = server.seed("Order?", "Here.").assistant;
  write({ type: "card", version: 1, payload: { label: "first" }, actions: [order, ask] });
});
afterEach(cleanup);

/** Ends the block in a group of its own. */
function write(end: { type: string; version: number; payload?: unknown; actions?: Action[] }) {
  server.again(message);
  server.emit(message, "block_end", { ...end, fallback: "as text" }, "b_card");
  server.emit(message, "done", { finishReason: "stop" });
}

/** The block as the store of another client has it: a copy of its own. */
const copy = (change: Partial<Block> = {}): Block => {
  const block = server.message(message).blocks.find((b) => b.id === "b_card");
  return structuredClone({ ...(block as Block), ...change });
};

const view = (block: Block, extra: object = {}) => (
  <ForeignBlock
    block={block}
    messageId={message}
    client={client}
    blocks={{ card }}
    onMore={(m) => more.push(m)}
    {...extra}
  />
);
const click = (name: string) =>
  act(async () => fireEvent.click(screen.getByRole("button", { name })));

test("asks the server for nothing, and copies are not drawn again", () => {
  const block = copy();
  const shown = render(view(block));
  screen.getByText("first open");
  const times = drawn.length;
  shown.rerender(view(structuredClone(block)));
  shown.rerender(view(structuredClone(block)));
  expect(drawn.length).toBe(times);
  expect(server.calls).toEqual([]);
  shown.rerender(view(copy({ payload: { label: "second" } })));
  screen.getByText("second open");
});

test("the state after an action shows, until the store has a later one", async () => {
  const before = copy();
  const shown = render(view(before));
  server.instead.push({
    match: "POST /v1/chat/actions",
    answer: () => {
      server.again(message);
      server.emit(message, "block_state", { state: { status: "done" }, rev: 2 }, "b_card");
      server.emit(message, "done", { finishReason: "stop" });
      const block = { id: "b_card", rev: 2, state: { status: "done" } };
      return Response.json({ status: "done", msgId: message, conversationId: "c_1", block });
    },
  });
  await click("Order");
  await screen.findByText("first done");
  // The other store still has what it had, and may say so again.
  shown.rerender(view(structuredClone(before)));
  screen.getByText("first done");
  shown.rerender(view({ ...before, meta: { title: "Renamed" } }));
  screen.getByText("first done");
  expect(more).toEqual([]);
  shown.rerender(view(copy({ rev: 3, state: { status: "open" } })));
  screen.getByText("first open");
});

test("what goes on in the message is followed, and its store is told once", async () => {
  render(view(copy()));
  server.instead.push({
    match: "POST /v1/chat/actions",
    answer: () => {
      server.again(message);
      const block = { id: "b_card", rev: 2, state: { status: "submitting" } };
      server.emit(message, "block_state", block, "b_card");
      return Response.json(
        { status: "accepted", msgId: message, conversationId: "c_1", block },
        { status: 202 },
      );
    },
  });
  await click("Order");
  await screen.findByText("first submitting");
  expect(more).toEqual([{ messageId: message, conversationId: "c_1", inMessageId: message }]);
  await waitFor(() => expect(server.open(message)).toBe(1));
  server.emit(message, "text_delta", { delta: "Ordered." }, "b_text");
  server.emit(message, "text_end", {}, "b_text");
  server.emit(message, "block_state", { state: { status: "done" }, rev: 3 }, "b_card");
  server.emit(message, "done", { finishReason: "stop" });
  await screen.findByText("first done");
  expect(more).toHaveLength(1);
});

test("a block that an action adds is news for the store", async () => {
  render(view(copy()));
  server.instead.push({
    match: "POST /v1/chat/actions",
    answer: () => {
      server.again(message);
      const added = { type: "card", version: 1, payload: { label: "added" } };
      server.emit(message, "block_end", added, "b_other");
      server.emit(message, "done", { finishReason: "stop" });
      const block = { id: "b_card", rev: 1 };
      return Response.json({ status: "done", msgId: message, conversationId: "c_1", block });
    },
  });
  await click("Order");
  await waitFor(() =>
    expect(more).toEqual([{ messageId: message, conversationId: "c_1", inMessageId: message }]),
  );
});

test("a prompt is a turn of its own, which the store is told of", async () => {
  render(view(copy()));
  await click("Ask");
  await waitFor(() => expect(more).toHaveLength(1));
  expect(more[0]?.inMessageId).not.toBe(message);
  expect(server.actions[0]).toMatchObject({ msgId: message, blockId: "b_card", actionId: "ask" });
});

test("retry draws the block in place", async () => {
  server.again(message);
  server.emit(message, "block_start", { type: "card", version: 1 }, "b_card");
  const failure = { code: "timeout", message: "late", retryable: true };
  server.emit(message, "block_error", failure, "b_card");
  server.emit(message, "done", { finishReason: "stop" });
  // The stream said that it failed, whatever it was before.
  render(view(copy({ status: "error", error: failure })));
  await click("Try again");
  await waitFor(() => expect(server.open(message)).toBe(1));
  server.emit(message, "block_start", { type: "card", version: 1 }, "b_card");
  const end = { type: "card", version: 1, payload: { label: "again" } };
  server.emit(message, "block_end", end, "b_card");
  server.emit(message, "done", { finishReason: "stop" });
  await screen.findByText("again open");
  expect(more).toEqual([]);
});

test("a retry waits for the answer to be written", async () => {
  const running = server.ask("And now?");
  server.emit(running, "block_start", { type: "card", version: 1 }, "b_late");
  const failure = { code: "timeout", message: "late", retryable: true };
  server.emit(running, "block_error", failure, "b_late");
  message = running;
  render(
    view({
      ...copy(),
      id: "b_late",
      type: "card",
      version: 1,
      rev: 1,
      status: "error",
      error: failure,
    }),
  );
  await click("Try again");
  await waitFor(() => expect(server.open(running)).toBe(1));
  expect(server.calls.filter((c) => c.startsWith("POST"))).toEqual([]);
  server.emit(running, "text_delta", { delta: "That is all." }, "b_text");
  server.emit(running, "done", { finishReason: "stop" });
  await waitFor(() => expect(server.calls).toContain("POST /v1/chat/blocks/b_late/retry"));
  await waitFor(() => expect(server.open(running)).toBe(1));
  const end = { type: "card", version: 1, payload: { label: "again" } };
  server.emit(running, "block_end", end, "b_late");
  server.emit(running, "done", { finishReason: "stop" });
  await screen.findByText("again open");
  expect(more).toEqual([]);
});

test("a refusal is told, and the block stays as it is", async () => {
  render(view(copy()));
  server.instead.push({
    match: "POST /v1/chat/actions",
    answer: () => refuse(403, "forbidden"),
  });
  await click("Order");
  await screen.findByText(/forbidden/);
  screen.getByText("first open");
});

test("a cut block is read whole", async () => {
  const cut = copy({ payload: { label: "fir" } });
  render(view(cut, { cut: true }));
  await screen.findByText("first open");
  expect(server.calls).toEqual([`GET /v1/messages/${message}`]);
});

test("the provider above it draws it where nothing else is said", () => {
  render(
    <InlayProvider client={client} blocks={{ card }} lang="zh">
      <ForeignBlock block={copy({ version: 9 })} messageId={message} />
    </InlayProvider>,
  );
  expect(document.querySelectorAll(".inlay-root")).toHaveLength(1);
});

test("nothing is read any more for a page that is left", async () => {
  const shown = render(view(copy()));
  server.instead.push({
    match: "POST /v1/chat/actions",
    answer: () => {
      server.again(message);
      server.emit(message, "tool_call_start", { toolCallId: "t_1", name: "order" });
      return Response.json(
        { status: "accepted", msgId: message, conversationId: "c_1" },
        { status: 202 },
      );
    },
  });
  await click("Order");
  await waitFor(() => expect(server.open(message)).toBe(1));
  shown.unmount();
  await waitFor(() => expect(server.open(message)).toBe(0));
});
