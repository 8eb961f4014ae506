/** One bar of a histogram: values from `from` up to, not including, `to` (the last includes it). */
export interface Bin {
  from: number;
  to: number;
  count: number;
}

function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const ratio = rough / power;
  const step = ratio <= 1 ? 1 : ratio <= 2 ? 2 : ratio <= 5 ? 5 : 10;
  return step * power;
}

/** Counts values in round, equally wide bins (about as many as Sturges' rule names). */
export function bin(values: readonly number[]): Bin[] {
  if (values.length === 0) {
    return [];
  }
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low === high) {
    return [{ from: low, to: high, count: values.length }];
  }
  const want = Math.min(40, Math.max(5, Math.ceil(Math.log2(values.length)) + 1));
  const step = niceStep((high - low) / want);
  const first = Math.floor(low / step);
  const count = Math.max(1, Math.ceil(high / step + 1e-9) - first);
  const clean = (n: number): number => Number((n * step).toPrecision(12));
  const bins: Bin[] = Array.from({ length: count }, (_, i) => ({
    from: clean(first + i),
    to: clean(first + i + 1),
    count: 0,
  }));
  for (const value of values) {
    const at = Math.min(count - 1, Math.max(0, Math.floor(value / step + 1e-9) - first));
    const target = bins[at];
    if (target) {
      target.count++;
    }
  }
  while (bins.length > 1 && bins.at(-1)?.count === 0) {
    bins.pop();
  }
  return bins;
}

/** The five numbers of a box: minimum, lower quartile, median, upper quartile, maximum. */
export type FiveNumbers = [number, number, number, number, number];

/** Quartiles by linear interpolation; null for no values. */
export function fiveNumbers(values: readonly number[]): FiveNumbers | null {
  if (values.length === 0) {
    return null;
  }
  const sorted = [...values].sort((a, b) => a - b);
  const at = (p: number): number => {
    const place = (sorted.length - 1) * p;
    const low = sorted[Math.floor(place)] ?? 0;
    const high = sorted[Math.ceil(place)] ?? low;
    return low + (high - low) * (place - Math.floor(place));
  };
  return [at(0), at(0.25), at(0.5), at(0.75), at(1)];
}
