// Adds up the script that the page loads before its first answer: what
// index.html names and everything that imports statically, in gzip. Charts and
// other heavy renderers are imported when they are first needed and not counted.
// Usage: node scripts/size.mjs [dist]   (after a build; exits 1 over the limit)
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";

/** The largest sum in bytes that is let through. */
export const limit = 160 * 1000;

function read(dist, path) {
  const full = join(dist, path);
  if (existsSync(full)) return readFileSync(full);
  return gunzipSync(readFileSync(`${full}.gz`));
}

/** The paths of all scripts that load before the first answer. */
export function firstLoad(dist) {
  const html = read(dist, "index.html").toString("utf8");
  const pending = [];
  for (const [, path] of html.matchAll(/(?:src|href)="\.?\/?([^"]+\.js)"/g)) pending.push(path);
  const found = new Set();
  while (pending.length > 0) {
    const path = pending.pop();
    if (path === undefined || found.has(path)) continue;
    found.add(path);
    const code = read(dist, path).toString("utf8");
    for (const [, target] of code.matchAll(/(?:\bfrom|\bimport)\s*["'](\.[^"']+\.js)["']/g)) {
      pending.push(posix.join(posix.dirname(path), target));
    }
  }
  return [...found].sort();
}

/** Size of each of these scripts in gzip. */
export function firstLoadSizes(dist) {
  return firstLoad(dist).map((path) => ({
    path,
    bytes: gzipSync(read(dist, path), { level: 9 }).length,
  }));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const dist = process.argv[2] ?? join(dirname(fileURLToPath(import.meta.url)), "..", "dist");
  const sizes = firstLoadSizes(dist);
  const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
  for (const { path, bytes } of sizes) console.log(`${(bytes / 1000).toFixed(1)} kB  ${path}`);
  console.log(`${(total / 1000).toFixed(1)} kB of ${limit / 1000} kB before the first answer`);
  if (sizes.length === 0 || total > limit) {
    console.error("size: the page's first script is missing or too large");
    process.exit(1);
  }
}
