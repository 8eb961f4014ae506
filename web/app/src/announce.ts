import type { Block, Message, MessageStatus } from "@inlay-ui/client";
import { isAnswering } from "@inlay-ui/react";
import { toFailure, wordError } from "./errors.ts";
import { isTextKey, type Translate } from "./i18n/index.ts";

/**
 * What a screen reader is told about the change from one state of the messages
 * to the next: that an answer began, which blocks became ready, how it ended.
 * Text is never part of it; it can be read in the feed at the reader's own pace.
 */
export function announcements(
  before: readonly Message[],
  after: readonly Message[],
  t: Translate,
): string[] {
  const known = new Map(before.map((message) => [message.id, message]));
  const said: string[] = [];
  for (const message of after) {
    if (message.role !== "assistant") continue;
    const old = known.get(message.id);
    if (old === message) continue;
    const now = standing(message);
    const was = old && standing(old);
    // A finished message that was not here before is history being read in.
    if (old === undefined && now !== "running") continue;
    if (now === "running" && was !== "running") said.push(t("live.answering"));
    if (old !== undefined) said.push(...blockAnnouncements(old.blocks, message.blocks, t));
    // An answer that was complete before its turn ended was told to be.
    if (old?.status === "running" && now !== "running" && now !== was) {
      said.push(ending(message, now, t));
    }
  }
  return said;
}

/** How a message stands for its reader: an answer that is complete is done. */
function standing(message: Message): MessageStatus {
  return message.status === "running" && !isAnswering(message) ? "done" : message.status;
}

function blockAnnouncements(
  before: readonly Block[],
  after: readonly Block[],
  t: Translate,
): string[] {
  const known = new Map(before.map((block) => [block.id, block]));
  const said: string[] = [];
  for (const block of after) {
    if (block.type === "text") continue;
    const old = known.get(block.id);
    if (old?.status === block.status) continue;
    if (block.status === "error") {
      said.push(t("live.blockFailed", { title: titleOf(block, t) }));
    } else if (block.status === "done") {
      if (block.type === recommendation) {
        said.push(t("live.suggested", { items: labelsOf(block).join(", ") }));
        continue;
      }
      const key = `live.ready.${block.type}`;
      said.push(t(isTextKey(key) ? key : "live.ready.other", { title: titleOf(block, t) }));
    }
  }
  return said;
}

const recommendation = "minara.feature_recommendation";

/** What is written on the buttons of a recommendation. */
function labelsOf({ payload }: Block): string[] {
  const { items } = (payload ?? {}) as { items?: unknown };
  if (!Array.isArray(items)) return [];
  return items.flatMap((item: { label?: unknown } | null) =>
    typeof item?.label === "string" ? [item.label] : [],
  );
}

/** The title a block is spoken of by. */
export function titleOf(block: Block, t: Translate): string {
  if (block.meta?.title) return block.meta.title;
  const payload = block.payload;
  if (typeof payload === "object" && payload !== null && "title" in payload) {
    const title = payload.title;
    if (typeof title === "string" && title !== "") return title;
  }
  return t("live.untitled");
}

function ending(message: Message, status: MessageStatus, t: Translate): string {
  if (status === "cancelled") return t("live.stopped");
  if (status === "paused") return t("live.paused");
  if (status === "error") {
    const wording = wordError(toFailure(message.error ?? { code: "unknown" }));
    return t("live.failed", { reason: t(wording.what) });
  }
  return t("live.complete");
}

/**
 * Hands texts to a live region one after the other with enough time between
 * them for a screen reader to notice each change. Equal neighbours are said once.
 */
export class Announcer {
  #queue: string[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #last = "";
  readonly #show: (text: string) => void;
  readonly #gap: number;

  constructor(show: (text: string) => void, gapMs = 600) {
    this.#show = show;
    this.#gap = gapMs;
  }

  /** Queues a text. */
  say(text: string): void {
    if ((this.#queue.at(-1) ?? (this.#timer ? this.#last : "")) === text) return;
    this.#queue.push(text);
    if (this.#timer === undefined) this.#next();
  }

  /** Forgets what was not said yet, e.g. when the conversation changes. */
  clear(): void {
    this.#queue = [];
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #next(): void {
    const text = this.#queue.shift();
    if (text === undefined) {
      this.#timer = undefined;
      return;
    }
    this.#last = text;
    this.#show(text);
    this.#timer = setTimeout(() => this.#next(), this.#gap);
  }
}
