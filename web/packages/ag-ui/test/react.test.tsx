import { type Action, type Block, InlayClient } from "@inlay-ui/client";
import { type BlockProps, defineRenderer } from "@inlay-ui/react";
import { act, cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeServer } from "../../react/test/server.ts";
import {
  type ActivityRenderer,
  type ConnectingAgent,
  InlayActivity,
  inlayActivityRenderer,
} from "../src/react.tsx";

let server: FakeServer;
let client: InlayClient;
let message: string;

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
  client = new InlayClient({ fetch: server.fetch });
  message = server.seed("Approve?", "Here.").assistant;
  server.again(message);
  const end = { type: "card", version: 1, payload: { label: "expense" }, actions: [yes] };
  server.emit(message, "block_end", end, "b_card");
  server.emit(message, "done", { finishReason: "paused" });
});
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const activity = () => ({
  id: "b_card",
  role: "activity",
  activityType: "inlay.card",
  content: structuredClone(server.message(message).blocks.find((b) => b.id === "b_card")) as Block,
  metadata: { inlay: { v: 1, msgId: message, blockId: "b_card", seq: 5 } },
});

/** As CopilotKit draws an activity message. */
function draw(renderer: ActivityRenderer, agent?: ConnectingAgent) {
  const { content, ...rest } = activity();
  const checked = renderer.content["~standard"].validate(content);
  const Render = renderer.render;
  return (
    <Render
      activityType={rest.activityType}
      content={checked.value}
      message={{ ...rest, content }}
      agent={agent}
    />
  );
}

/** The server takes the answer, and the turn goes on. */
function goesOn() {
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
}
const click = () =>
  act(async () => fireEvent.click(screen.getByRole("button", { name: "Approve" })));

test("draws a block; an answer shows at once, and the agent comes back to its thread", async () => {
  const agent = {
    detachActiveRun: vi.fn(() => Promise.resolve()),
    connectAgent: vi.fn(() => Promise.resolve()),
    pendingInterrupts: [{ id: "b_card" }],
  };
  const told = vi.fn();
  const renderer = inlayActivityRenderer({ client, blocks: { card }, onMore: told });
  expect(renderer.activityType).toBe("*");
  render(draw(renderer, agent));
  screen.getByText("expense open");
  goesOn();
  await click();
  await screen.findByText("expense approved");
  await waitFor(() => expect(agent.connectAgent).toHaveBeenCalledTimes(1));
  expect(agent.connectAgent).toHaveBeenCalledWith({
    forwardedProps: { capabilities: client.blocks },
  });
  expect(client.blocks).toContain("card@1");
  expect(agent.pendingInterrupts).toEqual([]);
  expect(agent.detachActiveRun).toHaveBeenCalledBefore(agent.connectAgent);
  expect(told).toHaveBeenCalledWith({
    messageId: message,
    conversationId: "c_1",
    inMessageId: message,
  });
});

test("an agent that cannot come back breaks nothing", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const agent = { connectAgent: () => Promise.reject(new Error("gone")) };
  render(<InlayActivity message={activity()} agent={agent} client={client} blocks={{ card }} />);
  goesOn();
  await click();
  await screen.findByText("expense approved");
  await waitFor(() => expect(warn).toHaveBeenCalledTimes(1));
});

test("activities of others are not drawn", () => {
  const other = {
    id: "a2ui-surface-1",
    role: "activity",
    activityType: "a2ui-surface",
    content: {},
  };
  const view = render(<InlayActivity message={other} client={client} />);
  expect(view.container.innerHTML).toBe("");
});

test("a renderer may be one agent's", () => {
  expect(inlayActivityRenderer({ agentId: "inlay" }).agentId).toBe("inlay");
  expect("agentId" in inlayActivityRenderer()).toBe(false);
});
