import { ok } from "node:assert/strict";
import {
  type EndReason,
  type MarkupConfig,
  type MarkupEvent,
  Scanner,
  type TagSpec,
} from "@inlay-ui/client/markup";
import type { Nodes } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { describe, expect, test } from "vitest";
import { bytes } from "./help.ts";
import {
  allOn,
  configs,
  cut,
  hostile,
  join,
  random,
  rows,
  runApart,
  sourceOf,
  structured,
} from "./markup.ts";

interface Row {
  name: string;
  input: string | null;
  input_hex?: string;
  config: Omit<MarkupConfig, "fences" | "tags"> & {
    cards?: string[];
    tags?: Record<string, TagSpec>;
    reason?: EndReason;
  };
  expected: Record<string, unknown>[];
}

/** An event as the rows spell it. */
function spell(event: MarkupEvent): Record<string, unknown> {
  const { kind, ...rest } = event;
  const out: Record<string, unknown> = { e: kind, ...rest };
  delete out.source;
  if (kind !== "start") delete out.parent;
  for (const [key, value] of Object.entries(out))
    if (value === undefined || value === "") delete out[key];
  return out;
}

/** Holds events to the order that they promise. */
function checkGrammar(events: readonly MarkupEvent[]): void {
  const open = new Map<number, number>();
  let last = 0;
  for (const event of events) {
    if ("text" in event) ok(!/\p{Surrogate}/u.test(event.text ?? ""), "a cut within a character");
    if (event.kind === "text") {
      ok(open.size === 0, "text within a block");
      ok(event.text, "an empty text");
    } else if (event.kind === "start") {
      ok(event.id === ++last, "an id left out");
      ok(!event.parent || open.has(event.parent), "a parent that is not open");
      open.set(event.id, event.parent ?? 0);
    } else {
      ok(open.get(event.id) === (event.parent ?? 0), "a block that is not open there");
      if (event.kind === "delta") continue;
      open.delete(event.id);
      ok(![...open.values()].includes(event.id), "an end before that of a child");
    }
  }
  ok(open.size === 0, "a block without end");
}

const sound = (text: string) => text.replace(/\0|\p{Surrogate}/gu, "\ufffd");

/** Holds the scanner, for one input, to what holds for all; returns the joined events. */
function checkLaws(
  config: MarkupConfig,
  reason: EndReason,
  text: string,
  ways: Iterable<readonly (string | Uint8Array)[]>,
): MarkupEvent[] {
  const whole = runApart(config, [text], reason);
  checkGrammar(whole);
  const want = join(whole);
  expect(sourceOf(want)).toBe(sound(text));
  for (const pieces of ways) {
    const apart = runApart(config, pieces, reason);
    checkGrammar(apart);
    expect(join(apart), JSON.stringify(pieces)).toEqual(want);
  }
  return want;
}

describe("cases", () => {
  const all = ["markdown-cards.jsonl", "more-cards.jsonl"].flatMap((name) => rows<Row>(name));

  test("are all there", () => {
    expect(all.length).toBeGreaterThanOrEqual(77 + 121);
  });

  test.each(all)("$name", (row) => {
    const { cards, reason = "stop", ...rest } = row.config;
    const config: MarkupConfig = { ...rest, fences: cards };
    const raw = row.input === null ? Buffer.from(row.input_hex ?? "", "hex") : bytes(row.input);
    const whole = join(runApart(config, [raw], reason));
    expect(whole.map(spell)).toEqual(row.expected);
    const next = random(raw.length);
    const ways: (string | Uint8Array)[][] = [[...raw].map((byte) => Uint8Array.of(byte))];
    for (let at = 1; at < raw.length; at++) ways.push([raw.slice(0, at), raw.slice(at)]);
    for (let n = 0; n < 20; n++) ways.push(cut(raw, next));
    const { input } = row;
    if (input !== null) {
      ways.push(input.split(""));
      for (let at = 1; at < input.length; at++) ways.push([input.slice(0, at), input.slice(at)]);
      for (let n = 0; n < 20; n++) ways.push(cut(input, next));
      expect(sourceOf(whole)).toBe(sound(input));
    }
    for (const pieces of ways) {
      expect(join(runApart(config, pieces, reason)), JSON.stringify(pieces)).toEqual(whole);
    }
  });
});

test("random documents are kept whole, however they are cut", () => {
  const next = random(7);
  const reasons: EndReason[] = ["stop", "length", "abort"];
  for (let n = 0; n < 250; n++) {
    const config = configs[next(configs.length)] ?? {};
    const reason = reasons[next(3)] ?? "stop";
    for (const text of [hostile(next), structured(next)]) {
      const raw = bytes(text);
      checkLaws(config, reason, text, [
        text.split(""),
        cut(text, next),
        [...raw].map((byte) => Uint8Array.of(byte)),
        cut(raw, next),
      ]);
    }
  }
});

test("text and bytes may be pushed in turn", () => {
  const pieces = ["推荐 [(Train", bytes("Card:G1)] 好").slice(0, -1), "!"];
  expect(join(runApart(allOn, pieces))).toEqual([
    { kind: "text", text: "推荐 " },
    { kind: "start", id: 1, syntax: "placeholder", type: "TrainCard", meta: { id: "G1" } },
    { kind: "end", id: 1, source: "[(TrainCard:G1)]" },
    { kind: "text", text: " \ufffd!" },
  ]);
});

test("nothing follows the end", () => {
  const events: MarkupEvent[] = [];
  const scanner = new Scanner(allOn, (event) => events.push(event));
  scanner.push("a");
  scanner.close();
  scanner.push("b");
  scanner.close();
  expect(events).toEqual([{ kind: "text", text: "a" }]);
});

test("names that lead to a prototype are names like others", () => {
  const text = "```ProductCard __proto__=1 constructor=2\n{}\n```\n<note __proto__='x'>a</note>";
  const metas = runApart(allOn, [text]).flatMap((event) =>
    event.kind === "start" ? [event.meta] : [],
  );
  expect(metas.map((meta) => Object.entries(meta ?? {}))).toEqual([
    [
      ["__proto__", "1"],
      ["constructor", "2"],
    ],
    [["__proto__", "x"]],
  ]);
  expect(({} as Record<string, unknown>)[1]).toBeUndefined();
  expect(runApart({ tags: {} }, ["<constructor>a"])).toEqual([
    { kind: "text", text: "<constructor>a" },
  ]);
});

/**
 * What each place of a document is to a whole parser: text, the line of a fence,
 * or neither. Null where that parser does not do as CommonMark says: behind
 * indented code it takes for text what could not interrupt a paragraph.
 */
function commonMark(text: string): string[] | null {
  const kinds = new Array<string>(text.length).fill("");
  let strange = false;
  const visit = (node: Nodes) => {
    const from = node.position?.start.offset ?? 0;
    const to = node.position?.end.offset ?? 0;
    if (node.type === "text") kinds.fill("text", from, to);
    if (node.type === "code" && /[`~]/.test(text.charAt(from)) && node.lang) {
      const line = text.indexOf("\n", from);
      kinds.fill("fence", from, line < 0 ? text.length : line);
    }
    if (!("children" in node)) return;
    node.children.forEach((child, i) => {
      visit(child);
      const before = node.children[i - 1];
      const at = (one?: Nodes) => text.charAt(one?.position?.start.offset ?? 0);
      strange ||=
        before?.type === "code" &&
        /[^`~]/.test(at(before)) &&
        child.type === "paragraph" &&
        /[-+*\d<]/.test(at(child));
    });
  };
  visit(fromMarkdown(text));
  return strange ? null : kinds;
}

test.each([0, 256])(
  "nothing is a card that CommonMark takes for something else (holdback %i)",
  (holdback) => {
    const next = random(11 + holdback);
    const config: MarkupConfig = { ...allOn, tags: undefined, holdback };
    let found = 0;
    for (let n = 0; n < 350; n++) {
      for (const text of [structured(next), sound(hostile(next)).replace(/\r/g, "")]) {
        const kinds = commonMark(text);
        if (!kinds) continue;
        let at = 0;
        let syntax = "";
        for (const event of join(runApart(config, [text]))) {
          if (event.kind === "text") at += event.text.length;
          else if (event.kind === "start") syntax = event.syntax;
          else if (event.kind !== "delta") {
            const source = event.kind === "end" ? event.source : event.text;
            found++;
            // The brackets themselves may be those of a link.
            const inner =
              syntax === "placeholder"
                ? kinds.slice(at + 1, at + source.length - 1).every((kind) => kind === "text")
                : kinds[at + source.search(/Product|Flight/)] === "fence";
            expect(inner, `${JSON.stringify(source)} in ${JSON.stringify(text)}`).toBe(true);
            at += source.length;
          }
        }
      }
    }
    expect(found).toBeGreaterThan(300);
  },
);

describe("is linear", () => {
  const prose = "Some *text* with a [link](https://example.com/a) and `code` in it, 一些文字。\n";
  const worst = [
    "[(TrainCard:x",
    "[(TrainCard:G1)]",
    "<artifact a",
    "<artifact a='",
    "<artifact><step>",
    "<artifact><action>x</action>",
    "</act",
    "[",
    "`",
    "``` `",
    "``` ``",
    "` [(TrainCard:G1)] ",
    "> ",
    "- ",
    "```ProductCard\n",
    "```ProductCard\n{",
    "~~~ProductCard\n\n",
    "<a ",
    "<!--",
    "[a](",
    "\\",
    "---",
    " ",
    "\t",
    "1. ",
    "&amp;",
    "<div\n",
    "[a]: b\n",
  ];

  /** How often each character is looked at. */
  function looks(text: string): number {
    const scanner = new Scanner({ ...allOn, holdback: 256 }, () => {});
    for (const unit of text) scanner.push(unit);
    scanner.close();
    return scanner.looked / text.length;
  }

  test("in prose", () => {
    expect(looks(prose.repeat(300))).toBeLessThan(1.5);
  });

  test.each(worst)("in %j over and over", (unit) => {
    const short = looks(unit.repeat(2_000 / unit.length));
    const long = looks(unit.repeat(30_000 / unit.length));
    expect(long).toBeLessThan(Math.max(5, short * 1.5));
  });
});
