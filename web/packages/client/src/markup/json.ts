import { put } from "../patch.ts";
import type { PatchOperation } from "../types.ts";
import { paired } from "./chars.ts";

/** Why a text is no JSON that a {@link JSONStream} reads. */
export class JSONStreamError extends Error {
  override name = "JSONStreamError";

  /**
   * `offset` counts the characters before the one that is wrong. `operations`
   * are what the push that found it would have returned for those before it.
   */
  constructor(
    message: string,
    readonly code: "syntax" | "duplicate_key" | "too_deep",
    readonly offset: number,
    readonly operations: readonly PatchOperation[] = [],
  ) {
    super(message);
  }
}

/** How deep values may be nested in each other. */
export const maxDepth = 100;

interface Frame {
  value: Record<string, unknown> | unknown[];
  /** What of `value` is next. */
  expect: "first" | "key" | "colon" | "value" | "comma";
  key: string;
  /** The pointer to `value`. */
  path: string;
  /** The push in which it was opened: its parts need no operations of their own until the next. */
  born: number;
}

/** A text within quotation marks that is still open. */
interface OpenString {
  text: string;
  isKey: boolean;
  /** What follows a backslash, as far as it came. */
  escape: string | null;
  /** The first half of a pair of escapes. */
  high: number;
  born: number;
  /** Grew since the last operation. */
  grew: boolean;
}

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

const literals = ["true", "false", "null"];

/** Whether a number or literal can begin so. */
function begins(word: string): boolean {
  const literal = literals.find((one) => one[0] === word[0]);
  return literal ? literal.startsWith(word) : word.length <= 1024;
}

const escapes: Record<string, string> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

/**
 * Reads JSON that is still being written and tells how the value grows, as RFC
 * 6902 operations on a document that is null at first. Whatever was told stays
 * true: a value never changes its type, numbers and literals are told when they
 * are complete, texts and lists only grow, and a member appears together with
 * the type of its value. A text is never cut within an escape or a character, and
 * half of one becomes U+FFFD. A name that comes twice in one object is an error.
 */
export class JSONStream {
  #stack: Frame[] = [];
  #string: OpenString | null = null;
  /** A number or literal that is still open. */
  #word = "";
  #root: unknown;
  #whole = false;
  /** The first half of a character that a push was cut in. */
  #half = "";
  #push = 0;
  #offset = 0;
  #ops: PatchOperation[] = [];
  #error: JSONStreamError | null = null;

  /**
   * Takes the next piece and returns how the value grew. Throws a
   * {@link JSONStreamError} where it is no JSON, and from then on.
   */
  push(piece: string): PatchOperation[] {
    if (this.#error) throw this.#error;
    let text = this.#half + piece;
    this.#half = "";
    const last = text.charCodeAt(text.length - 1);
    if (last >= 0xd800 && last < 0xdc00) {
      this.#half = text.slice(-1);
      text = text.slice(0, -1);
    }
    text = paired(text);
    this.#push++;
    this.#ops = [];
    try {
      let at = 0;
      while (at < text.length) at = this.#step(text, at);
    } catch (error) {
      if (!(error instanceof JSONStreamError)) throw error;
      const { message, code, offset } = error;
      this.#error = error;
      throw new JSONStreamError(message, code, offset, this.#told());
    }
    this.#offset += text.length;
    return this.#told();
  }

  /** Says that nothing follows, and returns the value. Throws when it is not whole. */
  close(): unknown {
    if (this.#error) throw this.#error;
    if (this.#word && this.#stack.length === 0) this.#finishWord(0);
    if (!this.#whole || this.#half) throw this.#fail("the text ends too early", 0);
    return this.#root;
  }

  /** What this push tells. */
  #told(): PatchOperation[] {
    this.#grow();
    return this.#ops.map((op) =>
      "value" in op && typeof op.value === "object"
        ? { ...op, value: structuredClone(op.value) }
        : op,
    );
  }

  #fail(message: string, at: number, code: JSONStreamError["code"] = "syntax"): JSONStreamError {
    this.#error = new JSONStreamError(message, code, this.#offset + at);
    return this.#error;
  }

  /** Takes at least one character and returns the place behind it. */
  #step(text: string, at: number): number {
    if (this.#string) return this.#inString(this.#string, text, at);
    const c = text.charAt(at);
    if (this.#word) {
      if (/[\da-z+.-]/i.test(c)) {
        this.#word += c;
        if (!begins(this.#word)) throw this.#fail(`${JSON.stringify(this.#word)} is no value`, at);
        return at + 1;
      }
      this.#finishWord(at);
    }
    if (c === " " || c === "\n" || c === "\r" || c === "\t") return at + 1;
    const frame = this.#stack.at(-1);
    const list = frame && Array.isArray(frame.value);
    if (!frame ? this.#whole : frame.expect === "comma" && c !== "," && c !== (list ? "]" : "}")) {
      throw this.#fail("something stands where nothing may", at);
    }
    switch (c) {
      case ",":
        if (frame?.expect !== "comma") break;
        frame.expect = list ? "value" : "key";
        return at + 1;
      case ":":
        if (frame?.expect !== "colon") break;
        frame.expect = "value";
        return at + 1;
      case "]":
      case "}":
        if (!frame || list !== (c === "]")) break;
        if (frame.expect !== "first" && frame.expect !== "comma") break;
        this.#stack.pop();
        this.#ended();
        return at + 1;
      case '"': {
        const isKey = frame !== undefined && !list && frame.expect !== "value";
        if (isKey && frame.expect === "colon") break;
        const born = isKey ? this.#push : this.#place("", at);
        this.#string = { text: "", isKey, escape: null, high: 0, born, grew: false };
        return at + 1;
      }
      default:
        if (frame && !list && frame.expect !== "value") break;
        if (c === "{" || c === "[") {
          if (this.#stack.length >= maxDepth) throw this.#fail("too deep", at, "too_deep");
          const path = this.#here();
          const value = c === "{" ? {} : [];
          const born = this.#place(value, at);
          this.#stack.push({ value, expect: "first", key: "", path, born });
          return at + 1;
        }
        if (!/[-\dtfn]/.test(c)) break;
        this.#word = c;
        return at + 1;
    }
    throw this.#fail(`unexpected ${JSON.stringify(c)}`, at);
  }

  /** Takes as much of a text as there is. */
  #inString(open: OpenString, text: string, at: number): number {
    if (open.escape !== null) {
      const c = text.charAt(at);
      if (open.escape === "") {
        if (c === "u") open.escape = c;
        else {
          const plain = escapes[c];
          if (plain === undefined) throw this.#fail("no such escape", at);
          open.escape = null;
          this.#add(open, plain);
        }
        return at + 1;
      }
      if (!/[\da-fA-F]/.test(c)) throw this.#fail("no such escape", at);
      open.escape += c;
      if (open.escape.length === 5) {
        const unit = Number.parseInt(open.escape.slice(1), 16);
        open.escape = null;
        if (open.high && unit >= 0xdc00 && unit < 0xe000) {
          const pair = String.fromCharCode(open.high, unit);
          open.high = 0;
          this.#add(open, pair);
        } else if (unit >= 0xd800 && unit < 0xdc00) {
          this.#add(open, "");
          open.high = unit;
        } else
          this.#add(open, unit >= 0xdc00 && unit < 0xe000 ? "\ufffd" : String.fromCharCode(unit));
      }
      return at + 1;
    }
    let end = at;
    for (; end < text.length; end++) {
      const code = text.charCodeAt(end);
      if (code === 0x22 || code === 0x5c || code < 0x20) break;
    }
    if (end > at) this.#add(open, text.slice(at, end));
    if (end === text.length) return end;
    if (text.charCodeAt(end) < 0x20) throw this.#fail("a control character in a text", end);
    if (text.charAt(end) === "\\") {
      open.escape = "";
      return end + 1;
    }
    this.#add(open, "");
    const frame = this.#stack.at(-1);
    if (open.isKey && frame) {
      if (Object.hasOwn(frame.value, open.text)) {
        throw this.#fail(`${JSON.stringify(open.text)} comes twice`, end, "duplicate_key");
      }
      frame.key = open.text;
      frame.expect = "colon";
    } else {
      this.#grow();
      this.#ended();
    }
    this.#string = null;
    return end + 1;
  }

  /** Adds to a text; the half of a pair that did not come in full is replaced. */
  #add(open: OpenString, more: string): void {
    if (open.high) {
      open.high = 0;
      more = `\ufffd${more}`;
    }
    if (!more) return;
    open.text += more;
    open.grew = true;
  }

  #finishWord(at: number): void {
    const word = this.#word;
    this.#word = "";
    if (!literals.includes(word) && !number.test(word))
      throw this.#fail(`${JSON.stringify(word)} is no value`, at);
    this.#place(JSON.parse(word), at);
    this.#ended();
  }

  /** The pointer to the value that is next. */
  #here(): string {
    const frame = this.#stack.at(-1);
    if (!frame) return "";
    if (Array.isArray(frame.value)) return `${frame.path}/${frame.value.length}`;
    return `${frame.path}/${frame.key.replace(/~/g, "~0").replace(/\//g, "~1")}`;
  }

  /** Puts a value in its place and returns the push that its parts count as born in. */
  #place(value: unknown, at: number): number {
    const frame = this.#stack.at(-1);
    if (!frame) {
      this.#root = value;
      this.#ops.push({ op: "add", path: "", value });
      return this.#push;
    }
    if (frame.expect !== "value" && !(frame.expect === "first" && Array.isArray(frame.value))) {
      throw this.#fail("a value where none may be", at);
    }
    if (frame.born !== this.#push) this.#ops.push({ op: "add", path: this.#here(), value });
    if (Array.isArray(frame.value)) frame.value.push(value);
    else put(frame.value, frame.key, value);
    frame.expect = "comma";
    return this.#push;
  }

  /** A value is complete. */
  #ended(): void {
    if (this.#stack.length === 0) this.#whole = true;
  }

  /** Tells how far the open text has come. */
  #grow(): void {
    const open = this.#string;
    if (!open || open.isKey || !open.grew) return;
    open.grew = false;
    const frame = this.#stack.at(-1);
    if (!frame) this.#root = open.text;
    else if (Array.isArray(frame.value)) frame.value[frame.value.length - 1] = open.text;
    else put(frame.value, frame.key, open.text);
    if (frame && frame.born === this.#push) return;
    const before = this.#ops.at(-1);
    // What was opened in this push has its operation already; it is the last.
    if (open.born === this.#push && before && "value" in before) before.value = open.text;
    else this.#ops.push({ op: "replace", path: this.#path(), value: open.text });
  }

  /** The pointer to the value that was placed last. */
  #path(): string {
    const frame = this.#stack.at(-1);
    if (!frame) return "";
    if (Array.isArray(frame.value)) return `${frame.path}/${frame.value.length - 1}`;
    return this.#here();
  }
}
