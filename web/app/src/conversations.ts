import type { Conversation } from "@inlay-ui/client";

/** One page of conversations, newest first. */
export interface ConversationPage {
  items: Conversation[];
  nextCursor?: string;
}

/** The requests that the list makes; `InlayClient` answers them. */
export interface ConversationSource {
  listConversations(options: {
    q?: string;
    cursor?: string;
    limit?: number;
  }): Promise<ConversationPage>;
  renameConversation(id: string, title: string): Promise<unknown>;
  deleteConversation(id: string): Promise<unknown>;
}

/** What the list shows. */
export interface ConversationListState {
  items: readonly Conversation[];
  query: string;
  loading: boolean;
  /** Whether older conversations can be loaded. */
  more: boolean;
  error: unknown;
}

const pageSize = 40;

/** While an answer runs somewhere, the list asks this often whether it is over. */
const runningInterval = 4000;

/**
 * Puts a fresh first page in front of what was loaded before. Older items stay,
 * except those the page would contain if they still existed.
 */
export function mergeFirstPage(
  page: ConversationPage,
  loaded: readonly Conversation[],
): Conversation[] {
  const oldest = page.items.at(-1);
  if (!page.nextCursor || !oldest) return page.items;
  const fresh = new Set(page.items.map((item) => item.id));
  const older = loaded.filter(
    (item) => !fresh.has(item.id) && Date.parse(item.updatedAt) <= Date.parse(oldest.updatedAt),
  );
  return [...page.items, ...older];
}

/**
 * The conversation list outside React: loads it page by page, searches it, and
 * keeps the tabs of one browser in step. Only the newest answer counts, so a
 * slow search never overwrites a later one.
 */
export class ConversationList {
  #source: ConversationSource;
  #state: ConversationListState = {
    items: [],
    query: "",
    loading: true,
    more: false,
    error: null,
  };
  #cursor: string | undefined;
  #listeners = new Set<() => void>();
  #turn = 0;
  #channel: BroadcastChannel | null = null;
  #again: ReturnType<typeof setTimeout> | undefined;

  constructor(source: ConversationSource) {
    this.#source = source;
  }

  /** The current state; the same object until something changes. */
  readonly getState = (): ConversationListState => this.#state;

  /** Calls `listener` after each change, until the returned function is called. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#open();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#close();
    };
  };

  /** Loads the first page again; what is shown stays until the answer is here. */
  async refresh(): Promise<void> {
    const turn = ++this.#turn;
    const query = this.#state.query;
    try {
      const page = await this.#source.listConversations({
        ...(query === "" ? {} : { q: query }),
        limit: pageSize,
      });
      if (turn !== this.#turn) return;
      const items = mergeFirstPage(page, this.#state.items);
      if (items.length === page.items.length) this.#cursor = page.nextCursor;
      this.#set({ items, loading: false, more: this.#cursor !== undefined, error: null });
      this.#waitForRunning();
    } catch (error) {
      if (turn === this.#turn) this.#set({ loading: false, error });
    }
  }

  /** Searches titles and texts; an empty query shows everything. */
  async search(query: string): Promise<void> {
    if (query === this.#state.query) return;
    this.#cursor = undefined;
    this.#set({ query, loading: true, items: [] });
    await this.refresh();
  }

  /** Loads the next page of older conversations. */
  async loadMore(): Promise<void> {
    const cursor = this.#cursor;
    if (cursor === undefined) return;
    const turn = ++this.#turn;
    const { query } = this.#state;
    try {
      const page = await this.#source.listConversations({
        ...(query === "" ? {} : { q: query }),
        cursor,
        limit: pageSize,
      });
      if (turn !== this.#turn) return;
      this.#cursor = page.nextCursor;
      const known = new Set(this.#state.items.map((item) => item.id));
      const items = [...this.#state.items, ...page.items.filter((item) => !known.has(item.id))];
      this.#set({ items, more: page.nextCursor !== undefined, error: null });
    } catch (error) {
      if (turn === this.#turn) this.#set({ error });
    }
  }

  /** Renames a conversation; the new title shows at once and is taken back if the server refuses it. */
  async rename(id: string, title: string): Promise<void> {
    const before = this.#state.items;
    this.#set({ items: before.map((item) => (item.id === id ? { ...item, title } : item)) });
    try {
      await this.#source.renameConversation(id, title);
      this.changed();
    } catch (error) {
      this.#set({ items: before });
      throw error;
    }
  }

  /** Deletes a conversation. */
  async remove(id: string): Promise<void> {
    await this.#source.deleteConversation(id);
    this.#set({ items: this.#state.items.filter((item) => item.id !== id) });
    this.changed();
  }

  /** Call after this page changed a conversation: refreshes the list here and in the other tabs. */
  changed(): void {
    this.#channel?.postMessage("changed");
    void this.refresh();
  }

  #set(change: Partial<ConversationListState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }

  #waitForRunning(): void {
    clearTimeout(this.#again);
    if (this.#listeners.size === 0 || !this.#state.items.some((item) => item.running)) return;
    this.#again = setTimeout(() => {
      if (document.visibilityState === "visible") void this.refresh();
    }, runningInterval);
  }

  #visible = () => {
    if (document.visibilityState === "visible") void this.refresh();
  };

  #open(): void {
    if (typeof BroadcastChannel !== "undefined") {
      this.#channel = new BroadcastChannel("inlay.conversations");
      this.#channel.onmessage = () => void this.refresh();
    }
    document.addEventListener("visibilitychange", this.#visible);
    window.addEventListener("online", this.#visible);
    void this.refresh();
  }

  #close(): void {
    clearTimeout(this.#again);
    this.#channel?.close();
    this.#channel = null;
    document.removeEventListener("visibilitychange", this.#visible);
    window.removeEventListener("online", this.#visible);
  }
}
