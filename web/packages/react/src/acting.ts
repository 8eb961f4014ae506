import {
  type Action,
  type ActionRequest,
  type ActionResult,
  type ActionState,
  type Block,
  BlockConflict,
  type InlayClient,
} from "@inlay-ui/client";

/** What the requests of one click have in common. */
export type ActionIds = Pick<ActionRequest, "idempotencyKey" | "traceId" | "confirmToken">;

/**
 * Sends an action of a block. When the block turns out to be another than is
 * shown, `stand` is told; where only its state has changed, and not so that
 * nothing can be done, the action goes on.
 */
export async function sendAction(
  client: InlayClient,
  messageId: string,
  block: Block,
  action: Action,
  payload: unknown,
  ids: ActionIds,
  stand: (block: BlockConflict["block"]) => void,
): Promise<ActionResult> {
  const request = { msgId: messageId, blockId: block.id, actionId: action.id, payload, ...ids };
  const send = async (rev: number) => {
    try {
      return await client.action(action.kind === "api" ? { ...request, rev } : request);
    } catch (error) {
      if (error instanceof BlockConflict) stand(error.block);
      throw error;
    }
  };
  try {
    return await send(block.rev);
  } catch (error) {
    if (!(error instanceof BlockConflict) || error.code !== "stale_block") throw error;
    const { payload: now, state, rev } = error.block;
    const locked = (state as ActionState | undefined)?.locked;
    if (locked || JSON.stringify(now) !== JSON.stringify(block.payload)) throw error;
    return send(rev);
  }
}
