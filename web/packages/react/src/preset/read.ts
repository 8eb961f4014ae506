import type { Block } from "@inlay-ui/client";

/** What arrives of a payload: its fields may be missing, or not yet what they should be. */
export type Loose = Readonly<Record<string, unknown>>;

/** A value in words; "" for one that has none. */
export function word(value: unknown): string {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  return typeof value === "string" ? value.trim() : "";
}

/** A value as a number, if it is one. */
export function figure(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** The members of a value; none where it is no object. */
export function part(value: unknown): Loose {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Loose)
    : {};
}

/** The objects of a list. */
export function parts(value: unknown): Loose[] {
  return Array.isArray(value) ? value.map(part) : [];
}

/** Whether more of a block is on its way, and nothing of it was there before. */
export function isWaiting({ status, meta }: Block): boolean {
  return status === "loading" && (meta?.refreshedAt ?? meta?.fetchedAt) === undefined;
}

/** A moment as it is written at its place: travellers want the clock there, not their own. */
export function atPlace(value: unknown): unknown {
  return typeof value === "string" ? value.replace(/(?:Z|[+-]\d\d:?\d\d)$/i, "") : value;
}
