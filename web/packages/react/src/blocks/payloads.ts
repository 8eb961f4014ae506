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

/**
 * Says why a `minara.feature_recommendation` payload cannot be drawn, or null.
 * What its items lead to is judged by rules that are loaded with its renderer.
 */
export function checkRecommendation(payload: unknown): string | null {
  const items = isObject(payload) ? payload.items : null;
  return Array.isArray(items) && items.length > 0 && items.every(isObject)
    ? null
    : "items are missing";
}

const texts = (value: Record<string, unknown>, ...names: string[]): boolean =>
  names.every((name) => typeof value[name] === "string");

/**
 * Makes the check of a preset card: these members must be there once it is
 * complete. While it arrives anything may be missing, and its renderer reads
 * no member but by what it is.
 */
export function checkPreset(...names: string[]) {
  return (payload: unknown, loading: boolean): string | null => {
    if (!isObject(payload)) {
      return "payload is not an object";
    }
    const lacks = loading ? undefined : names.find((name) => !payload[name]);
    return lacks ? `${lacks} is missing` : null;
  };
}

/** Says why a `file` payload cannot be drawn, or null. One that is being produced has its progress alone. */
export function checkFile(payload: unknown): string | null {
  if (!isObject(payload)) {
    return "payload is not an object";
  }
  if (isObject(payload.progress)) {
    return typeof payload.progress.done === "number" ? null : "progress.done is missing";
  }
  if (!texts(payload, "assetId", "name", "mime") || typeof payload.size !== "number") {
    return "assetId, name, mime or size is missing";
  }
  const { preview } = payload;
  if (preview === undefined) {
    return null;
  }
  if (!isObject(preview) || typeof preview.kind !== "string") {
    return "preview.kind is missing";
  }
  if (
    preview.kind === "table" &&
    !(Array.isArray(preview.rows) && preview.rows.every(Array.isArray))
  ) {
    return "preview.rows is not a list of rows";
  }
  return preview.kind === "text" && typeof preview.text !== "string"
    ? "preview.text is missing"
    : null;
}

/** Says why an `image` payload cannot be drawn, or null. */
export function checkImage(payload: unknown): string | null {
  return isObject(payload) && texts(payload, "assetId", "alt") ? null : "assetId or alt is missing";
}

/** Says why a `card` payload cannot be drawn, or null. */
export function checkCard(payload: unknown): string | null {
  if (!isObject(payload) || typeof payload.title !== "string") {
    return "title is missing";
  }
  const { image, fields, status } = payload;
  if (image !== undefined && checkImage(image) !== null) {
    return "image lacks its assetId or alt";
  }
  if (fields !== undefined && !(Array.isArray(fields) && fields.every(isField))) {
    return "a field lacks its label or value";
  }
  return status === undefined || (isObject(status) && typeof status.label === "string")
    ? null
    : "status lacks its label";
}

function isField(field: unknown): boolean {
  return (
    isObject(field) &&
    typeof field.label === "string" &&
    (field.value === null || ["string", "number", "boolean"].includes(typeof field.value))
  );
}

/** Says why a `card_list` payload cannot be drawn, or null. */
export function checkCardList(payload: unknown): string | null {
  if (!isObject(payload) || !Array.isArray(payload.items)) {
    return "items are missing";
  }
  return payload.items.map(checkCard).find((problem) => problem !== null) ?? null;
}

const stepStates = ["pending", "running", "done", "error", "skipped"];

/** Says why a `steps` payload cannot be drawn, or null. */
export function checkSteps(payload: unknown): string | null {
  if (!isObject(payload) || !Array.isArray(payload.items)) {
    return "items are missing";
  }
  const whole = payload.items.every(
    (item) =>
      isObject(item) &&
      texts(item, "id", "label", "status") &&
      stepStates.includes(String(item.status)),
  );
  return whole ? null : "an item lacks its id, label or status";
}

/** Says why a `tree` payload cannot be drawn, or null. Unknown nodes are drawn plainly. */
export function checkTree(payload: unknown): string | null {
  return isObject(payload) && isObject(payload.root) && typeof payload.root.type === "string"
    ? null
    : "root is missing";
}

/** Says why an `echarts_raw` payload cannot be drawn, or null. The renderer looks deeper. */
export function checkRaw(payload: unknown): string | null {
  return isObject(payload) && isObject(payload.option) ? null : "option is missing";
}

/** Says why a `form` payload cannot be drawn, or null. */
export function checkForm(payload: unknown): string | null {
  if (!isObject(payload)) {
    return "payload is not an object";
  }
  if (typeof payload.title !== "string") {
    return "title is missing";
  }
  return isObject(payload.schema) ? formParts(payload) : "schema is missing";
}

/** What the parts of a form must be where they are given. */
function formParts({ schema, uiSchema, defaults }: Record<string, unknown>): string | null {
  if (schema !== undefined && !(isObject(schema) && schema.type === "object")) {
    return "schema is not that of an object";
  }
  for (const part of [uiSchema, defaults]) {
    if (part !== undefined && !isObject(part)) {
      return "uiSchema or defaults is not an object";
    }
  }
  return null;
}

/** Says why a `confirm` payload cannot be drawn, or null. */
export function checkConfirm(payload: unknown): string | null {
  if (!isObject(payload) || typeof payload.prompt !== "string") {
    return "prompt is missing";
  }
  if (payload.args !== undefined && !isObject(payload.args)) {
    return "args is not an object";
  }
  return hasIds(payload.options) ? formParts(payload) : "an option lacks its id";
}

/** Says why a `question` payload cannot be drawn, or null. */
export function checkQuestion(payload: unknown): string | null {
  if (!isObject(payload) || typeof payload.prompt !== "string") {
    return "prompt is missing";
  }
  const { options } = payload;
  if (!hasIds(options)) {
    return "an option lacks its id";
  }
  if (Array.isArray(options) && !options.every((o) => isObject(o) && typeof o.label === "string")) {
    return "an option lacks its label";
  }
  return formParts(payload);
}

function hasIds(options: unknown): boolean {
  if (options === undefined) {
    return true;
  }
  return Array.isArray(options) && options.every((o) => isObject(o) && typeof o.id === "string");
}

/** Says why a `query` payload cannot be drawn, or null. */
export function checkQuery(payload: unknown): string | null {
  if (!isObject(payload)) {
    return "payload is not an object";
  }
  const { lang, statement, timeRange } = payload;
  if (typeof lang !== "string" || typeof statement !== "string") {
    return "lang or statement is missing";
  }
  if (timeRange === undefined) {
    return null;
  }
  const ends = isObject(timeRange) ? [timeRange.from, timeRange.to] : [];
  return ends.length === 2 && ends.every((e) => typeof e === "string" || typeof e === "number")
    ? null
    : "timeRange lacks an end";
}
