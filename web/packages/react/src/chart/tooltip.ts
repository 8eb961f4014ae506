import type { TooltipText } from "./option.ts";

/**
 * Builds a tooltip as elements. Names and values come from data that nobody
 * checked for markup, so they only ever become text nodes.
 */
export function tooltipElement(text: TooltipText): HTMLElement {
  const root = document.createElement("div");
  root.className = "inlay-tip";
  if (text.title !== "") {
    const title = document.createElement("div");
    title.className = "inlay-tip-title";
    title.textContent = text.title;
    root.append(title);
  }
  for (const line of text.lines) {
    const row = document.createElement("div");
    row.className = "inlay-tip-row";
    const mark = document.createElement("span");
    mark.className = "inlay-tip-mark";
    if (line.color) {
      mark.style.backgroundColor = line.color;
    }
    const name = document.createElement("span");
    name.className = "inlay-tip-name";
    name.textContent = line.name;
    const value = document.createElement("span");
    value.className = "inlay-tip-value";
    value.textContent = line.value;
    row.append(mark, name, value);
    root.append(row);
  }
  return root;
}

/** The tooltip as one line, for a reader who walks through the data by keyboard. */
export function tooltipLine(text: TooltipText): string {
  const lines = text.lines.map((l) => (l.name === "" ? l.value : `${l.name}: ${l.value}`));
  return [text.title, lines.join(", ")].filter((s) => s !== "").join(" – ");
}
