import type {
  CardItemAction,
  CardListPage,
  ProductListItem,
  ProductListPayload,
} from "@inlay-ui/client";
import { useT } from "../context.ts";
import { Product } from "../preset/Product.tsx";
import { Room } from "../preset/parts.tsx";
import { type Arriving, figure, isWaiting, part, parts, word } from "../preset/read.ts";
import { loadPresetWords } from "../preset/words.ts";
import type { BlockProps } from "../registry.ts";
import { Cards } from "./Cards.tsx";
import { ItemActions } from "./ItemActions.tsx";
import { placed } from "./places.ts";

loadPresetWords();

/** How many cards stand for a list of which nothing is known. */
const EXPECTED = 3;

/** Draws an `app.product_list` block: products in a row to leaf through, in a grid or a list. */
export default function ProductListBlock({
  block,
  payload,
  messageId,
}: BlockProps<Arriving<ProductListPayload>>) {
  const t = useT();
  const waiting = isWaiting(block);
  let items = parts<ProductListItem>(payload.items);
  if (items.length === 0 && waiting) items = Array.from({ length: EXPECTED }, () => ({}));
  if (items.length === 0) return <p className="inlay-empty">{t("chat.block.cards.empty")}</p>;
  const given = word(payload.layout);
  const layout = ["list", "grid", "carousel"].includes(given) ? given : "carousel";
  return (
    <Room block={block}>
      <Cards
        block={block}
        messageId={messageId}
        items={items}
        layout={layout === "carousel" && items.length === 1 ? "list" : layout}
        label={word(payload.title) || block.meta?.title || t("chat.preset.products")}
        total={figure(payload.total)}
        cursor={word(part<CardListPage>(payload.page).cursor) || undefined}
        card={(item) => (
          <Product product={item} waiting={waiting}>
            <ItemActions
              block={block}
              messageId={messageId}
              actions={placed(block, itemActions(item))}
              about={word(item.title)}
            />
          </Product>
        )}
      />
    </Room>
  );
}

function itemActions(item: Arriving<ProductListItem>) {
  return parts<CardItemAction>(item.actions).map(({ id, params }) => ({
    id: word(id),
    params: part<Record<string, unknown>>(params),
  }));
}
