import type { TableColumn, TablePayload } from "@inlay-ui/client";
import { useMemo } from "react";
import { useInlay, useT } from "../context.ts";
import type { Translate } from "../i18n/index.ts";
import { safeHref } from "../markdown/links.ts";
import { useBlockMenu } from "../menu.tsx";
import type { BlockProps } from "../registry.ts";
import { toCsv } from "./csv.ts";
import { type DataColumn, DataTable } from "./DataTable.tsx";
import { downloadFile, fileName } from "./download.ts";
import { formatMoment, formatNumber, parseMoment } from "./format.ts";
import { ItemActions } from "./ItemActions.tsx";
import { nextPage } from "./places.ts";

type Row = TablePayload["rows"][number];
type TableCell = Row[string];

/** How a column's values are read: as its type says, else by its format. */
function kindOf(column: TableColumn): NonNullable<TableColumn["type"]> {
  if (column.type) {
    return column.type;
  }
  if (column.format === "date" || column.format === "datetime") {
    return "time";
  }
  return column.format ? "number" : "text";
}

/** The text of one cell for a reader. */
export function cellText(
  column: TableColumn,
  value: TableCell | undefined,
  locale: string,
  t: Translate,
): string {
  if (value === null || value === undefined) {
    return "";
  }
  if (typeof value === "boolean") {
    return t(value ? "chat.block.table.yes" : "chat.block.table.no");
  }
  switch (kindOf(column)) {
    case "number":
      if (typeof value !== "number") {
        return value;
      }
      return formatNumber(
        value,
        {
          valueFormat:
            column.format === "date" || column.format === "datetime" ? "number" : column.format,
          unit: column.unit,
          format: {
            currency: column.currency,
            decimals: column.decimals,
            percentBase: column.percentBase,
          },
        },
        locale,
      );
    case "time": {
      const moment = parseMoment(value);
      if (!moment) {
        return String(value);
      }
      return formatMoment(
        column.format === "date" ? { ...moment, dateOnly: true } : moment,
        locale,
      );
    }
    default:
      // Numbers in a text column are mostly codes: no grouping.
      return String(value);
  }
}

function orderOf(column: TableColumn, value: TableCell | undefined): string | number | null {
  if (value === null || value === undefined || value === "") {
    return null;
  }
  if (typeof value === "boolean") {
    return value ? 1 : 0;
  }
  if (kindOf(column) === "time") {
    return parseMoment(value)?.wall ?? null;
  }
  return value;
}

/** Draws a `table` block; rows may still be arriving. */
export default function TableBlock({ block, payload, messageId }: BlockProps<TablePayload>) {
  const t = useT();
  const { lang } = useInlay();
  const { columns: specs, rows } = payload;
  const columns = useMemo(
    () =>
      specs.map((spec): DataColumn<Row> => {
        const kind = kindOf(spec);
        return {
          id: spec.field,
          label: spec.label ?? spec.field,
          align: spec.align ?? (kind === "number" ? "end" : "start"),
          numeric: kind === "number" || kind === "time",
          width: spec.width,
          text: (row) => cellText(spec, row[spec.field], lang, t),
          order: (row) => orderOf(spec, row[spec.field]),
          ...(kind === "link"
            ? {
                node: (row: Row) => {
                  const value = row[spec.field];
                  const href = typeof value === "string" ? safeHref(value) : "";
                  return href === "" || href.startsWith("#") ? (
                    String(value ?? "")
                  ) : (
                    <a href={href} target="_blank" rel="noopener noreferrer">
                      {href.replace(/^https?:\/\//, "")}
                    </a>
                  );
                },
              }
            : {}),
        };
      }),
    [specs, lang, t],
  );
  const title = block.meta?.title ?? payload.caption;
  useBlockMenu(
    useMemo(
      () => [
        {
          id: "csv",
          label: t("chat.block.menu.csv"),
          run: () =>
            downloadFile(
              fileName(title, "csv"),
              toCsv(
                columns.map((c) => c.label),
                rows.map((row) => specs.map((spec) => row[spec.field] ?? null)),
              ),
              "text/csv;charset=utf-8",
            ),
        },
      ],
      [columns, rows, specs, title, t],
    ),
  );
  const total = payload.total ?? 0;
  const number = new Intl.NumberFormat(lang);
  return (
    <>
      <DataTable
        columns={columns}
        rows={rows}
        locale={lang}
        label={
          payload.caption ?? block.meta?.title ?? t("chat.block.table.label", { rows: rows.length })
        }
        caption={payload.caption === block.meta?.title ? undefined : payload.caption}
        note={
          total > rows.length
            ? t("chat.block.table.some", {
                shown: number.format(rows.length),
                total: number.format(total),
              })
            : undefined
        }
      />
      <ItemActions
        block={block}
        messageId={messageId}
        actions={nextPage(block, payload.page?.cursor)}
      />
    </>
  );
}
