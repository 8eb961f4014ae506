import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { closePage, launchBrowser, openPage } from "../lib/browser.mjs";
import {
  answers,
  ask,
  askAndWait,
  assertClean,
  blocks,
  composer,
  conversationId,
  drawn,
  lastAnswer,
  readable,
  settled,
  until,
} from "../lib/chat.mjs";
import { startDemoModel, startServer } from "../lib/server.mjs";

/** @type {import("playwright-core").Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof startDemoModel>>} */
let model;

before(async () => {
  browser = await launchBrowser();
  model = await startDemoModel();
});
after(async () => {
  await browser?.close();
  await model?.stop();
});

/** @param {import("playwright-core").Page} page */
const listed = (page) => page.locator("a[data-conversation]");

test("conversations are found, renamed and deleted", async () => {
  const server = await startServer(model.env);
  const sales = await server.ask("Show the Q3 sales by region");
  await server.ask("Show what Markdown can do");
  const chinese = await server.ask("Q3 各区域销售怎么样", { lang: "zh" });
  const page = await openPage(browser, server.url);
  await until("all are listed", async () => (await listed(page).count()) === 3);

  // By the words of an answer, in both languages.
  const search = page.getByRole("searchbox", { name: "Search conversations" });
  for (const [query, id] of [
    ["leads with 320", sales.conversationId],
    ["各区域", chinese.conversationId],
    ["领先", chinese.conversationId],
  ]) {
    await search.fill(query ?? "");
    await until(`found by ${query}`, async () => {
      const found = await listed(page).evaluateAll((all) =>
        all.map((a) => /** @type {HTMLElement} */ (a).dataset.conversation),
      );
      return found.length === 1 && found[0] === id;
    });
  }
  await search.fill("no such words anywhere");
  await page.getByText("No conversation matches “no such words anywhere”.").waitFor();
  await page.getByRole("button", { name: "Clear search" }).click();
  await until("all are listed again", async () => (await listed(page).count()) === 3);

  const row = page.locator("li.page-conversation", {
    has: page.locator(`[data-conversation="${sales.conversationId}"]`),
  });
  const option = async (/** @type {string} */ name) => {
    await row.hover();
    await row.getByRole("button", { name: /^Options for/ }).click();
    await page.getByRole("menuitem", { name }).click();
  };
  await option("Rename");
  const field = page.getByRole("textbox", { name: "Conversation title" });
  await field.fill("Third quarter 第三季度");
  await field.press("Enter");
  await page.getByRole("link", { name: "Third quarter 第三季度" }).waitFor();
  await until("the server knows", async () => {
    const { title } = await server.api(`/v1/conversations/${sales.conversationId}`);
    return title === "Third quarter 第三季度";
  });

  await page.getByRole("link", { name: "Third quarter 第三季度" }).click();
  await settled(page);
  await until("the title says so", async () => /^Third quarter 第三季度/.test(await page.title()));
  await option("Delete…");
  const dialog = page.getByRole("alertdialog", { name: "Delete this conversation?" });
  await dialog.waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  assert.equal(await listed(page).count(), 3);
  await option("Delete…");
  await dialog.getByRole("button", { name: "Delete" }).click();
  await until("it is gone from the list", async () => (await listed(page).count()) === 2);
  const gone = await fetch(`${server.url}/v1/conversations/${sales.conversationId}`);
  assert.equal(gone.status, 404);
  await until("the page is at a new chat", async () => (await answers(page).count()) === 0);
  assertClean(page);
  await closePage(page);
  await server.stop();
});

test("a conversation is exported as Markdown, text, JSON and HTML", async () => {
  const server = await startServer(model.env);
  const page = await openPage(browser, server.url);
  await askAndWait(page, "Show the Q3 sales by region");
  await drawn(blocks(page, "chart"));
  /** @type {Record<string, string>} */
  const files = {};
  for (const [name, ending] of [
    ["Markdown (.md)", "md"],
    ["Plain text (.txt)", "txt"],
    ["JSON (.json)", "json"],
    ["Web page (.html)", "html"],
  ]) {
    await page.getByRole("button", { name: "Export conversation" }).click();
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("menuitem", { name, exact: true }).click(),
    ]);
    assert.match(file.suggestedFilename(), new RegExp(`\\.${ending}$`));
    files[ending ?? ""] = await readFile(await file.path(), "utf8");
  }
  assert.match(files.md ?? "", /\*\*East\*\* leads with 320/);
  assert.match(files.md ?? "", /\| *East *\| *320/);
  assert.match(files.txt ?? "", /leads with 320/);
  assert.match(files.html ?? "", /<table[\s\S]*East[\s\S]*320[\s\S]*<\/table>/);
  assert.doesNotMatch(files.html ?? "", /<script/);
  const json = JSON.parse(files.json ?? "");
  assert.equal(json.messages.length, 2);
  assertClean(page);

  // The page that was exported stands on its own.
  const alone = await page.context().newPage();
  await alone.setContent(files.html ?? "");
  assert.match(await alone.locator("body").innerText(), /leads with 320/);
  await closePage(page);
  await server.stop();
});

const secret = "a-secret-for-this-test-only-0123456789";

/** Signs a token as an identity provider would. @param {string} sub */
function token(sub) {
  const part = (/** @type {object} */ value) =>
    Buffer.from(JSON.stringify(value)).toString("base64url");
  const head = `${part({ alg: "HS256", typ: "JWT" })}.${part({
    sub,
    exp: Math.floor(Date.now() / 1000) + 600,
  })}`;
  return `${head}.${createHmac("sha256", secret).update(head).digest("base64url")}`;
}

test("a server with sign-in asks for a token and keeps users apart", async () => {
  const server = await startServer({
    ...model.env,
    INLAY_AUTH_MODE: "jwt",
    INLAY_AUTH_SECRET: secret,
  });
  const signIn = async (
    /** @type {import("playwright-core").Page} */ page,
    /** @type {string} */ value,
  ) => {
    await page.getByLabel("Access token").fill(value);
    await page.getByRole("button", { name: "Sign in" }).click();
  };
  const expected = (/** @type {string} */ problem) => !/status of 40[14]/.test(problem);

  const page = await openPage(browser, server.url);
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  assert.equal(await composer(page).count(), 0);
  await signIn(page, "not.a.token");
  await page.getByText(/did not accept this token/).waitFor();
  await signIn(page, token("ana"));
  await composer(page).waitFor();
  await askAndWait(page, "Show the Q3 sales by region");
  assert.match(await readable(lastAnswer(page)), /leads with 320/);
  const id = await conversationId(page);
  await page.reload();
  await settled(page);

  // An export needs the token too.
  await page.getByRole("button", { name: "Export conversation" }).click();
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("menuitem", { name: "Markdown (.md)" }).click(),
  ]);
  assert.match(await readFile(await file.path(), "utf8"), /leads with 320/);
  assert.deepEqual(page.problems.filter(expected), []);

  const other = await openPage(browser, server.url, { path: `/#/c/${id}` });
  await signIn(other, token("ben"));
  await other.getByText(/does not exist, or it belongs to someone else/).waitFor();
  assert.equal(await answers(other).count(), 0);
  assert.equal(await listed(other).count(), 0);
  assert.deepEqual(other.problems.filter(expected), []);

  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await closePage(page);
  await closePage(other);
  await server.stop();
});

test("a message the server refuses is given back", async () => {
  const server = await startServer({ ...model.env, INLAY_LIMITS_INPUT_BYTES: "200" });
  const page = await openPage(browser, server.url);
  await ask(page, "x".repeat(201));
  await page
    .getByText(/too long/)
    .first()
    .waitFor();
  assert.equal((await composer(page).inputValue()).length, 201);
  assert.equal(await answers(page).count(), 0);
  await closePage(page);
  await server.stop();
});
