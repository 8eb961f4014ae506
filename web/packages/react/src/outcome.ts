import { type ActionState, type Block, InlayError } from "@inlay-ui/client";
import { errorText, type Translate } from "./i18n/index.ts";

/** What came of an action. */
export interface ActionOutcome {
  /**
   * `accepted`: it goes on in the message. `unknown`: it may have happened.
   * `dismissed`: the reader did not want it after all.
   */
  status: "done" | "accepted" | "unknown" | "failed" | "dismissed";
  result?: unknown;
  /** It changed its block, or added to the message: that can be seen there. */
  changed?: boolean;
  /** What the server wants the reader told. */
  text?: string | undefined;
  /** Why it failed: an InlayError, as a rule. */
  error?: unknown;
  /** Of what goes on in the message: whether it went well in the end, as far as this page saw it. */
  ended?: Promise<boolean>;
  /** Of a failure that may pass: sends the same call again under the key that it had. */
  retry?: () => Promise<ActionOutcome>;
}

/** Whether the action was done, or will be. */
export function succeeded(outcome: ActionOutcome): boolean {
  return ["done", "accepted", "unknown"].includes(outcome.status);
}

/** The code of what was thrown. */
export function codeOf(error: unknown): string {
  return error instanceof InlayError ? error.code : "unknown";
}

/** Words the failure of an action: what its author wrote for it, and why. */
export function failureText(t: Translate, error: unknown, toast?: string): string {
  const details = error instanceof InlayError ? error.details : undefined;
  const given = (details?.feedback as { failureToast?: unknown } | undefined)?.failureToast;
  const own = typeof given === "string" ? given : toast;
  const code = codeOf(error);
  // What the action itself says of it is meant for people.
  const said = code === "action_failed" && error instanceof InlayError ? error.message : "";
  if (code === "action_failed" && own && (said === own || said === code)) return own;
  const why = said && said !== code ? said : errorText(t, code);
  return own ? t("chat.action.failedBecause", { text: own, reason: why }) : why;
}

/** The state that a block was put into by an action, if it is one. */
export function stateOf(block: Block): ActionState | null {
  const { state } = block;
  if (typeof state === "string") return { status: state };
  if (typeof state !== "object" || state === null || !("status" in state)) return null;
  return typeof state.status === "string" ? (state as ActionState) : null;
}
