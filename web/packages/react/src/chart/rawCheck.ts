/** The deepest and the largest option that is drawn. */
export const mostRawDepth = 24;
export const mostRawNodes = 100_000;

// What would run, load or be read as markup. The server refuses the same; a
// client that trusts nobody looks again.
const barredKeys = new Set([
  "graphic",
  "dataView",
  "extraCssText",
  "renderItem",
  "link",
  "sublink",
  "className",
  "appendTo",
  "appendToBody",
  "image",
  "renderMode",
  "__proto__",
  "constructor",
  "prototype",
]);

const functionLike =
  /^\s*(?:async\b\s*)?(?:function\b|\([^()]*\)\s*=>|[\w$]+\s*=>)|\bfunction\s*[\w$]*\s*\(|\bnew\s+Function\b|\beval\s*\(|=>\s*[{(]/i;
const addressLike =
  /^\s*(?:[a-z][a-z0-9+.-]*:\s*\/\/|\/\/|data:|blob:|javascript:|vbscript:|file:|mailto:)|image:\/\/|javascript\s*:/i;
const markupLike = /<\s*[/!?a-z]/i;
const entityLike = /&(?:#|[a-z]+;)/i;

/** A string that is a function, markup or an address in disguise; null for plain text. */
export function suspicion(text: string, name: string): string | null {
  if (functionLike.test(text)) return "a function";
  if (addressLike.test(text)) return "an address";
  if (markupLike.test(text)) return "markup";
  return /formatter/i.test(name) && entityLike.test(text) ? "markup" : null;
}

/** Says why an ECharts option cannot be trusted, or null. */
export function checkOption(option: unknown): string | null {
  let nodes = 0;
  const walk = (value: unknown, path: string, name: string, depth: number): string | null => {
    if (++nodes > mostRawNodes) return "the option is too large";
    if (depth > mostRawDepth) return `${path} is too deep`;
    if (typeof value === "string") {
      const found = suspicion(value, name);
      return found === null ? null : `${path} holds ${found}`;
    }
    if (typeof value === "function") return `${path} holds a function`;
    if (Array.isArray(value)) {
      for (const [i, one] of value.entries()) {
        const found = walk(one, `${path}/${i}`, name, depth + 1);
        if (found !== null) return found;
      }
      return null;
    }
    if (typeof value !== "object" || value === null) return null;
    for (const [key, one] of Object.entries(value)) {
      if (barredKeys.has(key) || /^on[A-Z]|^onclick$/.test(key)) {
        return `${path}/${key} is not allowed`;
      }
      const found = walk(one, `${path}/${key}`, key, depth + 1);
      if (found !== null) return found;
    }
    return null;
  };
  if (typeof option !== "object" || option === null || Array.isArray(option)) {
    return "option is not an object";
  }
  return walk(option, "option", "option", 0);
}
