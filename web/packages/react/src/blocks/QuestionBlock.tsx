import { type QuestionPayload, violationsOf } from "@inlay-ui/client";
import { lazy, Suspense, useId, useMemo, useState } from "react";
import { useInlay } from "../context.ts";
import { type Kept, Restored, useKept } from "../form/kept.tsx";
import { Values } from "../form/Values.tsx";
import { failureText, stateOf, succeeded } from "../outcome.ts";
import type { BlockProps } from "../registry.ts";
import { Skeleton } from "../Skeleton.tsx";
import { Ask, isOver, useAnswers } from "./ask.tsx";

const SchemaForm = lazy(() => import("../form/SchemaForm.tsx"));

/** Up to so many short options are buttons that answer at once. */
const MOST_BUTTONS = 6;
const SHORT = 40;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Draws a `question` block: options, a form, or an answer in words. */
export default function QuestionBlock({ block, payload, messageId }: BlockProps<QuestionPayload>) {
  const { t } = useInlay();
  const { known, run, standing } = useAnswers(block, messageId);
  const answer = known("answer", t("chat.question.send"));
  const [failure, setFailure] = useState<unknown>(null);
  const violations = useMemo(() => violationsOf(failure), [failure]);
  const { busy } = standing(answer);
  const { schema, uiSchema, options = [] } = payload;
  const keep = useKept(block.id, uiSchema, isOver(block));
  const { draft, round } = keep;
  const send = async (value: Record<string, unknown>) => {
    setFailure(null);
    keep.flush();
    const outcome = await run(answer, value, { quiet: true });
    if (succeeded(outcome)) keep.drop();
    else if (outcome.status === "failed") setFailure(outcome.error ?? null);
  };
  const restored = draft && (
    <Restored
      onRestart={() => {
        keep.restart();
        setFailure(null);
      }}
    />
  );
  const failed = failure !== null && violations.length === 0 && (
    <p className="inlay-field-error" role="alert">
      {failureText(t, failure, answer.feedback?.failureToast)}
    </p>
  );
  const quick =
    !payload.multiple &&
    !payload.allowText &&
    options.length <= MOST_BUTTONS &&
    options.every((o) => !o.description && o.label.length <= SHORT);
  return (
    <Ask
      block={block}
      prompt={payload.prompt}
      detail={payload.detail}
      expiresAt={payload.expiresAt}
      answered={<Answer payload={payload} values={stateOf(block)?.values} />}
    >
      {(off) => {
        if (schema) {
          return (
            <Suspense fallback={<Skeleton height={160} />}>
              {restored}
              <SchemaForm
                key={round}
                schema={schema}
                uiSchema={uiSchema}
                values={draft ?? {}}
                disabled={off || busy}
                violations={violations}
                onChange={keep.save}
                onSubmit={(values) => void send(values)}
                buttons={(waiting) => (
                  <>
                    {failed}
                    <Submit label={answer.label} busy={busy} off={off || waiting} />
                  </>
                )}
              />
            </Suspense>
          );
        }
        if (options.length > 0 && quick) {
          return (
            <>
              {failed}
              <div className="inlay-actions">
                {options.map(({ id, label }) => {
                  const value = { choices: [id] };
                  const own = standing(answer, value);
                  return (
                    <button
                      key={id}
                      type="button"
                      className="inlay-button"
                      disabled={own.disabled}
                      aria-disabled={off || busy}
                      aria-busy={own.busy}
                      onClick={() => {
                        if (!off && !busy) void send(value);
                      }}
                    >
                      {own.busy ? t("chat.action.busy", { label }) : label}
                    </button>
                  );
                })}
              </div>
            </>
          );
        }
        return (
          <>
            {failed}
            {restored}
            <Own
              key={round}
              payload={payload}
              kept={keep}
              label={answer.label}
              busy={busy}
              off={off}
              onSend={(value) => void send(value)}
            />
          </>
        );
      }}
    </Ask>
  );
}

function Submit({ label, busy, off }: { label: string; busy: boolean; off: boolean }) {
  const { t } = useInlay();
  return (
    <div className="inlay-actions">
      <button
        type="submit"
        className="inlay-button"
        data-style="primary"
        data-action-id="answer"
        aria-disabled={busy || off}
        aria-busy={busy}
      >
        {busy ? t("chat.form.sending") : label}
      </button>
    </div>
  );
}

/** Options to mark, and words of one's own. */
function Own({
  payload,
  kept,
  label,
  busy,
  off,
  onSend,
}: {
  payload: QuestionPayload;
  kept: Kept;
  label: string;
  busy: boolean;
  off: boolean;
  onSend(value: Record<string, unknown>): void;
}) {
  const { t } = useInlay();
  const id = useId();
  const { options = [], multiple } = payload;
  const [chosen, setChosen] = useState<readonly string[]>(() => {
    const before = kept.draft?.choices;
    const known = options.filter((o) => Array.isArray(before) && before.includes(o.id));
    return known.map((o) => o.id).slice(0, multiple ? undefined : 1);
  });
  const [text, setText] = useState(() => {
    const before = kept.draft?.text;
    return typeof before === "string" ? before : "";
  });
  const [missing, setMissing] = useState(false);
  const change = (choices: readonly string[], words: string) => {
    setMissing(false);
    setChosen(choices);
    setText(words);
    if (choices.length > 0 || words !== "") kept.save({ choices, text: words });
    else kept.drop();
  };
  const free = options.length === 0 || payload.allowText;
  const words = text.trim();
  return (
    <form
      className="inlay-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (busy || off) return;
        const empty = chosen.length === 0 && words === "";
        setMissing(empty);
        if (empty) return;
        onSend({
          ...(chosen.length > 0 ? { choices: chosen } : {}),
          ...(words ? { text: words } : {}),
        });
      }}
    >
      {options.length > 0 && (
        <fieldset className="inlay-choices" aria-label={t("chat.question.options")}>
          {options.map((option) => (
            <label key={option.id} className="inlay-choice">
              <input
                type={multiple ? "checkbox" : "radio"}
                name={id}
                disabled={busy || off}
                checked={chosen.includes(option.id)}
                onChange={({ target }) => {
                  const among = options
                    .map((o) => o.id)
                    .filter((o) => (o === option.id ? target.checked : chosen.includes(o)));
                  change(multiple ? among : [option.id], text);
                }}
              />
              <span>
                {option.label}
                {option.description && (
                  <span className="inlay-choice-note">{option.description}</span>
                )}
              </span>
            </label>
          ))}
        </fieldset>
      )}
      {free && (
        <div className="inlay-field">
          <label className="inlay-label" htmlFor={`${id}-text`}>
            {t(options.length > 0 ? "chat.question.other" : "chat.question.text")}
          </label>
          <textarea
            id={`${id}-text`}
            className="inlay-input inlay-field-input inlay-field-area"
            rows={options.length > 0 ? 2 : 3}
            maxLength={4000}
            disabled={busy || off}
            value={text}
            onChange={({ target }) => change(chosen, target.value)}
          />
        </div>
      )}
      {missing && (
        <p className="inlay-field-error" role="alert">
          {t("chat.question.need")}
        </p>
      )}
      <Submit label={label} busy={busy} off={off} />
    </form>
  );
}

/** What was answered. */
function Answer({ payload, values }: { payload: QuestionPayload; values: unknown }) {
  if (!isObject(values)) return null;
  const { schema, uiSchema, options = [] } = payload;
  if (schema) return <Values values={values} schema={schema} uiSchema={uiSchema} />;
  const chosen = Array.isArray(values.choices) ? values.choices : [];
  const labels = chosen.map((id) => options.find((o) => o.id === id)?.label ?? String(id));
  if (typeof values.text === "string" && values.text) labels.push(values.text);
  return (
    <ul className="inlay-answer">
      {labels.map((text, i) => (
        <li key={i}>{text}</li>
      ))}
    </ul>
  );
}
