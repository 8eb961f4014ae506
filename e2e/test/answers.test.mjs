import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { obstacles } from "../lib/axe.mjs";
import { closePage, launchBrowser, openPage } from "../lib/browser.mjs";
import { askAndWait, assertClean, composer, lastAnswer, settled, until } from "../lib/chat.mjs";
import { startDemoModel, startServer } from "../lib/server.mjs";

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

test("a rating with its comment is kept, and can be taken back", async (t) => {
  const { conversationId } = await server.ask("Give me the sales summary for Q3");
  const page = await openPage(browser, server.url, { path: `/#/c/${conversationId}` });
  t.after(() => closePage(page));
  const answer = await settled(page);
  const feedback = async () => (await server.messages(conversationId)).at(-1)?.feedback;

  await answer.getByRole("button", { name: "Poor answer" }).click();
  await answer.getByLabel("What was wrong with it? (optional)").fill("No chart");
  assert.deepEqual(await obstacles(page), []);
  await page.keyboard.press("Enter");
  await answer.getByText("Thank you. Your comment was saved.").waitFor();
  const kept = await feedback();
  assert.equal(kept.rating, "down");
  assert.equal(kept.comment, "No chart");

  await page.reload();
  await settled(page);
  const down = answer.getByRole("button", { name: "Poor answer" });
  await until(
    "the rating is shown",
    async () => (await down.getAttribute("aria-pressed")) === "true",
  );
  await down.click();
  await until("it is taken back", async () => !(await feedback())?.rating);
  await page.reload();
  await settled(page);
  assert.equal(await down.getAttribute("aria-pressed"), "false");
  assertClean(page);
});

test("an answer that waits is marked, led to, and goes on", async (t) => {
  const page = await openPage(browser, server.url);
  t.after(() => closePage(page));
  await composer(page).waitFor();
  await askAndWait(page, "Approve an expense");
  const line = page.locator('.page-status[data-waiting="true"]');
  await line.waitFor();
  const row = page.locator(".page-conversation[data-current]");
  await row.getByRole("img", { name: "Waiting for your reply" }).waitFor();
  // The block's code comes when it is first needed.
  await lastAnswer(page).locator('[data-block-type="confirm"] button').first().waitFor();
  await line.getByRole("button", { name: "Show the question" }).click();
  await until("the question has the focus", () =>
    page.evaluate(
      () =>
        document.activeElement?.closest("[data-block-type]")?.getAttribute("data-block-type") ===
        "confirm",
    ),
  );
  assert.deepEqual(await obstacles(page), []);
  await lastAnswer(page).locator('[data-block-type="confirm"]').getByRole("button").first().click();
  await line.waitFor({ state: "detached" });
  await settled(page);
  await row.getByRole("img", { name: "Waiting for your reply" }).waitFor({ state: "detached" });
  assertClean(page);
});
