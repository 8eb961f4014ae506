/** Where the page is: a conversation, or a new one. */
export interface Route {
  conversationId: string | null;
}

/** Reads a route from a location's hash (`#/c/{conversationId}`). */
export function parseRoute(hash: string): Route {
  const match = /^#\/c\/([^/?#]+)\/?$/.exec(hash);
  if (!match?.[1]) return { conversationId: null };
  try {
    return { conversationId: decodeURIComponent(match[1]) };
  } catch {
    return { conversationId: null };
  }
}

/** Where a path of the page leads: to a conversation, or to another document. */
export type Place = Route | { document: string };

/**
 * The place that a path names: `/`, `/c/{conversationId}` or `/gallery`. Null
 * for what the page does not have.
 */
export function placeOf(target: string): Place | null {
  const [path = "", rest = ""] = split(target);
  if (path === "/") return { conversationId: null };
  // Relative, as the page itself may stand below some path.
  if (/^\/gallery\/?$/.test(path)) return { document: `./gallery${rest}` };
  const route = parseRoute(`#${path}`);
  return route.conversationId === null ? null : route;
}

/** A path, and what follows it: the query and the fragment. */
function split(target: string): [path: string, rest: string] {
  const at = target.search(/[?#]/);
  return at < 0 ? [target, ""] : [target.slice(0, at), target.slice(at)];
}

/** The hash of a route. */
export function formatRoute(route: Route): string {
  return route.conversationId === null ? "#/" : `#/c/${encodeURIComponent(route.conversationId)}`;
}
