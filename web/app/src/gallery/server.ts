import type {
  Action,
  ActionRequest,
  ActionState,
  Block,
  Envelope,
  EventData,
  EventName,
  Message,
} from "@inlay-ui/client";
import { reduce } from "@inlay-ui/client";
import { SampleAssets } from "./assets.ts";
import { answer, type Case, conversationId, madeAt } from "./cases.ts";
import { sampleTrajectory } from "./frames.ts";
import type { Outcome } from "./options.ts";

/** A request that would have changed something, and what it was answered. */
export interface Sent {
  id: number;
  method: string;
  path: string;
  body?: unknown;
  status: number;
}

/** Types whose actions are done once and then locked. */
const lasting = new Set(["form", "confirm", "question"]);
/** How many requests are kept for each message. */
const kept = 5;
const pingMs = 15_000;

const none: readonly Sent[] = [];

/** A way to one reader of a stream. */
interface Reader {
  send(text: string): void;
  end(): void;
}

/**
 * An Inlay server that lives in the page: it is the `fetch` of the gallery's
 * client. The cases are the messages of one conversation, so that blocks go the
 * same way as in a chat: what is sent, locked, refused, retried and refreshed is
 * real, only the other end is not.
 */
export class LocalServer {
  outcome: Outcome = "done";
  /** What the other end takes to answer. */
  delayMs: number;
  readonly #messages = new Map<string, Message>();
  readonly #logs = new Map<string, Envelope[]>();
  readonly #readers = new Map<string, Set<Reader>>();
  readonly #sent = new Map<string, readonly Sent[]>();
  readonly #listeners = new Set<() => void>();
  readonly #assets: SampleAssets;
  readonly #beyond: typeof fetch;
  #news = 0;
  #count = 0;

  constructor(cases: readonly Case[], delayMs = 400, beyond: typeof fetch = (...a) => fetch(...a)) {
    this.delayMs = delayMs;
    this.#beyond = beyond;
    this.#assets = new SampleAssets(cases);
    for (const { message } of cases) this.#messages.set(message.id, message);
  }

  /** What was sent for a message; the same list until something is added. */
  sent(messageId: string): readonly Sent[] {
    return this.#sent.get(messageId) ?? none;
  }

  /** Calls the listener after each request that is kept. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Answers a request as a server would. What is none of the API is fetched. */
  readonly fetch: typeof fetch = async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : String(input), document.baseURI);
    const at = url.pathname.indexOf("/v1/");
    if (at < 0) return this.#beyond(input, init);
    const path = url.pathname.slice(at);
    const method = init.method ?? "GET";
    const body = bodyOf(init.body);
    if (method === "GET") return this.#get(path, url.searchParams, init.signal ?? undefined);
    await later(this.delayMs);
    const response = this.#change(method, path, body);
    this.#keep(path, { id: ++this.#count, method, path, body, status: response.status });
    return response;
  };

  #keep(path: string, sent: Sent): void {
    const to = this.#messageOf(path, sent.body);
    this.#sent.set(to, [...this.sent(to), sent].slice(-kept));
    for (const listener of this.#listeners) listener();
  }

  /** The message that a request is about. */
  #messageOf(path: string, body: unknown): string {
    const id = path.split("/").find((part) => part.startsWith("m_"));
    if (id) return id;
    const of = record(body);
    for (const name of ["msgId", "regenerateOf", "editOf"]) {
      const value = of[name];
      if (typeof value === "string") return value;
    }
    const block = typeof of.blockId === "string" ? of.blockId : path.split("/")[4];
    for (const message of this.#messages.values()) {
      if (message.blocks.some((b) => b.id === block)) return message.id;
    }
    return "";
  }

  #get(path: string, query: URLSearchParams, signal?: AbortSignal): Response {
    const [, , kind = "", id = "", what = ""] = path.split("/");
    if (kind === "conversations" && what === "messages") {
      return Response.json({ items: [...this.#messages.values()], cursor: this.#news });
    }
    if (kind === "conversations" && what === "events") return this.#stream("feed", [], signal);
    if (kind === "conversations" && id) {
      const times = { createdAt: madeAt, updatedAt: madeAt };
      return Response.json({ id: conversationId, title: "", ...times });
    }
    const message = kind === "messages" ? this.#messages.get(id) : undefined;
    if (message && what === "events") {
      const after = Number(query.get("after") ?? 0);
      const rest = (this.#logs.get(id) ?? []).filter((event) => event.seq > after);
      if (rest.length === 0 && !this.#open(id)) return new Response(null, { status: 204 });
      return this.#stream(id, rest, signal);
    }
    if (message && what === "trajectory") return Response.json(sampleTrajectory());
    if (message && what === "") return Response.json(message);
    const asset = kind === "assets" ? this.#assets.get(id) : undefined;
    if (asset && what === "url") {
      return Response.json({
        url: this.#assets.url(asset),
        expiresAt: Date.now() + 300_000,
        disposition: query.get("disposition") ?? "inline",
      });
    }
    if (asset && what === "preview") return Response.json(this.#assets.preview(asset, query));
    if (asset && what === "") return Response.json(asset);
    return refuse(404, "not_found");
  }

  #change(method: string, path: string, body: unknown): Response {
    const [, , kind = "", id = "", what = "", again = ""] = path.split("/");
    if (path === "/v1/chat/actions") return this.#act(body as ActionRequest);
    if (path === "/v1/chat") return this.#converse();
    if (kind === "chat" && id === "blocks") return this.#load(what, again === "refresh");
    if (kind === "telemetry") return new Response(null, { status: 204 });
    if (kind === "messages" && what === "feedback") return new Response(null, { status: 204 });
    if (kind === "messages" && what === "stop") return Response.json({ status: "done" });
    if (path === "/v1/assets") {
      const file = body instanceof FormData ? body.get("file") : null;
      if (file instanceof File) return Response.json(this.#assets.add(file), { status: 201 });
      return refuse(400, "invalid_request");
    }
    if (kind === "assets" && method === "DELETE" && this.#assets.remove(id)) {
      return new Response(null, { status: 204 });
    }
    return refuse(404, "not_found");
  }

  /** Runs an action, or does not, as the chosen outcome wants. */
  #act({ msgId, blockId, actionId, payload, confirmToken }: ActionRequest): Response {
    const message = this.#messages.get(msgId);
    const block = message?.blocks.find((b) => b.id === blockId);
    if (!message || !block) return refuse(404, "action_not_found");
    const action = block.actions?.find((a) => a.id === actionId);
    const locked = record(block.state).locked === true;
    if (locked) return refuse(409, "already_submitted", { block: stateOf(block) });
    switch (this.outcome) {
      case "forbidden":
        return refuse(403, "action_forbidden");
      case "confirm":
        if (confirmToken) break;
        return refuse(428, "confirmation_required", {
          confirmToken: "sample",
          expiresAt: Date.now() + 120_000,
          text: action?.confirm ?? `${action?.label ?? actionId}?`,
        });
      case "failed":
        if (lasting.has(block.type)) this.#state(message, block, { status: "failed", actionId });
        return refuse(502, "action_failed", { feedback: action?.feedback });
      case "taken": {
        const state = { status: "done", locked: true, actionId, values: payload };
        this.#state(message, block, state);
        return refuse(409, "already_submitted", { block: stateOf(this.#block(block.id) ?? block) });
      }
      case "unknown":
        this.#state(message, block, { status: "unknown", locked: true, actionId });
        return Response.json({ status: "unknown", ...this.#after(message, block, action) });
    }
    if (action?.kind === "prompt") {
      return Response.json({ status: "accepted", msgId, conversationId }, { status: 202 });
    }
    if (block.type === "confirm" || block.type === "question") {
      const known = ["approve", "reject", "edit"].find((name) => name === actionId);
      const answered = { status: "answered", locked: true, answer: known ?? "answer" };
      this.#state(message, block, { ...answered, actionId, values: payload });
      const accepted = this.#after(message, block, action);
      return Response.json({ status: "accepted", ...accepted }, { status: 202 });
    }
    if (lasting.has(block.type)) {
      const text = action?.feedback?.successText;
      const done = { status: "done", locked: true, actionId, values: payload };
      this.#state(message, block, { ...done, ...(text ? { text } : {}) });
    } else if (block.type === "query") void this.#answerQuery(message);
    return Response.json({ status: "done", ...this.#after(message, block, action) });
  }

  #after({ id }: Message, block: Block, action: Action | undefined) {
    const now = this.#block(block.id) ?? block;
    const feedback = action?.feedback ? { feedback: action.feedback } : {};
    return { msgId: id, conversationId, block: stateOf(now), ...feedback };
  }

  /** Writes a block's state into its message's log, in a group of its own. */
  #state(message: Message, block: Block, state: ActionState): void {
    const answers = message.status === "paused" && state.status === "answered";
    const at = Date.now();
    void this.#group(message.id, async (emit) => {
      if (answers) {
        emit("pending_question_end", { questionId: block.id, status: "answered" }, block.id);
      }
      emit("block_state", { state: { at, ...state }, rev: block.rev + 1 }, block.id);
    });
  }

  /** Adds the rows that a query found to its message. */
  async #answerQuery(message: Message): Promise<void> {
    const id = `b_rows_${++this.#count}`;
    await this.#group(message.id, async (emit) => {
      emit("block_start", { type: "table", version: 1 }, id);
      await later(this.delayMs * 2);
      const columns = [
        { field: "minute", label: "minute" },
        { field: "errors", label: "errors", type: "number" },
      ];
      const rows = [3, 5, 2, 8].map((errors, n) => ({ minute: `09:3${n}`, errors }));
      emit("block_end", { type: "table", version: 1, payload: { columns, rows } }, id);
    });
  }

  /** Loads a block's data again. */
  #load(blockId: string, refresh: boolean): Response {
    const block = this.#block(blockId);
    const message = [...this.#messages.values()].find((m) => m.blocks.some((b) => b === block));
    if (!block || !message) return refuse(404, "not_found");
    const { type, version, meta, fallback } = block;
    // What failed has no more than a part of its data, if any.
    const own = block.status === "error" ? undefined : block.payload;
    const payload = own ?? this.#finished(type)?.payload;
    const after = message.seq;
    void this.#group(message.id, async (emit) => {
      emit("block_start", { type, version, ...(meta ? { meta } : {}) }, blockId);
      await later(this.delayMs * 2);
      if (this.outcome === "failed" || payload === undefined) {
        const error = { code: "DATA_FETCH_FAILED", message: "sample", retryable: true };
        emit("block_error", { ...error, ...(fallback ? { fallback } : {}) }, blockId);
        return;
      }
      const now = { ...meta, [refresh ? "refreshedAt" : "fetchedAt"]: Date.now() };
      const end = { type, version, payload, meta: now, actions: block.actions ?? [] };
      emit("block_end", { ...end, fallback: fallback ?? "" }, blockId);
    });
    const rest = (this.#logs.get(message.id) ?? []).filter((event) => event.seq > after);
    const stream = this.#stream(message.id, rest);
    stream.headers.set("X-Message-Id", message.id);
    return stream;
  }

  /** Answers a question as a chat would, so that prompts have somewhere to go. */
  #converse(): Response {
    const id = `said_${++this.#count}`;
    const message = answer(id, { status: "running", seq: 0 });
    this.#messages.set(message.id, message);
    this.#logs.set(message.id, []);
    void this.#group(message.id, async (emit) => {
      emit("text_delta", { delta: "…" }, `b_${id}`);
      emit("text_end", {}, `b_${id}`);
    });
    const stream = this.#stream(message.id, this.#logs.get(message.id) ?? []);
    stream.headers.set("X-Message-Id", message.id);
    stream.headers.set("X-Conversation-Id", conversationId);
    stream.headers.set("X-User-Message-Id", `mu_${id}`);
    this.#messages.delete(message.id);
    return stream;
  }

  #block(id: string): Block | undefined {
    for (const { blocks } of this.#messages.values()) {
      const found = blocks.find((b) => b.id === id);
      if (found) return found;
    }
    return undefined;
  }

  /** A finished block of a type, whose payload another one can have. */
  #finished(type: string): Block | undefined {
    for (const { blocks } of this.#messages.values()) {
      const found = blocks.find((b) => b.type === type && b.status === "done" && !b.error);
      if (found) return found;
    }
    return undefined;
  }

  /** Writes a group of events into a message's log and brings it to its readers. */
  async #group(
    id: string,
    work: (
      emit: <N extends EventName>(name: N, data: EventData[N], blockId?: string) => void,
    ) => Promise<void>,
  ): Promise<void> {
    const log = this.#logs.get(id) ?? [];
    this.#logs.set(id, log);
    const group = Math.max(1, ...log.map((event) => event.group ?? 1)) + 1;
    const emit = (event: EventName, data: unknown, blockId?: string) => {
      const message = this.#messages.get(id);
      const seq = Math.max(message?.seq ?? 0, log.at(-1)?.seq ?? 0) + 1;
      const envelope = { event, v: 1, msgId: id, blockId, seq, group, at: seq, data } as Envelope;
      log.push(envelope);
      if (message) this.#messages.set(id, reduce(message, envelope));
      for (const reader of this.#readers.get(id) ?? []) reader.send(frame(envelope));
    };
    // Readers hear of the group before its first event only if it waits.
    await work(emit);
    emit("done", { finishReason: "stop" });
    for (const reader of [...(this.#readers.get(id) ?? [])]) reader.end();
    const { seq, status } = this.#messages.get(id) ?? { seq: 0, status: "done" };
    const news = { msgId: id, seq, status };
    const text = `id: ${++this.#news}\nevent: message_updated\ndata: ${JSON.stringify(news)}\n\n`;
    for (const reader of this.#readers.get("feed") ?? []) reader.send(text);
  }

  /** Whether a message's last group still runs. */
  #open(id: string): boolean {
    const last = this.#logs.get(id)?.at(-1);
    return last !== undefined && last.event !== "done";
  }

  /** A stream of what is there and what comes; it ends with the message's group. */
  #stream(key: string, first: readonly Envelope[], signal?: AbortSignal): Response {
    const encoder = new TextEncoder();
    const readers = this.#readers.get(key) ?? new Set();
    this.#readers.set(key, readers);
    let stop = () => {};
    const over = key !== "feed" && !this.#open(key);
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        const send = (text: string) => controller.enqueue(encoder.encode(text));
        for (const event of first) send(frame(event));
        if (over) {
          controller.close();
          return;
        }
        const ping = setInterval(() => send(": ping\n\n"), pingMs);
        const reader: Reader = {
          send,
          end: () => {
            stop();
            controller.close();
          },
        };
        stop = () => {
          clearInterval(ping);
          readers.delete(reader);
        };
        readers.add(reader);
        signal?.addEventListener("abort", () => {
          if (!readers.has(reader)) return;
          stop();
          controller.error(new DOMException("aborted", "AbortError"));
        });
      },
      cancel: () => stop(),
    });
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  }
}

function stateOf({ id, rev, state }: Block): Pick<Block, "id" | "rev" | "state"> {
  return { id, rev, state };
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function bodyOf(body: unknown): unknown {
  if (typeof body !== "string") return body ?? undefined;
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

function frame({ event, ...rest }: Envelope): string {
  return `id: ${rest.seq}\nevent: ${event}\ndata: ${JSON.stringify(rest)}\n\n`;
}

function refuse(status: number, code: string, details?: Record<string, unknown>): Response {
  const error = { code, message: code, retryable: status >= 500, traceId: "sample", details };
  return Response.json({ error }, { status });
}

function later(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
