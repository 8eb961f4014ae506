import {
  Component,
  type ComponentType,
  lazy,
  type ReactNode,
  Suspense,
  useCallback,
  useMemo,
  useRef,
  useState,
} from "react";
import type { ChartHandle } from "../chart/ChartCanvas.tsx";
import { chartTable, type PlacedRow } from "../chart/rows.ts";
import type { ChartSpec } from "../chart/spec.ts";
import { summarise } from "../chart/summary.ts";
import { useInlay } from "../context.ts";
import { useBlockMenu } from "../menu.tsx";
import type { BlockProps } from "../registry.ts";
import { toCsv } from "./csv.ts";
import { type DataColumn, DataTable } from "./DataTable.tsx";
import { downloadFile, fileName } from "./download.ts";

type CanvasModule = typeof import("../chart/ChartCanvas.tsx");

// Kept while it works; replaced after a failure, so that the next try loads again.
let Canvas = lazy<CanvasModule["default"]>(() => import("../chart/ChartCanvas.tsx"));

interface GuardProps {
  children: ReactNode;
  fallback: ReactNode;
}

/** A chart that cannot be drawn must not hide its data. */
class Guard extends Component<GuardProps, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    Canvas = lazy<CanvasModule["default"]>(() => import("../chart/ChartCanvas.tsx"));
    return { failed: true };
  }

  override render(): ReactNode {
    return this.state.failed ? this.props.fallback : this.props.children;
  }
}

/** The parameters of a chart's action for one row: the fields that the payload names, nothing else. */
export function selectParams(spec: ChartSpec, row: number): Record<string, unknown> | null {
  const data = spec.data[row];
  if (!spec.onSelect || !data) {
    return null;
  }
  return Object.fromEntries(
    Object.entries(spec.onSelect.params).map(([param, field]) => [param, data[field] ?? null]),
  );
}

/** Draws a `chart` block, as a picture or as the table of its data. */
export default function ChartBlock({ block, payload, messageId }: BlockProps<ChartSpec>) {
  const { lang, dark, host, t } = useInlay();
  const [asTable, setAsTable] = useState(false);
  const handle = useRef<ChartHandle | null>(null);
  const spec = payload;
  const title = block.meta?.title ?? spec.title;

  const action = spec.onSelect
    ? block.actions?.find((a) => a.id === spec.onSelect?.actionId)
    : undefined;
  const choose = useCallback(
    (row: number) => {
      const params = selectParams(spec, row);
      if (action && params) {
        void host.runAction(messageId, block, action, params);
      }
    },
    [spec, action, block, host, messageId],
  );
  const onRow = action ? choose : undefined;

  const table = useMemo(() => chartTable(spec, lang), [spec, lang]);
  const columns = useMemo(
    () =>
      table.columns.map(
        (c): DataColumn<PlacedRow> => ({
          id: c.field,
          label: c.label,
          align: c.numeric ? "end" : "start",
          numeric: c.numeric,
          text: c.text,
          order: (row) => {
            if (c.field === spec.x?.field && row.at !== null) {
              return row.at;
            }
            const value = row.row[c.field];
            return typeof value === "boolean" ? String(value) : (value ?? null);
          },
        }),
      ),
    [table, spec.x?.field],
  );
  const summary = useMemo(() => summarise(spec, title, lang, t), [spec, title, lang, t]);

  useBlockMenu(
    useMemo(() => {
      const save = (kind: "png" | "svg"): void => {
        const picture = handle.current?.picture(kind, title);
        if (picture) {
          downloadFile(fileName(title, kind), picture);
        }
      };
      const pictures = (["png", "svg"] as const).map((kind) => ({
        id: kind,
        label: t(`chat.block.menu.${kind}`),
        disabled: asTable,
        run: () => save(kind),
      }));
      return [
        {
          id: "table",
          label: t("chat.block.menu.asTable"),
          pressed: asTable,
          run: () => setAsTable((on) => !on),
        },
        {
          id: "csv",
          label: t("chat.block.menu.csv"),
          run: () =>
            downloadFile(
              fileName(title, "csv"),
              toCsv(
                table.columns.map((c) => c.label),
                table.rows.map(({ row }) => table.columns.map((c) => row[c.field] ?? null)),
              ),
              "text/csv;charset=utf-8",
            ),
        },
        ...pictures,
      ];
    }, [asTable, table, title, t]),
  );

  const note = spec.truncated
    ? t("chat.block.chart.truncated", {
        shown: new Intl.NumberFormat(lang).format(spec.truncated.shown),
        total: new Intl.NumberFormat(lang).format(spec.truncated.total),
      })
    : undefined;
  const grid = (
    <DataTable
      columns={columns}
      rows={table.rows}
      locale={lang}
      label={summary}
      onRow={onRow ? (row) => onRow(row.index) : undefined}
      rowLabel={t("chat.block.chart.askRow")}
    />
  );
  const hint = `${summary} ${t("chat.block.chart.walk")}${onRow ? ` ${t("chat.block.chart.ask")}` : ""}`;
  const Drawn: ComponentType<Parameters<CanvasModule["default"]>[0]> = Canvas;
  return (
    <div className="inlay-chart-block">
      {spec.subtitle ? <p className="inlay-subtitle">{spec.subtitle}</p> : null}
      {spec.data.length === 0 ? (
        <p className="inlay-empty">{t("chat.block.chart.empty")}</p>
      ) : asTable ? (
        grid
      ) : (
        <Guard
          fallback={
            <>
              <p className="inlay-block-note">{t("chat.block.chart.failed")}</p>
              {grid}
            </>
          }
        >
          <Suspense
            fallback={
              <div
                className="inlay-skeleton"
                role="status"
                style={{ height: block.meta?.estimatedHeight ?? 320 }}
              >
                <span className="inlay-visually-hidden">{t("chat.block.chart.loading")}</span>
              </div>
            }
          >
            <Drawn
              spec={spec}
              locale={lang}
              t={t}
              dark={dark}
              label={hint}
              onRow={onRow}
              handle={handle}
            />
          </Suspense>
        </Guard>
      )}
      {note ? <p className="inlay-block-note">{note}</p> : null}
    </div>
  );
}
