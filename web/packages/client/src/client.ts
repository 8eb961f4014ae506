import { newKey, sendAction } from "./actions.ts";
import {
  AddressBook,
  type AssetUrlOptions,
  receive,
  sendForm,
  type UploadOptions,
} from "./assets.ts";
import { networkError, responseError } from "./errors.ts";
import type { SSEFrame } from "./sse.ts";
import { persistent, resilient } from "./stream.ts";
import type {
  ActionRequest,
  ActionResult,
  Asset,
  AssetPreview,
  AssetUrl,
  ChatRequest,
  ClientConfig,
  Connection,
  Conversation,
  Envelope,
  EventName,
  FeedEvent,
  Message,
  Rating,
} from "./types.ts";

/** How an {@link InlayClient} reaches its server. */
export interface ClientOptions {
  /** Where `/v1` is; the page's own origin when absent. */
  endpoint?: string;
  fetch?: typeof fetch;
  /** Asked before every request, so that a token may change. */
  headers?: () => HeadersInit | Promise<HeadersInit>;
  credentials?: RequestCredentials;
  /** What this client can draw (`X-Blocks`), such as `chart@1`. */
  blocks?: readonly string[];
  /** Accept-Language. */
  lang?: string;
}

/** Options of one stream. An abort ends it quietly; the turn on the server goes on. */
export interface StreamOptions {
  signal?: AbortSignal;
  onConnection?: (state: Connection) => void;
}

/** A turn that has begun. */
export interface Run {
  messageId: string;
  conversationId: string;
  userMessageId: string;
  /** The turn's events, each once, through every disconnect. To be read once. */
  events: AsyncIterable<Envelope>;
}

/** A page of a list. */
export interface Page<T> {
  items: T[];
  nextCursor?: string;
}

/** The messages of one branch. */
export interface MessagePath {
  items: Message[];
  leaf?: string;
  /** Where the conversation's feed stood just before they were read. */
  cursor?: number;
}

/** The formats of {@link InlayClient.exportUrl}. */
export type ExportFormat = "md" | "txt" | "json" | "html";

/** Speaks to one Inlay server. */
export class InlayClient {
  /** What this client can draw; sent with every request while it is set. */
  blocks: readonly string[] | undefined;
  /** Accept-Language of every request while it is set. */
  lang: string | undefined;
  readonly #base: string;
  readonly #fetch: typeof fetch;
  readonly #options: ClientOptions;
  readonly #addresses = new AddressBook(async (id, query) => {
    const found = await this.#json<AssetUrl>("GET", `/v1/assets/${enc(id)}/url?${query}`);
    // The server may name it by its path alone.
    return found.url.startsWith("/") ? { ...found, url: this.#base + found.url } : found;
  });

  constructor(options: ClientOptions = {}) {
    this.#options = options;
    this.blocks = options.blocks;
    this.lang = options.lang;
    this.#base = (options.endpoint ?? "").replace(/\/+$/, "");
    this.#fetch = options.fetch ?? ((...args) => fetch(...args));
  }

  /**
   * Starts a turn and answers as soon as the server has accepted it. A request
   * that the network lost is sent again under the same idempotency key.
   */
  async chat(request: ChatRequest, options: StreamOptions | AbortSignal = {}): Promise<Run> {
    const { idempotencyKey, ...body } = request;
    const key = idempotencyKey ?? newKey();
    const stream = options instanceof AbortSignal ? { signal: options } : options;
    const { head, events } = await this.#post("/v1/chat", body, { "Idempotency-Key": key }, stream);
    return {
      messageId: head("X-Message-Id"),
      conversationId: head("X-Conversation-Id") || (request.conversationId ?? ""),
      userMessageId: head("X-User-Message-Id"),
      events,
    };
  }

  /** Follows a message from an event on; ends at once when nothing is left to read. */
  follow(
    messageId: string,
    after = 0,
    options: StreamOptions = {},
  ): AsyncGenerator<Envelope, void, undefined> {
    return resilient(this.#message(() => messageId, after, options));
  }

  /** Asks the server to stop a turn; the stream then ends with its `done`. */
  async stop(messageId: string): Promise<void> {
    await this.#json("POST", `/v1/messages/${enc(messageId)}/stop`);
  }

  /** Runs the tool of a failed block again. Gives the events of that group. */
  retryBlock(
    blockId: string,
    options: StreamOptions & { after?: number } = {},
  ): AsyncGenerator<Envelope, void, undefined> {
    return this.#again(blockId, "retry", options);
  }

  /** Loads the data of a block anew. Gives the events of that group. */
  refreshBlock(
    blockId: string,
    options: StreamOptions & { after?: number } = {},
  ): AsyncGenerator<Envelope, void, undefined> {
    return this.#again(blockId, "refresh", options);
  }

  /**
   * Runs an action of a block. A request that the network lost is sent again
   * under its idempotency key, and one that came while something else runs
   * when the server says so. It throws ConfirmationRequired where the person
   * has to be asked first, and BlockConflict where the block has changed.
   */
  action(request: ActionRequest, options: { signal?: AbortSignal } = {}): Promise<ActionResult> {
    const body = {
      ...request,
      idempotencyKey: request.idempotencyKey ?? newKey(),
      traceId: request.traceId ?? newKey(),
    };
    return sendAction(
      (signal) => this.#request("POST", "/v1/chat/actions", body, signal),
      options.signal,
    );
  }

  /** Says what the reader thinks of an answer; null takes it back. */
  async feedback(messageId: string, rating: Rating | null, comment?: string): Promise<void> {
    await this.#json("POST", `/v1/messages/${enc(messageId)}/feedback`, { rating, comment });
  }

  /** Reports that a part of a block was used. Never fails, and nothing waits for it. */
  telemetry(blockId: string, itemId: string, action: string): void {
    const body = { blockId, itemId, action };
    // The page may be left by the click that is reported.
    this.#request("POST", "/v1/telemetry/block-action", body, undefined, {}, true).catch(() => {});
  }

  /** One message as it stands. */
  getMessage(messageId: string): Promise<Message> {
    return this.#json("GET", `/v1/messages/${enc(messageId)}`);
  }

  /** How a message came about, as an ATIF document. */
  trajectory(messageId: string): Promise<unknown> {
    return this.#json("GET", `/v1/messages/${enc(messageId)}/trajectory`);
  }

  /** Conversations, last changed first; `q` searches titles and text. */
  listConversations(
    search: { q?: string; cursor?: string; limit?: number } = {},
  ): Promise<Page<Conversation>> {
    return this.#json("GET", `/v1/conversations${query(search)}`);
  }

  /** Makes an empty conversation. */
  createConversation(title?: string): Promise<Conversation> {
    return this.#json("POST", "/v1/conversations", { title });
  }

  /** One conversation. */
  getConversation(id: string): Promise<Conversation> {
    return this.#json("GET", `/v1/conversations/${enc(id)}`);
  }

  /** Gives a conversation another title. */
  renameConversation(id: string, title: string): Promise<Conversation> {
    return this.#json("PATCH", `/v1/conversations/${enc(id)}`, { title });
  }

  /** Makes the branch that a message is on the one that is shown and gone on with. */
  chooseBranch(id: string, messageId: string): Promise<Conversation> {
    return this.#json("PATCH", `/v1/conversations/${enc(id)}`, { leaf: messageId });
  }

  /** Deletes a conversation with all its messages. */
  async deleteConversation(id: string): Promise<void> {
    await this.#json("DELETE", `/v1/conversations/${enc(id)}`);
  }

  /** The messages from the first to a leaf; the conversation's current leaf when absent. */
  messages(conversationId: string, leaf?: string): Promise<MessagePath> {
    const query = leaf ? `?leaf=${enc(leaf)}` : "";
    return this.#json("GET", `/v1/conversations/${enc(conversationId)}/messages${query}`);
  }

  /** What happens in a conversation, from a cursor on, until the signal aborts. */
  feed(
    conversationId: string,
    after: number | undefined,
    options: StreamOptions | AbortSignal = {},
  ): AsyncGenerator<FeedEvent, void, undefined> {
    const path = `/v1/conversations/${enc(conversationId)}/events`;
    const { signal, onConnection } =
      options instanceof AbortSignal ? { signal: options, onConnection: undefined } : options;
    return resilient<FeedEvent>({
      cursor: after ?? 0,
      signal,
      onConnection,
      open: (cursor, s) =>
        this.#request("GET", cursor > 0 ? `${path}?after=${cursor}` : path, undefined, s, sse),
      parse: parseFeed,
      last: (event) => event.event === "conversation_deleted",
    });
  }

  /** Stores a file. Its id is then given to {@link chat} as an attachment. */
  async upload(file: Blob, options: UploadOptions = {}): Promise<Asset> {
    const name = options.name ?? (file instanceof File ? file.name : "file");
    const form = new FormData();
    form.append("file", file, name);
    const { credentials, fetch: own } = this.#options;
    const { signal, onProgress } = options;
    const headers = await this.#headers();
    const url = `${this.#base}/v1/assets`;
    if (!own && typeof XMLHttpRequest === "function") {
      return sendForm(url, form, headers, credentials, options);
    }
    const init: RequestInit = { method: "POST", headers, body: form };
    if (signal) init.signal = signal;
    if (credentials) init.credentials = credentials;
    try {
      const asset = await receive(await this.#fetch(url, init));
      onProgress?.({ loaded: file.size, total: file.size });
      return asset;
    } catch (cause) {
      throw networkError(cause, signal);
    }
  }

  /** What is known of a file. */
  asset(id: string): Promise<Asset> {
    return this.#json("GET", `/v1/assets/${enc(id)}`);
  }

  /** Deletes a file. */
  async deleteAsset(id: string): Promise<void> {
    await this.#json("DELETE", `/v1/assets/${enc(id)}`);
    this.#addresses.forget(id);
  }

  /**
   * A signed address of a file that needs no other credentials. It is kept
   * until shortly before it ends; whoever was refused with it asks once more
   * with `fresh`.
   */
  assetUrl(id: string, options?: AssetUrlOptions): Promise<AssetUrl> {
    return this.#addresses.get(id, options);
  }

  /** The bytes of a file, or a range of them. An address that has run out is renewed once. */
  async assetContent(
    id: string,
    options: AssetUrlOptions & { range?: [from: number, to: number]; signal?: AbortSignal } = {},
  ): Promise<Response> {
    const { range, signal } = options;
    const init: RequestInit = {};
    if (signal) init.signal = signal;
    if (range) init.headers = { Range: `bytes=${range[0]}-${range[1] - 1}` };
    try {
      for (let fresh = options.fresh ?? false; ; fresh = true) {
        const { url } = await this.assetUrl(id, { ...options, fresh });
        const response = await this.#fetch(url, init);
        if (response.ok) return response;
        const over = response.status === 403 || response.status === 410;
        if (fresh || !over) throw await responseError(response);
      }
    } catch (cause) {
      throw networkError(cause, signal);
    }
  }

  /** A part of what a file shows: rows of a sheet, or the beginning of a text. */
  async assetPreview(
    id: string,
    part: { sheet?: string; offset?: number; limit?: number } = {},
  ): Promise<AssetPreview> {
    const found = await this.#json<AssetPreview>(
      "GET",
      `/v1/assets/${enc(id)}/preview${query(part)}`,
    );
    // The server leaves out what is empty.
    if (found.kind === "table") found.rows ??= [];
    if (found.kind === "text") found.text ??= "";
    return found;
  }

  /** What the server tells its page. */
  config(): Promise<ClientConfig> {
    return this.#json("GET", "/v1/client-config");
  }

  /** Where a conversation can be downloaded. */
  exportUrl(conversationId: string, format: ExportFormat): string {
    return `${this.#base}/v1/conversations/${enc(conversationId)}/export?format=${format}`;
  }

  async *#again(
    blockId: string,
    what: "retry" | "refresh",
    options: StreamOptions & { after?: number },
  ): AsyncGenerator<Envelope, void, undefined> {
    const path = `/v1/chat/blocks/${enc(blockId)}/${what}`;
    const { events } = await this.#post(path, undefined, {}, options);
    yield* events;
  }

  async #post(
    path: string,
    body: unknown,
    headers: Record<string, string>,
    options: StreamOptions & { after?: number },
  ) {
    const send = (signal: AbortSignal) =>
      this.#request("POST", path, body, signal, { ...sse, ...headers });
    // Only a request with a key may be sent twice.
    const ready = await persistent(send, options.signal, headers["Idempotency-Key"] ? 3 : 1);
    const head = (name: string) => ready.response.headers.get(name) ?? "";
    let messageId = head("X-Message-Id");
    const source = this.#message(() => messageId, options.after ?? 0, options);
    const { parse } = source;
    source.parse = (frame, cursor) => {
      const event = parse(frame, cursor);
      if (event) messageId ||= event.msgId;
      return event;
    };
    return { head, events: resilient(source, ready) };
  }

  #message(id: () => string, after: number, { signal, onConnection }: StreamOptions) {
    return {
      cursor: after,
      signal,
      onConnection,
      open: (cursor: number, s: AbortSignal) =>
        this.#request("GET", `/v1/messages/${enc(id())}/events?after=${cursor}`, undefined, s, sse),
      parse: parseEnvelope,
      last: (event: Envelope) => event.event === "done" || event.event === "error",
    };
  }

  async #request(
    method: string,
    path: string,
    body?: unknown,
    signal?: AbortSignal,
    extra: Record<string, string> = {},
    keepalive = false,
  ): Promise<Response> {
    const headers = await this.#headers();
    if (body !== undefined) headers.set("Content-Type", "application/json");
    if (this.blocks) headers.set("X-Blocks", this.blocks.join(","));
    for (const [name, value] of Object.entries(extra)) headers.set(name, value);
    const init: RequestInit = { method, headers, signal };
    if (keepalive) init.keepalive = true;
    if (body !== undefined) init.body = JSON.stringify(body);
    if (this.#options.credentials) init.credentials = this.#options.credentials;
    return this.#fetch(this.#base + path, init);
  }

  async #headers(): Promise<Headers> {
    const headers = new Headers(await this.#options.headers?.());
    if (this.lang) headers.set("Accept-Language", this.lang);
    return headers;
  }

  async #json<T>(method: string, path: string, body?: unknown): Promise<T> {
    try {
      const response = await this.#request(method, path, body);
      if (!response.ok) throw await responseError(response);
      if (response.status === 204) return undefined as T;
      return (await response.json()) as T;
    } catch (cause) {
      throw networkError(cause);
    }
  }
}

const sse = { Accept: "text/event-stream" };
const enc = encodeURIComponent;

/** The members that say something, as the search part of an address. */
function query(members: Record<string, string | number | undefined>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(members)) {
    if (value !== undefined && value !== "") params.set(name, String(value));
  }
  const search = params.toString();
  return search && `?${search}`;
}

function parseData(frame: SSEFrame): Record<string, unknown> | undefined {
  if (!frame.data) return undefined;
  try {
    const value: unknown = JSON.parse(frame.data);
    return typeof value === "object" && value !== null
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function parseEnvelope(frame: SSEFrame, cursor: number): Envelope | undefined {
  const value = parseData(frame);
  if (!frame.event || !value || typeof value.seq !== "number" || value.seq <= cursor) {
    return undefined;
  }
  return { ...value, data: value.data ?? {}, event: frame.event as EventName } as Envelope;
}

function parseFeed(frame: SSEFrame): FeedEvent | undefined {
  const value = parseData(frame);
  if (!frame.event || !value) return undefined;
  // The data stands alone or in an envelope like a message's events.
  const data = "v" in value && typeof value.data === "object" ? value.data : value;
  return { event: frame.event, cursor: Number(frame.id ?? 0), data } as FeedEvent;
}
