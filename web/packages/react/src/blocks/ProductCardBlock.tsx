import type { ProductCardPayload } from "@inlay-ui/client";
import { Product } from "../preset/Product.tsx";
import { Room } from "../preset/parts.tsx";
import { type Arriving, isWaiting } from "../preset/read.ts";
import { loadPresetWords } from "../preset/words.ts";
import type { BlockProps } from "../registry.ts";

loadPresetWords();

/** Draws an `app.product_card` block: a product with its price, and what is left of it. */
export default function ProductCardBlock({
  block,
  payload,
}: BlockProps<Arriving<ProductCardPayload>>) {
  return (
    <Room block={block}>
      <Product product={payload} waiting={isWaiting(block)} />
    </Room>
  );
}
