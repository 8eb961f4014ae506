import { type Action, violationsOf } from "@inlay-ui/client";
import { useEffect, useMemo, useRef, useState } from "react";
import { useInlay } from "../context.ts";
import { Dialog } from "../Dialog.tsx";
import { type ActionOutcome, failureText, succeeded } from "../outcome.ts";
import SchemaForm from "./SchemaForm.tsx";

type Data = Record<string, unknown>;

/** What an {@link ActionForm} takes. */
export interface ActionFormProps {
  action: Action;
  /** The values that are asked for, all of them described by the action's schema. */
  names: readonly string[];
  /** The values that there are. */
  given: Data;
  send(values: Data): Promise<ActionOutcome>;
  /** Tells what came of a sending that the reader did not wait for. */
  tell(outcome: ActionOutcome): void;
  end(outcome: ActionOutcome): void;
}

/** A dialog that asks for what an action needs, and stays until the server has taken it. */
export function ActionForm({ action, names, given, send, tell, end }: ActionFormProps) {
  const { t } = useInlay();
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<ActionOutcome | null>(null);
  const violations = useMemo(() => violationsOf(failure?.error), [failure]);
  const schema = useMemo(() => askedSchema(action.inputSchema, names), [action, names]);
  // What is given already is sent along unseen.
  const uiSchema = useMemo(
    () => Object.fromEntries(Object.keys(given).map((name) => [name, { "ui:widget": "hidden" }])),
    [given],
  );
  const last = useRef<{ sent: string; retry: ActionOutcome["retry"] } | null>(null);
  const closed = useRef(false);
  const content = useRef<HTMLDivElement>(null);
  // After the dialog has opened and given the focus to its first button.
  useEffect(() => {
    const controls = content.current?.querySelectorAll<HTMLElement>("input, select, textarea");
    for (const control of controls ?? []) {
      if (control.closest("[hidden]")) continue;
      control.focus();
      return;
    }
  }, []);

  const submit = async (values: Data) => {
    if (busy) return;
    setBusy(true);
    setFailure(null);
    // The same values again are the same call, which the server may have done already.
    const text = JSON.stringify(values);
    const again = last.current?.sent === text ? last.current.retry : undefined;
    const outcome = await (again?.() ?? send(values));
    last.current = { sent: text, retry: outcome.retry };
    if (closed.current) {
      if (outcome.status === "failed") tell(outcome);
      return;
    }
    setBusy(false);
    if (succeeded(outcome)) end(outcome);
    else if (outcome.status === "failed") setFailure(outcome);
  };

  return (
    <Dialog
      title={action.label}
      onClose={() => {
        closed.current = true;
        end({ status: "dismissed" });
      }}
    >
      <div ref={content}>
        <SchemaForm
          schema={schema}
          uiSchema={uiSchema}
          values={given}
          disabled={busy}
          violations={violations}
          onSubmit={(values) => void submit(values)}
          buttons={(waiting) => (
            <>
              {failure && violations.length === 0 && (
                <p className="inlay-field-error" role="alert">
                  {failureText(t, failure.error, action.feedback?.failureToast)}
                </p>
              )}
              {waiting && <p className="inlay-muted">{t("chat.form.uploadingWait")}</p>}
              <div className="inlay-dialog-foot">
                <button
                  type="button"
                  className="inlay-button"
                  onClick={() => {
                    closed.current = true;
                    end({ status: "dismissed" });
                  }}
                >
                  {t("chat.block.cancel")}
                </button>
                <button
                  type="submit"
                  className="inlay-button"
                  data-style={action.style === "danger" ? "danger" : "primary"}
                  data-action-id={action.id}
                  aria-disabled={busy || waiting}
                  aria-busy={busy}
                >
                  {busy ? t("chat.action.busy", { label: action.label }) : action.label}
                </button>
              </div>
            </>
          )}
        />
      </div>
    </Dialog>
  );
}

/** An action's schema as a form draws it: with definitions by the name that forms know, and without a title beside the dialog's. */
function askedSchema(given: unknown, names: readonly string[]): Data {
  const text = JSON.stringify(given).replaceAll('"#/$defs/', '"#/definitions/');
  const { $defs, definitions, title: _, required, ...schema } = JSON.parse(text) as Data;
  const known = {
    ...(isObject($defs) ? $defs : {}),
    ...(isObject(definitions) ? definitions : {}),
  };
  return {
    type: "object",
    ...schema,
    required: [...new Set([...(Array.isArray(required) ? required : []), ...names])],
    ...(Object.keys(known).length > 0 ? { definitions: known } : {}),
  };
}

function isObject(value: unknown): value is Data {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
