import { describe, expect, it } from "vitest";
import { neutralise, toCsv } from "../src/blocks/csv.ts";
import { fileName } from "../src/blocks/download.ts";
import {
  formatDelta,
  formatMoment,
  formatNumber,
  type NumberStyle,
  parseMoment,
} from "../src/blocks/format.ts";

// No-break spaces are part of the format; the table below writes them as blanks.
const plain = (text: string): string => text.replace(/[\u00a0\u202f]/g, " ");

describe("formatNumber", () => {
  const cases: [number, NumberStyle, string, string][] = [
    [1234567.891, {}, "1,234,567.89", "1,234,567.89"],
    [0.00123, {}, "0.0012", "0.0012"],
    [0, {}, "0", "0"],
    [-5, {}, "-5", "-5"],
    [320, { unit: "万元" }, "320万元", "320万元"],
    [12.5, { unit: "ms" }, "12.5 ms", "12.5 ms"],
    [0.125, { valueFormat: "percent" }, "12.5%", "12.5%"],
    [12.5, { valueFormat: "percent", format: { percentBase: 100 } }, "12.5%", "12.5%"],
    [0.5, { valueFormat: "percent", format: { decimals: 2 } }, "50.00%", "50.00%"],
    [1500, { valueFormat: "currency", format: { currency: "USD" } }, "$1,500", "$1,500"],
    [1499.5, { valueFormat: "currency", format: { currency: "USD" } }, "$1,499.50", "$1,499.50"],
    [1499.5, { valueFormat: "currency", format: { currency: "CNY" } }, "¥1,499.50", "¥1,499.50"],
    [1500, { valueFormat: "currency", format: { currency: "JPY" } }, "¥1,500", "¥1,500"],
    [1500, { valueFormat: "currency" }, "1,500", "1,500"],
    [123456, { valueFormat: "compact" }, "123.5K", "12.3万"],
    [123456789, { valueFormat: "compact" }, "123.5M", "1.2亿"],
    [2_500_000, { short: true }, "2.5M", "250万"],
    [
      1_250_000,
      { valueFormat: "currency", format: { currency: "USD" }, short: true },
      "$1.3M",
      "$125万",
    ],
    [999, { valueFormat: "bytes" }, "999 B", "999 B"],
    [1_500_000, { valueFormat: "bytes" }, "1.5 MB", "1.5 MB"],
    [0.25, { valueFormat: "duration" }, "250 ms", "250毫秒"],
    [12.34, { valueFormat: "duration" }, "12.3 s", "12.3秒"],
    [200, { valueFormat: "duration" }, "3 min 20 s", "3分20秒"],
    [7500, { valueFormat: "duration" }, "2 h 5 min", "2小时5分"],
    [90_000, { valueFormat: "duration" }, "1 d 1 h", "1天1小时"],
    [Number.NaN, {}, "–", "–"],
  ];
  it.each(cases)("%d %j", (value, style, en, zh) => {
    expect(plain(formatNumber(value, style, "en"))).toBe(en);
    expect(plain(formatNumber(value, style, "zh-CN"))).toBe(zh);
  });

  it("survives a currency code that nobody knows", () => {
    expect(formatNumber(5, { valueFormat: "currency", format: { currency: "??" } }, "en")).toBe(
      "5",
    );
  });

  it("always writes the sign of a change", () => {
    expect(formatDelta(0.031, { valueFormat: "percent" }, "en")).toBe("+3.1%");
    expect(formatDelta(-4, {}, "en")).toBe("−4");
    expect(formatDelta(0, {}, "en")).toBe("0");
  });
});

describe("parseMoment", () => {
  it.each([
    ["2026-03-01", Date.UTC(2026, 2, 1), true],
    ["2026-03", Date.UTC(2026, 2, 1), true],
    ["2026", Date.UTC(2026, 0, 1), true],
    ["2026-03-01T10:30", Date.UTC(2026, 2, 1, 10, 30), false],
    ["2026-03-01T10:30:00Z", Date.UTC(2026, 2, 1, 18, 30), false],
    ["2026-03-01T10:30:00+02:00", Date.UTC(2026, 2, 1, 16, 30), false],
  ])("%s in Shanghai", (text, wall, dateOnly) => {
    expect(parseMoment(text, "Asia/Shanghai")).toEqual({ wall, dateOnly });
  });

  it("reads epoch milliseconds in the zone, also over a change of clocks", () => {
    const summer = Date.UTC(2026, 6, 1, 12);
    const winter = Date.UTC(2026, 0, 1, 12);
    expect(parseMoment(summer, "Europe/Berlin")?.wall).toBe(summer + 2 * 3_600_000);
    expect(parseMoment(winter, "Europe/Berlin")?.wall).toBe(winter + 3_600_000);
  });

  it.each(["", "yesterday", "2026-13-01", "2026-02-31", "12:30", null, true, Number.NaN])(
    "refuses %s",
    (value) => {
      expect(parseMoment(value)).toBeNull();
    },
  );

  it("words a day and a time", () => {
    const day = parseMoment("2026-03-01");
    const time = parseMoment("2026-03-01T09:05");
    expect(day && formatMoment(day, "en")).toBe("Mar 1, 2026");
    expect(day && formatMoment(day, "zh-CN")).toBe("2026年3月1日");
    expect(time && formatMoment(time, "en")).toBe("Mar 1, 2026, 09:05");
  });
});

describe("CSV", () => {
  it.each([
    ["=1+1", "'=1+1"],
    ["+49 30 123", "'+49 30 123"],
    ["-5", "'-5"],
    ["@SUM(A1)", "'@SUM(A1)"],
    ["  =1+1", "'  =1+1"],
    ["\u3000＝1+1", "'\u3000＝1+1"],
    ["＠cmd", "'＠cmd"],
    ["\tx", "'\tx"],
    ["\rx", "'\rx"],
    ["plain", "plain"],
    ["a=b", "a=b"],
    ["", ""],
  ])("%j becomes %j", (text, want) => {
    expect(neutralise(text)).toBe(want);
  });

  it("keeps numbers, quotes text, neutralises headers, starts with a byte order mark", () => {
    const csv = toCsv(
      ["Region", "=cmd", 'a "b"'],
      [
        ["East, north", -5, null],
        ["two\nlines", 1.5, true],
        ["=HYPERLINK(1)", Number.NaN, undefined],
      ],
    );
    expect(csv).toBe(
      '\ufeffRegion,\'=cmd,"a ""b"""\r\n"East, north",-5,\r\n"two\nlines",1.5,true\r\n\'=HYPERLINK(1),,\r\n',
    );
  });

  it("makes file names that every system takes", () => {
    expect(fileName("Q3: sales / region?", "csv")).toBe("Q3 sales region.csv");
    expect(fileName("../../etc/passwd", "csv")).toBe("etc passwd.csv");
    expect(fileName("报表 2026", "png")).toBe("报表 2026.png");
    expect(fileName(undefined, "csv")).toBe("data.csv");
    expect(fileName("a".repeat(300), "csv")).toHaveLength(84);
  });
});
