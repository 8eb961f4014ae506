import type { FlightCardPayload, FlightFare, FlightPlace } from "@inlay-ui/client";
import { useT } from "../context.ts";
import type { Translate } from "../i18n/index.ts";
import { Offers, Room } from "../preset/parts.tsx";
import { type Arriving, isWaiting, part, parts, word } from "../preset/read.ts";
import { Trip } from "../preset/Trip.tsx";
import { loadPresetWords } from "../preset/words.ts";
import type { BlockProps } from "../registry.ts";

loadPresetWords();

/** Draws an `app.flight_card` block: a flight with its times and fares. */
export default function FlightCardBlock({
  block,
  payload,
}: BlockProps<Arriving<FlightCardPayload>>) {
  const t = useT();
  const n = word(payload.gate);
  const waiting = isWaiting(block);
  const from = airport(payload.from, payload.departure, t);
  if (n !== "") from.more.push(t("chat.preset.gate", { n }));
  return (
    <Room block={block}>
      <Trip
        trip={payload}
        title={[word(payload.airline), word(payload.id)].filter((one) => one !== "").join(" ")}
        from={from}
        to={airport(payload.to, payload.arrival, t)}
        offers={
          <Offers
            label={t("chat.preset.fares")}
            name="cabin"
            offers={parts<FlightFare>(payload.fares)}
            waiting={waiting}
          />
        }
        waiting={waiting}
      />
    </Room>
  );
}

/** An airport by its code, or by its name alone. */
function airport(place: unknown, at: unknown, t: Translate) {
  const { code, name, terminal } = part<FlightPlace>(place);
  const n = word(terminal);
  const more = n === "" ? [] : [t("chat.preset.terminal", { n })];
  if (word(code) === "") return { name: word(place) || word(name), more, at };
  return { name: word(code), more: [word(name), ...more], at };
}
