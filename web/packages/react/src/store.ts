import {
  type Action,
  adopt,
  type Block,
  type BlockConflict,
  type ChatRequest,
  type Connection,
  type Conversation,
  type Envelope,
  emptyMessage,
  type FeedEvent,
  type InlayClient,
  InlayError,
  type Message,
  reduceAll,
  type StreamOptions,
} from "@inlay-ui/client";
import { type ActionIds, sendAction } from "./acting.ts";
import { endsAnswer, isAnswering } from "./answering.ts";
import { FrameBatch } from "./frame.ts";
import { type ActionOutcome, stateOf, succeeded } from "./outcome.ts";

/** What a chat shows. */
export interface ChatState {
  /** The path from the first message to the last one of the shown branch. */
  messages: readonly Message[];
  /**
   * `streaming` while an answer is not complete. The server may still add to a
   * complete one, and gives that up when the next message is sent.
   */
  status: "idle" | "sending" | "streaming" | "error";
  /** The worst of the connections that are open. */
  connection: Connection;
  /** What went wrong last: an InlayError, as a rule. */
  error: unknown;
  conversationId: string | undefined;
  /** The conversation as it was last announced, such as after it got its title. */
  conversation: Conversation | undefined;
  /** The history is on its way. */
  loading: boolean;
  /** The conversation was deleted, here or elsewhere. */
  deleted: boolean;
}

/** What can be done with a chat. Those that answer with a boolean say whether it was done. */
export interface ChatActions {
  /** Sends a message; after false the text is the caller's to keep. */
  send(text: string, options?: SendOptions): Promise<boolean>;
  /** Stops the running answer on the server. */
  stop(): Promise<void>;
  /** Asks for another answer beside this one. */
  regenerate(messageId: string): Promise<boolean>;
  /** Words a user message anew, beside the old wording, and has it answered. */
  edit(userMessageId: string, text: string): Promise<boolean>;
  /** Shows the branch that this message is on. */
  selectBranch(messageId: string): Promise<void>;
  retryBlock(blockId: string): Promise<boolean>;
  refreshBlock(blockId: string): Promise<boolean>;
  /** Runs a block's action of kind `prompt` or `api`; a failure becomes the chat's error. */
  runAction(block: Block, action: Action, params?: Record<string, unknown>): Promise<boolean>;
  /** Runs a block's action and says what came of it. Asks nobody and tells nobody. */
  act(block: Block, action: Action, payload?: unknown, ids?: ActionIds): Promise<ActionOutcome>;
  /** Loads the messages again and forgets the error. */
  reload(): Promise<void>;
}

/** What goes with a message beside its text. */
export interface SendOptions {
  /** The ids of files that were uploaded before. */
  attachments?: string[];
  /** How these are shown until the server says it. */
  blocks?: Block[];
}

/** Where a chat begins. */
export interface ChatOptions {
  /** Absent: a new conversation, made by the first message. */
  conversationId?: string;
  /** The last message of the branch to show. */
  leaf?: string;
}

/** Waits this long for more news of a conversation before it asks what they are. */
const GATHER_MS = 50;

/**
 * An answer is complete when its text has ended and nothing has followed for
 * so long: texts end before calls of tools too, which are announced at once.
 */
const COMPLETE_MS = 250;

/**
 * One conversation outside any framework: its messages, what streams into
 * them, and what a person does. It works while someone is subscribed.
 */
export class ChatStore implements ChatActions {
  readonly client: InlayClient;
  #state: ChatState;
  readonly #listeners = new Set<() => void>();
  /** What waits for a block to change; it keeps no stream open. */
  readonly #waiting = new Set<() => void>();
  /** Lives from the first subscription to the last; its abort ends all streams. */
  #life: AbortController | undefined;
  /** The open streams and the message that each one feeds. */
  readonly #streams = new Map<AbortController, string>();
  readonly #connections = new Map<object, Connection>();
  #queue = new Map<string, Envelope[]>();
  /** Running messages that are folded again from their first event, out of sight. */
  readonly #shadows = new Map<string, Message>();
  /** Answers that are complete unless something follows soon. */
  readonly #ending = new Map<string, ReturnType<typeof setTimeout>>();
  /** The last message of the branch that each message was last seen on. */
  readonly #tails = new Map<string, string>();
  readonly #frame = new FrameBatch(() => this.#apply());
  #sending = false;
  #stopWanted = false;
  #loads = 0;
  #loadWanted = false;
  /** The reader chose a branch, so another one does not take its place by itself. */
  #pinned: boolean;
  #leaf: string | undefined;
  #cursor = 0;
  /** Messages that were announced and are not shown yet, with their parents where known. */
  #announced = new Map<string, string | undefined>();
  #watching = false;
  #gather: ReturnType<typeof setTimeout> | undefined;
  #locals = 0;

  constructor(client: InlayClient, options: ChatOptions = {}) {
    this.client = client;
    this.#leaf = options.leaf;
    this.#pinned = options.leaf !== undefined;
    this.#state = {
      messages: [],
      status: "idle",
      connection: "open",
      error: null,
      conversationId: options.conversationId,
      conversation: undefined,
      loading: options.conversationId !== undefined,
      deleted: false,
    };
  }

  /** The current state; the same object until something changes. */
  readonly getState = (): ChatState => this.#state;

  /** Calls the listener after each change. The first one starts the store, the last one ends it. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    this.#start();
    return () => {
      this.#listeners.delete(listener);
      // A change of subscribers is no reason to hang up.
      setTimeout(() => {
        if (this.#listeners.size === 0) this.#end();
      });
    };
  };

  /** Whether a message is shown here. */
  has(messageId: string): boolean {
    return this.#find(messageId) !== undefined;
  }

  readonly send = (text: string, options: SendOptions = {}): Promise<boolean> => {
    const { blocks, ...input } = options;
    const { messages } = this.#state;
    const user = this.#local(text, messages.at(-1)?.id, blocks);
    return this.#turn({ input: { text, ...input } }, [...messages, user], user, []);
  };

  readonly regenerate = async (messageId: string): Promise<boolean> => {
    const { messages } = this.#state;
    const at = messages.findIndex((m) => m.id === messageId);
    const old = messages[at];
    if (old?.role !== "assistant") return false;
    const path = messages.slice(0, at);
    return this.#turn({ regenerateOf: messageId }, path, path.at(-1), old.siblings);
  };

  readonly edit = async (userMessageId: string, text: string): Promise<boolean> => {
    const { messages } = this.#state;
    const at = messages.findIndex((m) => m.id === userMessageId);
    const old = messages[at];
    if (old?.role !== "user") return false;
    const files = old.blocks.filter((b) => b.type !== "text");
    const attachments = files.flatMap((b) => assetOf(b) ?? []);
    const user = this.#local(text, old.parentId, files);
    user.siblings = [...old.siblings, user.id];
    const input = attachments.length > 0 ? { text, attachments } : { text };
    const request = { editOf: userMessageId, input };
    return this.#turn(request, [...messages.slice(0, at), user], user, []);
  };

  readonly stop = async (): Promise<void> => {
    if (this.#sending) {
      this.#stopWanted = true;
      return;
    }
    const running = this.#state.messages.findLast((m) => m.status === "running");
    if (!running) return;
    await this.#try(() => this.client.stop(running.id));
  };

  readonly selectBranch = async (messageId: string): Promise<void> => {
    this.#remember();
    this.#pinned = true;
    const leaf = this.#tails.get(messageId) ?? messageId;
    const { conversationId } = this.#state;
    // The next question goes on from the branch that is shown, on every device.
    if (conversationId !== undefined) {
      await this.#try(async () => {
        await this.client.chooseBranch(conversationId, leaf);
      });
    }
    await this.#load(leaf);
  };

  readonly retryBlock = (blockId: string): Promise<boolean> =>
    this.#again(blockId, (options) => this.client.retryBlock(blockId, options));

  readonly refreshBlock = (blockId: string): Promise<boolean> =>
    this.#again(blockId, (options) => this.client.refreshBlock(blockId, options));

  readonly runAction = async (
    block: Block,
    action: Action,
    params: Record<string, unknown> = {},
  ): Promise<boolean> => {
    const outcome = await this.act(block, action, params);
    if (outcome.error !== undefined) this.#set({ error: outcome.error });
    return succeeded(outcome);
  };

  readonly act = async (
    block: Block,
    action: Action,
    payload: unknown = {},
    ids: ActionIds = {},
  ): Promise<ActionOutcome> => {
    const message = this.#state.messages.find((m) => m.blocks.some((b) => b.id === block.id));
    if (!message || (action.kind !== "prompt" && action.kind !== "api")) {
      return { status: "failed" };
    }
    const stand = (now: BlockConflict["block"]) => this.#stand(message.id, now);
    try {
      const result = await sendAction(this.client, message.id, block, action, payload, ids, stand);
      if (result.block) stand(result.block);
      const shown = this.#find(result.msgId);
      if (shown) this.#follow(shown.id, this.#known(shown.id));
      else {
        this.#remember();
        this.#pinned = false;
        await this.#load(result.msgId);
      }
      const { status, feedback } = result;
      const text = feedback?.successText;
      if (result.status === "accepted") {
        return { status, text, ended: this.#ended(message.id, block.id) };
      }
      const changed =
        result.afterSeq !== undefined ||
        (result.block !== undefined && result.block.rev !== block.rev);
      return { status, result: result.result, text, changed };
    } catch (error) {
      if (error instanceof InlayError && error.status === 401) this.#set({ error });
      return { status: "failed", error };
    }
  };

  /** Whether what was begun on a block ends well while someone looks at it. */
  #ended(messageId: string, blockId: string): Promise<boolean> {
    return new Promise((resolve) => {
      const look = () => {
        const block = this.#find(messageId)?.blocks.find((b) => b.id === blockId);
        const status = block && stateOf(block)?.status;
        if (this.#life && status === "submitting") return;
        this.#waiting.delete(look);
        const seen = this.#life !== undefined && block !== undefined;
        resolve(seen && !["failed", "unknown", "expired", "cancelled"].includes(status ?? ""));
      };
      this.#waiting.add(look);
      look();
    });
  }

  readonly reload = async (): Promise<void> => {
    this.#set({ error: null });
    await this.#load(this.#pinned ? this.#state.messages.at(-1)?.id : undefined);
  };

  #start(): void {
    if (this.#life) return;
    this.#life = new AbortController();
    void this.#load(this.#leaf);
  }

  #end(): void {
    this.#life?.abort();
    this.#life = undefined;
    this.#watching = false;
    for (const controller of this.#streams.keys()) controller.abort();
    this.#streams.clear();
    this.#connections.clear();
    this.#shadows.clear();
    for (const timer of this.#ending.values()) clearTimeout(timer);
    this.#ending.clear();
    clearTimeout(this.#gather);
    this.#frame.flush();
    this.#loads++;
    for (const look of this.#waiting) look();
    this.#leaf = this.#pinned ? this.#state.messages.at(-1)?.id : undefined;
  }

  #set(change: Partial<ChatState>): void {
    const next = { ...this.#state, ...change };
    const connections = [...this.#connections.values()];
    next.connection =
      connections.find((c) => c === "offline") ??
      connections.find((c) => c === "reconnecting") ??
      "open";
    if (this.#sending) next.status = "sending";
    else if (next.messages.some(isAnswering)) next.status = "streaming";
    else next.status = next.error === null ? "idle" : "error";
    this.#state = next;
    for (const listener of this.#listeners) listener();
    for (const look of this.#waiting) look();
  }

  #find(id: string): Message | undefined {
    return this.#state.messages.find((m) => m.id === id);
  }

  /** A user message before the server has named it. */
  #local(text: string, parentId: string | undefined, blocks: Block[] = []): Message {
    const id = `local_${++this.#locals}`;
    const message = emptyMessage(id, "user", this.#state.conversationId);
    return {
      ...message,
      parentId,
      createdAt: new Date().toISOString(),
      status: "done",
      blocks: [
        { id: `${id}_text`, type: "text", version: 1, status: "done", rev: 1, payload: text },
        ...blocks,
      ],
    };
  }

  /** Remembers where each message of the shown branch leads to. */
  #remember(): void {
    const { messages } = this.#state;
    const tail = messages.at(-1);
    if (tail) for (const m of messages) this.#tails.set(m.id, tail.id);
  }

  /** Puts a block into the state that the server says it has, unless a later one is known. */
  #stand(messageId: string, block: BlockConflict["block"]): void {
    this.#frame.flush();
    const message = this.#find(messageId);
    const old = message?.blocks.find((b) => b.id === block.id);
    if (!message || !old || old.rev >= block.rev) return;
    const blocks = message.blocks.map((b) => (b === old ? { ...old, ...block } : b));
    const next = { ...message, blocks };
    this.#set({ messages: this.#state.messages.map((m) => (m === message ? next : m)) });
  }

  /** The number of the last event of a message that has arrived. */
  #known(id: string): number {
    return this.#queue.get(id)?.at(-1)?.seq ?? this.#find(id)?.seq ?? 0;
  }

  /** Does something that may fail, and shows the failure. */
  async #try(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      this.#set({ error });
      return false;
    }
  }

  /** Starts a turn: shows `path` at once, then the answer; on failure what was there before. */
  async #turn(
    request: ChatRequest,
    path: Message[],
    user: Message | undefined,
    siblings: string[],
  ): Promise<boolean> {
    if (this.#sending || this.#state.status === "streaming") return false;
    this.#frame.flush();
    this.#remember();
    const before = this.#state.messages;
    const { conversationId } = this.#state;
    const controller = new AbortController();
    this.#sending = true;
    this.#stopWanted = false;
    this.#set({ messages: path, error: null });
    try {
      const run = await this.client.chat({ ...request, conversationId }, this.#options(controller));
      this.#sending = false;
      this.#pinned = false;
      const answer: Message = {
        ...emptyMessage(run.messageId, "assistant", run.conversationId),
        parentId: run.userMessageId || user?.id,
        createdAt: new Date().toISOString(),
        siblings: [...siblings, run.messageId],
      };
      const named = path.map((m) => {
        // The answer before this one may have ended meanwhile.
        if (m !== user) return this.#find(m.id) ?? m;
        if (!run.userMessageId || m.id === run.userMessageId) return m;
        const ids = m.siblings.map((id) => (id === m.id ? run.userMessageId : id));
        return {
          ...m,
          id: run.userMessageId,
          conversationId: run.conversationId,
          siblings: ids,
        };
      });
      this.#set({
        messages: [...named, answer],
        conversationId: run.conversationId || conversationId,
        deleted: false,
      });
      if (!this.#life) {
        controller.abort();
        return true;
      }
      void this.#consume(run.messageId, run.events, controller);
      if (this.#stopWanted) void this.stop();
      void this.#watch();
      this.#settle();
      return true;
    } catch (error) {
      this.#sending = false;
      this.#connections.delete(controller);
      this.#set({ messages: before, error });
      for (const m of before) if (m.status === "running") this.#followAnew(m);
      // Another tab was faster: show what runs.
      if (error instanceof InlayError && error.code === "turn_running") this.#loadWanted = true;
      this.#settle();
      return false;
    }
  }

  /** After a request: looks at what was put off while it was on its way. */
  #settle(): void {
    if (this.#loadWanted) {
      this.#loadWanted = false;
      void this.#load();
    } else this.#soon();
  }

  async #again(
    blockId: string,
    start: (options: StreamOptions & { after: number }) => AsyncIterable<Envelope>,
  ): Promise<boolean> {
    this.#frame.flush();
    const message = this.#state.messages.find((m) => m.blocks.some((b) => b.id === blockId));
    if (!message) return false;
    const controller = new AbortController();
    const options = { ...this.#options(controller), after: message.seq };
    return this.#consume(message.id, start(options), controller);
  }

  #options(controller: AbortController): StreamOptions {
    return {
      signal: controller.signal,
      onConnection: (state) => {
        if (controller.signal.aborted) return;
        this.#connections.set(controller, state);
        this.#set({});
      },
    };
  }

  /** Follows a message from an event on, unless a stream of it is open. */
  #follow(id: string, after: number): void {
    if (!this.#life || this.#streaming(id)) return;
    const controller = new AbortController();
    const events = this.client.follow(id, after, this.#options(controller));
    void this.#consume(id, events, controller);
  }

  /** Follows a message from what is shown of it on, also when a stream of it is ahead of that. */
  #followAnew({ id, seq }: Message): void {
    for (const [controller, of] of this.#streams) if (of === id) this.#hangUp(controller);
    this.#queue.delete(id);
    this.#follow(id, seq);
  }

  #hangUp(controller: AbortController): void {
    controller.abort();
    this.#streams.delete(controller);
    this.#connections.delete(controller);
  }

  #streaming(id: string): boolean {
    return [...this.#streams.values()].includes(id);
  }

  async #consume(
    id: string,
    events: AsyncIterable<Envelope>,
    controller: AbortController,
  ): Promise<boolean> {
    const { signal } = controller;
    this.#streams.set(controller, id);
    let failure: unknown = null;
    try {
      for await (const event of events) {
        if (signal.aborted) break;
        const waiting = this.#queue.get(id);
        if (waiting) waiting.push(event);
        else this.#queue.set(id, [event]);
        this.#frame.request();
      }
    } catch (error) {
      failure = error;
    }
    this.#streams.delete(controller);
    this.#connections.delete(controller);
    if (signal.aborted) return false;
    this.#frame.flush();
    this.#shadows.delete(id);
    this.#set(failure === null ? {} : { error: failure });
    // A stream that ended while its message still seems to run missed something.
    if (this.#find(id)?.status === "running" && !this.#streaming(id)) await this.#fetch(id);
    return failure === null;
  }

  async #fetch(id: string): Promise<void> {
    await this.#try(async () => {
      const message = await this.client.getMessage(id);
      this.#set({
        messages: this.#state.messages.map((m) =>
          m.id === id && message.seq >= m.seq ? keep(m, message) : m,
        ),
      });
    });
  }

  /** Applies what has arrived; at most once per frame. */
  #apply(): void {
    const queue = this.#queue;
    this.#queue = new Map();
    let changed = false;
    const messages = this.#state.messages.map((m) => {
      const events = queue.get(m.id);
      if (!events) return m;
      const shadow = this.#shadows.get(m.id);
      const next = reduceAll(shadow ?? m, events);
      if (shadow && next.seq < m.seq) {
        this.#shadows.set(m.id, next);
        return m;
      }
      this.#shadows.delete(m.id);
      changed ||= next !== m;
      const shown = shadow ? { ...next, parentId: m.parentId, siblings: m.siblings } : next;
      return this.#complete(shown, events);
    });
    if (changed) this.#set({ messages });
  }

  /** Looks whether events leave a running answer complete; if so it is when nothing follows. */
  #complete(message: Message, events: readonly Envelope[]): Message {
    const { id } = message;
    const ended = endsAnswer(events);
    if (ended === undefined && message.status === "running") return message;
    clearTimeout(this.#ending.get(id));
    this.#ending.delete(id);
    if (ended && message.status === "running" && !loads(message)) {
      const done = () => {
        this.#ending.delete(id);
        const now = this.#find(id);
        // While the connection is gone something may have followed.
        if (now?.status !== "running" || this.#state.connection !== "open") return;
        const next = { ...now, answered: true };
        this.#set({ messages: this.#state.messages.map((m) => (m === now ? next : m)) });
      };
      this.#ending.set(id, setTimeout(done, COMPLETE_MS));
      return message;
    }
    if (message.answered === undefined) return message;
    const { answered: _, ...rest } = message;
    return rest;
  }

  async #load(leaf?: string): Promise<void> {
    const { conversationId } = this.#state;
    if (conversationId === undefined || this.#state.deleted) return;
    const load = ++this.#loads;
    const stale = () => load !== this.#loads;
    try {
      const page = await this.client.messages(conversationId, leaf);
      if (stale()) return;
      if (this.#sending) {
        // What is being sent is not among them.
        this.#loadWanted = true;
        return;
      }
      this.#frame.flush();
      this.#merge(page.items);
      this.#cursor = Math.max(this.#cursor, page.cursor ?? 0);
      void this.#watch();
    } catch (error) {
      if (!stale()) this.#set({ error, loading: false });
    }
  }

  /** Shows the path that the server names, keeping what is known better here. */
  #merge(items: Message[]): void {
    const known = new Map(this.#state.messages.map((m) => [m.id, m]));
    const behind: [id: string, after: number][] = [];
    const messages = items.map((item) => {
      const local = known.get(item.id);
      if (local?.role === "assistant") {
        if (item.seq > local.seq || item.status === "running") behind.push([item.id, local.seq]);
        return relate(local, item);
      }
      if (local && local.blocks[0]?.id === item.blocks[0]?.id) return relate(local, item);
      if (item.status === "running") {
        // Its tool calls and thoughts are only in its events.
        behind.push([item.id, 0]);
        this.#shadows.set(item.id, {
          ...emptyMessage(item.id, item.role, item.conversationId),
          createdAt: item.createdAt,
        });
      }
      return adopt(item);
    });
    for (const [controller, id] of this.#streams) {
      if (!messages.some((m) => m.id === id)) this.#hangUp(controller);
    }
    this.#set({ messages, loading: false });
    for (const [id, after] of behind) this.#follow(id, after);
  }

  /** Keeps in step with what happens to the conversation elsewhere. */
  async #watch(): Promise<void> {
    const { conversationId } = this.#state;
    const signal = this.#life?.signal;
    if (!conversationId || !signal || this.#watching) return;
    this.#watching = true;
    const key = {};
    const feed = this.client.feed(conversationId, this.#cursor, {
      signal,
      onConnection: (state) => {
        if (signal.aborted) return;
        this.#connections.set(key, state);
        this.#set({});
      },
    });
    try {
      for await (const event of feed) {
        if (signal.aborted) return;
        this.#cursor = Math.max(this.#cursor, event.cursor);
        this.#news(event);
      }
    } catch {
      // Without its feed the chat still works; it only hears nothing of other tabs.
    } finally {
      this.#connections.delete(key);
      if (this.#life?.signal === signal) {
        this.#watching = false;
        this.#set({});
      }
    }
  }

  #news(event: FeedEvent): void {
    switch (event.event) {
      case "message_created": {
        const { id, parentId } = event.data.message;
        this.#announced.set(id, parentId);
        this.#soon();
        return;
      }
      case "turn_started": {
        const message = this.#find(event.data.msgId);
        if (!message) {
          if (!this.#announced.has(event.data.msgId)) {
            this.#announced.set(event.data.msgId, undefined);
          }
          this.#soon();
        } else if (message.status === "running" || message.status === "paused") {
          this.#follow(message.id, message.seq);
        }
        return;
      }
      case "message_updated": {
        const { msgId, seq } = event.data;
        const latest = this.#known(msgId);
        if (this.#find(msgId)?.role === "assistant" && seq > latest) this.#follow(msgId, latest);
        return;
      }
      case "conversation_updated":
        this.#set({ conversation: event.data.conversation });
        return;
      case "conversation_deleted":
        for (const controller of this.#streams.keys()) controller.abort();
        this.#streams.clear();
        this.#loads++;
        this.#set({ messages: [], deleted: true, loading: false });
        return;
    }
  }

  /** Looks at the conversation again, once for all that is announced together. */
  #soon(): void {
    clearTimeout(this.#gather);
    this.#gather = setTimeout(() => {
      if (!this.#life || this.#sending) return;
      const news = [...this.#announced].filter(([id]) => !this.has(id));
      this.#announced.clear();
      if (news.length === 0) return;
      let tip = this.#state.messages.at(-1)?.id;
      for (const [id, parentId] of news) if (parentId !== undefined && parentId === tip) tip = id;
      void this.#load(this.#pinned ? tip : undefined);
    }, GATHER_MS);
  }
}

/** The id of the file that a block of a user's message shows. */
function assetOf({ payload }: Block): string | undefined {
  const id = (payload as { assetId?: unknown } | null | undefined)?.assetId;
  return typeof id === "string" ? id : undefined;
}

function loads(message: Message): boolean {
  return message.blocks.some((b) => b.status === "loading");
}

/** The local message with the relations that the server names. */
function relate(local: Message, item: Message): Message {
  const same =
    local.parentId === item.parentId &&
    local.siblings.length === item.siblings.length &&
    local.siblings.every((id, i) => id === item.siblings[i]);
  return same ? local : { ...local, parentId: item.parentId, siblings: item.siblings };
}

/** The server's message with what only the stream told. */
function keep(local: Message, item: Message): Message {
  const next = adopt(item);
  if (!next.tools && local.tools) {
    next.tools = local.tools.map((t) => (t.status === "running" ? { ...t, status: "ok" } : t));
  }
  if (!next.reasoning && local.reasoning) next.reasoning = local.reasoning;
  return next;
}
