/** The chat transport of the AI SDK for Inlay servers. Needs no framework. */

export { blockOf, isCut, type PartLike } from "./block.ts";
export {
  type ChatLike,
  InlayTransport,
  type InlayTransportOptions,
  inlayTransport,
} from "./transport.ts";
