// Takes the pictures of docs/images from the page as it is. Run by `npm run images`.
import { fileURLToPath } from "node:url";
import { launchBrowser, openPage } from "./lib/browser.mjs";
import { askAndWait, blocks, composer, drawn } from "./lib/chat.mjs";
import { startServer } from "./lib/server.mjs";

const images = fileURLToPath(new URL("../docs/images/", import.meta.url));

/** What each picture shows. */
const pictures = [
  { file: "chat.png", lang: "en-US", theme: "light", question: "Show the Q3 sales by region" },
  { file: "chat-dark-zh.png", lang: "zh-CN", theme: "dark", question: "Q3 各区域销售怎么样" },
];

const browser = await launchBrowser();
for (const { file, lang, theme, question } of pictures) {
  const server = await startServer();
  const page = await openPage(browser, server.url, {
    lang: /** @type {"en-US" | "zh-CN"} */ (lang),
    theme: /** @type {"light" | "dark"} */ (theme),
    width: 1280,
    height: 920,
  });
  await composer(page).waitFor();
  await askAndWait(page, question);
  await drawn(blocks(page, "chart"));
  await page.mouse.move(0, 0);
  await page.screenshot({ path: `${images}${file}`, animations: "disabled", caret: "hide" });
  if (page.problems.length > 0) throw new Error(page.problems.join("\n"));
  await page.context().close();
  await server.stop();
}
await browser.close();
