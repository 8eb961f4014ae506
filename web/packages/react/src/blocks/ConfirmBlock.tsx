import { type ConfirmOption, type ConfirmPayload, violationsOf } from "@inlay-ui/client";
import { lazy, Suspense, useEffect, useId, useMemo, useRef, useState } from "react";
import { useInlay } from "../context.ts";
import { Restored, useKept } from "../form/kept.tsx";
import { Values } from "../form/Values.tsx";
import { failureText, stateOf, succeeded } from "../outcome.ts";
import type { BlockProps } from "../registry.ts";
import { Skeleton } from "../Skeleton.tsx";
import { Ask, isOver, useAnswers } from "./ask.tsx";

/** The longest reason for a rejection, in characters. */
const MOST_REASON = 500;

const SchemaForm = lazy(() => import("../form/SchemaForm.tsx"));

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Draws a `confirm` block: whether exactly this may be done. */
export default function ConfirmBlock({ block, payload, messageId }: BlockProps<ConfirmPayload>) {
  const { t } = useInlay();
  const { known, run, standing } = useAnswers(block, messageId);
  const { args, schema, uiSchema, severity = "info" } = payload;
  const keep = useKept(block.id, uiSchema, isOver(block));
  const { draft, round } = keep;
  const [doing, setDoing] = useState<"edit" | "reject" | null>(schema && draft ? "edit" : null);
  const [failure, setFailure] = useState<unknown>(null);
  // The button that the focus goes back to.
  const from = useRef<string | null>(null);
  const back = () => {
    from.current = doing;
    setDoing(null);
    setFailure(null);
  };
  const initial = draft ?? args ?? {};
  const violations = useMemo(() => violationsOf(failure), [failure]);
  const options: ConfirmOption[] = payload.options ?? [
    { id: "approve" },
    ...(schema ? [{ id: "edit" } as const] : []),
    { id: "reject" },
  ];
  const actionOf = (option: ConfirmOption) => {
    const action = known(option.id, t(`chat.confirm.${option.id}`));
    return { ...action, label: option.label ?? action.label };
  };
  const busy = options.some((option) => standing(actionOf(option)).busy);
  const change = async (values: Record<string, unknown>) => {
    setFailure(null);
    keep.flush();
    const edit = actionOf({ id: "edit" });
    const outcome = await run({ ...edit, label: t("chat.confirm.approveEdited") }, values, {
      quiet: true,
    });
    if (succeeded(outcome)) keep.drop();
    else if (outcome.status === "failed") setFailure(outcome.error ?? null);
  };
  const list = args && Object.keys(args).length > 0 && (
    <section className="inlay-args" aria-label={t("chat.confirm.args")}>
      <Values values={args} schema={schema} uiSchema={uiSchema} />
    </section>
  );
  const state = stateOf(block);
  return (
    <Ask
      block={block}
      prompt={payload.prompt}
      detail={payload.detail}
      expiresAt={payload.expiresAt}
      tone={severity}
      note={severity === "info" ? undefined : t(`chat.confirm.severity.${severity}`)}
      answered={
        state?.answer === "edit" && isObject(state.values) ? (
          <Values values={state.values} schema={schema} uiSchema={uiSchema} />
        ) : (
          list
        )
      }
    >
      {(off) =>
        doing === "edit" && schema ? (
          <Suspense fallback={<Skeleton height={160} />}>
            {draft && (
              <Restored
                onRestart={() => {
                  keep.restart();
                  setFailure(null);
                }}
              />
            )}
            <SchemaForm
              key={round}
              schema={schema}
              uiSchema={uiSchema}
              values={initial}
              disabled={off || busy}
              violations={violations}
              onChange={keep.save}
              onSubmit={(values) => void change(values)}
              buttons={(waiting) => (
                <>
                  {failure !== null && violations.length === 0 && (
                    <p className="inlay-field-error" role="alert">
                      {failureText(t, failure)}
                    </p>
                  )}
                  <div className="inlay-actions">
                    <button
                      type="submit"
                      className="inlay-button"
                      data-style={severity === "danger" ? "danger" : "primary"}
                      data-action-id="edit"
                      aria-disabled={off || busy || waiting}
                      aria-busy={busy}
                    >
                      {t("chat.confirm.approveEdited")}
                    </button>
                    <button
                      type="button"
                      className="inlay-button"
                      onClick={() => {
                        keep.restart();
                        back();
                      }}
                    >
                      {t("chat.confirm.back")}
                    </button>
                  </div>
                </>
              )}
            />
          </Suspense>
        ) : doing === "reject" ? (
          <>
            {list}
            <Reject
              label={actionOf({ id: "reject" }).label}
              off={off}
              busy={busy}
              onSend={(reason) => {
                void run(actionOf({ id: "reject" }), reason ? { reason } : {});
              }}
              onBack={back}
            />
          </>
        ) : (
          <>
            {list}
            <div className="inlay-actions">
              {options.map((option) => {
                const action = actionOf(option);
                const approves = option.id === "approve";
                const strong = severity === "danger" ? "danger" : "primary";
                const own = standing(action);
                return (
                  <button
                    key={option.id}
                    type="button"
                    className="inlay-button"
                    data-style={option.style ?? action.style ?? (approves ? strong : undefined)}
                    data-action-id={option.id}
                    disabled={own.disabled}
                    aria-disabled={off || busy}
                    aria-busy={own.busy}
                    ref={(button) => {
                      if (!button || from.current !== option.id) return;
                      from.current = null;
                      button.focus();
                    }}
                    onClick={() => {
                      if (off || busy) return;
                      if (option.id === "approve") void run(action, {});
                      else setDoing(option.id);
                    }}
                  >
                    {own.busy ? t("chat.action.busy", { label: action.label }) : action.label}
                  </button>
                );
              })}
            </div>
          </>
        )
      }
    </Ask>
  );
}

/** Rejects, with a reason for whoever asked, or without. */
function Reject({
  label,
  off,
  busy,
  onSend,
  onBack,
}: {
  label: string;
  off: boolean;
  busy: boolean;
  onSend(reason: string): void;
  onBack(): void;
}) {
  const { t } = useInlay();
  const id = useId();
  const [reason, setReason] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <form
      className="inlay-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!off && !busy) onSend(reason.trim());
      }}
    >
      <div className="inlay-field">
        <label className="inlay-label" htmlFor={id}>
          {t("chat.confirm.reason")}
        </label>
        <input
          ref={field}
          id={id}
          className="inlay-input inlay-field-input"
          maxLength={MOST_REASON}
          disabled={off || busy}
          value={reason}
          onChange={({ target }) => setReason(target.value)}
        />
      </div>
      <div className="inlay-actions">
        <button
          type="submit"
          className="inlay-button"
          data-action-id="reject"
          aria-disabled={off || busy}
          aria-busy={busy}
        >
          {busy ? t("chat.action.busy", { label }) : label}
        </button>
        <button type="button" className="inlay-button" onClick={onBack}>
          {t("chat.confirm.back")}
        </button>
      </div>
    </form>
  );
}
