/**
 * The reader, reducer and HTTP client of Inlay's native event stream. Needs no
 * framework; each part can be used alone.
 */

export {
  BlockConflict,
  ConfirmationRequired,
  newKey,
  type Violation,
  violationsOf,
} from "./actions.ts";
export type { AssetUrlOptions, UploadOptions } from "./assets.ts";
export {
  type ClientOptions,
  type ExportFormat,
  InlayClient,
  type MessagePath,
  type Page,
  type Run,
  type StreamOptions,
} from "./client.ts";
export { InlayError } from "./errors.ts";
export { applyPatch } from "./patch.ts";
export type * from "./payloads.gen.ts";
export { adopt, emptyMessage, reduce, reduceAll } from "./reduce.ts";
export { readSSE, type SSEFrame, type SSEOptions } from "./sse.ts";
export type * from "./types.ts";
