import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { obstacles } from "../lib/axe.mjs";
import { closePage, launchBrowser, openPage, screenshot } from "../lib/browser.mjs";
import {
  answers,
  ask,
  askAndWait,
  assertClean,
  blocks,
  composer,
  conversationId,
  lastAnswer,
  readable,
  settled,
  stopButton,
  until,
} from "../lib/chat.mjs";
import { startDemoModel, startServer } from "../lib/server.mjs";

/** @typedef {import("../lib/browser.mjs").ChatPage} Page */

const type = "minara.feature_recommendation";

/** @type {import("playwright-core").Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof startDemoModel>>} */
let model;
/** @type {Awaited<ReturnType<typeof startGate>>} */
let gate;
/** @type {import("../lib/server.mjs").Server} */
let server;

/**
 * Stands before a model and can hold back what is asked of it about
 * recommendations.
 * @param {string} to
 */
async function startGate(to) {
  let held = Promise.resolve();
  let waiting = 0;
  const http = createServer(async (req, res) => {
    let body = "";
    for await (const chunk of req) body += chunk;
    if (typeof JSON.parse(body || "{}").tool_choice === "object") {
      waiting++;
      await held;
      waiting--;
    }
    if (res.destroyed) return;
    const answer = await fetch(`${to}${req.url}`, {
      method: req.method,
      headers: { "Content-Type": "application/json" },
      body,
    });
    res.writeHead(answer.status, { "Content-Type": answer.headers.get("Content-Type") ?? "" });
    for await (const chunk of answer.body ?? []) res.write(chunk);
    res.end();
  });
  await new Promise((resolve) => http.listen(0, "127.0.0.1", () => resolve(undefined)));
  http.unref();
  const { port } = /** @type {import("node:net").AddressInfo} */ (http.address());
  return {
    url: `http://127.0.0.1:${port}/v1`,
    /** How many are held back. */
    waiting: () => waiting,
    /** Holds them back until the returned function is called. */
    close() {
      let open = () => {};
      held = new Promise((resolve) => {
        open = () => resolve(undefined);
      });
      return open;
    },
    stop: () => http.closeAllConnections(),
  };
}

before(async () => {
  browser = await launchBrowser();
  model = await startDemoModel();
  gate = await startGate(model.url);
  server = await startServer({
    ...model.env,
    INLAY_MODEL_BASE_URL: gate.url,
    // What is held back is waited for, however long it takes to look at the page.
    INLAY_RECOMMENDER_TIMEOUT: "30s",
  });
});
after(async () => {
  await browser?.close();
  await server?.stop();
  gate?.stop();
  await model?.stop();
});

/** The button of a card's item. @param {import("playwright-core").Page} page @param {string} name */
const item = (page, name) => blocks(page, type).getByRole("button", { name });

/** Waits until the server has logged that an item was used. @param {Page} page @param {string} action */
async function counted(page, action) {
  const id = await blocks(page, type).last().getAttribute("data-block-id");
  await until(`${action} of ${id} is counted`, () =>
    server
      .log()
      .split("\n")
      .some(
        (line) => line.includes("block action") && line.includes(`${id}`) && line.includes(action),
      ),
  );
}

for (const [lang, question, open, title, amount, done] of /** @type {const} */ ([
  ["en-US", "How do I deposit?", "Open the deposit", "Deposit", "Amount", "Done"],
  ["zh-CN", "怎么入金", "打开入金", "入金", "数量", "完成"],
])) {
  test(`${question} is answered, then a card opens the dialog by keyboard alone`, async (t) => {
    const page = await openPage(browser, server.url, { lang });
    t.after(() => closePage(page));
    await composer(page).waitFor();
    const answer = await askAndWait(page, question);
    const order = await answer
      .locator("[data-block-type]")
      .evaluateAll((all) => all.map((e) => e.getAttribute("data-block-type")));
    assert.deepEqual(order, ["text", type]);
    await item(page, open).waitFor();
    const part = lang === "en-US" ? "all" : "words";
    assert.deepEqual(await obstacles(page, part), []);

    await page.reload();
    await item(page, open).waitFor();
    await composer(page).focus();
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? "");
    for (let i = 0; i < 12 && !(await focused()).includes(open); i++) {
      await page.keyboard.press("Shift+Tab");
    }
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: title });
    await dialog.waitFor();
    assert.deepEqual(await obstacles(page, part), []);
    await screenshot(page, `deposit-${lang.slice(0, 2)}`);
    for (let i = 0; i < 7; i++) {
      await page.keyboard.press("Tab");
      const outside = await page.evaluate(() => {
        const e = document.activeElement;
        return e !== document.body && !e?.closest("dialog");
      });
      assert.equal(outside, false, "the focus stays inside");
    }
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await until("the focus is back", async () => (await focused()).includes(open));

    await page.keyboard.press("Enter");
    const field = dialog.getByRole("textbox", { name: amount });
    await until("the field has the focus", () =>
      field.evaluate((e) => e === document.activeElement),
    );
    await page.keyboard.type("25");
    await page.keyboard.press("Enter");
    await dialog.getByText("25 USDC").waitFor();
    assert.deepEqual(await obstacles(page, part), []);
    await dialog.getByRole("button", { name: done }).press("Enter");
    await dialog.waitFor({ state: "detached" });
    await until("the focus is back again", async () => (await focused()).includes(open));
    await counted(page, "modal");
    assertClean(page);
  });
}

test("a command is put into the message field, and sent by the reader alone", async (t) => {
  const page = await openPage(browser, server.url);
  t.after(() => closePage(page));
  await composer(page).waitFor();
  await askAndWait(page, "Which commands are there?");
  const button = item(page, "Sales of 2026Q3");
  await button.focus();
  // As a key that is held down for long.
  for (let i = 0; i < 5; i++) await page.keyboard.down("Enter");
  await until("the field has the focus", () =>
    composer(page).evaluate((e) => e === document.activeElement),
  );
  for (let i = 0; i < 5; i++) await page.keyboard.down("Enter");
  await page.keyboard.up("Enter");
  await until("the command stands before the caret", () =>
    composer(page).evaluate((e) => {
      const field = /** @type {HTMLTextAreaElement} */ (e);
      return field.value.slice(0, field.selectionStart) === "/sales 2026Q3";
    }),
  );
  assert.equal(await composer(page).inputValue(), "/sales 2026Q3");
  assert.equal(await answers(page).count(), 1, "nothing was sent");

  // What the reader wrote is not lost.
  await composer(page).fill("by region, please");
  await button.click();
  await until("both are in the field", async () => {
    return (await composer(page).inputValue()) === "/sales 2026Q3\nby region, please";
  });
  await counted(page, "slash");
  await composer(page).fill("/sales 2026Q3");
  await composer(page).press("Enter");
  await settled(page, 2);
  await blocks(page, "chart").waitFor();
  assertClean(page);
});

test("a place of the page is gone to, and back", async (t) => {
  const page = await openPage(browser, server.url);
  t.after(() => closePage(page));
  await composer(page).waitFor();
  await askAndWait(page, "Where can I see all block types?");
  await conversationId(page);
  await item(page, "Open the gallery").click();
  await page.waitForURL(`${server.url}/gallery`);
  await page.locator(".gallery[data-ready]").waitFor();
  await page.goBack();
  await item(page, "Open the gallery").waitFor();
  await counted(page, "route");
  assertClean(page);
});

test("another host is opened in a new tab if it is listed, and not otherwise", async (t) => {
  const page = await openPage(browser, server.url);
  t.after(() => closePage(page));
  await page.context().route("https://**", (route) => route.fulfill({ body: "a page elsewhere" }));
  t.after(() => page.context().unroute("https://**"));
  await composer(page).waitFor();
  await askAndWait(page, "Where does the data come from?");
  const opened = page.context().waitForEvent("page");
  await item(page, "Labor statistics").click();
  const tab = await opened;
  await tab.waitForURL("https://www.bls.gov/cps/");
  assert.equal(await tab.evaluate(() => window.opener), null);
  await tab.close();
  await counted(page, "external");
  assertClean(page);

  // The server's list is not the page's only reason: it may have changed since the answer.
  await page.route("**/v1/client-config", async (route) => {
    const response = await route.fetch();
    const config = await response.json();
    config.allow.link_hosts = ["data.gov"];
    await route.fulfill({ response, json: config });
  });
  await page.reload();
  const before = page.context().pages().length;
  await item(page, "Labor statistics").click();
  await until("the page says so", () => page.problems.length > 0);
  assert.match(page.problems.join("\n"), /^console warning: .*www\.bls\.gov/);
  assert.equal(page.problems.length, 1);
  assert.equal(page.context().pages().length, before);
});

test("the model shows a card itself, or a link to those who cannot draw one", async (t) => {
  const question = "Take me to the block gallery";
  const page = await openPage(browser, server.url);
  t.after(() => closePage(page));
  await composer(page).waitFor();
  const answer = await askAndWait(page, question);
  const order = await answer
    .locator("[data-block-type]")
    .evaluateAll((all) => all.map((e) => e.getAttribute("data-block-type")));
  assert.deepEqual(order, ["text", type, "text"]);

  const response = await fetch(`${server.url}/v1/chat`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Blocks": "chart@1" },
    body: JSON.stringify({ input: { text: question } }),
  });
  const events = await response.text();
  assert.doesNotMatch(events, /feature_recommendation|block_end/);
  const id = response.headers.get("X-Conversation-Id");
  await page.goto(`${server.url}/#/c/${id}`);
  // Until it is, the answer before is.
  await until("the answer is shown", async () => {
    return /It is here: the block gallery/.test(await readable(lastAnswer(page)));
  });
  assert.equal(await answers(page).count(), 1);
  assert.equal(await blocks(page, type).count(), 0);
  assertClean(page);
});

test("an answer is complete, and the next one asked for, while a recommendation is looked for", async (t) => {
  const open = gate.close();
  t.after(open);
  const page = await openPage(browser, server.url);
  t.after(() => closePage(page));
  await composer(page).waitFor();
  await ask(page, "How do I withdraw?");
  await until("it is looked for", () => gate.waiting() === 1);
  const told = page.locator('[data-live="true"]');
  await until("it is told", async () => (await told.textContent()) === "Answer complete");
  assert.equal(await stopButton(page).count(), 0);
  assert.equal(await answers(page).first().getAttribute("aria-busy"), "false");
  assert.equal(await answers(page).first().getAttribute("data-status"), "running");
  await ask(page, "Give me the sales summary for Q3");
  await until("the next one is there", async () => (await answers(page).count()) === 2);
  open();
  await settled(page, 2);
  await settled(page, 1);
  assert.equal(await blocks(page, type).count(), 0, "nobody waits for it any more");
  assertClean(page);
});
