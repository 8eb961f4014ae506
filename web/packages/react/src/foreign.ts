import {
  type Action,
  adopt,
  type Block,
  type BlockConflict,
  type Envelope,
  type InlayClient,
  type Message,
  reduceAll,
  type StreamOptions,
} from "@inlay-ui/client";
import { type ActionIds, sendAction } from "./acting.ts";
import type { BlockStore } from "./context.ts";
import { FrameBatch } from "./frame.ts";
import { type ActionOutcome, stateOf } from "./outcome.ts";

/** Why another client's store is behind what the server has. */
export interface More {
  /** The message that was acted on. */
  messageId: string;
  conversationId: string;
  /** The message in which it goes on: another one after a prompt. */
  inMessageId: string;
}

/** The messages in use, by the client that reads them. */
const known = new WeakMap<InlayClient, Map<string, ForeignMessage>>();

/**
 * A message that is kept by somebody else's store, such as another protocol's
 * client. It asks the server for nothing until a person does something with
 * one of its blocks; from then on it follows the message itself, and has its
 * blocks as they are.
 */
export class ForeignMessage implements BlockStore {
  readonly client: InlayClient;
  readonly id: string;
  #message: Message | undefined;
  readonly #listeners = new Set<() => void>();
  readonly #more = new Map<string, (more: More) => void>();
  #queue: Envelope[] = [];
  readonly #frame = new FrameBatch(() => this.#apply());
  #life = new AbortController();
  /** Ends when the stream that is read ends. */
  #reading: Promise<unknown> = Promise.resolve();

  /** The one of a message, for all that draw blocks of it. */
  static of(client: InlayClient, id: string): ForeignMessage {
    const messages = known.get(client) ?? new Map<string, ForeignMessage>();
    known.set(client, messages);
    const message = messages.get(id) ?? new ForeignMessage(client, id);
    messages.set(id, message);
    return message;
  }

  private constructor(client: InlayClient, id: string) {
    this.client = client;
    this.id = id;
  }

  /** Calls the listener after each change. When the last one leaves, nothing is read any more. */
  readonly subscribe = (listener: () => void): (() => void) => {
    if (this.#life.signal.aborted) this.#life = new AbortController();
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      setTimeout(() => {
        if (this.#listeners.size > 0) return;
        this.#life.abort();
        if (known.get(this.client)?.get(this.id) === this) known.get(this.client)?.delete(this.id);
      });
    };
  };

  /** A block as it is known here; undefined while nothing was asked. */
  block(id: string): Block | undefined {
    return this.#message?.blocks.find((b) => b.id === id);
  }

  /**
   * Says who is to be told when what was done with a block leads to more than
   * that block: to text, to other blocks or to a turn. Returns the undoing.
   */
  tell(blockId: string, listener: (more: More) => void): () => void {
    this.#more.set(blockId, listener);
    return () => {
      if (this.#more.get(blockId) === listener) this.#more.delete(blockId);
    };
  }

  has(messageId: string): boolean {
    return messageId === this.id;
  }

  /** Reads the message whole. */
  async load(): Promise<Message> {
    const message = adopt(await this.client.getMessage(this.id));
    this.#frame.flush();
    const old = this.#message;
    if (old && old.seq > message.seq) return old;
    this.#set(message);
    return message;
  }

  readonly act = async (
    block: Block,
    action: Action,
    payload: unknown = {},
    ids: ActionIds = {},
  ): Promise<ActionOutcome> => {
    if (action.kind !== "prompt" && action.kind !== "api") return { status: "failed" };
    const stand = (now: BlockConflict["block"]) => this.#stand(now);
    try {
      // As it was before, so that what comes of the action has something to be added to.
      await this.load();
      const result = await sendAction(this.client, this.id, block, action, payload, ids, stand);
      if (result.block) stand(result.block);
      const { status, msgId, conversationId, feedback } = result;
      const text = feedback?.successText;
      const more = { messageId: this.id, conversationId, inMessageId: msgId };
      if (msgId !== this.id) {
        this.#more.get(block.id)?.(more);
        return { status, text };
      }
      if (status === "accepted") this.#more.get(block.id)?.(more);
      const told = status === "accepted";
      const read = this.#read(block.id, told, (options) =>
        this.client.follow(this.id, this.#message?.seq, options),
      );
      if (status === "accepted") {
        return { status, text, ended: read.then((well) => well && !failed(this.block(block.id))) };
      }
      const changed =
        result.afterSeq !== undefined ||
        (result.block !== undefined && result.block.rev !== block.rev);
      return { status, result: result.result, text, changed };
    } catch (error) {
      return { status: "failed", error };
    }
  };

  readonly retryBlock = (blockId: string): Promise<boolean> =>
    this.#again(blockId, (options) => this.client.retryBlock(blockId, options));

  readonly refreshBlock = (blockId: string): Promise<boolean> =>
    this.#again(blockId, (options) => this.client.refreshBlock(blockId, options));

  async #again(
    blockId: string,
    start: (options: StreamOptions & { after: number }) => AsyncIterable<Envelope>,
  ): Promise<boolean> {
    try {
      await this.#reading;
      if ((await this.load()).status === "running") {
        // While the answer is written nothing is added to it.
        await this.#read(blockId, true, (options) =>
          this.client.follow(this.id, this.#message?.seq, options),
        );
      }
      const { seq } = await this.load();
      return await this.#read(blockId, false, (options) => start({ ...options, after: seq }));
    } catch {
      return false;
    }
  }

  /** Reads a stream of the message to its end, after the one that is being read. */
  #read(
    blockId: string,
    told: boolean,
    start: (options: StreamOptions) => AsyncIterable<Envelope>,
  ): Promise<boolean> {
    const { signal } = this.#life;
    const read = this.#reading.then(async () => {
      try {
        for await (const event of start({ signal })) {
          if (signal.aborted) return false;
          if (!told && this.#adds(event)) {
            told = true;
            const conversationId = this.#message?.conversationId ?? "";
            const more = { messageId: this.id, conversationId, inMessageId: this.id };
            this.#more.get(blockId)?.(more);
          }
          this.#queue.push(event);
          this.#frame.request();
        }
        return true;
      } catch {
        return false;
      } finally {
        this.#frame.flush();
      }
    });
    this.#reading = read;
    return read;
  }

  /** Whether an event is of more than the blocks that are there. */
  #adds(event: Envelope): boolean {
    if (event.event === "text_delta") return true;
    const begins = event.event === "block_start" || event.event === "block_end";
    return begins && event.blockId !== undefined && !this.block(event.blockId);
  }

  #apply(): void {
    const events = this.#queue;
    this.#queue = [];
    if (this.#message) this.#set(reduceAll(this.#message, events));
  }

  /** Puts a block into the state that the server says it has, unless a later one is known. */
  #stand(block: BlockConflict["block"]): void {
    this.#frame.flush();
    const message = this.#message;
    const old = this.block(block.id);
    if (!message || !old || old.rev >= block.rev) return;
    const blocks = message.blocks.map((b) => (b === old ? { ...old, ...block } : b));
    this.#set({ ...message, blocks });
  }

  #set(message: Message): void {
    if (message === this.#message) return;
    this.#message = message;
    for (const listener of this.#listeners) listener();
  }
}

function failed(block: Block | undefined): boolean {
  const status = block && stateOf(block)?.status;
  return ["failed", "unknown", "expired", "cancelled"].includes(status ?? "");
}
