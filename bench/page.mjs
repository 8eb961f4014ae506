// Measures the chat page in a real browser against the server of this folder:
// the scripts of the first load, and what drawing costs while an answer of
// 32 KiB comes in pieces of four characters. Prints figures, one per line.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { get } from "node:http";
import { createInterface } from "node:readline";
import { launchBrowser, openPage } from "../e2e/lib/browser.mjs";
import { ask, settled } from "../e2e/lib/chat.mjs";
import { scripting } from "./trace.mjs";

const figure = (what, value, unit, more = {}) =>
  console.log(JSON.stringify({ item: "page", what, value, unit, digits: 1, ...more }));

/** The bytes of a file as a client that takes gzip gets them. */
async function compressed(url) {
  const request = get(url, { headers: { "accept-encoding": "gzip" } });
  const [response] = await once(request, "response");
  let size = 0;
  for await (const bytes of response) size += bytes.length;
  return size;
}

/** Scripting time of each frame of the page's main thread, in ms. */
function frames(trace) {
  const byThread = new Map();
  for (const e of trace.traceEvents) {
    if (e.ph !== "X" && e.name !== "BeginMainThreadFrame") continue;
    const key = `${e.pid}/${e.tid}`;
    if (!byThread.has(key)) byThread.set(key, { spans: [], begins: [] });
    const t = byThread.get(key);
    if (e.name === "BeginMainThreadFrame") t.begins.push(e.ts);
    else if (scripting.has(e.name)) t.spans.push([e.ts, e.ts + (e.dur ?? 0)]);
  }
  const threads = [...byThread.values()].sort((a, b) => b.begins.length - a.begins.length);
  const { spans, begins } = threads[0];
  spans.sort((a, b) => a[0] - b[0]);
  begins.sort((a, b) => a - b);
  const sums = new Array(begins.length).fill(0);
  let end = 0;
  let frame = 0;
  for (const [from, to] of spans) {
    while (frame + 1 < begins.length && begins[frame + 1] <= from) frame++;
    const start = Math.max(from, end); // nested spans count once
    if (to > start) sums[frame] += (to - start) / 1000;
    end = Math.max(end, to);
  }
  return sums.filter((ms) => ms > 0.1).sort((a, b) => a - b);
}

const server = spawn(process.argv[2], [], { stdio: ["ignore", "pipe", "ignore"] });
const [line] = await once(createInterface(server.stdout), "line");
const base = line.split(" ")[1];
const browser = await launchBrowser();
try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const scripts = [];
  context.on("response", (r) => {
    if (r.request().resourceType() === "script") scripts.push(r.url());
  });
  const page = await openPage(browser, base, { context });
  await page.waitForLoadState("networkidle");
  let size = 0;
  for (const url of scripts) size += await compressed(url);
  figure("scripts of the first load, gzip", size / 1000, "kB", { bar: 160, note: `${scripts.length} files` });

  await ask(page, "deltas=400 every=1ms size=4 markdown");
  await settled(page, 1);
  const categories = ["devtools.timeline", "disabled-by-default-devtools.timeline", "disabled-by-default-devtools.timeline.frame", "v8"];
  await browser.startTracing(page, { categories });
  await ask(page, "deltas=8192 every=1ms size=4 markdown");
  await settled(page, 2, 120_000);
  const trace = JSON.parse((await browser.stopTracing()).toString());
  const all = frames(trace);
  const at = (q) => all[Math.floor(q * (all.length - 1))];
  const note = `32 KiB in pieces of 4 characters, ${all.length} frames`;
  figure("scripting per frame, median", at(0.5), "ms", { bar: 8, note });
  figure("scripting per frame, p95", at(0.95), "ms", { note });
  if (page.problems.length) throw new Error(page.problems.join("\n"));
} finally {
  await browser.close();
  server.kill();
}
