import type { InlayClient } from "@inlay-ui/client";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { useInlay } from "./context.ts";
import { type ChatActions, type ChatOptions, type ChatState, ChatStore } from "./store.ts";

/** What {@link useChat} gives: the chat's state and what can be done with it. */
export interface Chat extends ChatState, ChatActions {}

interface Held {
  client: InlayClient;
  conversationId: string | undefined;
  store: ChatStore;
}

function hold(client: InlayClient, options: ChatOptions): Held {
  const store = new ChatStore(client, options);
  return { client, conversationId: options.conversationId, store };
}

/**
 * One conversation: its history, its streams and what a person can do. Without
 * an id it is a new one, which gets its id with its first message; passing
 * that id in later keeps the same chat. The actions never change.
 */
export function useChat(options: ChatOptions = {}): Chat {
  const { client, attach } = useInlay();
  const { conversationId, leaf } = options;
  const [state, setHeld] = useState(() => hold(client, options));
  let held = state;
  if (held.client !== client || held.conversationId !== conversationId) {
    const adopted =
      held.client === client &&
      conversationId !== undefined &&
      held.store.getState().conversationId === conversationId;
    held = adopted ? { ...held, conversationId } : hold(client, options);
    setHeld(held);
  }
  const { store } = held;
  const chat = useSyncExternalStore(store.subscribe, store.getState, store.getState);
  useEffect(() => attach(store), [attach, store]);
  useEffect(() => {
    const { messages, loading } = store.getState();
    if (leaf !== undefined && !loading && messages.at(-1)?.id !== leaf) {
      void store.selectBranch(leaf);
    }
  }, [store, leaf]);
  return useMemo(
    () => ({
      ...chat,
      send: store.send,
      stop: store.stop,
      regenerate: store.regenerate,
      edit: store.edit,
      selectBranch: store.selectBranch,
      retryBlock: store.retryBlock,
      refreshBlock: store.refreshBlock,
      runAction: store.runAction,
      act: store.act,
      reload: store.reload,
    }),
    [chat, store],
  );
}
