import { act, cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { App } from "../src/App.tsx";

const config = {
  title: "Sample",
  model: { kind: "scripted", name: "sample-1" },
  demo: false,
  suggestions: [],
  allow: { link_hosts: [], image_hosts: [] },
  auth: { mode: "jwt" },
  limits: { inputBytes: 1000 },
  showToolDetails: false,
};
const form = {
  id: "b_form",
  type: "form",
  version: 1,
  status: "done",
  rev: 1,
  payload: {
    title: "Export",
    schema: { type: "object", properties: { name: { type: "string", title: "Name" } } },
  },
  actions: [{ id: "submit", label: "Send", kind: "api" }],
};
const message = {
  id: "m_1",
  conversationId: "c_1",
  role: "assistant",
  createdAt: "2026-01-05T08:00:00Z",
  status: "done",
  blocks: [form],
  seq: 3,
  siblings: ["m_1"],
};

function answer(path: string): Response | Promise<Response> {
  if (path === "/v1/client-config") return Response.json(config);
  if (path === "/v1/conversations/c_1/messages") {
    return Response.json({ items: [message], leaf: "m_1" });
  }
  if (path === "/v1/conversations") return Response.json({ items: [] });
  return new Promise(() => {});
}

beforeEach(() => {
  vi.stubGlobal("matchMedia", () => ({
    matches: false,
    addEventListener: () => {},
    removeEventListener: () => {},
  }));
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe() {}
      unobserve() {}
      disconnect() {}
    },
  );
  vi.stubGlobal("fetch", async (input: RequestInfo | URL) =>
    answer(new URL(String(input), "http://test").pathname),
  );
  // jsdom knows neither of them.
  Element.prototype.scrollTo ??= () => {};
  HTMLElement.prototype.hidePopover ??= () => {};
});

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  localStorage.clear();
  location.hash = "";
});

it("signing out forgets what was filled in, also what was typed a moment ago", async () => {
  localStorage.setItem("inlay.token", "sample");
  localStorage.setItem("inlay.lang", "en");
  localStorage.setItem("inlay:draft:b_older", '{"at":1,"values":{"name":"x"}}');
  location.hash = "#/c/c_1";
  render(<App />);
  const field = await screen.findByLabelText(/Name/);
  expect(localStorage.getItem("inlay:draft:b_older"), "kept until then").not.toBeNull();
  const item = screen.getByText("Sign out");
  await act(async () => fireEvent.change(field, { target: { value: "secret" } }));
  await act(async () => fireEvent.click(item));
  await waitFor(() => expect(localStorage.getItem("inlay.token")).toBeNull());
  const kept = Array.from({ length: localStorage.length }, (_, i) => localStorage.key(i));
  expect(kept.filter((key) => key?.startsWith("inlay:draft:"))).toEqual([]);
});
