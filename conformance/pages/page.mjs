// The example pages, built and opened as a person would find them.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The folders of the example pages. */
export const examples = ["copilotkit", "ai-sdk", "assistant-ui"];

/** Where a page is built to. */
export const built = (name) => `${root}examples/${name}/dist/`;

/** Runs a tool of a page; what it says against the page is the error. */
async function tool(name, command, ...args) {
  const cwd = `${root}examples/${name}`;
  try {
    await promisify(execFile)("node", [`node_modules/${command}`, ...args], { cwd });
  } catch (error) {
    throw new Error(`${name}: ${command}\n${error.stdout}${error.stderr}`, { cause: error });
  }
}

/** Builds a page. */
export const build = (name) => tool(name, "vite/bin/vite.js", "build", "--logLevel", "warn");

/** Checks the types of a page against those of the libraries that it uses. */
export const check = (name) => tool(name, "typescript/bin/tsc");

/**
 * Opens a page in a browser, a new thread unless one is given. `problems` is what
 * went wrong in it; a request to anywhere else is among that.
 */
export async function open(
  browser,
  url,
  { width = 1280, height = 900, theme = "light", thread = "" } = {},
) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    locale: "en-US",
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  page.problems = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) page.problems.push(message.text());
  });
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.on("request", (request) => {
    const local = request.url().startsWith(url) || /^(?:data|blob):/.test(request.url());
    if (!local) page.problems.push(`asks ${request.url()}`);
  });
  await page.goto(`${url}${thread}`);
  await composer(page).waitFor();
  return page;
}

/** The field of the next message. */
export const composer = (page) => page.locator("textarea:visible").first();

/** Asks a question. */
export async function ask(page, text) {
  await composer(page).fill(text);
  await composer(page).press("Enter");
}

/** The blocks of a type that our renderers drew. */
export const blocks = (page, type) =>
  page.locator(`.inlay-root [data-block-type="${type}"][data-block-status="done"]`);

/** The drawing of a chart. */
export const drawing = (page) => blocks(page, "chart").locator("canvas, svg").first();

/** The button that stops an answer. CopilotKit's has no name; it is the one that sends at other times. */
export const stopButton = (page) =>
  page.getByTestId("copilot-send-button").or(page.getByRole("button", { name: "Stop" }));
