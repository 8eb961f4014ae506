// Builds the packages for publishing, each after those it uses: JavaScript and
// types beside each other in dist/, style sheets copied as they are. Fails when
// something that a package exports was not built.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
for (const name of ["client", "react", "ag-ui", "ai-sdk"]) {
  const dir = `${root}packages/${name}`;
  rmSync(`${dir}/dist`, { recursive: true, force: true });
  const config = `${dir}/tsconfig.build.json`;
  const options = {
    rootDir: "src",
    outDir: "dist",
    declaration: true,
    customConditions: [],
    types: ["vite/client"],
  };
  writeFileSync(
    config,
    JSON.stringify({
      extends: "../../tsconfig.base.json",
      compilerOptions: options,
      include: ["src"],
    }),
  );
  try {
    execFileSync("npx", ["tsc", "-p", config], { cwd: root, stdio: "inherit" });
  } finally {
    rmSync(config);
  }
  if (existsSync(`${dir}/src/styles`)) {
    cpSync(`${dir}/src/styles`, `${dir}/dist/styles`, { recursive: true });
  }
  const { exports } = JSON.parse(readFileSync(`${dir}/package.json`, "utf8"));
  for (const [entry, files] of Object.entries(exports)) {
    for (const file of Object.values(files)) {
      if (!existsSync(`${dir}/${file}`)) throw new Error(`${name}: ${entry} lacks ${file}`);
    }
  }
}
