import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { obstacles } from "../lib/axe.mjs";
import { closePage, launchBrowser, openPage } from "../lib/browser.mjs";
import { assertClean, passing, until } from "../lib/chat.mjs";
import { serveFiles } from "../lib/files.mjs";
import { cases, galleryDrawn, galleryTypes, seeAll } from "../lib/gallery.mjs";
import { binary, startServer } from "../lib/server.mjs";

/** @type {import("playwright-core").Browser} */
let browser;
/** @type {import("../lib/server.mjs").Server} */
let server;
/** @type {string[]} */
let types;

before(async () => {
  browser = await launchBrowser();
  server = await startServer();
  const page = await openPage(browser, server.url, { path: "/gallery?lang=en&type=frame" });
  types = await galleryTypes(page);
  await closePage(page);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/**
 * Opens a view of the gallery, in which every request but those for its own
 * files counts as a problem. It is closed with the test.
 * @param {string} query
 * @param {import("node:test").TestContext} t
 * @param {import("../lib/browser.mjs").Options} [options]
 */
async function open(query, t, options = {}) {
  const page = await openPage(browser, server.url, { ...options, path: "about:blank" });
  t.after(() => closePage(page));
  page.setDefaultTimeout(60_000);
  page.on("request", (request) => {
    const { pathname, protocol } = new URL(request.url());
    if (["blob:", "data:"].includes(protocol)) return;
    if (!/^\/(gallery|favicon\.svg|assets\/.*)$/.test(pathname)) {
      page.problems.push(`request for ${pathname}`);
    }
  });
  await page.goto(`${server.url}/gallery?${query}`);
  await galleryDrawn(page);
  return page;
}

test("the gallery has every type that the server knows", async () => {
  const { blocks } = await server.api("/v1/blocks");
  const known = blocks.map((/** @type {{type: string}} */ b) => b.type.replace(/^inlay\./, ""));
  assert.deepEqual(
    known.filter((/** @type {string} */ type) => !types.includes(type)),
    [],
  );
  for (const own of ["frame", "message"]) assert.ok(types.includes(own));
});

for (const lang of ["en", "zh"]) {
  test(`every case is drawn, without errors or obstacles: ${lang}`, async (t) => {
    const page = await open(`lang=${lang}&theme=light`, t);
    await seeAll(page);
    const empty = await page
      .locator("[data-case]")
      .evaluateAll((all) =>
        all
          .filter((e) => (e.querySelector(".gallery-stage")?.clientHeight ?? 0) < 10)
          .map((e) => e.getAttribute("data-case")),
      );
    assert.deepEqual(empty, ["text-empty"], "nothing is drawn of others");
    if (lang === "en") {
      assert.deepEqual(await obstacles(page), []);
      await page.getByLabel("Theme").selectOption("dark");
      await galleryDrawn(page);
      assert.deepEqual(await obstacles(page, "contrast"), []);
    } else assert.deepEqual(await obstacles(page, "words"), []);
    assertClean(page);
  });
}

for (const lang of ["en", "zh"]) {
  test(`nothing is wider than a screen of 360 px: ${lang}`, async (t) => {
    const page = await open(`lang=${lang}&width=full&theme=light`, t, {
      width: 360,
      height: 740,
      touch: true,
    });
    const wide = await page.evaluate(() => {
      const found = [];
      const { scrollWidth } = document.documentElement;
      if (scrollWidth > innerWidth) found.push(`the page: ${scrollWidth}`);
      for (const e of document.querySelectorAll("[data-case] .gallery-stage > *")) {
        const { left, right } = e.getBoundingClientRect();
        if (left < -0.5 || right > innerWidth + 0.5) {
          found.push(e.closest("[data-case]")?.getAttribute("data-case"));
        }
      }
      return found;
    });
    assert.deepEqual(wide, []);
    assertClean(page);
  });
}

test("what is chosen is in the address, and read from it", async (t) => {
  const page = await open("lang=en&type=frame", t);
  await page.getByLabel("Type", { exact: true }).selectOption("message");
  await page.getByLabel("Language").selectOption("zh");
  await page.getByLabel("主题").selectOption("dark");
  await page.locator('[data-case="message-paused"]').waitFor();
  await page.waitForURL(/\?type=message&lang=zh&theme=dark$/);
  const all = await cases(page);
  /** @param {string[]} names */
  const shows = (names) =>
    until(`${names.length} cases are shown`, async () => `${await cases(page)}` === `${names}`);
  await page.reload();
  await galleryDrawn(page);
  await shows(all);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await page.locator('[data-case="message-failed"] h3 a').click();
  await shows(["message-failed"]);
  await page.getByRole("button", { name: "显示全部" }).click();
  await shows(all);
  assertClean(page);
});

test("what would be sent is shown, and nothing is sent", async (t) => {
  const page = await open("lang=en&type=frame,message", t);
  const rated = page.locator('[data-case="message-done"]');
  await rated.getByRole("button", { name: "Poor answer" }).click();
  await rated.getByLabel("What was wrong with it? (optional)").fill("Too short");
  await page.keyboard.press("Enter");
  await rated.getByText('"comment": "Too short"').waitFor();
  await until("the focus is back", () =>
    page.evaluate(() => document.activeElement?.getAttribute("data-thumb") === "down"),
  );

  const name = '[data-case="frame-error-retryable"]';
  const failed = page.locator(name);
  await passing(page, `${name} [data-block-status="loading"]`, () =>
    failed.getByRole("button", { name: "Try again" }).click(),
  );
  await failed.locator('[data-block-status="done"]').waitFor();
  await failed.getByText("POST /v1/chat/blocks/b_frame-error-retryable/retry").waitFor();

  const acts = page.locator('[data-case="frame-actions"]');
  await acts.getByRole("button", { name: "Show by region" }).click();
  await acts.getByText("POST /v1/chat/actions").first().waitFor();
  await acts.getByText("POST /v1/telemetry/block-action").first().waitFor();
  assertClean(page);
});

test("a form is submitted once, and a question answered, with nobody at the other end", async (t) => {
  const page = await open("lang=en&type=form,confirm", t);
  const form = page.locator('[data-case="form-conditional"]');
  await form.getByLabel(/^Street/).fill("Sample Road 1");
  await form.getByLabel(/^Code/).fill("12345");
  await form.getByRole("button", { name: "Submit" }).click();
  await form.getByText('"street": "Sample Road 1"').waitFor();
  await until("the form is locked", async () => (await form.locator("form").count()) === 0);

  await page.getByLabel("Actions", { exact: true }).selectOption("taken");
  const second = page.locator('[data-case="form-no-fields"]');
  await second.getByRole("button", { name: "Go" }).click();
  await second.getByText("→ 409").waitFor();
  await until("it is locked too", async () => (await second.locator("form").count()) === 0);

  await page.getByLabel("Actions", { exact: true }).selectOption("done");
  const confirm = page.locator('[data-case="confirm-danger"]');
  await confirm.getByRole("button", { name: "Approve" }).click();
  await confirm.getByText('"actionId": "approve"').waitFor();
  await until(
    "it is answered",
    async () => (await confirm.getByRole("button", { name: "Approve" }).count()) === 0,
  );
  // A refusal is a failed request to the console, and nothing else is.
  assert.deepEqual(
    page.problems.filter((text) => !text.includes("409")),
    [],
  );
});

test("the gallery as files runs on a server that only hands them out", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "inlay-gallery-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  execFileSync(binary, ["gallery", "--out", dir]);
  const files = await serveFiles(dir);
  t.after(() => files.stop());
  const page = await openPage(browser, files.url, { path: "/?lang=en&type=chart,frame" });
  page.setDefaultTimeout(60_000);
  await galleryDrawn(page);
  await until("a chart is drawn", () => page.locator("canvas, figure").count());
  assert.ok((await cases(page)).length > 10);
  assertClean(page);
  await closePage(page);
});
