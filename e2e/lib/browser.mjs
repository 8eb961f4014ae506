import { accessSync, constants, mkdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Where screenshots go. */
export const out = fileURLToPath(new URL("../out/", import.meta.url));
mkdirSync(out, { recursive: true });

function executable() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  for (const name of ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]) {
    for (const dir of (process.env.PATH ?? "").split(delimiter)) {
      const path = join(dir, name);
      try {
        accessSync(path, constants.X_OK);
        return path;
      } catch {}
    }
  }
  throw new Error("no chromium on the PATH; CHROMIUM names one elsewhere");
}

/** Launches the browser on the PATH. */
export function launchBrowser() {
  return chromium.launch({ executablePath: executable(), headless: true, args: flags });
}

/**
 * How to open the page.
 * @typedef {object} Options
 * @property {"en-US" | "zh-CN"} [lang]
 * @property {"light" | "dark"} [theme]
 * @property {number} [width]
 * @property {number} [height]
 * @property {import("playwright-core").BrowserContext} [context] share storage with another page
 * @property {number} [scale]
 * @property {boolean} [touch]
 * @property {string} [path]
 */

/**
 * The chat page as a reader sees it, with what went wrong in it.
 * @typedef {import("playwright-core").Page & {problems: string[]}} ChatPage
 */

/** Contexts whose pages are closed, by browser and options. @type {WeakMap<object, Map<string, import("playwright-core").BrowserContext[]>>} */
const idle = new WeakMap();
/** Where a context goes when its pages are closed. @type {WeakMap<object, import("playwright-core").BrowserContext[]>} */
const places = new WeakMap();

/**
 * A context in which nothing is stored for a server: one that was used before
 * and still has the files of the page in its cache, or else a new one.
 * @param {import("playwright-core").Browser} browser
 * @param {string} url
 * @param {import("playwright-core").BrowserContextOptions} options
 */
async function freshContext(browser, url, options) {
  const kinds = idle.get(browser) ?? new Map();
  idle.set(browser, kinds);
  const key = JSON.stringify(options);
  const place = kinds.get(key) ?? [];
  kinds.set(key, place);
  const used = place.pop();
  if (!used) {
    const context = await browser.newContext(options);
    places.set(context, place);
    return context;
  }
  const page = await used.newPage();
  const session = await used.newCDPSession(page);
  await session.send("Storage.clearDataForOrigin", {
    origin: new URL(url).origin,
    storageTypes: "cookies,indexeddb,local_storage",
  });
  await page.close();
  return used;
}

/**
 * Closes a page and all that share its storage.
 * @param {import("playwright-core").Page} page
 */
export async function closePage(page) {
  const context = page.context();
  for (const each of context.pages()) await each.close();
  places.get(context)?.push(context);
}

/**
 * Opens the chat page in a context of its own and watches for errors of the
 * console, violations of the content security policy and requests to other
 * hosts.
 * @param {import("playwright-core").Browser} browser
 * @param {string} url
 * @param {Options} [options]
 * @returns {Promise<ChatPage>}
 */
export async function openPage(browser, url, options = {}) {
  const { lang = "en-US", theme = "light", width = 1280, height = 800, path = "/" } = options;
  const context =
    options.context ??
    (await freshContext(browser, url, {
      locale: lang,
      colorScheme: theme,
      viewport: { width, height },
      deviceScaleFactor: options.scale ?? 1,
      hasTouch: options.touch ?? false,
      acceptDownloads: true,
      permissions: ["clipboard-read", "clipboard-write"],
    }));
  context.setDefaultTimeout(30_000);
  const page = /** @type {ChatPage} */ (await context.newPage());
  /** @type {string[]} */
  const problems = [];
  page.problems = problems;
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) {
      problems.push(`console ${message.type()}: ${message.text()} (${message.location().url})`);
    }
  });
  page.on("pageerror", (error) => problems.push(`error: ${error.stack ?? error.message}`));
  const { host } = new URL(url);
  page.on("request", (request) => {
    const to = new URL(request.url());
    if (["blob:", "data:"].includes(to.protocol)) return;
    if (to.host !== host) problems.push(`request to ${request.url()}`);
  });
  await page.exposeFunction("reportViolation", (/** @type {string} */ text) => {
    problems.push(`policy violation: ${text}`);
  });
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      // @ts-expect-error exposed by the test
      window.reportViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
    });
  });
  await page.goto(new URL(path, url).href);
  return page;
}

/** @param {import("playwright-core").Page} page @param {string} name */
export function screenshot(page, name) {
  return page.screenshot({ path: join(out, `${name}.png`) });
}
