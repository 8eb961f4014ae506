import { type Block, InlayClient } from "@inlay-ui/client";
import { cleanup, render, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { BlockView } from "../src/BlockView.tsx";
import { builtinRenderers } from "../src/blocks/index.ts";
import { InlayProvider } from "../src/provider.tsx";

/** The vectors that the server's own types are tested with. */
interface Vectors {
  type: string;
  cases: { name: string; block: Block }[];
}

const files = Object.values(
  import.meta.glob<Vectors>(
    ["../../../../testdata/gallery/*.json", "../../../../testdata/gallery/cards/*.json"],
    { eager: true, import: "default" },
  ),
);

const canvas = {
  on: () => {},
  resize: () => {},
  setOption: () => {},
  dispatchAction: () => {},
  dispose: () => {},
  getDataURL: () => "data:,",
};
vi.mock("../src/chart/echarts.ts", () => ({ init: () => canvas }));
vi.mock("../src/chart/raw.ts", async (original) => ({
  ...(await original<typeof import("../src/chart/raw.ts")>()),
  init: () => canvas,
}));
vi.mock("../src/pdf/document.ts", () => ({
  openDocument: () => ({ ready: new Promise(() => {}), close: () => {} }),
}));

beforeEach(() => {
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe() {}
      unobserve() {}
      disconnect() {}
    },
  );
  vi.stubGlobal("matchMedia", () => ({
    matches: false,
    addEventListener: () => {},
    removeEventListener: () => {},
  }));
});

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const client = new InlayClient({
  fetch: (async () =>
    Response.json({
      url: "https://chat.example/file",
      expiresAt: Date.now() + 1e6,
    })) as typeof fetch,
});

function draw(block: Block, lang: string) {
  return render(
    <InlayProvider client={client} theme="light" lang={lang}>
      <BlockView block={block} messageId="m_1" />
    </InlayProvider>,
  ).container;
}

describe.each(files)("$type", ({ type, cases }) => {
  const known = builtinRenderers.find((entry) => entry.type === type);

  it("has a renderer", () => {
    expect(known).toBeTruthy();
  });

  describe.each(["en", "zh"])("in %s", (lang) => {
    it.each(cases)("$name", async ({ block }) => {
      const errors = vi.spyOn(console, "error").mockImplementation(() => {});
      const container = draw(block, lang);
      const drawable = block.status !== "error" && block.payload !== undefined;
      const problem = drawable ? known?.check?.(block.payload, block.status === "loading") : null;
      if (block.version === 1) expect(problem ?? null).toBeNull();
      await waitFor(() => {
        // The renderer has come: what stands for it while it loads is gone.
        const waits = container.querySelector(".inlay-block-body > .inlay-skeleton");
        expect(waits !== null).toBe(block.status === "loading" && block.payload === undefined);
      });
      const text = container.textContent ?? "";
      if (block.status === "done" && block.version === 1) {
        expect(text).not.toMatch(
          lang === "zh" ? /无法绘制|未通过检查/ : /could not be (drawn|checked)/,
        );
      }
      // No key without its words, and nothing that is not a text.
      expect(text).not.toMatch(/chat\.[a-z]+\.|\bundefined\b|\[object |\bNaN\b/);
      expect(errors.mock.calls.filter(([first]) => !String(first).includes("act("))).toEqual([]);
    });
  });
});
