import { formatNumber } from "../blocks/format.ts";
import type { Translate } from "../i18n/index.ts";
import { placedRows, seriesValue, xKind, xWords } from "./rows.ts";
import { type ChartSpec, numberAt } from "./spec.ts";

/** One sentence or two that say what a chart shows, for those who do not see it. */
export function summarise(
  spec: ChartSpec,
  title: string | undefined,
  locale: string,
  t: Translate,
): string {
  const head = t("chat.block.chart.summaryHead", {
    type: t(`chat.block.chart.type.${spec.type}`),
    title: title ?? spec.title ?? "",
  }).replace(/[:：]\s*$/, "");
  const own = spec.a11y?.summary;
  if (own) {
    return `${head}. ${own}`;
  }
  const kind = xKind(spec);
  const rows = placedRows(spec, kind, locale);
  const words = xWords(spec, kind, rows, locale);
  const parts = [head];
  const size = t("chat.block.chart.summarySize", {
    rows: formatNumber(spec.data.length, {}, locale),
    series: spec.series.map((s) => s.name).join(", "),
  });
  if (spec.series.length > 0) {
    parts.push(size);
  }
  for (const series of spec.series.slice(0, 4)) {
    const known = rows.flatMap((row) => {
      const value = numberAt(row.row, series.field);
      return value === null ? [] : [{ row, value }];
    });
    const first = known[0];
    if (!first || known.length < 2) {
      if (first) {
        parts.push(`${series.name}: ${seriesValue(spec, series, first.value, locale)}`);
      }
      continue;
    }
    let top = first;
    let bottom = first;
    for (const one of known) {
      if (one.value > top.value) {
        top = one;
      }
      if (one.value < bottom.value) {
        bottom = one;
      }
    }
    parts.push(
      t("chat.block.chart.summarySeries", {
        name: series.name,
        high: seriesValue(spec, series, top.value, locale),
        highAt: words.full(top.row) || "–",
        low: seriesValue(spec, series, bottom.value, locale),
        lowAt: words.full(bottom.row) || "–",
      }),
    );
  }
  const zh = locale.toLowerCase().startsWith("zh");
  return `${parts.join(zh ? "。" : ". ")}${zh ? "。" : "."}`;
}
