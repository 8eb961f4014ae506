// Installs what the pages are built from and looked at with, where that is not
// there as it is locked. A machine that has it all needs no network.
import { execFileSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { examples } from "./page.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));

for (const folder of ["web", "e2e", ...examples.map((name) => `examples/${name}`)]) {
  const locked = `${root}${folder}/package-lock.json`;
  const installed = `${root}${folder}/node_modules/.package-lock.json`;
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(locked).mtimeMs) continue;
  execFileSync("npm", ["ci", "--prefer-offline", "--no-audit", "--no-fund", "--silent"], {
    cwd: `${root}${folder}`,
    stdio: "inherit",
  });
}
