import { applyPatch, type PatchOperation } from "@inlay-ui/client";
import { JSONStream, JSONStreamError } from "@inlay-ui/client/markup";
import { describe, expect, test } from "vitest";
import { cut, random } from "./markup.ts";

/** Pushes pieces and calls back with the document after each. */
function build(pieces: Iterable<string>, seen?: (value: unknown, ops: PatchOperation[]) => void) {
  const stream = new JSONStream();
  let value: unknown;
  for (const piece of pieces) {
    const ops = stream.push(piece);
    value = applyPatch(value, ops);
    seen?.(value, ops);
  }
  return { value, whole: stream.close() };
}

/** A value of JSON. */
function some(next: (n: number) => number, depth: number): unknown {
  const text = () => {
    let out = "";
    for (let n = next(6); n > 0; n--)
      out += ["a", "好", "😀", '"', "\\", "\n", "\u0001", "/"][next(8)];
    return out;
  };
  switch (next(depth > 0 ? 8 : 5)) {
    case 0:
      return [null, true, false][next(3)];
    case 1:
      return [0, -1, 1200, 1.5, -0.25, 1e21, 2.5e-7][next(7)];
    case 2:
    case 3:
    case 4:
      return text();
    case 5:
    case 6: {
      const out: Record<string, unknown> = {};
      for (let n = next(4); n > 0; n--) out[`${text()}${n}`] = some(next, depth - 1);
      return out;
    }
    default:
      return Array.from({ length: next(4) }, () => some(next, depth - 1));
  }
}

/** JSON as models write it: with blanks, and escapes where none are needed. */
function write(next: (n: number) => number, value: unknown): string {
  const text = JSON.stringify(value, null, next(3));
  if (next(2) === 0) return text;
  return text.replace(
    /[^\x20-\x7e\n]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

const typeOf = (value: unknown) =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value;

/** Holds what was shown to what is shown later. */
function checkGrowth(before: unknown, after: unknown, path = ""): void {
  if (before === undefined) return;
  expect(typeOf(after), path).toBe(typeOf(before));
  if (typeof before === "string") expect(String(after).startsWith(before), path).toBe(true);
  else if (Array.isArray(before)) {
    const list = after as unknown[];
    expect(list.length).toBeGreaterThanOrEqual(before.length);
    for (const [i, one] of before.entries()) checkGrowth(one, list[i], `${path}/${i}`);
  } else if (typeof before === "object" && before !== null) {
    for (const [key, one] of Object.entries(before)) {
      checkGrowth(one, (after as Record<string, unknown>)[key], `${path}/${key}`);
    }
  } else expect(after, path).toBe(before);
}

test("whatever was shown stays true, and at the end it is the value", () => {
  const next = random(3);
  for (let n = 0; n < 250; n++) {
    const value = some(next, 4);
    const text = write(next, value);
    for (const pieces of [[text], text.split(""), cut(text, next)]) {
      let before: unknown;
      const made = build(pieces, (after, ops) => {
        if (before === undefined && ops.length === 0) return;
        checkGrowth(before, after);
        if (typeof after === "string") expect(after).not.toMatch(/\p{Surrogate}/u);
        before = after;
      });
      expect(made.whole).toEqual(value);
      const scalar = typeof value === "number" || typeof value === "boolean" || value === null;
      // A number without anything behind it is complete only at the end.
      if (!scalar) expect(made.value).toEqual(value);
    }
  }
});

test("numbers and literals are shown when they are complete", () => {
  const shown: unknown[] = [];
  build('{"n":1200,"t":true,"z":null}'.split(""), (value) => shown.push(JSON.stringify(value)));
  expect([...new Set(shown)]).toEqual([
    "{}",
    '{"n":1200}',
    '{"n":1200,"t":true}',
    '{"n":1200,"t":true,"z":null}',
  ]);
});

test("a member comes with the type of its value", () => {
  const stream = new JSONStream();
  expect(stream.push('{"list"')).toEqual([{ op: "add", path: "", value: {} }]);
  expect(stream.push(": ")).toEqual([]);
  expect(stream.push('[{"a/b~":"')).toEqual([
    { op: "add", path: "/list", value: [{ "a/b~": "" }] },
  ]);
  expect(stream.push("x")).toEqual([{ op: "replace", path: "/list/0/a~1b~0", value: "x" }]);
  expect(stream.push('y"},1')).toEqual([{ op: "replace", path: "/list/0/a~1b~0", value: "xy" }]);
  expect(stream.push("2]")).toEqual([{ op: "add", path: "/list/1", value: 12 }]);
  expect(stream.push("}")).toEqual([]);
  expect(stream.close()).toEqual({ list: [{ "a/b~": "xy" }, 12] });
});

test("a text is never cut within an escape or a character", () => {
  const seen: unknown[] = [];
  const { whole } = build('["\\u624b😀\\ud83d\\ude00\\ud83dx\\udc00\\n"]'.split(""), (value) =>
    seen.push((value as string[] | undefined)?.[0]),
  );
  expect(whole).toEqual(["手😀😀\ufffdx\ufffd\n"]);
  expect([...new Set(seen)]).toEqual([
    undefined,
    "",
    "手",
    "手😀",
    "手😀😀",
    "手😀😀\ufffdx",
    "手😀😀\ufffdx\ufffd",
    "手😀😀\ufffdx\ufffd\n",
  ]);
});

describe("refuses", () => {
  const wrong: [string, JSONStreamError["code"]][] = [
    ['{"a":1,"a":2}', "duplicate_key"],
    ['{"a":1,"\\u0061":2}', "duplicate_key"],
    ["[".repeat(101), "too_deep"],
    ["{id:1}", "syntax"],
    ["{'a':1}", "syntax"],
    ['{"a" 1}', "syntax"],
    ['{"a":1,}', "syntax"],
    ["[1,]", "syntax"],
    ["[,1]", "syntax"],
    ["[1 2]", "syntax"],
    ["[1}", "syntax"],
    ["{]", "syntax"],
    ['{"a"}', "syntax"],
    ['{"a":}', "syntax"],
    ["[01]", "syntax"],
    ["[1.]", "syntax"],
    ["[-]", "syntax"],
    ["[nul]", "syntax"],
    ["[truex]", "syntax"],
    ["[+1]", "syntax"],
    ['["\\x"]', "syntax"],
    ['["\\u12g4"]', "syntax"],
    ['["\n"]', "syntax"],
    ["{} {}", "syntax"],
    ["{}]", "syntax"],
    ["// a\n{}", "syntax"],
    [`[${"1".repeat(1025)}]`, "syntax"],
  ];

  test.each(wrong)("%j", (text, code) => {
    for (const pieces of [[text], text.split("")]) {
      const stream = new JSONStream();
      const run = () => {
        for (const piece of pieces) stream.push(piece);
        stream.close();
      };
      expect(run).toThrow(JSONStreamError);
      expect(run).toThrow(expect.objectContaining({ code }));
    }
  });

  test.each(["", "{", '{"a"', '{"a":', '{"a":1', "[", '["', '["\\', "12.", "tru", '"\ud83d'])(
    "a text that ends too early: %j",
    (text) => {
      const stream = new JSONStream();
      stream.push(text);
      expect(() => stream.close()).toThrow(JSONStreamError);
    },
  );
});

test("a name that leads to a prototype is one like others", () => {
  const stream = new JSONStream();
  stream.push('{"__proto__":{"polluted":true}}');
  const value = stream.close() as object;
  expect(Object.keys(value)).toEqual(["__proto__"]);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});

test("is linear", () => {
  const text = `{"rows":[${'{"a":"some text here","b":1234},'.repeat(30_000)}0]}`;
  const stream = new JSONStream();
  const begin = performance.now();
  for (let at = 0; at < text.length; at += 4) stream.push(text.slice(at, at + 4));
  stream.close();
  // About a second; minutes if each piece cost what came before it.
  expect(performance.now() - begin).toBeLessThan(15_000);
});
