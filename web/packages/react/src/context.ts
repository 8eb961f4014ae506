import type { Action, Block, FeatureRecommendationItem, InlayClient } from "@inlay-ui/client";
import { createContext, useContext } from "react";
import type { Translate } from "./i18n/index.ts";
import type { ActionOutcome } from "./outcome.ts";
import type { BlockRegistry } from "./registry.ts";
import type { ChatStore } from "./store.ts";

/** The theme that was asked for; `system` follows the device. */
export type Theme = "light" | "dark" | "system";

/**
 * Where blocks may lead. Under an absent list of routes, slash commands or
 * modals the page's own {@link Navigation} and modals decide alone; under an
 * absent list of hosts links lead to every https host, and items of a
 * recommendation to the hosts that the protocol names.
 */
export interface Allow {
  /** Paths as they are, or everything below one: `/market/*`. */
  routes?: string[] | undefined;
  /** Slash commands, with or without the slash. */
  slash?: string[] | undefined;
  modals?: string[] | undefined;
  link_hosts?: string[] | undefined;
  image_hosts?: string[] | undefined;
}

/** What the page around the blocks can do for an item that leads somewhere. */
export interface Navigation {
  /** Goes to a path of the page, as its router does. */
  navigate(target: string): void;
  /** Whether the page has that path. Without it every path that is allowed is taken for known. */
  knows?(target: string): boolean;
  /** Puts a slash command into the field of the next message. It never sends. */
  prefill?(command: string): void;
}

/** How an action of a block is run. */
export interface RunOptions {
  /**
   * The caller has a form of its own: values that are missing are not asked
   * for, and it tells the reader itself what went wrong.
   */
  quiet?: boolean;
  /**
   * Shows in the place of a notice that a call went well which left its block
   * as it was, such as on the button that began it. Returns whether it does.
   */
  said?(text: string): boolean;
}

/** What a block asks of the chat that it is part of. Those with a boolean say whether it was done. */
export interface BlockHost {
  retry(messageId: string, blockId: string): Promise<boolean>;
  refresh(messageId: string, blockId: string): Promise<boolean>;
  runAction(
    messageId: string,
    block: Block,
    action: Action,
    params?: Record<string, unknown>,
  ): Promise<boolean>;
  /**
   * Runs an action with this payload, the action's own parameters when absent.
   * Asks the reader first for what the action still needs, and where the action
   * or the server wants it agreed to, and tells what came of it. While a call runs the same
   * one, with the same payload, is not made again.
   */
  act(
    messageId: string,
    block: Block,
    action: Action,
    payload?: unknown,
    options?: RunOptions,
  ): Promise<ActionOutcome>;
  /** Tells the server that an action was chosen. Nothing waits for it, and nothing comes of it. */
  used(block: Block, action: Action): void;
  /**
   * Follows an item of a recommendation, the one way to do so: to a path of the
   * page, into the field of the next message, to a modal or to another site.
   * The item is checked again; one that is refused does nothing but warn in
   * the console.
   */
  follow(block: Block, item: FeatureRecommendationItem): Promise<boolean>;
  /** Whether a call of an action runs: one with this payload, or any when none is given. */
  busy(blockId: string, actionId: string, payload?: unknown): boolean;
  /** The calls of a block that run, as a word that changes with them. */
  running(blockId: string): string;
  /** Calls the listener when calls begin and end. Returns the undoing. */
  subscribe(listener: () => void): () => void;
}

/** Who keeps messages and does what their blocks ask for, such as a chat. */
export type BlockStore = Pick<ChatStore, "has" | "act" | "retryBlock" | "refreshBlock">;

/** A prompt that a block wants to send. */
export interface Prompt {
  /** The action's text with its parameters filled in. */
  text: string;
  messageId: string;
  block: Block;
  action: Action;
  params: Record<string, unknown>;
}

/** What everything below an InlayProvider shares. */
export interface Inlay {
  client: InlayClient;
  lang: string;
  theme: Theme;
  /** The theme in force is the dark one. */
  dark: boolean;
  allow: Allow;
  registry: BlockRegistry;
  t: Translate;
  host: BlockHost;
  /** What the page can do. The object is the same while what it can do is. */
  navigation: Navigation | undefined;
  /** The names of the modals that can be opened. */
  modals: readonly string[];
  /** Makes a chat known, or who else keeps messages, so that blocks of their messages can reach it. Returns the undoing. */
  attach(store: BlockStore): () => void;
}

/** Holds the nearest provider's {@link Inlay}. */
export const InlayContext = createContext<Inlay | null>(null);

/** The nearest provider's client, language, theme and registry. */
export function useInlay(): Inlay {
  const inlay = useContext(InlayContext);
  if (!inlay) throw new Error("useInlay needs an InlayProvider above it");
  return inlay;
}

/** The lookup of words in the provider's language. */
export function useT(): Translate {
  return useInlay().t;
}
