import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { bundle } from "./bundle.ts";

const entry = fileURLToPath(new URL("../src/index.ts", import.meta.url));

test("the whole package is at most 10 kB of gzip", async () => {
  const code = await bundle(entry);
  expect(gzipSync(code, { level: 9 }).length).toBeLessThanOrEqual(10_000);
});

test("the checks of targets are a module of their own, at most 5 kB of gzip", async () => {
  const code = await bundle(fileURLToPath(new URL("../src/validate.ts", import.meta.url)));
  expect(gzipSync(code, { level: 9 }).length).toBeLessThanOrEqual(5_000);
  expect(code).not.toMatch(/\bimport\b\s*[{"'(]/);
  expect(await bundle(entry)).not.toContain("feature_recommendation");
});

test("cards in Markdown are a module of their own, at most 23 kB of gzip, without a DOM", async () => {
  const markup = fileURLToPath(new URL("../src/markup.ts", import.meta.url));
  const code = await bundle(markup);
  expect(gzipSync(code, { level: 9 }).length).toBeLessThanOrEqual(23_000);
  expect(code).not.toMatch(/\bimport\b\s*[{"'(]|\bdocument\.|\bwindow\b/);
  expect(await bundle(entry)).not.toContain("textarea");
  const module = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as object;
  expect(Object.keys(module).sort()).toEqual([
    "CardMessageReader",
    "JSONStream",
    "JSONStreamError",
    "MarkupBlocks",
    "Scanner",
    "blocksFrom",
    "readCardMessage",
    "readPacket",
    "typeOf",
  ]);
});

test("the package imports nothing and needs no window at load", async () => {
  const code = await bundle(entry);
  expect(code).not.toMatch(/\bimport\b\s*[{"'(]/);
  const module = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as object;
  expect(Object.keys(module).sort()).toEqual([
    "BlockConflict",
    "ConfirmationRequired",
    "InlayClient",
    "InlayError",
    "adopt",
    "applyPatch",
    "emptyMessage",
    "newKey",
    "readSSE",
    "reduce",
    "reduceAll",
    "violationsOf",
  ]);
});
