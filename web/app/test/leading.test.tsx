import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { App } from "../src/App.tsx";
import { clientConfig, stubPage } from "./page.ts";
import { block, message } from "./samples.ts";

const allow = {
  routes: ["/gallery", "/c/*", "/wallet"],
  slash: ["sales"],
  modals: ["deposit"],
  link_hosts: ["example.com"],
};

/** An answer with a card, in the conversation that the page shows. */
function shows(items: Record<string, unknown>[], sampleData = true) {
  const payload = {
    items: items.map((action, i) => ({ id: `i${i}`, label: `Item ${i}`, action })),
  };
  const card = block({ id: "b_2", type: "minara.feature_recommendation", payload });
  const sent = stubPage({
    "/v1/client-config": clientConfig({ sampleData, allow }),
    "/v1/conversations/c_1/messages": {
      items: [message({ id: "m_1", conversationId: "c_1", blocks: [block(), card] })],
      leaf: "m_1",
    },
    "/v1/conversations": { items: [] },
  });
  location.hash = "#/c/c_1";
  render(<App />);
  return sent;
}

const item = (n = 0) => screen.findByRole("button", { name: new RegExp(`Item ${n}`) });
const field = () => screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Message" });

beforeEach(() => localStorage.setItem("inlay.lang", "en"));
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  localStorage.clear();
  location.hash = "";
});

describe("an item of a card", () => {
  it("puts a command into the message field, with the focus, and sends nothing", async () => {
    const sent = shows([{ kind: "slash", command: "/sales 2026Q3" }]);
    fireEvent.click(await item());
    await waitFor(() => expect(document.activeElement).toBe(field()));
    expect(field().value).toBe("/sales 2026Q3");
    expect(field().selectionStart).toBe("/sales 2026Q3".length);
    fireEvent.change(field(), { target: { value: "by region" } });
    fireEvent.click(await item());
    await waitFor(() => expect(field().value).toBe("/sales 2026Q3\nby region"));
    expect(sent.map((request) => request.path)).not.toContain("/v1/chat");
  });

  it("shows another conversation of the page", async () => {
    shows([{ kind: "route", target: "/c/c_2" }]);
    fireEvent.click(await item());
    await waitFor(() => expect(location.hash).toBe("#/c/c_2"));
    await waitFor(() => expect(document.activeElement).toBe(field()));
  });

  it("cannot be used when the page has no such place, also where the server allows it", async () => {
    const sent = shows([
      { kind: "route", target: "/wallet" },
      { kind: "route", target: "/gallery" },
    ]);
    const off = await item(0);
    expect(off.getAttribute("aria-disabled")).toBe("true");
    expect((await item(1)).getAttribute("aria-disabled")).not.toBe("true");
    fireEvent.click(off);
    expect(location.hash).toBe("#/c/c_1");
    expect(sent.map((request) => request.path)).not.toContain("/v1/telemetry/block-action");
  });

  it("opens the sample dialog, where the data is a sample too", async () => {
    shows([{ kind: "modal", name: "deposit", params: { asset: "BTC" } }]);
    fireEvent.click(await item());
    expect(await screen.findByRole("dialog", { name: "Deposit" })).toBeTruthy();
    expect(screen.getByRole<HTMLSelectElement>("combobox", { name: "Asset" }).value).toBe("BTC");
    fireEvent.click(screen.getByRole("button", { name: "Cancel" }));
    await waitFor(() => expect(screen.queryByRole("dialog", { name: "Deposit" })).toBeNull());
  });

  it("opens none elsewhere", async () => {
    shows([{ kind: "modal", name: "deposit" }], false);
    expect((await item()).getAttribute("aria-disabled")).toBe("true");
  });
});
