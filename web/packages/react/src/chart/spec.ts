import type {
  ChartAxis,
  ChartEncode,
  ChartPayload,
  ChartRef,
  ChartRow,
  ChartSeries,
  ChartX,
} from "@inlay-ui/client";

/** The payload of a `chart` block. */
export type ChartSpec = ChartPayload;

/** One of {@link chartTypes}. */
export type ChartType = ChartPayload["type"];

/** One row of chart data; null is a gap, never zero. */
export type DataRow = ChartRow;

/** The field that gives each row its place. */
export type XSpec = ChartX;

/** A value axis. */
export type YSpec = ChartAxis;

/** One row of marks: the field it reads and how it is drawn. */
export type SeriesSpec = ChartSeries;

/** Roles that some types need beyond x and series; each names a field. */
export type EncodeSpec = ChartEncode;

/** A line across the plot, such as a target. */
export type RefSpec = ChartRef;

/** Every kind of chart a payload can ask for. */
export const chartTypes = [
  "bar",
  "line",
  "area",
  "pie",
  "donut",
  "scatter",
  "bubble",
  "combo",
  "histogram",
  "heatmap",
  "funnel",
  "radar",
  "gauge",
  "treemap",
  "waterfall",
  "boxplot",
  "candlestick",
] as const satisfies readonly ChartType[];

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Types that need no x. */
const withoutX: ReadonlySet<ChartType> = new Set(["gauge", "treemap"]);

/** Roles of `encode` without which a type cannot be drawn. */
export const requiredRoles: Partial<Record<ChartType, readonly (keyof EncodeSpec)[]>> = {
  bubble: ["size"],
  heatmap: ["y"],
  candlestick: ["open", "high", "low", "close"],
};

/**
 * Says in one line why a payload cannot be drawn, or null when it can. Only
 * what drawing needs is checked; unknown fields are ignored.
 */
export function checkChart(payload: unknown): string | null {
  if (!isObject(payload)) {
    return "payload is not an object";
  }
  const { type, data, series, x } = payload;
  if (typeof type !== "string" || !chartTypes.includes(type as ChartType)) {
    return `unknown chart type ${JSON.stringify(type)}`;
  }
  const kind = type as ChartType;
  if (!Array.isArray(data) || !data.every(isObject)) {
    return "data is not a list of rows";
  }
  if (!Array.isArray(series)) {
    return "series is not a list";
  }
  for (const one of series) {
    if (!isObject(one) || typeof one.field !== "string" || typeof one.name !== "string") {
      return "a series lacks its field or name";
    }
  }
  if (x === undefined || x === null) {
    if (!withoutX.has(kind)) {
      return "x is missing";
    }
  } else if (!isObject(x) || typeof x.field !== "string") {
    return "x.field is missing";
  }
  const encode = isObject(payload.encode) ? payload.encode : {};
  for (const role of requiredRoles[kind] ?? []) {
    if (typeof encode[role] !== "string") {
      return `encode.${role} is missing`;
    }
  }
  const known = new Set<string>();
  for (const row of data as DataRow[]) {
    for (const key of Object.keys(row)) {
      known.add(key);
    }
  }
  const named = [
    ...series.map((s: { field: string }) => s.field),
    ...(isObject(x) ? [x.field as string] : []),
    ...Object.values(encode).filter((v): v is string => typeof v === "string"),
  ];
  if (data.length > 0) {
    const lost = named.find((field) => !known.has(field));
    if (lost !== undefined) {
      return `no row has the field ${JSON.stringify(lost)}`;
    }
  }
  const needsSeries =
    kind !== "histogram" && kind !== "candlestick" && kind !== "boxplot" && kind !== "treemap";
  if (series.length === 0 && needsSeries && typeof encode.value !== "string") {
    return "series is empty";
  }
  return null;
}

/** A number, or null where the row has none. */
export function numberAt(row: DataRow, field: string | undefined): number | null {
  if (field === undefined) {
    return null;
  }
  const value = row[field];
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** The text of a cell; a gap is the empty string. */
export function textAt(row: DataRow, field: string | undefined): string {
  if (field === undefined) {
    return "";
  }
  const value = row[field];
  return value === null || value === undefined ? "" : String(value);
}
