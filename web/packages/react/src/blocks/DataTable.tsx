import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, type ReactNode, useDeferredValue, useId, useMemo, useRef, useState } from "react";
import { useT } from "../context.ts";

/** A column of a {@link DataTable}. */
export interface DataColumn<R> {
  id: string;
  label: string;
  align: "start" | "center" | "end";
  /** Numbers are set in figures of one width. */
  numeric: boolean;
  width?: number | undefined;
  /** What the cell says, also to the filter. */
  text(row: R): string;
  /** What the rows are ordered by; null goes last. */
  order(row: R): string | number | null;
  /** Drawn in place of the text. */
  node?(row: R): ReactNode;
}

interface TableProps<R> {
  columns: readonly DataColumn<R>[];
  rows: readonly R[];
  locale: string;
  label: string;
  caption?: string | undefined;
  note?: string | undefined;
  /** Makes each row's first cell a button. */
  onRow?: ((row: R) => void) | undefined;
  rowLabel?: string | undefined;
}

interface Order {
  id: string;
  down: boolean;
}

/** More rows than this are drawn only where they are seen. */
export const virtualRows = 100;
const rowHeight = 36;
const filterFrom = 8;

function ordered<R>(rows: readonly R[], column: DataColumn<R>, down: boolean, locale: string): R[] {
  const collator = new Intl.Collator(locale, { numeric: true, sensitivity: "base" });
  const keyed = rows.map((row, at) => ({ row, at, key: column.order(row) }));
  keyed.sort((a, b) => {
    if (a.key === null || b.key === null) {
      return a.key === b.key ? a.at - b.at : a.key === null ? 1 : -1;
    }
    const sign = down ? -1 : 1;
    const by =
      typeof a.key === "number" && typeof b.key === "number"
        ? a.key - b.key
        : collator.compare(String(a.key), String(b.key));
    return by === 0 ? a.at - b.at : sign * by;
  });
  return keyed.map((k) => k.row);
}

/** How wide a column's text is, in characters; East Asian ones count double. */
function charWidth(text: string): number {
  let n = 0;
  for (const char of text) {
    n += /[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60]/.test(char) ? 2 : 1;
  }
  return n;
}

function columnWidth<R>(column: DataColumn<R>, rows: readonly R[]): number {
  if (column.width !== undefined) {
    return Math.min(2000, Math.max(24, column.width));
  }
  let most = charWidth(column.label) + 3;
  const step = Math.max(1, Math.floor(rows.length / 200));
  for (let i = 0; i < rows.length; i += step) {
    const row = rows[i];
    if (row !== undefined) {
      most = Math.max(most, charWidth(column.text(row)));
    }
  }
  return Math.min(320, Math.max(64, Math.round(most * 8.2) + 26));
}

function cellClass(column: { align: string; numeric: boolean }): string {
  return `inlay-cell-${column.align}${column.numeric ? " inlay-figures" : ""}`;
}

function Row<R>({
  row,
  columns,
  onRow,
  rowLabel,
  index,
}: {
  row: R;
  columns: readonly DataColumn<R>[];
  onRow: ((row: R) => void) | undefined;
  rowLabel: string | undefined;
  index?: number | undefined;
}) {
  return (
    <tr
      aria-rowindex={index}
      className={onRow ? "inlay-row-action" : undefined}
      onClick={onRow ? () => onRow(row) : undefined}
    >
      {columns.map((column, i) => {
        const text = column.text(row);
        const content = column.node?.(row) ?? text;
        return (
          <td
            key={column.id}
            className={cellClass(column)}
            title={text.length > 40 ? text : undefined}
          >
            {i === 0 && onRow ? (
              <button
                type="button"
                className="inlay-row-button"
                aria-label={rowLabel ? `${text} – ${rowLabel}` : undefined}
                onClick={(event) => {
                  event.stopPropagation();
                  onRow(row);
                }}
              >
                {content}
              </button>
            ) : (
              content
            )}
          </td>
        );
      })}
    </tr>
  );
}

const MemoRow = memo(Row) as typeof Row;

/** A table that is sorted by its headings, filtered by text, and scrolls in itself when long. */
export function DataTable<R>({
  columns,
  rows,
  locale,
  label,
  caption,
  note,
  onRow,
  rowLabel,
}: TableProps<R>) {
  const t = useT();
  const [order, setOrder] = useState<Order | null>(null);
  const [filter, setFilter] = useState("");
  const wanted = useDeferredValue(filter.trim().toLocaleLowerCase(locale));
  const scroller = useRef<HTMLElement>(null);
  const filterId = useId();
  const shown = useMemo(() => {
    const kept =
      wanted === ""
        ? rows
        : rows.filter((row) =>
            columns.some((c) => c.text(row).toLocaleLowerCase(locale).includes(wanted)),
          );
    const column = order ? columns.find((c) => c.id === order.id) : undefined;
    return column && order ? ordered(kept, column, order.down, locale) : kept;
  }, [rows, columns, wanted, order, locale]);

  // Once long, a table stays a scroller, so that filtering does not change its shape.
  const virtual = rows.length > virtualRows;
  const virtualizer = useVirtualizer({
    count: virtual ? shown.length : 0,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    initialRect: { width: 640, height: 420 },
  });
  const items = virtual ? virtualizer.getVirtualItems() : [];
  const before = items[0]?.start ?? 0;
  const after = virtual ? virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0) : 0;
  const widths = useMemo(
    () => (virtual ? columns.map((c) => columnWidth(c, rows)) : null),
    [virtual, columns, rows],
  );

  const turn = (id: string): void => {
    setOrder((old) =>
      old?.id !== id ? { id, down: false } : old.down ? null : { id, down: true },
    );
    scroller.current?.scrollTo?.({ top: 0 });
  };

  return (
    <div className="inlay-table">
      {rows.length >= filterFrom ? (
        <div className="inlay-table-tools">
          <label className="inlay-visually-hidden" htmlFor={filterId}>
            {t("chat.block.table.filter")}
          </label>
          <input
            id={filterId}
            type="search"
            className="inlay-input"
            value={filter}
            placeholder={t("chat.block.table.filter")}
            onChange={(event) => setFilter(event.target.value)}
          />
          <span className="inlay-muted" aria-live="polite">
            {wanted === ""
              ? ""
              : t("chat.block.table.found", {
                  shown: new Intl.NumberFormat(locale).format(shown.length),
                  total: new Intl.NumberFormat(locale).format(rows.length),
                })}
          </span>
        </div>
      ) : null}
      <section
        ref={scroller}
        className={virtual ? "inlay-scroll inlay-table-long" : "inlay-scroll"}
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the region scrolls and must be reachable by keyboard
        tabIndex={0}
      >
        <table
          className={virtual ? "inlay-grid inlay-grid-fixed" : "inlay-grid"}
          aria-rowcount={virtual ? shown.length + 1 : undefined}
          style={widths ? { width: widths.reduce((a, b) => a + b, 0) } : undefined}
        >
          {caption ? <caption>{caption}</caption> : null}
          <colgroup>
            {columns.map((c, i) => {
              const width = widths?.[i] ?? c.width;
              return <col key={c.id} style={width === undefined ? undefined : { width }} />;
            })}
          </colgroup>
          <thead>
            <tr>
              {columns.map((c) => {
                const on = order?.id === c.id;
                return (
                  <th
                    key={c.id}
                    scope="col"
                    className={cellClass(c)}
                    aria-sort={on ? (order.down ? "descending" : "ascending") : undefined}
                  >
                    <button
                      type="button"
                      className="inlay-sort"
                      onClick={() => turn(c.id)}
                      title={t("chat.block.table.sort")}
                    >
                      <span>{c.label}</span>
                      <span className="inlay-sort-mark" aria-hidden="true">
                        {on ? (order.down ? "↓" : "↑") : ""}
                      </span>
                    </button>
                  </th>
                );
              })}
            </tr>
          </thead>
          <tbody>
            {virtual ? (
              <>
                {before > 0 ? (
                  <tr>
                    <td
                      colSpan={columns.length}
                      className="inlay-space"
                      style={{ height: before }}
                    />
                  </tr>
                ) : null}
                {items.map((item) => {
                  const row = shown[item.index];
                  return row === undefined ? null : (
                    <MemoRow
                      key={item.key}
                      index={item.index + 2}
                      row={row}
                      columns={columns}
                      onRow={onRow}
                      rowLabel={rowLabel}
                    />
                  );
                })}
                {after > 0 ? (
                  <tr>
                    <td
                      colSpan={columns.length}
                      className="inlay-space"
                      style={{ height: after }}
                    />
                  </tr>
                ) : null}
              </>
            ) : (
              shown.map((row, i) => (
                <MemoRow key={i} row={row} columns={columns} onRow={onRow} rowLabel={rowLabel} />
              ))
            )}
            {shown.length === 0 ? (
              <tr>
                <td colSpan={columns.length} className="inlay-empty">
                  {rows.length === 0 ? t("chat.block.table.empty") : t("chat.block.table.noMatch")}
                </td>
              </tr>
            ) : null}
          </tbody>
        </table>
      </section>
      {note ? <p className="inlay-block-note">{note}</p> : null}
    </div>
  );
}
