import { applyPatch } from "./patch.ts";
import type {
  Block,
  Envelope,
  ErrorInfo,
  FinishReason,
  Message,
  MessageStatus,
  ToolActivity,
} from "./types.ts";

/** A message before its first event. */
export function emptyMessage(
  id: string,
  role: Message["role"] = "assistant",
  conversationId = "",
): Message {
  return {
    id,
    conversationId,
    role,
    createdAt: "",
    status: "running",
    blocks: [],
    seq: 0,
    siblings: [id],
  };
}

/**
 * Applies one event and returns the new message. Nothing is changed in place,
 * and a block that the event does not touch keeps its identity. An event that
 * was applied before or that is another message's is ignored, so replays are
 * harmless.
 */
export function reduce(message: Message, event: Envelope): Message {
  if (event.seq <= message.seq || (event.msgId && event.msgId !== message.id)) return message;
  return apply({ ...message, seq: event.seq }, event);
}

/**
 * Makes a message that was loaded whole ready for {@link reduce}: a block that
 * was being refreshed then keeps what it had, should the refresh fail.
 */
export function adopt(message: Message): Message {
  return { ...message, before: refreshing(message.blocks) };
}

/** Applies events in order. */
export function reduceAll(message: Message, events: Iterable<Envelope>): Message {
  let result = message;
  for (const event of events) result = reduce(result, event);
  return result;
}

/** Applies an event to a message that is already a copy. */
function apply(m: Message, e: Envelope): Message {
  const id = e.blockId ?? "";
  const at = id ? m.blocks.findLastIndex((b) => b.id === id) : -1;
  const old = m.blocks[at];
  switch (e.event) {
    case "start":
      m.conversationId = e.data.conversationId || m.conversationId;
      if (!m.createdAt && e.data.ts) m.createdAt = new Date(e.data.ts).toISOString();
      if (e.data.userMessageId) m.parentId = e.data.userMessageId;
      if (e.data.model) m.model = e.data.model;
      m.status = "running";
      return m;
    case "text_delta":
      if (!id || (old && (old.type !== "text" || old.status !== "loading"))) return m;
      return put(m, at, {
        ...(old ?? fresh(id, "text", 1)),
        payload: (typeof old?.payload === "string" ? old.payload : "") + e.data.delta,
      });
    case "text_end":
      return old?.type === "text" && old.status === "loading"
        ? put(m, at, { ...old, status: "done" })
        : m;
    case "reasoning_delta":
      m.reasoning = (m.reasoning ?? "") + e.data.delta;
      return m;
    case "block_start": {
      if (!id || !e.data.type || (old && short(old.type) !== short(e.data.type))) return m;
      const next: Block = {
        ...(old ?? fresh(id, e.data.type, e.data.version)),
        version: e.data.version,
        status: "loading",
      };
      if (e.data.meta) next.meta = { ...old?.meta, ...e.data.meta };
      delete next.error;
      if (old?.status === "done" && old.payload !== undefined && !m.before?.[id]) {
        m.before = { ...m.before, [id]: old };
      }
      return put(m, at, next);
    }
    case "block_delta":
      if (!old || old.type === "text" || old.status !== "loading") return m;
      try {
        return put(m, at, { ...old, payload: applyPatch(old.payload, e.data.patch) });
      } catch {
        return m;
      }
    case "block_end": {
      if (!id || !e.data.type || (old && short(old.type) !== short(e.data.type))) return m;
      const { type, version, payload, built, fallback, actions, state, meta } = e.data;
      const next: Block = { ...(old ?? fresh(id, type, version)), version, status: "done" };
      if (!built) set(next, "payload", payload);
      set(next, "fallback", fallback);
      set(next, "actions", actions);
      if (state !== undefined) next.state = state;
      if (meta) next.meta = { ...old?.meta, ...meta };
      delete next.error;
      return put(forget(m, id), at, next);
    }
    case "block_error": {
      if (!old) return m;
      const { fallback, code, message, retryable } = e.data;
      return fail(m, at, old, { code, message, retryable }, fallback);
    }
    case "block_state":
      return old ? put(m, at, { ...old, state: e.data.state, rev: e.data.rev }) : m;
    case "pending_question_end":
      return goOn(m);
    case "tool_call_start":
    case "sub_tool_start": {
      const tool: ToolActivity = {
        id: e.data.toolCallId,
        name: e.data.name,
        status: "running",
      };
      if (e.data.title) tool.title = e.data.title;
      if (e.event === "sub_tool_start") tool.sub = true;
      else if (e.data.client) tool.client = true;
      m.tools = [...(m.tools ?? []), tool];
      return m;
    }
    case "tool_call_end":
    case "sub_tool_end": {
      const { toolCallId, status, durationMs } = e.data;
      m.tools = m.tools?.map((t) =>
        t.id === toolCallId && t.status === "running" ? { ...t, status, durationMs } : t,
      );
      return e.event === "tool_call_end" && e.data.client ? goOn(m) : m;
    }
    case "snapshot":
      m.blocks = e.data.blocks;
      m.seq = Math.max(e.seq, e.data.seq);
      m.status = e.data.status;
      // What the forgotten events said of the message itself.
      for (const key of [
        "model",
        "finishReason",
        "usage",
        "error",
        "reasoning",
        "tools",
      ] as const) {
        const value = e.data[key];
        if (value !== undefined) Object.assign(m, { [key]: value });
      }
      m.before = refreshing(m.blocks);
      return m;
    case "done":
      m = close(m, e.data.finishReason === "paused");
      // A retry, refresh or action ends without changing what the turn came to.
      if (m.status !== "running") return m;
      m.finishReason = e.data.finishReason;
      if (e.data.usage) m.usage = e.data.usage;
      if (e.data.model) m.model = e.data.model;
      m.status = ended(e.data.finishReason);
      delete m.error;
      return m;
    case "error":
      m = close(m, false);
      if (m.status !== "running") return m;
      m.status = "error";
      delete m.finishReason;
      m.error = { code: e.data.code, message: e.data.message, retryable: e.data.retryable };
      return m;
    default:
      return m;
  }
}

/** What a message comes to by its finish reason. */
function ended(reason: FinishReason): MessageStatus {
  if (reason === "cancelled") return "cancelled";
  return reason === "paused" ? "paused" : "done";
}

/** What becomes of a block that is still loading when its group ends. */
const interrupted: ErrorInfo = {
  code: "INTERRUPTED",
  message: "The block was interrupted before it was finished.",
  retryable: true,
};

/**
 * Loading blocks that were finished once, which their fallback tells: the
 * payload is what they had before their refresh.
 */
function refreshing(blocks: Block[]): Record<string, Block> {
  const before: Record<string, Block> = {};
  for (const block of blocks) {
    if (block.status !== "loading" || !block.fallback || block.payload === undefined) continue;
    before[block.id] = { ...block, status: "done" };
  }
  return before;
}

/** Built-in types have one name with and without their namespace. */
function short(type: string): string {
  return type.startsWith("inlay.") ? type.slice(6) : type;
}

/** Sets a member, or removes it when there is no value. */
function set<K extends keyof Block>(block: Block, name: K, value: Block[K]): void {
  if (value === undefined) delete block[name];
  else block[name] = value;
}

function fresh(id: string, type: string, version: number): Block {
  return { id, type, version, status: "loading", rev: 1 };
}

function put(m: Message, at: number, block: Block): Message {
  if (at < 0) m.blocks = [...m.blocks, block];
  else {
    m.blocks = m.blocks.slice();
    m.blocks[at] = block;
  }
  return m;
}

function forget(m: Message, id: string): Message {
  if (m.before && id in m.before) {
    const { [id]: _, ...rest } = m.before;
    m.before = rest;
  }
  return m;
}

/** Ends a block with an error; one that had data before its refresh shows that data again. */
function fail(m: Message, at: number, old: Block, error: ErrorInfo, fallback?: string): Message {
  const before = m.before?.[old.id];
  if (before) {
    const next: Block = { ...before, rev: old.rev, status: "done", error };
    set(next, "state", old.state);
    return put(forget(m, old.id), at, next);
  }
  const next: Block = { ...old, status: "error", error };
  if (old.type !== "text") delete next.payload;
  if (fallback) next.fallback = fallback;
  return put(m, at, next);
}

/** The group goes on with the turn that was paused. */
function goOn(m: Message): Message {
  if (m.status !== "paused") return m;
  m.status = "running";
  delete m.finishReason;
  return m;
}

/** Ends what a group left open. `pauses`: the turn pauses, if it is the turn that ends. */
function close(m: Message, pauses: boolean): Message {
  const waits = m.status === "paused" || (m.status === "running" && pauses);
  const over = (t: ToolActivity) => t.status === "running" && !(t.client && waits);
  m.blocks.forEach((block, at) => {
    if (block.status !== "loading") return;
    m = fail(m, at, block, interrupted);
  });
  if (m.tools?.some(over)) {
    m.tools = m.tools.map((t) => (over(t) ? { ...t, status: "cancelled" } : t));
  }
  return m;
}
