import type { CardListPayload } from "@inlay-ui/client";
import { useT } from "../context.ts";
import type { BlockProps } from "../registry.ts";
import { Cards } from "./Cards.tsx";
import { CardView } from "./CardView.tsx";
import { ItemActions } from "./ItemActions.tsx";
import { placed } from "./places.ts";

/** Draws a `card_list` block: below each other, in a grid, or in a row to leaf through. */
export default function CardListBlock(props: BlockProps<CardListPayload>) {
  const { block, payload, messageId } = props;
  const t = useT();
  const { items, layout = "list", title, total, page } = payload;
  if (items.length === 0) return <p className="inlay-empty">{t("chat.block.cards.empty")}</p>;
  return (
    <Cards
      block={block}
      messageId={messageId}
      items={items}
      layout={layout}
      label={title ?? block.meta?.title ?? t("chat.block.cards.label")}
      total={total}
      cursor={page?.cursor}
      card={(item) => (
        <CardView card={item}>
          <ItemActions
            block={block}
            messageId={messageId}
            actions={placed(block, item.actions)}
            about={item.title}
          />
        </CardView>
      )}
    />
  );
}
