import type { ClientConfig } from "@inlay-ui/client";
import { vi } from "vitest";

/** What a server tells its page, for tests. */
export function clientConfig(change: Partial<ClientConfig> = {}): ClientConfig {
  return {
    title: "Sample",
    model: { kind: "scripted", name: "sample-1" },
    demo: false,
    sampleData: false,
    suggestions: [],
    allow: { link_hosts: [], image_hosts: [] },
    auth: { mode: "jwt" },
    limits: { inputBytes: 1000 },
    showToolDetails: false,
    ...change,
  };
}

/**
 * Stands in for what the page needs of a browser and for its server, whose
 * answers are given by path; others never come. Returns the requests.
 */
export function stubPage(answers: Record<string, unknown>): { path: string; body: unknown }[] {
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
  const sent: { path: string; body: unknown }[] = [];
  vi.stubGlobal("fetch", async (input: RequestInfo | URL, init: RequestInit = {}) => {
    const path = new URL(String(input), "http://test").pathname;
    sent.push({ path, body: typeof init.body === "string" ? JSON.parse(init.body) : undefined });
    const answer = answers[path];
    return answer === undefined ? new Promise(() => {}) : Response.json(answer);
  });
  // jsdom knows neither of them.
  Element.prototype.scrollTo ??= () => {};
  HTMLElement.prototype.hidePopover ??= () => {};
  return sent;
}
