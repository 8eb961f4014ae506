import { InlayError } from "@inlay-ui/client";
import {
  ariaDescribedByIds,
  type EnumOptionsType,
  type FieldProps,
  getInputProps,
  type WidgetProps,
} from "@rjsf/utils";
import { type ReactNode, useContext, useEffect, useRef, useState } from "react";
import { useInlay } from "../context.ts";
import { errorText } from "../i18n/index.ts";
import { FormContext } from "./context.ts";
import { localMoment, localTime, zonedMoment, zonedTime } from "./moments.ts";
import { AssetName } from "./Values.tsx";

/* The controls of forms. Each is the browser's own, in our look. */

/** What every control says to those who do not see it. */
function said({ id, rawErrors, required }: WidgetProps) {
  return {
    "aria-describedby": ariaDescribedByIds(id),
    "aria-invalid": (rawErrors?.length ?? 0) > 0 || undefined,
    "aria-required": required || undefined,
  } as const;
}

/** A text option of a control. */
function option(props: Pick<WidgetProps, "options">, name: string): string | undefined {
  const value: unknown = props.options[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function autofocus(props: WidgetProps) {
  return props.autofocus ? { "data-autofocus": true } : {};
}

/** A control between what stands before and after it, such as a currency and a unit. */
function Affixed({ props, children }: { props: WidgetProps; children: ReactNode }) {
  const prefix = option(props, "prefix");
  const unit = option(props, "unit");
  if (!prefix && !unit) return children;
  return (
    <span className="inlay-affixed">
      {prefix && <span className="inlay-affix">{prefix}</span>}
      {children}
      {unit && <span className="inlay-affix">{unit}</span>}
    </span>
  );
}

/** The one-line field that most controls are made of. */
export function BaseInput(props: WidgetProps & { display?: string; read?(text: string): unknown }) {
  const { id, htmlName, schema, options, type, readonly, disabled, placeholder, display, read } =
    props;
  const own = getInputProps(schema, type, options);
  const value: unknown = display ?? props.value;
  return (
    <Affixed props={props}>
      <input
        {...said(props)}
        {...autofocus(props)}
        {...own}
        id={id}
        name={htmlName ?? id}
        className="inlay-input inlay-field-input"
        readOnly={readonly}
        disabled={disabled}
        placeholder={placeholder || undefined}
        value={value === undefined || value === null ? "" : String(value)}
        onChange={({ target }) => {
          const text = target.value;
          const next = text === "" ? options.emptyValue : read ? read(text) : text;
          props.onChange(next);
        }}
        onBlur={({ target }) => props.onBlur(id, target.value)}
        onFocus={({ target }) => props.onFocus(id, target.value)}
      />
    </Affixed>
  );
}

function Textarea(props: WidgetProps) {
  const { id, htmlName, options, value, readonly, disabled, placeholder } = props;
  const rows = Number(options.rows) || 4;
  return (
    <textarea
      {...said(props)}
      {...autofocus(props)}
      id={id}
      name={htmlName ?? id}
      className="inlay-input inlay-field-input inlay-field-area"
      rows={rows}
      readOnly={readonly}
      disabled={disabled}
      placeholder={placeholder || undefined}
      value={typeof value === "string" ? value : ""}
      onChange={({ target }) =>
        props.onChange(target.value === "" ? options.emptyValue : target.value)
      }
      onBlur={({ target }) => props.onBlur(id, target.value)}
      onFocus={({ target }) => props.onFocus(id, target.value)}
    />
  );
}

function Password(props: WidgetProps) {
  const complete = props.options.autocomplete ?? "new-password";
  return (
    <BaseInput {...props} type="password" options={{ ...props.options, autocomplete: complete }} />
  );
}

const Email = (props: WidgetProps) => <BaseInput {...props} type="email" />;
const Url = (props: WidgetProps) => <BaseInput {...props} type="url" />;
const DateInput = (props: WidgetProps) => <BaseInput {...props} type="date" />;

/** A moment: kept with its zone, shown in the reader's. */
function DateTime(props: WidgetProps) {
  const plain = props.schema.format === "iso-date-time";
  return (
    <BaseInput
      {...props}
      type="datetime-local"
      display={plain ? props.value : localMoment(props.value)}
      read={plain ? undefined : zonedMoment}
    />
  );
}

function Time(props: WidgetProps) {
  const plain = props.schema.format === "iso-time";
  return (
    <BaseInput
      {...props}
      type="time"
      display={plain ? props.value : localTime(props.value)}
      read={plain ? undefined : zonedTime}
    />
  );
}

function Range(props: WidgetProps) {
  const { lang } = useInlay();
  const { id, value, schema } = props;
  const low = schema.minimum ?? 0;
  const number = typeof value === "number" ? value : undefined;
  const unit = option(props, "unit");
  return (
    <span className="inlay-range">
      <input
        {...said(props)}
        {...autofocus(props)}
        {...getInputProps(schema, "range", props.options)}
        id={id}
        name={props.htmlName ?? id}
        disabled={props.disabled || props.readonly}
        value={number ?? low}
        onChange={({ target }) => props.onChange(target.valueAsNumber)}
        // What is shown at the beginning is not chosen yet.
        onClick={({ currentTarget }) => {
          if (number === undefined) props.onChange(currentTarget.valueAsNumber);
        }}
      />
      <output htmlFor={id} className="inlay-figures">
        {number === undefined ? "–" : new Intl.NumberFormat(lang).format(number)}
        {number !== undefined && unit ? ` ${unit}` : ""}
      </output>
    </span>
  );
}

function Color(props: WidgetProps) {
  const { t } = useInlay();
  const { value, label, id, disabled, readonly } = props;
  const known = typeof value === "string" && /^#[\da-f]{6}$/i.test(value);
  return (
    <span className="inlay-color">
      <input
        type="color"
        aria-label={t("chat.form.pickColor", { label })}
        disabled={disabled || readonly}
        value={known ? value : "#808080"}
        onChange={({ target }) => props.onChange(target.value)}
      />
      <BaseInput {...props} id={id} type="text" placeholder={props.placeholder || "#2b63a8"} />
    </span>
  );
}

/** One choice of several, by its place in the list: values may be anything. */
function placeOf(options: readonly EnumOptionsType[], value: unknown): number {
  const text = JSON.stringify(value);
  return options.findIndex((o) => JSON.stringify(o.value) === text);
}

function choices({ options }: WidgetProps): EnumOptionsType[] {
  return options.enumOptions ?? [];
}

function isOff({ options }: WidgetProps, choice: EnumOptionsType): boolean {
  return Array.isArray(options.enumDisabled) && options.enumDisabled.includes(choice.value);
}

function Select(props: WidgetProps) {
  const { t } = useInlay();
  const { id, htmlName, value, multiple, disabled, readonly, placeholder, options } = props;
  const all = choices(props);
  if (multiple) return <Checkboxes {...props} />;
  return (
    <select
      {...said(props)}
      {...autofocus(props)}
      id={id}
      name={htmlName ?? id}
      className="inlay-input inlay-field-input"
      disabled={disabled || readonly}
      value={value === undefined ? "" : String(placeOf(all, value))}
      onChange={({ target }) =>
        props.onChange(target.value === "" ? options.emptyValue : all[Number(target.value)]?.value)
      }
      onBlur={() => props.onBlur(id, value)}
      onFocus={() => props.onFocus(id, value)}
    >
      <option value="">{placeholder || t("chat.form.choose")}</option>
      {all.map((choice, i) => (
        <option key={i} value={String(i)} disabled={isOff(props, choice)}>
          {choice.label}
        </option>
      ))}
    </select>
  );
}

/** Choices as a list, of which one or several can be marked. */
function Choices({ props, type }: { props: WidgetProps; type: "radio" | "checkbox" }) {
  const { id, htmlName, value, disabled, readonly, options } = props;
  const all = choices(props);
  const chosen: unknown[] = type === "checkbox" ? (Array.isArray(value) ? value : []) : [value];
  const { "aria-invalid": invalid, "aria-describedby": described } = said(props);
  return (
    <fieldset
      id={id}
      className="inlay-choices"
      data-inline={options.inline === true || undefined}
      role={type === "radio" ? "radiogroup" : undefined}
      aria-labelledby={`${id}__label`}
      aria-describedby={described}
      data-invalid={invalid}
    >
      {all.map((choice, i) => (
        <label key={i} className="inlay-choice">
          <input
            {...(i === 0 ? autofocus(props) : {})}
            type={type}
            id={`${id}-${i}`}
            name={htmlName ?? id}
            disabled={disabled || readonly || isOff(props, choice)}
            checked={
              placeOf([choice], value) === 0 || chosen.some((c) => placeOf([choice], c) === 0)
            }
            onChange={({ target }) => {
              if (type === "radio") {
                props.onChange(choice.value);
                return;
              }
              // In the order of the list, however they were marked.
              const next = all.filter((c) =>
                c === choice ? target.checked : chosen.some((v) => placeOf([c], v) === 0),
              );
              props.onChange(next.map((c) => c.value));
            }}
          />
          <span>{choice.label}</span>
        </label>
      ))}
    </fieldset>
  );
}

const Radio = (props: WidgetProps) => <Choices props={props} type="radio" />;
const Checkboxes = (props: WidgetProps) => <Choices props={props} type="checkbox" />;

/** Yes or no, with its label beside it. */
function Toggle({ props, role }: { props: WidgetProps; role?: "switch" }) {
  const { id, htmlName, label, value, required, disabled, readonly } = props;
  return (
    <label className="inlay-choice" htmlFor={id}>
      <input
        {...said(props)}
        {...autofocus(props)}
        type="checkbox"
        role={role}
        className={role ? "inlay-switch" : undefined}
        id={id}
        name={htmlName ?? id}
        disabled={disabled || readonly}
        checked={value === true}
        onChange={({ target }) => props.onChange(target.checked)}
      />
      <span>
        {label}
        {required && <Required />}
      </span>
    </label>
  );
}

const Checkbox = (props: WidgetProps) => <Toggle props={props} />;
const Switch = (props: WidgetProps) => <Toggle props={props} role="switch" />;

/** The mark of a field that must be filled in. */
export function Required() {
  return (
    <span className="inlay-required" aria-hidden="true">
      *
    </span>
  );
}

function Dates({
  id,
  value,
  disabled,
  invalid,
  described,
  onChange,
}: {
  id: string;
  value: [from: string, to: string];
  disabled: boolean;
  invalid: boolean;
  described?: string | undefined;
  onChange(value: [from: string, to: string]): void;
}) {
  const { t } = useInlay();
  const [from, to] = value;
  const parts = [
    { name: "from", text: from, limits: { max: to || undefined } },
    { name: "to", text: to, limits: { min: from || undefined } },
  ];
  return (
    <fieldset
      id={id}
      className="inlay-dates"
      aria-labelledby={`${id}__label`}
      aria-describedby={described}
    >
      {parts.map(({ name, text, limits }) => (
        <label key={name} className="inlay-date">
          <span className="inlay-muted">{t(`chat.form.${name}`)}</span>
          <input
            {...limits}
            type="date"
            id={`${id}-${name}`}
            className="inlay-input inlay-field-input"
            disabled={disabled}
            aria-invalid={invalid || undefined}
            value={text}
            onChange={({ target }) =>
              onChange(name === "from" ? [target.value, to] : [from, target.value])
            }
          />
        </label>
      ))}
    </fieldset>
  );
}

const asText = (value: unknown) => (typeof value === "string" ? value : "");

/** Two days in a list. */
function DateRange(props: WidgetProps) {
  const value: unknown[] = Array.isArray(props.value) ? props.value : [];
  return (
    <Dates
      id={props.id}
      value={[asText(value[0]), asText(value[1])]}
      disabled={Boolean(props.disabled || props.readonly)}
      invalid={(props.rawErrors?.length ?? 0) > 0}
      described={ariaDescribedByIds(props.id)}
      onChange={([from, to]) => props.onChange(from || to ? [from, to] : undefined)}
    />
  );
}

/** Two days in the first two members of an object. */
export function DateRangeField(props: FieldProps) {
  const { fieldPathId, schema, formData, registry, required, uiSchema } = props;
  const { t } = useInlay();
  const names = Object.keys(schema.properties ?? {});
  const [first = "from", second = "to"] = names;
  const data: Record<string, unknown> = formData ?? {};
  const { FieldErrorTemplate } = registry.templates;
  const below = [first, second].flatMap((name) => {
    const errors: unknown = props.errorSchema?.[name];
    return (errors as { __errors?: string[] } | undefined)?.__errors ?? [];
  });
  const errors = [...(props.rawErrors ?? []), ...below];
  const label = uiSchema?.["ui:title"] ?? schema.title ?? props.name;
  return (
    <div className="inlay-field">
      <span className="inlay-label" id={`${fieldPathId.$id}__label`}>
        {label || t("chat.form.dates")}
        {required && <Required />}
      </span>
      <Dates
        id={fieldPathId.$id}
        value={[asText(data[first]), asText(data[second])]}
        disabled={Boolean(props.disabled || props.readonly)}
        invalid={errors.length > 0}
        described={ariaDescribedByIds(fieldPathId.$id)}
        onChange={([from, to]) => {
          const next = { ...data, [first]: from || undefined, [second]: to || undefined };
          props.onChange(from || to ? next : undefined, fieldPathId.path);
        }}
      />
      <FieldErrorTemplate
        errors={errors}
        errorSchema={props.errorSchema ?? {}}
        fieldPathId={fieldPathId}
        schema={schema}
        uiSchema={uiSchema ?? {}}
        registry={registry}
      />
    </div>
  );
}

interface Sending {
  key: number;
  name: string;
  share: number;
  failed?: string;
  stop: AbortController;
}

/** Files, stored when they are picked; the form has their ids. */
function FileInput(props: WidgetProps) {
  const { client, t } = useInlay();
  const { pending } = useContext(FormContext);
  const { id, htmlName, schema, disabled, readonly } = props;
  const many = schema.type === "array";
  const value: unknown[] = many ? (Array.isArray(props.value) ? props.value : []) : [props.value];
  const ids = value.filter((v): v is string => typeof v === "string" && v !== "");
  const [sending, setSending] = useState<readonly Sending[]>([]);
  const keys = useRef(0);
  // What is picked later must not overwrite what arrived meanwhile.
  const latest = useRef({ ids, onChange: props.onChange });
  latest.current = { ids, onChange: props.onChange };
  const running = useRef(new Set<AbortController>());
  useEffect(() => {
    const all = running.current;
    return () => {
      for (const stop of all) stop.abort();
    };
  }, []);

  const set = (next: string[]) => {
    latest.current.ids = next;
    latest.current.onChange(many ? next : next[0]);
  };
  const change = (key: number, next: Partial<Sending> | null) =>
    setSending((all) =>
      next === null
        ? all.filter((s) => s.key !== key)
        : all.map((s) => (s.key === key ? { ...s, ...next } : s)),
    );
  const send = async (file: File) => {
    const key = ++keys.current;
    const stop = new AbortController();
    running.current.add(stop);
    setSending((all) => [...all, { key, name: file.name, share: 0, stop }]);
    const done = pending();
    try {
      const asset = await client.upload(file, {
        signal: stop.signal,
        onProgress: ({ loaded, total }) => change(key, { share: total > 0 ? loaded / total : 0 }),
      });
      change(key, null);
      set(many ? [...latest.current.ids, asset.id] : [asset.id]);
    } catch (error) {
      if (stop.signal.aborted) change(key, null);
      else {
        const code = error instanceof InlayError ? error.code : "network";
        change(key, { failed: errorText(t, code) });
      }
    } finally {
      running.current.delete(stop);
      done();
    }
  };
  return (
    <div className="inlay-files">
      {(many || ids.length + sending.length === 0) && (
        <input
          {...said(props)}
          {...autofocus(props)}
          type="file"
          id={id}
          name={htmlName ?? id}
          className="inlay-file-input"
          multiple={many}
          accept={option(props, "accept")}
          disabled={disabled || readonly}
          onChange={({ target }) => {
            const files = Array.from(target.files ?? []);
            target.value = "";
            for (const file of many ? files : files.slice(0, 1)) void send(file);
          }}
        />
      )}
      {(ids.length > 0 || sending.length > 0) && (
        <ul className="inlay-file-list">
          {ids.map((asset) => (
            <li key={asset} className="inlay-file-line">
              <span className="inlay-file-name">
                <AssetName id={asset} />
              </span>
              <button
                type="button"
                className="inlay-quiet"
                disabled={disabled || readonly}
                onClick={() => set(ids.filter((other) => other !== asset))}
              >
                {t("chat.form.remove")}
              </button>
            </li>
          ))}
          {sending.map(({ key, name, share, failed, stop }) => (
            <li key={key} className="inlay-file-line">
              <span className="inlay-file-name">{name}</span>
              {failed ? (
                <span className="inlay-field-error">{failed}</span>
              ) : (
                <progress value={share} aria-label={t("chat.form.uploading", { name })} />
              )}
              <button
                type="button"
                className="inlay-quiet"
                onClick={() => (failed ? change(key, null) : stop.abort())}
              >
                {t(failed ? "chat.form.remove" : "chat.block.cancel")}
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** The controls by the engine's names, and by those of formats that have their own. */
export const widgets = {
  TextWidget: BaseInput,
  UpDownWidget: BaseInput,
  TextareaWidget: Textarea,
  PasswordWidget: Password,
  EmailWidget: Email,
  URLWidget: Url,
  DateWidget: DateInput,
  DateTimeWidget: DateTime,
  TimeWidget: Time,
  RangeWidget: Range,
  ColorWidget: Color,
  SelectWidget: Select,
  RadioWidget: Radio,
  CheckboxesWidget: Checkboxes,
  CheckboxWidget: Checkbox,
  FileWidget: FileInput,
  switch: Switch,
  dateRange: DateRange,
  "iso-date-time": DateTime,
  "iso-time": Time,
  asset: FileInput,
};
