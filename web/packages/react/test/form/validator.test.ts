// @vitest-environment node
import { readFileSync } from "node:fs";
import type { RJSFSchema } from "@rjsf/utils";
import { describe, expect, test } from "vitest";
import { formats } from "../../src/form/formats.ts";
import { fits, formValidator, problems, problemText } from "../../src/form/validator.ts";
import { loadFormWords } from "../../src/form/words.ts";
import { formsEn } from "../../src/i18n/forms.en.ts";
import { formsZh } from "../../src/i18n/forms.zh.ts";
import { translator } from "../../src/index.ts";

const testdata = new URL("../../../../../testdata/", import.meta.url);

function rows<T>(name: string): T[] {
  const lines = readFileSync(new URL(name, testdata), "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as T);
}

describe("formats", () => {
  const vectors = rows<{ format: string; value: string; ok: boolean }>("form-formats.jsonl");
  test("are judged as by the server", () => {
    expect(vectors.length).toBeGreaterThan(200);
    const wrong = vectors.filter((v) => formats[v.format]?.(v.value) !== v.ok);
    expect(wrong).toEqual([]);
    expect(new Set(vectors.map((v) => v.format))).toEqual(new Set(Object.keys(formats)));
  });
});

loadFormWords();
const t = translator("en");
const said = (schema: RJSFSchema, value: unknown) =>
  problems(schema, value).map((p) => `/${p.path.join("/")}: ${problemText(p, t, "en")}`);

describe("what is wrong", () => {
  const address: RJSFSchema = {
    type: "object",
    required: ["city"],
    properties: { city: { type: "string", title: "City", minLength: 2 } },
  };
  const order: RJSFSchema = {
    type: "object",
    required: ["reason", "lines"],
    additionalProperties: false,
    definitions: { address },
    properties: {
      reason: { type: "string", title: "Reason", maxLength: 5 },
      lines: {
        type: "array",
        minItems: 1,
        uniqueItems: true,
        items: { type: "object", properties: { n: { type: "integer", minimum: 1 } } },
      },
      to: { $ref: "#/definitions/address" },
      on: { type: "string", format: "date" },
      price: { type: "number", multipleOf: 0.01 },
    },
  };

  test("is named at its member", () => {
    expect(said(order, { lines: [] })).toEqual([
      "/reason: Fill this in.",
      "/lines: At least 1 entry is needed.",
    ]);
    const value = {
      reason: "too long",
      lines: [{ n: 0 }, { n: 1.5 }],
      to: { city: "" },
      on: "2026-02-30",
      price: 19.999,
      more: 1,
    };
    expect(said(order, value)).toEqual([
      "/reason: At most 5 characters.",
      "/lines/0/n: Not less than 1.",
      "/lines/1/n: A whole number is needed.",
      "/to/city: At least 2 characters.",
      "/on: Not a date.",
      "/price: Only steps of 0.01.",
      "/more: Not expected here.",
    ]);
    expect(said(order, { reason: "ok", lines: [{ n: 1 }], price: 19.99 })).toEqual([]);
    const twice = { reason: "ok", lines: [{ n: 1 }, { n: 1 }] };
    expect(said(order, twice)).toEqual(["/lines: Each entry only once."]);
  });

  test("follows references, conditions and dependencies", () => {
    expect(said(order, { reason: "a", lines: [{}], to: {} })).toEqual(["/to/city: Fill this in."]);
    expect(problems(order, { reason: "a", lines: [{}], to: {} })[0]?.title).toBe("City");
    const conditional: RJSFSchema = {
      type: "object",
      properties: { kind: { enum: ["a", "b"] } },
      if: { properties: { kind: { const: "a" } }, required: ["kind"] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { required: ["why"], properties: { why: { title: "Why", type: "string" } } },
      else: { required: ["kind"] },
      dependencies: { kind: ["who"] },
    };
    expect(said(conditional, {})).toEqual(["/kind: Fill this in."]);
    expect(said(conditional, { kind: "a" })).toEqual([
      "/why: Fill this in.",
      "/who: Fill this in.",
    ]);
    expect(problems(conditional, { kind: "a" })[0]?.title).toBe("Why");
  });

  test("explains the alternative that is closest", () => {
    const either: RJSFSchema = {
      type: "object",
      properties: {
        pay: {
          oneOf: [
            {
              properties: { kind: { const: "card" }, no: { minLength: 4 } },
              required: ["kind", "no"],
            },
            { properties: { kind: { const: "bill" }, mail: {} }, required: ["kind", "mail"] },
          ],
        },
        size: { anyOf: [{ const: 1 }, { const: 2 }] },
      },
    };
    expect(said(either, { pay: { kind: "card", no: "12" } })).toEqual([
      "/pay/no: At least 4 characters.",
    ]);
    expect(said(either, { size: 3 })).toEqual(["/size: Choose one of the options."]);
  });

  test("lets a schema through that it cannot read, for the server to judge", () => {
    expect(said({ type: "string", pattern: "(" }, "x")).toEqual([]);
    expect(said({ $ref: "#/definitions/none" }, "x")).toEqual([]);
    expect(fits({ pattern: "(" }, "x", {})).toBe(false);
  });

  test("does not take data for schemas", () => {
    const schema: RJSFSchema = {
      type: "object",
      properties: { format: { type: "string", enum: ["date", "csv"] } },
      default: { format: "date" },
    };
    expect(said(schema, { format: "csv" })).toEqual([]);
    expect(said(schema, { format: "x" })).toEqual(["/format: Choose one of the options."]);
  });

  test("every format and keyword has words in every language", () => {
    for (const name of Object.keys(formats))
      expect(formsEn).toHaveProperty([`chat.form.error.format.${name}`]);
    expect(problemText({ path: [], keyword: "x", limit: 0, title: undefined }, t, "en")).toBe(
      "This value is not accepted.",
    );
  });
});

describe("the form engine's view of it", () => {
  const root: RJSFSchema = {
    type: "object",
    required: ["a.b"],
    definitions: { x: { type: "string", format: "email" } },
    properties: { "a.b": { type: "string", title: "Name" }, mail: { $ref: "#/definitions/x" } },
  };
  const validator = formValidator(root, t, "en");

  test("errors stand at their fields, also where names have dots", () => {
    const { errors, errorSchema } = validator.validateFormData({ mail: "x" }, {});
    expect(errorSchema).toEqual({
      "a.b": { __errors: ["Fill this in."] },
      mail: { __errors: ["Not an e-mail address."] },
    });
    expect(errors[0]).toMatchObject({ stack: "Name: Fill this in.", params: { path: ["a.b"] } });
  });

  test("parts of the schema are judged with the whole one's definitions", () => {
    const part: RJSFSchema = { properties: { mail: { $ref: "#/definitions/x" } } };
    expect(validator.isValid(part, { mail: "a@b.example" }, root)).toBe(true);
    expect(validator.isValid(part, { mail: "a" }, root)).toBe(false);
    expect(validator.isValid({ const: 1 }, undefined, root)).toBe(false);
  });
});

describe("verdicts", () => {
  const all = rows<{
    name: string;
    schema: RJSFSchema;
    value: unknown;
    lint: string;
    verdict: string;
  }>("form-verdicts.jsonl");
  const judged = all.filter((v) => v.lint === "ok");

  test("are those of the server for every schema that it lets in", () => {
    expect(judged.length).toBeGreaterThan(100);
    const wrong = judged.filter(
      (v) => (problems(v.schema, v.value).length === 0 ? "ok" : "bad") !== v.verdict,
    );
    expect(wrong).toEqual([]);
  });

  test("are the same when a part of a form is judged", () => {
    const wrong = judged.filter(
      (v) => (fits(v.schema, v.value, v.schema) ? "ok" : "bad") !== v.verdict,
    );
    expect(wrong).toEqual([]);
  });
});

test("the words of forms are the same in every language", () => {
  expect(Object.keys(formsZh).sort()).toEqual(Object.keys(formsEn).sort());
  const places = (text: string) => [...new Set(text.match(/\{\w+\}/g))].sort();
  for (const [key, text] of Object.entries(formsEn)) {
    expect(formsZh[key]?.trim(), key).not.toBe("");
    expect(places(formsZh[key] ?? ""), key).toEqual(places(text));
  }
});
