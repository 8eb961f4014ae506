import type { Block } from "@inlay-ui/client";

/** What is read of a part of a message, of whichever major of the AI SDK. */
export interface PartLike {
  type: string;
  id?: string | undefined;
  data?: unknown;
}

const statuses: readonly unknown[] = ["loading", "done", "error"];

/** The block that a part is; null for text, for calls of tools and for what others sent. */
export function blockOf(part: PartLike): Block | null {
  if (!part.type.startsWith("data-")) return null;
  const { data } = part;
  if (typeof data !== "object" || data === null) return null;
  const { id, type, version, rev, status } = data as Partial<Record<string, unknown>>;
  const whole =
    typeof id === "string" &&
    typeof type === "string" &&
    typeof version === "number" &&
    typeof rev === "number" &&
    statuses.includes(status);
  return whole ? (data as Block) : null;
}

/** Whether a part has less of its block than the server: large payloads are cut. */
export function isCut(part: PartLike): boolean {
  const { data } = part;
  return typeof data === "object" && data !== null && "rest" in data;
}
