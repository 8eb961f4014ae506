import { type Lang, languages, preferredLanguage } from "./i18n/index.ts";

/** The reader's choice of colours. */
export type Theme = "light" | "dark" | "system";

/** What the page remembers in this browser. */
export interface Settings {
  theme: Theme;
  lang: Lang;
  sidebar: boolean;
}

const keys = {
  theme: "inlay.theme",
  lang: "inlay.lang",
  sidebar: "inlay.sidebar",
  token: "inlay.token",
} as const;

// Storage can be forbidden (private windows, policies); the page then only forgets.
function get(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function put(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    return;
  }
}

/** Reads the settings, with the browser's preferences where nothing was chosen. */
export function loadSettings(browserLanguages: readonly string[]): Settings {
  const theme = get(keys.theme);
  const lang = languages.find((known) => known === get(keys.lang));
  return {
    theme: theme === "light" || theme === "dark" ? theme : "system",
    lang: lang ?? preferredLanguage(browserLanguages),
    sidebar: get(keys.sidebar) !== "closed",
  };
}

/** Remembers settings. */
export function saveSettings(change: Partial<Settings>): void {
  if (change.theme) put(keys.theme, change.theme === "system" ? null : change.theme);
  if (change.lang) put(keys.lang, change.lang);
  if (change.sidebar !== undefined) put(keys.sidebar, change.sidebar ? null : "closed");
}

/** The bearer token the reader signed in with, if any. */
export function loadToken(): string | null {
  return get(keys.token);
}

/** Remembers the bearer token, or forgets it. */
export function saveToken(token: string | null): void {
  put(keys.token, token);
}
