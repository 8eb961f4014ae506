import type { Asset, Block, Message } from "@inlay-ui/client";

/**
 * A message as Markdown, for the clipboard: text as it was written, every
 * other block by its fallback under its title. A fallback is itself Markdown,
 * so tables and links survive.
 */
export function messageMarkdown(message: Message): string {
  return message.blocks
    .map(blockMarkdown)
    .filter((part) => part !== "")
    .join("\n\n");
}

function blockMarkdown(block: Block): string {
  if (block.type === "text") {
    return typeof block.payload === "string" ? block.payload.trim() : (block.fallback ?? "").trim();
  }
  const body = (block.fallback ?? "").trim();
  const title = block.meta?.title?.trim() ?? "";
  if (body === "") return title === "" ? "" : `**${title}**`;
  if (title === "" || body.includes(title)) return body;
  return `**${title}**\n\n${body}`;
}

/** The text of a user's message, as it is edited and sent again. */
export function userText(message: Message): string {
  return message.blocks
    .map((block) =>
      block.type === "text" && typeof block.payload === "string" ? block.payload : "",
    )
    .filter((part) => part !== "")
    .join("\n\n");
}

/** The last message of the reader on the shown path, which arrow-up edits. */
export function lastUserMessage(messages: readonly Message[]): Message | null {
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i];
    if (message?.role === "user") return message;
  }
  return null;
}

/** The place of a message among its versions, or null while there is only one. */
export function branchOf(
  message: Message,
): { index: number; total: number; previous: string | null; next: string | null } | null {
  const siblings = message.siblings ?? [];
  const index = siblings.indexOf(message.id);
  if (siblings.length < 2 || index < 0) return null;
  return {
    index,
    total: siblings.length,
    previous: siblings[index - 1] ?? null,
    next: siblings[index + 1] ?? null,
  };
}

/**
 * The block in which the last answer waits for the reader: what it asks and
 * nobody has answered yet. Null while nothing waits.
 */
export function pendingBlock(messages: readonly Message[]): Block | null {
  const message = messages.findLast((candidate) => candidate.role === "assistant");
  if (message?.status !== "paused") return null;
  const open = message.blocks.filter((block) => !locked(block.state));
  return (
    open.findLast(({ type }) => type === "confirm" || type === "question") ?? open.at(-1) ?? null
  );
}

function locked(state: unknown): boolean {
  return typeof state === "object" && state !== null && "locked" in state && state.locked === true;
}

/** The block that a message shows of a file before the server has answered. */
export function attachmentBlock(asset: Asset): Block {
  const { id, name, mime, size, preview, width, height } = asset;
  const base = { id: `local_${id}`, version: 1, status: "done", rev: 1 } as const;
  if (mime.startsWith("image/")) {
    return { ...base, type: "image", payload: { assetId: id, alt: name, width, height } };
  }
  return { ...base, type: "file", payload: { assetId: id, name, mime, size, preview } };
}
