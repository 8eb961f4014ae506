import type { Action, Block } from "@inlay-ui/client";
import { type ReactNode, useEffect, useId, useState } from "react";
import { useBlockActions } from "../actions.tsx";
import { formatTime } from "../clock.ts";
import { useInlay } from "../context.ts";
import { loadFormWords } from "../form/words.ts";
import { Markdown } from "../markdown/Markdown.tsx";
import { stateOf } from "../outcome.ts";

loadFormWords();

/** What questions to the person have in common. */

/** The milliseconds until a time, told anew as often as the words for it change; null for no time. */
export function useLeft(expiresAt: number | undefined): number | null {
  const [now, setNow] = useState(() => Date.now());
  const left = expiresAt === undefined ? null : Math.max(0, expiresAt - now);
  useEffect(() => {
    if (left === null || left === 0) return;
    const wait = left > 120_000 ? 30_000 : 1_000;
    const timer = setTimeout(() => setNow(Date.now()), Math.min(wait, left));
    return () => clearTimeout(timer);
  }, [left]);
  return left;
}

function leftText(ms: number, lang: string): string {
  const seconds = Math.ceil(ms / 1000);
  // Nobody needs the seconds of hours.
  const [unit, size] =
    seconds > 172_800
      ? (["day", 86_400] as const)
      : seconds > 7200
        ? (["hour", 3600] as const)
        : seconds > 120
          ? (["minute", 60] as const)
          : (["second", 1] as const);
  const style = { style: "unit", unit, unitDisplay: "long" } as const;
  return new Intl.NumberFormat(lang, style).format(Math.ceil(seconds / size));
}

/** Runs the ways in which a block can be answered; an answer that the server did not name is made up. */
export function useAnswers(block: Block, messageId: string) {
  const actions = useBlockActions(block, messageId);
  const known = (id: string, label: string): Action =>
    actions.find(id) ?? { id, label, kind: "api" };
  return { ...actions, known };
}

/** Whether a question takes no answer any more. */
export function isOver(block: Block): boolean {
  const state = stateOf(block);
  return state?.locked === true && state.status !== "submitting";
}

/** A question with its detail, the time it stands open, and below it the ways to answer, or the answer. */
export function Ask({
  block,
  prompt,
  detail,
  expiresAt,
  tone,
  note,
  children,
  answered,
}: {
  block: Block;
  prompt: string;
  detail?: string | undefined;
  expiresAt?: number | undefined;
  tone?: string | undefined;
  /** Said before the question. */
  note?: string | undefined;
  /** The ways to answer, while it is open. */
  children(off: boolean): ReactNode;
  /** What was answered, once it was. */
  answered: ReactNode;
}) {
  const { t, lang, allow } = useInlay();
  const id = useId();
  const state = stateOf(block);
  const left = useLeft(expiresAt);
  const over = isOver(block);
  const late = !over && left === 0;
  return (
    <fieldset className="inlay-ask" data-tone={tone} aria-labelledby={id}>
      {note && !over && !late && <p className="inlay-ask-note">{note}</p>}
      <p className="inlay-ask-prompt" id={id}>
        {prompt}
      </p>
      {detail && <Markdown text={detail} streaming={false} allow={allow} />}
      {over || late ? (
        <>
          <p className="inlay-form-state" role="status">
            <span>{late ? t("chat.confirm.expired") : words(t, state)}</span>
            {state?.at !== undefined && (
              <time className="inlay-muted" dateTime={new Date(state.at).toISOString()}>
                {formatTime(lang, state.at)}
              </time>
            )}
          </p>
          {answered}
        </>
      ) : (
        <>
          {children(state?.status === "submitting" || block.status !== "done")}
          {left !== null && expiresAt !== undefined && (
            <p className="inlay-muted">
              {t("chat.confirm.openUntil", {
                time: formatTime(lang, expiresAt),
                left: leftText(left, lang),
              })}
            </p>
          )}
        </>
      )}
    </fieldset>
  );
}

function words(t: (key: string) => string, state: ReturnType<typeof stateOf>): string {
  if (state?.text) return state.text;
  if (state?.status === "expired") return t("chat.confirm.expired");
  if (state?.status === "cancelled") return t("chat.confirm.cancelled");
  const key = `chat.confirm.answer.${state?.answer ?? "answer"}`;
  const text = t(key);
  return text === key ? t("chat.action.state.answered") : text;
}
