/** How a number is meant to be read; the words of the chart and table payloads. */
export type ValueFormat = "number" | "percent" | "currency" | "compact" | "bytes" | "duration";

/** Details of a {@link ValueFormat}. */
export interface FormatDetail {
  /** ISO 4217 code, used by `currency`. */
  currency?: string;
  /** Digits after the decimal point; the default depends on the format. */
  decimals?: number;
  /** 1: 0.12 means 12 %; 100: 12 means 12 %. */
  percentBase?: 1 | 100;
}

/** Everything that decides how one number is worded. */
export interface NumberStyle {
  valueFormat?: ValueFormat | undefined;
  format?: FormatDetail | undefined;
  /** Written after the number, e.g. "ms" or "万元". */
  unit?: string | undefined;
  /** Shorten large numbers, as on an axis. */
  short?: boolean | undefined;
}

const cache = new Map<string, Intl.NumberFormat>();

function numberFormat(locale: string, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = `${locale}|${JSON.stringify(options)}`;
  let found = cache.get(key);
  if (!found) {
    try {
      found = new Intl.NumberFormat(locale, options);
    } catch {
      // An unknown currency code or locale must not take the block down.
      const { currency: _currency, currencyDisplay: _display, style: _style, ...rest } = options;
      found = new Intl.NumberFormat("en", rest);
    }
    cache.set(key, found);
  }
  return found;
}

function clampDecimals(n: number | undefined): number | undefined {
  if (n === undefined || !Number.isFinite(n)) {
    return undefined;
  }
  return Math.min(10, Math.max(0, Math.trunc(n)));
}

function digits(
  decimals: number | undefined,
  most: number,
): { minimumFractionDigits?: number; maximumFractionDigits: number } {
  const fixed = clampDecimals(decimals);
  return fixed === undefined
    ? { maximumFractionDigits: most }
    : { minimumFractionDigits: fixed, maximumFractionDigits: fixed };
}

const byteUnits = ["B", "kB", "MB", "GB", "TB", "PB"];

function bytes(value: number, locale: string, decimals: number | undefined): string {
  let n = Math.abs(value);
  let at = 0;
  while (n >= 1000 && at < byteUnits.length - 1) {
    n /= 1000;
    at++;
  }
  const text = numberFormat(locale, digits(decimals, at === 0 ? 0 : 1)).format(value < 0 ? -n : n);
  return `${text}\u00a0${byteUnits[at] ?? "B"}`;
}

/** Words a length of time given in seconds: "850 ms", "12.5 s", "3 min 20 s", "2 h 5 min". */
function duration(seconds: number, locale: string, decimals: number | undefined): string {
  const zh = locale.toLowerCase().startsWith("zh");
  const units = zh
    ? { ms: "毫秒", s: "秒", min: "分", h: "小时", d: "天" }
    : { ms: "ms", s: "s", min: "min", h: "h", d: "d" };
  const gap = zh ? "" : "\u00a0";
  const join = zh ? "" : " ";
  const sign = seconds < 0 ? "-" : "";
  const n = Math.abs(seconds);
  const one = (v: number, unit: string, most: number): string =>
    `${sign}${numberFormat(locale, digits(decimals, most)).format(v)}${gap}${unit}`;
  if (n === 0) {
    return one(0, units.s, 0);
  }
  if (n < 1) {
    return one(n * 1000, units.ms, n < 0.01 ? 1 : 0);
  }
  if (n < 60) {
    return one(n, units.s, 1);
  }
  const pair = (big: number, bigUnit: string, small: number, smallUnit: string): string => {
    const head = `${sign}${numberFormat(locale, { maximumFractionDigits: 0 }).format(big)}${gap}${bigUnit}`;
    return small === 0 ? head : `${head}${join}${small}${gap}${smallUnit}`;
  };
  if (n < 3600) {
    const total = Math.round(n);
    return pair(Math.floor(total / 60), units.min, total % 60, units.s);
  }
  if (n < 86_400) {
    const total = Math.round(n / 60);
    return pair(Math.floor(total / 60), units.h, total % 60, units.min);
  }
  const total = Math.round(n / 3600);
  return pair(Math.floor(total / 24), units.d, total % 24, units.h);
}

function withUnit(text: string, unit: string | undefined): string {
  if (!unit) {
    return text;
  }
  // No gap before percent and degree signs, nor before Chinese or Japanese units.
  return /^[%‰°\u3000-\u9fff\uf900-\ufaff]/.test(unit) ? text + unit : `${text}\u00a0${unit}`;
}

/** Words a number for people who read `locale`. Not finite gives an en dash. */
export function formatNumber(value: number, style: NumberStyle, locale: string): string {
  if (!Number.isFinite(value)) {
    return "–";
  }
  const { valueFormat = "number", format, unit, short } = style;
  const decimals = format?.decimals;
  switch (valueFormat) {
    case "percent": {
      const share = format?.percentBase === 100 ? value / 100 : value;
      return numberFormat(locale, { style: "percent", ...digits(decimals, 1) }).format(share);
    }
    case "currency": {
      const currency = format?.currency;
      const large = short && Math.abs(value) >= 10_000;
      const options: Intl.NumberFormatOptions = large
        ? { notation: "compact", minimumFractionDigits: 0, maximumFractionDigits: 1 }
        : digits(decimals, short ? 0 : 2);
      if (!currency) {
        return withUnit(numberFormat(locale, options).format(value), unit);
      }
      if (!large && decimals === undefined && !short) {
        // Whole amounts need no ".00"; others get the digits their currency has.
        const whole = Number.isInteger(value);
        return numberFormat(locale, {
          style: "currency",
          currency,
          currencyDisplay: "narrowSymbol",
          ...(whole ? { minimumFractionDigits: 0, maximumFractionDigits: 0 } : {}),
        }).format(value);
      }
      return numberFormat(locale, {
        style: "currency",
        currency,
        currencyDisplay: "narrowSymbol",
        minimumFractionDigits: 0,
        ...options,
      }).format(value);
    }
    case "compact":
      return withUnit(
        numberFormat(locale, { notation: "compact", ...digits(decimals, 1) }).format(value),
        unit,
      );
    case "bytes":
      return bytes(value, locale, decimals);
    case "duration":
      return duration(value, locale, decimals);
    default: {
      const large = short && Math.abs(value) >= 100_000;
      return withUnit(
        numberFormat(
          locale,
          large
            ? { notation: "compact", maximumFractionDigits: 1 }
            : digits(decimals, Math.abs(value) < 1 && value !== 0 ? 4 : 2),
        ).format(value),
        unit,
      );
    }
  }
}

/** Words a change with its sign always written: "+12.5%". */
export function formatDelta(
  value: number,
  style: {
    valueFormat?: ValueFormat | undefined;
    format?: FormatDetail | undefined;
    unit?: string | undefined;
  },
  locale: string,
): string {
  const text = formatNumber(Math.abs(value), style, locale);
  if (value > 0) {
    return `+${text}`;
  }
  return value < 0 ? `\u2212${text}` : text;
}

/** A moment as the axis and the tables need it. */
export interface Moment {
  /** Epoch milliseconds of the wall clock read as if it were UTC. */
  wall: number;
  /** True when the source names a day (or month, year) and no time of it. */
  dateOnly: boolean;
}

const partsFormat = new Map<string, Intl.DateTimeFormat>();

function zoneOffset(epoch: number, timeZone: string | undefined): number {
  if (!timeZone) {
    return -new Date(epoch).getTimezoneOffset() * 60_000;
  }
  let format = partsFormat.get(timeZone);
  if (!format) {
    try {
      format = new Intl.DateTimeFormat("en-US", {
        timeZone,
        hourCycle: "h23",
        year: "numeric",
        month: "numeric",
        day: "numeric",
        hour: "numeric",
        minute: "numeric",
        second: "numeric",
      });
    } catch {
      return -new Date(epoch).getTimezoneOffset() * 60_000;
    }
    partsFormat.set(timeZone, format);
  }
  const at = new Map(format.formatToParts(epoch).map((p) => [p.type, Number(p.value)]));
  const wall = Date.UTC(
    at.get("year") ?? 1970,
    (at.get("month") ?? 1) - 1,
    at.get("day") ?? 1,
    at.get("hour") ?? 0,
    at.get("minute") ?? 0,
    at.get("second") ?? 0,
  );
  return wall - Math.floor(epoch / 1000) * 1000;
}

const isoPattern =
  /^(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?\s*(Z|[+-]\d{2}:?\d{2})?)?)?)?$/;

/**
 * Reads ISO 8601 text or epoch milliseconds as a wall clock time in `timeZone`
 * (default: the reader's). Text without an offset is a wall clock time already.
 * Anything else gives null.
 */
export function parseMoment(value: unknown, timeZone?: string): Moment | null {
  if (typeof value === "number") {
    if (!Number.isFinite(value) || Math.abs(value) > 8.64e15) {
      return null;
    }
    return { wall: value + zoneOffset(value, timeZone), dateOnly: false };
  }
  if (typeof value !== "string") {
    return null;
  }
  const m = isoPattern.exec(value.trim());
  if (!m) {
    return null;
  }
  const [, year, month = "1", day = "1", hour, minute, second = "0", fraction = "0", offset] = m;
  const wall = Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour ?? 0),
    Number(minute ?? 0),
    Number(second),
    Math.trunc(Number(`0.${fraction}`) * 1000),
  );
  if (Number.isNaN(wall) || new Date(wall).getUTCMonth() !== Number(month) - 1) {
    return null;
  }
  if (!offset) {
    return { wall, dateOnly: hour === undefined };
  }
  const sign = offset.startsWith("-") ? -1 : 1;
  const clock = offset.replace(/[^\d]/g, "");
  const shift =
    offset === "Z" ? 0 : sign * (Number(clock.slice(0, 2)) * 60 + Number(clock.slice(2))) * 60_000;
  const epoch = wall - shift;
  return { wall: epoch + zoneOffset(epoch, timeZone), dateOnly: false };
}

const dateCache = new Map<string, Intl.DateTimeFormat>();

/** Words a wall clock time (see {@link Moment}) with the given parts. */
export function formatWall(
  wall: number,
  options: Intl.DateTimeFormatOptions,
  locale: string,
): string {
  const key = `${locale}|${JSON.stringify(options)}`;
  let format = dateCache.get(key);
  if (!format) {
    const all = { ...options, timeZone: "UTC" };
    try {
      format = new Intl.DateTimeFormat(locale, all);
    } catch {
      format = new Intl.DateTimeFormat("en", all);
    }
    dateCache.set(key, format);
  }
  return format.format(wall);
}

/** Words a moment in full: the day, and the time where there is one. */
export function formatMoment(moment: Moment, locale: string): string {
  const day: Intl.DateTimeFormatOptions = { year: "numeric", month: "short", day: "numeric" };
  return formatWall(
    moment.wall,
    moment.dateOnly ? day : { ...day, hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
    locale,
  );
}
