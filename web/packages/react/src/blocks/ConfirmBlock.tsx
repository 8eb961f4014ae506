import { type ConfirmOption, type ConfirmPayload, violationsOf } from "@inlay-ui/client";
import { lazy, Suspense, useMemo, useState } from "react";
import { useInlay } from "../context.ts";
import { Values } from "../form/Values.tsx";
import { failureText, stateOf } from "../outcome.ts";
import type { BlockProps } from "../registry.ts";
import { Skeleton } from "../Skeleton.tsx";
import { Ask, useAnswers } from "./ask.tsx";

const SchemaForm = lazy(() => import("../form/SchemaForm.tsx"));

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Draws a `confirm` block: whether exactly this may be done. */
export default function ConfirmBlock({ block, payload, messageId }: BlockProps<ConfirmPayload>) {
  const { t } = useInlay();
  const { known, run, standing } = useAnswers(block, messageId);
  const [editing, setEditing] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const { args, schema, uiSchema, severity = "info" } = payload;
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
    const edit = actionOf({ id: "edit" });
    const outcome = await run({ ...edit, label: t("chat.confirm.approveEdited") }, values, {
      quiet: true,
    });
    if (outcome.status === "failed") setFailure(outcome.error ?? null);
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
        editing && schema ? (
          <Suspense fallback={<Skeleton height={160} />}>
            <SchemaForm
              schema={schema}
              uiSchema={uiSchema}
              values={args ?? {}}
              disabled={off || busy}
              violations={violations}
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
                        setEditing(false);
                        setFailure(null);
                      }}
                    >
                      {t("chat.confirm.back")}
                    </button>
                  </div>
                </>
              )}
            />
          </Suspense>
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
                    onClick={() => {
                      if (off || busy) return;
                      if (option.id === "edit") setEditing(true);
                      else void run(action, {});
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
