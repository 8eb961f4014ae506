import { useT } from "../context.ts";
import { Room } from "../preset/parts.tsx";
import { isWaiting, type Loose, parts, word } from "../preset/read.ts";
import { Trip } from "../preset/Trip.tsx";
import { loadPresetWords } from "../preset/words.ts";
import type { BlockProps } from "../registry.ts";

loadPresetWords();

/** Draws an `app.train_card` block: a train with its times and what seats are left. */
export default function TrainCardBlock({ block, payload }: BlockProps<Loose>) {
  const t = useT();
  const n = word(payload.platform);
  return (
    <Room block={block}>
      <Trip
        trip={payload}
        title={word(payload.number) || word(payload.id)}
        from={{
          name: word(payload.from),
          more: n === "" ? [] : [t("chat.preset.platform", { n })],
          at: payload.departure,
        }}
        to={{ name: word(payload.to), at: payload.arrival }}
        offers={{ label: t("chat.preset.seats"), name: "class", offers: parts(payload.seats) }}
        waiting={isWaiting(block)}
      />
    </Room>
  );
}
