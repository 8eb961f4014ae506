import { type Block, InlayClient } from "@inlay-ui/client";
import { act, cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { BlockView } from "../src/BlockView.tsx";
import { selectParams } from "../src/blocks/ChartBlock.tsx";
import { builtinRenderers } from "../src/blocks/index.ts";
import { sparkPath } from "../src/blocks/MetricBlock.tsx";
import { checkCode, checkMetric, checkTable, checkText } from "../src/blocks/payloads.ts";
import { clientCapabilityTokens } from "../src/builtins.ts";
import type { ChartSpec } from "../src/chart/spec.ts";
import { blocksEn } from "../src/i18n/blocks.en.ts";
import { blocksZh } from "../src/i18n/blocks.zh.ts";
import { InlayProvider, type InlayProviderProps } from "../src/provider.tsx";

type Handler = (params: unknown) => void;

interface FakeChart {
  option: Record<string, unknown>;
  draws: number;
  click: Handler;
  actions: { type: string; dataIndex?: number }[];
  disposed: boolean;
}

const fake = vi.hoisted(() => ({ charts: [] as unknown[], broken: false }));
const charts = fake.charts as FakeChart[];

vi.mock("../src/chart/echarts.ts", () => ({
  init: () => {
    if (fake.broken) {
      throw new Error("no canvas");
    }
    const chart: FakeChart = {
      option: {},
      draws: 0,
      click: () => {},
      actions: [],
      disposed: false,
    };
    fake.charts.push(chart);
    return {
      on: (_name: string, handler: Handler) => {
        chart.click = handler;
      },
      resize: () => {},
      setOption: (option: Record<string, unknown>) => {
        chart.option = option;
        chart.draws++;
      },
      dispatchAction: (action: { type: string; dataIndex?: number }) => chart.actions.push(action),
      dispose: () => {
        chart.disposed = true;
      },
    };
  },
}));

beforeEach(() => {
  charts.length = 0;
  fake.broken = false;
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

const client = new InlayClient({ fetch: () => Promise.reject(new Error("no network")) });

function block(type: string, payload: unknown, extra: Partial<Block> = {}): Block {
  return { id: `b_${type}`, type, version: 1, status: "done", rev: 1, payload, ...extra };
}

function view(one: Block, props: Partial<InlayProviderProps> = {}) {
  return (
    <InlayProvider client={client} theme="light" {...props}>
      <BlockView block={one} messageId="m_1" />
    </InlayProvider>
  );
}

/** Catches the files that the page offers. */
function downloads(): { name: string; text(): Promise<string> }[] {
  const files: { name: string; text(): Promise<string> }[] = [];
  let last: Blob | undefined;
  URL.createObjectURL = (blob) => {
    last = blob as Blob;
    return "blob:test";
  };
  URL.revokeObjectURL = () => {};
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (
    this: HTMLAnchorElement,
  ) {
    const blob = last;
    files.push({
      name: this.download,
      text: () =>
        new Promise((resolve) => {
          const reader = new FileReader();
          reader.onload = () => resolve(String(reader.result));
          if (blob) {
            reader.readAsText(blob);
          }
        }),
    });
  });
  return files;
}

async function choose(name: string): Promise<void> {
  await userEvent.click(screen.getByRole("button", { name: /^More/ }));
  await userEvent.click(screen.getByText(name));
}

describe("the registry of built-ins", () => {
  it("has each type once, with a check, and says so to the server", () => {
    const names = builtinRenderers.map((e) => `${e.type}@${e.major}`);
    expect(names).toEqual([...new Set(names)]);
    expect(builtinRenderers.every((e) => e.check)).toBe(true);
    expect(clientCapabilityTokens()).toEqual(expect.arrayContaining(["chart@1", "table@1"]));
  });

  it("has the same words in both languages", () => {
    expect(Object.keys(blocksZh).sort()).toEqual(Object.keys(blocksEn).sort());
    for (const [key, text] of Object.entries(blocksEn)) {
      const places = (s: string | undefined) => (s?.match(/\{\w+\}/g) ?? []).sort();
      expect(places(blocksZh[key]), key).toEqual(places(text));
    }
  });

  it.each([
    [checkText, 5, "not a string"],
    [checkTable, { columns: [], rows: [] }, "columns are missing"],
    [checkTable, { columns: [{ label: "x" }], rows: [] }, "lacks its field"],
    [checkTable, { columns: [{ field: "x" }], rows: [1] }, "not a list of rows"],
    [checkMetric, { items: [] }, "items are missing"],
    [checkMetric, { items: [{ label: "x", value: true }] }, "lacks its label or value"],
    [checkCode, { lang: "go" }, "missing"],
    [checkCode, null, "not an object"],
  ])("%o refuses %j", (check, payload, want) => {
    expect(check(payload)).toContain(want);
  });

  it("ignore what they do not know", () => {
    expect(checkTable({ columns: [{ field: "x", later: 1 }], rows: [], later: 1 })).toBeNull();
    expect(checkMetric({ items: [{ label: "x", value: null, later: 1 }] })).toBeNull();
    expect(checkCode({ lang: "go", source: "", later: 1 })).toBeNull();
    expect(checkText("")).toBeNull();
  });
});

describe("table", () => {
  const payload = {
    columns: [
      { field: "name", label: "Name" },
      { field: "n", label: "Amount", type: "number", format: "currency", currency: "USD" },
      { field: "day", label: "Day", type: "time", format: "date" },
      { field: "ok", label: "Paid", type: "boolean" },
      { field: "url", label: "Page", type: "link" },
    ],
    rows: [
      { name: "Beta 10", n: 5, day: "2026-02-01", ok: true, url: "https://example.com/b" },
      { name: "=Alpha", n: -1200.5, day: "2026-01-01", ok: false, url: "javascript:alert(1)" },
      { name: "Beta 9", n: null, day: null, ok: null, url: null },
    ],
    total: 40,
    caption: "Customers",
  };
  const cells = (column: number) =>
    [...document.querySelectorAll("tbody tr")].map((row) => row.children[column]?.textContent);

  it("formats its cells by column", async () => {
    render(view(block("table", payload)));
    expect(await screen.findByText("$5")).toBeTruthy();
    expect(cells(1)).toEqual(["$5", "-$1,200.50", ""]);
    expect(cells(2)).toEqual(["Feb 1, 2026", "Jan 1, 2026", ""]);
    expect(cells(3)).toEqual(["Yes", "No", ""]);
    expect([...document.querySelectorAll("tbody a")].map((a) => a.getAttribute("href"))).toEqual([
      "https://example.com/b",
    ]);
    expect(document.querySelector("td.inlay-cell-end.inlay-figures")?.textContent).toBe("$5");
    expect(screen.getByText("3 of 40 rows are shown.")).toBeTruthy();
    expect(document.querySelector("caption")?.textContent).toBe("Customers");
  });

  it("sorts up, down and back, with gaps at the end", async () => {
    render(view(block("table", payload)));
    const head = await screen.findByRole("button", { name: "Amount" });
    await userEvent.click(head);
    expect(cells(1)).toEqual(["-$1,200.50", "$5", ""]);
    expect(head.closest("th")?.getAttribute("aria-sort")).toBe("ascending");
    await userEvent.click(head);
    expect(cells(1)).toEqual(["$5", "-$1,200.50", ""]);
    await userEvent.click(head);
    expect(cells(1)).toEqual(["$5", "-$1,200.50", ""]);
    expect(head.closest("th")?.hasAttribute("aria-sort")).toBe(false);
    await userEvent.click(screen.getByRole("button", { name: "Name" }));
    expect(cells(0)).toEqual(["=Alpha", "Beta 9", "Beta 10"]);
  });

  it("filters by what its cells say", async () => {
    const rows = Array.from({ length: 20 }, (_, i) => ({ name: `Row ${i}`, n: i * 1000 }));
    render(view(block("table", { columns: payload.columns.slice(0, 2), rows })));
    await userEvent.type(await screen.findByRole("searchbox"), "$1,0");
    await vi.waitFor(() => expect(cells(0)).toEqual(["Row 1"]));
    expect(screen.getByText("1 of 20 rows")).toBeTruthy();
    await userEvent.type(screen.getByRole("searchbox"), "xyz");
    await vi.waitFor(() => expect(screen.getByText("No row matches the filter")).toBeTruthy());
  });

  it("draws of many rows only those in view", async () => {
    const rows = Array.from({ length: 5000 }, (_, i) => ({ name: `Row ${i}`, n: i }));
    render(view(block("table", { columns: payload.columns.slice(0, 2), rows })));
    await screen.findByRole("table");
    expect(screen.getByRole("table").getAttribute("aria-rowcount")).toBe("5001");
    expect(document.querySelectorAll("tbody tr").length).toBeLessThan(120);
  });

  it("grows while rows arrive", async () => {
    const part = { ...payload, rows: payload.rows.slice(0, 1) };
    const { rerender } = render(view(block("table", part, { status: "loading" })));
    await screen.findByRole("table");
    const first = document.querySelector("tbody tr");
    rerender(view(block("table", payload)));
    expect(document.querySelectorAll("tbody tr")).toHaveLength(3);
    expect(document.querySelector("tbody tr")).toBe(first);
  });

  it("is saved as CSV with raw values", async () => {
    const files = downloads();
    render(view(block("table", payload, { meta: { title: "Sample customers" } })));
    await screen.findByRole("table");
    await choose("Download CSV");
    expect(files[0]?.name).toBe("Sample customers.csv");
    expect(await files[0]?.text()).toContain(
      "Name,Amount,Day,Paid,Page\r\nBeta 10,5,2026-02-01,true,https://example.com/b\r\n'=Alpha,-1200.5,",
    );
  });
});

describe("metric", () => {
  it("shows value, change and trend, coloured by what is good", async () => {
    render(
      view(
        block("metric", {
          items: [
            {
              label: "Revenue",
              value: 1234567,
              format: "compact",
              delta: 0.125,
              deltaFormat: "percent",
              trend: [1, 3, 2],
            },
            { label: "Refunds", value: 0.034, format: "percent", delta: 0.004, goodWhen: "down" },
            { label: "Latency", value: 0.42, format: "duration", delta: -0.1, goodWhen: "neutral" },
            { label: "Status", value: "fine", delta: 0 },
            { label: "Unknown", value: null },
          ],
        }),
      ),
    );
    expect(await screen.findByText("1.2M")).toBeTruthy();
    const tones = [...document.querySelectorAll(".inlay-metric-delta")].map((d) => [
      d.className.match(/tone-(\w+)/)?.[1],
      d.textContent?.replace(/\u00a0/g, " "),
    ]);
    expect(tones).toEqual([
      ["good", "▲ +12.5% up"],
      ["bad", "▲ +0.4% up"],
      ["plain", "▼ −100 ms down"],
      ["plain", "0 unchanged"],
    ]);
    expect(document.querySelectorAll("svg")).toHaveLength(1);
    expect(screen.getByRole("img").textContent).toBe("Trend of 3 values, from 1 to 2");
  });

  it("leaves gaps in its lines", () => {
    expect(sparkPath([1, 2, null, 3, 4]).match(/M/g)).toHaveLength(2);
    expect(sparkPath([1])).toBe("");
    expect(sparkPath([null, null])).toBe("");
    expect(sparkPath([5, 5])).toBe("M2.0 16.0L118.0 16.0");
  });
});

describe("code", () => {
  it("is copied as it is", async () => {
    const user = userEvent.setup();
    const write = vi.spyOn(navigator.clipboard, "writeText").mockResolvedValue();
    render(view(block("code", { lang: "sql", source: "SELECT 1;\n", filename: "a.sql" })));
    await user.click(await screen.findByRole("button", { name: "Copy" }));
    expect(write).toHaveBeenCalledWith("SELECT 1;\n");
    expect(await screen.findByText("Copied")).toBeTruthy();
    expect(screen.getByText("a.sql")).toBeTruthy();
    expect(screen.getByText("1 line")).toBeTruthy();
  });
});

describe("chart", () => {
  const spec: ChartSpec = {
    version: 1,
    type: "bar",
    title: "Q3 sales",
    unit: "k",
    x: { field: "region", title: "Region" },
    series: [{ field: "sales", name: "Sales" }],
    data: [
      { region: "East", sales: 320, secret: "x" },
      { region: "<img src=x onerror=alert(1)>", sales: 210, secret: "y" },
    ],
    onSelect: { actionId: "ask", params: { area: "region" } },
    truncated: { shown: 2, total: 1500 },
  };
  const ask = { id: "ask", label: "Ask", kind: "prompt" as const, prompt: "Why {{area}}?" };
  const drawn = (extra: Partial<Block> = {}) => block("chart", spec, { actions: [ask], ...extra });

  it("says what it shows, and how much of it", async () => {
    render(view(drawn()));
    const picture = await screen.findByRole("img", { name: /^Bar chart: Q3 sales\./ });
    expect(picture.getAttribute("aria-label")).toContain("highest 320");
    expect(screen.getByText("Drawn from 2 of 1,500 rows.")).toBeTruthy();
    await vi.waitFor(() => expect(charts[0]?.draws).toBe(1));
  });

  it("draws names as text in its tooltip", async () => {
    render(view(drawn()));
    await vi.waitFor(() => expect(charts[0]?.draws).toBe(1));
    const { tooltip, series } = (charts[0]?.option ?? {}) as {
      tooltip: { formatter(p: unknown): HTMLElement };
      series: { data: unknown[] }[];
    };
    const element = tooltip.formatter([{ seriesIndex: 0, dataIndex: 1, data: series[0]?.data[1] }]);
    expect(element.querySelector("img")).toBeNull();
    expect(element.textContent).toContain("<img src=x");
  });

  it("is drawn again in the other theme, and not without need", async () => {
    const one = drawn();
    const { rerender, unmount } = render(view(one));
    await vi.waitFor(() => expect(charts[0]?.draws).toBe(1));
    rerender(view(one));
    expect(charts[0]?.draws).toBe(1);
    const light = charts[0]?.option.color;
    rerender(view(one, { theme: "dark" }));
    await vi.waitFor(() => expect(charts[0]?.option.color).not.toEqual(light));
    expect(charts).toHaveLength(1);
    unmount();
    expect(charts[0]?.disposed).toBe(true);
  });

  it("asks about what was clicked, with the named fields only", async () => {
    const onPrompt = vi.fn(() => true);
    render(view(drawn(), { onPrompt }));
    await vi.waitFor(() => expect(charts[0]?.draws).toBe(1));
    act(() => charts[0]?.click({ data: { value: 320, row: 0 } }));
    act(() => charts[0]?.click({ data: { value: 1, row: -1 } }));
    act(() => charts[0]?.click(null));
    await vi.waitFor(() => expect(onPrompt).toHaveBeenCalledTimes(1));
    expect(onPrompt).toHaveBeenCalledWith(
      expect.objectContaining({ text: "Why East?", params: { area: "East" } }),
    );
    expect(selectParams(spec, 5)).toBeNull();
  });

  it("does nothing at a click without its action", async () => {
    const onPrompt = vi.fn(() => true);
    render(view(drawn({ actions: [] }), { onPrompt }));
    await vi.waitFor(() => expect(charts[0]?.draws).toBe(1));
    act(() => charts[0]?.click({ data: { value: 320, row: 0 } }));
    expect(onPrompt).not.toHaveBeenCalled();
  });

  it("can be walked through and asked by keyboard", async () => {
    const onPrompt = vi.fn(() => true);
    render(view(drawn(), { onPrompt }));
    await vi.waitFor(() => expect(charts[0]?.draws).toBe(1));
    const picture = screen.getByRole("img");
    fireEvent.keyDown(picture, { key: "Enter" });
    fireEvent.keyDown(picture, { key: "ArrowRight" });
    expect(screen.getByText(/^East – Sales: 320/)).toBeTruthy();
    expect(charts[0]?.actions.at(-1)).toMatchObject({ type: "showTip", dataIndex: 0 });
    fireEvent.keyDown(picture, { key: "ArrowLeft" });
    fireEvent.keyDown(picture, { key: "Home" });
    fireEvent.keyDown(picture, { key: "Enter" });
    await vi.waitFor(() => expect(onPrompt).toHaveBeenCalledTimes(1));
    fireEvent.keyDown(picture, { key: "Escape" });
    expect(charts[0]?.actions.at(-1)).toMatchObject({ type: "hideTip" });
  });

  it("is also a table, whose rows ask too", async () => {
    const onPrompt = vi.fn(() => true);
    render(view(drawn(), { onPrompt }));
    await screen.findByRole("img");
    await choose("Show as table");
    const table = screen.getByRole("table");
    expect(within(table).getByText("Region")).toBeTruthy();
    expect(within(table).queryByText("secret")).toBeNull();
    await userEvent.click(within(table).getByRole("button", { name: /^East/ }));
    await vi.waitFor(() => expect(onPrompt).toHaveBeenCalledTimes(1));
    await choose("Show as table");
    expect(await screen.findByRole("img")).toBeTruthy();
  });

  it("is saved as CSV", async () => {
    const files = downloads();
    render(view(drawn()));
    await screen.findByRole("img");
    await choose("Download CSV");
    expect(files[0]?.name).toBe("Q3 sales.csv");
    expect(await files[0]?.text()).toContain("Region,Sales\r\nEast,320\r\n");
  });

  it("shows its data when it cannot be drawn", async () => {
    fake.broken = true;
    vi.spyOn(console, "error").mockImplementation(() => {});
    render(view(drawn()));
    expect(await screen.findByText("The chart could not be drawn. Here is its data.")).toBeTruthy();
    expect(screen.getByRole("table")).toBeTruthy();
  });

  it("says that there is nothing to draw", async () => {
    render(view(block("chart", { ...spec, data: [] })));
    expect(await screen.findByText("No data to draw")).toBeTruthy();
  });

  it("gives way to its fallback when the payload is wrong", () => {
    render(
      view(
        block(
          "chart",
          { ...spec, series: [{ field: "nope", name: "x" }] },
          { fallback: "East 320" },
        ),
      ),
    );
    expect(screen.getByText("East 320")).toBeTruthy();
  });
});
