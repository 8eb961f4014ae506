import { dereference, format, type OutputUnit, type Schema, validate } from "@cfworker/json-schema";
import {
  ErrorSchemaBuilder,
  type RJSFSchema,
  type RJSFValidationError,
  type ValidatorType,
} from "@rjsf/utils";
import type { Translate } from "../i18n/index.ts";
import { formats } from "./formats.ts";

/*
 * Checks a form by interpreting its schema: no code is made of it, so the page
 * needs no `unsafe-eval`. The server decides; what is checked here comes to the
 * same verdict for every schema that it lets into a form.
 */

// Our formats stand beside those of the library, which judges some differently.
const own = (name: string) => `inlay:${name}`;
for (const [name, rule] of Object.entries(formats)) format[own(name)] = rule;

type Lookup = Record<string, Schema | boolean>;

interface Compiled {
  schema: Schema | boolean;
  lookup: Lookup;
}

const maps = ["properties", "patternProperties", "definitions", "$defs", "dependencies"];
const lists = ["allOf", "anyOf", "oneOf"];
const singles = [
  ...["items", "additionalItems", "additionalProperties", "propertyNames", "contains"],
  ...["not", "if", "then", "else"],
];

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A copy of a schema that names our own formats and no others. */
function copy(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(copy);
  if (!isObject(schema)) return schema;
  const next: Record<string, unknown> = { ...schema };
  for (const key of maps) {
    const map = next[key];
    if (!isObject(map)) continue;
    next[key] = Object.fromEntries(
      // Dependencies may be lists of names.
      Object.entries(map).map(([name, sub]) => [name, Array.isArray(sub) ? sub : copy(sub)]),
    );
  }
  for (const key of [...lists, ...singles]) if (key in next) next[key] = copy(next[key]);
  if (typeof next.format === "string" && Object.hasOwn(formats, next.format)) {
    next.format = own(next.format);
  } else delete next.format;
  return next;
}

const compiled = new WeakMap<object, Compiled>();

/** A schema ready to be checked against; made once for each. */
function compile(schema: unknown): Compiled {
  if (!isObject(schema)) return { schema: schema !== false, lookup: {} };
  let found = compiled.get(schema);
  if (!found) {
    const own = copy(schema) as Schema;
    found = { schema: own, lookup: dereference(own) as Lookup };
    compiled.set(schema, found);
  }
  return found;
}

/** A value as it would be sent: what is undefined is not there. */
function sent(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
}

function run(schema: unknown, value: unknown, root: unknown): OutputUnit[] {
  const { schema: own, lookup } = compile(schema);
  const all = schema === root ? lookup : compile(root).lookup;
  return validate(sent(value) ?? null, own, "7", all, false).errors;
}

/** One thing that is wrong with a value. */
export interface Problem {
  /** The way to the member that it is about. */
  path: string[];
  keyword: string;
  /** What the schema demands: the keyword's value. */
  limit: unknown;
  /** The member's title, where the schema gives one. */
  title: string | undefined;
}

/** Everything that is wrong with a value. A schema that cannot be read finds nothing wrong. */
export function problems(schema: RJSFSchema, value: unknown): Problem[] {
  let errors: OutputUnit[];
  try {
    errors = run(schema, value, schema);
  } catch {
    return [];
  }
  const found: Problem[] = [];
  for (const error of leaves(errors)) found.push(...explain(error, schema, value));
  const seen = new Set<string>();
  return found.filter((p) => {
    const key = JSON.stringify([p.path, p.keyword, p.limit]);
    return !seen.has(key) && seen.add(key);
  });
}

/** Whether a value fits a schema whose references lead into another one. */
export function fits(schema: unknown, value: unknown, root: unknown): boolean {
  if (value === undefined) return schema === true;
  try {
    return run(schema, value, root).length === 0;
  } catch {
    return false;
  }
}

/** Keywords that only say that something below them is wrong. */
const passing = new Set([
  ...["properties", "patternProperties", "additionalProperties", "items", "additionalItems"],
  ...["allOf", "if", "$ref", "dependencies"],
]);
/** Keywords that say enough; what is below them would only confuse. */
const final = new Set(["contains", "propertyNames", "not"]);

/**
 * The errors that say something of their own. Of alternatives none of which
 * fits, the one that is closest to fitting is explained.
 */
function leaves(errors: readonly OutputUnit[]): OutputUnit[] {
  const found: OutputUnit[] = [];
  for (let i = 0; i < errors.length; ) {
    const error = errors[i++] as OutputUnit;
    const { keyword, keywordLocation, instanceLocation } = error;
    const below: OutputUnit[] = [];
    const nested =
      keyword === "anyOf" || keyword === "oneOf" || final.has(keyword) || passing.has(keyword);
    if (nested) {
      while (
        i < errors.length &&
        isBelow(errors[i] as OutputUnit, keywordLocation, instanceLocation)
      )
        below.push(errors[i++] as OutputUnit);
    }
    if (keyword === "anyOf" || keyword === "oneOf") {
      const branches = new Map<string, OutputUnit[]>();
      for (const e of below) {
        const branch = e.keywordLocation.slice(keywordLocation.length + 1).split("/")[0] ?? "";
        const all = branches.get(branch);
        if (all) all.push(e);
        else branches.set(branch, [e]);
      }
      const explained = [...branches.values()].map(leaves).sort((a, b) => a.length - b.length)[0];
      // Two that fit, or plain values of which none is meant: there is nothing more to say.
      const own =
        !explained ||
        (/\(\d+ matches\)/.test(error.error) && !/\(0 matches\)/.test(error.error)) ||
        explained.every(
          (e) => e.instanceLocation === instanceLocation && /^(const|enum|type)$/.test(e.keyword),
        );
      found.push(...(own ? [error] : explained));
    } else if (passing.has(keyword) && below.length > 0) found.push(...leaves(below));
    else found.push(error);
  }
  return found;
}

/** Whether an error stands for something below a keyword. */
function isBelow(error: OutputUnit, keyword: string, instance: string): boolean {
  // What is forbidden altogether has the place of the value instead of its own.
  if (error.keyword === "false") return error.instanceLocation.startsWith(instance);
  // A condition's branches stand beside it.
  const place = keyword.replace(/\/if$/, "/");
  return error.keywordLocation.startsWith(place.endsWith("/") ? place : `${place}/`);
}

function tokens(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((t) => decodeURIComponent(t).replace(/~1/g, "/").replace(/~0/g, "~"));
}

function at(value: unknown, path: readonly string[]): unknown {
  let here = value;
  for (const name of path) {
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, name)) return undefined;
    here = (here as Record<string, unknown>)[name];
  }
  return here;
}

/** Follows a keyword's place through the references on its way. */
function atKeyword(root: RJSFSchema, path: readonly string[]): unknown {
  let here: unknown = root;
  for (const name of path) {
    if (!isObject(here) && !Array.isArray(here)) return undefined;
    const next: unknown = (here as Record<string, unknown>)[name];
    here = name === "$ref" ? at(root, tokens(String(next))) : next;
  }
  return here;
}

function titleOf(schema: unknown): string | undefined {
  return isObject(schema) && typeof schema.title === "string" ? schema.title : undefined;
}

/** The title of the member at a path, where the schema's own properties lead to it. */
function titleAt(root: RJSFSchema, path: readonly string[]): string | undefined {
  let here: unknown = root;
  for (const name of path) {
    while (isObject(here) && typeof here.$ref === "string") here = at(root, tokens(here.$ref));
    if (!isObject(here)) return undefined;
    here =
      isObject(here.properties) && Object.hasOwn(here.properties, name)
        ? here.properties[name]
        : here.items;
  }
  while (isObject(here) && typeof here.$ref === "string") here = at(root, tokens(here.$ref));
  return titleOf(here);
}

function explain(error: OutputUnit, schema: RJSFSchema, value: unknown): Problem[] {
  const path = tokens(error.instanceLocation);
  const { keyword } = error;
  if (keyword === "false") {
    return [{ path, keyword: "additional", limit: undefined, title: titleAt(schema, path) }];
  }
  const place = tokens(error.keywordLocation);
  const around = atKeyword(schema, place.slice(0, -1));
  const limit = atKeyword(schema, place);
  const names =
    keyword === "required"
      ? limit
      : keyword === "dependencies"
        ? awaited(limit, at(value, path))
        : null;
  if (Array.isArray(names)) {
    const here = at(value, path);
    return names
      .filter((name) => !isObject(here) || sent(here[String(name)]) === undefined)
      .map((name) => {
        const own = at(around, ["properties", String(name)]);
        const whole = [...path, String(name)];
        const title = titleOf(own) ?? titleAt(schema, whole);
        return { path: whole, keyword: "required", limit: undefined, title };
      });
  }
  return [{ path, keyword, limit, title: titleOf(around) ?? titleAt(schema, path) }];
}

/** The names that others which are there depend on. */
function awaited(dependencies: unknown, value: unknown): unknown[] {
  if (!isObject(dependencies) || !isObject(value)) return [];
  return Object.entries(dependencies).flatMap(([name, needs]) =>
    Array.isArray(needs) && value[name] !== undefined ? needs : [],
  );
}

/** Words a problem. */
export function problemText(problem: Problem, t: Translate, lang: string): string {
  const { keyword, limit } = problem;
  const number = (n: unknown) =>
    typeof n === "number"
      ? new Intl.NumberFormat(lang, { maximumFractionDigits: 20 }).format(n)
      : String(n);
  const words = (key: string, vars?: Record<string, string | number>) => {
    const text = t(`chat.form.error.${key}`, vars);
    return text === `chat.form.error.${key}` ? t("chat.form.error.other") : text;
  };
  switch (keyword) {
    case "format":
      return words(`format.${String(limit)}`);
    case "type":
      return words(
        `type.${Array.isArray(limit) ? limit.find((l) => l !== "null") : String(limit)}`,
      );
    case "minLength":
    case "maxLength":
    case "minItems":
    case "maxItems":
    case "minProperties":
    case "maxProperties":
      return limit === 1 && keyword === "minLength"
        ? words("required")
        : words(keyword, { count: Number(limit) });
    case "minimum":
    case "maximum":
    case "exclusiveMinimum":
    case "exclusiveMaximum":
    case "multipleOf":
      return words(keyword, { limit: number(limit) });
    case "anyOf":
    case "oneOf":
    case "enum":
    case "const":
      return words("choice");
    default:
      return words(keyword);
  }
}

/**
 * What the form engine checks with. `shown` says which field of the page a
 * problem belongs to. A whole form is always checked against the
 * schema as it was given, as the server does, not against what the engine
 * makes of it.
 */
export function formValidator(
  root: RJSFSchema,
  t: Translate,
  lang: string,
  shown: (path: string[]) => string[] = (path) => path,
): ValidatorType {
  return {
    isValid: (schema, value, rootSchema) => fits(schema, value, rootSchema),
    rawValidation: (schema, value) => ({
      errors: [] as never[],
      ...(fits(schema, value, schema) ? {} : { validationError: new Error("invalid") }),
    }),
    validateFormData(value) {
      const builder = new ErrorSchemaBuilder();
      const errors: RJSFValidationError[] = problems(root, value ?? {}).map((problem) => {
        const { keyword, title, limit } = problem;
        const path = shown(problem.path);
        const message = problemText(problem, t, lang);
        builder.addErrors(message, path);
        const label = title ?? path.at(-1);
        return {
          name: keyword,
          property: `.${path.join(".")}`,
          params: { path, limit },
          message,
          stack: label === undefined ? message : t("chat.form.error.at", { label, message }),
          ...(title === undefined ? {} : { title }),
        };
      });
      return { errors, errorSchema: builder.ErrorSchema };
    },
  };
}
