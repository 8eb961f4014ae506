// Drives a server, as it is built and started with nothing configured, with the
// clients of reader.mjs: they ask, read, lose connections and packets, go on, and
// click, as a client team's own client would.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { start } from "../binary.mjs";
import { MarkdownOnly, Message, drawn, follow } from "./reader.mjs";

const sales = "Show 2026Q3 sales by region";
const product = "Tell me more about Sample watch Run";

let server, base;

before(async () => {
  server = await start();
  base = server.base;
});

after(() => server?.stop());

const post = (path, body, headers = {}) =>
  fetch(base + path, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) });

/** A client that writes down what it was sent. */
class Noted extends Message {
  packets = [];

  take(packet) {
    this.packets.push(packet);
    super.take(packet);
  }
}

/** Asks and reads the whole answer. */
async function ask(text, { query = "", headers = {}, ...more } = {}) {
  const response = await post(`/v1/chat/cards?${query}`, { input: { text }, ...more }, headers);
  const message = new Noted();
  const last = await follow(response, message);
  assert.equal(message.id, response.headers.get("x-message-id"));
  assert.equal(message.held.size, 0);
  return { message, last, id: message.id, conversation: response.headers.get("x-conversation-id") };
}

const resume = (id, lastEventId = "", query = "") =>
  fetch(`${base}/v1/messages/${id}/events?dialect=cards&${query}`, { headers: lastEventId ? { "last-event-id": lastEventId } : {} });

/** The full state by the message's id, and where the packets after it begin. */
async function full(id, query = "") {
  const response = await fetch(`${base}/v1/messages/${id}/cards?${query}`);
  assert.equal(response.status, 200);
  return { packet: await response.json(), last: response.headers.get("x-last-event-id") };
}

const end = (message) => message.ends.at(-1);
const types = (message) => [...new Set(message.packets.map((p) => p.type))];
const cards = (message) => Object.values(message.state.cards);

/** What a page draws is what the text has, for both kinds of client. */
function sound(message) {
  assert.deepEqual(message.packets.map((p) => p.seq), message.packets.map((_, i) => i + 1));
  const fences = drawn(message.state.markdown);
  assert.deepEqual(fences.map((f) => f.id).sort(), Object.keys(message.state.cards).sort());
  for (const { id, name, major, body } of fences) {
    const card = message.state.cards[id];
    assert.equal(name, card.type);
    assert.equal(`${major}`, card.schemaVersion.split(".")[0]);
    assert.deepEqual(body, card.data);
  }
  const one = new MarkdownOnly();
  for (const packet of message.packets) one.take(packet);
  assert.equal(one.markdown, message.state.markdown);
}

/** Presses a button with what stands in the packets, and nothing else. */
const press = (message, card, action, more = {}, trace) =>
  post("/v1/chat/actions", {
    msgId: message.id,
    blockId: card.id,
    actionId: action.id ?? action.name,
    payload: { ...action.params, ...more },
    idempotencyKey: crypto.randomUUID(),
    ...(trace && { traceId: trace }),
  });

/** Reads on until something is so. */
async function until(message, last, so) {
  for (const late = Date.now() + 30_000; Date.now() < late && !so(); ) {
    const response = await resume(message.id, last);
    if (response.status === 204) await setTimeout(20);
    else last = await follow(response, message, last);
  }
  assert.ok(so(), JSON.stringify(message.state));
  return last;
}

describe("a server with the demo model", { concurrency: true }, () => {
  test("data that comes later replaces the skeleton, in the text and beside it", async () => {
    const { message } = await ask(sales);
    sound(message);
    assert.equal(end(message).finishReason, "stop");
    const [chart] = cards(message);
    assert.equal(chart.type, "Chart");
    assert.ok(chart.data.data.length > 0);
    const skeleton = `\`\`\`Chart@1 id=${chart.id}\n{"id":"${chart.id}"}\n\`\`\``;
    const opened = message.packets.findIndex((p) => p.type === "append" && p.payload.markdown.includes(skeleton));
    const filled = message.packets.findIndex(
      (p) => p.type === "patch" && p.payload.patch.some((o) => o.op === "replace-substring" && o.path === "/markdown" && skeleton.includes(o.substring)),
    );
    const beside = message.packets.findIndex((p) => p.type === "patch" && p.payload.patch.some((o) => o.op === "add" && o.path === `/cards/${chart.id}`));
    assert.ok(0 < opened && opened < filled && filled < beside, `${opened} ${filled} ${beside}`);
  });

  test("there is a packet of each type, and of no other", async () => {
    const next = { query: "capabilities=minara.feature_recommendation@1" };
    const asked = await Promise.all([ask(sales), ask("How do I deposit?", next), ask("Let the model fail")]);
    for (const { message } of asked) sound(message);
    assert.deepEqual([...new Set(asked.flatMap(({ message }) => types(message)))].sort(), ["append", "card", "done", "error", "full", "patch"]);
    const { error } = end(asked[2].message);
    assert.equal(error.code, "model_unavailable");
    assert.equal(error.retryable, true);
  });

  test("a client that draws no charts has the figures in prose", async () => {
    const [all, none] = await Promise.all([ask(sales), ask(sales, { query: "capabilities=table@1" })]);
    sound(none.message);
    assert.deepEqual(cards(none.message), []);
    const words = cards(all.message)[0].fallback;
    assert.ok(words && none.message.state.markdown.includes(words), none.message.state.markdown);
    assert.deepEqual((await full(none.id, "capabilities=table@1")).packet.payload.cards, {});
  });

  test("a stream goes on after any of its events", async () => {
    for (const question of [sales, product]) {
      const whole = await ask(question);
      for (let n = 1; n < whole.message.packets.length; n++) {
        const message = new Message();
        let at = await follow(await resume(whole.id), message, "", n);
        at = await follow(await resume(whole.id, at), message, at);
        assert.equal(at, whole.last);
        assert.deepEqual(message.state, whole.message.state, `cut after ${n} packets`);
        assert.deepEqual(message.ends, whole.message.ends);
      }
      assert.equal((await resume(whole.id, whole.last)).status, 204);
    }
  });

  test("an answer goes on when its reader is lost, and the reader catches up", async () => {
    const message = new Message();
    const at = await follow(await post("/v1/chat/cards", { input: { text: sales } }), message, "", 3);
    assert.equal(message.ends.length, 0);
    await follow(await resume(message.id, at), message, at);
    assert.equal(end(message).finishReason, "stop");
    const again = new Message();
    await follow(await resume(message.id), again);
    assert.deepEqual(again.state, message.state);
  });

  test("who lost a packet fetches the full state and goes on", async () => {
    const whole = await ask(sales);
    const all = whole.message.packets;
    for (let lost = 1; lost < all.length; lost++) {
      const message = new Message();
      // Those after the lost one are held, and none of them is applied.
      for (const packet of all) if (packet.seq !== all[lost].seq) message.take(packet);
      assert.equal(message.seq, lost);
      assert.equal(message.held.size, all.length - lost - 1);
      const { packet, last } = await full(whole.id);
      assert.equal(packet.messageId, whole.id);
      message.take(packet);
      assert.equal(message.held.size, 0);
      assert.equal(message.seq, all.length);
      assert.deepEqual(message.state, whole.message.state);
      assert.equal(end(message).finishReason, "stop");
      assert.deepEqual(end(message).usage, end(whole.message).usage);
      assert.equal(last, whole.last);
      assert.equal((await resume(whole.id, last)).status, 204);
    }
  });

  test("the full state of an answer that is being written is gone on with, packet by packet", async () => {
    const response = await post("/v1/chat/cards", { input: { text: sales } });
    const live = new Noted();
    const reading = follow(response, live);
    const id = response.headers.get("x-message-id");
    let between = 0;
    while (live.ends.length === 0) {
      const { packet, last } = await full(id);
      if (packet.seq === 0) {
        await setTimeout(5); // nothing has been written yet
        continue;
      }
      const late = new Noted();
      late.take(packet);
      if (late.ends.length > 0) break;
      await follow(await resume(id, last), late, last);
      assert.deepEqual(late.packets.map((p) => p.seq), late.packets.map((_, i) => packet.seq + i));
      assert.equal(end(late).finishReason, "stop");
      await reading;
      assert.deepEqual(late.state, live.state);
      between++;
    }
    assert.ok(between > 0, "the answer was too quick to be met in the middle");
  });

  test("a click is answered, and every reader sees what came of it", async () => {
    const { message, last } = await ask(product);
    sound(message);
    const card = cards(message).find((c) => c.type === "Card");
    const [watch] = card.actions;
    assert.deepEqual([watch.type, watch.name, watch.id, watch.text], ["api", "watch_product", "watch", "Watch its stock"]);
    assert.equal(watch.params.product, "watch-run");
    const trace = "0123456789abcdef0123456789abcdef";
    const response = await press(message, card, watch, {}, trace);
    assert.equal(response.status, 200);
    const answer = await response.json();
    assert.equal(answer.status, "done");
    assert.deepEqual(answer.result, { watching: true });
    assert.equal(answer.traceId, trace);
    // The card comes anew, with the button that undoes it.
    await until(message, last, () => message.state.cards[card.id].actions[0].text === "Stop watching");
    sound(message);
    const late = new Message();
    late.take((await full(message.id)).packet);
    assert.deepEqual(late.state, message.state);
    assert.equal(late.seq, message.seq);
  });

  test("the nodes of a tree say what a click does as cards do", async () => {
    const { message } = await ask(product);
    const tree = cards(message).find((c) => c.type === "Tree");
    const buttons = [];
    const walk = (node) => {
      if (node.action) buttons.push(node);
      node.children?.forEach(walk);
    };
    walk(tree.data.root);
    assert.equal(buttons.length, 1);
    const [{ type, action }] = buttons;
    assert.equal(type, "button");
    assert.deepEqual([action.type, action.name, action.id, action.params], ["api", "add_to_basket", "addToBasket", { product: "watch-run" }]);
    assert.equal(action.feedback.failureToast, "It could not be added.");
    const answer = await (await press(message, tree, action)).json();
    assert.equal(answer.status, "done");
    assert.ok(answer.result.pieces >= 1);
    assert.ok(answer.feedback.successText);
    // One that the business refuses says so where the click was.
    const refused = await press(message, tree, action, { product: "watch-swim" });
    assert.equal(refused.status, 502);
    const { error } = await refused.json();
    assert.equal(error.code, "action_failed");
    assert.ok(error.details.feedback.failureToast);
    assert.match(error.traceId, /^[0-9a-f]{32}$/);
  });

  test("a button that asks on begins an answer of its own", async () => {
    const { message } = await ask("Compare watches for running");
    sound(message);
    const list = cards(message).find((c) => c.actions?.some((a) => a.type === "prompt"));
    const more = list.actions.find((a) => a.type === "prompt");
    const { params } = list.data.items[0].actions[0];
    const response = await press(message, list, more, params);
    assert.equal(response.status, 202);
    const { msgId } = await response.json();
    const next = new Message();
    await follow(await resume(msgId), next);
    assert.equal(end(next).finishReason, "stop");
    assert.notEqual(next.id, message.id);
  });

  test("a turn that is stopped says so", async () => {
    const response = await post("/v1/chat/cards", { input: { text: "Write a long answer" } });
    const id = response.headers.get("x-message-id");
    const message = new Message();
    const reading = follow(response, message);
    while (message.state.markdown === "") await setTimeout(5);
    assert.ok((await post(`/v1/messages/${id}/stop`, {})).ok);
    await reading;
    assert.equal(end(message).finishReason, "cancelled");
    const late = new Message();
    late.take((await full(id)).packet);
    assert.equal(end(late).finishReason, "cancelled");
    assert.deepEqual(late.state, message.state);
  });

  test("the same key joins the answer that it began", async () => {
    const headers = { "idempotency-key": "conformance-1" };
    const first = await ask(sales, { headers });
    const second = await ask(sales, { headers });
    assert.equal(second.id, first.id);
    assert.deepEqual(second.message.packets, first.message.packets);
  });

  test("a conversation goes on, and what is not there is not found", async () => {
    const first = await ask("Hello");
    const next = await ask(sales, { conversationId: first.conversation });
    assert.equal(next.conversation, first.conversation);
    assert.equal((await fetch(`${base}/v1/messages/m_none/cards`)).status, 404);
    assert.equal((await resume("m_none")).status, 404);
  });
});
