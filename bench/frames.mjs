// Measures what the last 4 KiB of an answer of 32 KiB cost the main thread of a
// real browser: in the chat page, with its cards read by the server and as one
// text, and in a page that draws the same text with components of npm.
// Prints figures, one per line.
//
//	node bench/frames.mjs bench/out/bin/server
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { launchBrowser, openPage } from "../e2e/lib/browser.mjs";
import { ask, settled } from "../e2e/lib/chat.mjs";
import { build } from "./peer/node_modules/esbuild/lib/main.js";
import { scripting } from "./trace.mjs";

const figure = (what, value, unit, more = {}) =>
  console.log(JSON.stringify({ item: "frames", what, value, unit, digits: 1, ...more }));

/** Four characters at a time, 400 characters a second after the gate. */
const question = "deltas=8192 gate=7168 size=4 every=10ms cards";
const rounds = Number(process.argv[3] ?? 3);

const rendering = new Set(["UpdateLayoutTree", "Layout", "PrePaint"]);

/**
 * What each frame in which the answer changed took of the main thread: the CPU
 * time of scripts, styles and layout, that of all its tasks, and by the clock.
 */
function frames(trace) {
  const byThread = new Map();
  for (const e of trace.traceEvents) {
    const key = `${e.pid}/${e.tid}`;
    if (!byThread.has(key)) byThread.set(key, { begins: [], changes: [], work: [], tasks: [] });
    const t = byThread.get(key);
    if (e.name === "BeginMainThreadFrame") t.begins.push(e.ts);
    else if (e.name === "answer changed") t.changes.push(e.ts);
    else if (e.ph !== "X") continue;
    else if (e.name === "RunTask") t.tasks.push(e);
    else if (scripting.has(e.name) || rendering.has(e.name)) t.work.push(e);
  }
  const [main] = [...byThread.values()].sort((a, b) => b.changes.length - a.changes.length);
  const begins = main.begins.sort((a, b) => a - b);
  const frameOf = (at) => begins.findLastIndex((begin) => begin <= at);
  const changed = new Set(main.changes.map(frameOf).filter((frame) => frame >= 0));
  const sum = (events, time) => {
    const sums = new Map([...changed].map((frame) => [frame, 0]));
    let end = 0;
    for (const e of events.sort((a, b) => a.ts - b.ts)) {
      const to = e.ts + (e.dur ?? 0);
      if (to <= end) continue; // nested in what is counted
      end = to;
      // A task that begins a frame belongs to it.
      const frame = frameOf(to);
      if (sums.has(frame)) sums.set(frame, sums.get(frame) + (e[time] ?? 0) / 1000);
    }
    return [...sums.values()];
  };
  return { work: sum(main.work, "tdur"), tasks: sum(main.tasks, "tdur"), clock: sum(main.work, "dur") };
}

async function startServer(...args) {
  const child = spawn(process.argv[2], args, { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(createInterface(child.stdout), "line");
  const [, url, control] = line.split(" ");
  return { url, stop: () => child.kill(), open: () => fetch(`${control}/open`, { method: "POST" }) };
}

/** Marks in the trace when an answer changes, and remembers when it last did. */
function watch() {
  window.changedAt = performance.now();
  new MutationObserver(() => {
    window.changedAt = performance.now();
    performance.mark("answer changed");
  }).observe(document.querySelector(".page-feed, #root"), { childList: true, characterData: true, subtree: true });
}

const resting = (page) =>
  page.waitForFunction(() => performance.now() - window.changedAt > 1500, null, { timeout: 120_000, polling: 200 });

const categories = [
  "devtools.timeline",
  "disabled-by-default-devtools.timeline",
  "disabled-by-default-devtools.timeline.frame",
  "blink.user_timing",
  "v8",
];

/** Shows the last 4 KiB of an answer and returns what its frames took. */
async function measure(browser, server, page, start, end) {
  await page.evaluate(watch);
  await start();
  await resting(page);
  await browser.startTracing(page, { categories });
  await server.open();
  await end();
  await resting(page);
  return JSON.parse((await browser.stopTracing()).toString());
}

const bundle = await build({
  entryPoints: [new URL("./peer/frames.jsx", import.meta.url).pathname],
  bundle: true,
  minify: true,
  write: false,
  format: "esm",
  jsx: "automatic",
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "error",
});
const script = bundle.outputFiles[0].text;
const html = '<!doctype html><meta charset="utf-8"><div id="root"></div><script type="module" src="/peer.js"></script>';

const browser = await launchBrowser();
const withCards = await startServer("-cards");
const withText = await startServer();

/** Our page. */
async function ours(server) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await openPage(browser, server.url, { context });
  await page.waitForLoadState("networkidle");
  const trace = await measure(
    browser,
    server,
    page,
    () => ask(page, question),
    () => settled(page, 1, 120_000),
  );
  const cards = await page.locator('[data-block-type="app.product_card"]').count();
  const wanted = server === withCards ? 30 : 0;
  if (wanted > 0 ? cards < wanted : cards > 0) throw new Error(`${cards} cards are shown`);
  if (page.problems.length) throw new Error(page.problems.join("\n"));
  await context.close();
  return trace;
}

/** The page of a peer, from the server's own address, so that it may ask it. */
async function peer(name) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.route("**/peer*", (route) =>
    route.request().url().endsWith(".js")
      ? route.fulfill({ contentType: "text/javascript", body: script })
      : route.fulfill({ contentType: "text/html", body: html }),
  );
  await page.goto(`${withText.url}/peer?with=${name}`);
  await page.unroute("**/peer*");
  await page.waitForFunction(() => "ask" in window);
  let answered;
  const trace = await measure(
    browser,
    withText,
    page,
    async () => {
      answered = page.evaluate((q) => window.ask(q), question);
    },
    () => answered,
  );
  const length = await page.locator("article").evaluate((e) => e.textContent.length);
  if (length < 20_000) throw new Error(`${name} shows ${length} characters`);
  await context.close();
  return trace;
}

const sides = {
  "page, cards": () => ours(withCards),
  "page, one text": () => ours(withText),
  "react-markdown": () => peer("react-markdown"),
  streamdown: () => peer("streamdown"),
};

try {
  const measured = new Map(Object.keys(sides).map((name) => [name, { work: [], tasks: [], clock: [] }]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(sides)) {
      const took = frames(await run());
      for (const kind in took) measured.get(name)[kind].push(...took[kind]);
    }
  }
  const at = (list, q) => list.toSorted((a, b) => a - b)[Math.floor(q * (list.length - 1))];
  const spread = (list) => `${at(list, 0.5).toFixed(1)} and ${at(list, 0.95).toFixed(1)} ms`;
  for (const [name, { work, tasks, clock }] of measured) {
    const bar = name.startsWith("page") ? { bar: 4 } : {};
    const note = `${work.length} frames; by the clock ${spread(clock)}, with painting and all else ${spread(tasks)}`;
    figure(`${name}, median`, at(work, 0.5), "ms", { ...bar, note });
    figure(`${name}, p95`, at(work, 0.95), "ms", { note: "" });
  }
  const median = (name) => at(measured.get(name).work, 0.5);
  for (const own of ["page, cards", "page, one text"])
    for (const name of ["react-markdown", "streamdown"])
      figure(`${own}, beside ${name}`, median(own) / median(name), "×", { digits: 3, note: "medians" });
} finally {
  await browser.close();
  withCards.stop();
  withText.stop();
}
