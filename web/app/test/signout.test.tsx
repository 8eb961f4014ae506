import { act, cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { App } from "../src/App.tsx";
import { clientConfig, stubPage } from "./page.ts";
import { block, message } from "./samples.ts";

const form = block({
  id: "b_form",
  type: "form",
  payload: {
    title: "Export",
    schema: { type: "object", properties: { name: { type: "string", title: "Name" } } },
  },
  actions: [{ id: "submit", label: "Send", kind: "api" }],
});

beforeEach(() => {
  stubPage({
    "/v1/client-config": clientConfig(),
    "/v1/conversations/c_1/messages": {
      items: [message({ id: "m_1", conversationId: "c_1", blocks: [form] })],
      leaf: "m_1",
    },
    "/v1/conversations": { items: [] },
  });
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
