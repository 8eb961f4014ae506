import type { Action, Block } from "@inlay-ui/client";
import {
  createContext,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { formatTime } from "./clock.ts";
import { type RunOptions, useInlay } from "./context.ts";
import { isSupported, type LocalOperation, localOperation } from "./host.ts";
import { type ActionOutcome, stateOf } from "./outcome.ts";

/** What the frame around a block does for its `local` actions. */
export interface Local {
  /** The body is shown in full. */
  open: boolean;
  run(operation: LocalOperation, action: Action): Promise<boolean>;
}

/** The nearest frame's {@link Local}; null outside any. */
export const LocalContext = createContext<Local | null>(null);

/** How an action of a block stands right now. */
export interface Standing {
  /** Its call runs. */
  busy: boolean;
  /** It cannot be done: not by this client, or not in the state that its block is in. */
  disabled: boolean;
}

/** The actions of a block, for a renderer that draws buttons of its own. */
export interface BlockActions {
  /** The block's action of that id, if there is one. */
  find(id: string): Action | undefined;
  /** How an action stands: busy with this payload, or with any when none is given. */
  standing(action: Action, payload?: unknown): Standing;
  /**
   * Runs an action. The payload is sent as it is given; without one the
   * action's own parameters are. Asks the reader first for values that are
   * missing and where that is wanted, tells what came of it (except failures of
   * a `quiet` call, which is not asked for values), and never makes the same
   * call twice at a time.
   */
  run(action: Action, payload?: unknown, options?: RunOptions): Promise<ActionOutcome>;
}

/** The actions of a block with their states; the component is drawn anew when one changes. */
export function useBlockActions(block: Block, messageId: string): BlockActions {
  const { host } = useInlay();
  const local = useContext(LocalContext);
  const snapshot = () => host.running(block.id);
  const running = useSyncExternalStore(host.subscribe, snapshot, snapshot);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what stands on the host changes with what runs
  return useMemo<BlockActions>(
    () => ({
      find: (id) => block.actions?.find((a) => a.id === id),
      standing: (action, payload) => ({
        busy: host.busy(block.id, action.id, payload),
        disabled: !isSupported(action) || isOff(action, block),
      }),
      run: async (action, payload, options) => {
        if (isOff(action, block)) return { status: "dismissed" };
        if (action.kind !== "local") return host.act(messageId, block, action, payload, options);
        host.used(block, action);
        const operation = localOperation(action);
        const done = operation !== null && (await local?.run(operation, action));
        return { status: done ? "done" : "failed" };
      },
    }),
    [host, block, messageId, local, running],
  );
}

/** Whether an action cannot be done in the state that its block is in. */
export function isOff(action: Action, block: Block): boolean {
  const state = stateOf(block);
  if (state === null) return false;
  if (action.disabledWhen !== undefined) {
    return (
      state.status === action.disabledWhen ||
      (state.locked === true && action.disabledWhen === "locked")
    );
  }
  return action.kind === "api" && (state.locked === true || state.status === "submitting");
}

/** What the buttons of a block say of their own actions that went well. */
export interface Said {
  /** The words that stand in the place of a button's label. */
  of(action: Action, payload?: unknown): string | undefined;
  /** Options that bring the words to the button. */
  options(action: Action, payload?: unknown): RunOptions;
}

/** Keeps what buttons say until their block is another one; its state may say it for good. */
export function useSaid(block: Block): Said {
  const at = `${block.rev} ${block.meta?.refreshedAt}`;
  const [said, setSaid] = useState<{ at: string; texts: Record<string, string> }>();
  const here = useRef(false);
  useEffect(() => {
    here.current = true;
    return () => {
      here.current = false;
    };
  }, []);
  const texts = said?.at === at ? said.texts : {};
  const key = ({ id, params }: Action, payload: unknown = params ?? {}) =>
    `${id} ${JSON.stringify(payload)}`;
  const state = stateOf(block);
  return {
    of: (action, payload) => {
      const own = key(action, payload);
      const did = state?.status === "done" && state.actionId === action.id;
      return did && key(action, state.values ?? payload) === own
        ? action.feedback?.successText
        : texts[own];
    },
    options: (action, payload) => ({
      said: (text) => {
        if (here.current) setSaid({ at, texts: { ...texts, [key(action, payload)]: text } });
        return here.current;
      },
    }),
  };
}

/** One action as a button. */
export function ActionButton({
  block,
  messageId,
  action,
  payload,
}: {
  block: Block;
  messageId: string;
  action: Action;
  /** Sent instead of the action's own parameters. */
  payload?: unknown;
}) {
  const { t } = useInlay();
  const actions = useBlockActions(block, messageId);
  const said = useSaid(block);
  const local = useContext(LocalContext);
  const { busy, disabled } = actions.standing(action, payload);
  const operation = action.kind === "local" ? localOperation(action) : null;
  const folds = operation === "expand" || operation === "collapse";
  const done = said.of(action, payload);
  return (
    <button
      type="button"
      className="inlay-button"
      data-style={action.style}
      data-action-id={action.id}
      data-said={done !== undefined || undefined}
      disabled={disabled}
      aria-disabled={busy || disabled}
      aria-busy={busy}
      aria-expanded={folds ? local?.open : undefined}
      onClick={() => {
        if (!busy) void actions.run(action, payload, said.options(action, payload));
      }}
    >
      {busy ? t("chat.action.busy", { label: action.label }) : (done ?? action.label)}
    </button>
  );
}

/** What the last action did to its block, in one line; nothing for a block nobody acted on. */
export function StateLine({ block }: { block: Block }) {
  const { t, lang } = useInlay();
  const state = stateOf(block);
  const key = `chat.action.state.${state?.status}`;
  const known = state && t(key) !== key ? t(key) : "";
  const text = state?.text || known;
  if (!state || text === "") return null;
  const bad = state.status === "failed" || state.status === "unknown";
  return (
    <p className="inlay-block-note inlay-state" data-tone={bad ? "error" : undefined}>
      <span>{text}</span>
      {state.at !== undefined && (
        <time dateTime={new Date(state.at).toISOString()}>{formatTime(lang, state.at)}</time>
      )}
    </p>
  );
}
