import type { Block } from "@inlay-ui/client";
import { useBlockActions, useSaid } from "../actions.tsx";
import type { PlacedAction } from "./places.ts";

/** Buttons for actions that belong to one place of a block's body. */
export function ItemActions({
  block,
  messageId,
  actions,
  about,
}: {
  block: Block;
  messageId: string;
  actions: readonly PlacedAction[];
  /** What they act on, for those who hear only the button. */
  about?: string;
}) {
  const { run, standing } = useBlockActions(block, messageId);
  const said = useSaid(block);
  if (actions.length === 0) return null;
  return (
    <div className="inlay-item-actions">
      {actions.map(({ action, params }) => {
        const payload = { ...action.params, ...params };
        const { busy, disabled } = standing(action, payload);
        const off = disabled || block.status !== "done";
        const done = said.of(action, payload);
        const label = done ?? action.label;
        return (
          <button
            key={action.id}
            type="button"
            className="inlay-button"
            data-style={action.style}
            data-action-id={action.id}
            data-said={done !== undefined || undefined}
            aria-label={about ? `${label} – ${about}` : undefined}
            aria-busy={busy}
            aria-disabled={busy || off}
            onClick={() => {
              if (!busy && !off) void run(action, payload, said.options(action, payload));
            }}
          >
            {label}
          </button>
        );
      })}
    </div>
  );
}
