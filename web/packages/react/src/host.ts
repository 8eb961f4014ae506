import type { Action, Block } from "@inlay-ui/client";
import { allowedUrl } from "./allow.ts";
import type { Allow, BlockHost, Prompt } from "./context.ts";
import type { ChatStore } from "./store.ts";

/** A prompt's text with `{{name}}` replaced by the parameters that there are. */
export function fillPrompt(text: string, params: Record<string, unknown>): string {
  return text.replace(/\{\{\s*([\w.-]+)\s*\}\}/g, (place, name: string) =>
    Object.hasOwn(params, name) ? String(params[name]) : place,
  );
}

/** Whether an action can be a button: it needs nothing that only the block's body knows. */
export function standsAlone(action: Action): boolean {
  if (action.kind === "link") return action.href !== undefined;
  if (action.kind !== "prompt") return false;
  return !fillPrompt(action.prompt ?? "", action.params ?? {}).includes("{{");
}

/** Brings what blocks ask for to the chat that shows them. */
export class Host implements BlockHost {
  readonly stores = new Set<ChatStore>();
  allow: Allow = {};
  onPrompt: ((prompt: Prompt) => boolean | undefined) | undefined;

  async retry(messageId: string, blockId: string): Promise<boolean> {
    return (await this.#store(messageId)?.retryBlock(blockId)) ?? false;
  }

  async refresh(messageId: string, blockId: string): Promise<boolean> {
    return (await this.#store(messageId)?.refreshBlock(blockId)) ?? false;
  }

  async runAction(
    messageId: string,
    block: Block,
    action: Action,
    given: Record<string, unknown> = {},
  ): Promise<boolean> {
    const params = { ...action.params, ...given };
    if (action.kind === "link") {
      const url = allowedUrl(action.href ?? "", this.allow.link_hosts);
      if (url === null) return false;
      window.open(url, "_blank", "noopener,noreferrer");
      return true;
    }
    if (action.kind === "prompt" && this.onPrompt) {
      const text = fillPrompt(action.prompt ?? action.label, params);
      if (this.onPrompt({ text, messageId, block, action, params })) return true;
    }
    return (await this.#store(messageId)?.runAction(block, action, params)) ?? false;
  }

  #store(messageId: string): ChatStore | undefined {
    for (const store of this.stores) if (store.has(messageId)) return store;
    return undefined;
  }
}
