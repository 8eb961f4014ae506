import type { ProductCardPayload } from "@inlay-ui/client";
import type { ReactNode } from "react";
import { CardView } from "../blocks/CardView.tsx";
import { useInlay } from "../context.ts";
import { SkeletonLine } from "../Skeleton.tsx";
import { Details, Price, Rating, shot, stockStatus, Words } from "./parts.tsx";
import { type Arriving, figure, word } from "./read.ts";

/** A product with what the shop says of it, as a card. */
export function Product({
  product,
  waiting,
  children,
}: {
  product: Arriving<ProductCardPayload>;
  /** More of it is on its way. */
  waiting: boolean;
  children?: ReactNode;
}) {
  const { lang, t } = useInlay();
  const title = word(product.title);
  const { image, picture, elsewhere } = shot(product, waiting);
  const status = stockStatus(product.stock, lang, t);
  const [reason, description] = [word(product.reason), word(product.description)];
  return (
    <CardView
      card={{
        title,
        ...(image ? { image } : {}),
        ...(status ? { status } : {}),
        ...(reason ? { subtitle: reason } : {}),
      }}
      picture={picture}
      lead={
        <>
          <Price
            price={figure(product.price) ?? figure(product.itemPrice)}
            was={figure(product.originalPrice)}
            currency={product.currency}
            discount={word(product.discount)}
            waiting={waiting}
          />
          <Rating rating={product.rating} />
        </>
      }
    >
      {waiting && !description ? <SkeletonLine /> : <Words text={description} />}
      {elsewhere}
      <Details url={product.url} />
      {children}
    </CardView>
  );
}
