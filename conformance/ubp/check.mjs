// Reads the golden streams of wire/ubp with the client of reader.mjs over HTTP
// and compares what it holds with what the logs fold to.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { Message, read } from "./reader.mjs";
import { frames, serve, stands } from "../recorded.mjs";

const golden = new URL("../../wire/ubp/testdata/golden/", import.meta.url);
const file = (name) => readFileSync(new URL(name, golden), "utf8");
const streams = new Map(
  readdirSync(golden)
    .filter((name) => name.endsWith(".txt"))
    .map((name) => [name.slice(0, -".txt".length), file(name)]),
);
const fold = (name) => JSON.parse(file(`${name.replace(/\.(whole|text)$/, "")}.fold.json`));

let server;
before(async () => {
  server = await serve(streams);
});
after(() => server.close());

// Where the order of arrival is not the order of the blocks, or where words
// were written that a later retry made good: what a client has then. Numbers
// are places in the fold.
const sales = "[chart: It took too long.]";
const earlier = "Sample sales by region (10k CNY): East 320, South 210, North 180";
const arrival = {
  "late-block-keeps-place.whole": ["While it loads, some words.", 0, " And more."],
  "late-block-keeps-place.text": [1, 0],
  "two-late-blocks-end-in-reverse.whole": [1, 0],
  "two-late-blocks-end-in-reverse.text": [1, 0],
  "retry-after-done.whole": [sales, 1, 0],
  "retry-after-done.text": [sales, 1, 0],
  "error-then-retry-of-a-block.whole": ["[chart: Slow.]", 0],
  "error-then-retry-of-a-block.text": ["[chart: Slow.]", 0],
  "retry-after-answer-keeps-finish.whole": [0, 1, 2, "[chart: Slow.]", 3],
  "retry-after-answer-keeps-finish.text": [0, 1, 2, "[chart: Slow.]", 3],
  "follow-ups-while-paused.whole": ["[chart: Slow.]", 1, 2, 0, 3],
  "follow-ups-while-paused.text": ["[chart: Slow.]", 1, 2, 0, 3],
  "refresh.text": [earlier, 0],
  "refresh-after-a-failed-refresh.text": [earlier, 0],
};

/** The mapping table: what a folded block is in this protocol. */
function part(block, whole) {
  if (block.type === "text") return { text: block.payload };
  const i = block.type.lastIndexOf(".");
  const namespace = i < 0 ? "inlay" : block.type.slice(0, i);
  if (block.status !== "done" || !whole || block.type === "app.seat_map")
    return { text: stands(block) };
  const _meta = { ...block.meta?.vendor };
  if (block.fallback) _meta["inlay/fallback"] = block.fallback;
  if (block.actions) _meta["inlay/actions"] = block.actions;
  if (block.state) _meta["inlay/state"] = block.state;
  if (block.error) _meta["inlay/error"] = block.error;
  return {
    block: {
      id: block.id,
      namespace,
      block_type: block.type.slice(i + 1),
      version: `${block.version}.0.0`,
      data: block.payload,
      ...(block.meta?.position && { position: block.meta.position }),
      ...(Object.keys(_meta).length && { _meta }),
    },
  };
}

function wanted(name) {
  const state = fold(name);
  const whole = name.endsWith(".whole");
  const order = arrival[name] ?? state.blocks.map((_, i) => i);
  const parts = [];
  for (const item of order) {
    const next = typeof item === "string" ? { text: item } : part(state.blocks[item], whole);
    const last = parts.at(-1);
    if (next.text === "") continue;
    if (next.text !== undefined && last?.text !== undefined) last.text += "\n\n".slice(/\n*$/.exec(last.text)[0].length) + next.text;
    else parts.push(next);
  }
  return { state, parts };
}

function compare(message, name) {
  const { state, parts } = wanted(name);
  assert.deepEqual(message.parts, parts, name);
  assert.equal(message.sessionId, state.start.conversationId);
  assert.deepEqual(
    [...message.tools.values()].map(({ toolCallId, name, title, status, sub }) => [toolCallId, name, title, status, sub]),
    (state.tools ?? []).map((t) => [t.id, t.name, t.title, t.status, t.sub ?? false]),
  );
  // The first end is the turn's, and after a pause the next one.
  const end = message.ends.find((e) => e.finishReason !== "paused") ?? message.ends.at(-1);
  if (state.error) assert.deepEqual(end.error, state.error);
  else assert.equal(end.finishReason, state.finishReason);
}

test("there are streams", () => {
  assert.ok(streams.size >= 70, `${streams.size}`);
});

for (const name of streams.keys()) {
  test(name, async (t) => {
    await t.test("whole", async () => {
      const message = new Message();
      await read(server.url(name), message);
      compare(message, name);
    });
    await t.test("in pieces", async () => {
      for (const chunk of [streams.get(name).length < 4000 ? 1 : 17, 61]) {
        const message = new Message();
        await read(server.url(name, `chunk=${chunk}`), message);
        compare(message, name);
      }
    });
    await t.test("cut off and resumed", async () => {
      // Between every two events, and within every one.
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
  });
}

test("what breaks the protocol is refused", async () => {
  const base = streams.get("vendor-meta.whole");
  for (const [what, stream] of Object.entries({
    "a version that is not semver": base.replace('"version":"1.0.0"', '"version":"1"'),
    "a block that was not negotiated": base.replace('"block_type":"feature_recommendation","version":"1.0.0"', '"block_type":"swap","version":"1.0.0"'),
    "another major": base.replace('"version":"1.0.0"', '"version":"2.0.0"'),
    "a position that there is not": base.replace("after_text", "below"),
    "a _meta key without vendor": base.replace("minara/source", "source"),
    "null for what is absent": base.replace('"position":"after_text"', '"position":null'),
    "an event that there is not": base.replace('"type":"text_delta"', '"type":"block_start"'),
    "no start": frames(base).slice(1).join(""),
    "the native shape of text": base.replace('{"text":', '{"delta":'),
  })) {
    assert.notEqual(stream, base, what);
    streams.set("broken", stream);
    await assert.rejects(read(server.url("broken"), new Message()), what);
  }
  // A stream that is lawful but says something else must not compare equal.
  streams.set("broken", base.replace("Sure.", "Sure!"));
  const message = new Message();
  await read(server.url("broken"), message);
  assert.throws(() => compare(message, "vendor-meta.whole"));
  // A reader that is sent what it had is not fooled into an equal message.
  const twice = new Message();
  streams.set("broken", frames(base).flatMap((f, i) => (i === 1 ? [f, f.replace(/^id: .*\n/, "")] : [f])).join(""));
  await read(server.url("broken"), twice);
  assert.throws(() => compare(twice, "vendor-meta.whole"));
});
