import type { TextKey } from "./i18n/index.ts";

/** A group of the conversation list: a named span of days, or a month. */
export type DateGroup =
  | { kind: "named"; key: Extract<TextKey, `nav.${string}`>; id: string }
  | { kind: "month"; date: Date; id: string };

/** The group a time falls into, seen from `now` in the reader's time zone. */
export function dateGroup(time: Date, now: Date): DateGroup {
  const days = daysBetween(time, now);
  if (days <= 0) return { kind: "named", key: "nav.today", id: "today" };
  if (days === 1) return { kind: "named", key: "nav.yesterday", id: "yesterday" };
  if (days <= 7) return { kind: "named", key: "nav.week", id: "week" };
  if (days <= 30) return { kind: "named", key: "nav.month", id: "month" };
  return {
    kind: "month",
    date: new Date(time.getFullYear(), time.getMonth(), 1),
    id: `${time.getFullYear()}-${time.getMonth() + 1}`,
  };
}

// Calendar days, not spans of 24 hours: midnights are compared, rounded over changes of the clock.
function daysBetween(earlier: Date, later: Date): number {
  const from = new Date(earlier.getFullYear(), earlier.getMonth(), earlier.getDate()).getTime();
  const to = new Date(later.getFullYear(), later.getMonth(), later.getDate()).getTime();
  return Math.round((to - from) / 86_400_000);
}

/** Splits a list, newest first, into its groups without changing the order. */
export function groupByDate<T>(
  items: readonly T[],
  timeOf: (item: T) => Date,
  now: Date,
): { group: DateGroup; items: T[] }[] {
  const groups: { group: DateGroup; items: T[] }[] = [];
  for (const item of items) {
    const group = dateGroup(timeOf(item), now);
    const last = groups.at(-1);
    if (last && last.group.id === group.id) last.items.push(item);
    else groups.push({ group, items: [item] });
  }
  return groups;
}
