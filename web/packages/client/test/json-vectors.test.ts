import type { PatchOperation } from "@inlay-ui/client";
import { JSONStream, JSONStreamError } from "@inlay-ui/client/markup";
import { expect, test } from "vitest";
import { random, rows } from "./markup.ts";

/*
 * The rows of these files are read by the server's reader too: both take a text
 * for the same JSON, or find it wrong at the same character, and show the same
 * of it until then.
 */

interface Row {
  text: string;
  built?: unknown;
  at?: number;
  whole?: boolean;
}

type Container = Record<string, unknown> | unknown[];

/** RFC 6902 for what a stream says, with every name that there may be. */
function apply(doc: unknown, ops: readonly PatchOperation[]): unknown {
  let root: unknown = doc;
  for (const op of ops) {
    if (op.op !== "add" && op.op !== "replace") throw new Error(op.op);
    const path = op.path.split("/").slice(1);
    const names = path.map((t) => t.replace(/~1/g, "/").replace(/~0/g, "~"));
    const last = names.pop();
    if (last === undefined) {
      root = op.value;
      continue;
    }
    const parent = names.reduce<unknown>((at, name) => (at as Container)[name as never], root);
    expect(Object.hasOwn(parent as Container, last)).toBe(op.op === "replace");
    Object.defineProperty(parent, last, {
      value: op.value,
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return root;
}

/** At which piece the text was wrong, or -1; what was built; and the whole, in a list. */
function read(pieces: readonly string[]): [wrong: number, built: unknown, whole: unknown] {
  const stream = new JSONStream();
  let built: unknown;
  for (const [i, piece] of pieces.entries()) {
    try {
      built = apply(built, stream.push(piece));
    } catch (error) {
      if (!(error instanceof JSONStreamError)) throw error;
      built = apply(built, error.operations);
      expect(() => stream.push(" ")).toThrow(expect.objectContaining({ operations: [] }));
      return [i, built, null];
    }
  }
  try {
    return [-1, built, [stream.close()]];
  } catch (error) {
    expect(error).toBeInstanceOf(JSONStreamError);
    return [-1, built, null];
  }
}

/** The one way in which both sides write a value. */
function plain(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(plain).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value ?? null);
  const names = Object.keys(value).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const of = value as Record<string, unknown>;
  return `{${names.map((name) => `${plain(name)}:${plain(of[name])}`).join()}}`;
}

function pieced(characters: readonly string[], next: (n: number) => number): string[] {
  const out: string[] = [];
  for (let at = 0; at < characters.length; ) {
    const to = at + 1 + next(8);
    out.push(characters.slice(at, to).join(""));
    at = to;
  }
  return out;
}

test.each(rows<Row>("json-stream.jsonl"))("$text", ({ text, built, at, whole = false }) => {
  const characters = [...text];
  const next = random(7);
  const ways = [[text], characters, text.split("")];
  for (let n = 0; n < 4; n++) ways.push(pieced(characters, next));
  for (const [n, pieces] of ways.entries()) {
    const [wrong, got, ended] = read(pieces);
    if (n === 1) expect(wrong).toBe(at ?? -1);
    expect(wrong >= 0).toBe(at !== undefined);
    expect(got).toEqual(built);
    expect(ended !== null).toBe(whole);
  }
});

test.each([
  ['["a', "\ud83d", '"]', ["a\ufffd"]],
  ['["a', "\ude00b", '"]', ["a\ufffdb"]],
  ['["a', "\ud83d", '\ude00"]', ["a😀"]],
  ['["a', "\ud83d", '\ud83d\ude00"]', ["a\ufffd😀"]],
  ['{"\ud83d', "", '":1}', { "\ufffd": 1 }],
])("half of a character that is alone is replaced: %j %j %j", (a, b, c, want) => {
  const stream = new JSONStream();
  const shown = JSON.stringify([a, b, c].map((piece) => stream.push(piece)));
  expect(shown).not.toMatch(/\\ud/);
  expect(stream.close()).toEqual(want);
});

test.each(["\ud83d", "{}\ud83d", '["a\ud83d', "1\ud83d"])(
  "half of one ends no JSON: %j",
  (text) => {
    const stream = new JSONStream();
    expect(() => {
      stream.push(text);
      stream.close();
    }).toThrow(JSONStreamError);
  },
);

const parts = [
  ["a", "word ", "好", "😀", "é", "\\n", '\\"', "\\\\", "\\u4e2d", "\\ud83d\\ude00", "\\ud83d"],
  ["\\ude00", "\\/", "{", "]", ",", "\0", "\n", "\\x", "\\u00g"],
].flat();
const words = [
  ["0", "-1", "1200", "3.25", "1e3", "-0.5E-2", "true", "false", "null"],
  ["01", "1.", "-", "nul", "truex", "1e999"],
].flat();
const marks = [
  ["{", "}", "[", "]", ",", ":", '"', "\\", " ", "\n", "1", "_", "x", "\0", "\x1f", "\ufeff"],
  ["\ufffd", "true", '"a"', "//", "'"],
].flat();

/** JSON with a mistake here and there. */
function randomText(next: (n: number) => number): string {
  const out: string[] = [];
  const pick = (list: readonly string[], n: number) => out.push(list[next(n)] ?? "");
  const text = (of: number) => {
    out.push('"');
    for (let n = next(6); n > 0; n--) pick(parts, of);
    out.push('"');
  };
  const value = (depth: number) => {
    let kind = next(9);
    if (depth === 0 && kind < 5) kind += 4;
    pick(["", "", " ", "\n"], 4);
    if (kind < 5) {
      out.push(kind < 3 ? "{" : "[");
      for (let n = next(4), i = 0; i < n; i++) {
        if (i > 0) out.push(",");
        if (kind < 3) {
          text(14);
          out.push(":");
        }
        value(depth - 1);
      }
      out.push(kind < 3 ? "}" : "]");
    } else if (kind < 7) text(next(12) > 0 ? 16 : parts.length);
    else pick(words, next(12) > 0 ? 9 : words.length);
  };
  value(4);
  if (next(3) === 0) out[next(out.length)] = marks[next(marks.length)] ?? "";
  if (next(5) === 0) out.length = next(out.length + 1);
  return out.join("");
}

/** What came of a text, with all that there is of one that is open at the end. */
function readToTheEnd(pieces: readonly string[]): [number, string, string] {
  let [wrong, built, whole] = read(pieces);
  if (wrong < 0 && whole === null) [, built] = read([...pieces, "\x01"]);
  return [wrong, plain(built), plain(whole)];
}

test("random texts are read as the server reads them", () => {
  const all = rows<{ seed: number; count: number; digest: string }>("json-stream-random.jsonl");
  expect(all.length).toBeGreaterThan(5);
  for (const { seed, count, digest } of all) {
    const next = random(seed);
    let sum = 0x811c9dc5;
    for (let n = 0; n < count; n++) {
      const text = randomText(next);
      const characters = [...text];
      const [wrong, built, whole] = readToTheEnd(characters);
      const again = readToTheEnd(pieced(characters, next));
      expect([again[0] < 0, again[1], again[2]], text).toEqual([wrong < 0, built, whole]);
      for (const byte of Buffer.from(`${wrong} ${built} ${whole}\n`)) {
        sum = Math.imul(sum ^ byte, 0x01000193) >>> 0;
      }
    }
    expect(sum.toString(16).padStart(8, "0"), `seed ${seed}`).toBe(digest);
  }
});
