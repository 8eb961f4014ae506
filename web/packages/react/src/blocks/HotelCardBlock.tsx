import type { CardField, HotelCardPayload, HotelRoom } from "@inlay-ui/client";
import { useInlay } from "../context.ts";
import { Details, Offers, Rating, Room, shot, Words } from "../preset/parts.tsx";
import { type Arriving, figure, isWaiting, parts, word } from "../preset/read.ts";
import { loadPresetWords } from "../preset/words.ts";
import type { BlockProps } from "../registry.ts";
import { CardView } from "./CardView.tsx";
import { parseMoment } from "./format.ts";

loadPresetWords();

const MOST_STARS = 5;
const dayMs = 86_400_000;

/** Draws an `app.hotel_card` block: a hotel with its rooms and rates. */
export default function HotelCardBlock({ block, payload }: BlockProps<Arriving<HotelCardPayload>>) {
  const { t } = useInlay();
  const waiting = isWaiting(block);
  const { image, picture, elsewhere } = shot(payload, waiting);
  const stars = Math.min(MOST_STARS, Math.max(0, Math.round(figure(payload.stars) ?? 0)));
  const address = word(payload.address);
  const amenities = Array.isArray(payload.amenities) ? payload.amenities.map(word) : [];
  const fields: CardField[] = [];
  for (const name of ["checkIn", "checkOut"] as const) {
    const value = word(payload[name]);
    if (value) fields.push({ label: t(`chat.preset.${name}`), value, format: "date" });
  }
  const [first, last] = [parseMoment(payload.checkIn), parseMoment(payload.checkOut)];
  const nights = first && last ? Math.round((last.wall - first.wall) / dayMs) : 0;
  const rooms = t("chat.preset.rooms");
  return (
    <Room block={block}>
      <CardView
        card={{
          title: word(payload.title),
          ...(image ? { image } : {}),
          ...(address ? { subtitle: address } : {}),
          fields,
        }}
        picture={picture}
        lead={
          <p className="inlay-price">
            {stars > 0 ? (
              <span
                className="inlay-stars"
                role="img"
                aria-label={t("chat.preset.stars", { count: stars })}
              >
                {"★".repeat(stars)}
              </span>
            ) : null}
            <Rating rating={payload.rating} />
          </p>
        }
      >
        <Words text={word(payload.description)} />
        <Offers
          label={nights > 0 ? `${rooms}, ${t("chat.preset.nights", { count: nights })}` : rooms}
          name="name"
          offers={parts<HotelRoom>(payload.rooms)}
          waiting={waiting}
        />
        <Words text={amenities.filter((one) => one !== "").join(" · ")} quiet />
        <Words text={word(payload.reason)} quiet />
        {elsewhere}
        <Details url={payload.url} />
      </CardView>
    </Room>
  );
}
