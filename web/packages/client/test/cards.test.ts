import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readSSE } from "@inlay-ui/client";
import {
  type CardMessage,
  CardMessageReader,
  type CardProblem,
  type CardReaderOptions,
  readCardMessage,
  readPacket,
} from "@inlay-ui/client/markup";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { bytes, chunked, collect } from "./help.ts";
import { random } from "./markup.ts";

const golden = fileURLToPath(new URL("../../../../wire/cards/testdata/golden/", import.meta.url));
const files = readdirSync(golden).filter((name) => name.endsWith(".whole.txt"));

const names = ["ProductCard", "Chart", "Table", "Metric", "Code", "Form", "Question", "Confirm"];

/** A reader with everything that it tells. */
function reading(options: Partial<CardReaderOptions> = {}) {
  const problems: CardProblem[] = [];
  const seen: CardMessage[] = [];
  const reader = new CardMessageReader({
    cards: names,
    onProblem: (problem) => problems.push(problem),
    onChange: (message) => seen.push(message),
    ...options,
  });
  return { reader, problems, seen };
}

/** A packet as the server writes it. */
const packet = (seq: number, type: string, payload: unknown) => ({
  messageId: "m_1",
  seq,
  type,
  payload,
});
const append = (seq: number, markdown: string) => packet(seq, "append", { markdown });
const replace = (substring: string, replacement: string) => ({
  op: "replace-substring",
  path: "/markdown",
  substring,
  replacement,
});

/** What blocks are, in short. */
const short = (message: CardMessage) =>
  message.blocks.map(({ type, status, payload }) => [type, status, payload]);

async function packets(name: string): Promise<{ seq: number; type: string; payload: unknown }[]> {
  const text = readFileSync(golden + name, "utf8");
  const frames = await collect(readSSE(chunked([bytes(text)])));
  return frames.flatMap(({ data }) => (data === undefined ? [] : [JSON.parse(data)]));
}

describe("what the server writes", () => {
  test("is all there", () => expect(files.length).toBeGreaterThan(30));

  test.each(files)("%s", async (name) => {
    const all = await packets(name);
    const { reader, problems } = reading();
    for (const one of all) reader.push(one);
    expect(problems).toEqual([]);
    const fold = JSON.parse(
      readFileSync(golden + name.replace(".whole.txt", ".fold.json"), "utf8"),
    );
    const { seq, status, finishReason = "" } = reader.message;
    expect({ seq, status, finishReason }).toEqual({
      seq: all.at(-1)?.seq,
      status: fold.status,
      finishReason: fold.finishReason,
    });

    // A full state in the middle, and on from there, comes to the same.
    const { after, packet: full } = JSON.parse(
      readFileSync(golden + name.replace(".txt", ".full.json"), "utf8"),
    ) as { after: number; packet: { seq: number } };
    expect(after).toBeGreaterThan(0);
    const resumed = reading();
    resumed.reader.push(full);
    for (const one of all) if (one.seq > full.seq) resumed.reader.push(one);
    expect(resumed.problems).toEqual([]);
    expect(resumed.reader.message.markdown).toBe(reader.message.markdown);
    expect(resumed.reader.message.cards).toEqual(reader.message.cards);
    expect(resumed.reader.message.blocks).toEqual(reader.message.blocks);

    // So does any order, with packets that come twice.
    const next = random(all.length);
    const shuffled = reading();
    const mixed = [...all, ...all].sort((a, b) => a.seq - b.seq);
    for (let i = 0; i < mixed.length; i++) {
      const j = Math.min(mixed.length - 1, i + next(8));
      [mixed[i], mixed[j]] = [mixed[j] as (typeof all)[number], mixed[i] as (typeof all)[number]];
    }
    for (const one of mixed) shuffled.reader.push(one);
    expect(shuffled.problems).toEqual([]);
    expect(shuffled.reader.message).toEqual(reader.message);

    // And every card that the server writes has its record.
    const strict = reading({ onlyRecords: true });
    for (const one of all) strict.reader.push(one);
    expect(strict.reader.message.blocks).toEqual(reader.message.blocks);
    for (const each of [reader, resumed.reader, shuffled.reader, strict.reader]) each.close();
  });

  test("a card has the place of its fence, and its own data", async () => {
    const { reader } = reading();
    for (const one of await packets("chart-between-texts.whole.txt")) reader.push(one);
    const { blocks, tools } = reader.message;
    expect(blocks.map(({ type, status }) => [type, status])).toEqual([
      ["text", "done"],
      ["chart", "done"],
      ["text", "done"],
    ]);
    expect(blocks[1]).toMatchObject({
      id: "b_01990f3a-5c00-7000-8000-000000000002",
      version: 1,
      meta: { title: "Sample sales by region" },
      fallback: "Sample sales by region (10k CNY): East 320, South 210, North 180",
    });
    expect(tools).toEqual({
      call_1: { name: "show_sales_chart", title: "Sales", status: "ok", durationMs: 85 },
    });
  });

  test("with onlyRecords, what the model wrote as code is no card", () => {
    const chart = '```Chart\n{"type":"bar"}\n```\n';
    const named = '```Chart@1 id=b_1\n{"type":"bar"}\n```\n';
    const real = '```Chart@1 id=b_2\n{"type":"line"}\n```\n';
    const reader = new CardMessageReader({
      cards: names,
      placeholders: ["TrainCard"],
      onlyRecords: true,
    });
    const drawn = () => reader.message.blocks.map((b) => [b.type, b.status, b.payload]);
    const record = { id: "b_2", type: "Chart", schemaVersion: "1.0", data: { type: "line" } };
    reader.push(packet(1, "full", { markdown: "", cards: {} }));
    reader.push(append(2, `${chart}${named}${real}[(TrainCard:G1)]\n`));
    expect(drawn()).toEqual([
      ["text", "done", chart],
      ["chart", "loading", undefined],
      ["chart", "loading", undefined],
      ["text", "done", "[(TrainCard:G1)]"],
    ]);
    reader.push(packet(3, "card", record));
    reader.push(packet(4, "done", { finishReason: "stop" }));
    expect(drawn()).toEqual([
      ["text", "done", chart],
      ["text", "done", named],
      ["chart", "done", { type: "line" }],
      ["text", "done", "[(TrainCard:G1)]"],
    ]);
    reader.close();
  });

  describe("what the model wrote as a card is none, once the server shows its records", () => {
    const made = '```Chart\n{"type":"bar"}\n```\n';
    const record = { id: "b_2", type: "Chart", data: { type: "line" } };
    const first: [string, unknown][] = [
      ["full", { markdown: "", cards: {} }],
      ["full", { markdown: "", cards: [] }],
      ["card", record],
      ["patch", { patch: [{ op: "add", path: "/cards/b_2", value: record }] }],
    ];

    test.each(first)("by a %s: %j", (type, payload) => {
      const { reader } = reading({ placeholders: ["TrainCard"], tags: { note: { raw: true } } });
      reader.push(packet(1, type, payload));
      reader.push(append(2, `${made}[(TrainCard:G1)] <note>x</note>`));
      reader.push(packet(3, "done", {}));
      const types = reader.message.blocks.filter((b) => b.id !== "b_2").map((b) => b.type);
      expect([...new Set(types)]).toEqual(["text"]);
      const text = reader.message.blocks.map((b) => (b.type === "text" ? b.payload : "")).join("");
      expect(text).toBe(`${made}[(TrainCard:G1)] <note>x</note>`);
    });

    test.each(first)("also when that comes late: a %s: %j", (type, payload) => {
      const { reader } = reading();
      reader.push(append(1, made));
      expect(reader.message.blocks[0]?.type).toBe("chart");
      reader.push(
        packet(2, type, type === "full" ? { ...(payload as object), markdown: made } : payload),
      );
      expect(reader.message.blocks[0]).toMatchObject({ type: "text", payload: made });
      // And for good.
      reader.push(packet(3, "full", { markdown: made }));
      expect(reader.message.blocks[0]).toMatchObject({ type: "text", payload: made });
    });

    test("also when it is held", () => {
      const { reader, seen } = reading();
      reader.push(packet(2, "card", record));
      reader.push(append(1, made));
      for (const { blocks } of seen) expect(blocks[0]).toMatchObject({ type: "text" });
    });

    test("its data is not fetched here, nor its words made", async () => {
      const resolve = vi.fn(async () => ({}));
      const cards = {
        Chart: { fallback: () => "A chart", check: () => "wrong", estimatedHeight: 9 },
      };
      const { reader } = reading({ cards, resolve });
      const named = '```Chart id=b_2\n{"id":"b_2"}\n```\n';
      reader.push(
        packet(1, "full", { markdown: `\`\`\`Chart\n{"id":"x"}\n\`\`\`\n${named}`, cards: {} }),
      );
      await Promise.resolve();
      expect(resolve).not.toHaveBeenCalled();
      expect(reader.message.blocks).toMatchObject([
        { type: "text", payload: '```Chart\n{"id":"x"}\n```\n' },
        { type: "chart", status: "loading", meta: { estimatedHeight: 9 } },
      ]);
      reader.close();
    });

    test("but is one where the reader is told so, or the server sends none", () => {
      const told = reading({ onlyRecords: false });
      told.reader.push(packet(1, "full", { markdown: made, cards: {} }));
      expect(told.reader.message.blocks[0]?.type).toBe("chart");
      const other = reading();
      other.reader.push({ type: "full", data: { messageId: "m_1", markdown: made } });
      other.reader.push({ type: "patch", messageId: "m_1", patch: [replace("bar", "line")] });
      expect(other.reader.message.blocks[0]).toMatchObject({
        type: "chart",
        payload: { type: "line" },
      });
    });
  });

  test("a card that is loading is one with nothing in it", async () => {
    const { reader, seen } = reading();
    for (const one of await packets("chart-between-texts.whole.txt")) reader.push(one);
    const loading = seen.find((m) => m.blocks.some((b) => b.type === "chart"));
    expect(loading?.blocks.at(-1)).toMatchObject({ type: "chart", status: "loading" });
    expect(loading?.blocks.at(-1)?.id).toBe(seen.at(-1)?.blocks[1]?.id);
  });
});

describe("spellings", () => {
  const patch = [replace("a", "b")];

  test.each([
    [
      { type: "full", data: { messageId: "m_1", markdown: "x" } },
      { messageId: "m_1", type: "full", payload: { messageId: "m_1", markdown: "x" } },
    ],
    [
      { type: "patch", messageId: "m_1", patch },
      { messageId: "m_1", type: "patch", payload: { patch } },
    ],
    [
      { type: "patch", seq: 2, messageId: "m_1", payload: patch },
      { messageId: "m_1", seq: 2, type: "patch", payload: { patch } },
    ],
    [
      { type: "patch", seq: 2, messageId: "m_1", payload: { patch } },
      { messageId: "m_1", seq: 2, type: "patch", payload: { patch } },
    ],
    [
      { messageId: "m_1", seq: 12, type: "append", payload: { markdown: "x" } },
      { messageId: "m_1", seq: 12, type: "append", payload: { markdown: "x" } },
    ],
    [
      { messageId: "m_1", seq: 12, type: "append", markdown: "x" },
      { messageId: "m_1", seq: 12, type: "append", payload: { markdown: "x" } },
    ],
    [
      { messageId: "m_1", seq: 13, type: "done" },
      { messageId: "m_1", seq: 13, type: "done", payload: {} },
    ],
  ])("%j", (raw, read) => {
    expect(readPacket(raw)).toEqual(read);
  });

  test.each([
    null,
    1,
    "x",
    [],
    {},
    { type: "ping" },
    { type: "full", payload: {} },
    { type: "full", payload: { markdown: 1 } },
    { type: "append", payload: null },
    { type: "append", seq: 0, payload: { markdown: "x" } },
    { type: "append", seq: 1.5, payload: { markdown: "x" } },
    { type: "append", seq: "1", payload: { markdown: "x" } },
    { type: "append", messageId: 1, payload: { markdown: "x" } },
    { type: "patch", payload: {} },
    { type: "card" },
  ])("%j is no packet", (raw) => {
    expect(readPacket(raw)).toBeNull();
    const { reader, problems, seen } = reading();
    reader.push(raw);
    expect(problems.map(({ code }) => code)).toEqual(Array.isArray(raw) ? [] : ["bad_packet"]);
    expect(seen).toEqual([]);
  });

  test("a skeleton and the patch that fills it, unnumbered, as one list", () => {
    const skeleton = '```ProductCard\n{\n  "id": "candidate_1"\n}\n```';
    const filled = '```ProductCard\n{"id": "12", "title": "Band", "price": 299}\n```';
    const full = { type: "full", data: { messageId: "m_1", markdown: `For you:\n${skeleton}\n` } };
    const fill = { type: "patch", messageId: "m_1", patch: [replace(skeleton, filled)] };
    const { reader, problems, seen } = reading();
    reader.push([full, fill]);
    expect(seen.map(short)).toEqual([
      [
        ["text", "done", "For you:\n"],
        ["app.product_card", "loading", { id: "candidate_1" }],
      ],
      [
        ["text", "done", "For you:\n"],
        ["app.product_card", "done", { id: "12", title: "Band", price: 299 }],
      ],
    ]);
    // A place keeps its block, so that a page does not draw it anew.
    expect(seen[1]?.blocks[1]?.id).toBe(seen[0]?.blocks[1]?.id);
    expect(seen[1]?.blocks[0]).toBe(seen[0]?.blocks[0]);
    // Done already: not done again.
    reader.push(fill);
    expect(problems).toEqual([]);
    expect(reader.message.markdown).toBe(`For you:\n${filled}\n`);
  });

  test("a text, a card in pieces, and the end", () => {
    const { reader, problems } = reading();
    reader.push(append(1, "For you:"));
    reader.push(append(2, "\n```ProductCard\n"));
    reader.push(append(3, '{"id":"12345"}\n```'));
    expect(short(reader.message)).toEqual([
      ["text", "done", "For you:\n"],
      ["app.product_card", "loading", undefined],
    ]);
    reader.push(packet(4, "done", {}));
    expect(problems).toEqual([]);
    expect(reader.message).toMatchObject({ status: "done", finishReason: "stop", seq: 4 });
    // Nobody sent what the card lacks.
    expect(reader.message.blocks[1]).toMatchObject({
      status: "error",
      error: { code: "HYDRATE_TIMEOUT", retryable: false },
    });
  });

  test("a card of its own, its actions in their spelling", () => {
    const { reader } = reading();
    reader.push(
      packet(1, "card", {
        type: "ProductCard",
        schemaVersion: "2.3",
        data: { id: "12345", title: "Watch", price: 699 },
        actions: [
          { type: "api", name: "addToCart", params: { itemId: "12345" } },
          { type: "prompt", name: "ask", id: "ask-2", text: "More", prompt: "Tell me more" },
          { type: "script", name: "evil" },
        ],
      }),
    );
    expect(reader.message.blocks).toEqual([
      {
        id: "12345",
        type: "app.product_card",
        version: 2,
        status: "done",
        rev: 0,
        meta: { schemaMinor: 3 },
        payload: { id: "12345", title: "Watch", price: 699 },
        actions: [
          { id: "addToCart", label: "addToCart", kind: "api", params: { itemId: "12345" } },
          { id: "ask-2", action: "ask", label: "More", kind: "prompt", prompt: "Tell me more" },
        ],
      },
    ]);
  });
});

describe("patches", () => {
  const at = (markdown: string) => {
    const made = reading();
    made.reader.push(packet(1, "full", { markdown, cards: {} }));
    return made;
  };

  test("replace the one place", () => {
    const { reader, problems } = at("a b c");
    reader.push(packet(2, "patch", { patch: [replace("b", "B")] }));
    expect(reader.message.markdown).toBe("a B c");
    expect(problems).toEqual([]);
  });

  test("patch_miss", () => {
    const { reader, problems } = at("a b c");
    reader.push(packet(2, "patch", { patch: [replace("x", "y")] }));
    expect(problems).toMatchObject([{ code: "patch_miss", seq: 2 }]);
    expect(reader.message).toMatchObject({ markdown: "a b c", seq: 2 });
  });

  test.each(["a b b", "aa"])("patch_ambiguous in %j", (markdown) => {
    const { reader, problems } = at(markdown === "aa" ? "aaa" : markdown);
    reader.push(packet(2, "patch", { patch: [replace(markdown === "aa" ? "aa" : "b", "y")] }));
    expect(problems).toMatchObject([{ code: "patch_ambiguous", seq: 2 }]);
  });

  test("what was replaced already is left", () => {
    const { reader, problems } = at("a B c");
    reader.push(packet(2, "patch", { patch: [replace("b", "B")] }));
    expect(reader.message.markdown).toBe("a B c");
    expect(problems).toEqual([]);
    // Of unnumbered ones also where the new text has the old in it.
    const patch = { type: "patch", patch: [replace("c", "c d")] };
    reader.push([patch, patch, patch]);
    expect(reader.message.markdown).toBe("a B c d");
    expect(problems).toEqual([]);
  });

  test("a numbered one is done, also where the text looks as if it had been", () => {
    const { reader } = at("ab");
    reader.push(packet(2, "patch", { patch: [replace("a", "ab")] }));
    expect(reader.message.markdown).toBe("abb");
  });

  test("are applied as a whole or not at all", () => {
    const { reader, problems } = at("a b");
    const card = { id: "x", type: "ProductCard", data: {} };
    const add = { op: "add", path: "/cards/x", value: card };
    reader.push(packet(2, "patch", { patch: [replace("a", "A"), add, replace("x", "y")] }));
    expect(reader.message).toMatchObject({ markdown: "a b", cards: {} });
    reader.push(
      packet(3, "patch", { patch: [replace("a", "A"), { op: "test", path: "/cards", value: 1 }] }),
    );
    reader.push(packet(4, "patch", { patch: [add, { op: "remove", path: "/markdown" }] }));
    reader.push(packet(5, "patch", { patch: [{ op: "add", path: "/cards/x", value: 1 }] }));
    reader.push(packet(6, "patch", { patch: [{ op: "replace", path: "", value: [] }] }));
    reader.push(packet(7, "patch", { patch: [{ op: "add", path: "/__proto__/x", value: 1 }] }));
    reader.push(packet(8, "patch", { patch: [replace("", "y")] }));
    reader.push(packet(9, "patch", { patch: [null] }));
    expect(reader.message).toMatchObject({ markdown: "a b", cards: {}, seq: 9 });
    expect(problems.map((p) => p.code)).toEqual(["patch_miss", ...Array(7).fill("patch_failed")]);
    reader.push(packet(10, "patch", { patch: [replace("a", "A"), add] }));
    expect(reader.message).toMatchObject({ markdown: "A b", cards: { x: card } });
  });

  test("cannot bring in a card that is not listed", () => {
    const { reader } = at("Here: x");
    const evil = '\n```EvilCard\n{"a":1}\n```\n';
    reader.push(packet(2, "patch", { patch: [replace("x", evil)] }));
    expect(short(reader.message)).toEqual([["text", "loading", `Here: ${evil}`]]);
    // Not with a card beside it, either: its fallback is all that is shown.
    const card = { id: "e", type: "EvilCard", data: { a: 1 }, fallback: "A sample", actions: [] };
    reader.push(packet(3, "card", card));
    reader.push(packet(4, "patch", { patch: [replace("EvilCard", "EvilCard id=e")] }));
    expect(reader.message.blocks.map((b) => [b.type, b.payload, b.fallback])).toEqual([
      ["text", "Here: \n", undefined],
      ["app.evil_card", undefined, "A sample"],
    ]);
    reader.push(append(5, '```EvilCard\n{"b":1}\n```\n'));
    expect(short(reader.message).at(-1)).toEqual(["text", "done", '```EvilCard\n{"b":1}\n```\n']);
  });
});

describe("missing packets", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("a lower number is ignored, a gap waits", () => {
    const { reader } = reading();
    reader.push(append(2, "b"));
    reader.push(append(3, "c"));
    expect(reader.message.markdown).toBe("");
    reader.push(append(1, "a"));
    reader.push(append(1, "a"));
    reader.push(append(3, "c"));
    expect(reader.message).toMatchObject({ markdown: "abc", seq: 3 });
  });

  test("after two seconds the full state is fetched", async () => {
    const fetchFull = vi.fn(async () => packet(3, "full", { markdown: "abc", cards: {} }));
    const { reader, problems } = reading({ fetchFull });
    reader.push(append(1, "a"));
    reader.push(append(3, "c"));
    await vi.advanceTimersByTimeAsync(1_900);
    reader.push(append(4, "d"));
    expect(fetchFull).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(100);
    expect(fetchFull).toHaveBeenCalledExactlyOnceWith("m_1", expect.any(AbortSignal));
    expect(reader.message).toMatchObject({ markdown: "abcd", seq: 4 });
    expect(problems).toEqual([]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(fetchFull).toHaveBeenCalledOnce();
  });

  test("more than 64 are not held", async () => {
    const fetchFull = vi.fn(async () => packet(70, "full", { markdown: "all", cards: {} }));
    const { reader } = reading({ fetchFull });
    for (let seq = 2; seq <= 65; seq++) reader.push(append(seq, "."));
    expect(fetchFull).not.toHaveBeenCalled();
    reader.push(append(66, "."));
    expect(fetchFull).toHaveBeenCalledOnce();
    await vi.advanceTimersByTimeAsync(0);
    expect(reader.message).toMatchObject({ markdown: "all", seq: 70 });
  });

  test("the end is known although only the full state has it", async () => {
    const fetchFull = async () => packet(3, "full", { markdown: "ab", cards: {} });
    const { reader } = reading({ fetchFull });
    reader.push(append(2, "b"));
    reader.push(packet(3, "done", { finishReason: "stop" }));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(reader.message).toMatchObject({ markdown: "ab", status: "done", finishReason: "stop" });
  });

  test("a full state may say itself how the message ended", () => {
    const error = { code: "model_timeout", message: "Late.", retryable: true };
    const ends: [object, object][] = [
      [{ finishReason: "paused" }, { status: "paused", finishReason: "paused" }],
      [{ finishReason: "length" }, { status: "done", finishReason: "length" }],
      [{ error }, { status: "error", error }],
      [{}, { status: "running" }],
    ];
    for (const [more, want] of ends) {
      const { reader } = reading();
      reader.push(packet(5, "full", { markdown: "ab", cards: {}, ...more }));
      expect(reader.message).toMatchObject(want);
    }
  });

  test("what cannot be fetched is told, tried again, and given up", async () => {
    const fetchFull = vi.fn(async () => {
      throw new Error("offline");
    });
    const { reader, problems } = reading({ fetchFull });
    reader.push(append(2, "b"));
    await vi.advanceTimersByTimeAsync(120_000);
    expect(fetchFull).toHaveBeenCalledTimes(5);
    expect(problems.every((p) => p.code === "gap" && p.seq === 1)).toBe(true);
    reader.push(packet(2, "full", { markdown: "ab", cards: {} }));
    expect(reader.message).toMatchObject({ markdown: "ab", seq: 2 });
    reader.push(append(4, "d"));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(fetchFull).toHaveBeenCalledTimes(6);
    reader.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("without a function that fetches it a gap is told, and the reader waits for a full state", async () => {
    const { reader, problems } = reading();
    for (let seq = 2; seq <= 200; seq++) reader.push(append(seq, "."));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(problems).toEqual([{ code: "gap", message: "packet 1 did not come", seq: 1 }]);
    reader.push(packet(150, "full", { markdown: "x", cards: {} }));
    expect(reader.message).toMatchObject({ markdown: `x${".".repeat(50)}`, seq: 200 });
    reader.close();
  });

  test("packets of other messages are left alone", () => {
    const { reader, problems } = reading({ messageId: "m_2" });
    reader.push(append(1, "a"));
    expect(reader.message).toMatchObject({ messageId: "m_2", markdown: "", seq: 0 });
    expect(problems).toMatchObject([{ code: "other_message", seq: 1 }]);
  });
});

test("a retry after the end goes on without changing it", () => {
  const { reader, seen } = reading();
  reader.push(append(1, "[slow]\n\nEnd"));
  reader.push(packet(2, "done", { finishReason: "max_steps" }));
  const skeleton = '```ProductCard id=b_1\n{"id":"b_1"}\n```';
  reader.push(packet(3, "patch", { patch: [replace("[slow]", skeleton)] }));
  expect(short(reader.message)).toEqual([
    ["app.product_card", "loading", { id: "b_1" }],
    ["text", "done", "\nEnd"],
  ]);
  reader.push(packet(4, "card", { id: "b_1", type: "ProductCard", data: { title: "A" } }));
  reader.push(packet(5, "done", { finishReason: "stop" }));
  expect(short(reader.message)[0]).toEqual(["app.product_card", "done", { title: "A" }]);
  expect(reader.message).toMatchObject({ status: "done", finishReason: "max_steps" });
  expect(seen.at(-1)?.blocks[1]).toBe(seen.at(-2)?.blocks[1]);
});

test("an answer that was paused goes on", () => {
  const { reader } = reading();
  reader.push(append(1, "Which?"));
  reader.push(packet(2, "done", { finishReason: "paused" }));
  expect(reader.message.status).toBe("paused");
  reader.push(append(3, " That"));
  reader.push(append(4, " one."));
  expect(short(reader.message)).toEqual([["text", "loading", "Which? That one."]]);
  reader.push(packet(5, "done", { finishReason: "stop" }));
  expect(short(reader.message)).toEqual([["text", "done", "Which? That one."]]);
  expect(reader.message).toMatchObject({ status: "done", finishReason: "stop" });
});

test("an answer that failed says why", () => {
  const { reader } = reading();
  reader.push(append(1, "a"));
  reader.push(packet(2, "error", { code: "model_timeout", message: "Late.", retryable: true }));
  const error = { code: "model_timeout", message: "Late.", retryable: true };
  expect(reader.message).toMatchObject({ status: "error", error });
});

test("blocks that did not change are the same objects", () => {
  const { reader, seen } = reading();
  reader.push(append(1, 'One\n```ProductCard\n{"id":"1","title":"A"}\n```\nTwo'));
  reader.push(append(2, " more"));
  reader.push(packet(3, "patch", { patch: [replace('"A"', '"B"')] }));
  const [first, second, third] = seen.map((m) => m.blocks);
  expect(second?.[0]).toBe(first?.[0]);
  expect(second?.[1]).toBe(first?.[1]);
  expect(second?.[2]).not.toBe(first?.[2]);
  expect(third?.[0]).toBe(first?.[0]);
  expect(third?.[1]?.payload).toEqual({ id: "1", title: "B" });
  expect(third?.[2]).toBe(second?.[2]);
});

test("what a card lacks can be fetched here, once, and again", async () => {
  let fail = true;
  const resolve = vi.fn(async (_name: string, ids: readonly string[]) => {
    if (fail) throw new Error("down");
    return Object.fromEntries(ids.map((id) => [id, { title: `Sample ${id}` }]));
  });
  const { reader } = reading({ resolve });
  reader.push(append(1, '```ProductCard\n{"id":"1"}\n```\n'));
  await vi.waitFor(() => expect(reader.message.blocks[0]?.status).toBe("error"));
  expect(reader.message.blocks[0]?.error).toMatchObject({
    code: "DATA_FETCH_FAILED",
    retryable: true,
  });
  fail = false;
  reader.retry(reader.message.blocks[0]?.id ?? "");
  expect(reader.message.blocks[0]?.status).toBe("loading");
  await vi.waitFor(() => expect(reader.message.blocks[0]?.status).toBe("done"));
  expect(reader.message.blocks[0]?.payload).toEqual({ id: "1", title: "Sample 1" });
  // A patch elsewhere does not fetch it once more.
  reader.push(append(2, "Text"));
  reader.push(packet(3, "patch", { patch: [replace("Text", "Other")] }));
  await vi.waitFor(() => expect(reader.message.blocks[0]?.status).toBe("done"));
  expect(resolve).toHaveBeenCalledTimes(2);
});

test("many packets cost what they add", () => {
  const { reader } = reading({ onChange: undefined });
  const begin = performance.now();
  for (let seq = 1; seq <= 40_000; seq++) reader.push(append(seq, "word "));
  // A fraction of a second; minutes if each packet cost what came before it.
  expect(performance.now() - begin).toBeLessThan(15_000);
});

test("a stream of packets is read to its end", async () => {
  const text = [append(1, "a"), "broken", packet(2, "done", {})]
    .map((one) => `data: ${typeof one === "string" ? one : JSON.stringify(one)}\n\n`)
    .join("");
  const problems: CardProblem[] = [];
  const options = { cards: names, onProblem: (p: CardProblem) => problems.push(p) };
  const all = await collect(readCardMessage(chunked([bytes(text)]), options));
  expect(all.map(({ markdown, status }) => [markdown, status])).toEqual([
    ["a", "running"],
    ["a", "done"],
  ]);
  expect(problems.map((p) => p.code)).toEqual(["bad_packet"]);
});

test("what a listener throws is reported, and no packet is lost by it", async () => {
  vi.useFakeTimers();
  const report = vi.fn();
  vi.stubGlobal("reportError", report);
  const broken = () => {
    throw new Error("broken");
  };
  const fetchFull = async () => packet(5, "full", { markdown: "abcde", cards: {} });
  const { reader } = reading({ onChange: broken, onProblem: broken, fetchFull });
  reader.push(append(2, "b"));
  reader.push(append(3, "c"));
  reader.push(append(1, "a"));
  expect(reader.message).toMatchObject({ markdown: "abc", seq: 3 });
  reader.push("nothing");
  reader.push(append(6, "f"));
  await vi.advanceTimersByTimeAsync(2_000);
  expect(reader.message).toMatchObject({ markdown: "abcdef", seq: 6 });
  expect(report).toHaveBeenCalledTimes(6);
  reader.close();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

test("many cards by one name cost what they add", () => {
  const { reader } = reading({ onChange: undefined });
  const markdown = '```Chart id=x\n{"a":1}\n```\n'.repeat(20_000);
  const begin = performance.now();
  reader.push(packet(1, "full", { markdown }));
  reader.push(packet(2, "full", { markdown: `a\n${markdown}` }));
  // About a second; minutes if each card were compared with those before it.
  expect(performance.now() - begin).toBeLessThan(15_000);
  const ids = reader.message.blocks.map((b) => b.id);
  expect(new Set(ids).size).toBe(20_001);
});

test("records that say what they should not are made to", () => {
  const { reader } = reading();
  const raw = {
    id: "b_1",
    type: "Chart",
    title: { html: "<b>" },
    error: { code: 5, message: {}, retryable: "yes" },
    actions: [{ type: "api", name: "a", text: {} }],
    data: {},
  };
  reader.push(packet(1, "card", raw));
  expect(reader.message.blocks[0]).toMatchObject({
    meta: {},
    error: { code: "internal", message: "", retryable: false },
    actions: [{ id: "a", label: "a" }],
  });
  reader.push(packet(2, "card", JSON.parse('{"id":"__proto__","type":"__proto__","data":{}}')));
  expect(Object.keys(reader.message.cards)).toEqual(["b_1", "__proto__"]);
  expect(reader.message.blocks[1]?.type).toBe("app.__proto__");
});

describe("a stream", () => {
  const frames = (all: unknown[]) => all.map((one) => bytes(`data: ${JSON.stringify(one)}\n\n`));

  test("is not over before data that is fetched here", async () => {
    const resolve = async () => {
      await new Promise((done) => setTimeout(done, 5));
      return { "1": { title: "A" } };
    };
    const all = [append(1, '```ProductCard\n{"id":"1"}\n```\n'), packet(2, "done", {})];
    const seen = await collect(readCardMessage(chunked(frames(all)), { cards: names, resolve }));
    expect(seen.at(-1)?.blocks[0]).toMatchObject({ status: "done", payload: { title: "A" } });
  });

  test("that ends in a gap gets the full state at once", async () => {
    const fetchFull = vi.fn(async () =>
      packet(3, "full", { markdown: "abc", finishReason: "stop" }),
    );
    const all = [append(1, "a"), append(3, "c")];
    const seen = await collect(
      readCardMessage(chunked(frames(all)), { cards: names, fetchFull, maxWait: 60_000 }),
    );
    expect(seen.at(-1)).toMatchObject({ markdown: "abc", status: "done" });
    expect(fetchFull).toHaveBeenCalledOnce();
  });

  test("that nobody reads any longer is given up, also while it is silent", async () => {
    const cancel = vi.fn();
    const [first] = frames([append(1, '```ProductCard\n{"id":"1"}\n```\n')]);
    const silent = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(first),
      cancel,
    });
    const resolve = async () => ({ "1": { title: "A" } });
    for await (const { blocks } of readCardMessage(silent, { cards: names, resolve })) {
      if (blocks[0]?.status === "done") break;
    }
    await vi.waitFor(() => expect(cancel).toHaveBeenCalledOnce());
  });
});
