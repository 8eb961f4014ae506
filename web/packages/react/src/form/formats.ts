/*
 * The formats that a form's schema may name, with the same verdicts as the
 * server's; both are held to testdata/form-formats.jsonl. All are plain ASCII.
 */

const date = /^(\d{4})-(\d{2})-(\d{2})$/;
const seconds = String.raw`:[0-5]\d(?:\.\d{1,9})?`;
const hours = String.raw`(?:[01]\d|2[0-3]):[0-5]\d`;
const offset = `(?:Z|[+-]${hours})`;
const time = new RegExp(`^${hours}${seconds}${offset}$`);
const isoTime = new RegExp(`^${hours}(?:${seconds})?${offset}?$`);
const duration =
  /^P(?:\d+W|(?=\d|T\d)(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)$/;
const label = /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/i;
const namePart = /^[a-z\d!#$%&'*+/=?^_`{|}~-]+$/i;
const uri = /^([a-z][a-z\d+.-]*):((?:[a-z\d._~:/?[\]@!$&'()*+,;=-]|%[\da-f]{2}|#)+)$/i;
const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

function isDate(s: string): boolean {
  const [, y, m, d] = date.exec(s)?.map(Number) ?? [];
  if (y === undefined || m === undefined || d === undefined) return false;
  const leap = y % 4 === 0 && (y % 100 !== 0 || y % 400 === 0);
  const days = m === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(m) ? 30 : 31;
  return m >= 1 && m <= 12 && d >= 1 && d <= days;
}

/** A date, a capital T, and a time by the given rule. */
function isMoment(s: string, rule: RegExp): boolean {
  return s[10] === "T" && isDate(s.slice(0, 10)) && rule.test(s.slice(11));
}

function isHostname(s: string): boolean {
  return s.length <= 253 && s.split(".").every((part) => label.test(part));
}

function isEmail(s: string): boolean {
  const at = s.indexOf("@");
  const name = s.slice(0, at);
  const domain = s.slice(at + 1);
  return (
    at > 0 &&
    at <= 64 &&
    s.length <= 254 &&
    name.split(".").every((part) => namePart.test(part)) &&
    domain.includes(".") &&
    isHostname(domain)
  );
}

function isIPv4(s: string): boolean {
  const parts = s.split(".");
  return parts.length === 4 && parts.every((p) => /^(?:0|[1-9]\d{0,2})$/.test(p) && +p <= 255);
}

function isIPv6(s: string): boolean {
  const [head = "", tail = "", ...more] = s.split("::");
  const short = s.includes("::");
  if (more.length > 0) return false;
  const count = (groups: string, last: boolean): number => {
    if (groups === "") return 0;
    const all = groups.split(":");
    let n = 0;
    for (const [i, group] of all.entries()) {
      if (last && i === all.length - 1 && isIPv4(group)) n += 2;
      else if (/^[\da-f]{1,4}$/i.test(group)) n++;
      else return Number.NaN;
    }
    return n;
  };
  const n = count(head, !short) + count(tail, true);
  return short ? n <= 7 : n === 8;
}

function isURI(s: string): boolean {
  const [, scheme, rest] = uri.exec(s) ?? [];
  if (scheme === undefined || rest === undefined || rest.split("#").length > 2) return false;
  return !/^https?$/i.test(scheme) || /^\/\/[^/?#]/.test(rest);
}

/** Whether a string is of a format, by the format's name. */
export const formats: Readonly<Record<string, (value: string) => boolean>> = {
  date: isDate,
  time: (s) => time.test(s),
  "date-time": (s) => isMoment(s, time),
  "iso-time": (s) => isoTime.test(s),
  "iso-date-time": (s) => isMoment(s, isoTime),
  duration: (s) => duration.test(s),
  email: isEmail,
  hostname: isHostname,
  ipv4: isIPv4,
  ipv6: isIPv6,
  uri: isURI,
  uuid: (s) => uuid.test(s),
  color: (s) => /^#[\da-f]{6}$/i.test(s),
  asset: (s) => s.startsWith("a_") && uuid.test(s.slice(2)),
};
