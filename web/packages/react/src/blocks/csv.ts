/** A cell of a table that is written to a file. */
export type CsvValue = string | number | boolean | null | undefined;

// Spreadsheets read a cell that starts with one of these as a formula, also
// behind blanks and what is not seen at all; the full-width forms are
// normalised by some of them.
const formulaStart =
  /^[\s\u00a0\u200b-\u200f\u2060\u3000\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/;

/** Makes text inert in a spreadsheet: a formula becomes text by a leading apostrophe. */
export function neutralise(text: string): string {
  return formulaStart.test(text) ? `'${text}` : text;
}

function cell(value: CsvValue): string {
  if (value === null || value === undefined) {
    return "";
  }
  if (typeof value === "number") {
    return Number.isFinite(value) ? String(value) : "";
  }
  if (typeof value === "boolean") {
    return value ? "true" : "false";
  }
  const text = neutralise(value);
  return /[",\r\n;\t]/.test(text) || text !== text.trim()
    ? `"${text.replaceAll('"', '""')}"`
    : text;
}

/**
 * Writes a header and rows as RFC 4180 text with a byte order mark, so that
 * spreadsheets take it for UTF-8. Text that would run as a formula, headers
 * included, is neutralised; numbers stay numbers.
 */
export function toCsv(header: readonly string[], rows: readonly (readonly CsvValue[])[]): string {
  const lines = [header.map(cell).join(","), ...rows.map((row) => row.map(cell).join(","))];
  return `\ufeff${lines.join("\r\n")}\r\n`;
}
