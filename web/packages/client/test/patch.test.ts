import { describe, expect, test } from "vitest";
import { applyPatch, type PatchOperation } from "../src/index.ts";

type Case = [what: string, doc: unknown, patch: PatchOperation[], want: unknown];

describe("applyPatch", () => {
  const good: Case[] = [
    ["add a member", { a: 1 }, [{ op: "add", path: "/b", value: 2 }], { a: 1, b: 2 }],
    ["add replaces a member", { a: 1 }, [{ op: "add", path: "/a", value: 2 }], { a: 2 }],
    ["add into an array", [1, 3], [{ op: "add", path: "/1", value: 2 }], [1, 2, 3]],
    ["add at the end", [1], [{ op: "add", path: "/1", value: 2 }], [1, 2]],
    ["add with a dash", [1], [{ op: "add", path: "/-", value: 2 }], [1, 2]],
    ["add the whole", undefined, [{ op: "add", path: "", value: [] }], []],
    ["replace the whole with null", { a: 1 }, [{ op: "replace", path: "", value: null }], null],
    ["remove a member", { a: 1, b: 2 }, [{ op: "remove", path: "/a" }], { b: 2 }],
    ["remove from an array", [1, 2, 3], [{ op: "remove", path: "/1" }], [1, 3]],
    [
      "replace",
      { a: [1, { b: 2 }] },
      [{ op: "replace", path: "/a/1/b", value: 3 }],
      { a: [1, { b: 3 }] },
    ],
    [
      "move",
      { a: { x: 1 }, b: {} },
      [{ op: "move", from: "/a/x", path: "/b/y" }],
      { a: {}, b: { y: 1 } },
    ],
    ["move within an array", [1, 2, 3], [{ op: "move", from: "/0", path: "/2" }], [2, 3, 1]],
    ["move to itself", { a: 1 }, [{ op: "move", from: "/a", path: "/a" }], { a: 1 }],
    ["move to the root", { a: 1 }, [{ op: "move", from: "/a", path: "" }], 1],
    ["copy", { a: [1] }, [{ op: "copy", from: "/a", path: "/b" }], { a: [1], b: [1] }],
    ["copy of the whole", { a: 1 }, [{ op: "copy", from: "", path: "/b" }], { a: 1, b: { a: 1 } }],
    [
      "test, member order aside",
      { a: { x: 1, y: [2] } },
      [{ op: "test", path: "/a", value: { y: [2], x: 1 } }],
      { a: { x: 1, y: [2] } },
    ],
    [
      "escapes",
      { "a/b": 1, "m~n": 2 },
      [
        { op: "remove", path: "/a~1b" },
        { op: "replace", path: "/m~0n", value: 3 },
      ],
      { "m~n": 3 },
    ],
    ["~01 is ~1", { "~1": 1 }, [{ op: "replace", path: "/~01", value: 2 }], { "~1": 2 }],
    [
      "digits as a member name",
      { "0": "a" },
      [{ op: "replace", path: "/0", value: "b" }],
      { "0": "b" },
    ],
    ["null is a value", { a: 1 }, [{ op: "add", path: "/b", value: null }], { a: 1, b: null }],
  ];
  test.each(good)("%s", (_, doc, patch, want) => {
    const frozen = deepFreeze(structuredClone(doc));
    expect(applyPatch(frozen, patch)).toEqual(want);
    expect(frozen).toEqual(doc);
  });

  const bad: [what: string, doc: unknown, patch: unknown][] = [
    ["missing member", { a: 1 }, [{ op: "replace", path: "/b", value: 2 }]],
    ["remove of nothing", { a: 1 }, [{ op: "remove", path: "/b" }]],
    ["inherited member", {}, [{ op: "replace", path: "/toString", value: 2 }]],
    ["missing parent", {}, [{ op: "add", path: "/a/b", value: 2 }]],
    ["index past the end", [1], [{ op: "add", path: "/2", value: 2 }]],
    ["index with a leading zero", [1, 2], [{ op: "remove", path: "/01" }]],
    ["negative index", [1], [{ op: "replace", path: "/-1", value: 2 }]],
    ["dash where something must be", [1], [{ op: "remove", path: "/-" }]],
    ["member of a string", { a: "x" }, [{ op: "add", path: "/a/b", value: 2 }]],
    ["member of null", undefined, [{ op: "add", path: "/a", value: 2 }]],
    ["failed test", { a: 1 }, [{ op: "test", path: "/a", value: "1" }]],
    ["array is not an object", { a: [] }, [{ op: "test", path: "/a", value: {} }]],
    ["move into itself", { a: { b: 1 } }, [{ op: "move", from: "/a", path: "/a/b/c" }]],
    ["move of nothing to itself", {}, [{ op: "move", from: "/a", path: "/a" }]],
    ["pointer without a slash", { a: 1 }, [{ op: "remove", path: "a" }]],
    ["wrong escape", { "a~": 1 }, [{ op: "remove", path: "/a~" }]],
    ["empty name", { "": 1 }, [{ op: "remove", path: "/" }]],
    ["remove of the whole", { a: 1 }, [{ op: "remove", path: "" }]],
    ["unknown operation", { a: 1 }, [{ op: "frob", path: "/a" }]],
    ["no value", { a: 1 }, [{ op: "add", path: "/a" }]],
    ["prototype", {}, [{ op: "add", path: "/__proto__/polluted", value: 1 }]],
    ["prototype itself", {}, [{ op: "add", path: "/__proto__", value: { polluted: 1 } }]],
    ["constructor", {}, [{ op: "add", path: "/constructor/prototype/polluted", value: 1 }]],
    [
      "later operation",
      { a: 1 },
      [
        { op: "replace", path: "/a", value: 2 },
        { op: "remove", path: "/x" },
      ],
    ],
  ];
  test.each(bad)("refused: %s", (_, doc, patch) => {
    const before = structuredClone(doc);
    expect(() => applyPatch(doc, patch as PatchOperation[])).toThrow();
    expect(doc).toEqual(before);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test("untouched parts are shared, touched ones are new", () => {
    const doc = { rows: [{ a: 1 }], other: { x: 1 } };
    const next = applyPatch(doc, [{ op: "add", path: "/rows/-", value: { a: 2 } }]) as typeof doc;
    expect(next.other).toBe(doc.other);
    expect(next.rows).not.toBe(doc.rows);
    expect(next.rows[0]).toBe(doc.rows[0]);
  });

  test("a value of the patch is not changed by a later operation", () => {
    const value = { n: 1 };
    const got = applyPatch({}, [
      { op: "add", path: "/a", value },
      { op: "copy", from: "/a", path: "/b" },
      { op: "replace", path: "/a/n", value: 2 },
    ]);
    expect(got).toEqual({ a: { n: 2 }, b: { n: 1 } });
    expect(value).toEqual({ n: 1 });
  });

  test("many rows in one patch take linear time", () => {
    const patch = Array.from({ length: 20_000 }, (_, i): PatchOperation => {
      return { op: "add", path: "/rows/-", value: { i } };
    });
    const begin = performance.now();
    const got = applyPatch({ rows: [] }, patch) as { rows: unknown[] };
    expect(got.rows).toHaveLength(20_000);
    expect(performance.now() - begin).toBeLessThan(2_000);
  });
});

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    Object.values(value).forEach(deepFreeze);
    Object.freeze(value);
  }
  return value;
}
