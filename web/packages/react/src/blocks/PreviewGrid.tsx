import type { FilePreviewRow } from "@inlay-ui/client";
import { useT } from "../context.ts";

/** The text of a cell. What its numbers mean is not known, so they are not grouped. */
export function sheetCell(
  value: FilePreviewRow[number] | undefined,
  yes: string,
  no: string,
): string {
  if (value === null || value === undefined) return "";
  return typeof value === "boolean" ? (value ? yes : no) : String(value);
}

/** Whether the first row names the columns: it is words only, and there are rows below it. */
export function hasHead(rows: readonly FilePreviewRow[]): boolean {
  const [first, ...rest] = rows;
  if (!first || rest.length === 0) return false;
  const words = first.every((v) => v === null || (typeof v === "string" && v.trim() !== ""));
  return words && first.some((v) => v !== null);
}

/** The first rows of a sheet. */
export function PreviewGrid({
  rows,
  label,
  most,
}: {
  rows: readonly FilePreviewRow[];
  label: string;
  most: number;
}) {
  const t = useT();
  if (rows.length === 0) return <p className="inlay-empty">{t("chat.block.table.empty")}</p>;
  const head = hasHead(rows);
  const body = rows.slice(head ? 1 : 0, most + (head ? 1 : 0));
  const width = Math.max(...rows.map((row) => row.length));
  const places = Array.from({ length: width }, (_, i) => i);
  const text = (value: FilePreviewRow[number] | undefined) =>
    sheetCell(value, t("chat.block.table.yes"), t("chat.block.table.no"));
  const kind = (value: FilePreviewRow[number] | undefined) =>
    typeof value === "number" ? "inlay-cell-end inlay-figures" : undefined;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the region scrolls and must be reachable by keyboard
    <section className="inlay-scroll inlay-file-grid" aria-label={label} tabIndex={0}>
      <table className="inlay-grid">
        {head ? (
          <thead>
            <tr>
              {places.map((i) => (
                <th key={i} scope="col" className={kind(body[0]?.[i])}>
                  {text(rows[0]?.[i])}
                </th>
              ))}
            </tr>
          </thead>
        ) : null}
        <tbody>
          {body.map((row, at) => (
            <tr key={at}>
              {places.map((i) => (
                <td key={i} className={kind(row[i])}>
                  {text(row[i])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
