// Takes pictures of the whole gallery for review: each type in both themes and
// languages, at 360 and 1280 px, and the modals that recommendations open.
//
//	npm run shots -- DIR [type…]
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launchBrowser, openPage } from "./lib/browser.mjs";
import { galleryDrawn, galleryTypes, seeAll } from "./lib/gallery.mjs";
import { startServer } from "./lib/server.mjs";

const [dir, ...wanted] = process.argv.slice(2);
if (!dir) {
  console.error("usage: node shots.mjs DIR [type…]");
  process.exit(2);
}
mkdirSync(dir, { recursive: true });
const browser = await launchBrowser();
const server = await startServer();
const first = await openPage(browser, server.url, { path: "/gallery?type=frame" });
const types = wanted.length > 0 ? wanted : await galleryTypes(first);
await first.context().close();
const problems = [];

/** The type whose items open modals, and those items. */
const leading = "minara.feature_recommendation";
const modals = ["deposit", "withdraw"];

/**
 * Takes a modal when it opens, when it was sent empty, and when it is done.
 * @param {import("playwright-core").Page} page
 * @param {string} item
 * @param {string} name
 */
async function shootModal(page, item, name) {
  const shot = (/** @type {string} */ state) =>
    page.screenshot({
      path: join(dir, `modal-${item}-${state}-${name}.png`),
      animations: "disabled",
      caret: "hide",
    });
  await page.locator(`[data-item-id="${item}"]`).click();
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  await shot("open");
  await page.keyboard.press("Enter");
  await dialog.locator('[aria-invalid="true"]').first().waitFor();
  await shot("wrong");
  for (const field of await dialog.getByRole("textbox").all()) {
    const amount = (await field.getAttribute("inputmode")) === "decimal";
    await field.fill(amount ? "250" : "sample-wallet-01");
  }
  await page.keyboard.press("Enter");
  await dialog.locator("[data-finished]").waitFor();
  await shot("done");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
}

for (const width of [1280, 360]) {
  for (const theme of /** @type {const} */ (["light", "dark"])) {
    for (const lang of ["en", "zh"]) {
      const page = await openPage(browser, server.url, {
        theme,
        width,
        path: "/gallery?bare=1&type=frame",
      });
      for (const type of types) {
        await page.setViewportSize({ width, height: 800 });
        await page.goto(
          `${server.url}/gallery?bare=1&type=${type}&lang=${lang}&theme=${theme}&width=full`,
        );
        await galleryDrawn(page);
        await seeAll(page);
        const path = join(dir, `${type}-${width}-${theme}-${lang}.png`);
        await page.screenshot({ path, fullPage: true, animations: "disabled", caret: "hide" });
        if (type !== leading) continue;
        await page.setViewportSize({ width, height: 800 });
        for (const item of modals) await shootModal(page, item, `${width}-${theme}-${lang}`);
      }
      problems.push(...page.problems);
      await page.context().close();
    }
  }
}
await browser.close();
await server.stop();
if (problems.length > 0) throw new Error(problems.join("\n"));
