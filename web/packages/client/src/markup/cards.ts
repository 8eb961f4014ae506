import { applyPatch, equal, put, valueAt } from "../patch.ts";
import { readSSE, type SSEFrame } from "../sse.ts";
import type {
  Action,
  ActionKind,
  Block,
  BlockMeta,
  ErrorInfo,
  FinishReason,
  MessageStatus,
  ModelInfo,
  PatchOperation,
  Usage,
} from "../types.ts";
import {
  type CardNames,
  type CardSpec,
  Hydrator,
  isObject,
  isPartial,
  MarkupBlocks,
  type MarkupOptions,
  specOf,
  tell,
  typeOf,
  versionOf,
} from "./blocks.ts";

/** A packet of the card-message dialect, in the one spelling that it is read into. */
export interface CardPacket {
  messageId?: string;
  /** Absent where the sender does not count: such packets are applied as they come. */
  seq?: number;
  type: "full" | "append" | "patch" | "card" | "error" | "done";
  payload: Record<string, unknown>;
}

/** One operation of a patch: RFC 6902, or a piece of text that another takes the place of. */
export type CardOperation =
  | PatchOperation
  | { op: "replace-substring"; path: string; substring: string; replacement: string };

/** An action in the spelling of card messages. */
export interface CardAction {
  type: string;
  name: string;
  /** What a click sends; the name when absent. */
  id?: string;
  text?: string;
  params?: Record<string, unknown>;
  style?: Action["style"];
  prompt?: string;
  href?: string;
  confirm?: string;
  inputSchema?: unknown;
  feedback?: Action["feedback"];
  disabledWhen?: string;
}

/** A card beside the text. */
export interface CardRecord {
  id: string;
  /** The name that it is written by, such as ProductCard. */
  type: string;
  /** `major.minor`; 1.0 when absent. */
  schemaVersion?: string;
  title?: string;
  data?: unknown;
  actions?: CardAction[];
  state?: unknown;
  fallback?: string;
  error?: ErrorInfo;
  /** `data` was cut; `url` has the whole message. */
  truncated?: boolean;
  url?: string;
}

/** A message as its packets make it. A new object after each change. */
export interface CardMessage {
  messageId: string;
  /** The number of the last packet that is part of it. */
  seq: number;
  markdown: string;
  cards: Readonly<Record<string, CardRecord>>;
  tools?: Readonly<Record<string, unknown>>;
  status: MessageStatus;
  finishReason?: FinishReason;
  usage?: Usage;
  model?: ModelInfo;
  error?: ErrorInfo;
  /** The text and its cards as blocks. One that did not change is the same object as before. */
  blocks: readonly Block[];
}

/** Something that a packet was not applied for, or not at once. */
export interface CardProblem {
  code: /** The text to be replaced is not there, nor what would take its place. */
    | "patch_miss"
    /** The text to be replaced is there more than once. */
    | "patch_ambiguous"
    /** An operation could not be applied. */
    | "patch_failed"
    /** It is no packet. */
    | "bad_packet"
    /** It belongs to another message. */
    | "other_message"
    /** Packets are missing and the full state could not be had. */
    | "gap";
  message: string;
  seq?: number;
}

/** What a {@link CardMessageReader} is told. */
export interface CardReaderOptions extends Omit<MarkupOptions, "prefix"> {
  /** The message to read; that of the first packet when absent. */
  messageId?: string;
  /**
   * Fetches the full state, a packet of the type `full`, when packets are
   * missing. Without it a gap stays until a `full` comes.
   */
  fetchFull?(messageId: string, signal: AbortSignal): Promise<unknown>;
  /**
   * Whether only what the server has a record of is a card; what else looks like
   * one in the text is code that the model wrote then. Absent: as soon as a
   * packet shows that the server has records, which the first one of a server of
   * Inlay does: a `full` with `cards`, be they none, a `card`, or a patch of
   * `/cards`. Until then, and from servers that never send one, cards are found
   * in the text alone.
   */
  onlyRecords?: boolean;
  /** Called after each change. */
  onChange?(message: CardMessage): void;
  onProblem?(problem: CardProblem): void;
  /** How many packets are held while an earlier one is missing. 64. */
  maxHeld?: number;
  /** How long they are held in milliseconds. 2,000. */
  maxWait?: number;
}

interface State {
  markdown: string;
  cards: Record<string, CardRecord>;
  tools?: Record<string, unknown>;
}

/** How often the full state is asked for until something came of it. */
const maxFetches = 5;

const types: ReadonlySet<string> = new Set(["full", "append", "patch", "card", "error", "done"]);

/**
 * Reads a packet in any of its spellings: what it carries may be called
 * `payload` or `data` or stand at top level, and a patch may be the list itself.
 * Null for what is no packet.
 */
export function readPacket(raw: unknown): CardPacket | null {
  if (!isObject(raw) || typeof raw.type !== "string" || !types.has(raw.type)) return null;
  const type = raw.type as CardPacket["type"];
  const carried = raw.payload ?? raw.data;
  let payload: Record<string, unknown>;
  if (type === "patch") {
    const patch = raw.patch ?? (isObject(carried) ? carried.patch : carried);
    if (!Array.isArray(patch)) return null;
    payload = { ...(isObject(carried) ? carried : {}), patch };
  } else if (isObject(carried)) payload = carried;
  else if (carried === undefined && type !== "card") {
    const { type: _, seq: __, messageId: ___, ...rest } = raw;
    payload = rest;
  } else return null;
  const seq = raw.seq ?? (type === "full" ? payload.seq : undefined);
  if (seq !== undefined && (!Number.isSafeInteger(seq) || (seq as number) < 1)) return null;
  const messageId = raw.messageId ?? payload.messageId;
  if (messageId !== undefined && typeof messageId !== "string") return null;
  if ((type === "full" || type === "append") && typeof payload.markdown !== "string") return null;
  return { messageId, seq: seq as number | undefined, type, payload };
}

/**
 * Keeps one message up to date from its packets, in whatever order and however
 * often they come. A number that was seen is ignored. A missing one is waited
 * for; then the full state is fetched. A patch is applied as a whole or not at
 * all, and the text is scanned for the same names after it as before.
 */
export class CardMessageReader {
  readonly #options: CardReaderOptions;
  readonly #hydrator: Hydrator | undefined;
  #state: State = { markdown: "", cards: {} };
  #message: CardMessage;
  #held = new Map<number, CardPacket>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #fetching: AbortController | null = null;
  #fetches = 0;
  #closed = false;

  /** What the text was read into, and for which names. Null: it has to be read anew. */
  #scan: { made: MarkupBlocks; names: string; ended: boolean } | null = null;
  /** What was added to the text since. */
  #more = "";
  /** Only what has a record is a card. */
  #records: boolean;
  /** The text is over, unless a retry or an answer adds to it. */
  #over = false;
  /** Cards that have nothing but their id may still get the rest. */
  #awaits = true;
  /** How the blocks of the text were drawn last. */
  #drawn = new Map<string, { from: Block; record?: CardRecord; ended: boolean; to: Block }>();

  constructor(options: CardReaderOptions) {
    this.#options = options;
    this.#records = options.onlyRecords === true;
    if (options.resolve) this.#hydrator = new Hydrator(options.resolve, options.timeout);
    this.#message = {
      messageId: options.messageId ?? "",
      seq: 0,
      markdown: "",
      cards: {},
      status: "running",
      blocks: [],
    };
  }

  /** The message as it stands. */
  get message(): CardMessage {
    return this.#message;
  }

  /** Takes a packet, or a list of packets. */
  push(raw: unknown): void {
    if (this.#closed) return;
    if (Array.isArray(raw)) {
      for (const one of raw) this.push(one);
      return;
    }
    const packet = readPacket(raw);
    if (!packet) {
      this.#problem("bad_packet", "not a packet of this protocol");
      return;
    }
    const { messageId, seq, type } = packet;
    if (messageId) {
      if (!this.#message.messageId) this.#message = { ...this.#message, messageId };
      else if (messageId !== this.#message.messageId) {
        this.#problem("other_message", `a packet of ${messageId}`, seq);
        return;
      }
    }
    if (this.#options.onlyRecords === undefined && hasRecords(packet)) this.#records = true;
    if (seq === undefined || type === "full") {
      if (seq !== undefined && seq <= this.#message.seq) return;
      this.#apply(packet);
    } else {
      if (seq <= this.#message.seq) return;
      this.#held.set(seq, packet);
    }
    this.#goOn();
  }

  /** Something is being fetched that may change the message. */
  get pending(): boolean {
    return !this.#closed && (this.#fetching !== null || this.#scan?.made.pending === true);
  }

  /** The packets are over: what is missing is not waited for any longer. */
  end(): void {
    if (this.#held.size > 0) void this.#recover();
  }

  /** Nothing more is read; timers and what is being fetched end. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#fetching?.abort();
    this.#hydrator?.stop();
    this.#held.clear();
  }

  /** Fetches a card's data again: by `resolve`, or with the full state. */
  retry(blockId: string): void {
    if (this.#closed) return;
    const made = this.#scan?.made;
    const at = this.#message.blocks.findIndex((b) => b.id === blockId);
    const own = at < 0 ? undefined : made?.blocks[at];
    if (made && own?.status === "error" && this.#hydrator) {
      made.retry(own.id);
      this.#publish({});
    } else {
      this.#fetches = 0;
      void this.#recover();
    }
  }

  /** Applies what is held and next, and waits for what is missing. */
  #goOn(): void {
    for (;;) {
      const next = this.#held.get(this.#message.seq + 1);
      if (!next) break;
      this.#held.delete(this.#message.seq + 1);
      this.#apply(next);
      // Should another be missing, it has its own time.
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    if (this.#held.size === 0) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#fetches = 0;
      return;
    }
    const { maxHeld = 64, maxWait = 2000 } = this.#options;
    if (this.#held.size > maxHeld) {
      void this.#recover();
      // The full state is sooner a match for late packets than for early ones.
      const oldest = Math.min(...this.#held.keys());
      if (this.#held.size > maxHeld) this.#held.delete(oldest);
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#recover();
    }, maxWait);
  }

  async #recover(): Promise<void> {
    if (this.#fetching || this.#closed || this.#fetches >= maxFetches) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#fetches++;
    const missing = this.#message.seq + 1;
    const { fetchFull } = this.#options;
    if (!fetchFull) {
      this.#fetches = maxFetches;
      if (this.#held.size > 0) this.#problem("gap", `packet ${missing} did not come`, missing);
      return;
    }
    const fetching = new AbortController();
    this.#fetching = fetching;
    try {
      const full = readPacket(await fetchFull(this.#message.messageId, fetching.signal));
      if (this.#closed) return;
      if (full?.type !== "full") throw new Error("the answer is no full state");
      this.#fetching = null;
      this.push(full);
    } catch (error) {
      if (this.#closed) return;
      this.#fetching = null;
      this.#problem("gap", `packet ${missing} did not come: ${String(error)}`, missing);
    }
    if (this.#held.size > 0 && this.#fetches < maxFetches) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(
        () => {
          this.#timer = undefined;
          void this.#recover();
        },
        (this.#options.maxWait ?? 2000) * this.#fetches,
      );
    }
  }

  #apply(packet: CardPacket): void {
    const { type, seq, payload } = packet;
    const change: Partial<CardMessage> = {};
    if (seq !== undefined) change.seq = seq;
    switch (type) {
      case "full":
        this.#scan = null;
        this.#state = {
          markdown: String(payload.markdown),
          cards: recordsOf(payload.cards),
          ...(isObject(payload.tools) && { tools: payload.tools }),
        };
        // What ended the message among the packets that are part of this state.
        for (const at of [...this.#held.keys()].sort((a, b) => a - b)) {
          const held = this.#held.get(at);
          if (seq === undefined || at > seq || !held) continue;
          this.#held.delete(at);
          this.#end(change, ending(held));
        }
        this.#end(change, ended(payload), true);
        break;
      case "append":
        this.#over = false;
        this.#awaits = true;
        this.#more += payload.markdown;
        this.#state = { ...this.#state, markdown: this.#state.markdown + payload.markdown };
        break;
      case "card": {
        const record = recordOf(payload);
        if (!record) {
          this.#problem("bad_packet", "a card without id or type", seq);
          break;
        }
        const cards = { ...this.#state.cards };
        put(cards, record.id, record);
        this.#state = { ...this.#state, cards };
        break;
      }
      case "patch":
        try {
          const operations = payload.patch as readonly CardOperation[];
          const next = patched(this.#state, operations, seq === undefined);
          if (next.markdown !== this.#state.markdown) {
            this.#scan = null;
            this.#awaits = true;
          }
          this.#state = next;
        } catch (error) {
          const code = error instanceof PatchError ? error.code : "patch_failed";
          this.#problem(code, String(error instanceof Error ? error.message : error), seq);
        }
        break;
      case "error":
      case "done":
        this.#end(change, ending(packet));
    }
    this.#publish(change);
  }

  /**
   * Takes what is said of the end. A retry or refresh ends without changing what
   * the turn came to; `whole` says that it is the turn that is spoken of.
   */
  #end(change: Partial<CardMessage>, said: Partial<CardMessage>, whole = false): void {
    if (!said.status) return;
    this.#over = true;
    this.#awaits = false;
    const status = change.status ?? this.#message.status;
    if (!whole && status !== "running" && status !== "paused") return;
    Object.assign(change, said);
  }

  #publish(change: Partial<CardMessage>): void {
    const { markdown, cards, tools } = this.#state;
    const before = this.#message;
    const next: CardMessage = { ...before, ...change, markdown, cards };
    if (tools) next.tools = tools;
    else delete next.tools;
    if (next.status === "error") delete next.finishReason;
    else delete next.error;
    next.blocks = this.#blocks(next, before.blocks);
    this.#message = next;
    const { onChange } = this.#options;
    if (onChange) tell(() => onChange(next));
  }

  #blocks(message: CardMessage, before: readonly Block[]): readonly Block[] {
    const { markdown, cards } = message;
    const ended = !this.#awaits;
    // A card that the server sends shows at its fence at least its fallback.
    const extra = Object.values(cards)
      .map((card) => card.type)
      .filter((name) => !listed(this.#options, name));
    const only = this.#records;
    const more = [...new Set(extra)].sort();
    const names = JSON.stringify([only, ...more]);
    let scan = this.#scan;
    let text = this.#more;
    this.#more = "";
    if (!scan || scan.names !== names || (scan.ended && text)) {
      const options = {
        ...this.#options,
        cards: withNames(this.#options.cards, more),
        prefix: message.messageId ? `${message.messageId}_` : undefined,
      };
      const { cards: fences, placeholders } = options;
      const made: MarkupBlocks = new MarkupBlocks(
        // What has no record is the text that it is.
        only
          ? { ...options, cards: bare(fences), placeholders: bare(placeholders), ...unsaid }
          : options,
        () => {
          if (this.#scan?.made === made && !this.#closed) this.#publish({});
        },
        only ? undefined : this.#hydrator,
      );
      scan = { made, names, ended: false };
      this.#scan = scan;
      text = markdown;
    }
    const { made } = scan;
    if (text) made.push(text);
    if (this.#over && !scan.ended) {
      scan.ended = true;
      made.close(message.finishReason === "length" ? "length" : "stop");
    }
    const placed = new Set<string>();
    const last = this.#drawn;
    this.#drawn = new Map();
    const blocks = made.blocks.map((from) => {
      const record = this.#recordAt(made, from, cards, placed);
      const was = last.get(from.id);
      const same = was?.from === from && was.record === record && was.ended === ended;
      const to = same ? was.to : this.#draw(made, from, record, ended);
      this.#drawn.set(from.id, { from, record, ended, to });
      return to;
    });
    for (const record of Object.values(cards)) {
      if (placed.has(record.id)) continue;
      const was = last.get(`\n${record.id}`);
      const to = was?.record === record ? was.to : blockOf(record, this.#options);
      this.#drawn.set(`\n${record.id}`, { from: to, record, ended, to });
      blocks.push(to);
    }
    const known = new Map(before.map((block) => [block.id, block]));
    return unique(blocks).map((block) => {
      const old = known.get(block.id);
      return old && equal(old, block) ? old : block;
    });
  }

  /** The card that a block of the text stands for; each has one place. */
  #recordAt(
    made: MarkupBlocks,
    block: Block,
    cards: Readonly<Record<string, CardRecord>>,
    placed: Set<string>,
  ): CardRecord | undefined {
    const origin = made.origin(block.id);
    if (!origin || origin.syntax === "tag") return undefined;
    const written = isObject(block.payload) ? block.payload.id : undefined;
    for (const id of [origin.meta.id, written]) {
      if (typeof id !== "string" || !Object.hasOwn(cards, id) || placed.has(id)) continue;
      placed.add(id);
      return cards[id];
    }
    return undefined;
  }

  #draw(made: MarkupBlocks, block: Block, record: CardRecord | undefined, ended: boolean): Block {
    const origin = made.origin(block.id);
    if (!origin) return block;
    if (record) return blockOf(record, this.#options);
    const { id, status, payload, fallback = "" } = block;
    const only = this.#records;
    if (only && origin.syntax === "fence" && origin.meta.id && !ended) {
      // Its record comes after its fence.
      const { payload: _, ...waits } = block;
      return { ...waits, id: origin.meta.id, status: "loading" };
    }
    if (only || (origin.syntax === "fence" && !listed(this.#options, origin.name))) {
      const open = status === "loading";
      const text = open ? "" : fallback;
      return {
        id,
        type: "text",
        version: 1,
        status: open ? status : "done",
        rev: 1,
        payload: text,
      };
    }
    const named = origin.syntax === "fence" && origin.meta.id ? origin.meta.id : id;
    const drawn = { ...block, id: named };
    // A card with nothing but its id waits for its data as long as the message goes on.
    if (this.#hydrator || status !== "done" || !isPartial(payload)) return drawn;
    if (!ended) return { ...drawn, status: "loading" };
    delete drawn.payload;
    const retryable = this.#options.fetchFull !== undefined;
    const message = "The content did not load in time.";
    return { ...drawn, status: "error", error: { code: "HYDRATE_TIMEOUT", message, retryable } };
  }

  #problem(code: CardProblem["code"], message: string, seq?: number): void {
    const { onProblem } = this.#options;
    if (onProblem) tell(() => onProblem({ code, message, ...(seq !== undefined && { seq }) }));
  }
}

/**
 * Reads an event stream of packets: yields the message after each frame that
 * changed it, and ends with the stream.
 */
export async function* readCardMessage(
  stream: ReadableStream<Uint8Array>,
  options: CardReaderOptions,
): AsyncGenerator<CardMessage, void, undefined> {
  let wake = () => {};
  const onChange = (message: CardMessage) => {
    wake();
    options.onChange?.(message);
  };
  const reader = new CardMessageReader({ ...options, onChange });
  const source = stream.getReader();
  const frames = readSSE(
    new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { done, value } = await source.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
    }),
  );
  let reading: Promise<IteratorResult<SSEFrame, void>> | null = null;
  let seen = reader.message;
  let over = false;
  try {
    for (;;) {
      const changed = new Promise<null>((resolve) => {
        wake = () => resolve(null);
      });
      if (reader.message !== seen) {
        seen = reader.message;
        yield seen;
        continue;
      }
      if (over && !reader.pending) return;
      if (!over) reading ??= frames.next();
      const result: IteratorResult<SSEFrame, void> | null = await (reading && !over
        ? Promise.race([reading, changed])
        : changed);
      if (!result) continue;
      reading = null;
      if (result.done) {
        over = true;
        reader.end();
        continue;
      }
      const { data } = result.value;
      if (data === undefined) continue;
      let packet: unknown;
      try {
        packet = JSON.parse(data);
      } catch {
        packet = null;
      }
      reader.push(packet);
    }
  } finally {
    reader.close();
    // Which also ends a read that is waiting.
    if (!over) source.cancel().catch(() => {});
  }
}

/** Why a patch was not applied. */
class PatchError extends Error {
  constructor(
    readonly code: "patch_miss" | "patch_ambiguous" | "patch_failed",
    message: string,
  ) {
    super(message);
  }
}

/** The state after a patch. Throws, with nothing changed, where an operation fails. */
function patched(state: State, operations: readonly CardOperation[], again: boolean): State {
  let next: unknown = state;
  for (const operation of operations) {
    if (!isObject(operation) || typeof operation.path !== "string") {
      throw new PatchError("patch_failed", "not an operation");
    }
    if (operation.op !== "replace-substring") {
      next = applyPatch(next, [operation]);
      continue;
    }
    const { path, substring, replacement } = operation;
    const text = valueAt(next, path);
    if (typeof text !== "string" || typeof substring !== "string" || !substring) {
      throw new PatchError("patch_failed", `no text at ${path}`);
    }
    if (typeof replacement !== "string") throw new PatchError("patch_failed", "no replacement");
    const value = replaced(text, substring, replacement, again);
    if (value !== text) next = applyPatch(next, [{ op: "replace", path, value }]);
  }
  if (!isObject(next) || typeof next.markdown !== "string" || !isObject(next.cards)) {
    throw new PatchError("patch_failed", "what is left is no message");
  }
  const cards = recordsOf(next.cards);
  if (Object.keys(cards).length !== Object.keys(next.cards).length) {
    throw new PatchError("patch_failed", "a card without type");
  }
  return {
    markdown: next.markdown,
    cards,
    ...(isObject(next.tools) && { tools: next.tools }),
  };
}

/**
 * Replaces the one piece of a text. `again` says that the same replacement may
 * have come before, so that one whose result stands there already is done.
 */
function replaced(text: string, piece: string, by: string, again: boolean): string {
  const at = text.indexOf(piece);
  if (at < 0) {
    if (by !== "" && text.includes(by)) return text;
    throw new PatchError("patch_miss", `not in the text: ${JSON.stringify(piece)}`);
  }
  if (text.indexOf(piece, at + 1) >= 0) {
    throw new PatchError("patch_ambiguous", `more than once in the text: ${JSON.stringify(piece)}`);
  }
  const inside = by.indexOf(piece);
  if (again && inside >= 0 && text.startsWith(by, at - inside)) return text;
  return text.slice(0, at) + by + text.slice(at + piece.length);
}

/** What a terminal packet says of the message. */
function ending({ type, payload }: CardPacket): Partial<CardMessage> {
  if (type === "error") return failed(payload);
  return type === "done" ? ended({ finishReason: "stop", ...payload }) : {};
}

function failed(error: Record<string, unknown>): Partial<CardMessage> {
  return { status: "error", error: errorOf(error) };
}

function errorOf({ code, message, retryable }: Record<string, unknown>): ErrorInfo {
  return {
    code: typeof code === "string" ? code : "internal",
    message: typeof message === "string" ? message : "",
    retryable: retryable === true,
  };
}

/** How a message ended, if it is said. */
function ended({
  finishReason,
  usage,
  model,
  error,
}: Record<string, unknown>): Partial<CardMessage> {
  if (isObject(error)) return failed(error);
  if (typeof finishReason !== "string" || !finishReason) return {};
  const unfinished = finishReason === "cancelled" || finishReason === "paused";
  return {
    finishReason,
    status: unfinished ? finishReason : "done",
    ...(isObject(usage) && { usage: usage as unknown as Usage }),
    ...(isObject(model) && { model: model as unknown as ModelInfo }),
  };
}

/** The cards of a full state, by id. */
function recordsOf(cards: unknown): Record<string, CardRecord> {
  const out: Record<string, CardRecord> = {};
  if (!isObject(cards) && !Array.isArray(cards)) return out;
  for (const [id, raw] of Object.entries(cards)) {
    const record = recordOf(isObject(raw) && !Array.isArray(cards) ? { id, ...raw } : raw);
    if (record) put(out, record.id, record);
  }
  return out;
}

/** A card as it was sent; null where it says not which or what it is. */
function recordOf(raw: unknown): CardRecord | null {
  if (!isObject(raw) || typeof raw.type !== "string" || !raw.type) return null;
  const id = raw.id ?? (isObject(raw.data) ? raw.data.id : undefined);
  if (typeof id !== "string" || !id) return null;
  return raw.id === id ? (raw as unknown as CardRecord) : ({ ...raw, id } as unknown as CardRecord);
}

function listed({ cards, placeholders }: CardReaderOptions, name: string): boolean {
  return [cards, placeholders].some(
    (names) => names && (Array.isArray(names) ? names.includes(name) : Object.hasOwn(names, name)),
  );
}

function withNames(names: CardNames | undefined, more: readonly string[]): CardNames {
  if (!names || Array.isArray(names)) return [...(names ?? []), ...more];
  const all: Record<string, CardSpec> = { ...(names as Record<string, CardSpec>) };
  for (const name of more) put(all, name, {});
  return all;
}

/** What a text with records does not have besides them. */
const unsaid = { tags: undefined, resolve: undefined };

/** The names, with nothing that would judge, fill or word what is written by them. */
function bare(names: CardNames | undefined): CardNames | undefined {
  if (!names || Array.isArray(names)) return names;
  const out: Record<string, CardSpec> = {};
  for (const [name, { type, estimatedHeight }] of Object.entries(names as typeof out)) {
    put(out, name, { type, estimatedHeight });
  }
  return out;
}

/** Whether a packet shows that its sender has records of its cards. */
function hasRecords({ type, payload }: CardPacket): boolean {
  if (type === "full") return typeof payload.cards === "object" && payload.cards !== null;
  if (type !== "patch") return type === "card";
  const operations = payload.patch as readonly unknown[];
  return operations.some((one) => isObject(one) && /^\/cards(\/|$)/.test(String(one.path)));
}

const kinds: readonly string[] = ["api", "prompt", "link", "local"];

/** The block that a card is drawn as. One whose name is not listed shows its fallback. */
function blockOf(record: CardRecord, options: CardReaderOptions): Block {
  const known = listed(options, record.type);
  const spec = {
    ...specOf(options, "placeholder", record.type),
    ...specOf(options, "fence", record.type),
  };
  const [version, minor] = versionOf(record.schemaVersion);
  const { data, error, state, fallback } = record;
  const meta: BlockMeta = {};
  if (record.title && typeof record.title === "string") meta.title = record.title;
  if (minor > 0) meta.schemaMinor = minor;
  if (record.truncated) meta.truncated = true;
  if (spec.estimatedHeight) meta.estimatedHeight = spec.estimatedHeight;
  const block: Block = {
    id: record.id,
    type: spec.type ?? typeOf(record.type),
    version,
    status: data === undefined && error ? "error" : "done",
    // Card messages do not count the changes of a card.
    rev: 0,
    meta,
  };
  if (known && data !== undefined) block.payload = data;
  if (typeof fallback === "string") block.fallback = fallback;
  if (isObject(error)) block.error = { ...error, ...errorOf(error) };
  if (state !== undefined) block.state = state;
  if (known && Array.isArray(record.actions)) {
    block.actions = record.actions.flatMap((action) => actionOf(action) ?? []);
  }
  if (known && block.status === "done") {
    const problem = problemOf(spec, data);
    if (problem !== null) {
      delete block.payload;
      block.status = "error";
      block.error = {
        code: "SCHEMA_INVALID",
        message: "The data did not have the expected form.",
        retryable: false,
      };
    }
  }
  return block;
}

function problemOf(spec: CardSpec, data: unknown): string | null {
  try {
    return spec.check?.(data) ?? null;
  } catch (error) {
    return String(error);
  }
}

function actionOf(raw: unknown): Action | null {
  if (!isObject(raw) || typeof raw.name !== "string" || typeof raw.type !== "string") return null;
  if (!kinds.includes(raw.type)) return null;
  const { type, name, text, id, ...rest } = raw as unknown as CardAction;
  return {
    ...rest,
    id: id ?? name,
    ...(id !== undefined && id !== name && { action: name }),
    label: typeof text === "string" ? text : name,
    kind: type as ActionKind,
  };
}

/** Blocks with ids of their own, also where a text names one twice. */
function unique(blocks: readonly Block[]): Block[] {
  const seen = new Map<string, number>();
  return blocks.map((block) => {
    let { id } = block;
    let n = seen.get(id) ?? 0;
    while (seen.has(id)) id = `${block.id}_${++n + 1}`;
    seen.set(block.id, n);
    seen.set(id, seen.get(id) ?? 0);
    return id === block.id ? block : { ...block, id };
  });
}
