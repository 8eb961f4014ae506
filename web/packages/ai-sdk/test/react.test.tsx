import { useChat } from "@ai-sdk/react";
import { type Action, InlayClient } from "@inlay-ui/client";
import { type BlockProps, defineRenderer, InlayProvider } from "@inlay-ui/react";
import { act, cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import type { UIMessage } from "ai";
import { useMemo } from "react";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeServer } from "../../react/test/server.ts";
import { inlayTransport } from "../src/index.ts";
import { InlayPart } from "../src/react.tsx";

let server: FakeServer;
let message: string;
/** What the routes of the chat are asked, and what they answer. */
let asked: string[];
let stream: (() => Response) | undefined;

const yes: Action = { id: "approve", label: "Approve", kind: "api", params: {} };
const card = defineRenderer<{ label: string }>({
  type: "card",
  major: 1,
  component: ({ block, payload }: BlockProps<{ label: string }>) => (
    <p>{`${payload.label} ${(block.state as { status?: string })?.status ?? "open"}`}</p>
  ),
});

beforeEach(() => {
  server = new FakeServer();
  asked = [];
  stream = undefined;
  message = server.seed("Approve?", "Here.").assistant;
  server.again(message);
  const end = { type: "card", version: 1, payload: { label: "expense" }, actions: [yes] };
  server.emit(message, "block_end", end, "b_card");
  server.emit(message, "done", { finishReason: "paused" });
});
afterEach(cleanup);

/** The stored messages as this protocol has them. */
const stored = (): UIMessage[] =>
  [...server.stored.values()].map(({ message: m }) => ({
    id: m.id,
    role: m.role,
    parts: m.blocks.map((b) =>
      b.type === "text"
        ? { type: "text", text: String(b.payload) }
        : { type: `data-${b.type}`, id: b.id, data: b },
    ),
  }));

const send: typeof fetch = async (input, init) => {
  const path = String(input);
  if (!path.startsWith("/v1/ai-sdk/")) return server.fetch(input, init);
  asked.push(`${init?.method ?? "GET"} ${path}`);
  if (path.endsWith("/messages")) return Response.json({ messages: stored() });
  return stream?.() ?? new Response(null, { status: 204 });
};

function Chat() {
  const transport = useMemo(() => inlayTransport({ fetch: send }), []);
  const chat = useChat({ id: "c", transport, messages: stored() });
  return chat.messages.flatMap((m) =>
    m.parts.map((part, i) =>
      part.type === "text" ? (
        <p key={`${m.id} ${i}`}>{part.text}</p>
      ) : (
        <InlayPart
          key={`${m.id} ${i}`}
          part={part}
          messageId={m.id}
          onMore={() => void transport.catchUp(chat)}
        />
      ),
    ),
  );
}

test("an answer shows at once, and what comes of it when it is written", async () => {
  const client = new InlayClient({ fetch: server.fetch });
  render(
    <InlayProvider client={client} blocks={{ card }}>
      <Chat />
    </InlayProvider>,
  );
  screen.getByText("expense open");
  server.instead.push({
    match: "POST /v1/chat/actions",
    answer: () => {
      server.again(message);
      const block = { id: "b_card", rev: 2, state: { status: "approved" } };
      server.emit(message, "block_state", block, "b_card");
      return Response.json(
        { status: "accepted", msgId: message, conversationId: "c_1", block },
        { status: 202 },
      );
    },
  });
  stream = () => {
    server.emit(message, "text_delta", { delta: "It is approved." }, "b_after");
    server.emit(message, "text_end", {}, "b_after");
    server.emit(message, "done", { finishReason: "stop" });
    const parts = stored().at(-1)?.parts ?? [];
    const chunks = [
      { type: "start", messageId: message },
      { type: "start-step" },
      ...parts.flatMap((p, i): object[] =>
        p.type === "text"
          ? [
              { type: "text-start", id: `t${i}` },
              { type: "text-delta", id: `t${i}`, delta: p.text },
              { type: "text-end", id: `t${i}` },
            ]
          : [p],
      ),
      { type: "finish-step" },
      { type: "finish" },
    ];
    return new Response(chunks.map((c) => `data: ${JSON.stringify(c)}\n\n`).join(""), {
      headers: { "content-type": "text/event-stream" },
    });
  };
  await act(async () => fireEvent.click(screen.getByRole("button", { name: "Approve" })));
  await screen.findByText("expense approved");
  await screen.findByText("It is approved.");
  expect(screen.getAllByText("Here.")).toHaveLength(1);
  await waitFor(() =>
    expect(asked).toEqual([
      "GET /v1/ai-sdk/chat/c/messages",
      "GET /v1/ai-sdk/chat/c/stream",
      "GET /v1/ai-sdk/chat/c/messages",
    ]),
  );
  screen.getByText("expense approved");
});

test("other parts are not drawn", () => {
  const part = { type: "tool-order", data: {} };
  const view = render(<InlayPart part={part} messageId={message} />);
  expect(view.container.innerHTML).toBe("");
});

test("a part that is cut is read whole", async () => {
  const client = new InlayClient({ fetch: server.fetch });
  const block = server.message(message).blocks.find((b) => b.id === "b_card");
  const data = { ...block, payload: { label: "exp" }, rest: `/v1/messages/${message}` };
  render(
    <InlayPart
      part={{ type: "data-card", id: "b_card", data }}
      messageId={message}
      client={client}
      blocks={{ card }}
    />,
  );
  screen.getByText("exp open");
  await screen.findByText("expense open");
});
