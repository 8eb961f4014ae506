import type {
  Block,
  CardImage,
  CardPayload,
  FlightFare,
  HotelRoom,
  TrainSeat,
} from "@inlay-ui/client";
import type { ReactNode } from "react";
import { allowedUrl } from "../allow.ts";
import { formatNumber } from "../blocks/format.ts";
import { Picture, pictureOf } from "../blocks/Picture.tsx";
import { useInlay } from "../context.ts";
import type { Translate } from "../i18n/index.ts";
import { DEFAULT_HEIGHT, SkeletonLine } from "../Skeleton.tsx";
import { type Arriving, figure, isWaiting, part, word } from "./read.ts";

/** Of this many or fewer is told that they are few. */
const FEW = 9;
const MOST_RATING = 5;

/** The place of a card: while its data is on the way it keeps the height that was announced. */
export function Room({ block, children }: { block: Block; children: ReactNode }) {
  const minHeight = isWaiting(block) ? (block.meta?.estimatedHeight ?? DEFAULT_HEIGHT) : undefined;
  return <div style={{ minHeight }}>{children}</div>;
}

/** A sum of money in words; without a currency it is a number. */
export function money(value: number, currency: unknown, lang: string): string {
  const code = word(currency);
  const format = code === "" ? {} : { currency: code };
  return formatNumber(value, { valueFormat: "currency", format }, lang);
}

/** A price with what it was before, and what the discount is. */
export function Price({
  price,
  was,
  currency,
  discount,
  waiting,
}: {
  price: number | undefined;
  was?: number | undefined;
  currency: unknown;
  discount?: string;
  waiting: boolean;
}) {
  const { lang, t } = useInlay();
  if (price === undefined && !discount) return waiting ? <SkeletonLine width="short" /> : null;
  return (
    <p className="inlay-price">
      {price === undefined ? null : (
        <span className="inlay-price-now inlay-figures">
          <span className="inlay-visually-hidden">{t("chat.preset.price")} </span>
          {money(price, currency, lang)}
        </span>
      )}
      {was !== undefined && price !== undefined && was > price ? (
        <s className="inlay-price-was inlay-figures">
          <span className="inlay-visually-hidden">{t("chat.preset.was")} </span>
          {money(was, currency, lang)}
        </s>
      ) : null}
      {discount ? (
        <span className="inlay-status" data-tone="info">
          {discount}
        </span>
      ) : null}
    </p>
  );
}

/** What others think of a thing. */
export function Rating({ rating }: { rating: unknown }) {
  const { lang, t } = useInlay();
  const value = figure(rating);
  if (value === undefined) return null;
  const words = { n: formatNumber(value, {}, lang), most: formatNumber(MOST_RATING, {}, lang) };
  return <span className="inlay-rating inlay-figures">{t("chat.preset.rating", words)}</span>;
}

/** How many there are, as the state of a card; nothing where it is not known. */
export function stockStatus(stock: unknown, lang: string, t: Translate): CardPayload["status"] {
  const count = figure(stock);
  if (count === undefined) return undefined;
  if (count <= 0) return { label: t("chat.preset.soldOut"), tone: "danger" };
  const n = formatNumber(count, {}, lang);
  return count <= FEW
    ? { label: t("chat.preset.few", { n }), tone: "warning" }
    : { label: t("chat.preset.stock", { n }), tone: "success" };
}

/** What can be had of a thing, such as classes of seats: each with its price and what is left. */
export function Offers<Offer extends TrainSeat | FlightFare | HotelRoom>({
  label,
  name,
  offers,
  waiting,
}: {
  label: string;
  /** The member that names an offer. */
  name: keyof Offer;
  offers: readonly Arriving<Offer>[];
  waiting: boolean;
}) {
  const { lang, t } = useInlay();
  if (offers.length === 0 && !waiting) return null;
  if (offers.length === 0) {
    return (
      <>
        <SkeletonLine width="long" />
        <SkeletonLine width="long" />
        <SkeletonLine />
      </>
    );
  }
  return (
    <ul className="inlay-offers" aria-label={label}>
      {offers.map((offer, i) => {
        const price = figure(offer.price);
        const left = figure(offer.available);
        const tone = left === undefined || left > FEW ? undefined : left > 0 ? "warning" : "off";
        return (
          <li key={i} data-tone={tone}>
            <span dir="auto">{word(offer[name])}</span>
            <span className="inlay-offer-left">
              {left === undefined
                ? null
                : left <= 0
                  ? t("chat.preset.soldOut")
                  : t("chat.preset.left", { n: formatNumber(left, {}, lang) })}
            </span>
            <span className="inlay-offer-price inlay-figures">
              {price === undefined ? null : money(price, offer.currency, lang)}
            </span>
          </li>
        );
      })}
    </ul>
  );
}

/** A thing that may have a picture. */
interface Pictured {
  readonly title?: unknown;
  readonly imageUrl?: unknown;
  /** A file of the server's, where a card of another type has one. */
  readonly image?: unknown;
}

/** The picture of a thing: a file of the server's as the card has it, an address as it may be loaded. */
export function shot(
  thing: Pictured,
  waiting: boolean,
): { image?: CardPayload["image"]; picture?: ReactNode; elsewhere?: ReactNode } {
  const { assetId, alt, width, height } = part<CardImage>(thing.image);
  const title = word(thing.title);
  if (typeof assetId === "string") {
    const size = { width: figure(width), height: figure(height) };
    return {
      image: {
        assetId,
        alt: word(alt) || title,
        ...(size.width && size.height ? { width: size.width, height: size.height } : {}),
      },
    };
  }
  const src = word(thing.imageUrl) || word(thing.image);
  if (src === "") {
    return waiting ? { picture: <span className="inlay-skeleton inlay-shot" /> } : {};
  }
  return {
    picture: <Shot src={src} alt={title} />,
    elsewhere: <Elsewhere src={src} alt={title} />,
  };
}

/** A picture that may be loaded from where it is, in the place that pictures of cards have. */
function Shot({ src, alt }: { src: string; alt: string }) {
  const { allow } = useInlay();
  const place = pictureOf(src, allow);
  if (place.kind === "none" || place.kind === "link") return null;
  return (
    <span className="inlay-shot">
      <Picture place={place} alt={alt} />
    </span>
  );
}

/** A picture that may not be loaded here, as a way to it. */
function Elsewhere({ src, alt }: { src: string; alt: string }) {
  const { allow } = useInlay();
  const place = pictureOf(src, allow);
  return place.kind === "link" ? (
    <span className="inlay-muted">
      <Picture place={place} alt={alt} />
    </span>
  ) : null;
}

/** Words of their own below a card's figures. */
export function Words({ text, quiet }: { text: string; quiet?: boolean }) {
  return text === "" ? null : (
    <p className="inlay-card-text" data-quiet={quiet || undefined} dir="auto">
      {text}
    </p>
  );
}

/** The way to a thing's own page, where it leads to a host that is allowed. */
export function Details({ url }: { url: unknown }) {
  const { allow, t } = useInlay();
  const href = allowedUrl(word(url), allow.link_hosts);
  if (href === null) return null;
  return (
    <a className="inlay-card-link" href={href} target="_blank" rel="noopener noreferrer">
      {t("chat.preset.details", { host: new URL(href).host })}
    </a>
  );
}
