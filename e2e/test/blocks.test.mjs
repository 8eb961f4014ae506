import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { closePage, launchBrowser, openPage, screenshot } from "../lib/browser.mjs";
import {
  answers,
  ask,
  askAndWait,
  assertClean,
  blocks,
  chooseInMenu,
  composer,
  conversationId,
  drawn,
  lastAnswer,
  picture,
  readable,
  saying,
  settled,
  until,
} from "../lib/chat.mjs";
import { holdAt, startProxy } from "../lib/proxy.mjs";
import { startDemoModel, startServer } from "../lib/server.mjs";

/** @type {import("playwright-core").Browser} */
let browser;
before(async () => {
  browser = await launchBrowser();
});
after(() => browser?.close());

/** The types of an answer's blocks in their order. @param {import("playwright-core").Locator} answer */
const order = (answer) =>
  answer
    .locator("[data-block-id]")
    .evaluateAll((all) => all.map((e) => /** @type {HTMLElement} */ (e).dataset.blockType));

describe("the demo", () => {
  test("a suggestion leads from a skeleton to a chart with the text around it", async () => {
    const server = await startServer();
    const proxy = await startProxy(server.url);
    // Where the block was announced and its data is still to come.
    const release = holdAt(proxy, "block_end");
    try {
      proxy.slice = 7;
      const page = await openPage(browser, proxy.url);
      await page.getByRole("button", { name: /Q3 sales by region/ }).click();

      const loading = page.locator('[data-block-type="chart"][data-block-status="loading"]');
      await loading.waitFor();
      assert.equal(await loading.locator(".inlay-skeleton").count(), 1);
      assert.match(await loading.innerText(), /2026Q3 sales by region/);
      const id = await loading.getAttribute("data-block-id");
      const announced = await loading.boundingBox();
      release();

      const done = page.locator('[data-block-type="chart"][data-block-status="done"]');
      await done.waitFor();
      assert.equal(await done.getAttribute("data-block-id"), id);
      await drawn(done);
      const answer = await settled(page);
      assert.deepEqual(await order(answer), ["text", "chart", "text"]);
      const box = await done.boundingBox();
      assert.ok(
        Math.abs((box?.height ?? 0) - (announced?.height ?? 0)) <= 24,
        `the skeleton is ${announced?.height} px high, the chart ${box?.height} px`,
      );

      // The comment is made of the chart's own figures.
      const [, message] = await server.messages(await conversationId(page));
      const chart = message.blocks.find((/** @type {any} */ b) => b.type === "chart");
      assert.ok(chart.payload.data.length >= 3);
      const text = await readable(answer);
      const amounts = chart.payload.data.map((/** @type {any} */ row) => row.amount);
      assert.ok(text.includes(String(Math.max(...amounts))), text);
      assert.ok(text.includes(String(Math.min(...amounts))), text);
      assert.ok(await page.getByText("Demo model – scripted answers, no AI").isVisible());
      await screenshot(page, "sales-by-region");
      assertClean(page);
      await closePage(page);
    } finally {
      release();
      await proxy.stop();
      await server.stop();
    }
  });

  test("the same answer comes over the wire of a real model", async () => {
    const model = await startDemoModel(["--fast", "--seed", "7"]);
    // Byte by byte, so that no reader may count on whole lines or characters.
    const wire = await startProxy(model.url);
    wire.slice = 1;
    const server = await startServer({ ...model.env, INLAY_MODEL_BASE_URL: `${wire.url}/v1` });
    try {
      const page = await openPage(browser, server.url);
      const answer = await askAndWait(page, "Show the Q3 sales by region");
      await drawn(blocks(page, "chart"));
      assert.deepEqual(await order(answer), ["text", "chart", "text"]);
      assert.match(await readable(answer), /East leads with 320, West is last with 140/);
      const [, message] = await server.messages(await conversationId(page));
      assert.equal(message.model.name, "demo-scripted-1");
      assert.deepEqual(wire.requests, Array(2).fill("POST /v1/chat/completions"));
      assert.equal(message.finishReason, "stop");
      assertClean(page);
      await closePage(page);
    } finally {
      await server.stop();
      await wire.stop();
      await model.stop();
    }
  });
});

describe("blocks", () => {
  /** @type {Awaited<ReturnType<typeof startDemoModel>>} */
  let model;
  /** @type {import("../lib/server.mjs").Server} */
  let server;
  before(async () => {
    model = await startDemoModel();
    server = await startServer(model.env);
  });
  after(async () => {
    await server?.stop();
    await model?.stop();
  });

  test("a click on a bar asks about it", async () => {
    const page = await openPage(browser, server.url);
    await askAndWait(page, "Show the Q3 sales by region");
    const chart = blocks(page, "chart").first();
    const canvas = await drawn(chart);
    const { bar } = await picture(canvas);
    assert.ok(bar, "a bar is drawn");
    await canvas.click({ position: bar });
    await settled(page, 2);
    const question = page.locator('article[data-role="user"]').last();
    assert.match(await question.innerText(), /Show the cities of East in 2026Q3/);
    const detail = lastAnswer(page).locator('[data-block-type="chart"]');
    await drawn(detail);
    await saying(detail, /East: 2026Q3 sales by city/);
    // By keyboard the same.
    await chart.locator(".inlay-chart-canvas").focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await settled(page, 3);
    assert.match(
      await page.locator('article[data-role="user"]').last().innerText(),
      /Show the cities of South in 2026Q3/,
    );
    assertClean(page);
    await closePage(page);
  });

  test("a chart is its table, a CSV file and a picture too", async () => {
    const page = await openPage(browser, server.url);
    await askAndWait(page, "Show the Q3 sales by region");
    const chart = blocks(page, "chart");
    await drawn(chart);

    const download = async (/** @type {string} */ entry) => {
      const [file] = await Promise.all([page.waitForEvent("download"), chooseInMenu(chart, entry)]);
      return { name: file.suggestedFilename(), bytes: await readFile(await file.path()) };
    };
    const csv = await download("csv");
    assert.equal(csv.name, "2026Q3 sales by region.csv");
    const lines = csv.bytes.toString("utf8").split("\r\n");
    assert.equal(lines[0], "\ufeffRegion,Sales");
    assert.deepEqual(lines.slice(1), ["East,320", "South,210", "North,180", "West,140", ""]);

    const png = await download("png");
    assert.equal(png.name, "2026Q3 sales by region.png");
    assert.equal(png.bytes.subarray(1, 4).toString("latin1"), "PNG");
    assert.equal(png.bytes.readUInt32BE(16), 1920);
    assert.ok(png.bytes.length > 8_000, `only ${png.bytes.length} bytes`);

    await chooseInMenu(chart, "table");
    await chart.locator("table").waitFor();
    await chart.locator("canvas").waitFor({ state: "detached" });
    assert.match(await chart.locator("tbody tr").first().innerText(), /^East\s+320\s10k CNY$/);
    await chooseInMenu(chart, "table");
    await drawn(chart);
    assertClean(page);
    await closePage(page);
  });

  test("a table is sorted by its headings and filtered by text", async () => {
    const page = await openPage(browser, server.url);
    await askAndWait(page, "List the latest 50 orders");
    const table = blocks(page, "table");
    const amounts = async () =>
      (await table.locator("tbody tr td:nth-child(7)").allInnerTexts()).map((text) =>
        Number(text.replace(/[^\d.]/g, "")),
      );
    await table.locator("tbody tr").first().waitFor();
    await table.getByRole("button", { name: "Amount" }).click();
    await until("the amounts ascend", async () => {
      const list = await amounts();
      return list.length > 1 && list.every((n, i) => i === 0 || (list[i - 1] ?? 0) <= n);
    });
    await table.getByRole("searchbox").fill("Shanghai");
    await until("only Shanghai is left", async () => {
      const cities = await table.locator("tbody tr td:nth-child(4)").allInnerTexts();
      return cities.length > 0 && cities.length < 50 && cities.every((c) => c === "Shanghai");
    });
    assertClean(page);
    await closePage(page);
  });

  test("a block that failed is tried again in its place, and only that block", async () => {
    const page = await openPage(browser, server.url);
    const answer = await askAndWait(page, "Ask a broken source");
    const block = blocks(page, "metric");
    assert.equal(await block.getAttribute("data-block-status"), "error");
    const places = await order(answer);
    const text = await readable(answer);
    await screenshot(page, "block-error");
    await block.getByRole("button", { name: "Try again" }).click();
    await page.locator('[data-block-type="metric"][data-block-status="done"]').waitFor();
    await saying(block, /Answered at try\s+2/);
    assert.equal(await block.getByRole("button", { name: "Try again" }).count(), 0);
    assert.deepEqual(await order(answer), places);
    assert.equal(await readable(answer), text);
    assert.equal(await answers(page).count(), 1);
    // The failure is history, not the state that comes back.
    await page.reload();
    await page.locator('[data-block-type="metric"][data-block-status="done"]').waitFor();
    assertClean(page);
    await closePage(page);
  });

  test("refresh fetches anew and says as of when", async () => {
    const page = await openPage(browser, server.url);
    await askAndWait(page, "Show the Q3 sales by region");
    const chart = blocks(page, "chart");
    await drawn(chart);
    const asOf = () => chart.locator("time").getAttribute("datetime");
    const first = await asOf();
    await chooseInMenu(chart, "refresh");
    await until("a newer time", async () => ((await asOf()) ?? "") > (first ?? ""));
    await drawn(chart);
    assert.equal(await blocks(page, "chart").count(), 1);
    const second = await asOf();
    await page.reload();
    await drawn(chart);
    assert.equal(await asOf(), second);
    assertClean(page);
    await closePage(page);
  });

  test("two charts, figures and code arrive as their own kinds", async () => {
    const page = await openPage(browser, server.url);
    await askAndWait(page, "Show Q2 and Q3 in two charts");
    await drawn(blocks(page, "chart").nth(0));
    await drawn(blocks(page, "chart").nth(1));
    await ask(page, "Give me the sales summary for Q3");
    await settled(page, 2);
    await saying(blocks(page, "metric"), /Sales\s+850/);
    await ask(page, "Show me the SQL");
    await settled(page, 3);
    await saying(lastAnswer(page).locator("pre code"), /GROUP BY region/);
    assert.equal(await composer(page).inputValue(), "");
    assertClean(page);
    await closePage(page);
  });
});
