import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { closePage, launchBrowser, openPage, screenshot } from "../lib/browser.mjs";
import {
  answers,
  ask,
  askAndWait,
  assertClean,
  composer,
  fold,
  lastAnswer,
  passing,
  readable,
  saying,
  settled,
  stopButton,
  until,
} from "../lib/chat.mjs";
import { sentences, startModel } from "../lib/model.mjs";
import { startDemoModel, startServer } from "../lib/server.mjs";

const code = 'func main() {\n\tfmt.Println("$5 <b>&amp; more")\n}';
const money = "Revenue rose from $2bn to $4bn, a ticket costs $5 or $10. The formula is $a^2+b^2$.";

/** @type {import("playwright-core").Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof startModel>>} */
let model;
/** @type {import("../lib/server.mjs").Server} */
let server;

before(async () => {
  browser = await launchBrowser();
  model = await startModel(function* (question, _results, request) {
    if (question.includes("endless")) yield* sentences(2000, 15);
    else if (question.includes("money")) yield money;
    else if (question.includes("code"))
      yield `Some code:\n\n\`\`\`go\n${code}\n\`\`\`\n\nThat is it.`;
    else yield `**Answer** number ${request} to: ${question}`;
  });
  server = await startServer(model.env);
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await model?.stop();
});

const clipboard = (/** @type {import("playwright-core").Page} */ page) =>
  page.evaluate(() => navigator.clipboard.readText());

for (const way of ["the button", "Escape"]) {
  test(`${way} stops an answer on the server`, async () => {
    const page = await openPage(browser, server.url);
    const broken = model.hungUp();
    await ask(page, "An endless story");
    await saying(lastAnswer(page), /Sentence 5 of/);
    if (way === "Escape") await page.keyboard.press("Escape");
    else await stopButton(page).click();
    await until("the model is told", () => model.hungUp() > broken, 10_000);
    const answer = await settled(page);
    await saying(answer, /You stopped this answer/);
    assert.equal(await answer.getAttribute("data-status"), "cancelled");
    assert.equal(await stopButton(page).count(), 0);
    // What was said stays, and the conversation goes on.
    assert.match(await readable(answer), /^Sentence 1 of/);
    await askAndWait(page, "And now?", 2);
    assert.match(await readable(lastAnswer(page)), /to: And now\?/);
    assertClean(page);
    await closePage(page);
  });
}

test("an answer can be had again, and both versions stay", async () => {
  const page = await openPage(browser, server.url);
  const first = await readable(await askAndWait(page, "Hello"));
  await lastAnswer(page).hover();
  await lastAnswer(page).getByRole("button", { name: "Answer again" }).click();
  await saying(lastAnswer(page), /2\/2/);
  await settled(page);
  const second = await readable(lastAnswer(page));
  assert.notEqual(second, first);
  await page.getByRole("button", { name: "Previous version" }).click();
  await until("the first version", async () => (await readable(lastAnswer(page))) === first);
  await saying(lastAnswer(page), /1\/2/);
  // What is asked now belongs to the first version.
  await askAndWait(page, "And then", 2);
  await page.getByRole("button", { name: "Next version" }).click();
  await until("the second version", async () => (await readable(answers(page).first())) === second);
  await until("one answer is left", async () => (await answers(page).count()) === 1);
  await page.getByRole("button", { name: "Previous version" }).click();
  await until("back on the first branch", async () => (await answers(page).count()) === 2);
  assertClean(page);
  await closePage(page);
});

test("a question can be worded anew", async () => {
  const page = await openPage(browser, server.url);
  await askAndWait(page, "How is the whether?");
  const question = page.locator('article[data-role="user"]').first();
  await question.hover();
  await question.getByRole("button", { name: "Edit" }).click();
  const field = page.getByRole("textbox", { name: "Edit message" });
  assert.equal(await field.inputValue(), "How is the whether?");
  await field.fill("How is the weather?");
  await field.press("Enter");
  await until("the new answer", async () =>
    /to: How is the weather\?/.test(await readable(lastAnswer(page))),
  );
  await settled(page);
  await saying(question, /2\/2/);
  await question.getByRole("button", { name: "Previous version" }).click();
  await until("the old answer", async () =>
    /to: How is the whether\?/.test(await readable(lastAnswer(page))),
  );
  assertClean(page);
  await closePage(page);
});

test("an answer is copied as Markdown, code as it is", async () => {
  const page = await openPage(browser, server.url);
  await askAndWait(page, "Hello");
  await lastAnswer(page).hover();
  await lastAnswer(page).getByRole("button", { name: "Copy" }).click();
  await until("the answer on the clipboard", async () =>
    /^\*\*Answer\*\* number \d+ to: Hello\s*$/.test(await clipboard(page)),
  );
  await askAndWait(page, "Some code, please", 2);
  const block = lastAnswer(page).locator("figure.inlay-code");
  await until("the code is shown", async () => {
    return (await block.locator("code").innerText()).trimEnd() === code;
  });
  const copy = block.getByRole("button", { name: "Copy" });
  await passing(page, "figure.inlay-code button", () => copy.click(), {
    pattern: /Copied/,
  });
  await until("the code on the clipboard", async () => (await clipboard(page)).trimEnd() === code);
  assertClean(page);
  await closePage(page);
});

test("amounts of money are no formulas", async () => {
  const page = await openPage(browser, server.url);
  const answer = await askAndWait(page, "money");
  await answer.locator(".katex").waitFor();
  assert.equal(await answer.locator(".katex").count(), 1);
  assert.match(
    fold(await answer.innerText()),
    /Revenue rose from \$2bn to \$4bn, a ticket costs \$5 or \$10\./,
  );
  assertClean(page);
  await closePage(page);
});

test("markup of the model is inert", async () => {
  const demo = await startDemoModel();
  const inner = await startServer(demo.env);
  const page = await openPage(browser, inner.url);
  const answer = await askAndWait(page, "Answer with unsafe HTML");
  await screenshot(page, "unsafe-html");
  const title = await page.title();
  assert.doesNotMatch(title, /ran/);
  const found = await answer.evaluate((element) =>
    Array.from(
      element.querySelectorAll(
        "script, iframe, form, style, object, embed, [onerror], [onclick], .inlay-md input[name], .inlay-md img",
      ),
      (e) => e.outerHTML,
    ),
  );
  assert.deepEqual(found, []);
  const links = await answer
    .locator("a[href]")
    .evaluateAll((all) => all.map((a) => a.getAttribute("href") ?? ""));
  assert.deepEqual(
    links.filter((href) => !/^https:\/\//.test(href)),
    [],
  );
  // A link that may be followed tells its target nothing and opens apart.
  const plain = answer.getByRole("link", { name: /plain link/ });
  assert.match((await plain.getAttribute("rel")) ?? "", /noopener/);
  assert.equal(await plain.getAttribute("target"), "_blank");
  for (const text of ["script link", "data link", "HTML link"]) {
    await answer.getByText(text).first().click();
  }
  assert.equal(await page.title(), title);
  assert.equal(page.context().pages().length, 1);
  assert.equal(await composer(page).isVisible(), true);
  assertClean(page);
  await closePage(page);
  await inner.stop();
  await demo.stop();
});
