import { formatMoment, formatNumber, formatWall, parseMoment } from "../blocks/format.ts";
import { type ChartSpec, type DataRow, numberAt, type SeriesSpec, textAt } from "./spec.ts";

/** How the x values of a chart are read. */
export type XKind = "category" | "time" | "number";

/** A row with its place in the payload, which a click reports. */
export interface PlacedRow {
  row: DataRow;
  /** Index in `spec.data`. */
  index: number;
  /** Wall clock time of x on a time axis, the number on a number axis. */
  at: number | null;
}

/** The kind of x that a payload names, or that its values show. */
export function xKind(spec: ChartSpec): XKind {
  const x = spec.x;
  if (!x) {
    return "category";
  }
  if (x.type) {
    return x.type;
  }
  const values = spec.data.map((row) => row[x.field]).filter((v) => v !== null && v !== undefined);
  if (values.length === 0) {
    return "category";
  }
  if (spec.type === "scatter" || spec.type === "bubble" || spec.type === "histogram") {
    if (values.every((v) => typeof v === "number")) {
      return "number";
    }
  }
  // A bare year reads as well as a category.
  const dates = values.every(
    (v) => typeof v === "string" && v.includes("-") && parseMoment(v) !== null,
  );
  return dates ? "time" : "category";
}

/** The rows in the order they are drawn. */
export function placedRows(spec: ChartSpec, kind: XKind, locale: string): PlacedRow[] {
  const x = spec.x;
  const rows: PlacedRow[] = spec.data.map((row, index) => {
    const value = x ? row[x.field] : undefined;
    const at =
      kind === "time"
        ? (parseMoment(value, x?.timeZone)?.wall ?? null)
        : typeof value === "number"
          ? value
          : null;
    return { row, index, at };
  });
  const sort = x?.sort ?? (kind === "category" ? "none" : "asc");
  if (sort === "none" || !x) {
    return rows;
  }
  const sign = sort === "desc" ? -1 : 1;
  const collator = new Intl.Collator(locale, { numeric: true });
  return rows.sort((a, b) => {
    if (a.at !== null && b.at !== null) {
      return sign * (a.at - b.at);
    }
    if (a.at !== null || b.at !== null) {
      return a.at === null ? 1 : -1;
    }
    return sign * collator.compare(textAt(a.row, x.field), textAt(b.row, x.field));
  });
}

const day = 86_400_000;

/** The parts of a date worth writing under an axis that spans `span` milliseconds. */
export function axisDateParts(span: number, dateOnly: boolean): Intl.DateTimeFormatOptions {
  if (!dateOnly && span <= 2 * day) {
    return { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  }
  if (span <= 300 * day) {
    return { month: "short", day: "numeric" };
  }
  if (span <= 6 * 365 * day) {
    return { year: "numeric", month: "short" };
  }
  return { year: "numeric" };
}

/** Writers for the x values of a chart: short under the axis, full elsewhere. */
export interface XWords {
  /** For a wall clock time of the axis. */
  tick(wall: number): string;
  /** For the category that stands for a row under the axis. */
  label(row: PlacedRow): string;
  /** For a row, in a tooltip or table. */
  full(row: PlacedRow): string;
}

/** Builds the writers for a chart's x values. */
export function xWords(
  spec: ChartSpec,
  kind: XKind,
  rows: readonly PlacedRow[],
  locale: string,
): XWords {
  const field = spec.x?.field;
  const zone = spec.x?.timeZone;
  if (kind !== "time") {
    const text = (row: PlacedRow): string => {
      const value = field === undefined ? undefined : row.row[field];
      // Numbers on a category axis are mostly years and codes: no grouping.
      return kind === "number" && typeof value === "number"
        ? formatNumber(value, {}, locale)
        : textAt(row.row, field);
    };
    return { tick: (v) => formatNumber(v, { short: true }, locale), label: text, full: text };
  }
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  let dateOnly = true;
  let monthsOnly = true;
  let yearsOnly = true;
  for (const { row, at } of rows) {
    if (at === null) {
      continue;
    }
    low = Math.min(low, at);
    high = Math.max(high, at);
    const value = field === undefined ? undefined : row[field];
    dateOnly &&= parseMoment(value, zone)?.dateOnly ?? true;
    monthsOnly &&= typeof value === "string" && /^\d{4}(?:-\d{2})?$/.test(value);
    yearsOnly &&= typeof value === "string" && /^\d{4}$/.test(value);
  }
  const span = high > low ? high - low : 0;
  const parts: Intl.DateTimeFormatOptions = yearsOnly
    ? { year: "numeric" }
    : monthsOnly
      ? { year: "numeric", month: "short" }
      : axisDateParts(span, dateOnly);
  const labelParts: Intl.DateTimeFormatOptions =
    monthsOnly || !("year" in parts) ? parts : { year: "numeric", month: "short", day: "numeric" };
  const full = ({ row, at }: PlacedRow): string => {
    const value = field === undefined ? undefined : row[field];
    const moment = parseMoment(value, zone);
    if (at === null || !moment) {
      return textAt(row, field);
    }
    return monthsOnly ? formatWall(at, parts, locale) : formatMoment(moment, locale);
  };
  return {
    tick: (wall) => {
      const midnight = wall % day === 0;
      return formatWall(
        wall,
        "hour" in parts && midnight ? { month: "short", day: "numeric" } : parts,
        locale,
      );
    },
    label: (row) =>
      row.at === null ? textAt(row.row, field) : formatWall(row.at, labelParts, locale),
    full,
  };
}

/** Words a value of a series in full. */
export function seriesValue(
  spec: ChartSpec,
  series: SeriesSpec | undefined,
  value: number | null,
  locale: string,
): string {
  if (value === null) {
    return "–";
  }
  const axisUnit = series?.axis === "y2" ? spec.y2?.unit : spec.y?.unit;
  // On the second axis another unit mostly means another kind of number.
  const foreign =
    series !== undefined &&
    ((series.unit !== undefined && series.unit !== spec.unit) ||
      (series.axis === "y2" && spec.y2?.unit !== undefined && spec.y2.unit !== spec.unit));
  return formatNumber(
    value,
    {
      valueFormat: foreign ? "number" : spec.valueFormat,
      format: foreign
        ? spec.format?.decimals === undefined
          ? undefined
          : { decimals: spec.format.decimals }
        : spec.format,
      unit: series?.unit ?? axisUnit ?? spec.unit,
    },
    locale,
  );
}

/** A column of a chart's table. */
export interface ChartColumn {
  field: string;
  label: string;
  numeric: boolean;
  /** The cell's text for a reader. */
  text(row: PlacedRow): string;
}

/** The chart's data as a table: the way to it without seeing, and the way to copy it. */
export function chartTable(
  spec: ChartSpec,
  locale: string,
): { columns: ChartColumn[]; rows: PlacedRow[] } {
  const kind = xKind(spec);
  const rows = placedRows(spec, kind, locale);
  const words = xWords(spec, kind, rows, locale);
  const columns: ChartColumn[] = [];
  const used = new Set<string>();
  const add = (column: ChartColumn): void => {
    if (!used.has(column.field)) {
      used.add(column.field);
      columns.push(column);
    }
  };
  const isNumeric = (field: string): boolean =>
    spec.data.some((row) => typeof row[field] === "number");
  const plain = (field: string, label: string): ChartColumn => ({
    field,
    label,
    numeric: isNumeric(field),
    text: ({ row }) => {
      const value = row[field];
      return typeof value === "number"
        ? seriesValue(spec, undefined, value, locale)
        : textAt(row, field);
    },
  });
  if (spec.x) {
    const { field, title } = spec.x;
    add({
      field,
      label: title ?? field,
      numeric: kind === "number",
      text: words.full,
    });
  }
  const encode = spec.encode ?? {};
  for (const field of [encode.parent, encode.color]) {
    if (field !== undefined) {
      add(plain(field, field));
    }
  }
  if (spec.type === "heatmap" && encode.y !== undefined) {
    const field = encode.y;
    add({
      field,
      label: spec.y?.title ?? field,
      numeric: false,
      text: ({ row }) => textAt(row, field),
    });
  }
  for (const series of spec.series) {
    add({
      field: series.field,
      label: series.name,
      numeric: true,
      text: ({ row }) => seriesValue(spec, series, numberAt(row, series.field), locale),
    });
  }
  const { y, value, size, open, high, low, close, min, q1, median, q3, max } = encode;
  for (const field of [y, value, size, open, high, low, close, min, q1, median, q3, max]) {
    if (field !== undefined) {
      add(plain(field, field));
    }
  }
  return { columns, rows };
}
