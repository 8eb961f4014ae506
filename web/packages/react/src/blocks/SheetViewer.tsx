import type { AssetPreview, FilePreviewRow } from "@inlay-ui/client";
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  type KeyboardEvent,
  useCallback,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from "react";
import { useInlay, useT } from "../context.ts";
import { AssetNote } from "./asset.tsx";
import { DownloadButton } from "./DownloadButton.tsx";
import { hasHead, sheetCell } from "./PreviewGrid.tsx";
import { Viewer } from "./Viewer.tsx";

/** A part of a sheet, as the server answers. */
type TablePreview = Extract<AssetPreview, { kind: "table" }>;

type Row = FilePreviewRow;

/** Rows asked for at once. */
export const sheetPage = 200;
const rowHeight = 33;

/** The rows of one sheet as far as they are known. */
interface Sheet {
  rows: Map<number, Row>;
  /** Rows in all, or as many as there are at least. */
  count: number;
  complete: boolean;
  columns: number;
}

const emptySheet: Sheet = { rows: new Map(), count: 0, complete: false, columns: 0 };

/** The sheet with a part that arrived; `count` grows by a page while more is to come. */
export function withPart(sheet: Sheet, offset: number, part: TablePreview): Sheet {
  const rows = new Map(sheet.rows);
  const arrived = part.rows;
  let { columns } = sheet;
  arrived.forEach((row, i) => {
    rows.set(offset + i, row);
    columns = Math.max(columns, row.length);
  });
  const end = offset + arrived.length;
  if (part.total !== undefined) return { rows, columns, count: part.total, complete: true };
  const more = part.more === true && arrived.length > 0;
  const count = more ? Math.max(sheet.count, end + 1) : sheet.complete ? sheet.count : end;
  return { rows, columns, count, complete: sheet.complete || !more };
}

/** The name of a column as spreadsheets have it: A … Z, AA … */
export function columnName(at: number): string {
  let name = "";
  for (let n = at + 1; n > 0; n = Math.floor((n - 1) / 26)) {
    name = String.fromCharCode(65 + ((n - 1) % 26)) + name;
  }
  return name;
}

/** A workbook over the page: one sheet at a time, its rows loaded where they are looked at. */
export default function SheetViewer({
  assetId,
  name,
  preview,
  onClose,
}: {
  assetId: string;
  name: string;
  preview: { sheets?: string[]; sheet?: string };
  onClose: () => void;
}) {
  const t = useT();
  const id = useId();
  const [sheets, setSheets] = useState(preview.sheets ?? []);
  const [sheet, setSheet] = useState(preview.sheet ?? preview.sheets?.[0]);
  const tabs = useRef<HTMLDivElement>(null);
  const onTabKey = (event: KeyboardEvent) => {
    const at = sheets.indexOf(sheet ?? "");
    const to: Record<string, number> = {
      ArrowRight: at + 1,
      ArrowLeft: at - 1 + sheets.length,
      Home: 0,
      End: sheets.length - 1,
    };
    const next = to[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const index = next % sheets.length;
    setSheet(sheets[index]);
    tabs.current?.querySelectorAll<HTMLElement>('[role="tab"]')[index]?.focus();
  };
  const panel = `${id}-panel`;
  return (
    <Viewer title={name} onClose={onClose} tools={<DownloadButton assetId={assetId} />}>
      {sheets.length > 1 ? (
        <div
          ref={tabs}
          className="inlay-tabs"
          role="tablist"
          aria-label={t("chat.block.file.sheets")}
          onKeyDown={onTabKey}
        >
          {sheets.map((one) => (
            <button
              key={one}
              type="button"
              role="tab"
              className="inlay-tab"
              aria-selected={one === sheet}
              aria-controls={panel}
              tabIndex={one === sheet ? 0 : -1}
              onClick={() => setSheet(one)}
            >
              {one}
            </button>
          ))}
        </div>
      ) : null}
      <SheetGrid
        key={sheet ?? ""}
        id={panel}
        assetId={assetId}
        sheet={sheet}
        label={sheet ? `${name} – ${sheet}` : name}
        tabbed={sheets.length > 1}
        onSheets={setSheets}
      />
    </Viewer>
  );
}

function SheetGrid({
  id,
  assetId,
  sheet,
  label,
  tabbed,
  onSheets,
}: {
  id: string;
  assetId: string;
  sheet: string | undefined;
  label: string;
  tabbed: boolean;
  onSheets: (names: string[]) => void;
}) {
  const { client, lang } = useInlay();
  const t = useT();
  const [data, setData] = useState(emptySheet);
  const [error, setError] = useState<unknown>(null);
  const [loading, setLoading] = useState(false);
  const busy = useRef(false);
  const scroller = useRef<HTMLElement>(null);

  const load = useCallback(
    async (offset: number) => {
      if (busy.current) return;
      busy.current = true;
      setLoading(true);
      setError(null);
      try {
        const part = await client.assetPreview(assetId, {
          ...(sheet === undefined ? {} : { sheet }),
          offset,
          limit: sheetPage,
        });
        if (part.kind !== "table") throw new Error(`a sheet was answered with ${part.kind}`);
        if (part.sheets && part.sheets.length > 1) onSheets(part.sheets);
        setData((old) => withPart(old, part.offset ?? offset, part));
      } catch (cause) {
        setError(cause);
      } finally {
        busy.current = false;
        setLoading(false);
      }
    },
    [client, assetId, sheet, onSheets],
  );
  useEffect(() => {
    void load(0);
  }, [load]);

  const head = useMemo(
    () => hasHead([0, 1].flatMap((i) => (data.rows.get(i) ? [data.rows.get(i) ?? []] : []))),
    [data],
  );
  const first = head ? 1 : 0;
  const count = Math.max(0, data.count - first);
  const virtualizer = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 20,
    initialRect: { width: 640, height: 480 },
  });
  const items = virtualizer.getVirtualItems();
  const missing = items.find((item) => !data.rows.has(item.index + first));
  const wanted = missing === undefined ? -1 : missing.index + first;
  useEffect(() => {
    if (wanted < 0 || loading || error) return;
    const page = wanted - (wanted % sheetPage);
    void load(data.rows.has(page) ? wanted : page);
  }, [wanted, loading, error, data, load]);

  const widths = useMemo(() => columnWidths(data), [data]);
  const text = (value: Row[number] | undefined) =>
    sheetCell(value, t("chat.block.table.yes"), t("chat.block.table.no"));
  const before = items[0]?.start ?? 0;
  const after = virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0);
  const number = new Intl.NumberFormat(lang);
  return (
    <>
      {error ? <AssetNote error={error} onAgain={() => void load(Math.max(0, wanted))} /> : null}
      <section
        ref={scroller}
        id={id}
        className="inlay-viewer-scroll"
        aria-label={label}
        {...(tabbed ? { role: "tabpanel" } : {})}
        aria-busy={loading}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the region scrolls and must be reachable by keyboard
        tabIndex={0}
      >
        <table
          className="inlay-grid inlay-grid-fixed inlay-sheet"
          aria-rowcount={data.complete ? data.count : -1}
          style={{ width: widths.reduce((a, b) => a + b, 56) }}
        >
          <colgroup>
            <col style={{ width: 56 }} />
            {widths.map((width, i) => (
              <col key={i} style={{ width }} />
            ))}
          </colgroup>
          <thead>
            <tr>
              <th scope="col" className="inlay-sheet-number">
                <span className="inlay-visually-hidden">{t("chat.block.file.row")}</span>
              </th>
              {widths.map((_, i) => (
                <th key={i} scope="col">
                  {head ? text(data.rows.get(0)?.[i]) : columnName(i)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {before > 0 ? (
              <tr>
                <td
                  colSpan={widths.length + 1}
                  className="inlay-space"
                  style={{ height: before }}
                />
              </tr>
            ) : null}
            {items.map((item) => {
              const row = data.rows.get(item.index + first);
              return (
                <tr key={item.key} aria-rowindex={item.index + first + 1}>
                  <th scope="row" className="inlay-sheet-number inlay-figures">
                    {number.format(item.index + first + 1)}
                  </th>
                  {widths.map((_, i) => {
                    const value = row?.[i];
                    const shown = text(value);
                    return (
                      <td
                        key={i}
                        className={
                          typeof value === "number" ? "inlay-cell-end inlay-figures" : undefined
                        }
                        title={shown.length > 24 ? shown : undefined}
                      >
                        {row === undefined ? "…" : shown}
                      </td>
                    );
                  })}
                </tr>
              );
            })}
            {after > 0 ? (
              <tr>
                <td colSpan={widths.length + 1} className="inlay-space" style={{ height: after }} />
              </tr>
            ) : null}
          </tbody>
        </table>
        {data.complete && data.count === 0 ? (
          <p className="inlay-empty">{t("chat.block.table.empty")}</p>
        ) : null}
      </section>
      <p className="inlay-muted inlay-viewer-foot" role="status">
        {data.complete
          ? t("chat.block.file.rows", { count, rows: number.format(count) })
          : loading
            ? t("chat.block.loadingUntitled")
            : ""}
      </p>
    </>
  );
}

/** Widths that suit the rows of the first page. */
function columnWidths(data: Sheet): number[] {
  const sample = Array.from({ length: Math.min(60, data.count) }, (_, i) => data.rows.get(i));
  return Array.from({ length: data.columns }, (_, i) => {
    let most = 6;
    sample.forEach((row, at) => {
      const text = sheetCell(row?.[i], "", "");
      let n = 0;
      for (const char of text) n += (char.codePointAt(0) ?? 0) > 0x2e80 ? 2 : 1;
      // What may be the heading is set bold.
      most = Math.max(most, at === 0 ? n * 1.15 : n);
    });
    return Math.min(320, Math.round(most * 9) + 28);
  });
}
