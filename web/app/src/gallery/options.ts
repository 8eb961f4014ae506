import { type Lang, languages, preferredLanguage } from "../i18n/index.ts";
import type { Theme } from "../settings.ts";

/** How wide the blocks are drawn: a phone, the column of text, or all there is. */
export const widths = ["360", "720", "full"] as const;

/** A width of the gallery. */
export type Width = (typeof widths)[number];

/** What the local server does with an action. */
export const outcomes = ["done", "confirm", "failed", "unknown", "taken", "forbidden"] as const;

/** An outcome of actions. */
export type Outcome = (typeof outcomes)[number];

const themes: readonly Theme[] = ["light", "dark", "system"];

/** What the gallery shows. It is in the address, so that every view has a link. */
export interface Options {
  /** The types that are shown; empty shows all. */
  types: readonly string[];
  /** The only case that is shown, by its name. */
  case: string | null;
  lang: Lang;
  theme: Theme;
  width: Width;
  outcome: Outcome;
  /** Without the bar, for pictures. */
  bare: boolean;
}

/**
 * Reads the options of an address: `?type=form&lang=zh&theme=dark&case=locked`.
 * What is written behind `#` wins over the query, so that a view can be changed
 * where the query cannot. Unknown values are as absent ones.
 */
export function parseOptions(
  location: { search: string; hash: string },
  browserLanguages: readonly string[],
): Options {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of new URLSearchParams(location.hash.replace(/^#\/?\??/, ""))) {
    query.set(name, value);
  }
  const one = <T extends string>(name: string, known: readonly T[], other: T): T =>
    known.find((value) => value === query.get(name)) ?? other;
  return {
    types: (query.get("type") ?? "").split(",").filter((type) => type !== "" && type !== "all"),
    case: query.get("case") || null,
    lang: one("lang", languages, preferredLanguage(browserLanguages)),
    theme: one("theme", themes, "system"),
    width: one("width", widths, "720"),
    outcome: one("outcome", outcomes, "done"),
    bare: ["", "1", "true"].includes(query.get("bare") ?? "0"),
  };
}

/** The query of options; what is as by default is left out, the language never. */
export function formatOptions(options: Options): string {
  const query = new URLSearchParams();
  if (options.types.length > 0) query.set("type", options.types.join(","));
  if (options.case) query.set("case", options.case);
  query.set("lang", options.lang);
  if (options.theme !== "system") query.set("theme", options.theme);
  if (options.width !== "720") query.set("width", options.width);
  if (options.outcome !== "done") query.set("outcome", options.outcome);
  if (options.bare) query.set("bare", "1");
  return `?${query.toString().replaceAll("%2C", ",")}`;
}
