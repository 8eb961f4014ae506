/** Blocks of an Inlay server in front ends that use the AI SDK. */

import { ForeignBlock, type ForeignOptions } from "@inlay-ui/react";
import { blockOf, isCut, type PartLike } from "./block.ts";

/** What {@link InlayPart} takes. */
export interface InlayPartProps extends ForeignOptions {
  part: PartLike;
  /** The id of the message that the part is in. */
  messageId: string;
}

/**
 * Draws one `data-*` part of a message of an Inlay server; nothing for other
 * parts. Its actions work, and so do retry and refresh.
 */
export function InlayPart({ part, messageId, ...options }: InlayPartProps) {
  const block = blockOf(part);
  if (!block) return null;
  return <ForeignBlock {...options} block={block} messageId={messageId} cut={isCut(part)} />;
}
