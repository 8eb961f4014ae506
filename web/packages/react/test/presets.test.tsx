import { type Action, type Block, InlayClient } from "@inlay-ui/client";
import { act, cleanup, fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, describe, expect, test, vi } from "vitest";
import { BlockView, clientCapabilityTokens, type InlayProviderProps } from "../src/index.ts";
import { atPlace, figure, isWaiting, part, parts, word } from "../src/preset/read.ts";
import { show } from "./help.tsx";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const names = ["product_card", "product_list", "train_card", "flight_card", "hotel_card"];

function card(name: string, payload: unknown, change: Partial<Block> = {}): Block {
  return {
    id: "b_1",
    type: `app.${name}`,
    version: 1,
    status: "done",
    rev: 1,
    payload,
    fallback: "the card in words",
    ...change,
  };
}

/** Draws a card and waits until its renderer has come. */
async function draw(block: Block, props: Partial<InlayProviderProps> = {}) {
  const shown = show(<BlockView block={block} messageId="m_1" />, props);
  const { container, update } = shown;
  await waitFor(() =>
    expect(container.querySelector(".inlay-block-body > .inlay-skeleton")).toBeNull(),
  );
  return {
    container,
    update: (next: Block) => update(<BlockView block={next} messageId="m_1" />),
    text: () => (container.textContent ?? "").replaceAll("\u00a0", " "),
  };
}

const watch = {
  id: "12345",
  title: "Sample watch",
  description: "For runners.",
  reason: "Light.",
  price: 1699.5,
  originalPrice: 1999,
  currency: "CNY",
  discount: "Sample week",
  stock: 1200,
  rating: 4.6,
};

test("the presets are registered as all others are, under the names that markup gives them", () => {
  const tokens = clientCapabilityTokens();
  for (const name of names) expect(tokens).toContain(`app.${name}@1`);
});

describe("a product", () => {
  test.each([
    ["en", "¥1,699.50", "1,200 in stock", "Rating 4.6 / 5"],
    ["zh-CN", "¥1,699.50", "库存 1,200 件", "评分 4.6 / 5"],
    ["de", "1.699,50 ¥", "1.200 in stock", "Rating 4,6 / 5"],
  ])("has its figures in the reader's language: %s", async (lang, price, stock, rating) => {
    await draw(card("product_card", watch), { lang });
    expect(screen.getByRole("article", { name: "Sample watch" })).toBeTruthy();
    expect(screen.getByText(price, { exact: false })).toBeTruthy();
    expect(screen.getByText(stock).dataset.tone).toBe("success");
    expect(screen.getByText(rating)).toBeTruthy();
    expect(screen.getByText("Sample week")).toBeTruthy();
    expect(screen.getByText("For runners.")).toBeTruthy();
    expect(document.querySelector("s")?.textContent).toMatch(/1[.,]999/);
  });

  test("is headed once, by itself", async () => {
    await draw(card("product_card", watch));
    expect(screen.getAllByText("Sample watch")).toHaveLength(1);
  });

  test.each([
    [0, "Sold out", "danger"],
    [3, "Only 3 left", "warning"],
    [10, "10 in stock", "success"],
  ])("says of a stock of %i: %s", async (stock, words, tone) => {
    await draw(card("product_card", { ...watch, stock }));
    expect(screen.getByText(words).dataset.tone).toBe(tone);
  });

  test("says nothing of a stock and a price that are not known", async () => {
    const { text } = await draw(card("product_card", { id: "1", title: "Sample strap" }));
    expect(text()).toBe("Sample strap");
  });

  test("has its price in the other spelling, and as a plain number without a currency", async () => {
    const { text } = await draw(card("product_card", { title: "Band", itemPrice: 9999 }));
    expect(text()).toContain("9,999");
    expect(text()).not.toContain("¥");
  });

  test("is not struck through for a price that was lower", async () => {
    await draw(card("product_card", { ...watch, originalPrice: 1 }));
    expect(document.querySelector("s")).toBeNull();
  });

  const imageUrl = "https://pictures.example.com/w.jpg";

  test("loads its picture only from a host that is allowed", async () => {
    const payload = { ...watch, imageUrl };
    await draw(card("product_card", payload), { allow: { image_hosts: ["*.example.com"] } });
    const picture = screen.getByRole<HTMLImageElement>("img", { name: "Sample watch" });
    expect(picture.src).toBe(imageUrl);
    expect(picture.getAttribute("referrerpolicy")).toBe("no-referrer");
    // One that is lost is named in its place.
    fireEvent.error(picture);
    expect(screen.queryByRole("img")).toBeNull();
    expect(screen.getAllByText("Sample watch")).toHaveLength(2);
    cleanup();
    await draw(card("product_card", payload), { allow: { image_hosts: [] } });
    expect(screen.queryByRole("img")).toBeNull();
    const link = screen.getByRole("link", { name: "Open at pictures.example.com" });
    expect(link.getAttribute("rel")).toContain("noopener");
  });

  test("has its picture from the server's files", async () => {
    const image = { assetId: "a_1", alt: "The watch" };
    const answer = { url: "https://chat.example/file/a_1", expiresAt: Date.now() + 300_000 };
    const client = new InlayClient({ fetch: (async () => Response.json(answer)) as typeof fetch });
    await draw(card("product_card", { ...watch, image }), { client });
    expect(await screen.findByRole("img", { name: "The watch" })).toBeTruthy();
    expect(screen.getByRole("button", { name: "Enlarge: The watch" })).toBeTruthy();
  });

  test.each(["javascript:alert(1)", "http://example.com/w.jpg", "//example.com/w.jpg"])(
    "never loads %s",
    async (bad) => {
      await draw(card("product_card", { ...watch, imageUrl: bad, url: bad }), {
        allow: { image_hosts: ["*"], link_hosts: ["*"] },
      });
      expect(document.querySelector("img")).toBeNull();
      for (const link of screen.queryAllByRole("link")) {
        expect(link.getAttribute("href")).toMatch(/^http:\/\/example\.com/);
      }
    },
  );

  test("leads to its own page where that host is allowed", async () => {
    const payload = { ...watch, url: "https://shop.example.com/p/1" };
    const { update } = await draw(card("product_card", payload), {
      allow: { link_hosts: ["shop.example.com"] },
    });
    expect(screen.getByRole("link", { name: "Details at shop.example.com" })).toBeTruthy();
    update(card("product_card", { ...payload, url: "https://else.example.com/p/1" }));
    expect(screen.queryByRole("link")).toBeNull();
  });
});

describe("a card whose data is on the way", () => {
  test.each(names)("has lines for what is still to come, at its height: %s", async (name) => {
    const loading = { status: "loading", fallback: undefined } as const;
    const { container } = await draw(
      card(name, { id: "x-1" }, { ...loading, meta: { estimatedHeight: 240 } }),
    );
    await waitFor(() =>
      expect(container.querySelectorAll(".inlay-line").length).toBeGreaterThan(0),
    );
    const place = container.querySelector<HTMLElement>(".inlay-block-body > div");
    expect(place?.style.minHeight).toBe("240px");
    expect(container.querySelector("section")?.getAttribute("aria-busy")).toBe("true");
    expect(screen.queryByText(/could not/)).toBeNull();
  });

  test("shows what has come, and loses its lines with the last of it", async () => {
    const loading = { status: "loading", fallback: undefined } as const;
    const first = card("product_card", { id: "1", title: "Sample wa" }, loading);
    const { container, update } = await draw(first);
    expect(screen.getByText("Sample wa")).toBeTruthy();
    expect(container.querySelector(".inlay-line")).not.toBeNull();
    update(card("product_card", watch, loading));
    expect(screen.getByText("Sample watch")).toBeTruthy();
    update(card("product_card", { id: "1", title: "Sample watch" }));
    expect(container.querySelector(".inlay-skeleton")).toBeNull();
  });

  test("is not drawn as one when it is refreshed", async () => {
    const old = { status: "loading", meta: { fetchedAt: 1 } } as const;
    const { container } = await draw(card("product_card", { id: "1", title: "Strap" }, old));
    expect(container.querySelector(".inlay-line")).toBeNull();
  });

  test.each(names)("that never came is its text: %s", async (name) => {
    await draw(card(name, { id: "x-1" }));
    expect(screen.getByText("the card in words")).toBeTruthy();
    expect(screen.getByText(/could not be checked/)).toBeTruthy();
  });
});

describe("versions", () => {
  test("a higher major is shown in part if what is known of it fits, else as text", async () => {
    const { update } = await draw(card("product_card", { ...watch, aura: {} }, { version: 2 }));
    expect(screen.getByText(/Shown in part/)).toBeTruthy();
    expect(screen.getByText("Sample watch")).toBeTruthy();
    update(card("product_card", { offer: {} }, { version: 2 }));
    expect(screen.getByText("the card in words")).toBeTruthy();
  });

  test("a higher minor is drawn with the fields that are known", async () => {
    const { text } = await draw(
      card(
        "product_card",
        { ...watch, aura: "blue" },
        { meta: { schemaMinor: 7 } as Block["meta"] },
      ),
    );
    expect(text()).not.toContain("blue");
    expect(text()).not.toContain("Shown in part");
  });
});

describe("a list of products", () => {
  const items = [1, 2, 3].map((n) => ({ id: `p-${n}`, title: `Watch ${n}`, price: n }));

  test("is a row to leaf through", async () => {
    await draw(card("product_list", { title: "Watches", items }));
    expect(screen.getByRole("heading", { name: "Watches" })).toBeTruthy();
    expect(screen.getAllByRole("article")).toHaveLength(3);
    fireEvent.click(screen.getByRole("button", { name: "Next" }));
    expect(screen.getByText("2 of 3")).toBeTruthy();
  });

  test.each(["grid", "list"])("can be a %s", async (layout) => {
    const { container } = await draw(card("product_list", { items, layout }));
    expect(container.querySelector(`[data-layout="${layout}"]`)).not.toBeNull();
    expect(screen.queryByRole("button", { name: "Next" })).toBeNull();
  });

  test("has the actions of its items on them, with their parameters", async () => {
    const onPrompt = vi.fn(() => true);
    const actions: Action[] = [
      { id: "more", label: "More", kind: "prompt", prompt: "More about {{name}}" },
    ];
    const own = items.map((item) => ({
      ...item,
      actions: [{ id: "more", params: { name: item.title } }],
    }));
    await draw(card("product_list", { items: own }, { actions }), { onPrompt });
    expect(screen.queryByRole("button", { name: "More" }), "none of the block's own").toBeNull();
    await act(async () => fireEvent.click(screen.getByRole("button", { name: "More – Watch 2" })));
    expect(onPrompt).toHaveBeenCalledWith(
      expect.objectContaining({ text: "More about Watch 2", params: { name: "Watch 2" } }),
    );
  });

  test("says that it is empty", async () => {
    await draw(card("product_list", { items: [] }));
    expect(screen.getByText("Nothing to show")).toBeTruthy();
  });
});

describe("a train", () => {
  const train = {
    id: "G1234",
    from: "Sample East",
    to: "Sample West",
    departure: "2026-10-01T22:00:00+08:00",
    arrival: "2026-10-02T07:05:00+08:00",
    durationMinutes: 545,
    platform: "8B",
    status: "delayed",
    seats: [
      { class: "Second", price: 73, currency: "CNY", available: 120 },
      { class: "First", price: 117, currency: "CNY", available: 0 },
      { class: "Berth" },
    ],
    reason: "It is direct.",
  };

  test("has the clock of its stations, whatever that of the reader is", async () => {
    const { text } = await draw(card("train_card", train));
    expect(screen.getByRole("article", { name: "G1234" })).toBeTruthy();
    expect(text()).toContain("Departs 22:00");
    expect(text()).toContain("Arrives 07:05 +1 day");
    expect(text()).toContain("9 h 5 min");
    expect(text()).toContain("Thu, Oct 1, 2026");
    expect(text()).toContain("Platform 8B");
    expect(screen.getByText("Delayed").dataset.tone).toBe("warning");
  });

  test("lists its seats with price and what is left", async () => {
    await draw(card("train_card", train));
    const [second, first, berth] = within(screen.getByRole("list", { name: "Seats" })).getAllByRole(
      "listitem",
    );
    expect(second?.textContent).toBe("Second120 left¥73");
    expect(first?.textContent).toBe("FirstSold out¥117");
    expect(first?.dataset.tone).toBe("off");
    expect(berth?.textContent).toBe("Berth");
  });

  test("is worded in Chinese", async () => {
    const { text } = await draw(card("train_card", train), { lang: "zh" });
    expect(text()).toContain("晚点");
    expect(text()).toContain("余 120");
    expect(text()).toContain("9小时5分");
    expect(text()).toContain("+1 天");
  });

  test("books by an action that is asked about first, and says so on its button", async () => {
    const sent: { payload?: unknown }[] = [];
    const client = new InlayClient({
      fetch: (async (_url, init) => {
        sent.push(JSON.parse(String(init?.body)));
        const block = { id: "b_1", rev: 1 };
        return Response.json({ status: "done", msgId: "m_1", conversationId: "c_1", block });
      }) as typeof fetch,
    });
    const book: Action = {
      id: "book",
      label: "Book",
      kind: "api",
      params: { train: "G1234" },
      confirm: "Book the sample train?",
      feedback: { successText: "Booked" },
    };
    await draw(card("train_card", train, { actions: [book] }), { client });
    await act(async () => fireEvent.click(screen.getByRole("button", { name: "Book" })));
    const dialog = screen.getByRole("alertdialog");
    await act(async () => fireEvent.click(within(dialog).getByRole("button", { name: "Book" })));
    expect(await screen.findByRole("button", { name: "Booked" })).toBeTruthy();
    expect(sent.some(({ payload }) => JSON.stringify(payload) === '{"train":"G1234"}')).toBe(true);
  });
});

test("a flight has its airports, terminals, gate and fares", async () => {
  const { text } = await draw(
    card("flight_card", {
      id: "XX1",
      airline: "Sample Air",
      from: { code: "AAA", name: "Sample City", terminal: "2" },
      to: { code: "BBB" },
      departure: "2026-10-01T08:00:00Z",
      arrival: "2026-10-01T10:15:00Z",
      gate: "C21",
      status: "boarding",
      fares: [{ cabin: "Economy", price: 820, currency: "EUR", available: 9 }],
    }),
  );
  expect(screen.getByRole("article", { name: "Sample Air XX1" })).toBeTruthy();
  for (const words of ["AAASample CityTerminal 2Gate C21", "BBB", "Boarding", "9 left€820"]) {
    expect(text()).toContain(words);
  }
});

test("a hotel has its class, rating, stay and rooms", async () => {
  const { text } = await draw(
    card("hotel_card", {
      id: "h",
      title: "Sample Inn",
      address: "1 Sample Street",
      stars: 4,
      rating: 4.4,
      checkIn: "2026-10-01",
      checkOut: "2026-10-03",
      amenities: ["Breakfast", "Wi-Fi"],
      rooms: [{ name: "Double", price: 480, currency: "CNY", available: 2 }],
    }),
  );
  expect(screen.getByRole("img", { name: "4 stars" })).toBeTruthy();
  expect(screen.getByRole("list", { name: "Rooms, 2 nights" }).textContent).toBe(
    "Double2 left¥480",
  );
  for (const words of ["Rating 4.4 / 5", "Oct 1, 2026", "Oct 3, 2026", "Breakfast · Wi-Fi"]) {
    expect(text()).toContain(words);
  }
});

describe("whatever comes as a payload", () => {
  const junk = [null, 7, "x", true, [], {}, [null, 1, "a", [[]]], { toString: 1 }] as unknown[];
  const fields: Record<string, string[]> = {
    product_card: [...Object.keys(watch), "imageUrl", "image", "url", "itemPrice"],
    product_list: ["title", "items", "layout", "total", "page"],
    train_card: ["id", "from", "to", "departure", "arrival", "date", "seats", "status", "platform"],
    flight_card: ["id", "from", "to", "departure", "durationMinutes", "fares", "gate", "airline"],
    hotel_card: ["title", "stars", "rating", "amenities", "rooms", "checkIn", "imageUrl", "url"],
  };
  const whole: Record<string, object> = {
    product_card: watch,
    product_list: { items: [watch] },
    train_card: { id: "a", from: "b", to: "c" },
    flight_card: { id: "a", from: "b", to: "c" },
    hotel_card: { title: "a" },
  };

  test.each(names)("a %s is drawn or told in words", async (name) => {
    const errors = vi.spyOn(console, "error").mockImplementation(() => {});
    const { update, text } = await draw(card(name, whole[name]));
    for (const field of fields[name] ?? []) {
      for (const value of junk) {
        for (const status of ["done", "loading"] as const) {
          update(card(name, { ...whole[name], [field]: value }, { status }));
          expect(text(), `${field} ${JSON.stringify(value)}`).not.toMatch(
            /could not be drawn|undefined|NaN|\[object|chat\./,
          );
        }
      }
    }
    expect(errors.mock.calls.filter(([first]) => !String(first).includes("act("))).toEqual([]);
  });
});

test("values are read for what they are", () => {
  expect([word(" a "), word(1.5), word(Number.NaN), word({}), word(null)]).toEqual([
    "a",
    "1.5",
    "",
    "",
    "",
  ]);
  expect([figure(0), figure("1"), figure(Number.POSITIVE_INFINITY)]).toEqual([
    0,
    undefined,
    undefined,
  ]);
  expect([part([1]), part(null), parts("x"), parts([1, { a: 1 }])]).toEqual([
    {},
    {},
    [],
    [{}, { a: 1 }],
  ]);
  expect(atPlace("2026-10-01T10:00:00+08:00")).toBe("2026-10-01T10:00:00");
  expect(atPlace("2026-10-01T10:00Z")).toBe("2026-10-01T10:00");
  expect(atPlace("2026-10-01")).toBe("2026-10-01");
  expect(isWaiting(card("x", {}, { status: "loading" }))).toBe(true);
  expect(isWaiting(card("x", {}, { status: "loading", meta: { refreshedAt: 1 } }))).toBe(false);
});
