// Generated from the JSON Schemas of the block payloads by `go generate ./schema`. Do not edit.

/** A chart by meaning: rows, and which field plays which part. Clients draw it in their own look. */
export interface ChartPayload {
  version: 1;
  /** The form of the chart. */
  type:
    | "bar"
    | "line"
    | "area"
    | "pie"
    | "donut"
    | "scatter"
    | "bubble"
    | "combo"
    | "histogram"
    | "heatmap"
    | "funnel"
    | "radar"
    | "gauge"
    | "treemap"
    | "waterfall"
    | "boxplot"
    | "candlestick";
  title?: string;
  subtitle?: string;
  /** Unit of the values, for people. */
  unit?: string;
  /** How values are written. Durations are in seconds. */
  valueFormat?: "number" | "percent" | "currency" | "compact" | "bytes" | "duration";
  format?: ChartFormat;
  x?: ChartX;
  y?: ChartAxis;
  /** The second axis. */
  y2?: ChartAxis;
  encode?: ChartEncode;
  series: ChartSeries[];
  /** Rows. null is a gap, never zero. */
  data: ChartRow[];
  truncated?: ChartTruncated;
  orientation?: "vertical" | "horizontal";
  /** true and normal stack the series; percent shows shares. */
  stack?: true | false | "normal" | "percent";
  legend?: "auto" | "top" | "bottom" | "right" | "none";
  /** Write the values at the marks. */
  labels?: boolean;
  zoom?: boolean;
  /** Reference lines, such as a target. */
  refs?: ChartRef[];
  onSelect?: ChartSelect;
  source?: ChartSource;
  a11y?: ChartA11y;
}

/** Words for those who do not see the chart. */
export interface ChartA11y {
  summary?: string;
}

/** An axis of values. */
export interface ChartAxis {
  title?: string;
  min?: number;
  max?: number;
  /** Start at zero. */
  zero?: boolean;
  log?: boolean;
  unit?: string;
}

/** The fields of roles beyond x and series. */
export interface ChartEncode {
  /** Numeric field: the size of a bubble. */
  size?: string;
  /** Field that groups points by colour. */
  color?: string;
  /** Field of the second category of a heatmap. */
  y?: string;
  /** Numeric field. */
  open?: string;
  /** Numeric field. */
  high?: string;
  /** Numeric field. */
  low?: string;
  /** Numeric field. */
  close?: string;
  /** Numeric field: lower whisker. */
  min?: string;
  /** Numeric field: first quartile. */
  q1?: string;
  /** Numeric field. */
  median?: string;
  /** Numeric field: third quartile. */
  q3?: string;
  /** Numeric field: upper whisker. */
  max?: string;
  /** Field that names the parent of a treemap's node. */
  parent?: string;
  /** Numeric field: the value of a mark where it is not that of a series. */
  value?: string;
}

/** Detail of valueFormat. */
export interface ChartFormat {
  /** ISO 4217 code. */
  currency?: string;
  decimals?: number;
  /** 1 (the default): 0.12 is 12 %. 100: 12 is 12 %. */
  percentBase?: 1 | 100;
}

/** The prompt action that a click on a datum runs. */
export interface ChartSelect {
  /** The id of an action of the block. */
  actionId: string;
  /** Action parameter to field of the row. */
  params: Record<string, string>;
}

/** A reference line. */
export interface ChartRef {
  axis: "x" | "y" | "y2";
  value: number | string;
  label?: string;
}

/** One row of data. */
export type ChartRow = Record<string, string | number | boolean | null>;

/** One series of values. */
export interface ChartSeries {
  field: string;
  name: string;
  /** The form of this series in a combo. */
  type?: "bar" | "line" | "area" | "scatter";
  axis?: "y" | "y2";
  /** Series with the same word are stacked. */
  stack?: string;
  /** A colour token, never a CSS colour. */
  color?: string;
  unit?: string;
  dashed?: boolean;
}

/** Where the data came from. */
export interface ChartSource {
  tool?: string;
  /** Epoch milliseconds. */
  asOf?: number;
  rowCount?: number;
  digest?: string;
}

/** How much of the data is here. */
export interface ChartTruncated {
  shown: number;
  total: number;
}

/** The field that the values are laid out by. */
export interface ChartX {
  field: string;
  /** category is the default. Values of time are ISO 8601 or epoch milliseconds. */
  type?: "category" | "time" | "number";
  title?: string;
  sort?: "asc" | "desc" | "none";
  /** IANA name of the zone that times are shown in. */
  timeZone?: string;
}

/** Source code. */
export interface CodePayload {
  /** Name of the language, such as go; text for none. */
  lang: string;
  source: string;
  filename?: string;
}

/** Key figures. */
export interface MetricPayload {
  title?: string;
  items: MetricItem[];
}

/** One key figure. */
export interface MetricItem {
  label: string;
  /** null: not known. */
  value: number | string | null;
  unit?: string;
  /** How the value is written. Durations are in seconds. */
  format?: "number" | "percent" | "currency" | "compact" | "bytes" | "duration";
  /** ISO 4217 code. */
  currency?: string;
  decimals?: number;
  /** 1 (the default): 0.12 is 12 %. 100: 12 is 12 %. Holds for delta too. */
  percentBase?: 1 | 100;
  /** Change against what is compared with. */
  delta?: number | null;
  deltaFormat?: "number" | "percent";
  /** Which direction is good: up is the default. */
  goodWhen?: "up" | "down" | "neutral";
  /** Values over time, oldest first. null is a gap. */
  trend?: (number | null)[];
}

/** Rows under typed columns. */
export interface TablePayload {
  columns: TableColumn[];
  rows: TableRow[];
  /** Rows there are in all, when these are not all. */
  total?: number;
  page?: TablePage;
  caption?: string;
}

/** One column. */
export interface TableColumn {
  /** The member of the rows. */
  field: string;
  /** The heading; the field's name when absent. */
  label?: string;
  /** text is the default. Values of time are ISO 8601 or epoch milliseconds. */
  type?: "text" | "number" | "time" | "boolean" | "link";
  /** How values are written. Durations are in seconds. */
  format?:
    | "number"
    | "percent"
    | "currency"
    | "compact"
    | "bytes"
    | "duration"
    | "date"
    | "datetime";
  unit?: string;
  /** ISO 4217 code. */
  currency?: string;
  decimals?: number;
  /** 1 (the default): 0.12 is 12 %. 100: 12 is 12 %. */
  percentBase?: 1 | 100;
  /** Numbers are aligned to the end by default. */
  align?: "start" | "center" | "end";
  /** CSS pixels. */
  width?: number;
}

/** Where the next rows are. */
export interface TablePage {
  cursor?: string;
}

/** One row. null is an empty cell. */
export type TableRow = Record<string, string | number | boolean | null>;

/** Markdown without raw HTML. */
export type TextPayload = string;

/** The payload of each built-in block type, by its capability. */
export interface PayloadTypes {
  "chart@1": ChartPayload;
  "code@1": CodePayload;
  "metric@1": MetricPayload;
  "table@1": TablePayload;
  "text@1": TextPayload;
}
