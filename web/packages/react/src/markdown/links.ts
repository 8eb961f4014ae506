/** Hosts that a page trusts; see `allow` in the server's configuration. */
export interface AllowedHosts {
  link_hosts?: readonly string[] | undefined;
  image_hosts?: readonly string[] | undefined;
}

/** Whether a host is on a list: itself, or below an entry that starts with `*.`; `*` is any. */
export function hostListed(host: string, list: readonly string[] | undefined): boolean {
  const name = host.toLowerCase();
  return (list ?? []).some((entry) => {
    const want = entry.toLowerCase();
    return want === "*" || want === name || (want.startsWith("*.") && name.endsWith(want.slice(1)));
  });
}

/** A link's target when it may be followed, else the empty string. */
export function safeHref(url: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: browsers drop these before they read a scheme
  if (/[\u0000-\u001f\u007f\\]/.test(url)) {
    return "";
  }
  if (/^(?:https?:\/\/|mailto:)[^\s]+$/i.test(url)) {
    return url;
  }
  if (url.startsWith("#") || (url.startsWith("/") && !url.startsWith("//"))) {
    return url;
  }
  return "";
}

/**
 * Whether a link leads to a path of this page that is on the list: one written
 * as the browser reads it, itself or below an entry that ends with `/*`.
 */
export function ownRoute(href: string, routes: readonly string[] | undefined): boolean {
  if (!routes?.length || !href.startsWith("/") || !location.origin.startsWith("http")) {
    return false;
  }
  const { origin, pathname, search, hash } = new URL(href, location.origin);
  return (
    origin === location.origin &&
    pathname + search + hash === href &&
    routes.some((route) =>
      route.endsWith("/*") ? pathname.startsWith(route.slice(0, -1)) : pathname === route,
    )
  );
}

/** The host of a web address; the empty string for anything else. */
export function hostOf(url: string): string {
  try {
    const parsed = new URL(url);
    return parsed.protocol === "https:" || parsed.protocol === "http:" ? parsed.host : "";
  } catch {
    return "";
  }
}

/** How an image in a text is shown: loaded, or named by its host and linked. */
export function imagePlace(
  src: string,
  allow: AllowedHosts | undefined,
): { kind: "load"; src: string } | { kind: "link"; href: string; host: string } | { kind: "none" } {
  const href = safeHref(src);
  if (href === "" || href.startsWith("#") || /^mailto:/i.test(href)) {
    return { kind: "none" };
  }
  if (href.startsWith("/")) {
    return { kind: "load", src: href };
  }
  const host = hostOf(href);
  if (host === "") {
    return { kind: "none" };
  }
  const name = host.replace(/:\d+$/, "");
  return href.toLowerCase().startsWith("https:") &&
    (hostListed(host, allow?.image_hosts) || hostListed(name, allow?.image_hosts))
    ? { kind: "load", src: href }
    : { kind: "link", href, host };
}
