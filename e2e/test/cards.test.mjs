import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { actionButton } from "../lib/actions.mjs";
import { obstacles } from "../lib/axe.mjs";
import { closePage, launchBrowser, openPage } from "../lib/browser.mjs";
import {
  ask,
  askAndWait,
  assertClean,
  blocks,
  lastAnswer,
  readable,
  saying,
  settled,
  until,
} from "../lib/chat.mjs";
import { holdAt, startProxy } from "../lib/proxy.mjs";
import { startDemoModel, startServer } from "../lib/server.mjs";

const product = "app.product_card";
const train = "app.train_card";

/** @type {import("playwright-core").Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof startDemoModel>>} */
let model;
/** @type {import("../lib/server.mjs").Server} */
let server;

before(async () => {
  [browser, model] = await Promise.all([launchBrowser(), startDemoModel()]);
  server = await startServer(model.env);
});

after(async () => {
  await browser?.close();
  await server?.stop();
  await model?.stop();
});

/**
 * The types of an answer's blocks, in the order in which they are seen.
 * @param {import("playwright-core").Locator} answer
 */
const order = (answer) =>
  answer
    .locator("[data-block-type]")
    .evaluateAll((all) => all.map((e) => /** @type {HTMLElement} */ (e).dataset.blockType));

for (const { lang, question, names, button } of [
  {
    lang: "en-US",
    question: "Recommend a running watch",
    names: ["Sample watch Run", "Sample watch Trail", "Sample watch Lite"],
    button: "Add to the sample basket",
  },
  {
    lang: "zh-CN",
    question: "推荐跑步手表",
    names: ["示例手表 跑步款", "示例手表 越野款", "示例手表 轻量款"],
    button: "加入示例购物车",
  },
]) {
  test(`a watch is recommended by three cards, each written in another way: ${lang}`, async () => {
    const page = await openPage(browser, server.url, { lang });
    const answer = await askAndWait(page, question);
    assert.deepEqual(await order(answer), [
      "text",
      product,
      "text",
      product,
      "text",
      product,
      "text",
    ]);
    const cards = blocks(page, product);
    for (const [i, name] of names.entries()) await saying(cards.nth(i), new RegExp(name));
    // The shop's price, not the one that the model wrote.
    assert.match(await cards.first().innerText(), /699/);
    assert.doesNotMatch(await readable(answer), /ProductCard|watch-run/);
    assert.equal(await cards.getByRole("button", { name: button }).count(), 3);
    assert.deepEqual(await obstacles(page), []);
    assertClean(page);
    await closePage(page);
  });
}

test("a card in the text does what its button says, and is there after a reload", async () => {
  const page = await openPage(browser, server.url);
  await askAndWait(page, "Recommend a running watch");
  await actionButton(blocks(page, product).nth(1), "addToBasket").click();
  await until("said", async () =>
    /Pieces in the sample basket: 1\./.test(await page.innerText("body")),
  );
  await page.reload();
  await saying(blocks(page, product).nth(1), /Sample watch Trail/);
  await blocks(page, product).nth(1).getByRole("button", { name: "Tell me more" }).click();
  await settled(page, 2);
  await saying(lastAnswer(page).locator('[data-block-type="card"]'), /Sample watch Trail/);
  assertClean(page);
  await closePage(page);
});

test("what is no card is seen as it was written, and the answer goes on", async () => {
  const page = await openPage(browser, server.url);
  const answer = await askAndWait(page, "Recommend a watch and make mistakes");
  const cards = blocks(page, product);
  assert.equal(await cards.count(), 3);
  await saying(cards.nth(0), /\{"id": watch-run\}/);
  await saying(cards.nth(1), /\[\(ProductCard:watch-none\)\]/);
  await saying(cards.nth(2), /"title":"Sample wa/);
  assert.match(
    await answer.locator('[data-block-type="text"] pre').innerText(),
    /"id":"watch-run"/,
  );
  assert.equal(await answer.getAttribute("data-status"), "done");
  assertClean(page);
  await closePage(page);
});

test("trains keep their places while their data is on its way; one that there is not is said to be missing", async (t) => {
  const proxy = await startProxy(server.url);
  t.after(() => proxy.stop());
  const release = holdAt(proxy, "block_end");
  const page = await openPage(browser, proxy.url);
  await ask(page, "The train to Shanghai tomorrow");
  const first = blocks(page, train).first();
  await first.waitFor();
  assert.equal(await first.getAttribute("aria-busy"), "true");
  release();
  const answer = await settled(page);
  assert.deepEqual(await order(answer), ["text", train, "text", train, "text", train, "text"]);
  await saying(first, /S101[\s\S]*Shanghai \(sample\)/);
  assert.match(await first.innerText(), /08:05/);
  assert.match(await first.innerText(), /553/);
  await saying(blocks(page, train).nth(1), /S103/);
  await saying(blocks(page, train).nth(2), /\[\(TrainCard:S999\)\]/);
  assert.deepEqual(await obstacles(page), []);
  assertClean(page);
  await closePage(page);
});
