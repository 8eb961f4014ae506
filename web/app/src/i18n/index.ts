import { createContext, useContext } from "react";
import { en, type TextKey } from "./en.ts";
import { zh } from "./zh.ts";

export type { TextKey };

/** The languages the page is complete in. Another one is a file beside these and an entry in `texts`. */
export const languages = ["en", "zh"] as const;

/** A language of the page. */
export type Lang = (typeof languages)[number];

/** Names of the languages, each in itself. */
export const languageNames: Record<Lang, string> = { en: "English", zh: "中文" };

const texts: Record<Lang, Record<TextKey, string>> = { en, zh };

/** Values for the `{name}` places of a string. */
export type Vars = Record<string, string | number>;

/** A function that words a key in one language. */
export type Translate = (key: TextKey, vars?: Vars) => string;

/** Returns the translate function of a language. */
export function translator(lang: Lang): Translate {
  const table = texts[lang];
  return (key, vars) => fill(table[key], vars);
}

function fill(text: string, vars?: Vars): string {
  if (vars === undefined) return text;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = vars[name];
    return value === undefined ? whole : String(value);
  });
}

/** Whether a key exists; codes that the server sends are mapped to keys only through this. */
export function isTextKey(key: string): key is TextKey {
  return Object.hasOwn(en, key);
}

/** The first language of the browser that the page speaks, English if there is none. */
export function preferredLanguage(tags: readonly string[]): Lang {
  for (const tag of tags) {
    const primary = tag.toLowerCase().split("-")[0];
    const found = languages.find((lang) => lang === primary);
    if (found) return found;
  }
  return "en";
}

/** The BCP 47 tag that `Intl` and the `lang` attribute get. */
export function languageTag(lang: Lang): string {
  return lang === "zh" ? "zh-CN" : "en";
}

/** The page's language and its translate function. */
export const TextContext = createContext<{ lang: Lang; t: Translate }>({
  lang: "en",
  t: translator("en"),
});

/** Returns the page's translate function. */
export function useText(): Translate {
  return useContext(TextContext).t;
}

/** Returns the page's language. */
export function useLang(): Lang {
  return useContext(TextContext).lang;
}
