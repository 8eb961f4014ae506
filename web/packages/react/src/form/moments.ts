const two = (n: number) => String(n).padStart(2, "0");

/** A moment as a `datetime-local` field takes it, in the reader's zone. */
export function localMoment(value: unknown): string {
  const at = typeof value === "string" ? new Date(value) : null;
  if (!at || Number.isNaN(at.getTime())) return "";
  const day = `${String(at.getFullYear()).padStart(4, "0")}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const seconds = at.getSeconds() ? `:${two(at.getSeconds())}` : "";
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}${seconds}`;
}

/** What such a field says, as a moment that means the same everywhere. */
export function zonedMoment(text: string): string {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? text : at.toISOString().replace(/\.000Z$/, "Z");
}

/** The clock of a time with its zone, as a `time` field takes it. */
export function localTime(value: unknown): string {
  const clock = typeof value === "string" ? /^\d{2}:\d{2}(?::\d{2})?/.exec(value)?.[0] : undefined;
  return (clock ?? "").replace(/:00$/, (end, at: number) => (at > 3 ? "" : end));
}

/** What such a field says, with the reader's zone. */
export function zonedTime(text: string): string {
  const offset = -new Date().getTimezoneOffset();
  const size = Math.abs(offset);
  const zone = `${two(Math.floor(size / 60))}:${two(size % 60)}`;
  const clock = text.length === 5 ? `${text}:00` : text;
  return `${clock}${offset === 0 ? "Z" : (offset < 0 ? "-" : "+") + zone}`;
}
