import type { Block } from "@inlay-ui/client";

/**
 * What arrives of a payload of a type: of its fields any may be missing, or not
 * yet what it should be.
 */
export type Arriving<P> = { readonly [K in keyof P]?: unknown };

/** A value in words; "" for one that has none. */
export function word(value: unknown): string {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  return typeof value === "string" ? value.trim() : "";
}

/** A value as a number, if it is one. */
export function figure(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** The members of a value that should be a `P`; none where it is no object. */
export function part<P>(value: unknown): Arriving<P> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Arriving<P>)
    : {};
}

/** The objects of a list whose elements should be a `P`. */
export function parts<P>(value: unknown): Arriving<P>[] {
  return Array.isArray(value) ? value.map((one) => part<P>(one)) : [];
}

/** Whether more of a block is on its way, and nothing of it was there before. */
export function isWaiting({ status, meta }: Block): boolean {
  return status === "loading" && (meta?.refreshedAt ?? meta?.fetchedAt) === undefined;
}

/** A moment as it is written at its place: travellers want the clock there, not their own. */
export function atPlace(value: unknown): unknown {
  return typeof value === "string" ? value.replace(/(?:Z|[+-]\d\d:?\d\d)$/i, "") : value;
}
