import type { Block, Conversation, Message } from "@inlay-ui/client";

/** A block for tests. */
export function block(change: Partial<Block> = {}): Block {
  return {
    id: "b1",
    type: "text",
    version: 1,
    status: "done",
    rev: 1,
    payload: "Hello",
    ...change,
  };
}

/** A message for tests. */
export function message(change: Partial<Message> = {}): Message {
  const id = change.id ?? "m1";
  return {
    id,
    conversationId: "c1",
    role: "assistant",
    createdAt: "2026-03-01T10:00:00Z",
    status: "done",
    blocks: [block()],
    seq: 1,
    siblings: [id],
    ...change,
  };
}

/** A conversation for tests. */
export function conversation(id: string, updatedAt: string, title = id): Conversation {
  return { id, title, createdAt: updatedAt, updatedAt };
}
