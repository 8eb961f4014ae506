import type { RJSFSchema, UiSchema } from "@rjsf/utils";

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The controls that a uiSchema may ask for, and what the engine calls them. */
const widgets: Readonly<Record<string, string>> = {
  checkbox: "CheckboxWidget",
  checkboxes: "CheckboxesWidget",
  color: "ColorWidget",
  date: "DateWidget",
  dateRange: "dateRange",
  datetime: "DateTimeWidget",
  file: "FileWidget",
  hidden: "hidden",
  password: "PasswordWidget",
  radio: "RadioWidget",
  range: "RangeWidget",
  select: "SelectWidget",
  switch: "switch",
  text: "TextWidget",
  textarea: "TextareaWidget",
  time: "TimeWidget",
  updown: "UpDownWidget",
};

/** What each control can hold. */
const holds: Readonly<Record<string, readonly string[]>> = {
  checkbox: ["boolean"],
  checkboxes: ["array"],
  dateRange: ["array", "object"],
  file: ["string", "array"],
  password: ["string"],
  radio: ["string", "number", "integer", "boolean"],
  range: ["number", "integer"],
  select: ["string", "number", "integer", "boolean", "array"],
  switch: ["boolean"],
  updown: ["number", "integer"],
};
const texts = ["string", "number", "integer"];

/** What a uiSchema may say of a field besides its control. */
const options = new Set([
  ...["order", "title", "description", "help", "placeholder", "disabled", "readonly"],
  ...["autofocus", "autocomplete", "enumNames", "enumDisabled", "addable", "removable"],
  ...["orderable", "inline", "label", "unit", "prefix", "columns", "rows", "accept"],
]);

/** The control that a field's uiSchema asks for. */
export function widgetOf(ui: unknown): string | undefined {
  if (!isObject(ui)) return undefined;
  const own = isObject(ui["ui:options"]) ? ui["ui:options"].widget : undefined;
  const name = ui["ui:widget"] ?? own;
  return typeof name === "string" ? name : undefined;
}

/** A schema without its reference, if it is one into the root's definitions. */
export function deref(schema: unknown, root: unknown): Record<string, unknown> {
  let here = schema;
  for (let n = 0; n < 32 && isObject(here) && typeof here.$ref === "string"; n++) {
    const name = here.$ref
      .replace(/^#\/definitions\//, "")
      .replace(/~1/g, "/")
      .replace(/~0/g, "~");
    const all = isObject(root) && isObject(root.definitions) ? root.definitions : {};
    here = Object.hasOwn(all, name) ? all[name] : undefined;
  }
  return isObject(here) ? here : {};
}

/** The schemas that apply to the same value: its own parts and branches. */
function parts(schema: unknown, root: unknown, depth = 0): Record<string, unknown>[] {
  const own = deref(schema, root);
  if (depth > 8) return [own];
  const more: unknown[] = [own.then, own.else];
  for (const word of ["allOf", "anyOf", "oneOf"]) {
    const branches = own[word];
    if (Array.isArray(branches)) more.push(...branches);
  }
  return [own, ...more.filter(isObject).flatMap((s) => parts(s, root, depth + 1))];
}

/** The schema of a member, also where only a branch has it. */
export function member(schema: unknown, name: string, root: unknown): Record<string, unknown> {
  for (const part of parts(schema, root)) {
    if (isObject(part.properties) && Object.hasOwn(part.properties, name)) {
      return deref(part.properties[name], root);
    }
  }
  return {};
}

function typeOf(schema: Record<string, unknown>): string | undefined {
  const { type } = schema;
  if (Array.isArray(type)) return type.find((t): t is string => t !== "null");
  if (typeof type === "string") return type;
  return isObject(schema.properties) ? "object" : undefined;
}

/**
 * The uiSchema as the engine gets it: only what is known, so that one made for
 * a later client, or for another one, neither breaks the form nor styles it.
 */
export function engineUI(ui: unknown, schema: unknown, root: unknown = schema): UiSchema {
  const given = isObject(ui) ? ui : {};
  const own = deref(schema, root);
  const type = typeOf(own);
  const next: UiSchema = {};
  const put = (name: string, value: unknown) => {
    if (options.has(name)) next[`ui:${name}`] = value;
  };
  for (const [key, value] of Object.entries(given)) {
    if (key === "ui:options" && isObject(value)) {
      for (const [name, option] of Object.entries(value)) put(name, option);
    }
  }
  for (const [key, value] of Object.entries(given)) {
    if (key.startsWith("ui:")) put(key.slice(3), value);
    else if (key === "items") next.items = engineUI(value, own.items, root);
    else next[key] = engineUI(value, member(own, key, root), root);
  }
  const widget = widgetOf(given);
  if (widget === undefined || !Object.hasOwn(widgets, widget)) return next;
  const fits = widget === "hidden" || type === undefined || (holds[widget] ?? texts).includes(type);
  if (!fits) return next;
  if (widget === "dateRange" && type === "object") next["ui:field"] = "dateRange";
  else next["ui:widget"] = widgets[widget];
  return next;
}

/** Controls that draw a whole list or object, whose parts have no place of their own. */
const whole = new Set(["checkboxes", "dateRange", "file", "hidden", "select"]);

/** The part of a path that has a place on the page. */
export function shownPath(path: readonly string[], ui: unknown): string[] {
  let here = ui;
  for (const [at, name] of path.entries()) {
    if (!isObject(here)) break;
    if (whole.has(widgetOf(here) ?? "")) return path.slice(0, at);
    here = /^\d+$/.test(name) && here[name] === undefined ? here.items : here[name];
  }
  return [...path];
}

/** Values without those of password fields: they are kept nowhere. */
export function withoutSecrets(values: unknown, ui: unknown): unknown {
  if (!isObject(ui)) return values;
  if (Array.isArray(values)) {
    return widgetOf(ui.items) === "password"
      ? []
      : values.map((item) => withoutSecrets(item, ui.items));
  }
  if (!isObject(values)) return values;
  return Object.fromEntries(
    Object.entries(values)
      .filter(([name]) => widgetOf(ui[name]) !== "password")
      .map(([name, value]) => [name, withoutSecrets(value, ui[name])]),
  );
}

/** The schemas below one, by the keywords that hold them. */
const below = {
  one: ["items", "additionalProperties", "if", "then", "else", "not", "contains"],
  list: ["allOf", "anyOf", "oneOf"],
  map: ["properties", "patternProperties", "definitions"],
} as const;

/**
 * The schema as the engine gets it: it has to be told the type of plain
 * choices, which a schema need not say.
 */
export function engineSchema(schema: Record<string, unknown>): RJSFSchema {
  const next: Record<string, unknown> = { ...schema };
  const copy = (value: unknown) => (isObject(value) ? engineSchema(value) : value);
  for (const key of below.one) if (key in next) next[key] = copy(next[key]);
  for (const key of below.list) {
    const list = next[key];
    if (Array.isArray(list)) next[key] = list.map(copy);
  }
  for (const key of below.map) {
    const map = next[key];
    if (isObject(map)) {
      next[key] = Object.fromEntries(Object.entries(map).map(([name, sub]) => [name, copy(sub)]));
    }
  }
  if (next.type === undefined) {
    const choices = next.oneOf ?? next.anyOf;
    const all = Array.isArray(choices) ? choices : [];
    const types = new Set(all.map((c) => (isObject(c) && "const" in c ? typeof c.const : "")));
    const [type] = types;
    if (types.size === 1 && (type === "string" || type === "number" || type === "boolean")) {
      next.type = type;
    }
  }
  return next as RJSFSchema;
}
