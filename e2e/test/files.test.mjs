import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { actionButton, answerQuestion, stateOf } from "../lib/actions.mjs";
import { closePage, launchBrowser, openPage, screenshot } from "../lib/browser.mjs";
import {
  askAndWait,
  assertClean,
  blocks,
  composer,
  conversationId,
  lastAnswer,
  passing,
  saying,
  settled,
  until,
} from "../lib/chat.mjs";
import { startDemoModel, startServer } from "../lib/server.mjs";

/** @typedef {import("../lib/browser.mjs").ChatPage} ChatPage */

/** How many seconds an address lives on the server under test. */
const expiry = 5;

/** @type {import("playwright-core").Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof startDemoModel>>} */
let model;
/** @type {import("../lib/server.mjs").Server} */
let server;
before(async () => {
  browser = await launchBrowser();
  model = await startDemoModel();
  server = await startServer({
    ...model.env,
    INLAY_ASSETS_VIEW_EXPIRY: `${expiry}s`,
    INLAY_ASSETS_DOWNLOAD_EXPIRY: `${expiry}s`,
    INLAY_ASSETS_MAX_BYTES: "300000",
  });
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await model?.stop();
});

/** The last message of a conversation. @param {string} id */
const last = async (id) => (await server.messages(id)).at(-1);

/** Clicks and returns what is saved. @param {ChatPage} page @param {() => Promise<void>} click */
async function saved(page, click) {
  const [file] = await Promise.all([page.waitForEvent("download"), click()]);
  return { name: file.suggestedFilename(), bytes: await readFile(await file.path()) };
}

/** A finished file block. @param {ChatPage} page */
const file = (page) => page.locator('[data-block-type="file"][data-block-status="done"]');

describe("files that are made", () => {
  test("export details: form, confirmation, progress over a reload, file, and a fresh address when the old one has expired", async () => {
    const page = await openPage(browser, server.url, { lang: "zh-CN" });
    await askAndWait(page, "导出 8 月华东的订单明细，用于季度复盘");
    const id = await conversationId(page);
    const form = blocks(page, "form");
    assert.equal(await form.getByLabel(/^用途/).inputValue(), "季度复盘");
    await screenshot(page, "export-form");
    await actionButton(form, "submit").click();
    await screenshot(page, "export-question");
    // The job goes on without the page.
    await passing(page, '[data-block-type="file"] progress', () => answerQuestion(page, true));
    await screenshot(page, "export-progress");
    await page.reload();
    await file(page).waitFor();
    await screenshot(page, "export-file");
    await saying(file(page), /订单号/);
    const state = await stateOf(server, id, "form", "done");
    assert.match(state.text, /^已导出 \d+ 条订单。$/);

    const made = await saved(page, () => file(page).getByRole("button", { name: /^下载/ }).click());
    assert.match(made.name, /^sample-orders-2026-08-01-2026-08-31\.xlsx$/);
    assert.equal(made.bytes.subarray(0, 2).toString("latin1"), "PK");
    const { blocks: all } = await last(id);
    const { payload } = all.find((/** @type {any} */ b) => b.type === "file");
    assert.equal(payload.size, made.bytes.length);
    assert.equal(payload.preview.total, state.result.rows + 1);
    assert.ok(!("url" in payload), "no address is stored");

    // An address dies; the page asks for another one.
    const view = await server.api(`/v1/assets/${payload.assetId}/url?disposition=attachment`);
    const address = new URL(view.url, server.url);
    assert.equal((await fetch(address)).status, 200);
    const forged = new URL(address);
    forged.searchParams.set("exp", String(Number(forged.searchParams.get("exp")) + 3600));
    assert.equal((await fetch(forged)).status, 403);
    await until("the address has expired", async () => (await fetch(address)).status === 410);
    const again = await saved(page, () =>
      file(page).getByRole("button", { name: /^下载/ }).click(),
    );
    assert.ok(again.bytes.equals(made.bytes));
    assertClean(page);
    await closePage(page);
  });

  test("a report: a workbook, a PDF and a picture, also after their addresses have expired", async () => {
    const page = await openPage(browser, server.url);
    await askAndWait(page, "Give me the report of 2026Q3");
    const [workbook, document] = [file(page).nth(0), file(page).nth(1)];
    await saying(workbook, /Shanghai/);
    const image = blocks(page, "image").locator("img");
    const shown = (/** @type {import("playwright-core").Locator} */ img) =>
      until("the picture is shown", () =>
        img.evaluate((e) => {
          const own = /** @type {HTMLImageElement} */ (e);
          return own.complete && own.naturalWidth > 0;
        }),
      );
    await shown(image);
    const address = await image.evaluate((e) => /** @type {HTMLImageElement} */ (e).src);
    await document.locator("canvas").first().waitFor();

    await workbook.getByRole("button", { name: "Open sample-report-2026Q3.xlsx" }).click();
    const dialog = page.getByRole("dialog");
    await saying(dialog, /Kunming/);
    await screenshot(page, "workbook");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });

    await until("the address has expired", async () => (await fetch(address)).status === 410);
    await blocks(page, "image").getByRole("button").first().click();
    await shown(page.getByRole("dialog").locator("img"));
    await page.keyboard.press("Escape");
    await document.getByRole("button", { name: "Open sample-report-2026Q3.pdf" }).click();
    await page.getByRole("dialog").locator("canvas").first().waitFor();
    await screenshot(page, "pdf");
    await page.keyboard.press("Escape");
    await page.reload();
    await shown(image);
    assertClean(page, 410);
    await closePage(page);
  });
});

describe("files that are sent", () => {
  const csv = "name,amount\nfirst sample line,1\nsecond,2\n";

  /** Waits until the page takes files, the code for which comes after the page. @param {ChatPage} page */
  const takesFiles = (page) =>
    until("the page takes files", () =>
      page.evaluate(() => {
        const data = new DataTransfer();
        data.items.add(new File([""], "none"));
        const over = new DragEvent("dragover", { dataTransfer: data, cancelable: true });
        return !document.dispatchEvent(over);
      }),
    );

  /** Asks once the files with the question are ready too. @param {ChatPage} page @param {string} text */
  async function askWithFiles(page, text) {
    await composer(page).fill(text);
    await page.locator('.page-send[type="submit"][aria-disabled="false"]').waitFor();
    await composer(page).press("Enter");
  }

  /**
   * Drops or pastes a file where the browser's own would be.
   * @param {ChatPage} page
   * @param {"drop" | "paste"} how
   * @param {string} name
   * @param {string} type
   * @param {string} text
   */
  function give(page, how, name, type, text) {
    return composer(page).evaluate(
      (field, { how, name, type, text }) => {
        const data = new DataTransfer();
        data.items.add(new File([text], name, { type }));
        if (how === "drop") {
          for (const kind of ["dragenter", "dragover", "drop"]) {
            document.body.dispatchEvent(
              new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }),
            );
          }
          return;
        }
        /** @type {HTMLElement} */ (field).focus();
        field.dispatchEvent(
          new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }),
        );
      },
      { how, name, type, text },
    );
  }

  test("a file is chosen, dropped or pasted, and reaches the model", async () => {
    const page = await openPage(browser, server.url);
    const list = page.getByRole("list", { name: "Attached files" });
    await takesFiles(page);
    await give(page, "drop", "dropped.csv", "text/csv", csv);
    await give(page, "paste", "pasted.txt", "text/plain", "the first words of the pasted file");
    await page.locator('input[type="file"]').setInputFiles({
      name: "chosen.csv",
      mimeType: "text/csv",
      buffer: Buffer.from(csv),
    });
    await until("three files are ready", async () => {
      const ready = list.locator('li[data-status="done"]');
      return (await ready.count()) === 3;
    });
    await list.getByRole("button", { name: "Remove chosen.csv" }).click();
    await until("two are left", async () => (await list.locator("li").count()) === 2);
    await screenshot(page, "attached");
    await askWithFiles(page, "What came with this?");
    const answer = await settled(page);
    await saying(answer, /dropped\.csv.* begins with: “name/);
    await saying(answer, /pasted\.txt.* begins with: “the first words of the pasted file/);
    const sent = page.locator('article[data-role="user"]').last();
    await saying(sent, /dropped\.csv/);
    await list.waitFor({ state: "detached" });
    await page.reload();
    await saying(page.locator('article[data-role="user"]').last(), /pasted\.txt/);
    assertClean(page);
    await closePage(page);
  });

  test("a picture reaches the model as a picture", async () => {
    const page = await openPage(browser, server.url);
    const png = await composer(page).evaluate(async () => {
      const canvas = new OffscreenCanvas(64, 48);
      const paint = canvas.getContext("2d");
      if (!paint) throw new Error("no 2d context");
      paint.fillRect(8, 8, 24, 24);
      const bytes = new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer());
      return Array.from(bytes);
    });
    await page.locator('input[type="file"]').setInputFiles({
      name: "square.png",
      mimeType: "image/png",
      buffer: Buffer.from(png),
    });
    await page.locator('.page-uploads li[data-status="done"]').waitFor();
    await askWithFiles(page, "What is in it?");
    await saying(await settled(page), /square\.png/);
    await saying(lastAnswer(page), /The model was shown 1 of them as a picture/);
    assertClean(page);
    await closePage(page);
  });

  test("what is too large or of a kind that is not taken is refused, by the page and by the server", async () => {
    const page = await openPage(browser, server.url);
    await page.locator('input[type="file"]').setInputFiles({
      name: "large.txt",
      mimeType: "text/plain",
      buffer: Buffer.alloc(300_001, "x"),
    });
    await saying(page.getByRole("alert"), /large\.txt is too large/);
    assert.equal(await page.locator(".page-uploads li").count(), 0);
    await page.close();
    /** @param {string} name @param {BodyInit} body */
    const post = async (name, body) => {
      const response = await fetch(`${server.url}/v1/assets?name=${encodeURIComponent(name)}`, {
        method: "POST",
        body,
      });
      const { error } = await response.json();
      return `${response.status} ${error?.code}`;
    };
    assert.equal(await post("large.txt", "x".repeat(300_001)), "413 asset_too_large");
    assert.equal(
      await post("program.csv", "\x7fELF\x02\x01\x01\0\0\0\0\0"),
      "415 asset_type_refused",
    );
    await closePage(page);
  });
});

test("a file of somebody else is not there", async () => {
  const shared = await startServer({
    ...model.env,
    INLAY_AUTH_MODE: "proxy",
    INLAY_AUTH_TRUSTED_PROXIES: "127.0.0.1/32",
  });
  try {
    /** @param {string} user @param {string} path @param {RequestInit} [init] */
    const as = (user, path, init) =>
      fetch(`${shared.url}${path}`, {
        ...init,
        headers: { ...init?.headers, "X-Forwarded-User": user },
      });
    const created = await as("ada", "/v1/assets?name=mine.txt", { method: "POST", body: "words" });
    assert.equal(created.status, 201);
    const { id } = await created.json();
    for (const path of ["", "/url", "/content", "/preview"]) {
      const own = await as("ada", `/v1/assets/${id}${path}`, { redirect: "manual" });
      assert.ok(own.status < 400, `${path}: ${own.status}`);
      const foreign = await as("ben", `/v1/assets/${id}${path}`, { redirect: "manual" });
      assert.equal(foreign.status, 404, path);
    }
    const body = JSON.stringify({ input: { text: "What is it?", attachments: [id] } });
    const asked = await as("ben", "/v1/chat", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body,
    });
    assert.ok(asked.status === 404 || asked.status === 400, String(asked.status));
    assert.equal((await as("ben", `/v1/assets/${id}`, { method: "DELETE" })).status, 404);
    assert.equal((await as("ada", `/v1/assets/${id}`)).status, 200);
  } finally {
    await shared.stop();
  }
});
