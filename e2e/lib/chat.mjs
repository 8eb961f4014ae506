import assert from "node:assert/strict";

/** @typedef {import("playwright-core").Page} Page */

/** The message field. @param {Page} page */
export const composer = (page) => page.getByRole("textbox", { name: /^(Message|消息)$/ });

/** The button that sends. @param {Page} page */
export const stopButton = (page) =>
  page.getByRole("button", { name: /^(Stop answering|停止回答)$/ });

/** All answers. @param {Page} page */
export const answers = (page) => page.locator('article[data-role="assistant"]');

/** The last answer. @param {Page} page */
export const lastAnswer = (page) => answers(page).last();

/** All blocks of a type. @param {Page} page @param {string} type */
export const blocks = (page, type) => page.locator(`[data-block-type="${type}"]`);

/** Types a question and sends it. @param {Page} page @param {string} text */
export async function ask(page, text) {
  await composer(page).fill(text);
  await composer(page).press("Enter");
}

/**
 * Waits for answer number `count` to end, one way or another.
 * @param {Page} page
 * @param {number} [count]
 * @param {number} [timeout]
 */
export async function settled(page, count = 1, timeout = 30_000) {
  const answer = answers(page).nth(count - 1);
  await answer.waitFor({ timeout });
  await page.waitForFunction(
    (n) => {
      const all = document.querySelectorAll('article[data-role="assistant"]');
      const status = /** @type {HTMLElement | undefined} */ (all[n - 1])?.dataset.status;
      return status !== undefined && status !== "running";
    },
    count,
    { timeout },
  );
  return answer;
}

/** Asks and waits for the answer. @param {Page} page @param {string} text @param {number} [count] */
export async function askAndWait(page, text, count = 1) {
  await ask(page, text);
  return settled(page, count);
}

/** The id of the conversation shown. @param {Page} page */
export async function conversationId(page) {
  await page.waitForURL(/#\/c\/.+/);
  return decodeURIComponent(new URL(page.url()).hash.slice("#/c/".length));
}

/**
 * The text of an answer as it reads, white space folded.
 * @param {import("playwright-core").Locator} answer
 */
export async function readable(answer) {
  const parts = await answer.locator('[data-block-type="text"]').allInnerTexts();
  return fold(parts.join(" "));
}

/**
 * Waits until an answer reads as a certain text. The rest of a long text is
 * drawn in steps, also after the answer is complete.
 * @param {import("playwright-core").Locator} answer
 * @param {string} text
 */
export async function reads(answer, text) {
  let now = "";
  await until("the answer reads as it should", async () => {
    now = await readable(answer);
    return now === text;
  }).catch(() => assert.equal(now, text));
}

/** @param {string} text */
export const fold = (text) => text.replace(/\s+/g, " ").trim();

/**
 * Waits until a condition holds.
 * @template T
 * @param {string} what
 * @param {() => T | Promise<T>} condition
 * @param {number} [timeout]
 * @returns {Promise<T>}
 */
export async function until(what, condition, timeout = 30_000) {
  const end = Date.now() + timeout;
  for (;;) {
    const value = await condition();
    if (value) return value;
    assert.ok(Date.now() < end, `not in ${timeout} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/**
 * Does something, and waits until something that may be there for a moment
 * only has been there since. Every change of the page is looked at.
 * @param {Page} page
 * @param {string} selector
 * @param {() => Promise<unknown>} act
 * @param {{pattern?: RegExp, press?: boolean}} [options] what its text must
 *   match; whether it is pressed as soon as it is there, since a pointer may
 *   come too late
 */
export async function passing(page, selector, act, { pattern = /(?:)/, press = false } = {}) {
  const seen = await page.evaluateHandle(
    ({ selector, source, press }) => {
      const pattern = new RegExp(source);
      const state = { seen: false };
      const watch = new MutationObserver(() => {
        const all = Array.from(document.querySelectorAll(selector));
        const found = all.find((e) => pattern.test(e.textContent ?? ""));
        if (!found) return;
        state.seen = true;
        watch.disconnect();
        if (press) /** @type {HTMLElement} */ (found).click();
      });
      watch.observe(document, {
        subtree: true,
        childList: true,
        attributes: true,
        characterData: true,
      });
      return state;
    },
    { selector, source: pattern.source, press },
  );
  await act();
  await until(`${selector} with ${pattern} was there`, () => seen.evaluate(({ seen }) => seen));
}

/**
 * Waits until an element says something, and returns all it says.
 * @param {import("playwright-core").Locator} locator
 * @param {RegExp} pattern
 */
export async function saying(locator, pattern) {
  let text = "";
  await until(`${pattern} in ${locator}`, async () => {
    text = await locator.innerText();
    return pattern.test(text);
  }).catch((error) => assert.fail(`${error.message}, but: ${text}`));
  return text;
}

/**
 * What is drawn on a canvas: how many colours, and the middle of the first
 * bar. Read from a copy, so that the page's own canvas is left alone.
 * @param {import("playwright-core").Locator} canvas
 * @returns {Promise<{colours: number, bar: {x: number, y: number} | null}>}
 */
export function picture(canvas) {
  return canvas.evaluate((element) => {
    const own = /** @type {HTMLCanvasElement} */ (element);
    const { width, height } = own;
    if (width === 0 || height === 0) return { colours: 0, bar: null };
    const paint = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
    if (!paint) throw new Error("no 2d context");
    paint.drawImage(own, 0, 0);
    const { data } = paint.getImageData(0, 0, width, height);
    const colours = new Set();
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] !== 0) colours.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    }
    const coloured = (/** @type {number} */ x, /** @type {number} */ y) => {
      const at = (y * width + x) * 4;
      const rgb = [data[at], data[at + 1], data[at + 2]];
      return data[at + 3] > 200 && Math.max(...rgb) - Math.min(...rgb) > 40;
    };
    // The lowest row with bars in it crosses all of them.
    for (let y = height - 1; y > 0; y--) {
      for (let x = 0; x < width; x++) {
        if (!coloured(x, y)) continue;
        let end = x;
        while (coloured(end, y)) end++;
        if (end - x > 8) return { colours: colours.size, bar: { x: (x + end) / 2, y: y - 6 } };
      }
    }
    return { colours: colours.size, bar: null };
  });
}

/** Waits until a chart's canvas is drawn and at rest, and returns it. @param {import("playwright-core").Locator} chart */
export async function drawn(chart) {
  const canvas = chart.locator("canvas").first();
  await canvas.waitFor();
  await until("the chart is drawn and at rest", async () => {
    const rests = await canvas.evaluate(async (e) => {
      const own = /** @type {HTMLCanvasElement} */ (e);
      const before = own.toDataURL();
      // On a busy machine time passes without a frame; only frames move a chart on.
      for (let i = 0; i < 3; i++) await new Promise((next) => requestAnimationFrame(next));
      return own.isConnected && own.toDataURL() === before;
    });
    return rests && (await picture(canvas)).colours > 8;
  });
  return canvas;
}

/** Opens a block's menu and chooses an entry. @param {import("playwright-core").Locator} block @param {string} id */
export async function chooseInMenu(block, id) {
  await block.locator(".inlay-menu-button").click();
  await block.locator(`[data-menu-item="${id}"]`).click();
}

/**
 * Fails when the page saw errors. Browsers report every refused request as
 * one, so a test names the statuses that it provokes.
 * @param {import("./browser.mjs").ChatPage} page
 * @param {...number} refusals
 */
export function assertClean(page, ...refusals) {
  const expected = (/** @type {string} */ problem) =>
    refusals.some((status) => problem.includes(`responded with a status of ${status} `));
  assert.deepEqual(
    page.problems.filter((problem) => !expected(problem)),
    [],
  );
}
