import type { Action, Block, InlayClient } from "@inlay-ui/client";
import { createContext, useContext } from "react";
import type { Translate } from "./i18n/index.ts";
import type { BlockRegistry } from "./registry.ts";
import type { ChatStore } from "./store.ts";

/** The theme that was asked for; `system` follows the device. */
export type Theme = "light" | "dark" | "system";

/** The hosts that links and images may lead to. An absent list allows every https host. */
export interface Allow {
  link_hosts?: string[] | undefined;
  image_hosts?: string[] | undefined;
}

/** What a block asks of the chat that it is part of. Each says whether it was done. */
export interface BlockHost {
  retry(messageId: string, blockId: string): Promise<boolean>;
  refresh(messageId: string, blockId: string): Promise<boolean>;
  runAction(
    messageId: string,
    block: Block,
    action: Action,
    params?: Record<string, unknown>,
  ): Promise<boolean>;
}

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
  /** Makes a chat known, so that blocks of its messages can reach it. Returns the undoing. */
  attach(store: ChatStore): () => void;
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
