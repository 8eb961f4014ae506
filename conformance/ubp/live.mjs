// Drives a server, as it is built and started with nothing configured, with the
// client of reader.mjs: it asks, reads, loses the connection and goes on, as a
// client team's own client would.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { start } from "../binary.mjs";
import { Message, follow } from "./reader.mjs";

const card = "minara.feature_recommendation@1";
const chart = "inlay.chart@1";
const sales = "Show 2026Q3 sales by region";

let server, base;

before(async () => {
  server = await start();
  base = server.base;
});

after(() => server?.stop());

const query = (capabilities) => (capabilities === undefined ? "" : `capabilities=${encodeURIComponent(capabilities)}`);

/** Asks; the answer is still to be read. */
const post = (capabilities, body, headers = {}) =>
  fetch(`${base}/v1/chat/stream?${query(capabilities)}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

/** Asks and reads the whole answer. */
async function ask(capabilities, text, more = {}) {
  const response = await post(capabilities, { input: { text }, ...more });
  const message = new Message();
  let told = 0;
  message.apply = (event) => {
    told++;
    Message.prototype.apply.call(message, event);
  };
  const last = await follow(response, message);
  return { message, last, told, id: response.headers.get("x-message-id") };
}

/** Reads on after an event. */
const resume = (id, capabilities, lastEventId) =>
  fetch(`${base}/v1/messages/${id}/events?dialect=ubp&${query(capabilities)}`, {
    headers: lastEventId ? { "last-event-id": lastEventId } : {},
  });

/** What a message shows, in order: "text" or the name of a block's type. */
const shown = (message) => message.parts.map((p) => (p.block ? `${p.block.namespace}.${p.block.block_type}` : "text"));
const prose = (message) => message.parts.map((p) => p.text ?? "").join("");
const finished = (message) => assert.equal(message.ends.at(-1)?.finishReason, "stop");

describe("a server with the demo model", { concurrency: true }, () => {
  for (const question of ["How do I deposit?", "怎么入金？"]) {
    test(`${question} is answered in prose, and then a card`, async () => {
      const { message, id } = await ask(`${card},acme.tools.bridge_quote@2`, question);
      finished(message);
      assert.ok(id);
      assert.ok(message.sessionId);
      // The intersection: the other type is well-formed, and nobody has it.
      assert.deepEqual(message.supported, [{ namespace: "minara", block_type: "feature_recommendation", version: 1 }]);
      assert.deepEqual(shown(message), ["text", "minara.feature_recommendation"]);
      const { block } = message.parts[1];
      assert.equal(block.version, "1.0.0");
      const { items } = block.data;
      assert.ok(items.length >= 1 && items.length <= 2);
      for (const item of items) {
        assert.match(item.id, /^[a-z][a-z0-9_-]*$/);
        assert.ok([...item.label].length <= 20 && [...(item.hint ?? "")].length <= 48);
      }
      assert.ok(items.some(({ action }) => action.kind === "modal" && action.name === "deposit"));
      assert.equal(typeof block._meta["minara/source"], "string");
    });
  }

  test("a card of a type that was not declared never arrives", async () => {
    for (const capabilities of [undefined, "", chart, "minara.feature_recommendation@2"]) {
      const { message } = await ask(capabilities, "How do I deposit?");
      finished(message);
      assert.deepEqual(shown(message), ["text"]);
    }
  });

  test("a question without a next step has no card", async () => {
    const { message } = await ask(`${card},${chart}`, sales);
    finished(message);
    assert.deepEqual(shown(message), ["text", "inlay.chart", "text"]);
  });

  test("a block stands where it arrived, between two pieces of prose", async () => {
    const { message } = await ask(chart, sales);
    finished(message);
    assert.deepEqual(shown(message), ["text", "inlay.chart", "text"]);
    assert.ok(message.parts[1].block.data.data.length > 0);
    assert.ok([...message.tools.values()].every((call) => call.status === "ok"));
  });

  test("a client that draws no charts has the figures in prose", async () => {
    const [drawn, told] = await Promise.all([ask(chart, sales), ask("inlay.table@1", sales)]);
    finished(told.message);
    assert.deepEqual(shown(told.message), ["text"]);
    const words = drawn.message.parts[1].block._meta["inlay/fallback"];
    assert.ok(words && prose(told.message).includes(words), prose(told.message));
    assert.ok(!JSON.stringify(told.message).includes("inlay/"), "more of the block than its words");
  });

  test("malformed tokens take none down", async () => {
    const response = await post(`Minara.x@1,chart@1,minara..x@1,minara.x@01,${card}`, { input: { text: sales } });
    let rejected;
    const message = new Message();
    message.apply = (event) => {
      if (event.type === "start") rejected = event.data.rejected_capabilities;
      Message.prototype.apply.call(message, event);
    };
    await follow(response, message);
    assert.deepEqual(rejected, ["Minara.x@1", "chart@1", "minara..x@1", "minara.x@01"]);
    assert.equal(message.supported.length, 1);
  });

  test("a stream goes on after any of its events", async () => {
    for (const [capabilities, question] of [[card, "How do I deposit?"], [chart, sales]]) {
      const whole = await ask(capabilities, question);
      for (let n = 1; n < whole.told; n++) {
        const message = new Message();
        let at = await follow(await resume(whole.id, capabilities), message, "", n);
        at = await follow(await resume(whole.id, capabilities, at), message, at);
        assert.equal(at, whole.last);
        assert.deepEqual(message.parts, whole.message.parts, `cut after ${n} events`);
      }
      assert.equal((await resume(whole.id, capabilities, whole.last)).status, 204);
    }
  });

  test("an answer goes on when its reader is lost, and the reader catches up", async () => {
    const response = await post(card, { input: { text: "How do I deposit?" } });
    const id = response.headers.get("x-message-id");
    const message = new Message();
    const at = await follow(response, message, "", 5);
    assert.equal(message.ends.length, 0);
    await follow(await resume(id, card, at), message, at);
    finished(message);
    assert.deepEqual(shown(message), ["text", "minara.feature_recommendation"]);
    const again = new Message();
    await follow(await resume(id, card), again);
    assert.deepEqual(again.parts, message.parts);
  });

  test("the same key joins the answer that it began", async () => {
    const body = { input: { text: "How do I deposit?" } };
    const headers = { "idempotency-key": "conformance-1" };
    const read = async (response) => {
      const message = new Message();
      await follow(response, message);
      return { id: response.headers.get("x-message-id"), parts: message.parts };
    };
    const first = await post(card, body, headers);
    const second = await post(card, body, headers);
    assert.deepEqual(await read(second), await read(first));
  });

  test("a session goes on by its id", async () => {
    const first = await ask(card, sales);
    const next = await ask(card, "How do I deposit?", { session_id: first.message.sessionId });
    finished(next.message);
    assert.equal(next.message.sessionId, first.message.sessionId);
  });
});
