import { type Action, type Block, type FormPayload, violationsOf } from "@inlay-ui/client";
import { useEffect, useMemo, useRef, useState } from "react";
import { ActionButton, useBlockActions } from "../actions.tsx";
import { formatTime } from "../clock.ts";
import { useInlay } from "../context.ts";
import { dropDraft } from "../form/draft.ts";
import { Restored, useKept } from "../form/kept.tsx";
import SchemaForm from "../form/SchemaForm.tsx";
import { Values } from "../form/Values.tsx";
import { loadFormWords } from "../form/words.ts";
import { standsAlone } from "../host.ts";
import { type ActionOutcome, failureText, stateOf, succeeded } from "../outcome.ts";
import type { BlockProps } from "../registry.ts";

loadFormWords();

type Data = Record<string, unknown>;

/** The action that sends a form: `submit`, else the first that the server runs. */
export function submitAction(block: Block): Action | undefined {
  const api = block.actions?.filter((a) => a.kind === "api") ?? [];
  return api.find((a) => a.id === "submit") ?? api.find((a) => a.style === "primary") ?? api[0];
}

function isObject(value: unknown): value is Data {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Draws a `form` block: to fill in, and afterwards what was sent. */
export default function FormBlock({ block, payload, messageId, loading }: BlockProps<FormPayload>) {
  const state = stateOf(block);
  // While it is being sent, what arrives is most likely the answer to that.
  const [sent, setSent] = useState(false);
  const latest = useRef<Data | null>(null);
  // A form that is being sent is locked too, but may come back.
  if (state?.locked && state.status !== "submitting") {
    const mine = sent ? null : latest.current;
    return (
      <>
        {payload.description && <p className="inlay-form-intro">{payload.description}</p>}
        <Sent block={block} payload={payload} mine={mine} />
      </>
    );
  }
  return (
    <>
      {payload.description && <p className="inlay-form-intro">{payload.description}</p>}
      <Open
        block={block}
        payload={payload}
        messageId={messageId}
        off={loading || state?.status === "submitting"}
        onEdit={(values) => {
          latest.current = values;
        }}
        onSent={setSent}
      />
    </>
  );
}

/** The form as long as it can be filled in. */
function Open({
  block,
  payload,
  messageId,
  off,
  onEdit,
  onSent,
}: {
  block: Block;
  payload: FormPayload;
  messageId: string;
  off: boolean;
  onEdit(values: Data | null): void;
  onSent(sent: boolean): void;
}) {
  const { t } = useInlay();
  const actions = useBlockActions(block, messageId);
  const submit = submitAction(block);
  const { uiSchema } = payload;
  const keep = useKept(block.id, uiSchema);
  const { draft, round } = keep;
  const [failure, setFailure] = useState<ActionOutcome | null>(null);
  const failed = useRef<{ sent: string; retry: ActionOutcome["retry"] }>({
    sent: "",
    retry: undefined,
  });
  const initial = useMemo(() => ({ ...payload.defaults, ...draft }), [payload.defaults, draft]);
  const violations = useMemo(() => violationsOf(failure?.error), [failure]);
  const busy = off || (submit !== undefined && actions.standing(submit).busy);
  const others = block.actions?.filter((a) => a !== submit && standsAlone(a)) ?? [];

  const send = async (values: Data) => {
    if (!submit || busy) return;
    setFailure(null);
    keep.flush();
    onSent(true);
    // The same values again are the same call, which the server may have done already.
    const text = JSON.stringify(values);
    const again = failed.current.sent === text ? failed.current.retry : undefined;
    const outcome = await (again?.() ?? actions.run(submit, values, { quiet: true }));
    failed.current = { sent: text, retry: outcome.retry };
    onSent(succeeded(outcome));
    if (succeeded(outcome)) keep.drop();
    else if (outcome.status === "failed") setFailure(outcome);
  };

  const state = stateOf(block);
  const label =
    payload.submitLabel ?? submitText(uiSchema) ?? submit?.label ?? t("chat.form.submit");
  return (
    <>
      {draft && (
        <Restored
          onRestart={() => {
            keep.restart();
            onEdit(null);
            setFailure(null);
          }}
        />
      )}
      <SchemaForm
        key={round}
        schema={payload.schema}
        uiSchema={uiSchema}
        values={initial}
        disabled={busy}
        violations={violations}
        onChange={(values) => {
          onEdit(values);
          keep.save(values);
        }}
        onSubmit={(values) => void send(values)}
        buttons={(waiting) => (
          <>
            {state?.status === "failed" && !failure && !busy && (
              <p className="inlay-field-error" role="status">
                {state.text || t("chat.form.state.failed")}
              </p>
            )}
            {failure && violations.length === 0 && (
              <p className="inlay-field-error" role="alert">
                {failureText(t, failure.error, submit?.feedback?.failureToast)}
              </p>
            )}
            <div className="inlay-actions">
              {submit ? (
                <button
                  type="submit"
                  className="inlay-button"
                  data-style={submit.style ?? "primary"}
                  data-action-id={submit.id}
                  disabled={actions.standing(submit).disabled}
                  aria-disabled={busy || waiting}
                  aria-busy={busy}
                >
                  {off ? t("chat.form.sending") : busy ? t("chat.action.busy", { label }) : label}
                </button>
              ) : (
                <span className="inlay-muted">{t("chat.form.noAction")}</span>
              )}
              {others.map((action) => (
                <ActionButton key={action.id} block={block} messageId={messageId} action={action} />
              ))}
              {waiting && <span className="inlay-muted">{t("chat.form.uploadingWait")}</span>}
            </div>
          </>
        )}
      />
    </>
  );
}

function submitText(ui: unknown): string | undefined {
  const options = isObject(ui) ? ui["ui:submitButtonOptions"] : undefined;
  const text = isObject(options) ? options.submitText : undefined;
  return typeof text === "string" && text !== "" ? text : undefined;
}

/** What was sent, when, and what came of it. */
function Sent({
  block,
  payload,
  mine,
}: {
  block: Block;
  payload: FormPayload;
  /** What was typed here and not sent. */
  mine: Data | null;
}) {
  const { t, lang } = useInlay();
  const state = stateOf(block);
  useEffect(() => {
    if (mine === null) dropDraft(block.id);
  }, [block.id, mine]);
  if (!state) return null;
  const action = block.actions?.find((a) => a.id === state.actionId);
  const key = `chat.form.state.${state.status}`;
  const words = t(key) === key ? t("chat.form.sent") : t(key);
  const { schema, uiSchema } = payload;
  return (
    <div className="inlay-form" data-locked="true">
      {mine && (
        <div className="inlay-form-summary" role="status">
          <p>{t("chat.form.sentElsewhere")}</p>
          <details>
            <summary>{t("chat.form.yourEntries")}</summary>
            <Values values={mine} schema={schema} uiSchema={uiSchema} />
          </details>
        </div>
      )}
      <p className="inlay-form-state" data-tone={state.status === "unknown" ? "error" : "good"}>
        <span>{state.text || words}</span>
        <span className="inlay-muted">
          {action && action.id !== "submit" ? `${action.label} · ` : ""}
          {state.at !== undefined && (
            <time dateTime={new Date(state.at).toISOString()}>{formatTime(lang, state.at)}</time>
          )}
        </span>
      </p>
      {isObject(state.values) && (
        <Values values={state.values} schema={schema} uiSchema={uiSchema} />
      )}
    </div>
  );
}
