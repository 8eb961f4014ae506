/**
 * A trie in the form of a sorted list: the names with a given prefix stand next
 * to each other, so a node is a range of the list and one more character narrows
 * it.
 */
export type Names = readonly string[];

/** The range of the names that begin with the `n` characters seen. */
export interface Node {
  lo: number;
  hi: number;
  n: number;
}

/** Sorts names, each once; those that can never be found are left out. */
export function makeNames(list: Iterable<string>): Names {
  return [...new Set(list)].filter(validName).sort((a, b) => (a < b ? -1 : 1));
}

function validName(name: string): boolean {
  return /^[a-z][\w.-]*$/i.test(name);
}

export function letter(c: number): boolean {
  return (c | 0x20) >= 0x61 && (c | 0x20) <= 0x7a;
}

export function digit(c: number): boolean {
  return c >= 0x30 && c <= 0x39;
}

/** Whether a character may be part of a name. */
export function nameChar(c: number): boolean {
  return letter(c) || digit(c) || c === 0x5f || c === 0x2d || c === 0x2e;
}

/** The node of the empty prefix. */
export function root(names: Names): Node {
  return { lo: 0, hi: names.length, n: 0 };
}

/** Goes on by one character; null when no name goes on so. */
export function step(names: Names, at: Node, c: number): Node | null {
  const first = (least: number): number => {
    let lo = at.lo;
    let hi = at.hi;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      const name = names[mid] ?? "";
      if (name.length > at.n && name.charCodeAt(at.n) >= least) hi = mid;
      else lo = mid + 1;
    }
    return lo;
  };
  const lo = first(c);
  const hi = first(c + 1);
  return lo === hi ? null : { lo, hi, n: at.n + 1 };
}

/** The name that ends at a node; empty where none does. It sorts before those that it begins. */
export function nameAt(names: Names, at: Node): string {
  const name = at.n > 0 && at.lo < at.hi ? (names[at.lo] ?? "") : "";
  return name.length === at.n ? name : "";
}
