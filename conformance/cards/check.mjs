// Reads the golden streams of wire/cards with the clients of reader.mjs over
// HTTP and compares what they hold with what the logs fold to.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { frames, serve, stands } from "../recorded.mjs";
import { MarkdownOnly, Message, drawn, read } from "./reader.mjs";

const golden = new URL("../../wire/cards/testdata/golden/", import.meta.url);
const file = (name) => readFileSync(new URL(name, golden), "utf8");
const streams = new Map(
  readdirSync(golden)
    .filter((name) => name.endsWith(".txt"))
    .map((name) => [name.slice(0, -".txt".length), file(name)]),
);
const fold = (name) => JSON.parse(file(`${name.replace(/\.(whole|text)$/, "")}.fold.json`));
const packets = (stream) =>
  [...stream.matchAll(/^data: (.*)$/gm)].map((m) => JSON.parse(m[1]));

let server;
before(async () => {
  server = await serve(streams);
});
after(() => server.close());

const names = {
  chart: "Chart",
  table: "Table",
  metric: "Metric",
  code: "Code",
  card: "Card",
  confirm: "Confirm",
  question: "Question",
  "app.product_card": "ProductCard",
  "minara.feature_recommendation": "minara.FeatureRecommendation",
};

/** The mapping table: what a folded block is in card messages. */
function card(block) {
  const { actions, meta } = block;
  return {
    id: block.id,
    type: names[block.type],
    schemaVersion: `${block.version}.${meta?.schemaMinor ?? 0}`,
    ...(meta?.title && { title: meta.title }),
    data: block.payload,
    ...(actions && { actions: actions.map(({ id, kind, label, ...rest }) => ({ type: kind, name: id, text: label, ...rest })) }),
    ...(block.state && { state: block.state }),
    ...(block.fallback && { fallback: block.fallback }),
    ...(block.error && { error: block.error }),
  };
}

function wanted(name) {
  const state = fold(name);
  const cards = {};
  const text = [];
  for (const block of state.blocks) {
    if (name.endsWith(".whole") && block.status === "done" && names[block.type]) {
      cards[block.id] = card(block);
      text.push(`\`\`\`${names[block.type]}@${block.version} id=${block.id}\n${JSON.stringify(block.payload)}\n\`\`\``);
    } else if (block.type === "text") text.push(block.payload);
    else text.push(stands(block));
  }
  const tools = Object.fromEntries(
    (state.tools ?? []).map(({ id, ...rest }) => [id, rest]),
  );
  return { state, want: { markdown: text.filter((t) => t !== "").join("\n\n"), cards, tools } };
}

function compare(message, name) {
  const { state, want } = wanted(name);
  assert.deepEqual(message.state, want, name);
  assert.equal(message.held.size, 0, "packets are held");
  // What a page draws: every card once, in the order of the blocks, with the
  // data that a client sees which knows only the text.
  const order = state.blocks.map((b) => b.id).filter((id) => want.cards[id]);
  assert.deepEqual(message.drawn(), order.map((id) => want.cards[id]));
  for (const { id, name: type, major, body } of drawn(message.state.markdown)) {
    assert.deepEqual(body, want.cards[id].data);
    assert.equal(type, want.cards[id].type);
    assert.equal(`${major}`, want.cards[id].schemaVersion.split(".")[0]);
  }
  // The first end is the turn's, and after a pause the next one.
  const end = message.ends.find((e) => e.finishReason !== "paused") ?? message.ends.at(-1);
  if (state.error) assert.deepEqual(end.error, state.error);
  else assert.equal(end.finishReason, state.finishReason);
}

test("there are streams", () => {
  assert.ok(streams.size >= 70, `${streams.size}`);
});

test("packets are numbered without gaps", () => {
  for (const [name, stream] of streams) assert.deepEqual(packets(stream).map((p) => p.seq), packets(stream).map((_, i) => i + 1), name);
});

for (const name of streams.keys()) {
  test(name, async (t) => {
    await t.test("whole", async () => {
      const message = new Message();
      await read(server.url(name), message);
      compare(message, name);
    });
    await t.test("with one string", async () => {
      const client = new MarkdownOnly();
      await read(server.url(name), client);
      assert.equal(client.markdown, wanted(name).want.markdown);
    });
    await t.test("in pieces", async () => {
      for (const chunk of [streams.get(name).length < 4000 ? 1 : 17, 61]) {
        const message = new Message();
        await read(server.url(name, `chunk=${chunk}`), message);
        compare(message, name);
      }
    });
    await t.test("cut off and resumed", async () => {
      // Between every two packets, and within every one.
      let at = 0;
      for (const [i, frame] of frames(streams.get(name)).entries()) {
        const size = Buffer.byteLength(frame);
        // Of a very long stream some: its frames are alike.
        const cuts = i < 40 || i % 20 === 0 ? [at + Math.floor(size / 2), at + size] : [];
        for (const cut of cuts) {
          const message = new Message();
          const id = await read(server.url(name, `cut=${cut}`), message);
          await read(server.url(name), message, id);
          compare(message, name);
        }
        at += size;
      }
    });
    await t.test("out of order and twice", () => {
      const all = packets(streams.get(name));
      for (const mixed of [
        all.flatMap((p) => [p, p]),
        [...all, ...all],
        [all[0], ...all.slice(1).reverse()].length <= 64 ? [all[0], ...all.slice(1).reverse()] : all,
        all.flatMap((p, i) => (i % 2 ? [p, all[i - 1]] : i + 1 < all.length ? [] : [p])),
      ]) {
        const message = new Message();
        for (const packet of mixed) message.take(packet);
        compare(message, name);
      }
    });
    await t.test("full state by message id", () => {
      const { after: seen, packet } = JSON.parse(file(`${name}.full.json`));
      const all = frames(streams.get(name));
      const at = all.findIndex((f) => f.startsWith(`id: ${seen}\n`)) + 1;
      const ended = packets(all.slice(0, at).join(""))
        .filter((p) => p.type === "done" || p.type === "error")
        .map((p) => (p.type === "error" ? { error: p.payload } : p.payload));
      // One that comes anew, and one that lost the packets before it.
      for (const had of [[], packets(all.slice(0, Math.floor(at / 2)).join(""))]) {
        const message = new Message();
        for (const p of had) message.take(p);
        message.seq = Math.min(message.seq, packet.seq - 1);
        message.take(packet);
        // How the turn ended is in the state; how else something ended is not.
        for (const end of message.ends)
          assert.ok(ended.some((e) => e.finishReason === end.finishReason && isDeepStrictEqual(e.error, end.error)), JSON.stringify(end));
        message.ends = [...ended];
        for (const p of packets(streams.get(name))) message.take(p);
        compare(message, name);
      }
    });
  });
}

test("what breaks the protocol is refused", () => {
  const base = packets(streams.get("late-block-keeps-place.whole"));
  const name = "late-block-keeps-place.whole";
  const patch = base.findIndex((p) => p.type === "patch");
  const changed = (i, change) => base.map((p, at) => (at === i ? change(structuredClone(p)) : p));
  const put = (list) => {
    const message = new Message();
    for (const p of list) message.take(p);
    return message;
  };
  compare(put(base), name);
  const edit = (fn) => changed(patch, (p) => (fn(p.payload.patch[0]), p));
  assert.throws(() => put(edit((o) => (o.substring = "not there"))), /patch_miss/);
  assert.throws(() => put(edit((o) => (o.substring = "o"))), /patch_ambiguous/);
  assert.throws(() => put(edit((o) => (o.path = "/cards"))), /replace-substring at/);
  assert.throws(() => put(changed(2, (p) => ({ ...p, type: "text" }))), /not of the protocol/);
  assert.throws(() => put(changed(2, (p) => ({ ...p, messageId: "m_2" }))), /another message/);
  assert.throws(() => put(changed(patch + 1, (p) => (delete p.payload.patch[0].value.schemaVersion, p))), /schemaVersion is missing/);
  // Lawful packets that say something else must not compare equal.
  assert.throws(() => compare(put(base.filter((_, i) => i !== 2)), name));
  assert.throws(() => compare(put(changed(2, (p) => ((p.payload.markdown += "!"), p))), name));
  assert.throws(() => compare(put(edit((o) => (o.replacement = o.replacement.replace("320", "321")))), name));
  // A patch that fails in part changes nothing.
  const half = put(base.slice(0, patch));
  const before = structuredClone(half.state);
  const broken = structuredClone(base[patch]);
  broken.payload.patch.push({ op: "remove", path: "/cards/none" });
  assert.throws(() => half.take(broken));
  assert.deepEqual(half.state, before);
});
