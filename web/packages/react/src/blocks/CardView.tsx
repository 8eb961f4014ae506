import type { CardField, CardPayload } from "@inlay-ui/client";
import { lazy, type ReactNode, Suspense, useId, useState } from "react";
import { useInlay, useT } from "../context.ts";
import type { Translate } from "../i18n/index.ts";
import { Markdown } from "../markdown/Markdown.tsx";
import { SkeletonLine } from "../Skeleton.tsx";
import { AssetImage } from "./AssetImage.tsx";
import { formatMoment, formatNumber, parseMoment } from "./format.ts";

const ImageViewer = lazy(() => import("./ImageViewer.tsx"));

/** A field's value in words. */
export function fieldText(field: CardField, locale: string, t: Translate): string {
  const { value, format, unit } = field;
  if (value === null || value === "") return "–";
  if (typeof value === "boolean") {
    return t(value ? "chat.block.table.yes" : "chat.block.table.no");
  }
  if (format === "date" || format === "datetime") {
    const moment = parseMoment(value);
    if (!moment) return String(value);
    return formatMoment(format === "date" ? { ...moment, dateOnly: true } : moment, locale);
  }
  if (typeof value === "string") return unit ? `${value}\u00a0${unit}` : value;
  const { currency, decimals, percentBase } = field;
  const style = { valueFormat: format, unit, format: { currency, decimals, percentBase } };
  return formatNumber(value, style, locale);
}

/** The label of a card's state in its tone. */
export function Status({ status }: { status: NonNullable<CardPayload["status"]> }) {
  return (
    <span className="inlay-status" data-tone={status.tone}>
      {status.label}
    </span>
  );
}

/** What a card shows, in a frame of its own or of a list. */
export function CardView({
  card,
  headed,
  level = 4,
  picture,
  lead,
  children,
}: {
  /** One without a title waits for it. */
  card: Omit<CardPayload, "title"> & { title?: string };
  /** The title already stands above the card. */
  headed?: boolean;
  level?: 4 | 5;
  /** A picture that is no file of the server's. */
  picture?: ReactNode;
  /** What stands below its head, such as a price. */
  lead?: ReactNode;
  /** What stands at its end, such as buttons. */
  children?: ReactNode;
}) {
  const { lang, allow } = useInlay();
  const t = useT();
  const id = useId();
  const [open, setOpen] = useState(false);
  const { title, subtitle, image, fields, body, status } = card;
  const Title = level === 4 ? "h4" : "h5";
  const head = !headed || subtitle || status;
  return (
    <article
      className="inlay-card"
      {...(headed || !title ? { "aria-label": title } : { "aria-labelledby": id })}
    >
      {image ? (
        <button
          type="button"
          className="inlay-image-open inlay-card-image"
          aria-haspopup="dialog"
          aria-label={t("chat.block.image.enlarge", { alt: image.alt })}
          onClick={() => setOpen(true)}
        >
          <AssetImage image={image} variant="thumb" className="inlay-card-picture" />
        </button>
      ) : picture ? (
        <div className="inlay-card-image">{picture}</div>
      ) : null}
      <div className="inlay-card-words">
        {head ? (
          <div className="inlay-card-head">
            {headed ? null : (
              <Title className="inlay-card-title" id={id} dir="auto">
                {title || <SkeletonLine width="long" />}
              </Title>
            )}
            {status ? <Status status={status} /> : null}
            {subtitle ? (
              <p className="inlay-card-subtitle" dir="auto">
                {subtitle}
              </p>
            ) : null}
          </div>
        ) : null}
        {lead}
        {fields && fields.length > 0 ? (
          <dl className="inlay-card-fields">
            {fields.map((field, i) => (
              <div key={i} className="inlay-card-field">
                <dt>{field.label}</dt>
                <dd className={typeof field.value === "number" ? "inlay-figures" : undefined}>
                  {fieldText(field, lang, t)}
                </dd>
              </div>
            ))}
          </dl>
        ) : null}
        {body ? <Markdown text={body} streaming={false} allow={allow} /> : null}
        {children}
      </div>
      {open && image ? (
        <Suspense fallback={null}>
          <ImageViewer image={image} title={title ?? image.alt} onClose={() => setOpen(false)} />
        </Suspense>
      ) : null}
    </article>
  );
}
