import type { PatchOperation } from "./types.ts";

type Container = Record<string, unknown> | unknown[];

/**
 * Applies an RFC 6902 patch and returns the new document. The given one is not
 * changed, parts that the patch does not touch are shared, and a patch that
 * fails half-way throws without any effect. An undefined document counts as
 * null. Only own members are ever read or written.
 */
export function applyPatch(document: unknown, patch: readonly PatchOperation[]): unknown {
  const mine = new Set<object>();
  let doc: unknown = document === undefined ? null : document;
  for (const op of patch) {
    const path = tokens(op.path);
    switch (op.op) {
      case "add":
      case "replace":
        if (op.value === undefined) throw new Error("no value");
        doc = write(doc, path, op.op, op.value, mine);
        break;
      case "remove":
        doc = write(doc, path, "remove", undefined, mine);
        break;
      case "test":
        if (!equal(read(doc, path), op.value)) throw new Error(`test failed at ${op.path}`);
        break;
      case "move": {
        if (op.path === op.from) {
          read(doc, path);
          break;
        }
        if (op.path.startsWith(`${op.from}/`)) throw new Error("cannot move into itself");
        const from = tokens(op.from);
        const value = read(doc, from);
        if (path.length > 0) doc = write(doc, from, "remove", undefined, mine);
        doc = write(doc, path, "add", value, mine);
        break;
      }
      case "copy":
        doc = write(doc, path, "add", structuredClone(read(doc, tokens(op.from))), mine);
        break;
      default:
        throw new Error("unknown operation");
    }
  }
  return doc;
}

/** The tokens of a pointer. Names that lead to a prototype are refused, as the server does. */
function tokens(pointer: string): string[] {
  if (pointer === "") return [];
  if (!/^(\/([^/~]|~[01])+)+$/.test(pointer)) throw new Error(`bad pointer ${pointer}`);
  const path = pointer
    .slice(1)
    .split("/")
    .map((t) => t.replace(/~1/g, "/").replace(/~0/g, "~"));
  path.forEach((token, i) => {
    if (token === "__proto__" || (token === "prototype" && path[i - 1] === "constructor")) {
      throw new Error(`${pointer} reaches a prototype`);
    }
  });
  return path;
}

function isContainer(value: unknown): value is Container {
  return typeof value === "object" && value !== null;
}

function index(token: string, end: number): number {
  const i = /^(0|[1-9]\d*)$/.test(token) ? Number(token) : -1;
  if (i < 0 || i >= end) throw new Error(`no index ${token}`);
  return i;
}

function member(parent: unknown, token: string): unknown {
  if (Array.isArray(parent)) return parent[index(token, parent.length)];
  if (isContainer(parent) && Object.hasOwn(parent, token)) {
    return (parent as Record<string, unknown>)[token];
  }
  throw new Error(`no member ${token}`);
}

function read(doc: unknown, path: string[]): unknown {
  return path.reduce(member, doc);
}

/** The value that an RFC 6901 pointer leads to. Throws where there is none. */
export function valueAt(document: unknown, pointer: string): unknown {
  return read(document, tokens(pointer));
}

/** A copy that this patch may change; `mine` remembers those already made. */
function own(value: unknown, mine: Set<object>): Container {
  if (!isContainer(value)) throw new Error("not a container");
  if (mine.has(value)) return value;
  const copy = Array.isArray(value) ? value.slice() : { ...value };
  mine.add(copy);
  return copy;
}

function write(
  doc: unknown,
  path: string[],
  op: "add" | "replace" | "remove",
  value: unknown,
  mine: Set<object>,
): unknown {
  const last = path.at(-1);
  if (last === undefined) {
    if (op === "remove") throw new Error("the whole document cannot be removed");
    return value;
  }
  const root = own(doc, mine);
  let parent = root;
  for (const token of path.slice(0, -1)) {
    const child = own(member(parent, token), mine);
    put(parent, token, child);
    parent = child;
  }
  if (Array.isArray(parent)) {
    if (op === "add") {
      const at = last === "-" ? parent.length : index(last, parent.length + 1);
      parent.splice(at, 0, value);
    } else {
      const at = index(last, parent.length);
      if (op === "remove") parent.splice(at, 1);
      else parent[at] = value;
    }
  } else {
    if (op !== "add") member(parent, last);
    if (op === "remove") delete parent[last];
    else put(parent, last, value);
  }
  return root;
}

/** Defines an own member, also where the name would reach a prototype's setter. */
export function put(parent: Container, token: string, value: unknown): void {
  Object.defineProperty(parent, token, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}

/** Whether two values are the same JSON. */
export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!isContainer(a) || !isContainer(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((k) => Object.hasOwn(b, k) && equal(member(a, k), member(b, k)))
  );
}
