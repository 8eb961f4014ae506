// The example pages in chromium, before a server as it is built and started: what
// a person asks, answers, stops and finds again. Nothing may be said on the
// console, and nothing asked of anybody else.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { launchBrowser } from "../../e2e/lib/browser.mjs";
import { start } from "../binary.mjs";
import {
  ask,
  blocks,
  build,
  built,
  check,
  composer,
  drawing,
  examples,
  open,
  stopButton,
} from "./page.mjs";
import { serve } from "./serve.mjs";

let server, browser;

before(async () => {
  [server, browser] = await Promise.all([start(), launchBrowser()]);
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const patient = { timeout: 30_000 };

/** The texts of a page that are not in blocks. */
const said = (page) => page.locator("body").innerText();

async function until(what, done) {
  for (const end = Date.now() + patient.timeout; Date.now() < end; ) {
    if (await done()) return;
    await new Promise((later) => setTimeout(later, 100));
  }
  assert.fail(what);
}

/** Waits for a text to be the same for a second. */
async function still(page) {
  let text = await said(page);
  await until("the page does not come to rest", async () => {
    await page.waitForTimeout(1000);
    const before = text;
    text = await said(page);
    return text === before;
  });
  return text;
}

for (const name of examples) {
  describe(name, { concurrency: 3 }, () => {
    let site;
    before(async () => {
      await build(name);
      site = await serve(built(name), server.base);
    });
    after(() => site?.stop());

    test("a chart, an approval, and both again after a reload", async () => {
      const page = await open(browser, site.url);
      await ask(page, "Show the Q3 sales by region");
      await drawing(page).waitFor(patient);
      await still(page);

      await ask(page, "Approve an expense");
      const question = blocks(page, "confirm");
      await question.waitFor(patient);
      await still(page);
      await question.getByRole("button", { name: "Approve", exact: true }).click();
      await until("the answer does not show", async () =>
        /Approved/.test(await question.innerText()),
      );
      // What was paused goes on, in the messages that are not ours.
      await page.getByText("nothing else was run").waitFor(patient);
      const before = await still(page);
      assert.equal(before.split("nothing else was run").length, 2, "the answer is there once");

      await page.reload();
      await page.getByText("nothing else was run").waitFor(patient);
      await drawing(page).waitFor(patient);
      assert.match(await question.innerText(), /Approved/);
      assert.equal(await question.count(), 1);
      assert.equal(await blocks(page, "chart").count(), 1);
      const again = await still(page);
      for (const text of [
        "Show the Q3 sales by region",
        "Approve an expense",
        "nothing else was run",
      ]) {
        assert.equal(again.split(text).length, 2, `"${text}" is there once`);
      }
      assert.deepEqual(page.problems, []);
      await page.context().close();
    });

    test("a form is sent, and what comes of it shows", async () => {
      const page = await open(browser, site.url);
      await ask(page, "Export the order details of August for the sample review as CSV");
      const form = blocks(page, "form");
      await form.getByRole("button", { name: "Export" }).click(patient);
      await page.getByRole("alertdialog").getByRole("button").last().click();
      await blocks(page, "file").waitFor(patient);
      assert.deepEqual(page.problems, []);
      await page.context().close();
    });

    test("a card that failed is fetched again in its place", async () => {
      const page = await open(browser, site.url);
      await ask(page, "Ask a broken source");
      const failed = page.locator('.inlay-root [data-block-status="error"]');
      await failed.getByRole("button", { name: "Try again" }).click(patient);
      await blocks(page, "metric").waitFor(patient);
      assert.equal(await page.locator('[data-block-type="metric"]').count(), 1);
      assert.deepEqual(page.problems, []);
      await page.context().close();
    });

    test("an answer is found again while it is written, and stopped", async () => {
      const page = await open(browser, site.url);
      await ask(page, "Write a long answer");
      await page.getByText("Part 2", { exact: true }).waitFor(patient);
      await page.reload();
      await page.getByText("Part 2", { exact: true }).waitFor(patient);
      await stopButton(page).click(patient);
      const stopped = await still(page);
      assert.equal(stopped.split("Part 1\n").length, 2, "the beginning is there once");
      await ask(page, "Which commands are there?");
      await page.getByText("There is one").waitFor(patient);
      assert.deepEqual(page.problems, []);
      await page.context().close();
    });

    test("dark, and on a small screen", async () => {
      const page = await open(browser, site.url, { width: 360, height: 740, theme: "dark" });
      await ask(page, "Show the Q3 sales by region");
      await drawing(page).waitFor(patient);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `the page is ${wide} px too wide`);
      const colour = await blocks(page, "chart").evaluate(
        (e) => getComputedStyle(e).backgroundColor,
      );
      assert.equal(colour, "rgb(32, 30, 27)");
      assert.ok(await composer(page).isVisible());
      assert.deepEqual(page.problems, []);
      await page.context().close();
    });

    test("its types are those of the libraries that it uses", () => check(name));
  });
}
