import type { Block } from "@inlay-ui/client";
import { blocksFrom, MarkupBlocks, type MarkupOptions, typeOf } from "@inlay-ui/client/markup";
import { describe, expect, test, vi } from "vitest";
import { bytes, chunked, collect } from "./help.ts";
import { cut, random } from "./markup.ts";

/** The blocks of a text at its end. */
async function last(text: string, options: MarkupOptions): Promise<readonly Block[]> {
  return (await collect(blocksFrom([text], options))).at(-1) ?? [];
}

/** What blocks are, in short. */
const short = (blocks: readonly Block[] = []) =>
  blocks.map(({ type, status, payload }) => [type, status, payload]);

const card = '```ProductCard title="Our pick"\n{"id":"p-17","title":"Band"}\n```\n';

test("texts and cards have their places", async () => {
  const blocks = await last(`For you:\n\n${card}\nEnjoy.`, { cards: ["ProductCard"] });
  expect(blocks).toEqual([
    { id: "b_1", type: "text", version: 1, status: "done", rev: 1, payload: "For you:\n\n" },
    {
      id: "b_2",
      type: "app.product_card",
      version: 1,
      status: "done",
      rev: 1,
      payload: { id: "p-17", title: "Band" },
      fallback: card,
      meta: { producer: "markup", title: "Our pick" },
    },
    { id: "b_3", type: "text", version: 1, status: "done", rev: 1, payload: "\nEnjoy." },
  ]);
});

test("every way to cut a text comes to the same, and shows no half of a card", async () => {
  const next = random(5);
  const text = `One\n${card}Two [(TrainCard:G1)] three\n\n<note id="n">x</note>\n`;
  const options: MarkupOptions = {
    cards: { ProductCard: { streaming: true } },
    placeholders: ["TrainCard"],
    tags: { note: { raw: true } },
    resolve: async (_, ids) => Object.fromEntries(ids.map((id) => [id, { from: "A" }])),
  };
  const want = await last(text, options);
  expect(want.map((b) => b.type)).toEqual([
    "text",
    "app.product_card",
    "text",
    "app.train_card",
    "text",
    "app.note",
  ]);
  for (let n = 0; n < 20; n++) {
    const pieces = n % 2 ? cut(text, next) : cut(bytes(text), next);
    let before: readonly Block[] = [];
    for await (const blocks of blocksFrom(pieces, options)) {
      for (const [i, block] of before.entries()) expect(blocks[i]?.id).toBe(block.id);
      for (const { type, payload } of blocks) {
        if (type === "text") expect(payload).not.toMatch(/```P|\[\(|<note/);
      }
      before = blocks;
    }
    expect(before).toEqual(want);
  }
});

test("a card is a skeleton until it is whole, or is shown while it is written", async () => {
  const seen = async (streaming: boolean) => {
    const options = { cards: { ProductCard: { streaming, estimatedHeight: 120 } } };
    const pieces = ["```ProductCard\n", '{"id":"p', '","n":12', '00,"tags":["a"', "]}\n", "```\n"];
    return (await collect(blocksFrom(pieces, options))).map((blocks) => blocks[0]);
  };
  expect((await seen(false)).map((b) => [b?.status, b?.payload, b?.meta])).toEqual([
    ["loading", undefined, { producer: "markup", estimatedHeight: 120 }],
    ["done", { id: "p", n: 1200, tags: ["a"] }, { producer: "markup", estimatedHeight: 120 }],
  ]);
  expect((await seen(true)).map((b) => [b?.status, b?.payload])).toEqual([
    ["loading", undefined],
    ["loading", { id: "p" }],
    ["loading", { id: "p", n: 1200, tags: ["a"] }],
    ["done", { id: "p", n: 1200, tags: ["a"] }],
  ]);
});

describe("what is no card after all", () => {
  const options: MarkupOptions = {
    cards: { ProductCard: { check: (p) => ((p as { id?: unknown }).id ? null : "no id") } },
    maxBody: 64,
  };

  test.each([
    ["bad JSON", "```ProductCard\n{id:1}\n```\n", "SCHEMA_INVALID"],
    ["no object", "```ProductCard\n[1]\n```\n", "SCHEMA_INVALID"],
    ["a payload that fails its check", '```ProductCard\n{"a":1}\n```\n', "SCHEMA_INVALID"],
    ["a text that was cut off", '```ProductCard\n{"id":', "INTERRUPTED"],
  ])("%s", async (_, text, code) => {
    const [block, ...more] = await last(text, options);
    expect(more).toEqual([]);
    expect(block).toMatchObject({
      status: "error",
      fallback: text,
      error: { code, retryable: false },
    });
    expect(block).not.toHaveProperty("payload");
  });

  test("a body that is too long", async () => {
    const text = `\`\`\`ProductCard\n{"id":"${"x".repeat(100)}"}\n\`\`\`\nMore.`;
    const [block, rest] = await last(text, options);
    expect(block).toMatchObject({ status: "error", error: { code: "PAYLOAD_TOO_LARGE" } });
    expect(`${block?.fallback}${rest?.payload}`).toBe(text);
  });

  test("a check that throws", async () => {
    const check = () => {
      throw new Error("broken");
    };
    const [block] = await last(card, { cards: { ProductCard: { check } } });
    expect(block).toMatchObject({ status: "error", error: { code: "SCHEMA_INVALID" } });
  });

  test("a name that is not listed", async () => {
    const text = '```EvilCard\n{"a":1}\n```\n';
    expect(short(await last(text, options))).toEqual([["text", "done", text]]);
  });
});

test("versions and fallbacks", async () => {
  const text = '```ProductCard@2.1\n{"id":"1"}\n```\n';
  const fallback = () => "A product";
  const [block] = await last(text, { cards: { ProductCard: { type: "acme.product", fallback } } });
  expect(block).toMatchObject({
    type: "acme.product",
    version: 2,
    meta: { schemaMinor: 1 },
    fallback: "A product",
  });
});

test("an element has its attributes, its body, and what is inside it", async () => {
  const text =
    '<artifact title="Setup" id="a1"> Run:\n<action type="shell">npm ci</action>' +
    '<action type="file">x</action></artifact>';
  const tags = { artifact: { children: { action: { raw: true } } } };
  expect(short(await last(text, { tags }))).toEqual([
    [
      "app.artifact",
      "done",
      {
        title: "Setup",
        id: "a1",
        text: " Run:\n",
        children: [
          { type: "shell", tag: "action", text: "npm ci" },
          { type: "file", tag: "action", text: "x" },
        ],
      },
    ],
  ]);
});

test("an array of objects is a card each, where it is accepted", async () => {
  const text = '```ProductCard\n[{"id":"1","t":1},{"id":"2","t":2}]\n```\nEnd';
  const lenient = { fenceAsObjectArray: true };
  expect(short(await last(text, { cards: ["ProductCard"], lenient }))).toEqual([
    ["app.product_card", "done", { id: "1", t: 1 }],
    ["app.product_card", "done", { id: "2", t: 2 }],
    ["text", "done", "End"],
  ]);
});

describe("data that is fetched", () => {
  const train = (id: string) => `[(TrainCard:${id})]`;

  test("is asked for in one call, once for each id", async () => {
    const resolve = vi.fn(async (_name: string, ids: readonly string[]) =>
      Object.fromEntries(ids.map((id) => [id, { seats: id.length }])),
    );
    const options = { placeholders: ["TrainCard", "HotelCard"], resolve };
    const text = `${train("G1")} ${train("G22")} ${train("G1")} [(HotelCard:h)]`;
    const blocks = await last(text, options);
    expect(resolve.mock.calls.map(([name, ids]) => [name, ids])).toEqual([
      ["TrainCard", ["G1", "G22"]],
      ["HotelCard", ["h"]],
    ]);
    expect(blocks.map((b) => b.payload)).toEqual([
      { id: "G1", seats: 2 },
      { id: "G22", seats: 3 },
      { id: "G1", seats: 2 },
      { id: "h", seats: 1 },
    ]);
    expect(blocks[0]).toMatchObject({ type: "app.train_card", fallback: train("G1") });
  });

  test("leaves the text around it alone until then", async () => {
    let answer: (data: Record<string, unknown>) => void = () => {};
    const resolve = () => new Promise<Record<string, unknown>>((done) => (answer = done));
    const seen: unknown[] = [];
    for await (const blocks of blocksFrom(["a ", train("G1"), " b"], {
      placeholders: ["TrainCard"],
      resolve,
    })) {
      seen.push(short(blocks));
      if (blocks.length === 3 && blocks[1]?.status === "loading") answer({ G1: { from: "A" } });
    }
    expect(seen.at(-2)).toEqual([
      ["text", "done", "a "],
      ["app.train_card", "loading", { id: "G1" }],
      ["text", "done", " b"],
    ]);
    expect(seen.at(-1)).toEqual([
      ["text", "done", "a "],
      ["app.train_card", "done", { id: "G1", from: "A" }],
      ["text", "done", " b"],
    ]);
  });

  test("is not what the model says", async () => {
    const serverFields = ["/price", "/items/*/price", "/a~1b"];
    const body = { id: "1", title: "T", price: 1, "a/b": 1, items: [{ n: 1, price: 2 }, 3] };
    const text = `\`\`\`ProductCard\n${JSON.stringify(body)}\n\`\`\`\n`;
    const spec = { serverFields, streaming: true };
    const all = await collect(
      blocksFrom(text.split(""), {
        cards: { ProductCard: spec },
        resolve: async () => ({ "1": { price: 699 } }),
      }),
    );
    for (const [block] of all.slice(0, -1))
      expect(JSON.stringify(block?.payload ?? "")).not.toMatch(/price|a\/b/);
    const want = { id: "1", title: "T", items: [{ n: 1 }, 3], price: 699 };
    expect(all.at(-1)?.[0]?.payload).toEqual(want);
    // Nor is it shown where nobody fetches it.
    const { price: _, ...rest } = want;
    expect((await last(text, { cards: { ProductCard: spec } }))[0]?.payload).toEqual(rest);
  });

  test.each([
    [`{"id":"1","price":6667}`, { id: "1" }],
    [`{"data":{"id":"1","price":6667},"type":"ProductCard"}`, { id: "1" }],
    [`{"schemaVersion":"1.0","data":{"id":"1","price":6667}}`, { id: "1" }],
    [`{"type":"Other","data":{"price":6667}}`, { type: "Other", data: {} }],
  ])("is not what the model says in any form: %s", async (body, want) => {
    const spec = { serverFields: ["/price"], streaming: true };
    const all = await collect(
      blocksFrom(`\`\`\`ProductCard\n${body}\n\`\`\`\n`.split(""), {
        cards: { ProductCard: spec },
      }),
    );
    for (const blocks of all) expect(JSON.stringify(blocks)).not.toContain("666");
    expect(all.at(-1)?.[0]?.payload).toEqual(want);
  });

  test("may fail, and be asked for again", async () => {
    const resolve = vi
      .fn<(name: string, ids: readonly string[]) => Promise<Record<string, unknown>>>()
      .mockRejectedValueOnce(new Error("down"))
      .mockResolvedValueOnce({ G1: { from: "A" } });
    const changed = vi.fn();
    const made = new MarkupBlocks({ placeholders: ["TrainCard"], resolve }, changed);
    made.push(train("G1"));
    made.close();
    await vi.waitFor(() => expect(changed).toHaveBeenCalledTimes(1));
    expect(made.blocks[0]).toMatchObject({
      status: "error",
      error: { code: "DATA_FETCH_FAILED", retryable: true },
      fallback: train("G1"),
    });
    expect(made.pending).toBe(false);
    made.retry("b_1");
    made.retry("b_1");
    made.retry("b_9");
    expect(made.blocks[0]?.status).toBe("loading");
    await vi.waitFor(() => expect(changed).toHaveBeenCalledTimes(2));
    expect(made.blocks[0]).toMatchObject({ status: "done", payload: { id: "G1", from: "A" } });
    expect(resolve).toHaveBeenCalledTimes(2);
  });

  test.each([
    ["not there", async () => ({}), "NOT_FOUND", false],
    ["no object", async () => ({ G1: 5 }), "SCHEMA_INVALID", false],
    ["no answer", async () => null as never, "NOT_FOUND", false],
    [
      "thrown at once",
      () => {
        throw new Error("x");
      },
      "DATA_FETCH_FAILED",
      true,
    ],
  ])("%s", async (_, resolve, code, retryable) => {
    const [block] = await last(train("G1"), { placeholders: ["TrainCard"], resolve });
    expect(block).toMatchObject({ status: "error", error: { code, retryable } });
  });

  test("that does not come in time leaves the skeleton, with a retry", async () => {
    let aborted = false;
    const resolve = (_: string, __: readonly string[], signal: AbortSignal) => {
      signal.addEventListener("abort", () => {
        aborted = true;
      });
      return new Promise<never>(() => {});
    };
    const [block] = await last(train("G1"), { placeholders: ["TrainCard"], resolve, timeout: 20 });
    expect(block).toMatchObject({
      type: "app.train_card",
      status: "error",
      payload: { id: "G1" },
      error: { code: "HYDRATE_TIMEOUT", retryable: true },
    });
    expect(aborted).toBe(true);
  });
});

describe("when it is stopped", () => {
  const train = "[(TrainCard:G1)]";

  test("nothing is fetched any more, and the card can be tried again", async () => {
    const resolve = vi.fn(async () => ({ G1: { from: "A" } }));
    const made = new MarkupBlocks({ placeholders: ["TrainCard"], resolve });
    made.push(train);
    made.stop();
    await vi.waitFor(() => expect(made.pending).toBe(false));
    expect(resolve).not.toHaveBeenCalled();
    expect(made.blocks[0]).toMatchObject({
      status: "error",
      error: { code: "CANCELLED", retryable: true },
    });
    made.retry("b_1");
    await vi.waitFor(() => expect(made.blocks[0]?.status).toBe("done"));
    expect(resolve).toHaveBeenCalledOnce();
  });

  test("what is under way is aborted, and a source that fails leaves no skeleton", async () => {
    let aborted = false;
    const resolve = (_: string, __: readonly string[], signal: AbortSignal) => {
      signal.addEventListener("abort", () => {
        aborted = true;
      });
      return new Promise<never>(() => {});
    };
    async function* pieces() {
      yield train;
      await new Promise((done) => setTimeout(done, 5));
      throw new Error("cut");
    }
    const seen: (readonly Block[])[] = [];
    const run = async () => {
      for await (const one of blocksFrom(pieces(), { placeholders: ["TrainCard"], resolve }))
        seen.push(one);
    };
    await expect(run()).rejects.toThrow("cut");
    expect(aborted).toBe(true);
    expect(seen.at(-1)?.[0]).toMatchObject({ status: "error", error: { code: "CANCELLED" } });
  });

  test("what a listener throws is reported, and nothing else ends", async () => {
    const report = vi.fn();
    vi.stubGlobal("reportError", report);
    const resolve = async () => ({ G1: { from: "A" }, G2: { from: "B" } });
    const made = new MarkupBlocks({ placeholders: ["TrainCard"], resolve }, () => {
      throw new Error("broken");
    });
    made.push(`${train} [(TrainCard:G2)]`);
    await vi.waitFor(() => expect(made.pending).toBe(false));
    expect(made.blocks.map((b) => b.status)).toEqual(["done", "done"]);
    expect(report).toHaveBeenCalledTimes(2);
    vi.unstubAllGlobals();
  });
});

test("half of a character in a body is none", async () => {
  const text = '```ProductCard\n{"id":"\\ud83d","t":"\\ud83d\\ude00"}\n```\n';
  const [block] = await last(text, { cards: ["ProductCard"] });
  expect(block?.payload).toEqual({ id: "\ufffd", t: "😀" });
});

describe("sources", () => {
  const options = { cards: ["ProductCard"] };
  const want = [
    ["text", "done", "好\n"],
    ["app.product_card", "done", { id: "p-17", title: "Band" }],
  ];
  const text = `好\n${card}`;

  test("a body, cut within a character", async () => {
    const raw = bytes(text);
    const stream = chunked([raw.slice(0, 1), raw.slice(1)]);
    expect(short((await collect(blocksFrom(stream, options))).at(-1))).toEqual(want);
  });

  test("pieces that come over time", async () => {
    async function* pieces() {
      for (const piece of text) yield piece;
    }
    expect(short((await collect(blocksFrom(pieces(), options))).at(-1))).toEqual(want);
  });

  test("one text", async () => {
    expect(short((await collect(blocksFrom(text, options))).at(-1))).toEqual(want);
  });

  test("nothing", async () => expect(await collect(blocksFrom([], options))).toEqual([]));

  test("that fail give what came, and then the error", async () => {
    const stream = chunked([bytes(`a\n${card.slice(0, 20)}`), new Error("cut")]);
    const seen: (readonly Block[])[] = [];
    const run = async () => {
      for await (const one of blocksFrom(stream, options)) seen.push(one);
    };
    await expect(run()).rejects.toThrow("cut");
    expect(short(seen.at(-1))).toEqual([
      ["text", "done", "a\n"],
      ["app.product_card", "error", undefined],
    ]);
  });

  test("that are not read to their end are closed", async () => {
    let closed = 0;
    const stream = new ReadableStream<string>({
      start: (controller) => controller.enqueue("a"),
      cancel: () => void closed++,
    });
    for await (const _ of blocksFrom(stream, options)) break;
    async function* pieces() {
      try {
        yield "a";
        yield "b";
      } finally {
        closed++;
      }
    }
    for await (const _ of blocksFrom(pieces(), options)) break;
    await vi.waitFor(() => expect(closed).toBe(2));
  });
});

test("a block that did not change is the same object", async () => {
  const all = await collect(blocksFrom(["a\n", card, "b", "c"], { cards: ["ProductCard"] }));
  const final = all.at(-1);
  for (const blocks of all.slice(2)) expect(blocks[1]).toBe(final?.[1]);
  for (const blocks of all.slice(1)) expect(blocks[0]).toBe(final?.[0]);
});

test.each([
  ["ProductCard", "app.product_card"],
  ["HTMLCard", "app.html_card"],
  ["A1Card", "app.a1_card"],
  ["Product_Card", "app.product_card"],
  ["acme.QuoteCard", "acme.quote_card"],
  ["Chart", "chart"],
  ["inlay.Chart", "chart"],
  ["chart", "chart"],
  ["artifact", "app.artifact"],
  ["acme.ticket", "acme.ticket"],
])("the type of %s is %s", (name, type) => expect(typeOf(name)).toBe(type));

test("many pieces and many cards cost what they add", () => {
  const made = new MarkupBlocks({ placeholders: ["TrainCard"] });
  const begin = performance.now();
  for (let k = 0; k < 20_000; k++) made.push("some words [(TrainCard:G1)] ");
  made.close();
  // A fraction of a second; minutes if each piece cost what came before it.
  expect(performance.now() - begin).toBeLessThan(15_000);
});
