// @vitest-environment node
import { describe, expect, test } from "vitest";

type Tables = Record<string, Record<string, string>>;

/** All tables of words, those of parts that are loaded later too, by their file: `forms.en`. */
const tables: Tables = {};
for (const [path, exported] of Object.entries(
  import.meta.glob<Record<string, Record<string, string>>>("../src/i18n/*.ts", { eager: true }),
)) {
  const file = path.replace(/^.*\/|\.ts$/g, "");
  if (file !== "index") tables[file] = Object.values(exported)[0] ?? {};
}
const languages = ["en", "zh"];
const parts = [...new Set(Object.keys(tables).map((file) => file.replace(/\.?(?:en|zh)$/, "")))];
const table = (part: string, lang: string) => tables[part === "" ? lang : `${part}.${lang}`] ?? {};
const all = (lang: string) => Object.assign({}, ...parts.map((part) => table(part, lang)));

/** The source, but for the tables themselves. */
const sources = Object.entries(
  import.meta.glob<string>("../src/**/*.{ts,tsx}", {
    eager: true,
    query: "?raw",
    import: "default",
  }),
).filter(([path]) => !path.includes("/i18n/") || path.endsWith("/index.ts"));

/** How a key is spelt where it is used: as it is, or with places in it. */
const used = sources.flatMap(([path, code]) =>
  [...code.matchAll(/"(chat\.[\w.-]*\w)"|`(chat\.[^`]*)`/g)].map(([, plain, template]) => ({
    path,
    key: plain ?? template ?? "",
  })),
);

/** The keys that a spelling stands for. */
function meant(spelling: string, keys: string[]): string[] {
  const literal = spelling.split(/\$\{[^}]*\}/).map((part) => part.replaceAll(".", "\\."));
  const pattern = new RegExp(
    `^${literal.join("[\\w.-]+")}(?:\\.(?:zero|one|two|few|many|other))?$`,
  );
  return keys.filter((key) => pattern.test(key));
}

test("the tables are found, those of lazy parts among them", () => {
  expect(parts.sort()).toEqual([
    "",
    "actions",
    "blocks",
    "forms",
    "media",
    "presets",
    "recommendation",
  ]);
});

describe.each(parts.map((part) => [part || "core", part] as const))(
  "the words of %s",
  (_, part) => {
    test("are in every language, with the same places, and none is blank", () => {
      const english = table(part, "en");
      const places = (text: string) => [...new Set(text.match(/\{\w+\}/g))].sort();
      for (const lang of languages) {
        const own = table(part, lang);
        expect(Object.keys(own).sort(), lang).toEqual(Object.keys(english).sort());
        for (const [key, text] of Object.entries(own)) {
          expect(text.trim(), `${lang} ${key}`).not.toBe("");
          expect(places(text), `${lang} ${key}`).toEqual(places(english[key] ?? ""));
        }
      }
    });

    test("have keys of chat.<feature>.<word>", () => {
      for (const key of Object.keys(table(part, "en")))
        expect(key).toMatch(/^chat\.\w+(\.[\w-]+)+$/);
    });
  },
);

test("every key that is used has words, and all words are used", () => {
  const keys = Object.keys(all("en"));
  expect(used.length).toBeGreaterThan(100);
  for (const { path, key } of used) expect(meant(key, keys), `${key} in ${path}`).not.toEqual([]);
  const known = new Set(used.flatMap(({ key }) => meant(key, keys)));
  expect(keys.filter((key) => !known.has(key))).toEqual([]);
});
