// Reads a Markdown file in appends of four characters as a page would that gets
// it from a model, by streamdown's block split and repair and by our own port of
// the scanner, and prints the CPU time of the former for the whole stream in ms,
// and the port's median of one append at its end.
//
//   node cards.mjs answer.md
import { readFileSync } from "node:fs";
import remend from "remend";
import { parseMarkdownIntoBlocks } from "streamdown";
import { MarkupBlocks } from "../../web/packages/client/src/markup.ts";

const size = 4;
const whole = readFileSync(process.argv[2], "utf8");
const pieces = [];
const characters = Array.from(whole);
for (let i = 0; i < characters.length; i += size)
  pieces.push(characters.slice(i, i + size).join(""));

/** Milliseconds of CPU that a function takes. */
function spent(f) {
  const before = process.cpuUsage();
  f();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function streamdown(upTo) {
  let text = "";
  let blocks = [];
  for (const piece of pieces) {
    text += piece;
    blocks = parseMarkdownIntoBlocks(remend(text));
    if (text.length >= upTo) break;
  }
  if (blocks.length === 0) throw new Error("streamdown found nothing");
}

const names = ["ProductCard"];
const open = () =>
  new MarkupBlocks({
    cards: names,
    placeholders: ["TrainCard", "HotelCard"],
    tags: { artifact: { children: { action: { raw: true } } } },
    resolve: async () => ({}),
  });

/** The median of the last appends of a stream in ms, over several streams. */
function port(appends) {
  const took = [];
  for (let round = 0; round < 5; round++) {
    const made = open();
    for (const [i, piece] of pieces.entries()) {
      const begun = performance.now();
      made.push(piece);
      if (made.blocks.length === 0) throw new Error("nothing was read");
      if (i >= pieces.length - appends) took.push(performance.now() - begun);
    }
  }
  return took.sort((a, b) => a - b)[took.length >> 1];
}

streamdown(4096);
console.log(
  JSON.stringify({
    streamdown: spent(() => streamdown(whole.length)),
    portLast: port(200),
  }),
);
process.exit(0); // without waiting for data of cards
