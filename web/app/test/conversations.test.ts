import type { Conversation } from "@inlay-ui/client";
import { describe, expect, it } from "vitest";
import {
  ConversationList,
  type ConversationPage,
  type ConversationSource,
  mergeFirstPage,
} from "../src/conversations.ts";
import { conversation } from "./samples.ts";

const items = Array.from({ length: 5 }, (_, i) =>
  conversation(`c${5 - i}`, new Date(Date.UTC(2026, 2, 5 - i)).toISOString()),
);

/** A source of two pages whose answers wait until they are let go. */
class Source implements ConversationSource {
  waiting: { q: string | undefined; answer: (page: ConversationPage | Error) => void }[] = [];
  renamed: [string, string][] = [];
  refuse = false;

  listConversations({ q }: { q?: string }): Promise<ConversationPage> {
    return new Promise((resolve, reject) => {
      this.waiting.push({
        q,
        answer: (page) => (page instanceof Error ? reject(page) : resolve(page)),
      });
    });
  }
  async renameConversation(id: string, title: string): Promise<void> {
    if (this.refuse) throw new Error("refused");
    this.renamed.push([id, title]);
  }
  async deleteConversation(): Promise<void> {
    if (this.refuse) throw new Error("refused");
  }
  async answer(page: ConversationPage | Error): Promise<void> {
    this.waiting.shift()?.answer(page);
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

const ids = (list: readonly Conversation[]) => list.map((item) => item.id);

describe("mergeFirstPage", () => {
  it("keeps older pages, drops what was deleted, moves what was changed", () => {
    const [c5, c4, c3, c2, c1] = items;
    if (!c5 || !c4 || !c3 || !c2 || !c1) throw new Error("samples");
    const touched = { ...c1, updatedAt: new Date(Date.UTC(2026, 2, 9)).toISOString() };
    const page = { items: [touched, c5, c3], nextCursor: "x" };
    expect(ids(mergeFirstPage(page, items))).toEqual(["c1", "c5", "c3", "c2"]);
    expect(ids(mergeFirstPage({ items: [c5] }, items))).toEqual(["c5"]);
  });
});

describe("ConversationList", () => {
  it("loads page by page and keeps the older page on refresh", async () => {
    const source = new Source();
    const list = new ConversationList(source);
    const stop = list.subscribe(() => {});
    await source.answer({ items: items.slice(0, 2), nextCursor: "n" });
    expect(list.getState()).toMatchObject({ loading: false, more: true, error: null });
    void list.loadMore();
    await source.answer({ items: items.slice(2) });
    expect(ids(list.getState().items)).toEqual(["c5", "c4", "c3", "c2", "c1"]);
    expect(list.getState().more).toBe(false);
    void list.refresh();
    await source.answer({ items: items.slice(0, 2), nextCursor: "n" });
    expect(list.getState().items).toHaveLength(5);
    expect(list.getState().more).toBe(false);
    stop();
  });

  it("shows the newest search only, whatever order the answers come in", async () => {
    const source = new Source();
    const list = new ConversationList(source);
    const stop = list.subscribe(() => {});
    await source.answer({ items });
    void list.search("a");
    void list.search("ab");
    const [first, second] = source.waiting;
    expect([first?.q, second?.q]).toEqual(["a", "ab"]);
    second?.answer({ items: items.slice(0, 1) });
    first?.answer({ items: items.slice(0, 3) });
    await new Promise((resolve) => setTimeout(resolve, 0));
    expect(list.getState().items).toHaveLength(1);
    stop();
  });

  it("keeps what it shows when a refresh fails", async () => {
    const source = new Source();
    const list = new ConversationList(source);
    const stop = list.subscribe(() => {});
    await source.answer({ items });
    void list.refresh();
    await source.answer(new Error("down"));
    expect(list.getState().items).toHaveLength(5);
    expect(list.getState().error).toBeInstanceOf(Error);
    stop();
  });

  it("shows a new title at once and takes it back when it is refused", async () => {
    const source = new Source();
    const list = new ConversationList(source);
    const stop = list.subscribe(() => {});
    await source.answer({ items });
    const renamed = list.rename("c4", "Orders");
    expect(list.getState().items[1]?.title).toBe("Orders");
    await renamed;
    expect(source.renamed).toEqual([["c4", "Orders"]]);
    source.refuse = true;
    await expect(list.rename("c4", "Other")).rejects.toThrow("refused");
    expect(list.getState().items[1]?.title).toBe("Orders");
    await expect(list.remove("c4")).rejects.toThrow("refused");
    expect(list.getState().items).toHaveLength(5);
    source.refuse = false;
    await list.remove("c4");
    expect(ids(list.getState().items)).toEqual(["c5", "c3", "c2", "c1"]);
    stop();
  });
});
