import type { Violation } from "@inlay-ui/client";
// The package as a whole also loads a validator that makes code.
import Form from "@rjsf/core/lib/components/Form.js";
import {
  type ErrorSchema,
  ErrorSchemaBuilder,
  type RJSFValidationError,
  TranslatableString,
} from "@rjsf/utils";
import {
  type ReactNode,
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { useInlay } from "../context.ts";
import type { Translate } from "../i18n/index.ts";
import { FormContext } from "./context.ts";
import { templates } from "./templates.tsx";
import { engineSchema, engineUI, shownPath } from "./ui.ts";
import { formValidator } from "./validator.ts";
import { DateRangeField, widgets } from "./widgets.tsx";
import { loadFormWords } from "./words.ts";

loadFormWords();

/** What a {@link SchemaForm} takes. */
export interface SchemaFormProps {
  schema: Record<string, unknown>;
  uiSchema?: Record<string, unknown> | undefined;
  /** The values that it begins with. Later changes of them are not looked at. */
  values: Record<string, unknown>;
  /** Nothing can be changed. */
  disabled?: boolean;
  /** What the server found wrong with the values that were sent. */
  violations?: readonly Violation[];
  onChange?(values: Record<string, unknown>): void;
  /** Called with values that fit the schema. */
  onSubmit(values: Record<string, unknown>): void;
  /** The buttons below it; one of them submits. `waiting`: a file is still on its way. */
  buttons(waiting: boolean): ReactNode;
}

const fields = { dateRange: DateRangeField };

/** Lists of plain values begin empty; others with the rows that they must have. */
const defaultState = {
  emptyObjectFields: "skipEmptyDefaults",
  arrayMinItems: {
    populate: "requiredOnly",
    computeSkipPopulate: (_: unknown, schema: { items?: unknown }) => {
      const { items } = schema;
      return typeof items !== "object" || items === null || !("properties" in items);
    },
  },
} as const;

/** A form drawn from a JSON Schema, with what is wrong at its fields and in a summary above them. */
export default function SchemaForm({
  schema,
  uiSchema,
  values,
  disabled = false,
  violations,
  onChange,
  onSubmit,
  buttons,
}: SchemaFormProps) {
  const { t, lang } = useInlay();
  const prefix = `inlay${useId().replace(/\W/g, "")}`;
  const root = useRef<HTMLDivElement>(null);
  const [errors, setErrors] = useState<readonly RJSFValidationError[]>([]);
  const [tried, setTried] = useState(false);
  const [waiting, setWaiting] = useState(0);
  const own = useMemo(() => engineSchema(schema), [schema]);
  const ui = useMemo(
    () => ({
      ...engineUI(uiSchema, schema),
      "ui:submitButtonOptions": { norender: true },
    }),
    [uiSchema, schema],
  );
  const validator = useMemo(
    () => formValidator(own, t, lang, (path) => shownPath(path, uiSchema)),
    [own, t, lang, uiSchema],
  );
  const link = useMemo(
    () => ({
      pending: () => {
        setWaiting((n) => n + 1);
        return () => setWaiting((n) => n - 1);
      },
    }),
    [],
  );

  // Those of the server stand until something is changed.
  const [seen, setSeen] = useState<readonly Violation[] | undefined>(undefined);
  const foreign = useMemo(
    () => (violations && violations !== seen ? violations.map((v) => located(v, uiSchema)) : []),
    [violations, seen, uiSchema],
  );
  const extra = useMemo(() => {
    if (foreign.length === 0) return undefined;
    const builder = new ErrorSchemaBuilder();
    for (const { path, message } of foreign) builder.addErrors(message, path);
    return builder.ErrorSchema as ErrorSchema;
  }, [foreign]);

  const focus = useCallback(
    (path: readonly string[]) => {
      // The field itself, else the nearest one around it that is on the page.
      for (let n = path.length; n > 0; n--) {
        const id = [prefix, ...path.slice(0, n)].join("_");
        const field = Array.from(
          root.current?.querySelectorAll<HTMLElement>("[data-field]") ?? [],
        ).find((element) => element.dataset.field === id);
        const control = field?.querySelector<HTMLElement>("input, select, textarea, button");
        if (control) {
          control.focus();
          return;
        }
      }
      root.current?.querySelector<HTMLElement>("[data-summary]")?.focus();
    },
    [prefix],
  );
  useEffect(() => {
    const first = foreign[0];
    if (first) focus(first.path);
  }, [foreign, focus]);

  // A form that appears may take the focus only from nobody.
  useLayoutEffect(() => {
    if (document.activeElement !== document.body) return;
    root.current?.querySelector<HTMLElement>("[data-autofocus]")?.focus({ preventScroll: true });
  }, []);

  const lines = [
    ...errors.map(({ stack, params }) => ({ text: stack, path: (params?.path ?? []) as string[] })),
    ...foreign.map(({ path, message }) => ({ text: message, path })),
  ];
  return (
    <FormContext.Provider value={link}>
      <div ref={root} className="inlay-form">
        {(tried || foreign.length > 0) && lines.length > 0 && (
          <div className="inlay-form-summary" role="alert" tabIndex={-1} data-summary>
            <p>{t("chat.form.wrong", { count: lines.length })}</p>
            <ul>
              {lines.map(({ text, path }, i) => (
                <li key={i}>
                  <button type="button" className="inlay-link" onClick={() => focus(path)}>
                    {text}
                  </button>
                </li>
              ))}
            </ul>
          </div>
        )}
        <Form
          schema={own}
          uiSchema={ui}
          initialFormData={values}
          validator={validator}
          widgets={widgets}
          templates={templates}
          fields={fields}
          disabled={disabled}
          className="inlay-form-body"
          idPrefix={prefix}
          noHtml5Validate
          omitExtraData
          showErrorList={false}
          liveValidate={tried ? "onChange" : false}
          {...(extra ? { extraErrors: extra } : {})}
          translateString={(key, params) => engineText(t, key, params)}
          experimental_defaultFormStateBehavior={defaultState}
          onChange={(event) => {
            const next = event.formData ?? {};
            setSeen(violations);
            if (tried) setErrors(event.errors);
            onChange?.(next);
          }}
          onError={(found) => {
            setTried(true);
            setErrors(found);
            focus((found[0]?.params?.path ?? []) as string[]);
          }}
          onSubmit={({ formData }) => {
            setErrors([]);
            if (waiting === 0) onSubmit((formData ?? {}) as Record<string, unknown>);
          }}
        >
          {buttons(waiting > 0)}
        </Form>
      </div>
    </FormContext.Provider>
  );
}

/** Where a violation is shown: a JSON Pointer's field. */
function located(violation: Violation, ui: unknown): { path: string[]; message: string } {
  const path = violation.path
    .split("/")
    .slice(1)
    .map((name) => name.replace(/~1/g, "/").replace(/~0/g, "~"));
  return { path: shownPath(path, ui), message: violation.message };
}

const engineKeys: Partial<Record<TranslatableString, string>> = {
  [TranslatableString.ArrayItemTitle]: "chat.form.item",
  [TranslatableString.YesLabel]: "chat.block.table.yes",
  [TranslatableString.NoLabel]: "chat.block.table.no",
  [TranslatableString.NewStringDefault]: "chat.form.newEntry",
  [TranslatableString.OptionPrefix]: "chat.form.option",
  [TranslatableString.TitleOptionPrefix]: "chat.form.titledOption",
  [TranslatableString.KeyLabel]: "chat.form.key",
  [TranslatableString.OptionalObjectAdd]: "chat.form.add",
  [TranslatableString.OptionalObjectRemove]: "chat.form.remove",
};

/** The engine's own words. */
function engineText(t: Translate, key: TranslatableString, params: string[] = []): string {
  const words = engineKeys[key];
  if (words === undefined) return t("chat.form.unsupported");
  const [a = "", b = ""] = params;
  return t(words, { a, b });
}
