import type { Action, Block, TreeNode } from "@inlay-ui/client";

/** Nodes of a tree below each other; more are cut off. */
export const mostDepth = 50;

/** Nodes of a tree. */
export const mostNodes = 2_000;

/** Characters of a text in a tree. */
export const mostText = 8_192;

/** An action of a block with what it sends from one place of the block's body. */
export interface PlacedAction {
  action: Action;
  params: Record<string, unknown>;
}

/** Finds the block's actions that a place names; those the block does not have are left out. */
export function placed(
  block: Block,
  wanted: readonly { id: string; params?: Record<string, unknown> }[] | undefined,
): PlacedAction[] {
  return (wanted ?? []).flatMap(({ id, params }) => {
    const action = block.actions?.find((a) => a.id === id);
    return action ? [{ action, params: params ?? {} }] : [];
  });
}

/** The action with which a block loads what comes next: the one that takes a cursor. */
export function pagingAction(block: Block): Action | undefined {
  return block.actions?.find((action) => {
    const schema = action.inputSchema as { properties?: unknown } | null | undefined;
    const properties = schema?.properties;
    return (
      action.kind === "api" &&
      typeof properties === "object" &&
      properties !== null &&
      "cursor" in properties
    );
  });
}

/** The paging action of a block, which is no button where it has no cursor to go on from. */
export function pagingIds(block: Block): string[] {
  const action = pagingAction(block);
  return action ? [action.id] : [];
}

/** The paging action of a block that is not complete, as the block places it. */
export function nextPage(block: Block, cursor: string | undefined): PlacedAction[] {
  const action = cursor === undefined ? undefined : pagingAction(block);
  return action ? [{ action, params: { cursor } }] : [];
}

/** The id and parameters of a node's action. */
export function actionOf(node: TreeNode): { id: string; params: Record<string, unknown> } | null {
  const { action } = node;
  if (typeof action === "string") return action === "" ? null : { id: action, params: {} };
  if (typeof action !== "object" || action === null) return null;
  const id = action.id ?? action.name;
  return typeof id === "string" && id !== "" ? { id, params: action.params ?? {} } : null;
}

/** The ids of the actions that nodes of a tree name. */
export function treeActions(node: TreeNode, depth = 0): string[] {
  const own = actionOf(node);
  const below =
    depth < mostDepth && Array.isArray(node.children)
      ? node.children.flatMap((c) =>
          typeof c === "object" && c !== null ? treeActions(c, depth + 1) : [],
        )
      : [];
  return own ? [own.id, ...below] : below;
}
