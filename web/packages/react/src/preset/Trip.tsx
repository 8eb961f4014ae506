import type { CardPayload, FlightCardPayload, TrainCardPayload } from "@inlay-ui/client";
import type { ReactNode } from "react";
import { CardView } from "../blocks/CardView.tsx";
import { formatNumber, formatWall, type Moment, parseMoment } from "../blocks/format.ts";
import { useInlay } from "../context.ts";
import { SkeletonLine } from "../Skeleton.tsx";
import { Details, Words } from "./parts.tsx";
import { type Arriving, atPlace, figure, word } from "./read.ts";

/** An end of a trip. */
export interface TripEnd {
  /** A station, or the code of an airport. */
  name: string;
  /** More of it, such as the airport's name. */
  more?: string[];
  at: unknown;
}

const dayMs = 86_400_000;

const tones: Record<string, NonNullable<CardPayload["status"]>["tone"]> = {
  on_time: "success",
  delayed: "warning",
  boarding: "info",
  cancelled: "danger",
};

/** A train or a flight: from where to where, when, and what seats are left, as a card. */
export function Trip({
  trip,
  title,
  from,
  to,
  offers,
  waiting,
}: {
  trip: Arriving<TrainCardPayload | FlightCardPayload>;
  title: string;
  from: TripEnd;
  to: TripEnd;
  /** What seats are left. */
  offers: ReactNode;
  waiting: boolean;
}) {
  const { lang, t } = useInlay();
  const leaves = parseMoment(atPlace(from.at));
  const arrives = parseMoment(atPlace(to.at));
  const day = leaves ?? parseMoment(trip.date);
  const minutes = figure(trip.durationMinutes);
  const state = word(trip.status);
  const key = `chat.preset.status.${state}`;
  const later = leaves && arrives ? dayOf(arrives) - dayOf(leaves) : 0;
  const status =
    state !== "" && t(key) !== key
      ? ({ label: t(key), tone: tones[state] ?? "neutral" } as const)
      : undefined;
  return (
    <CardView
      card={{
        title,
        ...(day ? { subtitle: formatWall(day.wall, dayParts, lang) } : {}),
        ...(status ? { status } : {}),
      }}
      lead={
        <div className="inlay-trip">
          <End end={from} at={leaves} word={t("chat.preset.departs")} waiting={waiting} />
          <span className="inlay-trip-way">
            {minutes === undefined
              ? null
              : formatNumber(minutes * 60, { valueFormat: "duration" }, lang)}
          </span>
          <End
            end={to}
            at={arrives}
            word={t("chat.preset.arrives")}
            later={later > 0 ? t("chat.preset.days", { count: later }) : ""}
            waiting={waiting}
          />
        </div>
      }
    >
      {offers}
      <Words text={word(trip.reason)} quiet />
      <Details url={trip.url} />
    </CardView>
  );
}

const dayParts: Intl.DateTimeFormatOptions = {
  weekday: "short",
  year: "numeric",
  month: "short",
  day: "numeric",
};

function dayOf({ wall }: Moment): number {
  return Math.floor(wall / dayMs);
}

function End({
  end,
  at,
  word: verb,
  later = "",
  waiting,
}: {
  end: TripEnd;
  at: Moment | null;
  word: string;
  later?: string;
  waiting: boolean;
}) {
  const { lang } = useInlay();
  const clock =
    at && !at.dateOnly
      ? formatWall(at.wall, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }, lang)
      : at
        ? ""
        : word(end.at);
  return (
    <div className="inlay-trip-end">
      <span className="inlay-trip-time inlay-figures">
        <span className="inlay-visually-hidden">{verb} </span>
        {clock || (waiting ? <SkeletonLine width="short" /> : "–")}
        {later ? <small className="inlay-muted"> {later}</small> : null}
      </span>
      {end.name ? <span dir="auto">{end.name}</span> : waiting ? <SkeletonLine /> : null}
      {end.more
        ?.filter((one) => one !== "")
        .map((one, i) => (
          <span key={i} className="inlay-muted" dir="auto">
            {one}
          </span>
        ))}
    </div>
  );
}
