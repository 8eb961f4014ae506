import { until } from "./chat.mjs";

/** @typedef {import("playwright-core").Page} Page */

/** A gallery with everything in it takes its time on a busy machine. */
const patience = 60_000;

/**
 * Waits until the gallery is drawn and at rest: nothing is a skeleton but what
 * is loading by its own account.
 * @param {Page} page
 */
export async function galleryDrawn(page) {
  await page.locator(".gallery[data-ready]").waitFor({ timeout: patience });
  await until(
    "everything is drawn",
    () =>
      page.evaluate(() => {
        const done = '[data-block-status="done"]';
        if (document.querySelector(`${done} .inlay-skeleton`)) return false;
        return Array.from(document.querySelectorAll(`${done} img`)).every((e) => {
          const { top, bottom, left, right } = e.getBoundingClientRect();
          // Pictures load when they are about to be seen, also those in a row to leaf through.
          const away = bottom < 0 || top > innerHeight || right < 0 || left > innerWidth;
          return away || /** @type {HTMLImageElement} */ (e).complete;
        });
      }),
    patience,
  );
  // Heights that depend on others settle within a few frames.
  await until(
    "the page rests",
    () =>
      page.evaluate(async () => {
        const height = () => document.documentElement.scrollHeight;
        const before = height();
        for (let i = 0; i < 3; i++) await new Promise((next) => requestAnimationFrame(next));
        return height() === before;
      }),
    patience,
  );
}

/** The most pixels that a picture of a page can be high. */
const highest = 16_000;

/**
 * Makes the window as high as the page, so that what is drawn or loaded only
 * when it is seen is there too.
 * @param {Page} page
 */
export async function seeAll(page) {
  const width = page.viewportSize()?.width ?? 1280;
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  await page.setViewportSize({ width, height: Math.min(height, highest) });
  await galleryDrawn(page);
}

/** The types that the gallery has. @param {Page} page @returns {Promise<string[]>} */
export async function galleryTypes(page) {
  await page.locator(".gallery[data-ready]").waitFor({ timeout: patience });
  const values = await page
    .getByLabel(/^(Type|类型)$/)
    .locator("option")
    .evaluateAll((all) => all.map((e) => /** @type {HTMLOptionElement} */ (e).value));
  return values.filter((value) => value !== "");
}

/** The names of the cases that are shown. @param {Page} page @returns {Promise<string[]>} */
export function cases(page) {
  return page
    .locator("[data-case]")
    .evaluateAll((all) => all.map((e) => e.getAttribute("data-case") ?? ""));
}
