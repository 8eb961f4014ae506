import { en } from "./en.ts";
import { zh } from "./zh.ts";

/** Looks a text up by its key and fills in `{name}` places. */
export type Translate = (key: string, vars?: Record<string, string | number>) => string;

/** The words of one language, by key. */
export type Words = Readonly<Record<string, string>>;

const languages: Record<string, Record<string, string>> = { en, zh };

/** Adds a language, or replaces words of one. Missing words are taken from English. */
export function registerLanguage(lang: string, words: Words): void {
  languages[lang] = Object.assign(languages[lang] ?? {}, words);
}

/**
 * Adds words that come with a part that is loaded later. Those that were
 * registered before stay.
 */
export function addWords(lang: string, words: Words): void {
  languages[lang] = Object.assign(languages[lang] ?? {}, { ...words, ...languages[lang] });
}

/**
 * The lookup of a language: `zh-CN` falls back to `zh`, then to English, then
 * to the key itself. `own` words win. With `count` among the variables the
 * plural forms `key.one`, `key.other`, … are looked for first.
 */
export function translator(lang: string, own?: Words): Translate {
  const tables = [own, languages[lang], languages[lang.split("-")[0] ?? ""], en].filter(
    (table): table is Words => table !== undefined,
  );
  const find = (key: string) => tables.find((table) => Object.hasOwn(table, key))?.[key];
  let plural: Intl.PluralRules | undefined;
  return (key, vars) => {
    let text: string | undefined;
    if (typeof vars?.count === "number") {
      plural ??= new Intl.PluralRules(lang);
      text = find(`${key}.${plural.select(vars.count)}`) ?? find(`${key}.other`);
    }
    text ??= find(key);
    if (text === undefined) return key;
    if (!vars) return text;
    return text.replace(/\{(\w+)\}/g, (place, name: string) =>
      Object.hasOwn(vars, name) ? String(vars[name]) : place,
    );
  };
}

/** What the server says of missing data when the tool has said nothing of it. */
const unworded = "The data could not be fetched.";

/**
 * Words an error by its code. A code that a tool made up, and what a tool says
 * of data that it could not fetch, are told in the tool's own words.
 */
export function errorText(t: Translate, code: string, message?: string): string {
  const key = `chat.error.${code}`;
  const text = t(key);
  if (code === "DATA_FETCH_FAILED" && message && message !== unworded) return message;
  return text === key ? message || t("chat.error.other", { code }) : text;
}
