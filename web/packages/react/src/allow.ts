/**
 * The address if it may be opened or loaded: https (http only on this
 * machine) and, where a list is given, a host that is in it. `*.example.com`
 * in the list means every host below example.com, `*` every host. Null for all
 * others.
 */
export function allowedUrl(href: string, hosts?: readonly string[]): string | null {
  // Most cards have no address, and what is thrown and caught for each of them costs a frame.
  if (href === "") return null;
  let url: URL;
  try {
    url = new URL(href);
  } catch {
    return null;
  }
  const local = url.hostname === "localhost" || url.hostname === "127.0.0.1";
  if (url.protocol !== "https:" && !(url.protocol === "http:" && local)) return null;
  if (url.username || url.password) return null;
  if (hosts && !hosts.some((host) => matches(url.hostname, host.toLowerCase()))) return null;
  return url.href;
}

function matches(hostname: string, host: string): boolean {
  if (host === "*") return true;
  return host.startsWith("*.") ? hostname.endsWith(host.slice(1)) : hostname === host;
}
