// Replaces every text asset in web/dist by its .br and .gz form and writes
// manifest.json: path -> SHA-256 of the uncompressed bytes. The server sends
// the stored bytes as they are, so nothing is compressed at run time.
//
//	node compress.mjs               compress what vite has built
//	node compress.mjs --verify DIR  check compressed files against the manifest
//
// INLAY_DIST names another directory than web/dist.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import {
  brotliCompressSync,
  brotliDecompressSync,
  constants,
  gunzipSync,
  gzipSync,
} from "node:zlib";

const text = new Set([
  ".css",
  ".html",
  ".js",
  ".json",
  ".map",
  ".mjs",
  ".svg",
  ".txt",
  ".webmanifest",
]);
const dist = process.env.INLAY_DIST ?? fileURLToPath(new URL("../dist/", import.meta.url));
if (process.argv[2] === "--verify") {
  verify(process.argv[3] ?? dist);
  process.exit(0);
}

/** Checks that what is compressed is what the manifest names. */
function verify(dir) {
  const want = JSON.parse(readFileSync(join(dir, "manifest.json"), "utf8"));
  const hash = (bytes) => createHash("sha256").update(bytes).digest("hex");
  for (const [path, digest] of Object.entries(want)) {
    const full = join(dir, path);
    const found = text.has(extname(path))
      ? [gunzipSync(readFileSync(`${full}.gz`)), brotliDecompressSync(readFileSync(`${full}.br`))]
      : [readFileSync(full)];
    for (const bytes of found) {
      if (hash(bytes) !== digest) throw new Error(`${path} differs from the manifest`);
    }
  }
}

const files = readdirSync(dist, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => relative(dist, join(entry.parentPath, entry.name)).split(sep).join("/"))
  .filter((path) => path !== "manifest.json" && !path.endsWith(".br") && !path.endsWith(".gz"))
  .sort();
if (files.length === 0) throw new Error("web/dist has no plain files; run vite build first");

const manifest = {};
for (const path of files) {
  const full = join(dist, path);
  const bytes = readFileSync(full);
  manifest[path] = createHash("sha256").update(bytes).digest("hex");
  if (!text.has(extname(path))) continue;
  const gz = gzipSync(bytes, { level: 9 });
  gz[9] = 255; // the byte naming the operating system: the same everywhere
  writeFileSync(`${full}.gz`, gz);
  writeFileSync(
    `${full}.br`,
    brotliCompressSync(bytes, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: 11,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      },
    }),
  );
  rmSync(full);
}
writeFileSync(join(dist, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
