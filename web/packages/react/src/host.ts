import {
  type Action,
  type Block,
  ConfirmationRequired,
  type FeatureRecommendationItem,
  type InlayClient,
  InlayError,
  newKey,
} from "@inlay-ui/client";
import { createElement } from "react";
import { allowedUrl } from "./allow.ts";
import type { Allow, BlockHost, BlockStore, Navigation, Prompt, RunOptions } from "./context.ts";
import type { Translate } from "./i18n/index.ts";
import type { ModalEntry } from "./modals.ts";
import { Notices } from "./notices.ts";
import { type ActionOutcome, failureText, succeeded } from "./outcome.ts";

const places = /\{\{\s*([\w.-]+)\s*\}\}/g;

/** A prompt's text with `{{name}}` replaced by the parameters that there are. */
export function fillPrompt(text: string, params: Record<string, unknown>): string {
  return text.replace(places, (place, name: string) =>
    Object.hasOwn(params, name) ? String(params[name]) : place,
  );
}

/** What an action of kind `local` may do. */
export type LocalOperation = "copy" | "expand" | "collapse" | "download";

const operations: readonly string[] = ["copy", "expand", "collapse", "download"];

/** What a `local` action does; null when this client knows nothing of it. */
export function localOperation(action: Action): LocalOperation | null {
  const name = action.action ?? action.id;
  return operations.includes(name) ? (name as LocalOperation) : null;
}

/** Whether this client knows how to do an action. */
export function isSupported(action: Action): boolean {
  switch (action.kind) {
    case "link":
      return action.href !== undefined;
    case "local":
      return localOperation(action) !== null;
    default:
      return action.kind === "prompt" || action.kind === "api";
  }
}

/** Whether an action can be a button: it needs nothing that only the block's body knows. */
export function standsAlone(action: Action): boolean {
  if (!isSupported(action)) return false;
  const sent = action.kind === "prompt" || action.kind === "api";
  return !sent || missing(action).every((name) => canAsk(action, name));
}

/** The values that an action needs and that are not among the given ones, its own parameters when absent. */
export function missing(action: Action, given: unknown = action.params): string[] {
  const names = new Set<string>();
  for (const [, name = ""] of (action.prompt ?? "").matchAll(places)) names.add(name);
  const required = schemaOf(action).required;
  if (Array.isArray(required)) for (const name of required) names.add(String(name));
  return [...names].filter((name) => !isObject(given) || !Object.hasOwn(given, name));
}

/** Whether an action says what a value of it may be, so that the reader can be asked for it. */
function canAsk(action: Action, name: string): boolean {
  const { properties } = schemaOf(action);
  return isObject(properties) && Object.hasOwn(properties, name);
}

function schemaOf({ inputSchema }: Action): Record<string, unknown> {
  return isObject(inputSchema) ? inputSchema : {};
}

/** Brings what blocks ask for to the chat that shows them. */
export class Host implements BlockHost {
  readonly stores = new Set<BlockStore>();
  readonly notices = new Notices();
  allow: Allow = {};
  client: InlayClient | undefined;
  t: Translate = (key) => key;
  navigation: Navigation | undefined;
  modals: Readonly<Record<string, ModalEntry>> = {};
  onPrompt: ((prompt: Prompt) => boolean | undefined) | undefined;
  readonly #running = new Map<string, Promise<ActionOutcome>>();
  readonly #listeners = new Set<() => void>();
  /** The items that are on their way to where they lead, such as a modal that loads. */
  readonly #following = new Set<string>();

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  busy(blockId: string, actionId: string, payload?: unknown): boolean {
    const call = callId(blockId, actionId, payload);
    if (payload !== undefined) return this.#running.has(call);
    return [...this.#running.keys()].some((id) => id.startsWith(call));
  }

  running(blockId: string): string {
    const own = [...this.#running.keys()].filter((id) => id.startsWith(`${blockId}\n`));
    return own.join("\n");
  }

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
    return succeeded(await this.act(messageId, block, action, params));
  }

  act(
    messageId: string,
    block: Block,
    action: Action,
    payload: unknown = action.params ?? {},
    options: RunOptions = {},
  ): Promise<ActionOutcome> {
    const call: Call = { messageId, block, action, payload, options, ids: undefined };
    return this.#once(call, () => {
      this.used(block, action);
      return options.quiet ? this.#begin(call) : this.#complete(call);
    });
  }

  used(block: Block, action: Action): void {
    this.client?.telemetry(block.id, action.id, action.kind);
  }

  async follow(block: Block, item: FeatureRecommendationItem): Promise<boolean> {
    this.client?.telemetry(block.id, item.id, item.action.kind);
    const id = callId(block.id, item.id, undefined);
    if (this.#following.has(id)) return false;
    this.#following.add(id);
    try {
      return await (await import("./recommendation/follow.ts")).follow(this, block, item);
    } finally {
      this.#following.delete(id);
    }
  }

  /** Does the work of a call, unless one like it runs: then its outcome is that one's. */
  #once({ block, action, payload }: Call, work: () => Promise<ActionOutcome>) {
    const id = callId(block.id, action.id, payload);
    let running = this.#running.get(id);
    if (!running) {
      running = work().finally(() => {
        this.#running.delete(id);
        this.#changed();
      });
      this.#running.set(id, running);
      this.#changed();
    }
    return running;
  }

  /** Asks for the values that a call lacks, if it lacks any. */
  async #complete(call: Call): Promise<ActionOutcome> {
    const { action, payload, options } = call;
    const names = missing(action, payload);
    if (names.length === 0 || !names.every((name) => canAsk(action, name))) {
      return this.#begin(call);
    }
    const form = await import("./form/ActionForm.tsx").catch((error: unknown) => ({ error }));
    if ("error" in form) {
      this.#tell(call, { status: "failed", error: form.error });
      return { status: "failed", error: form.error };
    }
    const given = isObject(payload) ? payload : {};
    return this.notices.show<ActionOutcome>({ status: "dismissed" }, (end) =>
      createElement(form.ActionForm, {
        action,
        names,
        given,
        // Each sending is a click of its own: the server may have refused the one before for good.
        send: (values) =>
          this.#begin({
            ...call,
            payload: { ...given, ...values },
            options: { ...options, quiet: true },
            ids: undefined,
          }),
        tell: (outcome) => this.#tell(call, outcome),
        end,
      }),
    );
  }

  async #begin(call: Call): Promise<ActionOutcome> {
    const { messageId, block, action, payload } = call;
    if (action.kind === "link") {
      const url = allowedUrl(action.href ?? "", this.allow.link_hosts);
      if (url === null) {
        console.warn(`inlay: the address of ${action.id} is not allowed: ${action.href}`);
        return { status: "failed" };
      }
      window.open(url, "_blank", "noopener,noreferrer");
      return { status: "done" };
    }
    if (action.kind !== "prompt" && action.kind !== "api") return { status: "failed" };
    // Made at the click, and kept for every try of it.
    call.ids ??= { idempotencyKey: newKey(), traceId: newKey() };
    if (action.confirm && !(await this.#ask(call, action.confirm))) return { status: "dismissed" };
    if (action.kind === "prompt" && this.onPrompt) {
      const params = isObject(payload) ? payload : {};
      const text = fillPrompt(action.prompt ?? action.label, params);
      if (this.onPrompt({ text, messageId, block, action, params })) return { status: "done" };
    }
    return this.#send(call, action.confirm);
  }

  /** Sends a call, again with the reader's word where the server wants it. */
  async #send(call: Call, agreed?: string): Promise<ActionOutcome> {
    const { messageId, block, action, payload } = call;
    const store = this.#store(messageId) ?? this.#alone(messageId);
    let confirmToken: string | undefined;
    for (;;) {
      const outcome = await store.act(block, action, payload, { ...call.ids, confirmToken });
      const { error } = outcome;
      if (!(error instanceof ConfirmationRequired)) {
        const passing = error instanceof InlayError && error.retryable;
        // Under the key that it had: what the server has done already is not done twice.
        const retry = () => this.#once(call, () => this.#send(call, action.confirm));
        const told = passing ? { ...outcome, retry } : outcome;
        this.#tell(call, told);
        return told;
      }
      // What was just agreed to in the same words is not asked twice.
      const known = agreed !== undefined && error.text === agreed && confirmToken === undefined;
      if (!known && !(await this.#ask(call, error.text))) return { status: "dismissed" };
      confirmToken = error.confirmToken;
    }
  }

  #ask({ action }: Call, text: string): Promise<boolean> {
    return this.notices.ask({
      title: action.label,
      text: text || this.t("chat.block.confirm"),
      danger: action.style === "danger",
    });
  }

  #tell(call: Call, outcome: ActionOutcome): void {
    const { action, options } = call;
    if (outcome.status === "unknown") {
      this.notices.say({ tone: "bad", text: this.t("chat.action.unknown") });
    } else if (outcome.status !== "failed") {
      const own = action.feedback?.successText;
      const text = outcome.text ?? own;
      // Good news of what has only begun would be too early.
      void (outcome.ended ?? Promise.resolve(true)).then((well) => {
        if (!text || !well) return;
        const plain = outcome.status === "done" && !outcome.changed && text === own;
        const heard = plain && options.said?.(text);
        this.notices.say({ tone: "good", text, ...(heard ? { heard } : {}) });
      });
    } else if (!options.quiet) {
      const { error, retry } = outcome;
      const text = failureText(this.t, error, action.feedback?.failureToast);
      this.notices.say({ tone: "bad", text, ...(retry ? { retry: () => void retry() } : {}) });
    }
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }

  #store(messageId: string): BlockStore | undefined {
    for (const store of this.stores) if (store.has(messageId)) return store;
    return undefined;
  }

  /** Sends the actions of a block that no chat shows. */
  #alone(messageId: string): Pick<BlockStore, "act"> {
    const { client } = this;
    return {
      act: async (block, action, payload, ids) => {
        if (!client) return { status: "failed" };
        try {
          const request = { msgId: messageId, blockId: block.id, actionId: action.id, payload };
          const { status, feedback, ...rest } = await client.action({ ...request, ...ids });
          const result = "result" in rest ? rest.result : undefined;
          const changed = rest.block !== undefined && rest.block.rev !== block.rev;
          return { status, result, changed, text: feedback?.successText };
        } catch (error) {
          return { status: "failed", error };
        }
      },
    };
  }
}

/** One click, with the ids that all its requests carry. */
interface Call {
  messageId: string;
  block: Block;
  action: Action;
  payload: unknown;
  options: RunOptions;
  ids: { idempotencyKey: string; traceId: string } | undefined;
}

function callId(blockId: string, actionId: string, payload: unknown): string {
  const what = payload === undefined ? "" : JSON.stringify(payload);
  return `${blockId}\n${actionId}\n${what}`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
