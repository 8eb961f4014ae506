import type { Block } from "@inlay-ui/client";
import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from "react";
import { useInlay, useT } from "../context.ts";
import { ItemActions } from "./ItemActions.tsx";
import { nextPage } from "./places.ts";

/** What stands in a list of cards. */
export interface Listed {
  id?: unknown;
}

function keyOf({ id }: Listed, at: number): string | number {
  return typeof id === "string" ? id : at;
}

/** Cards below each other, in a grid, or in a row to leaf through, and the way to more of them. */
export function Cards<T extends Listed>({
  block,
  messageId,
  items,
  layout,
  label,
  total = 0,
  cursor,
  card,
}: {
  block: Block;
  messageId: string;
  items: readonly T[];
  layout: string;
  label: string;
  total?: number | undefined;
  cursor?: string | undefined;
  card: (item: T) => ReactNode;
}) {
  const { lang } = useInlay();
  const t = useT();
  const number = new Intl.NumberFormat(lang);
  return (
    <div className="inlay-cards-block">
      {layout === "carousel" && items.length > 1 ? (
        <Carousel items={items} label={label} card={card} />
      ) : (
        <ul className="inlay-cards" data-layout={layout} aria-label={label}>
          {items.map((item, i) => (
            <li key={keyOf(item, i)}>{card(item)}</li>
          ))}
        </ul>
      )}
      {total > items.length ? (
        <p className="inlay-block-note">
          {t("chat.block.cards.some", {
            shown: number.format(items.length),
            total: number.format(total),
          })}
        </p>
      ) : null}
      <ItemActions block={block} messageId={messageId} actions={nextPage(block, cursor)} />
    </div>
  );
}

/** Cards in a row: swiped, leafed through by buttons, or by the arrow keys. */
function Carousel<T extends Listed>({
  items,
  label,
  card,
}: {
  items: readonly T[];
  label: string;
  card: (item: T) => ReactNode;
}) {
  const t = useT();
  const id = useId();
  const row = useRef<HTMLUListElement>(null);
  const [at, setAt] = useState(0);
  const places = () => Array.from(row.current?.children ?? []) as HTMLElement[];
  const go = (to: number) => {
    const next = Math.min(items.length - 1, Math.max(0, to));
    setAt(next);
    const element = row.current;
    const place = places()[next];
    if (element && place) element.scrollTo?.({ left: place.offsetLeft - element.offsetLeft });
  };
  const onScroll = () => {
    const element = row.current;
    if (!element) return;
    const left = Math.abs(element.scrollLeft) + element.offsetLeft;
    const gaps = places().map((place) => Math.abs(place.offsetLeft - left));
    const end = Math.abs(element.scrollLeft) + element.clientWidth >= element.scrollWidth - 2;
    const nearest = gaps.indexOf(Math.min(...gaps));
    // At its end the row cannot bring the last cards to its start.
    if (nearest >= 0 && !(end && at > nearest)) setAt(nearest);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== row.current) return;
    const to: Record<string, number> = {
      ArrowRight: at + 1,
      ArrowLeft: at - 1,
      Home: 0,
      End: items.length - 1,
    };
    const next = to[event.key];
    if (next === undefined) return;
    event.preventDefault();
    go(next);
  };
  const turn = (step: 1 | -1, word: string) => {
    const off = step < 0 ? at === 0 : at === items.length - 1;
    return (
      <button
        type="button"
        className="inlay-button"
        aria-label={t(word)}
        aria-controls={id}
        aria-disabled={off}
        onClick={() => go(at + step)}
      >
        <span aria-hidden="true">{step < 0 ? "‹" : "›"}</span>
      </button>
    );
  };
  return (
    <section aria-roledescription={t("chat.block.cards.carousel")} aria-label={label}>
      <ul
        ref={row}
        id={id}
        className="inlay-cards inlay-scroll"
        data-layout="carousel"
        aria-label={label}
        onScroll={onScroll}
        onKeyDown={onKeyDown}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys leaf through the row
        tabIndex={0}
      >
        {items.map((item, i) => (
          <li key={keyOf(item, i)} aria-current={i === at || undefined}>
            {card(item)}
          </li>
        ))}
      </ul>
      <div className="inlay-cards-turn">
        {turn(-1, "chat.block.cards.previous")}
        <span className="inlay-muted inlay-figures" role="status">
          {t("chat.block.cards.place", { at: at + 1, total: items.length })}
        </span>
        {turn(1, "chat.block.cards.next")}
      </div>
    </section>
  );
}
