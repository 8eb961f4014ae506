import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

type Exports = Record<string, Record<string, string>>;

describe.each(["client", "react"])("the package %s", (name) => {
  const dir = fileURLToPath(new URL(`../../${name}`, import.meta.url));
  const { exports } = JSON.parse(readFileSync(`${dir}/package.json`, "utf8")) as {
    exports: Exports;
  };

  test.each(Object.entries(exports))("exports %s as what is built of its source", (_, files) => {
    const source = files["inlay-source"] ?? "";
    expect(existsSync(`${dir}/${source}`), source).toBe(true);
    const built = source.replace("./src/", "./dist/");
    expect(files.default).toBe(built.replace(/\.tsx?$/, ".js"));
    if (/\.tsx?$/.test(built)) expect(files.types).toBe(built.replace(/\.tsx?$/, ".d.ts"));
  });
});
