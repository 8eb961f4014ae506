import { DefaultChatTransport, type UIMessage } from "ai";

/** How an {@link InlayTransport} reaches its server. */
export interface InlayTransportOptions {
  /** Where `/v1` is; the page's own origin when absent. */
  endpoint?: string;
  /**
   * What the page can draw, such as `chart@1`: `clientCapabilityTokens()` of
   * `@inlay-ui/react`. Without it blocks arrive as text.
   */
  blocks?: readonly string[];
  /** Asked before every request, so that a token may change. */
  headers?: () => Record<string, string> | Promise<Record<string, string>>;
  /** What goes with every request's body. */
  body?: Record<string, unknown>;
  credentials?: RequestCredentials;
  fetch?: typeof fetch;
  /**
   * The major of `ai` in the page, where it is to be sent what came after 5:
   * requests for approval, to a page that does not draw them as blocks.
   */
  major?: 5 | 6 | 7;
}

/** What is asked of a chat, such as `useChat` gives it, to bring it up to date. */
export interface ChatLike<M extends UIMessage = UIMessage> {
  id: string;
  setMessages(messages: M[]): void;
  resumeStream(): Promise<void>;
}

/**
 * The chat transport of an Inlay server. Chats are the server's: their ids may
 * be any names, and what was said before is read from there.
 */
export class InlayTransport<M extends UIMessage = UIMessage> extends DefaultChatTransport<M> {
  readonly #base: string;
  readonly #options: InlayTransportOptions;
  /** How many requests began something. */
  #sent = 0;

  constructor(options: InlayTransportOptions = {}) {
    const base = `${(options.endpoint ?? "").replace(/\/+$/, "")}/v1/ai-sdk/chat`;
    super({
      api: base,
      headers: () => headersOf(options),
      ...(options.body && { body: options.body }),
      ...(options.credentials && { credentials: options.credentials }),
      fetch: (input, init) => send(options, String(input), init),
    });
    this.#base = base;
    this.#options = options;
  }

  /** The chat as the server has it; nothing for one that was not begun. */
  async messages(chatId: string): Promise<M[]> {
    const response = await this.#request("GET", chatId, "messages");
    if (response.status === 404) return [];
    if (!response.ok) throw new Error(`messages: HTTP ${response.status}`);
    const { messages } = (await response.json()) as { messages: M[] };
    return messages;
  }

  /** Stops the answer on the server; a chat's own `stop` only leaves it. Says whether there was one. */
  async stop(chatId: string): Promise<boolean> {
    const response = await this.#request("POST", chatId, "stop");
    if (response.status === 404) return false;
    if (!response.ok) throw new Error(`stop: HTTP ${response.status}`);
    return response.status === 202;
  }

  override sendMessages(
    ...[options]: Parameters<DefaultChatTransport<M>["sendMessages"]>
  ): ReturnType<DefaultChatTransport<M>["sendMessages"]> {
    this.#sent++;
    return super.sendMessages(options);
  }

  /**
   * Brings a chat up to date: what was said, and what is being written, to its
   * end. A message that is sent meanwhile ends it.
   */
  async catchUp(chat: ChatLike<M>): Promise<void> {
    const sent = this.#sent;
    const load = async () => {
      const messages = await this.messages(chat.id);
      if (sent === this.#sent) chat.setMessages(messages);
      return sent === this.#sent;
    };
    if (!(await load())) return;
    await chat.resumeStream();
    // What ended between the two was in neither.
    await load();
  }

  async #request(method: string, chatId: string, what: string): Promise<Response> {
    const { credentials } = this.#options;
    return send(this.#options, `${this.#base}/${encodeURIComponent(chatId)}/${what}`, {
      method,
      headers: await headersOf(this.#options),
      ...(credentials && { credentials }),
    });
  }
}

/** A transport for `useChat({ transport })`. Make it once, outside of components. */
export function inlayTransport<M extends UIMessage = UIMessage>(
  options: InlayTransportOptions = {},
): InlayTransport<M> {
  return new InlayTransport<M>(options);
}

async function headersOf({
  blocks,
  headers,
}: InlayTransportOptions): Promise<Record<string, string>> {
  return { ...(blocks && { "X-Blocks": blocks.join(",") }), ...(await headers?.()) };
}

function send({ fetch: own, major }: InlayTransportOptions, url: string, init?: RequestInit) {
  return (own ?? fetch)(major ? `${url}?aisdk=${major}` : url, init);
}
