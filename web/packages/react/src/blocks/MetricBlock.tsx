import type { MetricItem, MetricPayload } from "@inlay-ui/client";
import { useId } from "react";
import { useInlay, useT } from "../context.ts";
import type { BlockProps } from "../registry.ts";
import { formatDelta, formatNumber, type NumberStyle } from "./format.ts";

const width = 120;
const height = 32;

/** The line of a sparkline as SVG path data: one run for each stretch without a gap. */
export function sparkPath(trend: readonly (number | null)[]): string {
  const known = trend.filter((v): v is number => v !== null && Number.isFinite(v));
  if (known.length < 2) {
    return "";
  }
  const low = Math.min(...known);
  const high = Math.max(...known);
  const span = high - low || 1;
  const step = (width - 4) / Math.max(1, trend.length - 1);
  let pen = false;
  let path = "";
  trend.forEach((value, i) => {
    if (value === null || !Number.isFinite(value)) {
      pen = false;
      return;
    }
    const x = (2 + i * step).toFixed(1);
    const y = (high === low ? height / 2 : 3 + (height - 6) * (1 - (value - low) / span)).toFixed(
      1,
    );
    path += `${pen ? "L" : "M"}${x} ${y}`;
    pen = true;
  });
  return path;
}

function styleOf(item: MetricItem): NumberStyle {
  return {
    valueFormat: item.format,
    unit: item.unit,
    format: { currency: item.currency, decimals: item.decimals, percentBase: item.percentBase },
  };
}

function Figure({ item, locale }: { item: MetricItem; locale: string }) {
  const t = useT();
  const titleId = useId();
  const style = styleOf(item);
  const value =
    item.value === null
      ? "–"
      : typeof item.value === "number"
        ? formatNumber(item.value, style, locale)
        : item.unit
          ? `${item.value}\u00a0${item.unit}`
          : item.value;
  // A unit of more than a sign stands smaller beside its figure.
  const unit = item.unit && item.unit.length > 1 && value.endsWith(item.unit) ? item.unit : "";
  const { delta, goodWhen = "up" } = item;
  const path = sparkPath(item.trend ?? []);
  const known = (item.trend ?? []).filter((v): v is number => v !== null);
  const tone =
    delta === null || delta === undefined || delta === 0 || goodWhen === "neutral"
      ? "plain"
      : delta > 0 === (goodWhen === "up")
        ? "good"
        : "bad";
  return (
    <div className="inlay-metric">
      <dt className="inlay-metric-label">{item.label}</dt>
      <dd className="inlay-metric-value inlay-figures">
        {value.slice(0, value.length - unit.length)}
        {unit === "" ? null : <span className="inlay-metric-unit">{unit}</span>}
      </dd>
      {delta === null || delta === undefined ? null : (
        <dd className={`inlay-metric-delta inlay-figures inlay-tone-${tone}`}>
          <span aria-hidden="true">{delta > 0 ? "▲ " : delta < 0 ? "▼ " : ""}</span>
          {formatDelta(
            delta,
            item.deltaFormat === "number"
              ? style
              : item.deltaFormat === "percent" || item.format === "percent"
                ? { valueFormat: "percent", format: { percentBase: item.percentBase } }
                : style,
            locale,
          )}
          <span className="inlay-visually-hidden">
            {" "}
            {t(`chat.block.metric.${delta > 0 ? "up" : delta < 0 ? "down" : "same"}`)}
          </span>
        </dd>
      )}
      {path === "" ? null : (
        <dd className="inlay-metric-trend">
          <svg
            viewBox={`0 0 ${width} ${height}`}
            preserveAspectRatio="none"
            role="img"
            aria-labelledby={titleId}
          >
            <title id={titleId}>
              {t("chat.block.metric.trend", {
                count: known.length,
                first: formatNumber(known[0] ?? 0, style, locale),
                last: formatNumber(known.at(-1) ?? 0, style, locale),
              })}
            </title>
            <path d={path} className="inlay-spark" vectorEffect="non-scaling-stroke" />
          </svg>
        </dd>
      )}
    </div>
  );
}

/** Draws a `metric` block: key figures with their change and trend. */
export default function MetricBlock({ payload }: BlockProps<MetricPayload>) {
  const { lang } = useInlay();
  return (
    <dl className="inlay-metrics">
      {payload.items.map((item, i) => (
        <Figure key={i} item={item} locale={lang} />
      ))}
    </dl>
  );
}
