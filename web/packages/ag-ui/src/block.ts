import type { Block } from "@inlay-ui/client";

/** What is read of an activity message, of whichever version of AG-UI. */
export interface ActivityLike {
  id: string;
  role?: string;
  activityType?: string;
  content?: unknown;
  metadata?: unknown;
}

/** A block, and where it stands. */
export interface PlacedBlock {
  block: Block;
  /** The server's id of the answer that the block is in. */
  messageId: string;
}

/** The block that an activity message is; null for activities of others. */
export function blockOf(message: ActivityLike): PlacedBlock | null {
  if (message.role !== undefined && message.role !== "activity") return null;
  const { content, metadata } = message;
  const own = isObject(metadata) ? metadata.inlay : undefined;
  const messageId = isObject(own) ? own.msgId : undefined;
  if (typeof messageId !== "string" || !isBlock(content)) return null;
  return { block: content, messageId };
}

const statuses: readonly unknown[] = ["loading", "done", "error"];

function isBlock(value: unknown): value is Block {
  return (
    isObject(value) &&
    typeof value.id === "string" &&
    typeof value.type === "string" &&
    typeof value.version === "number" &&
    typeof value.rev === "number" &&
    statuses.includes(value.status)
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
