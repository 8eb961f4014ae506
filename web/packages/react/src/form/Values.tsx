import { type ReactNode, useEffect, useState } from "react";
import { formatMoment, parseMoment } from "../blocks/format.ts";
import { useInlay } from "../context.ts";
import type { Translate } from "../i18n/index.ts";
import { deref, member, widgetOf } from "./ui.ts";
import { loadFormWords } from "./words.ts";

loadFormWords();

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The name of an uploaded file. */
export function AssetName({ id }: { id: string }) {
  const { client } = useInlay();
  const [name, setName] = useState(id);
  useEffect(() => {
    let live = true;
    client.asset(id).then(
      (asset) => live && setName(asset.name),
      () => {},
    );
    return () => {
      live = false;
    };
  }, [client, id]);
  return <>{name}</>;
}

interface Shown {
  value: unknown;
  schema: Record<string, unknown>;
  ui: unknown;
  root: unknown;
}

/**
 * Values of a form for reading: every member with its label, choices by their
 * names, dates in the reader's language. Without a schema the members are
 * shown by their own names, exactly.
 */
export function Values({
  values,
  schema = {},
  uiSchema,
}: {
  values: Record<string, unknown>;
  schema?: Record<string, unknown> | undefined;
  uiSchema?: Record<string, unknown> | undefined;
}) {
  const { t, lang } = useInlay();
  return members({ value: values, schema, ui: uiSchema, root: schema }, t, lang);
}

function members({ value, schema, ui, root }: Shown, t: Translate, lang: string): ReactNode {
  if (!isObject(value)) return null;
  const order = isObject(ui) && Array.isArray(ui["ui:order"]) ? ui["ui:order"] : [];
  const own = deref(schema, root);
  const known = [...order, ...Object.keys(isObject(own.properties) ? own.properties : {})];
  const names = [...new Set([...known, ...Object.keys(value)])].filter(
    (name): name is string => typeof name === "string" && Object.hasOwn(value, name),
  );
  const rows = names.flatMap((name) => {
    const below = isObject(ui) ? ui[name] : undefined;
    if (widgetOf(below) === "hidden" || value[name] === undefined) return [];
    const shown = { value: value[name], schema: member(own, name, root), ui: below, root };
    return [
      <div key={name} className="inlay-value">
        <dt>{labelOf(shown, name)}</dt>
        <dd>{word(shown, t, lang)}</dd>
      </div>,
    ];
  });
  return rows.length > 0 ? (
    <dl className="inlay-values">{rows}</dl>
  ) : (
    <span className="inlay-muted">{t("chat.form.none")}</span>
  );
}

function labelOf({ schema, ui }: Shown, name: string): string {
  const own = isObject(ui) ? ui["ui:title"] : undefined;
  if (typeof own === "string" && own) return own;
  return typeof schema.title === "string" && schema.title ? schema.title : name;
}

function word(shown: Shown, t: Translate, lang: string): ReactNode {
  const { value, schema, ui, root } = shown;
  if (value === null || value === "" || (Array.isArray(value) && value.length === 0)) {
    return <span className="inlay-muted">{t("chat.form.none")}</span>;
  }
  if (widgetOf(ui) === "password") return "•••";
  if (Array.isArray(value)) {
    const items = deref(schema.items, root);
    const below = isObject(ui)
      ? (ui.items ?? (Array.isArray(ui["ui:enumNames"]) ? ui : undefined))
      : undefined;
    const between = widgetOf(ui) === "dateRange" ? " – " : t("chat.form.listComma");
    if (value.every((item) => !isObject(item) && !Array.isArray(item))) {
      return value.map((item, i) => (
        <span key={i}>
          {i > 0 && between}
          {word({ value: item, schema: items, ui: below, root }, t, lang)}
        </span>
      ));
    }
    return (
      <ol className="inlay-value-list">
        {value.map((item, i) => (
          <li key={i}>{word({ value: item, schema: items, ui: below, root }, t, lang)}</li>
        ))}
      </ol>
    );
  }
  if (isObject(value)) return members(shown, t, lang);
  const choice = choiceOf(shown);
  if (choice !== undefined) return choice;
  const unit = isObject(ui) && typeof ui["ui:unit"] === "string" ? ` ${ui["ui:unit"]}` : "";
  const ahead = isObject(ui) && typeof ui["ui:prefix"] === "string" ? ui["ui:prefix"] : "";
  switch (typeof value) {
    case "boolean":
      return t(value ? "chat.block.table.yes" : "chat.block.table.no");
    case "number":
      return (
        ahead + new Intl.NumberFormat(lang, { maximumFractionDigits: 20 }).format(value) + unit
      );
    default:
  }
  const text = String(value);
  const { format } = schema;
  if (format === "asset" || widgetOf(ui) === "file") return <AssetName id={text} />;
  if (format === "date" || format === "date-time" || format === "iso-date-time") {
    const moment = parseMoment(text);
    if (moment) return <time dateTime={text}>{formatMoment(moment, lang)}</time>;
  }
  if (format === "color") {
    return (
      <>
        <span className="inlay-swatch" style={{ background: text }} aria-hidden="true" /> {text}
      </>
    );
  }
  return ahead + text + unit;
}

/** The name of what was chosen. */
function choiceOf({ value, schema, ui }: Shown): string | undefined {
  const names = isObject(ui) ? ui["ui:enumNames"] : undefined;
  if (Array.isArray(schema.enum) && Array.isArray(names)) {
    const name = names[schema.enum.indexOf(value)];
    if (typeof name === "string") return name;
  }
  for (const branch of [schema.oneOf, schema.anyOf]) {
    if (!Array.isArray(branch)) continue;
    const own = branch.find((b) => isObject(b) && "const" in b && b.const === value);
    if (isObject(own) && typeof own.title === "string") return own.title;
  }
  return undefined;
}
