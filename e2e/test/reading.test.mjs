import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
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
  saying,
  settled,
  until,
} from "../lib/chat.mjs";
import { startModel } from "../lib/model.mjs";
import { startServer } from "../lib/server.mjs";

/** @type {import("playwright-core").Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof startModel>>} */
let model;
/** @type {import("../lib/server.mjs").Server} */
let server;
let pace = 12;
/** Whether a long text may end: a busy machine takes longer to look at it. */
let enough = true;

/** One section of a long answer: every kind of Markdown that grows while it streams. */
const section = (/** @type {number} */ n) =>
  `## Part ${n}\n\nA paragraph of part ${n} with **strong words**, \`code\` and a [link](https://www.example.com/${n}). ` +
  "It goes on for a while, so that the feed has something to wrap and to scroll by, again and again.\n\n" +
  `- one\n- two\n  - nested ${n}\n\n| Part | Half |\n|--:|:--|\n| ${n} | ${n / 2} |\n\n` +
  `\`\`\`js\nconst part = ${n};\nconsole.log(part * 2, "of", 40);\n\`\`\`\n\n`;

before(async () => {
  browser = await launchBrowser();
  model = await startModel(async function* (question, results) {
    if (question.includes("chart")) {
      if (results === 0) {
        yield "Here it comes.";
        yield { wait: 400 };
        yield { call: "show_sales_chart", args: { quarter: "2026Q3" } };
      } else yield "There it is.";
      return;
    }
    const bytes = question.includes("32 KiB")
      ? 32 << 10
      : question.includes("long")
        ? 14 << 10
        : 300;
    let said = 0;
    for (let n = 1; said < bytes || !enough; n++) {
      const text = section(n);
      said += text.length;
      for (let at = 0; at < text.length; at += 24) {
        yield text.slice(at, at + 24);
        if (pace > 0) yield { wait: pace };
      }
    }
    yield "The end of the answer.";
  });
  server = await startServer(model.env);
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await model?.stop();
});
beforeEach(() => {
  pace = 12;
  enough = true;
});

const scroller = (/** @type {import("playwright-core").Page} */ page) =>
  page.locator(".page-scroller");
/** The distance to the end of the feed. @param {import("playwright-core").Page} page */
const toEnd = (page) =>
  scroller(page).evaluate((e) => e.scrollHeight - e.clientHeight - e.scrollTop);

test("a reader who scrolls up is left alone until asked to be taken to the end", async () => {
  enough = false;
  const page = await openPage(browser, server.url);
  await ask(page, "A long text");
  await saying(lastAnswer(page), /Part 4/);
  await until("the feed follows its end", async () => (await toEnd(page)) <= 4);

  await scroller(page).hover();
  await page.mouse.wheel(0, -40);
  // A browser that scrolls smoothly is there a while later; a busy one may not go all the way.
  await until("scrolled up, and at rest", () =>
    scroller(page).evaluate(async (e) => {
      const before = e.scrollTop;
      const end = performance.now() + 300;
      for (let i = 0; i < 6 || performance.now() < end; i++) {
        await new Promise((next) => requestAnimationFrame(next));
      }
      return e.scrollTop === before && e.scrollHeight - e.clientHeight - before > 20;
    }),
  );
  // Watches the element at the upper edge through the next 100 changes of the text.
  const moved = await page.evaluate(
    () =>
      new Promise((resolve) => {
        const view = document.querySelector(".page-scroller");
        const feed = document.querySelector(".page-feed");
        if (!view || !feed) throw new Error("no feed");
        const box = view.getBoundingClientRect();
        const seen = document.elementFromPoint(box.left + box.width / 2, box.top + 120);
        const start = seen?.getBoundingClientRect().top ?? 0;
        let worst = 0;
        let events = 0;
        const watch = new MutationObserver(() => {
          requestAnimationFrame(() => {
            const top = seen?.getBoundingClientRect().top ?? Number.NaN;
            worst = Math.max(worst, Math.abs(top - start));
            if (++events < 100) return;
            watch.disconnect();
            resolve({ worst, events, connected: seen?.isConnected });
          });
        });
        watch.observe(feed, { subtree: true, childList: true, characterData: true });
        setTimeout(() => resolve({ worst, events, connected: seen?.isConnected }), 60_000);
      }),
  );
  assert.equal(moved.connected, true);
  assert.ok(moved.events >= 100, `only ${moved.events} changes`);
  assert.ok(moved.worst <= 2, `moved by ${moved.worst} px`);
  assert.ok((await toEnd(page)) > 80);
  enough = true;

  await page.getByRole("button", { name: "Jump to latest" }).click();
  await until("at the end", async () => (await toEnd(page)) <= 4);
  await saying(lastAnswer(page), /The end of the answer/);
  await settled(page);
  await until("still at the end", async () => (await toEnd(page)) <= 4);
  await page.getByRole("button", { name: "Jump to latest" }).waitFor({ state: "detached" });
  assertClean(page);
  await closePage(page);
});

/**
 * What each task of a page's main thread took of the processor, in ms. Waiting
 * for a processor that others use is not the page's doing.
 * @param {string} trace
 * @returns {number[]}
 */
function mainTasks(trace) {
  /** @type {any[]} */
  const events = JSON.parse(trace).traceEvents;
  const main = events
    .filter((e) => e.name === "thread_name" && e.args.name === "CrRendererMain")
    .map((e) => `${e.pid}.${e.tid}`);
  return events
    .filter((e) => e.name === "RunTask" && main.includes(`${e.pid}.${e.tid}`) && e.tdur > 0)
    .map((e) => e.tdur / 1000);
}

test("32 KiB stream while the page stays quick", async () => {
  pace = 2;
  const page = await openPage(browser, server.url);
  // Loads what is loaded once, such as the code's colours.
  await askAndWait(page, "Something short");
  await browser.startTracing(page, {
    categories: ["disabled-by-default-devtools.timeline", "__metadata"],
  });
  await ask(page, "32 KiB, please");
  await saying(answers(page).nth(1), /Part 3/);
  // Typing is answered while the text comes in.
  await composer(page).pressSequentially("typed meanwhile", { delay: 20 });
  assert.equal(await composer(page).inputValue(), "typed meanwhile");
  await settled(page, 2, 60_000);
  await saying(lastAnswer(page), /The end of the answer/);
  const text = await readable(lastAnswer(page));
  assert.ok(text.length > 20_000, `${text.length} characters`);
  const tasks = mainTasks((await browser.stopTracing()).toString("utf8"));
  assert.ok(tasks.length > 100, `only ${tasks.length} tasks were recorded`);
  const longest = Math.max(...tasks);
  assert.ok(longest < 200, `a task of ${Math.round(longest)} ms`);
  assertClean(page);
  await closePage(page);
});

test("everything is done by keyboard", async () => {
  const page = await openPage(browser, server.url);
  const { keyboard } = page;
  const focused = () =>
    page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? "");

  // Into the field, two lines, send.
  await composer(page).waitFor();
  await page.evaluate(() => /** @type {HTMLElement | null} */ (document.activeElement)?.blur());
  await keyboard.press("/");
  await until("the field has the focus", async () => (await focused()) === "Message");
  await keyboard.type("First line");
  await keyboard.press("Shift+Enter");
  await keyboard.type("second line");
  assert.equal(await composer(page).inputValue(), "First line\nsecond line");
  await keyboard.press("Enter");
  await settled(page);
  assert.equal(await composer(page).inputValue(), "");
  assert.match(await page.locator("article").first().innerText(), /First line\s+second line/);
  assert.equal(await focused(), "Message");

  // Arrow up edits the last question, Escape leaves it as it was.
  await keyboard.press("ArrowUp");
  const edit = page.getByRole("textbox", { name: "Edit message" });
  await edit.waitFor();
  assert.equal(await edit.inputValue(), "First line\nsecond line");
  await until("it has the focus", async () => (await focused()) === "Edit message");
  await keyboard.press("Escape");
  await edit.waitFor({ state: "detached" });
  await until("the focus stays at the message", () =>
    page.evaluate(() => Boolean(document.activeElement?.closest("article"))),
  );

  // Search and back, help and back.
  await keyboard.press("Control+k");
  await until("the search has the focus", async () => (await focused()) === "Search conversations");
  await keyboard.press("Escape");
  await page.evaluate(() => /** @type {HTMLElement | null} */ (document.activeElement)?.blur());
  await keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await help.waitFor();
  assert.match(await help.innerText(), /New chat/);
  await keyboard.press("Escape");
  await help.waitFor({ state: "detached" });

  // A new chat.
  await keyboard.press("Control+Shift+o");
  await until("a new chat", async () => (await answers(page).count()) === 0);
  await until("the field has the focus", async () => (await focused()) === "Message");

  // A question mark typed into the field is text.
  await keyboard.type("why?");
  assert.equal(await help.count(), 0);
  assert.equal(await composer(page).inputValue(), "why?");

  // Escape stops.
  enough = false;
  await composer(page).fill("A long text");
  await keyboard.press("Enter");
  await saying(lastAnswer(page), /Part 1/);
  await keyboard.press("Escape");
  await settled(page);
  await saying(lastAnswer(page), /You stopped this answer/);
  assertClean(page);
  await closePage(page);
});

test("the focus stays where it is when a block arrives", async () => {
  const page = await openPage(browser, server.url);
  await askAndWait(page, "A chart");
  const chart = blocks(page, "chart").first();
  await drawn(chart);
  await chart.locator(".inlay-chart-canvas").focus();
  await page.evaluate(() => {
    const log = /** @type {string[]} */ ([]);
    Object.assign(window, { focusLog: log });
    document.addEventListener("focusout", (event) => {
      log.push(/** @type {HTMLElement} */ (event.target).className);
    });
  });
  // Another tab asks; here the reader is at the first chart.
  await server.ask("One more chart", { conversationId: await conversationId(page) });
  await settled(page, 2);
  await drawn(blocks(page, "chart").nth(1));
  assert.equal(await page.evaluate(() => document.activeElement?.className), "inlay-chart-canvas");
  assert.deepEqual(await page.evaluate(() => /** @type {any} */ (window).focusLog), []);

  await composer(page).fill("A third chart");
  await page.keyboard.press("Enter");
  await settled(page, 3);
  await drawn(blocks(page, "chart").nth(2));
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "TEXTAREA");
  assertClean(page);
  await closePage(page);
});

test("a screen reader hears what happens, and never a token", async () => {
  const page = await openPage(browser, server.url);
  await composer(page).waitFor();
  await page.evaluate(() => {
    const said = /** @type {string[]} */ ([]);
    Object.assign(window, { said });
    const live = document.querySelector("[data-live]");
    if (!live) throw new Error("no live region");
    new MutationObserver(() => said.push(live.textContent ?? "")).observe(live, {
      childList: true,
      characterData: true,
      subtree: true,
    });
  });
  await askAndWait(page, "A chart");
  const said = () => page.evaluate(() => /** @type {any} */ (window).said);
  await until("the end is said", async () => (await said()).includes("Answer complete"));
  assert.deepEqual(await said(), [
    "Answering",
    "Chart ready: 2026Q3 sales by region",
    "Answer complete",
  ]);
  // Nothing that streams is live itself.
  const live = await page.evaluate(() =>
    Array.from(document.querySelectorAll(".page-feed [aria-live], .page-feed[aria-live]"))
      .filter((e) => e.getAttribute("aria-live") !== "off")
      .map((e) => e.textContent?.trim())
      .filter((text) => text !== ""),
  );
  assert.deepEqual(live, []);
  const feed = page.getByRole("feed");
  assert.equal(await feed.getByRole("article").count(), 2);
  assert.equal(await feed.getByRole("heading", { level: 2 }).count(), 2);
  assertClean(page);
  await closePage(page);
});
