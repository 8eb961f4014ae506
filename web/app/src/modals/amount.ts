/** Something that can be moved, with the made-up figures of the sample account. Amounts are in its smallest unit. */
export interface Asset {
  id: string;
  /** How many of its smallest units make one: ten to this power. */
  decimals: number;
  /** The least that can be moved. */
  least: number;
  /** What the sample account holds. */
  held: number;
  /** What taking it out costs. */
  fee: number;
}

/** The assets of the sample account. */
export const assets: readonly [Asset, ...Asset[]] = [
  { id: "USDC", decimals: 2, least: 10_00, held: 1_250_00, fee: 1_00 },
  { id: "BTC", decimals: 8, least: 50_000, held: 4_200_000, fee: 10_000 },
  { id: "ETH", decimals: 6, least: 10_000, held: 1_800_000, fee: 1_000 },
];

/** What is wrong with an amount as it was typed. */
export type AmountProblem = "missing" | "malformed" | "decimals" | "tooLittle" | "tooMuch";

/** The most of an asset that the sample moves, so that every amount stays exact. */
export function mostOf({ decimals }: Asset): number {
  return 10_000_000 * 10 ** decimals;
}

const grammar = /^(?:\d{1,3}(?:,\d{3})+|\d{1,12})(?:\.(\d*))?$/;

/** Reads an amount as it was typed, in the asset's smallest unit. */
export function parseAmount(
  text: string,
  asset: Asset,
  most = mostOf(asset),
): number | AmountProblem {
  const typed = text.trim();
  if (typed === "") return "missing";
  const match = grammar.exec(typed);
  if (!match) return "malformed";
  const decimals = (match[1] ?? "").replace(/0+$/, "");
  if (decimals.length > asset.decimals) return "decimals";
  const whole = typed.replace(/\..*$/, "").replaceAll(",", "");
  const units = Number(whole + decimals.padEnd(asset.decimals, "0"));
  if (units < asset.least) return "tooLittle";
  return units > most ? "tooMuch" : units;
}

/** An amount as {@link parseAmount} reads it. */
export function amountText(units: number, { decimals }: Asset): string {
  const digits = String(units).padStart(decimals + 1, "0");
  const part = digits.slice(-decimals).replace(/0+$/, "");
  return digits.slice(0, -decimals) + (part === "" ? "" : `.${part}`);
}

/** An amount with its asset, as a language writes numbers. */
export function formatAmount(units: number, asset: Asset, tag: string): string {
  const number = new Intl.NumberFormat(tag, { maximumFractionDigits: asset.decimals });
  return `${number.format(units / 10 ** asset.decimals)} ${asset.id}`;
}

/** What a modal was opened with, as far as it makes sense: the asset, and an amount to begin with. */
export function begin(params: Record<string, unknown>): { asset: Asset; text: string } {
  const { asset: id, amount } = params;
  const named = assets.find((asset) => typeof id === "string" && asset.id === id.toUpperCase());
  const asset = named ?? assets[0];
  const text = typeof amount === "number" ? String(amount) : amount;
  const sound = typeof text === "string" && typeof parseAmount(text, asset) === "number";
  return { asset, text: sound ? text : "" };
}
