import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * What a check of accessibility finds that keeps people out.
 * @param {import("playwright-core").Page} page
 * @returns {Promise<string[]>}
 */
export async function obstacles(page) {
  // The protocol of the debugger is not bound by the page's policy.
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { violations } = await /** @type {any} */ (window).axe.run(document, {
      resultTypes: ["violations"],
    });
    return violations
      .filter((/** @type {any} */ v) => ["serious", "critical"].includes(v.impact))
      .flatMap((/** @type {any} */ v) =>
        v.nodes.map((/** @type {any} */ n) => `${v.id}: ${n.target.join(" ")} ${n.failureSummary}`),
      );
  });
}
