// Takes the pictures of docs/images of the example pages: a wide one and one of a
// small screen beside it, in the two themes. Run by `npm run images`.
import { fileURLToPath } from "node:url";
import { launchBrowser } from "../../e2e/lib/browser.mjs";
import { start } from "../binary.mjs";
import { ask, blocks, build, built, drawing, open } from "./page.mjs";
import { serve } from "./serve.mjs";

const images = fileURLToPath(new URL("../../docs/images/", import.meta.url));
const pictures = { copilotkit: ["light", "dark"], "ai-sdk": ["dark", "light"] };
const height = 860;

const server = await start();
const browser = await launchBrowser();

/** One page with a chart and a question, as a data URL. */
async function shot(url, width, theme) {
  const page = await open(browser, url, { width, height, theme });
  const question = width > 500 ? "Show the Q3 sales by region" : "Approve an expense";
  await ask(page, question);
  await (width > 500 ? drawing(page) : blocks(page, "confirm")).waitFor();
  await page.waitForTimeout(2500);
  await page.mouse.move(0, 0);
  const png = await page.screenshot({ animations: "disabled", caret: "hide" });
  if (page.problems.length > 0) throw new Error(page.problems.join("\n"));
  await page.context().close();
  return `data:image/png;base64,${png.toString("base64")}`;
}

for (const [name, [wide, small]] of Object.entries(pictures)) {
  await build(name);
  const site = await serve(built(name), server.base);
  const shots = [await shot(site.url, 1280, wide), await shot(site.url, 360, small)];
  const page = await browser.newPage({ viewport: { width: 1280 + 360 + 72, height: height + 48 } });
  const frames = shots.map((url) => `<img src="${url}" style="border:1px solid #8a8479">`);
  await page.setContent(
    `<body style="margin:0;padding:23px;display:flex;gap:20px;background:#c9c4ba">${frames.join("")}</body>`,
  );
  await page.screenshot({ path: `${images}wires-${name}.png` });
  await page.close();
  await site.stop();
}
await browser.close();
await server.stop();
