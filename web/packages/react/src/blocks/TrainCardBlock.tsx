import type { TrainCardPayload, TrainSeat } from "@inlay-ui/client";
import { useT } from "../context.ts";
import { Offers, Room } from "../preset/parts.tsx";
import { type Arriving, isWaiting, parts, word } from "../preset/read.ts";
import { Trip } from "../preset/Trip.tsx";
import { loadPresetWords } from "../preset/words.ts";
import type { BlockProps } from "../registry.ts";

loadPresetWords();

/** Draws an `app.train_card` block: a train with its times and what seats are left. */
export default function TrainCardBlock({ block, payload }: BlockProps<Arriving<TrainCardPayload>>) {
  const t = useT();
  const n = word(payload.platform);
  const waiting = isWaiting(block);
  return (
    <Room block={block}>
      <Trip
        trip={payload}
        title={word(payload.id)}
        from={{
          name: word(payload.from),
          more: n === "" ? [] : [t("chat.preset.platform", { n })],
          at: payload.departure,
        }}
        to={{ name: word(payload.to), at: payload.arrival }}
        offers={
          <Offers
            label={t("chat.preset.seats")}
            name="class"
            offers={parts<TrainSeat>(payload.seats)}
            waiting={waiting}
          />
        }
        waiting={waiting}
      />
    </Room>
  );
}
