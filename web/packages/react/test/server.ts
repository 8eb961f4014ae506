import {
  type Block,
  type Conversation,
  type Envelope,
  type EventData,
  type EventName,
  emptyMessage,
  type FeedData,
  type Message,
  reduce,
} from "@inlay-ui/client";

interface Stored {
  /** What the history says; the tool calls of a turn are not part of it. */
  message: Message;
  log: Envelope[];
  group: number;
}

interface Reader {
  send(text: string): void;
  end(): void;
  fail(error: Error): void;
}

/** An Inlay server in memory, driven by a test: it answers requests and writes what it is told. */
export class FakeServer {
  readonly stored = new Map<string, Stored>();
  readonly calls: string[] = [];
  /** What was sent to run actions. */
  readonly actions: Record<string, unknown>[] = [];
  readonly conversation: Conversation = {
    id: "c_1",
    title: "",
    createdAt: "2026-01-05T08:00:00Z",
    updatedAt: "2026-01-05T08:00:00Z",
  };
  leaf: string | undefined;
  /** Whether the history says where the feed stands. */
  cursors = false;
  /** A turn that runs is ended by the next message, as one is that only looks for a suggestion. */
  yields = false;
  /** Answers the next matching request instead of the server. */
  readonly instead: { match: string; answer: () => Response | Promise<Response> }[] = [];
  readonly #feed: string[] = [];
  readonly #readers = new Map<string, Set<Reader>>();
  #ids = 0;

  readonly fetch: typeof fetch = async (input, init = {}) => {
    const url = new URL(String(input), "http://test");
    const call = `${init.method ?? "GET"} ${url.pathname}${url.search}`;
    this.calls.push(call);
    if (url.pathname === "/v1/chat/actions") this.actions.push(JSON.parse(String(init.body)));
    const special = this.instead.findIndex((i) => call.startsWith(i.match));
    const [taken] = special < 0 ? [] : this.instead.splice(special, 1);
    if (taken) return taken.answer();
    const body = typeof init.body === "string" ? JSON.parse(init.body) : {};
    return this.#answer(init.method ?? "GET", url, body, init.signal ?? undefined);
  };

  /** Adds a finished pair of messages without telling anyone. */
  seed(question: string, answer: string): { user: string; assistant: string } {
    const user = this.#user(question, this.leaf);
    const assistant = this.#assistant(user);
    this.emit(assistant, "text_delta", { delta: answer }, `${assistant}_text`);
    this.emit(assistant, "text_end", {}, `${assistant}_text`);
    this.emit(assistant, "done", { finishReason: "stop" });
    return { user, assistant };
  }

  /** Starts a turn as if another client had asked, and tells the feed. */
  ask(question: string): string {
    const user = this.#user(question, this.leaf, true);
    return this.#assistant(user, true);
  }

  /** Writes one event of a message, first to its log, then to its readers. */
  emit<N extends EventName>(id: string, name: N, data: EventData[N], blockId?: string): void {
    const stored = this.#get(id);
    const event = {
      event: name,
      v: 1,
      msgId: id,
      blockId,
      seq: stored.log.length + 1,
      group: stored.group,
      at: stored.log.length,
      data,
    } as unknown as Envelope;
    stored.log.push(event);
    const { tools: _, reasoning: __, ...next } = reduce(stored.message, event);
    stored.message = next;
    for (const reader of this.#readers.get(id) ?? []) reader.send(frame(event));
    if (name !== "done" && name !== "error") return;
    for (const reader of this.#readers.get(id) ?? []) reader.end();
    this.#readers.delete(id);
    this.feed("message_updated", {
      msgId: id,
      seq: event.seq,
      status: stored.message.status,
    });
  }

  /** Begins a retry or refresh of a message's block. */
  again(id: string): void {
    this.#get(id).group++;
  }

  /** Tells the feed. */
  feed<K extends keyof FeedData>(event: K, data: FeedData[K]): void {
    const text = `id: ${this.#feed.length + 1}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    this.#feed.push(text);
    for (const reader of this.#readers.get("feed") ?? []) reader.send(text);
  }

  /** Breaks every open stream of a message. */
  cut(id: string, error = new TypeError("network error")): void {
    for (const reader of this.#readers.get(id) ?? []) reader.fail(error);
    this.#readers.delete(id);
  }

  /** The number of open streams of a message, or of the feed. */
  open(id: string): number {
    return this.#readers.get(id)?.size ?? 0;
  }

  message(id: string): Message {
    return this.#get(id).message;
  }

  #get(id: string): Stored {
    const stored = this.stored.get(id);
    if (!stored) throw new Error(`no message ${id}`);
    return stored;
  }

  #id(kind: string): string {
    return `${kind}_${++this.#ids}`;
  }

  #add(message: Message, tell: boolean, of: string[] = []): string {
    const siblings = [...of, message.id];
    for (const id of of) this.#get(id).message = { ...this.#get(id).message, siblings };
    this.stored.set(message.id, { message: { ...message, siblings }, log: [], group: 1 });
    this.leaf = message.id;
    if (tell) this.feed("message_created", { message: this.message(message.id) });
    return message.id;
  }

  #user(text: string, parentId: string | undefined, tell = false, of?: string[]): string {
    const id = this.#id("mu");
    const block: Block = {
      id: `${id}_b`,
      type: "text",
      version: 1,
      status: "done",
      rev: 1,
      payload: text,
    };
    const message: Message = { ...emptyMessage(id, "user", "c_1"), parentId, status: "done" };
    return this.#add({ ...message, blocks: [block], createdAt: "2026-01-05T08:00:00Z" }, tell, of);
  }

  #assistant(parentId: string, tell = false, of?: string[]): string {
    const id = this.#id("ma");
    const message: Message = { ...emptyMessage(id, "assistant", "c_1"), parentId };
    this.#add({ ...message, createdAt: "2026-01-05T08:00:01Z" }, tell, of);
    this.emit(id, "start", {
      conversationId: "c_1",
      ts: 1_767_600_001_000,
      userMessageId: parentId,
    });
    if (tell) this.feed("turn_started", { msgId: id });
    return id;
  }

  #path(leaf: string | undefined): Message[] {
    const path: Message[] = [];
    for (let id = leaf; id !== undefined; ) {
      const message = this.message(id);
      path.unshift(message);
      id = message.parentId;
    }
    return path;
  }

  #running(): string | undefined {
    for (const [id, { message }] of this.stored) if (message.status === "running") return id;
    return undefined;
  }

  #stream(key: string, first: string[], end: boolean, signal?: AbortSignal, headers?: HeadersInit) {
    const encoder = new TextEncoder();
    const readers = this.#readers.get(key) ?? new Set();
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (const text of first) controller.enqueue(encoder.encode(text));
        if (end) {
          controller.close();
          return;
        }
        const reader: Reader = {
          send: (text) => controller.enqueue(encoder.encode(text)),
          end: () => controller.close(),
          fail: (error) => controller.error(error),
        };
        readers.add(reader);
        this.#readers.set(key, readers);
        signal?.addEventListener("abort", () => {
          if (readers.delete(reader)) controller.error(new DOMException("aborted", "AbortError"));
        });
      },
    });
    return new Response(body, { headers });
  }

  #follow(id: string, after: number, signal?: AbortSignal, headers?: HeadersInit): Response {
    const { log } = this.#get(id);
    const last = log.at(-1)?.event;
    const over = last === "done" || last === "error";
    if (over && after >= log.length) return new Response(null, { status: 204 });
    return this.#stream(id, log.slice(after).map(frame), over, signal, headers);
  }

  #answer(
    method: string,
    url: URL,
    body: {
      input?: { text: string };
      regenerateOf?: string;
      editOf?: string;
      msgId?: string;
      actionId?: string;
    },
    signal?: AbortSignal,
  ): Response {
    const path = url.pathname;
    const id = path.split("/")[3] ?? "";
    if (path === "/v1/chat") {
      const busy = this.#running();
      if (busy && !this.yields) return refuse(409, "turn_running", { msgId: busy });
      if (busy) this.emit(busy, "done", { finishReason: "stop" });
      let user: string;
      let of: string[] | undefined;
      if (body.regenerateOf) {
        const old = this.message(body.regenerateOf);
        user = old.parentId ?? "";
        of = old.siblings;
      } else if (body.editOf) {
        const old = this.message(body.editOf);
        user = this.#user(body.input?.text ?? "", old.parentId, true, old.siblings);
      } else user = this.#user(body.input?.text ?? "", this.leaf, true);
      const assistant = this.#assistant(user, true, of);
      return this.#follow(assistant, 0, signal, {
        "X-Message-Id": assistant,
        "X-Conversation-Id": "c_1",
        "X-User-Message-Id": user,
      });
    }
    if (path === "/v1/chat/actions") {
      const assistant = this.ask(`action ${body.actionId}`);
      return Response.json({ msgId: assistant, conversationId: "c_1" }, { status: 202 });
    }
    if (path.startsWith("/v1/chat/blocks/")) {
      const block = path.split("/")[4];
      for (const [msg, { message, log }] of this.stored) {
        if (!message.blocks.some((b) => b.id === block)) continue;
        const after = log.length;
        this.again(msg);
        return this.#stream(msg, log.slice(after).map(frame), false, signal, {
          "X-Message-Id": msg,
        });
      }
      return refuse(404, "not_found");
    }
    if (path === "/v1/conversations/c_1/messages") {
      const leaf = url.searchParams.get("leaf") ?? this.leaf;
      const cursor = this.cursors ? this.#feed.length : undefined;
      return Response.json({ items: this.#path(leaf), leaf, cursor });
    }
    if (path === "/v1/conversations/c_1/events") {
      const after = Number(url.searchParams.get("after") ?? 0);
      return this.#stream("feed", this.#feed.slice(after), false, signal);
    }
    if (path.endsWith("/events")) {
      return this.#follow(id, Number(url.searchParams.get("after")), signal);
    }
    if (path.endsWith("/stop")) {
      if (this.message(id).status === "running")
        this.emit(id, "done", { finishReason: "cancelled" });
      return Response.json({ status: "stopping" }, { status: 202 });
    }
    if (path.startsWith("/v1/messages/") && method === "GET")
      return Response.json(this.message(id));
    return refuse(404, "not_found");
  }
}

/** A refusal as the server words it. */
export function refuse(status: number, code: string, details?: Record<string, unknown>): Response {
  return Response.json({ error: { code, message: code, retryable: false, details } }, { status });
}

function frame(event: Envelope): string {
  const { event: name, ...data } = event;
  return `id: ${event.seq}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
