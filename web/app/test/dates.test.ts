// @vitest-environment node
import { describe, expect, it } from "vitest";
import { dateGroup, groupByDate } from "../src/dates.ts";

const now = new Date(2026, 2, 31, 0, 30);

describe("dateGroup", () => {
  it.each([
    [new Date(2026, 2, 31, 0, 5), "today"],
    [new Date(2026, 2, 31, 9, 0), "today"],
    [new Date(2026, 2, 30, 23, 59), "yesterday"],
    [new Date(2026, 2, 29, 0, 0), "week"],
    [new Date(2026, 2, 24, 12, 0), "week"],
    [new Date(2026, 2, 23, 12, 0), "month"],
    [new Date(2026, 2, 1, 12, 0), "month"],
    [new Date(2026, 1, 28, 12, 0), "2026-2"],
    [new Date(2025, 11, 31, 12, 0), "2025-12"],
  ])("%s is in %s", (time, id) => {
    expect(dateGroup(time, now).id).toBe(id);
  });
});

describe("groupByDate", () => {
  it("keeps the order", () => {
    const times = [
      new Date(2026, 2, 31, 0, 20),
      new Date(2026, 2, 31, 0, 10),
      new Date(2026, 2, 30, 8, 0),
    ];
    const groups = groupByDate(times, (time) => time, now);
    expect(groups.map(({ group, items }) => [group.id, items.length])).toEqual([
      ["today", 2],
      ["yesterday", 1],
    ]);
    expect(groupByDate([], (time: Date) => time, now)).toEqual([]);
  });
});
