import { InlayClient } from "@inlay-ui/client";
import { act, cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { Profiler, StrictMode } from "react";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  type BlockProps,
  type Chat,
  clientCapabilityTokens,
  defineRenderer,
  InlayProvider,
  MessageView,
  useChat,
  useInlay,
} from "../src/index.ts";
import { idleClient, show } from "./help.tsx";
import { FakeServer } from "./server.ts";

let server: FakeServer;
let client: InlayClient;
let chat: Chat;

beforeEach(() => {
  server = new FakeServer();
  client = new InlayClient({ fetch: server.fetch });
});
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const draws: string[] = [];
const plain = defineRenderer<unknown>({
  type: "text",
  major: 1,
  component: ({ block, payload }: BlockProps) => {
    draws.push(block.id);
    return <span>{String(payload)}</span>;
  },
  bare: true,
});

const registries = new Set<unknown>();
function Look() {
  registries.add(useInlay().registry);
  return null;
}

function Word() {
  return <b>{useInlay().t("chat.block.tryAgain")}</b>;
}

function Chatting({ id }: { id?: string }) {
  chat = useChat({ conversationId: id });
  return (
    <>
      {chat.messages.map((m) => (
        <MessageView key={m.id} message={m} />
      ))}
    </>
  );
}

const page = (id?: string, commits: () => void = () => {}) => (
  <StrictMode>
    <InlayProvider client={client} blocks={{ text: plain }}>
      <Profiler id="chat" onRender={commits}>
        <Chatting id={id} />
      </Profiler>
    </InlayProvider>
  </StrictMode>
);

describe("useChat", () => {
  test("5,000 events in one tick: one commit per frame, the other blocks not drawn again", async () => {
    const { assistant: earlier } = server.seed("zero", "nil");
    const running = server.ask("one");
    server.emit(running, "text_delta", { delta: "a" }, "b_0");
    server.emit(running, "text_end", {}, "b_0");
    const commits = vi.fn();
    render(page("c_1", commits));
    await waitFor(() => expect(server.open(running)).toBe(1));
    await screen.findByText("a");
    // Until the answer is taken for complete, which is news of its own.
    await act(() => new Promise((r) => setTimeout(r, 500)));
    const errors = vi.spyOn(console, "error");
    const frames = vi.spyOn(globalThis, "requestAnimationFrame");
    commits.mockClear();
    draws.length = 0;
    await act(async () => {
      for (let i = 0; i < 5_000; i++) server.emit(running, "text_delta", { delta: "x" }, "b_1");
      await new Promise((r) => setTimeout(r, 300));
    });
    expect(screen.getByText("x".repeat(5_000))).toBeTruthy();
    expect(frames.mock.calls.length).toBeGreaterThan(0);
    expect(commits.mock.calls.length).toBeLessThanOrEqual(frames.mock.calls.length);
    expect(new Set(draws)).toEqual(new Set(["b_1"]));
    expect(draws).not.toContain(`${earlier}_text`);
    expect(errors).not.toHaveBeenCalled();
  });

  test("the actions stay the same, and a retry in a block reaches its chat", async () => {
    const { assistant } = server.seed("zero", "nil");
    server.again(assistant);
    server.emit(assistant, "block_start", { type: "chart", version: 1 }, "b_9");
    const error = { code: "TOOL_TIMEOUT", message: "", retryable: true };
    server.emit(assistant, "block_error", error, "b_9");
    server.emit(assistant, "done", { finishReason: "stop" });
    render(page("c_1"));
    const button = await screen.findByRole("button", { name: "Try again" });
    const { send, stop, retryBlock } = chat;
    fireEvent.click(button);
    expect(button.textContent).toBe("Working…");
    await waitFor(() => expect(server.open(assistant)).toBe(1));
    expect(server.calls).toContain("POST /v1/chat/blocks/b_9/retry");
    const end = { type: "chart", version: 9, payload: 1, fallback: "East 320" };
    await act(async () => {
      server.emit(assistant, "block_start", { type: "chart", version: 9 }, "b_9");
      server.emit(assistant, "block_end", end, "b_9");
      server.emit(assistant, "done", { finishReason: "stop" });
    });
    expect(await screen.findByText("East 320")).toBeTruthy();
    expect([chat.send, chat.stop, chat.retryBlock]).toEqual([send, stop, retryBlock]);
    await waitFor(() => expect(screen.queryByText("Working…")).toBeNull());
  });

  test("a new conversation keeps its chat when the page takes up its id", async () => {
    const { rerender } = render(page());
    await act(async () => {
      await chat.send("hello");
    });
    const answer = chat.messages[1]?.id ?? "";
    rerender(page("c_1"));
    expect(chat.messages).toHaveLength(2);
    expect(server.open(answer)).toBe(1);
    rerender(page());
    expect(chat.messages).toHaveLength(0);
    expect(chat.conversationId).toBeUndefined();
    await waitFor(() => expect(server.open(answer)).toBe(0));
    rerender(page("c_1"));
    await waitFor(() => expect(chat.messages).toHaveLength(2));
  });

  test("what a user typed is shown as typed", async () => {
    render(page());
    await act(async () => {
      await chat.send("**not bold**\n  $2bn");
    });
    expect(document.querySelector(".inlay-typed")?.textContent).toBe("**not bold**\n  $2bn");
  });
});

describe("InlayProvider", () => {
  test("declares what it can draw, unless the client does so itself", async () => {
    const own = idleClient();
    show(null, { client: own, blocks: { hologram: () => null } });
    expect(own.blocks).toEqual([...clientCapabilityTokens(), "hologram@1"].sort());
    const fixed = new InlayClient({ blocks: ["text@1"], lang: "fr" });
    show(null, { client: fixed, lang: "zh" });
    expect(fixed.blocks).toEqual(["text@1"]);
    expect(fixed.lang).toBe("fr");
  });

  test("renderers given inline do not draw the blocks anew", () => {
    const Inner = vi.fn(() => null);
    registries.clear();
    const tree = () => (
      <InlayProvider
        client={client}
        blocks={{ demo: Inner, other: { major: 2, component: Inner } }}
      >
        <Look />
      </InlayProvider>
    );
    const { rerender } = render(tree());
    rerender(tree());
    rerender(tree());
    expect(registries.size).toBe(1);
  });

  test("language and theme are on the root, words may be replaced", () => {
    const { container, unmount } = show(<Word />, { lang: "zh-CN", theme: "dark" });
    const root = container.querySelector<HTMLElement>(".inlay-root");
    expect([root?.lang, root?.dataset.theme]).toEqual(["zh-CN", "dark"]);
    expect(screen.getByText("重试")).toBeTruthy();
    unmount();
    show(<Word />, { texts: { "chat.block.tryAgain": "Once more" } });
    expect(screen.getByText("Once more")).toBeTruthy();
  });

  test("hooks outside a provider say what is missing", () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    expect(() => render(<Word />)).toThrow("InlayProvider");
  });
});
