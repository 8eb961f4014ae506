import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { obstacles } from "../lib/axe.mjs";
import { closePage, launchBrowser, openPage, screenshot } from "../lib/browser.mjs";
import { askAndWait, assertClean, blocks, composer, drawn, until } from "../lib/chat.mjs";
import { startDemoModel, startServer } from "../lib/server.mjs";

/** @type {import("playwright-core").Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof startDemoModel>>} */
let model;
/** @type {import("../lib/server.mjs").Server} */
let server;
/** Conversations with a chart, figures, a table, Markdown and code, by language. @type {Record<string, string>} */
const samples = {};

before(async () => {
  browser = await launchBrowser();
  model = await startDemoModel();
  server = await startServer(model.env);
  const questions = {
    en: [
      "Show the Q3 sales by region",
      "Give me the sales summary for Q3",
      "List the latest 50 orders",
      "Show what Markdown can do",
      "Ask a broken source",
    ],
    zh: ["Q3 各区域销售怎么样", "销售概况", "列出最近 50 个订单", "展示 Markdown 排版", "取数失败"],
  };
  for (const [lang, list] of Object.entries(questions)) {
    for (const question of list) {
      const { conversationId } = await server.ask(question, {
        conversationId: samples[lang],
        lang,
      });
      samples[lang] = conversationId;
    }
  }
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await model?.stop();
});

const lang = (/** @type {string} */ name) => (name === "zh" ? "zh-CN" : "en-US");

for (const [theme, name, part] of /** @type {const} */ ([
  ["light", "en", "all"],
  ["light", "zh", "words"],
  ["dark", "en", "contrast"],
])) {
  test(`no obstacles in ${theme}, ${name}`, async () => {
    const page = await openPage(browser, server.url, { theme, lang: lang(name) });
    await composer(page).waitFor();
    await page.locator("a[data-conversation]").first().waitFor();
    assert.deepEqual(await obstacles(page, part), []);
    await screenshot(page, `empty-${theme}-${name}`);

    await page.goto(`${server.url}/#/c/${samples[name]}`);
    for (const type of ["chart", "metric", "table"]) {
      await blocks(page, type).first().locator(".inlay-block-body").waitFor();
    }
    await drawn(blocks(page, "chart"));
    await page.locator("pre code span").first().waitFor();
    assert.deepEqual(await obstacles(page, part), []);
    await screenshot(page, `chat-${theme}-${name}`);
    assertClean(page);
    await closePage(page);
  });
}

test("no obstacles in dialogs and menus", async () => {
  const page = await openPage(browser, server.url);
  await composer(page).waitFor();
  await page.evaluate(() => /** @type {HTMLElement | null} */ (document.activeElement)?.blur());
  await page.keyboard.press("?");
  await page.getByRole("dialog").waitFor();
  assert.deepEqual(await obstacles(page), []);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("menu").waitFor();
  assert.deepEqual(await obstacles(page), []);
  await page.keyboard.press("Escape");
  const row = page.locator("li.page-conversation").first();
  await row.hover();
  await row.getByRole("button").click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await page.getByRole("alertdialog").waitFor();
  assert.deepEqual(await obstacles(page), []);
  assertClean(page);
  await closePage(page);
});

test("the first load fetches no code of charts", async () => {
  const page = await openPage(browser, server.url);
  await composer(page).waitFor();
  const names = () =>
    page.evaluate(() =>
      performance
        .getEntriesByType("resource")
        .map((e) => e.name.replace(/.*\//, ""))
        .filter((name) => name.endsWith(".js")),
    );
  const first = await names();
  assert.ok(first.length > 0);
  assert.deepEqual(
    first.filter((name) => /chart|table|metric|code|highlight|katex/i.test(name)),
    [],
  );
  await page.goto(`${server.url}/#/c/${samples.en}`);
  await page.reload();
  await drawn(blocks(page, "chart"));
  assert.ok(
    (await names()).some((name) => /^Chart/.test(name)),
    "a chart brings its code",
  );
  await closePage(page);
});

test("nothing scrolls but the messages", async () => {
  for (const width of [1280, 360]) {
    const page = await openPage(browser, server.url, { width, path: `/#/c/${samples.en}` });
    await drawn(blocks(page, "chart"));
    // As the search of a browser or a screen reader would.
    await page
      .locator("article")
      .last()
      .evaluate((e) => e.scrollIntoView({ block: "start" }));
    const scrolled = await page.evaluate(() =>
      Array.from(document.querySelectorAll("*"))
        .filter((e) => e.scrollTop > 0)
        .map((e) => e.className || e.tagName),
    );
    assert.deepEqual(scrolled, ["page-scroller"]);
    await closePage(page);
  }
});

describe("a narrow screen", () => {
  const phone = { width: 360, height: 740, touch: true };

  /** What sticks out of the page sideways. @param {import("playwright-core").Page} page */
  const overflow = (page) =>
    page.evaluate(() => {
      const wide = [];
      if (document.documentElement.scrollWidth > innerWidth) wide.push("the page");
      for (const box of document.querySelectorAll(".page-scroller, .page-feed, .page-dock")) {
        if (box.scrollWidth > box.clientWidth) wide.push(box.className);
      }
      for (const block of document.querySelectorAll("[data-block-id], .page-composer, .page-top")) {
        const { left, right } = block.getBoundingClientRect();
        if (left < -0.5 || right > innerWidth + 0.5)
          wide.push(`${block.className} ${left} ${right}`);
      }
      return wide;
    });

  for (const name of ["en", "zh"]) {
    test(`everything fits 360 px, ${name}`, async () => {
      const page = await openPage(browser, server.url, { ...phone, lang: lang(name) });
      await composer(page).waitFor();
      assert.deepEqual(await overflow(page), []);
      await screenshot(page, `empty-360-${name}`);
      await page.goto(`${server.url}/#/c/${samples[name]}`);
      await drawn(blocks(page, "chart"));
      await page.locator("pre code span").first().waitFor();
      assert.deepEqual(await overflow(page), []);
      await screenshot(page, `chat-360-${name}`);
      assertClean(page);
      await closePage(page);
    });
  }

  test("the conversations are in a drawer", async () => {
    const page = await openPage(browser, server.url, phone);
    await composer(page).waitFor();
    assert.equal(await page.getByRole("navigation").count(), 0);
    await page.getByRole("button", { name: "Show conversations" }).click();
    await page.getByRole("navigation", { name: "Conversations" }).waitFor();
    await screenshot(page, "drawer-360");
    assert.deepEqual(await overflow(page), []);
    assert.deepEqual(await obstacles(page), []);
    await page.keyboard.press("Escape");
    await until("it is closed", async () => (await page.getByRole("navigation").count()) === 0);
    await page.getByRole("button", { name: "Show conversations" }).click();
    await page.locator(`a[data-conversation="${samples.en}"]`).click();
    await drawn(blocks(page, "chart"));
    await until("the drawer is closed", async () => {
      return (await page.getByRole("navigation").count()) === 0;
    });
    assertClean(page);
    await closePage(page);
  });
});

test("the page speaks Chinese to those who read it", async () => {
  const page = await openPage(browser, server.url, { lang: "zh-CN" });
  await page.getByRole("textbox", { name: "消息", exact: true }).waitFor();
  await page.locator("html[lang^=zh]").waitFor();
  const first = page.locator(".page-suggestions button").first();
  assert.match(await first.innerText(), /[\u4e00-\u9fff]/);
  await first.click();
  await drawn(blocks(page, "chart"));
  // Names of formats, of the product and of people's own words may be Latin.
  const allowed =
    /Markdown|JSON|HTML|English|OpenAI|Inlay|Enter|Shift|Ctrl|Esc|Alt|CSV|PNG|SVG|\.(txt|json|html)|Q[1-4]/g;
  const foreign = await page.evaluate(() => {
    const texts = [];
    for (const e of document.querySelectorAll(
      "button, a, h1, h2, h3, label, p, time, [aria-label]",
    )) {
      if (e.closest(".page-sidebar li, article[data-role=user], figure")) continue;
      texts.push(e.getAttribute("aria-label") ?? "", e.getAttribute("title") ?? "");
      if (e.children.length === 0) texts.push(e.textContent ?? "");
    }
    return texts;
  });
  assert.deepEqual(
    [...new Set(foreign)].filter((text) => /[A-Za-z]{3,}/.test(text.replace(allowed, ""))),
    [],
  );
  assertClean(page);
  await closePage(page);
});

test("theme and language are chosen and remembered", async () => {
  const page = await openPage(browser, server.url);
  await askAndWait(page, "Show the Q3 sales by region");
  await drawn(blocks(page, "chart"));
  const canvas = blocks(page, "chart").locator("canvas").first();
  const light = await canvas.evaluate((e) => /** @type {HTMLCanvasElement} */ (e).toDataURL());
  const background = () =>
    page.locator(".page").evaluate((e) => getComputedStyle(e).backgroundColor);
  const bright = await background();
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("menuitemradio", { name: "Dark" }).click();
  await until("the page is dark", async () => (await background()) !== bright);
  await until("the chart is dark too", async () => {
    const now = await canvas.evaluate((e) => /** @type {HTMLCanvasElement} */ (e).toDataURL());
    return now !== light;
  });
  await drawn(blocks(page, "chart"));
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("menuitemradio", { name: "中文" }).click();
  await page.getByRole("textbox", { name: "消息", exact: true }).waitFor();
  await page.reload();
  await page.getByRole("textbox", { name: "消息", exact: true }).waitFor();
  assert.notEqual(await background(), bright);
  assertClean(page);
  await closePage(page);
});
