import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  type EndReason,
  type MarkupConfig,
  type MarkupEvent,
  Scanner,
} from "@inlay-ui/client/markup";

/** Small, and the same on every machine. */
export function random(seed: number): (n: number) => number {
  let state = seed >>> 0;
  return (n) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) % n;
  };
}

/** Rows of a file of cases that the server's scanner is held to as well. */
export function rows<T>(name: string): T[] {
  const path = fileURLToPath(new URL(`../../../../markup/testdata/${name}`, import.meta.url));
  const lines = readFileSync(path, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as T);
}

/** Scans pieces; the events as they come. */
export function runApart(
  config: MarkupConfig,
  pieces: Iterable<string | Uint8Array>,
  reason: EndReason = "stop",
): MarkupEvent[] {
  const events: MarkupEvent[] = [];
  const scanner = new Scanner(config, (event) => events.push(event));
  for (const piece of pieces) scanner.push(piece);
  scanner.close(reason);
  return events;
}

/** Joins neighbouring texts, and neighbouring pieces of one body. */
export function join(events: readonly MarkupEvent[]): MarkupEvent[] {
  const out: MarkupEvent[] = [];
  for (const event of events) {
    const last = out.at(-1);
    if (last?.kind === "text" && event.kind === "text") last.text += event.text;
    else if (last?.kind === "delta" && event.kind === "delta" && last.id === event.id) {
      last.text += event.text;
    } else out.push({ ...event });
  }
  return out;
}

/** A text, or bytes, cut at random. */
export function cut<T extends string | Uint8Array>(text: T, next: (n: number) => number): T[] {
  const out: T[] = [];
  for (let at = 0; at < text.length; ) {
    const to = at + 1 + next(8);
    out.push(text.slice(at, to) as T);
    at = to;
  }
  return out;
}

/** The text that events were made of. */
export function sourceOf(events: readonly MarkupEvent[]): string {
  let out = "";
  for (const event of events) {
    if (event.kind === "text") out += event.text;
    else if (event.kind === "end" && !event.parent) out += event.source;
    else if (event.kind === "fallback" && !event.parent) out += event.text;
  }
  return out;
}

/** A configuration with every syntax. */
export const allOn: MarkupConfig = {
  fences: ["ProductCard", "FlightCard", "Product"],
  placeholders: ["TrainCard", "HotelCard", "Train"],
  tags: {
    artifact: {
      children: { action: { raw: true }, step: { children: { action: { raw: true } } } },
    },
    note: { raw: true },
  },
};

const lenient = { closeInline: true, openInline: true, fenceAsObjectArray: true };
const small = { ...allOn, maxBody: 24, maxInfo: 20, maxTag: 30, maxId: 6, holdback: 32 };

export const configs: readonly MarkupConfig[] = [
  allOn,
  small,
  { ...allOn, holdback: 40 },
  { ...allOn, holdback: 256, lenient },
  { ...small, lenient },
  { ...allOn, tags: undefined },
  {},
];

/** What hostile documents are made of: all that means something, whole and cut. */
const fragments = [
  ["\n", "\n", "\n\n", "\r\n", "\r", " ", "  ", "    ", "\t", "> ", ">", "- ", "* ", "+ ", "1. "],
  ["2) ", "10. ", "-", "---\n", "===\n", "***\n", "- - -\n", "# ", "####### ", "`", "``", "```"],
  ["````", "~~~", "~~~~", "```ProductCard\n", "~~~FlightCard\n", "````ProductCard@1.2 a=b\n"],
  ["```Product", "```\n", "~~~\n", "```js\n", '{"id":"c1"}\n', '{"a":[1,{}]}', "{", "}"],
  ["[(TrainCard:G1)]", "[(HotelCard:上海)]", "[(Train", "[(TrainCard:", ")]", "[", "]", "(", ")"],
  ["](", "]:", "[a]: /x\n", "](/x", ' "t', "'", "\\", "\\\\", '<artifact id="a">', "</artifact>"],
  ["<action>", "</action>", "<step a='1'>", "</step>", "<note>", "</note>", "<artifact", '">'],
  ['<b title="', "<http://a/", "<a", ">", "<!--", "-->", "<div>\n", "</div>", "<pre>", "</pre>"],
  ["<?", "?>", "<x>\n", "<a@b.c>", "abc", "x", "好", "😀", "&lt;", "=", '"', "\0", "*", "_", "~"],
  ["-".repeat(130), " ".repeat(130), "`".repeat(130)],
].flat();

/** A document of fragments. */
export function hostile(next: (n: number) => number): string {
  let out = "";
  for (let n = 1 + next(40); n > 0; n--) out += fragments[next(fragments.length)];
  return out;
}

/** A document like those that people write: containers around paragraphs, fences and lists. */
export function structured(next: (n: number) => number): string {
  const pick = <T>(list: readonly T[]): T => list[next(list.length)] as T;
  let out = "";
  let count = 0;
  const card = () => `[(TrainCard:G${++count})]`;
  const inline = () => {
    const parts: string[] = [];
    for (let n = 1 + next(4); n > 0; n--) {
      const some = [
        () => `\`${card()}\``,
        () => `\`\` ${card()} \` \`\``,
        () => "`",
        () => `\\\` ${card()}`,
        () => '<b title="`">',
        () => "[x](/y`)",
        () => "<http://x.y/`>",
        () => `\\${card()}`,
        () => "**bold**",
        () => `[l](/a "t${card()}")`,
      ];
      parts.push((some[next(16)] ?? card)());
    }
    return parts.join(" ");
  };
  const line = (prefix: string, text: string) => {
    // Now and then a line loses part of its prefix.
    const kept = next(12) === 0 ? prefix.slice(0, next(prefix.length + 1)) : prefix;
    out += kept + text + pick(["\n", "\n", "\n", "\r\n"]);
  };
  const blocks = (prefix: string, depth: number) => {
    for (let n = 1 + next(3); n > 0; n--) {
      const kind = next(14);
      if (kind < 3) {
        for (let m = 1 + next(3); m > 0; m--) line(prefix, " ".repeat(next(5)) + inline());
      } else if (kind === 3) line(prefix, `# ${inline()}`);
      else if (kind === 4) {
        const mark = pick(["`", "~"]).repeat(3 + next(3));
        const info = pick(["", "js", "ProductCard", " Product", "ProductCard@1 a=b"]);
        line(prefix, " ".repeat(next(4)) + mark + info);
        for (let m = next(3); m > 0; m--) {
          line(prefix, pick([card(), "{}", "", "```", "~~~~", "    x"]));
        }
        if (next(4) > 0) line(prefix, mark);
      } else if (kind === 5) line(prefix, `    ${inline()}`);
      else if (kind === 6) line(prefix, pick(["---", "* * *", "===", "- - -", "___"]));
      else if (kind === 7) {
        const list = ["<div>", "<x>", "<!-- a", "-->", "<pre>", "</pre>", "[a]: /b `", "[a]: /b"];
        line(prefix, pick(list));
      } else if (kind < 10 && depth > 0) blocks(prefix + pick(["> ", ">", "> > "]), depth - 1);
      else if (kind < 13 && depth > 0) {
        const marker = pick(["- ", "* ", "1. ", "2) ", "-   ", "10. ", "-\t", "+     "]);
        line(prefix, marker + pick([inline(), "", "```ProductCard", `- ${inline()}`]));
        blocks(prefix + " ".repeat(marker.length), depth - 1);
      }
      if (next(2) === 0) line(prefix, "");
    }
  };
  blocks("", 3);
  return out;
}
