import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * What a check of accessibility finds that keeps people out.
 *
 * Contrast takes most of the time and is all that a theme changes; a language
 * changes all but it. So a page that was checked as a whole in one theme and
 * language is checked in others by the part that differs.
 * @param {import("playwright-core").Page} page
 * @param {"all" | "contrast" | "words"} [part]
 * @returns {Promise<string[]>}
 */
export async function obstacles(page, part = "all") {
  // The protocol of the debugger is not bound by the page's policy.
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  return page.evaluate(async (part) => {
    const { violations } = await /** @type {any} */ (window).axe.run(document, {
      resultTypes: ["violations"],
      // No page has sound, for which files would be loaded first.
      preload: false,
      ...(part === "contrast" ? { runOnly: ["color-contrast", "link-in-text-block"] } : {}),
      ...(part === "words" ? { rules: { "color-contrast": { enabled: false } } } : {}),
    });
    return violations
      .filter((/** @type {any} */ v) => ["serious", "critical"].includes(v.impact))
      .flatMap((/** @type {any} */ v) =>
        v.nodes.map((/** @type {any} */ n) => `${v.id}: ${n.target.join(" ")} ${n.failureSummary}`),
      );
  }, part);
}
