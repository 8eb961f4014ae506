/**
 * Cards in Markdown that is still being written, and card messages, read
 * without a DOM and without the rest of the package. A server of Inlay does
 * this itself and sends blocks; this is for pages that get bare text, from a
 * model or another backend.
 */

export {
  blocksFrom,
  type CardNames,
  type CardSpec,
  MarkupBlocks,
  type MarkupOptions,
  type Origin,
  type Resolve,
  type TagCard,
  type TextSource,
  typeOf,
} from "./markup/blocks.ts";
export {
  type CardAction,
  type CardMessage,
  CardMessageReader,
  type CardOperation,
  type CardPacket,
  type CardProblem,
  type CardReaderOptions,
  type CardRecord,
  readCardMessage,
  readPacket,
} from "./markup/cards.ts";
export type { Lenient, MarkupConfig, TagSpec } from "./markup/config.ts";
export type { EndReason, FallbackReason, MarkupEvent, Syntax } from "./markup/event.ts";
export { JSONStream, JSONStreamError } from "./markup/json.ts";
export { Scanner } from "./markup/scanner.ts";
