function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Says why a `text` payload cannot be drawn, or null. */
export function checkText(payload: unknown): string | null {
  return typeof payload === "string" ? null : "payload is not a string";
}

/** Says why a `table` payload cannot be drawn, or null. */
export function checkTable(payload: unknown): string | null {
  if (!isObject(payload)) {
    return "payload is not an object";
  }
  const { columns, rows } = payload;
  if (!Array.isArray(columns) || columns.length === 0) {
    return "columns are missing";
  }
  if (!columns.every((c) => isObject(c) && typeof c.field === "string")) {
    return "a column lacks its field";
  }
  if (!Array.isArray(rows) || !rows.every(isObject)) {
    return "rows is not a list of rows";
  }
  return null;
}

/** Says why a `metric` payload cannot be drawn, or null. */
export function checkMetric(payload: unknown): string | null {
  if (!isObject(payload)) {
    return "payload is not an object";
  }
  const { items } = payload;
  if (!Array.isArray(items) || items.length === 0) {
    return "items are missing";
  }
  const whole = items.every(
    (item) =>
      isObject(item) &&
      typeof item.label === "string" &&
      (item.value === null || typeof item.value === "number" || typeof item.value === "string"),
  );
  return whole ? null : "an item lacks its label or value";
}

/** Says why a `code` payload cannot be drawn, or null. */
export function checkCode(payload: unknown): string | null {
  if (!isObject(payload)) {
    return "payload is not an object";
  }
  return typeof payload.lang === "string" && typeof payload.source === "string"
    ? null
    : "lang or source is missing";
}
