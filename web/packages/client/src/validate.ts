/**
 * What may stand in a UI block that leads somewhere, checked without a DOM and
 * without the rest of the package: capability tokens, `UiBlockEvent`s, and
 * recommendations with the targets of their items. The server checks the same;
 * a page checks again before it follows a target.
 */

import type { FeatureRecommendationAction, FeatureRecommendationItem } from "./payloads.gen.ts";

/** The block type and the one major version of it that is known here. */
export const featureRecommendation = { type: "minara.feature_recommendation", major: 1 } as const;

/** The pictures that an item may have. */
export const recommendationIcons = [
  "wallet",
  "deposit",
  "swap",
  "buy",
  "sell",
  "autopilot",
  "workflow",
  "chart",
  "search",
  "settings",
  "alert",
  "research",
] as const;

/** The modals that the protocol names itself. */
export const builtinModals: readonly string[] = ["deposit", "withdraw"];

/** What an item does when it is chosen. */
export type TargetAction = FeatureRecommendationAction;

/** How strictly something is checked. */
export interface CheckOptions {
  /** The names that modals may have; those of the protocol when absent, every well-formed one with `any`. */
  modals?: readonly string[] | "any";
  /** Members that nobody knows are let through, as a newer minor version may have them. */
  open?: boolean;
}

/** Limits of capability tokens. */
export const tokenLimits = { tokens: 256, segment: 64, major: 2 ** 31 - 1 } as const;

/** One block type at one major version that a client can draw. */
export interface CapabilityToken {
  namespace: string;
  blockType: string;
  major: number;
}

const token = /^((?:[a-z0-9_-]{1,64}\.)+)([a-z0-9_-]{1,64})@([1-9][0-9]{0,9})$/;

/** Reads `namespace.block_type@major`; null when it breaks the grammar. */
export function parseCapabilityToken(text: string): CapabilityToken | null {
  const [, namespace, blockType, version] = token.exec(text) ?? [];
  const major = Number(version);
  if (!namespace || !blockType || major > tokenLimits.major) return null;
  return { namespace: namespace.slice(0, -1), blockType, major };
}

/**
 * Reads a list of tokens with commas between them. A wrong one takes no other
 * with it; those over the limit are wrong too, empty ones are passed over.
 */
export function parseCapabilityTokens(list: string): {
  tokens: CapabilityToken[];
  rejected: string[];
} {
  const tokens: CapabilityToken[] = [];
  const rejected: string[] = [];
  for (const item of list.split(",")) {
    if (item === "") continue;
    const parsed = parseCapabilityToken(item);
    if (parsed && tokens.length < tokenLimits.tokens) tokens.push(parsed);
    else if (rejected.length < tokenLimits.tokens) rejected.push(item);
  }
  return { tokens, rejected };
}

/** Says what is wrong with a recommendation's payload, or null. */
export function checkFeatureRecommendation(
  payload: unknown,
  options: CheckOptions = {},
): string | null {
  if (!isObject(payload)) return "D1: the payload is no object";
  const { items } = payload;
  if (!Array.isArray(items) || items.length < 1 || items.length > 2) {
    return "D1: there must be one or two items";
  }
  const foreign = unknownMember(payload, ["items"], options);
  if (foreign !== null) return `D1: ${foreign}`;
  const ids = new Set<string>();
  const keys = new Set<string>();
  for (const [i, item] of items.entries()) {
    const problem = checkItem(item, options);
    if (problem !== null) return `items[${i}]: ${problem}`;
    const { id, action } = item as FeatureRecommendationItem;
    ids.add(id);
    keys.add(targetKey(action));
  }
  if (ids.size < items.length) return "D2: two items have the same id";
  if (keys.size < items.length) return "D3: two items lead to the same place";
  return null;
}

function checkItem(item: unknown, options: CheckOptions): string | null {
  if (!isObject(item)) return "D1: it is no object";
  const foreign = unknownMember(item, ["id", "label", "hint", "icon", "action"], options);
  if (foreign !== null) return `D1: ${foreign}`;
  const { id, label, hint, icon, action } = item;
  if (typeof id !== "string" || !/^[a-z][a-z0-9_-]{0,63}$/.test(id)) {
    return "D2: the id must be a lower-case letter with up to 63 letters, digits, _ or - behind it";
  }
  const words =
    checkText("label", label, 20) ?? (hint === undefined ? null : checkText("hint", hint, 48));
  if (words !== null) return words;
  if (icon !== undefined && !recommendationIcons.some((known) => known === icon)) {
    return "D2: the icon is not known";
  }
  return checkTarget(action, options);
}

/** A line of text of so many code points, as a person reads it. */
function checkText(name: string, text: unknown, most: number): string | null {
  if (typeof text !== "string") return `D2: the ${name} is no text`;
  if ([...text].length > most) return `D2: the ${name} has more than ${most} characters`;
  const seen = text.replace(joins, "");
  if (invisible.test(seen)) return `D2: the ${name} has characters that are not seen`;
  // The empty pattern of Braille looks like a blank.
  return /^[\s\u2800]*$/.test(seen) ? `D2: the ${name} is blank` : null;
}

/**
 * Characters that are not seen but change what is read or done: controls,
 * separators of lines, marks of direction, characters without width, tags, and
 * those that stand for broken text. Spelt out, as the server's table is: the
 * Unicode versions of two libraries would not agree.
 */
const invisible = new RegExp(
  `[${[
    "\\0-\\x1f\\x7f-\\x9f", // C0, DEL, C1
    "\\xad", // soft hyphen
    "\\u034f", // combining grapheme joiner
    "\\u061c", // Arabic letter mark
    "\\u115f\\u1160\\u3164\\uffa0", // Hangul fillers
    "\\u17b4\\u17b5", // Khmer inherent vowels
    "\\u180b-\\u180f", // Mongolian selectors and separator
    "\\u200b-\\u200f", // zero width space, joiners, direction marks
    "\\u2028-\\u202e", // line and paragraph separator, embeddings, overrides
    "\\u2060-\\u206f", // word joiner, invisible operators, isolates
    "\\ud800-\\udfff", // halves of characters
    "\\ufe00-\\ufe0f", // variation selectors
    "\\ufeff", // byte order mark
    "\\ufff0-\\uffff", // annotations, replacement, no characters
    "\\u{1bca0}-\\u{1bca3}", // shorthand controls
    "\\u{1d173}-\\u{1d17a}", // musical controls
    "\\u{e0000}-\\u{e0fff}", // tags, more variation selectors
  ].join("")}]`,
  "u",
);

/** What emoji are composed with, so it may stand in words: the joiner, and the selectors of text and emoji style. */
const joins = /\u200d|\ufe0e|\ufe0f/g;

/** Says what is wrong with the target of an item, or null. */
export function checkTarget(action: unknown, options: CheckOptions = {}): string | null {
  if (!isObject(action)) return "the action is no object";
  switch (action.kind) {
    case "route":
      return unknownMember(action, ["kind", "target"], options) ?? checkRoute(action.target);
    case "slash":
      return unknownMember(action, ["kind", "command"], options) ?? checkSlash(action.command);
    case "modal":
      return (
        unknownMember(action, ["kind", "name", "params"], options) ?? checkModal(action, options)
      );
    case "external":
      return unknownMember(action, ["kind", "url"], options) ?? checkExternal(action.url);
    default:
      return "the kind of the action is not known";
  }
}

/*
 * A route must mean the same to every program on the way. What browsers,
 * routers and servers read in different ways is refused rather than cleaned: a
 * route that passes is left unchanged by a browser and stays within its origin
 * however often it is decoded.
 */
function checkRoute(target: unknown): string | null {
  if (typeof target !== "string") return "R1: the route is no text";
  if (target.length > 512) return "R1: the route is longer than 512 characters";
  if (!/^\/[A-Za-z0-9][A-Za-z0-9\-._~!$&'()*+,;=:@/?#%]*$/.test(target)) {
    return "R1: the route must begin with / and a letter or digit, in characters of an address";
  }
  if (target.includes("//")) return "R2: the route has //";
  if (target.indexOf("#") !== target.lastIndexOf("#")) return "R2: the route has a second #";
  const { path, query, fragment } = splitRoute(target);
  if (path.includes(";")) return "R2: the path has ;";
  const decoded = /%(?![0-9a-f]{2})/i.test(target) ? null : decodeEscapes(target);
  if (decoded === null) return "R3: an escape of the route is broken";
  if (/%[0-7]/.test(path)) return "R4: the path has an escaped ASCII character";
  const lookalike = checkLookalikes(decoded);
  if (lookalike !== null) return `R5: ${lookalike}`;
  if (path.split("/").some(isDots)) return "R6: a segment of the path is dots only";
  const inQuery = checkQuery(query);
  if (inQuery !== null) return `R7: ${inQuery}`;
  const inFragment = checkFragment(fragment);
  if (inFragment !== null) return `R8: ${inFragment}`;
  const empty = target.endsWith("#") || (query === "" && target[path.length] === "?");
  if (query.includes("'") || empty) {
    return "R9: browsers write the route differently";
  }
  return null;
}

function splitRoute(target: string): { path: string; query: string; fragment: string } {
  const [page, fragment] = cut(target, "#");
  const [path, query] = cut(page, "?");
  return { path, query, fragment };
}

/** The text before the first mark and behind it. */
function cut(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + mark.length)];
}

/** Undoes the escapes and leaves what is none; null when they are not UTF-8. */
function decodeEscapes(text: string): string | null {
  try {
    return text.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => decodeURIComponent(escapes));
  } catch {
    return null;
  }
}

/** Asks about a text decoded once, twice and so on until nothing is escaped any more. */
function eachDecoding(text: string, ask: (text: string) => string | null): string | null {
  for (let last = text; ; ) {
    const next = decodeEscapes(last);
    if (next === null) return "an escape is broken when it is decoded again";
    const problem = ask(next);
    if (problem !== null || next === last) return problem;
    last = next;
  }
}

/** Characters that are seen as separators, though no normal form makes some of them one. */
const lookalikes = /[\u2024-\u2026\u2044\u2215\u2216\u29f5\u29f8]/;

/** Complains about characters that are not seen, or that software which normalises makes a separator. */
function checkLookalikes(decoded: string): string | null {
  for (const run of decoded.split(/[\0-\x7f]+/)) {
    if (invisible.test(run)) return "there are characters that are not seen";
    if (lookalikes.test(run) || /[/\\.;?#%@:\s]/.test(run.normalize("NFKC"))) {
      return "there are characters that are taken for others";
    }
  }
  return null;
}

function isDots(segment: string): boolean {
  return /^\.+$/.test(segment);
}

/** Complains about a value that a page which redirects to it would follow out of the application. */
function checkQuery(query: string): string | null {
  for (const pair of query.split(/[&;]+/)) {
    const value = pair.includes("=") ? cut(pair, "=")[1] : pair;
    const problem = eachDecoding(value, leadsAway) ?? eachDecoding(pair, hasControl);
    if (problem !== null) return problem;
  }
  return null;
}

/** Complains about a fragment that a router which reads it as a path would follow elsewhere. */
function checkFragment(fragment: string): string | null {
  const problem = eachDecoding(fragment, (text) => {
    if (text.includes("\\")) return "the fragment has a backslash";
    if (cut(text, "?")[0].split("/").some(isDots)) return "a segment of the fragment is dots only";
    return hasControl(text) ?? leadsAway(text);
  });
  // #next=… is a query without a question mark.
  return problem ?? checkQuery(fragment) ?? checkQuery(cut(fragment, "?")[1]);
}

function hasControl(text: string): string | null {
  return invisible.test(text) ? "there is an escaped control character" : null;
}

/** Complains about what a browser takes for an address of its own; it drops blanks before one. */
function leadsAway(text: string): string | null {
  const read = text.normalize("NFKC").replace(/^[ +]+/, "");
  if (/^(?:\/[/\\]|\\)/.test(read)) return "a value begins like an address elsewhere";
  return /^[a-z][a-z0-9+.-]*:/i.test(read) ? "a value begins with a scheme" : null;
}

function checkSlash(command: unknown): string | null {
  if (typeof command !== "string") return "S1: the command is no text";
  if ([...command].length > 256) return "S1: the command is longer than 256 characters";
  if (!/^\/[a-z][a-z0-9_-]{0,31}(?: |$)/.test(command)) {
    return "S1: the command must begin with / and a lower-case word";
  }
  return invisible.test(command) ? "S1: the command has characters that are not seen" : null;
}

function checkModal(
  action: Record<string, unknown>,
  { modals = builtinModals }: CheckOptions,
): string | null {
  const { name, params } = action;
  if (typeof name !== "string" || !/^[a-z][a-z0-9_-]{0,63}$/.test(name)) {
    return "M1: the name of the modal is malformed";
  }
  if (modals !== "any" && !modals.includes(name)) return "M1: the modal is not known";
  if (params === undefined) return null;
  if (!isObject(params)) return "M1: the parameters are no object";
  if (isDeeper(params, 3)) return "M1: the parameters are nested too deep";
  if (hasPrototypeKey(params)) return "M1: a parameter has a forbidden name";
  if (bytesOf(params) > 4096) {
    return "M1: the parameters are larger than 4 KiB";
  }
  return null;
}

/** Whether a value has more levels of objects and lists than these. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}

function hasPrototypeKey(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(
    ([key, member]) => /^(?:__proto__|constructor|prototype)$/.test(key) || hasPrototypeKey(member),
  );
}

/** An external address, as far as it is told apart by. */
interface Address {
  host: string;
  /** Empty for 443. */
  port: string;
  path: string;
  query: string;
}

function checkExternal(url: unknown): string | null {
  const address = parseAddress(url);
  return typeof address === "string" ? `X1: ${address}` : null;
}

/** Reads an address, or says what is wrong with it. */
function parseAddress(url: unknown): Address | string {
  if (typeof url !== "string") return "the address is no text";
  if (url.length > 2048) return "the address is longer than 2048 characters";
  if (!url.startsWith("https://")) return "the address must begin with https://";
  if (/[^!-~]|\\/.test(url)) return "the address has a backslash, or what is not printable ASCII";
  const [place] = cut(url.slice("https://".length), "#");
  const [authority = ""] = /^[^/?]*/.exec(place) ?? [];
  if (authority.includes("@")) return "the address has a user";
  const [host, port] = cut(authority, ":");
  if (!/^[A-Za-z0-9.-]+$/.test(host)) return "the host has other than letters, digits, . and -";
  if (authority.includes(":") && !(/^[0-9]+$/.test(port) && Number(port) < 2 ** 16)) {
    return "the port is none";
  }
  const [path, query] = cut(place.slice(authority.length), "?");
  const number = Number(port || 443);
  return { host: host.toLowerCase(), port: number === 443 ? "" : String(number), path, query };
}

/**
 * What a target is told by: targets with equal keys are one place. The amounts
 * of a command, the parameters of a modal, the order of a query and the
 * fragment of an address do not count; kinds do.
 */
export function targetKey(action: TargetAction): string {
  switch (action.kind) {
    case "route": {
      const query = normalEscapes(splitRoute(action.target).query);
      const pairs = query.split("&").filter((pair) => pair !== "");
      pairs.sort((a, b) => compare(cut(a, "=")[0], cut(b, "=")[0]));
      return `route:${routePath(action.target)}${pairs.length > 0 ? "?" : ""}${pairs.join("&")}`;
    }
    case "slash": {
      const [verb, ...rest] = lower(action.command).trim().split(/\s+/);
      return `slash:${[verb, ...rest.filter((word) => !amount.test(word))].join(" ")}`;
    }
    case "modal":
      return `modal:${action.name}`;
    case "external": {
      const address = parseAddress(action.url);
      if (typeof address === "string") return `external:${action.url}`;
      const { host, port, path, query } = address;
      const place = `${host}${port && ":"}${port}${normalEscapes(withoutDots(path))}`;
      return `external:${place}${query && "?"}${normalEscapes(query)}`;
    }
  }
}

/** A number as people write amounts: `$1,000.50`, `2k`, `5%`. */
const amount = /^\p{Sc}?(?=[.,_]*[0-9])[0-9.,_]+[%kmb]?$/u;

/** In small letters one by one, each a single one, without what depends on the letters beside them. */
function lower(text: string): string {
  return Array.from(text, (letter) => Array.from(letter.toLowerCase())[0]).join("");
}

/** The path as routes are compared by: without one slash at its end, escapes in one spelling. */
function routePath(target: string): string {
  const { path } = splitRoute(target);
  return normalEscapes(path.length > 1 ? path.replace(/\/$/, "") : path);
}

/** Escapes in one spelling (RFC 3986 §6.2.2): capitals, and none for letters, digits and -._~. */
function normalEscapes(text: string): string {
  return text.replace(/%[0-9a-f]{2}/gi, (escaped) => {
    const char = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
    return /[A-Za-z0-9\-._~]/.test(char) ? char : escaped.toUpperCase();
  });
}

/** Follows the . and .. of a path as browsers do, escaped ones included. */
function withoutDots(path: string): string {
  const kept: string[] = [];
  const segments = path.replace(/^\//, "").split("/");
  for (const [i, segment] of segments.entries()) {
    const plain = segment.replace(/%2e/gi, ".");
    if (plain !== "." && plain !== "..") kept.push(segment);
    else {
      if (plain === "..") kept.pop();
      if (i === segments.length - 1) kept.push("");
    }
  }
  return `/${kept.join("/")}`;
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Where targets may lead. An absent list allows all of its kind that are well formed. */
export interface Destinations {
  /** Paths as they are, or everything below one: `/market/*`. Query and fragment do not count. */
  routes?: readonly string[] | undefined;
  /** Commands by their word, with or without the slash. */
  slash?: readonly string[] | undefined;
  modals?: readonly string[] | undefined;
  /** Hosts, `*.example.com` for all below one, `*` for all. Port 443 alone. */
  hosts?: readonly string[] | undefined;
}

/** Whether a target that {@link checkTarget} passes is among the destinations. */
export function allowsTarget(action: TargetAction, to: Destinations): boolean {
  switch (action.kind) {
    case "route": {
      const path = routePath(action.target);
      const within = (route: string) =>
        route.endsWith("/*")
          ? path.startsWith(routePath(route.slice(0, -1)).replace(/\/?$/, "/"))
          : path === routePath(route);
      return to.routes?.some(within) ?? true;
    }
    case "slash": {
      const [verb] = cut(action.command, " ");
      return to.slash?.some((word) => verb === `/${word.replace(/^\//, "")}`) ?? true;
    }
    case "modal":
      return to.modals?.includes(action.name) ?? true;
    case "external": {
      const address = parseAddress(action.url);
      if (typeof address === "string" || address.port !== "") return false;
      return to.hosts?.some((host) => matchesHost(address.host, host.toLowerCase())) ?? true;
    }
  }
}

function matchesHost(name: string, host: string): boolean {
  if (host === "*") return true;
  return host.startsWith("*.")
    ? name.endsWith(host.slice(1)) && name.length >= host.length
    : name === host;
}

/** A semantic version of specification 2.0.0; its major number is the first group. */
const semver =
  /^(0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}(?:-(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;

/**
 * Says what is wrong with a `UiBlockEvent`, or null. The data of types that
 * are known here is checked too. From `outside` the namespaces of built-ins
 * are refused.
 */
export function checkUiBlock(
  event: unknown,
  options: CheckOptions & { outside?: boolean } = {},
): string | null {
  if (!isObject(event)) return "E1: the block is no object";
  const { id, namespace, block_type: name, version, data, position, _meta: meta } = event;
  if (typeof id !== "string" || id === "" || [...id].length > 128 || invisible.test(id)) {
    return "E1: the id must be 1 to 128 characters that are seen";
  }
  if (typeof version !== "string") return "E1: the version is missing";
  const [, major] = semver.exec(version) ?? [];
  if (major === undefined) return "E1: the version is no full semantic version";
  const type = `${namespace}.${name}`;
  if (typeof namespace !== "string" || typeof name !== "string" || name.includes(".")) {
    return "E1: the name of the type is missing or malformed";
  }
  if (parseCapabilityToken(`${type}@${major}`) === null) {
    return "E1: the name or the version of the type is malformed";
  }
  if (options.outside && /^(?:minara|inlay)(?:\.|$)/.test(namespace)) {
    return "E1: the namespace is reserved";
  }
  if (data === undefined) return "E1: the data is missing";
  if (position !== undefined && !positions.some((known) => known === position)) {
    return "E1: the position is not known";
  }
  if (meta !== undefined && !(isObject(meta) && bytesOf(meta) <= 4096)) {
    return "E1: _meta must be an object of at most 4 KiB";
  }
  const foreign = unknownMember(event, members, options);
  if (foreign !== null) return `E1: ${foreign}`;
  if (type !== featureRecommendation.type) return null;
  if (Number(major) !== featureRecommendation.major) return "E1: the major version is not known";
  return checkFeatureRecommendation(data, options);
}

const members = ["id", "namespace", "block_type", "version", "data", "position", "_meta"];

const positions = ["after_text", "inline", "before_text"] as const;

function unknownMember(
  value: Record<string, unknown>,
  known: readonly string[],
  { open }: CheckOptions,
): string | null {
  const name = open ? undefined : Object.keys(value).find((key) => !known.includes(key));
  return name === undefined ? null : `it has a member that is not known: ${name}`;
}

/** How large a value is as JSON. */
function bytesOf(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
