// Generated from the JSON Schemas of the block payloads by `go generate ./schema`. Do not edit.

/** One thing with its figures and what can be done with it. */
export interface CardPayload {
  title: string;
  subtitle?: string;
  image?: CardImage;
  fields?: CardField[];
  /** Markdown. */
  body?: string;
  status?: CardStatus;
}

/** A label with its value. */
export interface CardField {
  label: string;
  /** null: not known. */
  value: string | number | boolean | null;
  /** How the value is written. Durations are in seconds. */
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
}

/** A picture by reference. */
export interface CardImage {
  /** Id of the file. */
  assetId: string;
  alt: string;
  width?: number;
  height?: number;
}

/** A word on the state of things. */
export interface CardStatus {
  label: string;
  tone: "neutral" | "info" | "success" | "warning" | "danger";
}

/** Several cards. */
export interface CardListPayload {
  title?: string;
  /** list is the default. */
  layout?: "list" | "grid" | "carousel";
  items: CardListItem[];
  /** Items there are in all, when these are not all. */
  total?: number;
  page?: CardListPage;
}

/** One card. */
export interface CardListItem {
  /** Unique here. */
  id?: string;
  title: string;
  subtitle?: string;
  image?: CardImage;
  fields?: CardField[];
  /** Markdown. */
  body?: string;
  status?: CardStatus;
  /** Actions of the block that are shown on this item. */
  actions?: CardItemAction[];
}

/** An action of the block, with what this item posts to it. */
export interface CardItemAction {
  /** The id of an action of the block. */
  id: string;
  params?: CardItemParams;
}

/** Where the next items are. */
export interface CardListPage {
  cursor?: string;
}

/** What is posted with a click, by name. */
export type CardItemParams = Record<string, string | number | boolean | null>;

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

/** A question whether something may be done. What is approved is exactly what is shown. */
export interface ConfirmPayload {
  prompt: string;
  /** Markdown. */
  detail?: string;
  /** info is the default. */
  severity?: "info" | "warning" | "danger";
  /** What will be done, exactly. */
  args?: Record<string, unknown>;
  /** The answers offered; approve and reject when absent. */
  options?: ConfirmOption[];
  /** JSON Schema of args. Present: they may be edited. */
  schema?: Record<string, unknown>;
  /** Which fields are shown how: ui:widget, ui:order, ui:help and the like. */
  uiSchema?: Record<string, unknown>;
  /** Hash of the exact arguments that the answer is bound to. */
  argsDigest?: string;
  /** Epoch milliseconds. */
  expiresAt?: number;
}

/** One answer. */
export interface ConfirmOption {
  id: "approve" | "reject" | "edit";
  label?: string;
  style?: "primary" | "default" | "danger";
}

/** An ECharts option for rare forms, made by code of the server only. */
export interface EchartsRawPayload {
  /** Merged over the theme. No functions, no HTML, no addresses. */
  option: Record<string, unknown>;
  title?: string;
  height?: number;
}

/** A file by reference. While it is produced only progress is known. */
export interface FilePayload {
  /** Id of the file. */
  assetId: string;
  name: string;
  /** Media type. */
  mime: string;
  /** Bytes. */
  size: number;
  /** Accepted and dropped: signed addresses are never kept. Clients ask GET /v1/assets/{id}/url. */
  url?: string;
  preview?: FilePreview;
  progress?: FileProgress;
}

/** What can be shown without loading the file. kind says which members count. */
export interface FilePreview {
  kind: "image" | "table" | "pdf" | "text" | "none";
  /** image: pixels. */
  width?: number;
  /** image: pixels. */
  height?: number;
  /** table: the first rows, the heading among them. */
  rows?: FilePreviewRow[];
  /** table: the names of all sheets. */
  sheets?: string[];
  /** table: the sheet that rows are of. */
  sheet?: string;
  /** table: rows of the sheet in all. */
  total?: number;
  /** pdf: number of pages. */
  pages?: number;
  /** text: its beginning. */
  text?: string;
  /** text: there is more of it. */
  truncated?: boolean;
}

/** One row of cells. */
export type FilePreviewRow = (string | number | boolean | null)[];

/** How far the file is. In the payload of a block that is loading; a finished file has none. */
export interface FileProgress {
  done: number;
  total?: number;
  /** What is being done, for people. */
  stage?: string;
  /** What done and total count. */
  unit?: string;
}

/** Fields to fill in. Their schema judges them in the browser and on the server. */
export interface FormPayload {
  title: string;
  description?: string;
  /** JSON Schema of the values: keywords common to draft-07 and 2020-12. */
  schema: Record<string, unknown>;
  /** Which fields are shown how: ui:widget, ui:order, ui:help and the like. */
  uiSchema?: Record<string, unknown>;
  /** Values to begin with. They fit the schema. */
  defaults?: Record<string, unknown>;
  submitLabel?: string;
}

/** A picture by reference. */
export interface ImagePayload {
  /** Id of the file. */
  assetId: string;
  /** What is to be seen, for those who do not see it. */
  alt: string;
  width?: number;
  height?: number;
  caption?: string;
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

/** One or two buttons that lead to the next step after an answer. */
export interface FeatureRecommendationPayload {
  /** No two of them lead to the same destination. */
  items: FeatureRecommendationItem[];
}

/** What a button does. */
export type FeatureRecommendationAction = RouteAction | SlashAction | ModalAction | ExternalAction;

/** Opens an address in a new tab, if its host is allowed. */
export interface ExternalAction {
  kind: "external";
  url: string;
}

/** A button. */
export interface FeatureRecommendationItem {
  /** Unique here. */
  id: string;
  /** The words on the button: one line, nothing invisible. */
  label: string;
  /** One line beside the button. */
  hint?: string;
  icon?:
    | "wallet"
    | "deposit"
    | "swap"
    | "buy"
    | "sell"
    | "autopilot"
    | "workflow"
    | "chart"
    | "search"
    | "settings"
    | "alert"
    | "research";
  action: FeatureRecommendationAction;
}

/** Opens a dialog of the application. */
export interface ModalAction {
  kind: "modal";
  name: "deposit" | "withdraw";
  /** What the dialog begins with; at most 4 KiB and 3 deep. */
  params?: Record<string, unknown>;
}

/** Opens a path of the application. */
export interface RouteAction {
  kind: "route";
  /** A path that begins with a slash and a letter or digit. */
  target: string;
}

/** Puts a command into the composer; never sends it. */
export interface SlashAction {
  kind: "slash";
  /** A verb with a slash, and what follows it after a blank. */
  command: string;
}

/** A statement in a query language, to be copied or run. */
export interface QueryPayload {
  /** Name of the language, such as sql, promql or lucene. */
  lang: string;
  statement: string;
  title?: string;
  timeRange?: QueryTimeRange;
  /** Name of the configured source that the statement runs on. */
  dataSource?: string;
}

/** The time that the statement looks at. */
export interface QueryTimeRange {
  /** ISO 8601, epoch milliseconds, or relative: now, now-1h (units s m h d w). */
  from: string | number;
  /** ISO 8601, epoch milliseconds, or relative: now, now-1h (units s m h d w). */
  to: string | number;
}

/** A question to the person. Options or a schema; with neither the answer is free text. */
export interface QuestionPayload {
  prompt: string;
  /** Markdown. */
  detail?: string;
  options?: QuestionOption[];
  /** More than one option may be chosen. */
  multiple?: boolean;
  /** Words of one's own may be given besides the options. */
  allowText?: boolean;
  /** JSON Schema of the answer, which is asked for by a form. */
  schema?: Record<string, unknown>;
  /** Which fields are shown how: ui:widget, ui:order, ui:help and the like. */
  uiSchema?: Record<string, unknown>;
  /** Epoch milliseconds. */
  expiresAt?: number;
}

/** One answer. */
export interface QuestionOption {
  /** Unique here. */
  id: string;
  label: string;
  description?: string;
}

/** How far a long job is. */
export interface StepsPayload {
  title?: string;
  items: StepsItem[];
}

/** One step. */
export interface StepsItem {
  /** Unique here. */
  id: string;
  label: string;
  status: "pending" | "running" | "done" | "error" | "skipped";
  detail?: string;
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

/** An interface made of known parts. Looks are named by tokens, never by CSS. */
export interface TreePayload {
  title?: string;
  root: TreeNode;
}

/** An action of the block. The spelling with type and name is read too and written as id. */
export interface TreeAction {
  id?: string;
  params?: TreeParams;
  /** Kind, in the spelling of cards. */
  type?: "api" | "prompt" | "link" | "local";
  /** Id, in the spelling of cards. */
  name?: string;
  text?: string;
  prompt?: string;
  href?: string;
  confirm?: string;
  feedback?: TreeFeedback;
}

/** The outcome in words. */
export interface TreeFeedback {
  successText?: string;
  failureToast?: string;
}

/** One part. What a client does not know it draws as its words. Scalars beside type are read as props. */
export interface TreeNode {
  /** card, row, column, text, image, button, input, divider, list, … */
  type: string;
  props?: TreeProps;
  children?: (TreeNode | string)[];
  /** What a click does: the id of an action of the block, with params for it if wanted. */
  action?: string | TreeAction;
  [name: string]: unknown;
}

/** What is posted with a click, by name. */
export type TreeParams = Record<string, string | number | boolean | null>;

/** A prop: a word, a number, or a short list of options. */
export type TreeProp = string | number | boolean | null | TreePropItem[];

/** One option. */
export type TreePropItem = string | number | boolean | Record<string, string | number | boolean | null>;

/** What the part is told. */
export type TreeProps = Record<string, TreeProp>;

/** The payload of each built-in block type, by its capability. */
export interface PayloadTypes {
  "card@1": CardPayload;
  "card_list@1": CardListPayload;
  "chart@1": ChartPayload;
  "code@1": CodePayload;
  "confirm@1": ConfirmPayload;
  "echarts_raw@1": EchartsRawPayload;
  "file@1": FilePayload;
  "form@1": FormPayload;
  "image@1": ImagePayload;
  "metric@1": MetricPayload;
  "minara.feature_recommendation@1": FeatureRecommendationPayload;
  "query@1": QueryPayload;
  "question@1": QuestionPayload;
  "steps@1": StepsPayload;
  "table@1": TablePayload;
  "text@1": TextPayload;
  "tree@1": TreePayload;
}

/** A flight with its times and fares. */
export interface FlightCardPayload {
  /** Number of the flight, such as XX123. */
  id: string;
  /** Day of departure. */
  date?: string;
  /** Why it is the right one, in one sentence. */
  reason?: string;
  airline?: string;
  from: FlightPlace;
  to: FlightPlace;
  /** When it leaves, in the airport's time. */
  departure: string;
  /** When it arrives, in the airport's time. */
  arrival: string;
  durationMinutes?: number;
  gate?: string;
  /** Where it stands now. */
  status?: "on_time" | "delayed" | "boarding" | "departed" | "arrived" | "cancelled";
  /** Cabins with price and what is left. */
  fares?: FlightFare[];
  /** Where it is booked. */
  url?: string;
}

/** A cabin. */
export interface FlightFare {
  cabin: string;
  price?: number;
  /** ISO 4217 code. */
  currency?: string;
  /** How many are left; 0: sold out. */
  available?: number;
}

/** An airport. */
export interface FlightPlace {
  /** IATA code. */
  code: string;
  name?: string;
  terminal?: string;
}

/** A hotel with its rooms and rates. */
export interface HotelCardPayload {
  /** Id of the hotel, where one is known. */
  id?: string;
  /** Name of the hotel. */
  title: string;
  /** One or two sentences about it. */
  description?: string;
  /** Why it is the right one, in one sentence. */
  reason?: string;
  /** Day of arrival. */
  checkIn?: string;
  /** Day of departure. */
  checkOut?: string;
  /** Official class. */
  stars?: number;
  address?: string;
  /** Address of its picture. */
  imageUrl?: string;
  /** Guests' rating, out of 5. */
  rating?: number;
  amenities?: string[];
  /** Rooms with their rate per night. */
  rooms?: HotelRoom[];
  /** Where it is booked. */
  url?: string;
}

/** A kind of room. */
export interface HotelRoom {
  name: string;
  price?: number;
  /** ISO 4217 code. */
  currency?: string;
  /** How many are left; 0: sold out. */
  available?: number;
}

/** A product with what the shop says of it. */
export interface ProductCardPayload {
  /** Id of the product, where one is known. */
  id?: string;
  /** Name of the product. */
  title: string;
  /** One or two sentences about it. */
  description?: string;
  /** Why it is the right one, in one sentence. */
  reason?: string;
  /** Address of its picture. */
  imageUrl?: string;
  price?: number;
  /** The price, as some call it. */
  itemPrice?: number;
  /** Price before a discount. */
  originalPrice?: number;
  /** ISO 4217 code. */
  currency?: string;
  /** What the discount is, in words. */
  discount?: string;
  /** How many there are; 0: sold out. */
  stock?: number;
  /** Out of 5. */
  rating?: number;
  /** Address of its page. */
  url?: string;
}

/** Several products side by side. */
export interface ProductListPayload {
  /** What the list is of. */
  title?: string;
  /** carousel, the default, is to leaf through. */
  layout?: "list" | "grid" | "carousel";
  items: ProductListItem[];
  /** Products there are in all, when these are not all. */
  total?: number;
  page?: CardListPage;
}

/** One product. */
export interface ProductListItem {
  /** Id of the product, where one is known. */
  id?: string;
  /** Name of the product. */
  title: string;
  /** One or two sentences about it. */
  description?: string;
  /** Why it is the right one, in one sentence. */
  reason?: string;
  /** Address of its picture. */
  imageUrl?: string;
  price?: number;
  /** The price, as some call it. */
  itemPrice?: number;
  /** Price before a discount. */
  originalPrice?: number;
  /** ISO 4217 code. */
  currency?: string;
  /** What the discount is, in words. */
  discount?: string;
  /** How many there are; 0: sold out. */
  stock?: number;
  /** Out of 5. */
  rating?: number;
  /** Address of its page. */
  url?: string;
  /** Actions of the block that are shown on this product. */
  actions?: CardItemAction[];
}

/** A train with its times and what seats are left. */
export interface TrainCardPayload {
  /** Number of the train, such as G1234. */
  id: string;
  /** Day of travel. */
  date?: string;
  /** Why it is the right one, in one sentence. */
  reason?: string;
  /** Station of departure. */
  from: string;
  /** Station of arrival. */
  to: string;
  /** When it leaves, in the station's time. */
  departure: string;
  /** When it arrives, in the station's time. */
  arrival: string;
  durationMinutes?: number;
  platform?: string;
  /** Where it stands now. */
  status?: "on_time" | "delayed" | "boarding" | "departed" | "arrived" | "cancelled";
  /** Classes with price and what is left. */
  seats?: TrainSeat[];
  /** Where it is booked. */
  url?: string;
}

/** A class of seats. */
export interface TrainSeat {
  class: string;
  price?: number;
  /** ISO 4217 code. */
  currency?: string;
  /** How many are left; 0: sold out. */
  available?: number;
}

/** The payload of each preset card, by its capability. */
export interface PresetPayloadTypes {
  "app.flight_card@1": FlightCardPayload;
  "app.hotel_card@1": HotelCardPayload;
  "app.product_card@1": ProductCardPayload;
  "app.product_list@1": ProductListPayload;
  "app.train_card@1": TrainCardPayload;
}
