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

/** The hash of a route. */
export function formatRoute(route: Route): string {
  return route.conversationId === null ? "#/" : `#/c/${encodeURIComponent(route.conversationId)}`;
}
