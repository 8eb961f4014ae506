import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { actionButton, answerQuestion, noticed, question, stateOf } from "../lib/actions.mjs";
import { closePage, launchBrowser, openPage, screenshot } from "../lib/browser.mjs";
import {
  answers,
  askAndWait,
  assertClean,
  blocks,
  conversationId,
  lastAnswer,
  passing,
  readable,
  saying,
  settled,
  until,
} from "../lib/chat.mjs";
import { startDemoModel, startServer } from "../lib/server.mjs";

/** @typedef {import("../lib/browser.mjs").ChatPage} ChatPage */

/** @type {import("playwright-core").Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof startDemoModel>>} */
let model;
/** @type {import("../lib/server.mjs").Server} */
let server;
before(async () => {
  browser = await launchBrowser();
  model = await startDemoModel();
  server = await startServer(model.env);
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await model?.stop();
});

/** The types of a message's blocks. @param {any} message */
const types = (message) => message.blocks.map((/** @type {any} */ b) => b.type);

/** The last message of a conversation. @param {string} id */
const last = async (id) => (await server.messages(id)).at(-1);

/** How often an action was carried out, by the audit log. @param {string} action @param {string} conversation */
async function carriedOut(action, conversation) {
  const query = new URLSearchParams({ action, conversation });
  const { items } = await server.api(`/v1/audit?${query}`);
  return items.filter((/** @type {any} */ entry) => entry.outcome === "done").length;
}

/** Opens a conversation in a tab of its own, behind another one of the same reader if there is one. @param {string} id @param {ChatPage} [beside] */
async function tab(id, beside) {
  const context = beside?.context();
  const page = await openPage(browser, server.url, {
    path: `/#/c/${encodeURIComponent(id)}`,
    ...(context ? { context } : {}),
  });
  await answers(page).first().waitFor();
  // A tab behind another is drawn about once in a second, which is when a click waits.
  await beside?.bringToFront();
  return page;
}

describe("a form", () => {
  test("one tab submits it and it is locked in the other, after a reload and after a restart", async () => {
    const { conversationId: id } = await server.ask(
      "Export the order details of August for the sample review as CSV",
    );
    const page = await tab(id);
    const other = await tab(id, page);
    const form = blocks(page, "form");
    // What was said is filled in.
    assert.equal(await form.getByLabel("From").inputValue(), "2026-08-01");
    assert.equal(await form.getByLabel("To", { exact: true }).inputValue(), "2026-08-31");
    assert.equal(await form.getByLabel(/^Reason/).inputValue(), "sample review");
    assert.ok(await form.getByLabel("Text (CSV)").isChecked());
    // One region asks for which.
    assert.equal(await form.getByLabel(/^Region/).count(), 0);
    await form.getByLabel("One region").check();
    await form.getByLabel(/^Region/).selectOption({ label: "East" });
    await blocks(other, "form")
      .getByLabel(/^Reason/)
      .fill("something else");

    await actionButton(form, "submit").click();
    assert.match(await question(page).innerText(), /Export the order details as filled in\?/);
    await answerQuestion(page, false);
    assert.equal((await last(id)).blocks.find((/** @type {any} */ b) => b.type === "form").rev, 1);
    await actionButton(form, "submit").click();
    await passing(page, '[data-block-type="file"] progress', () => answerQuestion(page, true));
    const locked = '[data-block-type="form"] [data-locked="true"]';
    for (const one of [page, other]) {
      await one.locator(locked).waitFor();
      await one.locator('[data-block-type="file"][data-block-status="done"]').waitFor();
      assert.equal(await actionButton(blocks(one, "form"), "submit").count(), 0);
    }
    await saying(blocks(page, "form"), /sample review/);
    await saying(blocks(other, "form"), /sent from another place/);
    const state = await stateOf(server, id, "form", "done");
    assert.equal(state.locked, true);
    assert.equal(state.values.region, "East");
    await page.reload();
    await page.locator(locked).waitFor();
    await saying(blocks(page, "form"), /East/);
    assertClean(page);
    assertClean(other);
    await other.close();

    await server.crash();
    await server.again();
    await page.reload();
    await page.locator(locked).waitFor();
    assert.equal(await actionButton(blocks(page, "form"), "submit").count(), 0);
    assert.deepEqual(types(await last(id)), ["text", "form", "text", "file"]);
    await closePage(page);
  });

  test("two tabs submit it at once and it is done once", async () => {
    const { conversationId: id } = await server.ask(
      "Export the order details of July for the sample review as CSV",
    );
    const page = await tab(id);
    const other = await tab(id, page);
    for (const one of [page, other]) {
      await one.bringToFront();
      await actionButton(blocks(one, "form"), "submit").click();
      await question(one).waitFor();
    }
    await Promise.all([answerQuestion(page, true), answerQuestion(other, true)]);
    for (const one of [page, other]) {
      await one.locator('[data-block-type="form"] [data-locked="true"]').waitFor();
      await one.locator('[data-block-type="file"][data-block-status="done"]').waitFor();
    }
    assert.deepEqual(types(await last(id)), ["text", "form", "text", "file"]);
    assert.equal(await carriedOut("export_orders", id), 1);
    assertClean(page, 409);
    assertClean(other, 409);
    await closePage(page);
  });

  test("what is stopped is said to be, and can be submitted again", async () => {
    const { conversationId: id } = await server.ask(
      "Export the order details of September for the sample review",
    );
    const page = await tab(id);
    const form = blocks(page, "form");
    await actionButton(form, "submit").click();
    // The job takes no longer because the browser is busy.
    await passing(
      page,
      '[data-block-type="file"] .inlay-file-stop',
      () => answerQuestion(page, true),
      { pattern: /^Cancel$/, press: true },
    );
    await saying(form, /The export was stopped/);
    await page.locator('[data-block-type="file"][data-block-status="error"]').waitFor();
    assert.equal(await form.getByLabel(/^Reason/).inputValue(), "sample review");
    assert.equal(await carriedOut("export_orders", id), 0);
    await actionButton(form, "submit").click();
    await answerQuestion(page, true);
    await page.locator('[data-block-type="file"][data-block-status="done"]').waitFor();
    assertClean(page);
    await closePage(page);
  });

  test("what fails can be submitted again, with what was entered", async () => {
    const page = await openPage(browser, server.url, { lang: "zh-CN" });
    await askAndWait(page, "看一个会失败一次的导出");
    const form = blocks(page, "form");
    await form.getByLabel(/^用途/).fill("看看失败之后");
    await actionButton(form, "submit").click();
    await answerQuestion(page, true);
    await saying(form, /示例数据源中断了/);
    await screenshot(page, "form-failed");
    assert.equal(await form.getByLabel(/^用途/).inputValue(), "看看失败之后");
    await actionButton(form, "submit").click();
    await answerQuestion(page, true);
    await page.locator('[data-block-type="form"] [data-locked="true"]').waitFor();
    await page.locator('[data-block-type="file"][data-block-status="done"]').waitFor();
    assertClean(page);
    await closePage(page);
  });

  test("a draft outlives a reload, and what is wrong is said beside its field", async () => {
    const { conversationId: id } = await server.ask("Export the order details");
    const page = await tab(id);
    const form = blocks(page, "form");
    await actionButton(form, "submit").click();
    await saying(form, /Fill this in|entry needs another look/);
    assert.equal(await question(page).count(), 0);
    await form.getByLabel(/^Reason/).fill("kept over a reload");
    await until("the draft is kept", () =>
      page.evaluate(() => JSON.stringify({ ...localStorage }).includes("kept over a reload")),
    );
    await page.reload();
    await until(
      "the draft is back",
      async () => (await form.getByLabel(/^Reason/).inputValue()) === "kept over a reload",
    );
    assertClean(page);
    await closePage(page);
  });
});

describe("a person decides", () => {
  test("a paused turn outlives a crash and goes on with the approval", async () => {
    const page = await openPage(browser, server.url);
    const answer = await askAndWait(page, "Approve an expense");
    assert.equal(await answer.getAttribute("data-status"), "paused");
    const confirm = blocks(page, "confirm");
    await saying(confirm, /Approve the sample expense E-1004 over 2150\.00 CNY\?/);
    await screenshot(page, "approval");
    assertClean(page);
    await server.crash();
    await server.again();
    await page.reload();
    page.problems.length = 0; // the crash itself
    await actionButton(confirm, "approve").click();
    await saying(confirm, /Approved/);
    await until("the answer is complete", async () => {
      const { status } = await last(await conversationId(page));
      return status === "done";
    });
    await saying(lastAnswer(page), /E-1004 is approved over 2150\.00 CNY/);
    await saying(blocks(page, "card"), /Within the budget/);
    assert.equal(await actionButton(confirm, "approve").count(), 0);
    assertClean(page);
    await closePage(page);
  });

  test("what was changed before the approval is what is run", async () => {
    const { conversationId: id } = await server.ask("Approve an expense");
    const page = await tab(id);
    const confirm = blocks(page, "confirm");
    await actionButton(confirm, "edit").click();
    await confirm.getByLabel(/^Amount/).fill("1000");
    await confirm.getByLabel(/^Reason/).fill("only the half of it");
    await actionButton(confirm, "edit").click();
    await saying(lastAnswer(page), /E-1003 is approved over 1000\.00 CNY/);
    await saying(confirm, /Approved with changes/);
    await saying(blocks(page, "card"), /only the half of it/);
    assertClean(page);
    await closePage(page);
  });

  test("what is rejected is not run, in every tab", async () => {
    const { conversationId: id } = await server.ask("报销审批", { lang: "zh" });
    const page = await openPage(browser, server.url, {
      lang: "zh-CN",
      path: `/#/c/${encodeURIComponent(id)}`,
    });
    const other = await tab(id, page);
    const confirm = blocks(page, "confirm");
    await actionButton(confirm, "reject").click();
    await confirm.getByLabel("拒绝理由（可不填）").fill("不是我的");
    await actionButton(confirm, "reject").click();
    await saying(lastAnswer(page), /你已拒绝/);
    await saying(lastAnswer(other), /你已拒绝/);
    assert.equal(await actionButton(blocks(other, "confirm"), "approve").count(), 0);
    assert.ok(!types(await last(id)).includes("card"));
    assertClean(page);
    await closePage(page);
  });

  test("a question of the model is answered in the middle of its turn", async () => {
    const page = await openPage(browser, server.url);
    await askAndWait(page, "Ask me which quarter to sum up");
    const asked = blocks(page, "question");
    await asked.getByRole("button", { name: "2026Q2" }).click();
    await saying(lastAnswer(page), /these are its key figures/);
    await saying(asked, /2026Q2/);
    await saying(blocks(page, "metric"), /2026Q2 sales \(sample data\)/);
    assertClean(page);
    await closePage(page);
  });
});

describe("actions", () => {
  test("a deletion takes a second word, and every tab shows what is left", async () => {
    const { conversationId: id } = await server.ask("Show the sample expenses");
    const page = await tab(id);
    const other = await tab(id, page);
    const rows = (/** @type {ChatPage} */ one) => blocks(one, "table").locator("tbody tr");
    await until("the rows are there", async () => (await rows(other).count()) === 4);
    await actionButton(blocks(page, "table"), "delete").click();
    assert.match(await question(page).innerText(), /Delete all sample expenses/);
    await screenshot(page, "delete-confirmation");
    await answerQuestion(page, false);
    assert.equal(await carriedOut("delete_expenses", id), 0);
    await until("the rows are still there", async () => (await rows(page).count()) === 4);
    await actionButton(blocks(page, "table"), "delete").click();
    await answerQuestion(page, true);
    await noticed(page, /4 sample expenses were deleted/);
    for (const one of [page, other]) await saying(blocks(one, "table"), /No rows/);
    await other.bringToFront();
    await actionButton(blocks(other, "table"), "restore").click();
    for (const one of [page, other]) {
      await until("the rows are back", async () => (await rows(one).count()) === 4);
    }
    assertClean(page, 428);
    assertClean(other);
    await closePage(page);
  });

  test("a statement is copied, and run in the same message", async () => {
    const page = await openPage(browser, server.url);
    await askAndWait(page, "How many 500s are there?");
    const query = blocks(page, "query");
    await query.getByRole("button", { name: /^Copy/ }).click();
    await until("the statement on the clipboard", async () =>
      /^SELECT status, method, route/.test(
        await page.evaluate(() => navigator.clipboard.readText()),
      ),
    );
    await actionButton(query, "run").click();
    const table = blocks(page, "table").last();
    await saying(table, /GET|POST|No rows/);
    assert.equal(await answers(page).count(), 1);
    const [, message] = await server.messages(await conversationId(page));
    assert.equal(types(message).at(-1), "table");
    // A longer time than the source allows is neither offered nor sent.
    const times = query.getByLabel("Time range");
    const offered = await times.locator("option").allInnerTexts();
    assert.ok(offered.includes("Last 24 hours") && !offered.includes("Last 7 days"), `${offered}`);
    await times.selectOption({ label: "From … to …" });
    await query.getByLabel("From").fill("2026-01-01T00:00");
    await saying(query, /At most 24 hours/);
    await actionButton(query, "run").press("Enter");
    const [, after] = await server.messages(await conversationId(page));
    assert.deepEqual(types(after), types(message));
    assertClean(page);
    await closePage(page);
  });

  test("a card asks on, is watched and unwatched, and a tree does what its button says", async () => {
    const page = await openPage(browser, server.url);
    await askAndWait(page, "Compare watches for running");
    const list = blocks(page, "card_list");
    await saying(list, /Sample watch Trail/);
    await list.getByRole("button", { name: "Tell me more" }).nth(1).click();
    await settled(page, 2);
    assert.match(
      await page.locator('article[data-role="user"]').last().innerText(),
      /Tell me more about Sample watch Trail/,
    );
    const card = lastAnswer(page).locator('[data-block-type="card"]');
    await saying(card, /Sample watch Trail/);
    await actionButton(card, "watch").click();
    await noticed(page, /Sample watch Trail is watched\./);
    await saying(actionButton(card, "watch"), /Stop watching/);
    await actionButton(card, "watch").click();
    await noticed(page, /not watched any more/);
    await saying(actionButton(card, "watch"), /Watch its stock/);
    const tree = lastAnswer(page).locator('[data-block-type="tree"]');
    await tree.getByRole("button", { name: "Add to the sample basket" }).click();
    await noticed(page, /Pieces in the sample basket: 1\./);
    assertClean(page);
    await closePage(page);
  });

  test("every kind of chart, the flow, the steps and a long table are drawn", async () => {
    const page = await openPage(browser, server.url);
    const conversation = [
      ["Show every chart type", "chart", 9],
      ["Show the other chart types", "chart", 9],
      ["Show the flow of orders by region", "echarts_raw", 1],
      ["Roll out a release that fails", "steps", 1],
      ["List the top 500 orders", "table", 1],
    ];
    for (const [i, [text, type, count]] of conversation.entries()) {
      const answer = await askAndWait(page, String(text), i + 1);
      const made = answer.locator(`[data-block-type="${type}"][data-block-status="done"]`);
      assert.equal(await made.count(), count);
      assert.ok((await readable(answer)).length > 10);
    }
    await saying(blocks(page, "steps"), /Too many sample errors, on purpose/);
    await saying(blocks(page, "table"), /SAMPLE-0109/);
    // The rows came in parts.
    const { events } = await server.ask("List the top 500 orders");
    assert.equal(events.match(/event: block_delta/g)?.length, 6);
    assertClean(page);
    await closePage(page);
  });
});
