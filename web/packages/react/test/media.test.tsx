import {
  type Action,
  type AssetPreview,
  type Block,
  InlayClient,
  type TreeNode,
} from "@inlay-ui/client";
import { act, cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { BlockView } from "../src/BlockView.tsx";
import { fieldText } from "../src/blocks/CardView.tsx";
import {
  checkCard,
  checkCardList,
  checkFile,
  checkImage,
  checkRaw,
  checkSteps,
  checkTree,
} from "../src/blocks/payloads.ts";
import { columnName, withPart } from "../src/blocks/SheetViewer.tsx";
import { linesOf } from "../src/blocks/TextViewer.tsx";
import { propsOf, token, withinLimits } from "../src/blocks/TreeBlock.tsx";
import { checkOption } from "../src/chart/rawCheck.ts";
import { translator } from "../src/i18n/index.ts";
import { InlayProvider, type InlayProviderProps } from "../src/provider.tsx";

vi.mock("../src/pdf/document.ts", () => ({
  openDocument: (_client: InlayClient, id: string) => ({
    ready: id.includes("locked")
      ? Promise.reject(Object.assign(new Error("no password"), { name: "PasswordException" }))
      : Promise.resolve({
          numPages: 5,
          getPage: (number: number) =>
            Promise.resolve({ number, getViewport: () => ({ width: 210, height: 297 }) }),
        }),
    close: () => {},
  }),
  drawPage: () => ({ done: Promise.resolve(), cancel: () => {} }),
  pageText: (page: { number: number }) => Promise.resolve(`Words of page ${page.number}`),
}));

const drawn: Record<string, unknown>[] = [];
vi.mock("../src/chart/raw.ts", async (original) => ({
  ...(await original<typeof import("../src/chart/raw.ts")>()),
  init: () => ({
    resize: () => {},
    dispose: () => {},
    setOption: (option: Record<string, unknown>) => drawn.push(option),
    getDataURL: () => "data:image/png;base64,AA==",
  }),
}));

/** The routes of files that a test answers. */
interface Files {
  url?: (id: string, query: URLSearchParams) => Response;
  preview?: (query: URLSearchParams) => AssetPreview;
  content?: (range: string | null) => Response;
}

const calls: string[] = [];

function clientOf(files: Files = {}): InlayClient {
  let n = 0;
  return new InlayClient({
    fetch: (async (input: RequestInfo | URL, init?: RequestInit) => {
      const url = new URL(String(input), "https://chat.example");
      calls.push(url.pathname + url.search);
      const [, id = "", what] = /\/v1\/assets\/([^/]+)\/?(\w*)/.exec(url.pathname) ?? [];
      if (what === "url") {
        const expiresAt = Date.now() + 300_000;
        return (
          files.url?.(id, url.searchParams) ??
          Response.json({ url: `https://chat.example/file/${id}?n=${++n}`, expiresAt })
        );
      }
      if (what === "preview") return Response.json(files.preview?.(url.searchParams));
      if (url.pathname.startsWith("/file/")) {
        const range = new Headers(init?.headers).get("Range");
        return files.content?.(range) ?? new Response("content");
      }
      throw new Error(`unexpected request of ${url.pathname}`);
    }) as typeof fetch,
  });
}

const refusal = (status: number, code: string) =>
  Response.json({ error: { code, message: code, retryable: false } }, { status });

beforeEach(() => {
  calls.length = 0;
  drawn.length = 0;
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
  // Rows are drawn where they are seen, and nothing has a height here.
  vi.spyOn(Element.prototype, "clientHeight", "get").mockReturnValue(480);
  HTMLDialogElement.prototype.showModal = function (this: HTMLDialogElement) {
    this.open = true;
  };
  HTMLDialogElement.prototype.close = function (this: HTMLDialogElement) {
    this.open = false;
  };
});

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

function block(type: string, payload: unknown, extra: Partial<Block> = {}): Block {
  return { id: `b_${type}`, type, version: 1, status: "done", rev: 1, payload, ...extra };
}

function show(one: Block, files: Files = {}, props: Partial<InlayProviderProps> = {}) {
  const client = clientOf(files);
  const at = (b: Block) => (
    <InlayProvider client={client} theme="light" {...props}>
      <BlockView block={b} messageId="m_1" />
    </InlayProvider>
  );
  const view = render(at(one));
  return { ...view, update: (b: Block) => view.rerender(at(b)) };
}

const file = (change: object = {}) =>
  block("file", {
    assetId: "a_1",
    name: "q3-sales.csv",
    mime: "text/csv",
    size: 482_000,
    ...change,
  });

describe("file", () => {
  it("tells how far it is while it is produced, and becomes the file", async () => {
    const loading = block(
      "file",
      { progress: { done: 40, total: 160, stage: "Writing rows", unit: "rows" } },
      { status: "loading", meta: { title: "Export" } },
    );
    const { update } = show(loading);
    const bar = (await screen.findByRole("progressbar")) as HTMLProgressElement;
    expect(bar.value).toBe(0.25);
    expect(bar.getAttribute("aria-valuetext")).toBe("25% 40 of 160 rows");
    expect(screen.getByText("Writing rows")).toBeTruthy();
    update(file());
    expect(await screen.findByText("q3-sales.csv")).toBeTruthy();
    expect(screen.queryByRole("progressbar")).toBeNull();
  });

  it("can be stopped while it is produced, once", async () => {
    const stop = vi.spyOn(InlayClient.prototype, "stop").mockResolvedValue();
    show(block("file", { progress: { done: 3 } }, { status: "loading" }));
    const cancel = await screen.findByRole("button", { name: "Cancel" });
    fireEvent.click(cancel);
    fireEvent.click(cancel);
    expect(stop.mock.calls).toEqual([["m_1"]]);
    await waitFor(() => expect(cancel.getAttribute("aria-disabled")).toBe("true"));
    stop.mockRejectedValueOnce(new Error("offline"));
    cleanup();
    show(block("file", { progress: { done: 3 } }, { status: "loading" }));
    const again = await screen.findByRole("button", { name: "Cancel" });
    fireEvent.click(again);
    await waitFor(() => expect(again.getAttribute("aria-disabled")).toBe("false"));
  });

  it("has a bar without an end while nobody knows it", async () => {
    show(block("file", { progress: { done: 3 } }, { status: "loading" }));
    const bar = await screen.findByRole("progressbar");
    expect(bar.hasAttribute("value")).toBe(false);
  });

  it("names its kind and size in the reader's language", async () => {
    show(file({ size: 3_355_444 }), {}, { lang: "zh" });
    expect(await screen.findByText("CSV · 3.2 MB")).toBeTruthy();
    expect(screen.getByRole("button", { name: "下载 q3-sales.csv" })).toBeTruthy();
  });

  it("is saved by an address that was made for the click", async () => {
    const clicked: string[] = [];
    vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (
      this: HTMLAnchorElement,
    ) {
      clicked.push(this.href);
    });
    show(file());
    const save = await screen.findByRole("button", { name: "Download q3-sales.csv" });
    await userEvent.click(save);
    await waitFor(() => expect(clicked).toHaveLength(1));
    await userEvent.click(save);
    await waitFor(() => expect(clicked).toHaveLength(2));
    expect(new Set(clicked).size).toBe(2);
    expect(calls[0]).toBe("/v1/assets/a_1/url?disposition=attachment");
  });

  it.each([
    [404, "not_found", "This file is no longer there.", false],
    [410, "asset_infected", "This file was blocked: harmful content was found in it.", false],
    [409, "asset_not_ready", "This file is still being checked.", true],
    [500, "internal", "The file could not be loaded.", true],
  ])("says why it cannot be had: %i %s", async (status, code, text, again) => {
    show(file(), { url: () => refusal(status, code) });
    await userEvent.click(await screen.findByRole("button", { name: /^Download/ }));
    expect(await screen.findByText(text)).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Try again" }) !== null).toBe(again);
  });

  it("shows the first rows of a table, and pages through its sheets over the page", async () => {
    const rows = (sheet: string | null, offset: number) =>
      Array.from({ length: 200 }, (_, i) => [`${sheet} ${offset + i}`, offset + i]);
    const asked: string[] = [];
    const preview = (query: URLSearchParams): AssetPreview => {
      asked.push(query.toString());
      const offset = Number(query.get("offset"));
      return { kind: "table", rows: rows(query.get("sheet"), offset), offset, total: 1000 };
    };
    show(
      file({
        preview: {
          kind: "table",
          rows: [
            ["Region", "Sales"],
            ["East", 2024],
          ],
          sheets: ["Q3", "Q4"],
          sheet: "Q3",
          total: 1000,
        },
      }),
      { preview },
    );
    expect(await screen.findByRole("columnheader", { name: "Region" })).toBeTruthy();
    // What a number means is not known: a year has no comma.
    expect(screen.getByRole("cell", { name: "2024" })).toBeTruthy();
    await userEvent.click(screen.getByRole("button", { name: "Open q3-sales.csv" }));
    const dialog = await screen.findByRole("dialog", { name: "q3-sales.csv" });
    expect(await within(dialog).findByText("Q3 0")).toBeTruthy();
    const tab = within(dialog).getByRole("tab", { name: "Q3" });
    expect(tab.getAttribute("aria-selected")).toBe("true");
    act(() => tab.focus());
    await userEvent.keyboard("{ArrowRight}");
    expect(await within(dialog).findByText("Q4 0")).toBeTruthy();
    expect(document.activeElement?.textContent).toBe("Q4");
    expect(asked).toEqual(["sheet=Q3&offset=0&limit=200", "sheet=Q4&offset=0&limit=200"]);
    await userEvent.click(within(dialog).getByRole("button", { name: "Close" }));
    expect(screen.queryByRole("dialog")).toBeNull();
  });

  it("shows the first three pages of a document, each with its words", async () => {
    show(file({ name: "plan.pdf", mime: "application/pdf", preview: { kind: "pdf", pages: 5 } }));
    expect(await screen.findByRole("img", { name: "Page 3 of 5" })).toBeTruthy();
    expect(screen.queryByRole("img", { name: "Page 4 of 5" })).toBeNull();
    expect(await screen.findByText("Words of page 2")).toBeTruthy();
    expect(screen.getByText("The first 3 of 5 pages are shown.")).toBeTruthy();
    await userEvent.click(screen.getByRole("button", { name: "Open plan.pdf" }));
    const dialog = await screen.findByRole("dialog");
    expect(await within(dialog).findByRole("img", { name: "Page 5 of 5" })).toBeTruthy();
  });

  it("says that a document needs a password", async () => {
    show(
      file({ assetId: "a_locked", mime: "application/pdf", preview: { kind: "pdf", pages: 1 } }),
    );
    expect(await screen.findByText(/protected by a password/)).toBeTruthy();
  });

  it("shows text as text, whatever it says", async () => {
    const html = "<b onclick=alert(1)>bold</b>";
    const { container } = show(
      file({ name: "a.html", mime: "text/html", preview: { kind: "text", text: html } }),
    );
    expect(await screen.findByText(html)).toBeTruthy();
    expect(container.querySelector("b")).toBeNull();
  });

  it("opens a text some hundred lines at a time", async () => {
    const asked: string[] = [];
    const preview = (query: URLSearchParams): AssetPreview => {
      asked.push(query.toString());
      return query.get("offset") === "0"
        ? { kind: "text", text: "第一行\nsecond", more: true }
        : { kind: "text", text: "third", more: false };
    };
    const text = { kind: "text", text: "第一行", truncated: true };
    show(file({ name: "a.txt", mime: "text/plain", preview: text }), { preview });
    await userEvent.click(await screen.findByRole("button", { name: "Open a.txt" }));
    const dialog = await screen.findByRole("dialog");
    await userEvent.click(await within(dialog).findByRole("button", { name: "Show more" }));
    await waitFor(() =>
      expect(dialog.querySelector("pre")?.textContent).toBe("第一行\nsecond\nthird"),
    );
    expect(asked).toEqual(["offset=0&limit=500", "offset=2&limit=500"]);
    expect(within(dialog).queryByRole("button", { name: "Show more" })).toBeNull();
    expect([linesOf(""), linesOf("a"), linesOf("a\n"), linesOf("a\nb")]).toEqual([0, 1, 1, 2]);
  });
});

describe("a sheet", () => {
  const empty = { rows: new Map(), count: 0, complete: false, columns: 0 };

  it("grows while there is more, and ends where the server ends it", () => {
    const first = withPart(empty, 0, { kind: "table", rows: [["a"], ["b", 1]], more: true });
    expect([first.count, first.complete, first.columns]).toEqual([3, false, 2]);
    const last = withPart(first, 2, { kind: "table", rows: [["c"]], more: false });
    expect([last.count, last.complete, last.rows.get(2)]).toEqual([3, true, ["c"]]);
  });

  it("believes a count of all rows", () => {
    const one = withPart(empty, 400, { kind: "table", rows: [["x"]], total: 90_000 });
    expect([one.count, one.complete]).toEqual([90_000, true]);
  });

  it("names its columns as spreadsheets do", () => {
    expect([0, 25, 26, 701, 702].map(columnName)).toEqual(["A", "Z", "AA", "ZZ", "AAA"]);
  });
});

describe("image", () => {
  const image = block("image", { assetId: "a_9", alt: "Hills at dusk", width: 800, height: 400 });

  it("is shown small with its words, at the place that it will take", async () => {
    show(image);
    const picture = await waitFor(() => {
      const found = screen.getByAltText("Hills at dusk");
      expect(found.tagName).toBe("IMG");
      return found as HTMLImageElement;
    });
    expect(calls).toEqual(["/v1/assets/a_9/url?disposition=inline&variant=thumb"]);
    expect([picture.width, picture.height]).toEqual([800, 400]);
  });

  it("renews its address once when it is refused, then says so", async () => {
    show(image);
    const first = await waitFor(
      () => screen.getByRole("button").querySelector("img") ?? Promise.reject(),
    );
    const old = first.src;
    fireEvent.error(first);
    await waitFor(() => expect(screen.getByRole("button").querySelector("img")?.src).not.toBe(old));
    const second = screen.getByRole("button").querySelector("img");
    if (second) fireEvent.error(second);
    expect(await screen.findByText("The file could not be loaded.")).toBeTruthy();
  });

  it("opens large, and grows by its keys", async () => {
    show(image);
    await userEvent.click(await screen.findByRole("button", { name: "Enlarge: Hills at dusk" }));
    const dialog = await screen.findByRole("dialog");
    await userEvent.click(within(dialog).getByRole("button", { name: "Enlarge" }));
    expect(within(dialog).getByText("150%")).toBeTruthy();
    fireEvent.keyDown(dialog, { key: "+" });
    expect(within(dialog).getByText("200%")).toBeTruthy();
    fireEvent.keyDown(dialog, { key: "0" });
    expect(within(dialog).getByText("100%")).toBeTruthy();
    fireEvent(dialog, new Event("cancel"));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  });
});

describe("card", () => {
  const card = {
    title: "Sample watch",
    subtitle: "GPS, heart rate",
    status: { label: "In stock", tone: "success" },
    fields: [
      { label: "Price", value: 699, format: "currency", currency: "CNY" },
      { label: "Water-proof", value: true },
      { label: "Weight", value: null },
    ],
    body: "Runs **two weeks** on a charge.",
  };

  it("shows its figures as the reader writes them, and its title once", async () => {
    show(block("card", card), {}, { lang: "zh" });
    expect(await screen.findByText("¥699")).toBeTruthy();
    expect(screen.getByText("是")).toBeTruthy();
    expect(screen.getByText("–")).toBeTruthy();
    expect(screen.getByText("two weeks").tagName).toBe("STRONG");
    expect(screen.getAllByText("Sample watch")).toHaveLength(1);
  });

  it("words dates, and numbers with units", () => {
    const t = translator("en");
    const say = (field: Parameters<typeof fieldText>[0]) => fieldText(field, "en", t);
    expect(say({ label: "", value: "2026-03-02", format: "date" })).toBe("Mar 2, 2026");
    expect(say({ label: "", value: 12, unit: "km" })).toBe("12\u00a0km");
    expect(say({ label: "", value: 0.125, format: "percent" })).toBe("12.5%");
  });

  const list = (layout: string, more: object = {}) =>
    block(
      "card_list",
      {
        title: "Watches",
        layout,
        items: [
          { id: "1", title: "One", actions: [{ id: "buy", params: { itemId: "1" } }] },
          {
            id: "2",
            title: "Two",
            actions: [{ id: "buy", params: { itemId: "2" } }, { id: "no" }],
          },
          { id: "3", title: "Three" },
        ],
        ...more,
      },
      {
        actions: [
          { id: "buy", label: "Buy", kind: "prompt", prompt: "Buy {{itemId}}" },
          {
            id: "more",
            label: "Show more",
            kind: "api",
            inputSchema: { properties: { cursor: { type: "string" } }, required: ["cursor"] },
          },
        ],
      },
    );

  it("in a list offers each item's own actions there and nowhere else", async () => {
    const onPrompt = vi.fn(() => true);
    show(list("list"), {}, { onPrompt });
    await screen.findByText("Two");
    expect(screen.getAllByRole("button", { name: /^Buy/ })).toHaveLength(2);
    await userEvent.click(screen.getByRole("button", { name: "Buy – Two" }));
    await waitFor(() =>
      expect(onPrompt).toHaveBeenCalledWith(
        expect.objectContaining({ text: "Buy 2", params: { itemId: "2" } }),
      ),
    );
  });

  it("in a list loads more through the action that takes a cursor", async () => {
    show(list("grid", { total: 40, page: { cursor: "next" } }));
    expect(await screen.findByText("3 of 40 are shown.")).toBeTruthy();
    expect(screen.getAllByRole("button", { name: "Show more" })).toHaveLength(1);
  });

  it("in a carousel is leafed through by buttons and keys, and says where it is", async () => {
    show(list("carousel"));
    const next = await screen.findByRole("button", { name: "Next" });
    const place = screen.getByText("1 of 3");
    expect(screen.getByRole("button", { name: "Previous" }).getAttribute("aria-disabled")).toBe(
      "true",
    );
    await userEvent.click(next);
    expect(place.textContent).toBe("2 of 3");
    const row = screen.getAllByRole("list").find((one) => one.tabIndex === 0);
    if (!row) throw new Error("the row takes no focus");
    fireEvent.keyDown(row, { key: "End" });
    expect(place.textContent).toBe("3 of 3");
    fireEvent.keyDown(row, { key: "ArrowLeft" });
    expect(place.textContent).toBe("2 of 3");
  });
});

describe("steps", () => {
  it("says of each step how it stands, not by colour alone", async () => {
    show(
      block("steps", {
        items: [
          { id: "1", label: "Load", status: "done" },
          { id: "2", label: "Sum up", status: "running", detail: "120 of 400" },
          { id: "3", label: "Send", status: "pending" },
          { id: "4", label: "Mail", status: "skipped" },
          { id: "5", label: "Post", status: "error", detail: "Refused" },
        ],
      }),
    );
    const items = await screen.findAllByRole("listitem");
    expect(items.map((item) => item.textContent)).toEqual([
      "Load done",
      "Sum up in progress120 of 400",
      "Send to come",
      "Mail skipped",
      "Post failedRefused",
    ]);
    expect(items[1]?.getAttribute("aria-current")).toBe("step");
    expect(screen.getByText("2 of 5 done")).toBeTruthy();
  });
});

describe("tree", () => {
  const actions: Block["actions"] = [
    { id: "addToCart", label: "Add", kind: "prompt", prompt: "Add {{itemId}} × {{count}}" },
  ];

  it("draws a card of parts with the look of its tokens", async () => {
    const root = {
      type: "card",
      children: [
        { type: "image", props: { src: "https://example.com/w.jpg", aspectRatio: "1:1" } },
        { type: "text", props: { value: "Sample watch", style: "title" } },
        { type: "text", value: "¥699", style: "text.price", color: "color.primary" },
        { type: "divider" },
        "Plain words",
        {
          type: "button",
          props: { text: "Add to cart" },
          action: { id: "addToCart", params: { itemId: "12345", count: 1 } },
        },
      ],
    };
    const onPrompt = vi.fn(() => true);
    show(block("tree", { root }, { actions }), {}, { onPrompt, allow: { image_hosts: [] } });
    const title = await screen.findByRole("heading", { name: "Sample watch" });
    expect(title.getAttribute("data-text")).toBe("title");
    expect(screen.getByText("¥699").getAttribute("data-text")).toBe("price");
    expect(screen.getByText("¥699").getAttribute("data-color")).toBe("primary");
    // A picture of a host that is not allowed is never asked for.
    expect(document.querySelector("img")).toBeNull();
    expect(screen.getByRole("link", { name: "Open at example.com" })).toBeTruthy();
    await userEvent.click(screen.getByRole("button", { name: "Add to cart" }));
    await waitFor(() =>
      expect(onPrompt).toHaveBeenCalledWith(
        expect.objectContaining({ params: { itemId: "12345", count: 1 } }),
      ),
    );
  });

  it("sends what was entered with a button's own parameters", async () => {
    const onPrompt = vi.fn(() => true);
    const root = {
      type: "column",
      children: [
        { type: "input", props: { name: "count", label: "How many", type: "number" } },
        { type: "select", props: { name: "colour", label: "Colour", options: ["red", "blue"] } },
        { type: "switch", props: { name: "gift", label: "As a gift" } },
        { type: "button", text: "Go", action: { id: "addToCart", params: { itemId: "7" } } },
      ],
    };
    show(block("tree", { root }, { actions }), {}, { onPrompt });
    await userEvent.type(await screen.findByLabelText("How many"), "3");
    await userEvent.selectOptions(screen.getByLabelText("Colour"), "blue");
    await userEvent.click(screen.getByRole("switch", { name: "As a gift" }));
    await userEvent.click(screen.getByRole("button", { name: "Go" }));
    await waitFor(() =>
      expect(onPrompt).toHaveBeenCalledWith(
        expect.objectContaining({
          params: { count: 3, colour: "blue", gift: true, itemId: "7" },
        }),
      ),
    );
  });

  it("draws what it does not know as its words, and styles nothing by data", async () => {
    const { container } = show(
      block("tree", {
        root: {
          type: "row",
          props: { gap: "12px", style: "position:fixed" },
          children: [
            {
              type: "hologram",
              props: { label: "Shimmering" },
              children: [{ type: "text", value: "in" }],
            },
            { type: "text", value: "<i>plain</i>", style: "font-size:90px" },
          ],
        },
      }),
    );
    expect(await screen.findByText("Shimmering")).toBeTruthy();
    expect(screen.getByText("in")).toBeTruthy();
    expect(screen.getByText("<i>plain</i>").getAttribute("data-text")).toBe("body");
    expect(container.querySelector(".inlay-tree [style]")).toBeNull();
    expect(container.querySelector(".inlay-tree-row")?.getAttribute("data-gap")).toBe("medium");
  });

  it("draws a deep, large and wordy tree up to its limits", async () => {
    let root: TreeNode = { type: "text", value: "at the bottom" };
    for (let n = 1; n < 60; n++) {
      root = { type: "column", children: [{ type: "text", value: `level ${60 - n}` }, root] };
    }
    const cut = withinLimits(root);
    let depth = 0;
    for (let node: TreeNode | undefined = cut; node; depth++) {
      node = node.children?.find(
        (c): c is TreeNode => typeof c !== "string" && c.type === "column",
      );
    }
    expect(depth).toBe(50);
    const wide = { type: "list", children: Array.from({ length: 3_000 }, (_, n) => `item ${n}`) };
    expect(withinLimits(wide).children).toHaveLength(1_999);
    expect(withinLimits({ type: "text", value: "x".repeat(9_000) }).value).toHaveLength(8_192);
    // What is no tree at all is drawn as far as it is one.
    const odd = JSON.parse('{"type":"list","children":[null,1,["a"],"b",{"type":"text"}]}');
    expect(withinLimits(odd).children).toHaveLength(3);
    show(block("tree", { root }));
    expect(await screen.findByText("level 49")).toBeTruthy();
    expect(screen.queryByText("level 50")).toBeNull();
  });

  it("posts the action of a node as its card wrote it, and says what came of it on the button", async () => {
    const sent: unknown[] = [];
    const client = new InlayClient({
      fetch: (async (_url, init) => {
        sent.push(JSON.parse(String(init?.body)));
        return Response.json({
          status: "done",
          msgId: "m_1",
          conversationId: "c_1",
          block: { id: "b_tree", rev: 1 },
        });
      }) as typeof fetch,
    });
    const feedback = { successText: "已加购", failureToast: "加购失败，请稍后重试" };
    const root = {
      type: "button",
      text: "加入购物车",
      action: { type: "api", name: "addToCart", params: { itemId: "12345" }, feedback },
    } satisfies TreeNode;
    const action = { id: "addToCart", label: "加入购物车", kind: "api", feedback } as const;
    show(block("tree", { root }, { actions: [action] }), {}, { client });
    await userEvent.click(await screen.findByRole("button", { name: "加入购物车" }));
    expect(await screen.findByRole("button", { name: "已加购" })).toBeTruthy();
    expect(sent.filter((body) => (body as { actionId?: string }).actionId)).toEqual([
      expect.objectContaining({
        msgId: "m_1",
        blockId: "b_tree",
        actionId: "addToCart",
        payload: { itemId: "12345" },
        traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      }),
    ]);
  });

  it("greys a button of a kind that this client does not know", async () => {
    const root = { type: "button", text: "Beam", action: "beam" };
    const beam = { id: "beam", label: "Beam", kind: "beam" } as unknown as Action;
    show(block("tree", { root }, { actions: [beam] }));
    const button = await screen.findByRole("button", { name: "Beam" });
    expect(button.getAttribute("aria-disabled")).toBe("true");
  });

  it("keeps a button that does nothing off", async () => {
    show(block("tree", { root: { type: "button", text: "Nowhere", action: "unknown" } }));
    const button = (await screen.findByRole("button", { name: "Nowhere" })) as HTMLButtonElement;
    expect(button.disabled).toBe(true);
  });

  it("reads tokens with and without their family, and scalars beside the type", () => {
    expect(token("text", "text.title")).toBe("title");
    expect(token("color", "primary")).toBe("primary");
    expect(token("color", "#ff0000")).toBe("text");
    expect(propsOf({ type: "text", value: "a", style: "title", props: { value: "b" } })).toEqual({
      value: "b",
      style: "title",
    });
  });
});

describe("echarts_raw", () => {
  const option = {
    series: [
      {
        type: "sankey",
        data: [{ name: "a" }, { name: "b" }],
        links: [{ source: "a", target: "b", value: 5 }],
      },
    ],
    tooltip: { trigger: "item" },
  };

  it("is drawn over the page's look, its tooltips as text", async () => {
    show(block("echarts_raw", { option, title: "Flow" }, { fallback: "Flow: a to b 5" }));
    expect(await screen.findByRole("img", { name: "Flow: a to b 5" })).toBeTruthy();
    await waitFor(() => expect(drawn).toHaveLength(1));
    expect(drawn[0]).toMatchObject({
      backgroundColor: "transparent",
      series: option.series,
      tooltip: { trigger: "item", renderMode: "richText" },
    });
  });

  it.each([
    ["a function", { formatter: "function (p) { return p }" }],
    ["an arrow", { series: [{ label: { formatter: "p => p.name" } }] }],
    ["markup", { title: { text: "<img src=x>" } }],
    ["an address", { series: [{ symbol: "image://https://example.com/a.png" }] }],
    ["a link", { title: { text: "x", link: "/y" } }],
    ["a view of its data", { toolbox: { feature: { dataView: {} } } }],
    ["HTML by mode", { tooltip: { renderMode: "html" } }],
    ["a prototype", JSON.parse('{"__proto__": {"x": 1}}')],
  ])("is not drawn with %s in it", (_name, bad) => {
    expect(checkOption(bad)).not.toBeNull();
    expect(checkOption(option)).toBeNull();
  });

  it("is shown as its text then", async () => {
    const bad = { tooltip: { formatter: "<b>{b}</b>" } };
    show(block("echarts_raw", { option: bad }, { fallback: "Flow: a to b 5" }));
    expect(await screen.findByText("Flow: a to b 5")).toBeTruthy();
    expect(drawn).toEqual([]);
  });
});

describe("checks", () => {
  it("take what can be drawn and unknown fields, and name what is missing", () => {
    expect(checkFile({ assetId: "a", name: "n", mime: "m", size: 1, extra: 1 })).toBeNull();
    expect(checkFile({ progress: { done: 1 } })).toBeNull();
    expect(checkFile({ progress: {} })).not.toBeNull();
    expect(checkFile({ assetId: "a", name: "n", mime: "m" })).not.toBeNull();
    expect(
      checkFile({ assetId: "a", name: "n", mime: "m", size: 1, preview: { kind: "table" } }),
    ).not.toBeNull();
    expect(checkImage({ assetId: "a" })).not.toBeNull();
    expect(checkCard({ title: "t", fields: [{ label: "l" }] })).not.toBeNull();
    expect(checkCardList({ items: [{ title: "t" }, {}] })).not.toBeNull();
    expect(checkSteps({ items: [{ id: "1", label: "l", status: "lost" }] })).not.toBeNull();
    expect(checkTree({ root: {} })).not.toBeNull();
    expect(checkRaw({ option: [] })).not.toBeNull();
    for (const check of [checkFile, checkImage, checkCard, checkCardList, checkSteps, checkTree]) {
      expect(check(null)).not.toBeNull();
      expect(check([])).not.toBeNull();
    }
  });
});
