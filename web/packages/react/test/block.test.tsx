import type { Block } from "@inlay-ui/client";
import { act, cleanup, fireEvent, screen, within } from "@testing-library/react";
import { useMemo } from "react";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import errors from "../../../../schema/errors.json";
import { errorText, translator } from "../src/i18n/index.ts";
import { type BlockProps, BlockView, defineRenderer, useBlockMenu } from "../src/index.ts";
import { block, show } from "./help.tsx";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

interface Demo {
  label: string;
}
function Drawn({ payload, loading }: BlockProps<Demo>) {
  return <p data-loading={loading}>{payload.label}</p>;
}
const demo = defineRenderer<Demo>({
  type: "demo",
  major: 1,
  component: Drawn,
  check: (p) => (typeof (p as Demo | null)?.label === "string" ? null : "no label"),
});
let failing = true;
function Fragile({ payload }: BlockProps<Demo>) {
  if (failing) throw new Error("renderer bug");
  return <p>{payload.label}</p>;
}

const draws: string[] = [];
function Counted({ block: b }: BlockProps) {
  draws.push(b.id);
  return null;
}

const runs: string[] = [];
function WithMenu({ payload }: BlockProps<Demo>) {
  const items = useMemo(
    () => [
      { id: "table", label: "As table", pressed: true, run: () => void runs.push("table") },
      {
        id: "png",
        label: "PNG",
        run: () => Promise.reject(new Error("no canvas")),
      },
    ],
    [],
  );
  useBlockMenu(items);
  return <p>{payload.label}</p>;
}

const view = (b: Block) => <BlockView block={b} messageId="m_1" />;
const root = (container: HTMLElement) => {
  const element = container.querySelector<HTMLElement>("[data-block-id]");
  if (!element) throw new Error("no block");
  return element;
};

describe("BlockView", () => {
  test("frame with title, origin and data attributes", () => {
    const at = new Date();
    at.setHours(10, 42);
    const b = block({ meta: { title: "Sales", source: "Demo ERP", fetchedAt: at.getTime() } });
    const { container } = show(view(b), { blocks: { demo }, lang: "en-GB" });
    expect(root(container).dataset).toMatchObject({
      blockId: "b_1",
      blockType: "demo",
      blockStatus: "done",
    });
    expect(screen.getByRole("region", { name: "Sales" })).toBe(root(container));
    expect(screen.getByText("As of 10:42")).toBeTruthy();
    expect(screen.getByText("Source: Demo ERP")).toBeTruthy();
    expect(screen.getByText("drawn")).toBeTruthy();
    expect(container.textContent).not.toContain("as text");
  });

  test("loading: the skeleton has the height and the title from the start", () => {
    const b = block({
      status: "loading",
      payload: undefined,
      meta: { title: "Sales", estimatedHeight: 320 },
    });
    const { container } = show(view(b), { blocks: { demo } });
    expect(screen.getByRole("heading", { name: "Sales" })).toBeTruthy();
    expect(screen.getByLabelText("Loading Sales").style.minHeight).toBe("320px");
    expect(root(container).getAttribute("aria-busy")).toBe("true");
  });

  test("loading with a payload: drawn when it is good already", () => {
    const { update } = show(view(block({ status: "loading", payload: {} })), { blocks: { demo } });
    expect(screen.getByLabelText("Loading")).toBeTruthy();
    update(view(block({ status: "loading" })));
    expect(screen.getByText("drawn").dataset.loading).toBe("true");
  });

  test("an unknown type and a wrong payload are shown as text in the same frame", () => {
    const { container, update } = show(view(block({ type: "hologram" })), { blocks: { demo } });
    expect(root(container).className).toBe("inlay-block");
    expect(screen.getByText("as text")).toBeTruthy();
    expect(screen.getByText("This page cannot show this kind of content.")).toBeTruthy();
    update(view(block({ payload: { label: 5 } })));
    expect(screen.getByText("as text")).toBeTruthy();
    expect(screen.getByText(/could not be checked/)).toBeTruthy();
  });

  test("a check that throws counts against the payload", () => {
    const broken = defineRenderer<Demo>({
      type: "demo",
      major: 1,
      component: Drawn,
      check: () => {
        throw new Error("oops");
      },
    });
    show(view(block()), { blocks: { demo: broken } });
    expect(screen.getByText("as text")).toBeTruthy();
  });

  test("a newer version is shown in part if its payload fits, else as text", () => {
    const { update } = show(view(block({ version: 2 })), { blocks: { demo } });
    expect(screen.getByText("drawn")).toBeTruthy();
    expect(screen.getByText(/Shown in part/)).toBeTruthy();
    update(view(block({ version: 2, payload: { title: "?" } })));
    expect(screen.getByText("as text")).toBeTruthy();
    expect(screen.queryByText(/Shown in part/)).toBeNull();
  });

  test("an error is worded, with its fallback, and with a retry only if that can help", () => {
    const error = { code: "TOOL_TIMEOUT", message: "x", retryable: true };
    const b = block({ status: "error", payload: undefined, error });
    const { update } = show(view(b), { blocks: { demo } });
    expect(screen.getByText("Loading the data took too long.")).toBeTruthy();
    expect(screen.getByText("as text")).toBeTruthy();
    expect(screen.getByRole("button", { name: "Try again" })).toBeTruthy();
    update(view({ ...b, error: { ...error, code: "NO_SEATS", message: "No seats are left." } }));
    expect(screen.getByText("No seats are left.")).toBeTruthy();
    update(view({ ...b, error: { code: "NEW_CODE", message: "", retryable: false } }));
    expect(screen.getByText("Something went wrong (NEW_CODE).")).toBeTruthy();
    expect(screen.queryByRole("button")).toBeNull();
  });

  test.each([
    ["a fence", '```DemoCard\n{"label": 1}\n```'],
    ["a fence that was cut", '~~~DemoCard\n{"label": "dra'],
    ["an object", '{"label": 1}'],
    ["a placeholder", "[(DemoCard:d-1)]"],
    ["an element", '<demo title="x">y</demo>'],
  ])("a card that failed shows its source quietly: %s", (_, fallback) => {
    const error = { code: "SCHEMA_INVALID", message: "x", retryable: false };
    const b = block({ status: "error", payload: undefined, fallback, error });
    const { container } = show(view(b), { blocks: { demo } });
    const said = screen.getByText("The data does not have the form that was expected.");
    expect(said.parentElement?.dataset.tone).toBeUndefined();
    expect(container.querySelector("pre > code")?.textContent).toBe(fallback);
  });

  test("a fallback in words is no source", () => {
    const error = { code: "SCHEMA_INVALID", message: "x", retryable: false };
    const fallback = "Sample watch: 699 CNY [more] (in stock)";
    const b = block({ status: "error", payload: undefined, fallback, error });
    const { container } = show(view(b), { blocks: { demo } });
    expect(screen.getByText(fallback)).toBeTruthy();
    expect(container.querySelector("pre")).toBeNull();
  });

  test("what is late keeps its place, with a retry on it", async () => {
    const error = { code: "HYDRATE_TIMEOUT", message: "x", retryable: true };
    const late = block({
      status: "error",
      payload: { id: "d-1" },
      fallback: "[(DemoCard:d-1)]",
      meta: { estimatedHeight: 230 },
      error,
    });
    const { container, update } = show(view(late), { blocks: { demo } });
    const place = container.querySelector<HTMLElement>(".inlay-late");
    expect(place?.style.minHeight).toBe("230px");
    expect(place?.textContent).toContain("The data has not arrived in time.");
    expect(place?.querySelector("button")?.textContent).toBe("Try again");
    expect(container.querySelector("pre")).toBeNull();
    // Nothing is announced: the renderer's own height, as its skeleton has it.
    update(view({ ...late, meta: undefined }));
    expect(container.querySelector<HTMLElement>(".inlay-late")?.style.minHeight).toBe("120px");
    update(view({ ...late, error: { ...error, retryable: false } }));
    expect(container.querySelector(".inlay-late")).toBeNull();
    expect(container.querySelector("pre")?.textContent).toBe("[(DemoCard:d-1)]");
  });

  test("a newer version that the older renderer cannot draw says so, with its text", () => {
    show(view(block({ version: 2, payload: { title: "?" } })), { blocks: { demo } });
    expect(screen.getByText("This page cannot show this kind of content.")).toBeTruthy();
    expect(screen.queryByText(/could not be checked/)).toBeNull();
  });

  test("a failed refresh keeps the drawing and says so", () => {
    const error = {
      code: "DATA_FETCH_FAILED",
      message: "The data could not be fetched.",
      retryable: true,
    };
    show(view(block({ error })), { blocks: { demo } });
    expect(screen.getByText("drawn")).toBeTruthy();
    expect(screen.getByText("Not refreshed: The data could not be loaded.")).toBeTruthy();
    expect(screen.getByRole("button", { name: "Try again" })).toBeTruthy();
  });

  test("what a tool says of its data is shown in its own words, in every language", () => {
    const error = { code: "DATA_FETCH_FAILED", message: "There are no sales in 2019Q3." };
    for (const lang of ["en", "zh"]) {
      const t = translator(lang);
      expect(errorText(t, error.code, error.message)).toBe(error.message);
      // What the server says for a tool without words is worded here.
      expect(errorText(t, error.code, errors.DATA_FETCH_FAILED.en)).toBe(
        t("chat.error.DATA_FETCH_FAILED"),
      );
      expect(errorText(t, "TOOL_TIMEOUT", "context deadline exceeded")).toBe(
        t("chat.error.TOOL_TIMEOUT"),
      );
    }
  });

  test("bare text has no frame, also when it was interrupted", () => {
    const bare = defineRenderer<string>({
      type: "note",
      major: 1,
      component: ({ payload }: BlockProps<string>) => <em>{payload}</em>,
      bare: true,
    });
    const b = block({ type: "note", payload: "so far", meta: { title: "T" } });
    const { container, update } = show(view(b), { blocks: { note: bare } });
    expect(root(container).className).toBe("inlay-bare");
    expect(screen.queryByRole("heading")).toBeNull();
    const error = { code: "INTERRUPTED", message: "", retryable: true };
    update(view({ ...b, status: "error", error }));
    expect(screen.getByText("so far")).toBeTruthy();
    expect(root(container).dataset.blockStatus).toBe("error");
  });
});

describe("isolation", () => {
  const fragile = defineRenderer<Demo>({ type: "fragile", major: 1, component: Fragile });

  beforeEach(() => {
    failing = true;
    vi.spyOn(console, "error").mockImplementation(() => {});
  });

  test("a renderer that throws takes only its own block down, and can be tried again", () => {
    show(
      <>
        {view(block({ id: "b_0", type: "fragile" }))}
        {view(block())}
      </>,
      { blocks: { demo, fragile } },
    );
    expect(screen.getByText("drawn")).toBeTruthy();
    expect(screen.getByText("This content could not be drawn.")).toBeTruthy();
    expect(screen.getByText("as text")).toBeTruthy();
    failing = false;
    fireEvent.click(screen.getByRole("button", { name: "Try again" }));
    expect(screen.getAllByText("drawn")).toHaveLength(2);
  });

  test("new data is drawn without asking", () => {
    const { update } = show(view(block({ type: "fragile" })), { blocks: { fragile } });
    failing = false;
    update(view(block({ type: "fragile", payload: { label: "new" } })));
    expect(screen.getByText("new")).toBeTruthy();
  });

  test("a chunk that did not load is loaded again on request", async () => {
    const load = vi
      .fn<() => Promise<{ default: typeof Drawn }>>()
      .mockRejectedValueOnce(new TypeError("Failed to fetch dynamically imported module"))
      .mockResolvedValue({ default: Drawn });
    const lazy = defineRenderer<Demo>({ type: "lazy", major: 1, load });
    const b = block({ type: "lazy", meta: { estimatedHeight: 200 } });
    show(view(b), { blocks: { lazy } });
    expect(screen.getByRole("img").style.minHeight).toBe("200px");
    const button = await screen.findByRole("button", { name: "Try again" });
    await act(async () => fireEvent.click(button));
    expect(await screen.findByText("drawn")).toBeTruthy();
    expect(load).toHaveBeenCalledTimes(2);
  });

  test("blocks that did not change are not drawn again", () => {
    draws.length = 0;
    const blocks = { counted: defineRenderer({ type: "counted", major: 1, component: Counted }) };
    const one = block({ id: "b_1", type: "counted" });
    const two = block({ id: "b_2", type: "counted" });
    const all = (a: Block, b: Block) => (
      <>
        {view(a)}
        {view(b)}
      </>
    );
    const { update } = show(all(one, two), { blocks });
    expect(draws).toEqual(["b_1", "b_2"]);
    update(all(one, { ...two }));
    expect(draws).toEqual(["b_1", "b_2", "b_2"]);
  });
});

describe("menu", () => {
  test("entries of the type and of the component, by pointer and by keys", async () => {
    runs.length = 0;
    const entry = defineRenderer<Demo>({
      type: "demo",
      major: 1,
      component: WithMenu,
      menu: ({ payload }) => [
        { id: "copy", label: "Copy", run: () => void runs.push(payload.label) },
      ],
    });
    show(view(block({ meta: { title: "Sales" } })), { blocks: { demo: entry } });
    const button = screen.getByRole("button", { name: "More for Sales" });
    fireEvent.click(button);
    expect(screen.getAllByRole("menuitem").map((e) => e.textContent)).toEqual(["Copy", "PNG"]);
    expect(screen.getByRole("menuitemcheckbox").getAttribute("aria-checked")).toBe("true");
    expect(document.activeElement?.textContent).toBe("Copy");
    const key = (name: string) =>
      fireEvent.keyDown(document.activeElement ?? document.body, { key: name });
    key("ArrowUp");
    expect(document.activeElement?.textContent).toBe("PNG");
    key("ArrowDown");
    key("ArrowDown");
    expect(document.activeElement?.textContent).toBe("As table");
    key("Escape");
    expect(screen.queryByRole("menu")).toBeNull();
    expect(document.activeElement).toBe(button);
    fireEvent.click(button);
    fireEvent.click(screen.getByText("Copy"));
    fireEvent.click(button);
    fireEvent.click(screen.getByText("As table"));
    expect(runs).toEqual(["drawn", "table"]);
    fireEvent.click(button);
    await act(async () => fireEvent.click(screen.getByText("PNG")));
    expect(screen.getByRole("status").textContent).toContain("png");
    fireEvent.click(button);
    fireEvent.pointerDown(document.body);
    expect(screen.queryByRole("menu")).toBeNull();
  });

  test("no entries, no button; refresh where the server can", () => {
    const { update } = show(view(block()), { blocks: { demo } });
    expect(screen.queryByRole("button")).toBeNull();
    update(view(block({ meta: { canRefresh: true } })));
    fireEvent.click(screen.getByRole("button", { name: "More" }));
    expect(screen.getByRole("menuitem", { name: "Refresh" })).toBeTruthy();
  });
});

describe("actions", () => {
  test("a link opens only where it may", async () => {
    const open = vi.spyOn(window, "open").mockReturnValue(null);
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const actions = [
      { id: "a", label: "Good", kind: "link" as const, href: "https://shop.example/x" },
      { id: "b", label: "Elsewhere", kind: "link" as const, href: "https://evil.example/x" },
      { id: "c", label: "Script", kind: "link" as const, href: "javascript:alert(1)" },
    ];
    show(view(block({ actions })), { blocks: { demo }, allow: { link_hosts: ["shop.example"] } });
    for (const { label } of actions)
      await act(async () => fireEvent.click(screen.getByText(label)));
    expect(open.mock.calls).toEqual([["https://shop.example/x", "_blank", "noopener,noreferrer"]]);
    expect(warn).toHaveBeenCalledTimes(2);
  });

  test("a prompt goes to onPrompt, with its text filled in, after the question", async () => {
    const onPrompt = vi.fn(() => true);
    const actions = [
      {
        id: "more",
        label: "More",
        kind: "prompt" as const,
        prompt: "More of {{region}}",
        params: { region: "East" },
        confirm: "Really?",
      },
      { id: "drill", label: "Drill", kind: "prompt" as const, prompt: "Show {{datum}}" },
      { id: "page", label: "Page", kind: "api" as const, inputSchema: { required: ["cursor"] } },
      { id: "new", label: "New kind", kind: "gesture" as "api" },
    ];
    show(view(block({ actions })), { blocks: { demo }, onPrompt });
    for (const label of ["Drill", "Page", "New kind"]) {
      expect(screen.queryByText(label), "needs what this client cannot give").toBeNull();
    }
    fireEvent.click(screen.getByText("More"));
    const dialog = screen.getByRole("alertdialog", { name: "More" });
    expect(dialog.textContent).toContain("Really?");
    await act(async () => fireEvent.click(within(dialog).getByText("Cancel")));
    expect(screen.queryByText("Really?")).toBeNull();
    expect(onPrompt).not.toHaveBeenCalled();
    fireEvent.click(screen.getByText("More"));
    await act(async () =>
      fireEvent.click(
        within(screen.getByRole("alertdialog")).getByRole("button", { name: "More" }),
      ),
    );
    expect(onPrompt).toHaveBeenCalledWith(
      expect.objectContaining({ text: "More of East", messageId: "m_1" }),
    );
  });

  test("disabled by the block's state", () => {
    const actions = [
      {
        id: "x",
        label: "Send",
        kind: "prompt" as const,
        prompt: "x",
        disabledWhen: "sent",
      },
    ];
    const button = () => screen.getByText<HTMLButtonElement>("Send");
    const { update } = show(view(block({ actions, state: "sent" })), { blocks: { demo } });
    expect(button().disabled).toBe(true);
    update(view(block({ actions, state: { status: "sent" } })));
    expect(button().disabled).toBe(true);
    update(view(block({ actions, state: { status: "failed" } })));
    expect(button().disabled).toBe(false);
    const api = [{ id: "x", label: "Send", kind: "api" as const }];
    update(view(block({ actions: api, state: { status: "done", locked: true } })));
    expect(button().disabled, "locked").toBe(true);
    expect(screen.getByText("Done")).toBeTruthy();
  });

  test("local ones copy, fold and download what is there", async () => {
    const copied: string[] = [];
    vi.stubGlobal("navigator", {
      clipboard: { writeText: async (text: string) => void copied.push(text) },
    });
    runs.length = 0;
    const entry = defineRenderer<Demo>({
      ...demo,
      type: "demo",
      major: 1,
      menu: () => [{ id: "csv", label: "CSV", run: () => void runs.push("csv") }],
    } as never);
    const actions = ["copy", "expand", "download", "erase"].map((id) => ({
      id,
      label: `do ${id}`,
      kind: "local" as const,
    }));
    const { container } = show(view(block({ actions })), { blocks: { demo: entry } });
    const body = () => container.querySelector<HTMLElement>(".inlay-block-body");
    expect(screen.queryByText("do erase"), "not one of the fixed ones").toBeNull();
    await act(async () => fireEvent.click(screen.getByText("do copy")));
    expect(copied).toEqual(["as text"]);
    expect(body()?.dataset.folded, "what can be expanded is folded").toBe("true");
    await act(async () => fireEvent.click(screen.getByText("do expand")));
    expect(body()?.dataset.folded).toBeUndefined();
    expect(screen.getByText("do expand").getAttribute("aria-expanded")).toBe("true");
    await act(async () => fireEvent.click(screen.getByText("do download")));
    expect(runs).toEqual(["csv"]);
  });
});
