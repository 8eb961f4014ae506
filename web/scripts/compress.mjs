// Replaces every text asset in web/dist by its .br and .gz form and writes
// manifest.json: path -> SHA-256 of the uncompressed bytes. The server sends
// the stored bytes as they are, so nothing is compressed at run time.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const dist = fileURLToPath(new URL("../dist/", import.meta.url));
const text = new Set([".css", ".html", ".js", ".json", ".map", ".mjs", ".svg", ".txt", ".webmanifest"]);

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
